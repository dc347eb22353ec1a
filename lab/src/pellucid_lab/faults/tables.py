"""The table of faults: what was tried, and what was lost."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_lab.faults.base import COUNTS, MOST_MEMORY_MB, FaultRecord
from pellucid_lab.tables.grids import Grid, page, provenance_of

_WORDS = {
    "statements": "SIGKILL at a statement",
    "kills": "SIGKILL of a worker",
    "parents": "SIGKILL of tune's parent",
    "forks": "fork while threads ask",
    "disks": "full disk",
    "readonly": "read-only storage",
    "locked": "locked storage",
    "restarts": "server restart",
    "clocks": "clock jump",
    "receipts": "changed receipt",
    "models": "changed model file",
    "names": "hostile name",
    "distributions": "odd distribution",
}

_NOTES = (
    "Every fault met studies that `pellucid.BayesianSampler` ran. **Lost**: a trial that had been told (`tell` "
    "returned) and is not in the storage afterwards with its value, or a file that was replaced by half of a new "
    "one. **Unusable**: a study that could not be opened, continued, explained (seven answers) or reported "
    "afterwards. **Executed**: a text of the fault ran as code, became an element of a page, or made a file. "
    "**Hangs**: nothing happened for more than 30 seconds. **Different**: a trial after a kill is not, to the "
    "last bit, that of a process that was not killed. **Crashes**: any other error that is not a sentence for the "
    "user. **Shown**: of a hostile name, characters that control a terminal or turn the order of text stood in what "
    "`pellucid explain` prints, as text or JSON, in an answer or in the page. Peak memory is that of the largest "
    "process that met the fault.",
    "*SIGKILL at a statement*: one whole trial (ask, two parameters, four reports with `CurvePruner`, tell) is "
    "killed before each of its statements and commits, and once after `tell` has returned; a new process "
    "continues. On another copy of the study, the statement is undone instead, and the same process goes on with "
    "everything that it remembers: parameters, values, reports, receipts and reasons of the begun trial and of "
    "the two after it must be equal bit for bit. If the begun trial was absent or told, they must also equal "
    "those of a study that nothing happened to. One worker, one seed.",
    "*SIGKILL of a worker*: two workers share a study; one of them is killed after 0 to 0.4 s and replaced, 25 "
    "times for each study. *SIGKILL of tune's parent*: `pellucid tune` with one or two workers is killed up to "
    "0.5 s after a trial has begun or, one time in five, at any moment of its first three seconds, ten times for "
    "each study; its workers must end by themselves, and the same command must continue the study. *Fork while "
    "threads ask*: two threads ask all the time, and a process that is forked meanwhile has 20 seconds for a study "
    "of six trials of the same sampler.",
    "*Full disk*: less than 48 KB are left; a worker writes until it is refused, a report and a model are saved, "
    "then space is freed. *Read-only storage*: answers and reports must work, and a write is refused in words. "
    "*Locked storage*: another connection locks it for a second, or for good; then a worker must give up after "
    "the second that its address allows (without that, `pellucid tune` waits for a minute). *Server restart*: "
    "PostgreSQL is stopped at once and started again under two workers. Journals are opened as `pellucid tune` "
    "opens them.",
    "*Changed receipts* are of seven sorts of proposals. *bytes*: bits, bytes, and parts that are removed, "
    "repeated, moved or cut off. *structure*: entries that are removed, added, wrapped, or replaced by others, "
    "huge numbers, NaN, deep lists, long texts and code. All are read beside receipts that nobody changed; those "
    "of one study in 20 are also rebuilt, explained and proposed from, and some of these are reported. *Changed "
    "model files* have other bytes, another header, or are foreign files with code (pickles, shell, SQL). *Odd "
    "distributions* are tried alone and beside an ordinary parameter.",
)


def fault_grid(records: Sequence[FaultRecord]) -> Grid:
    """One row for every kind and storage."""
    columns = ("fault", "where", "tried", *COUNTS[1:], "peak MB", "minutes")
    groups: dict[tuple[str, str], list[FaultRecord]] = {}
    for kind in _WORDS:
        for record in records:
            if record.kind == kind:
                groups.setdefault((kind, record.case), []).append(record)
    rows = [_row(_WORDS[kind], case, group) for (kind, case), group in groups.items()]
    return Grid("", columns, (*rows, _row("all", "", records)))


def _row(what: str, case: str, records: Sequence[FaultRecord]) -> tuple[str, ...]:
    counts = [f"{sum(getattr(record, name) for record in records):,}" for name in COUNTS]
    peak = max(record.peak_mb for record in records)
    return what, case, *counts, f"{peak:.0f}", f"{sum(record.seconds for record in records) / 60:.1f}"


def counted_grid(records: Sequence[FaultRecord]) -> Grid:
    """What else happened, and is no failure."""
    totals: dict[tuple[str, str], int] = {}
    for record in records:
        for what, times in record.counted.items():
            totals[record.kind, what] = totals.get((record.kind, what), 0) + times
    rows = [(_WORDS[kind], what, f"{totals[kind, what]:,}") for kind, what in sorted(totals) if totals[kind, what]]
    return Grid("What else was counted", ("fault", "what", "times"), tuple(rows))


def fault_page(records: Sequence[FaultRecord]) -> str:
    seconds = sum(record.seconds for record in records)
    failed = [f"- {_WORDS[record.kind]}, {record.case}: {note}" for record in records for note in record.notes]
    after = ["What went wrong:", "\n".join(failed)] if failed else []
    grids = [fault_grid(records), counted_grid(records)]
    return page("Faults: what was tried, and what was lost", _NOTES, grids, provenance_of(records, seconds), after)


def failures(records: Sequence[FaultRecord]) -> int:
    """All that went wrong, and tasks in which a process took too much memory."""
    counts: list[int] = [getattr(record, name) for record in records for name in COUNTS[1:]]
    return sum(counts) + sum(record.peak_mb > MOST_MEMORY_MB for record in records)
