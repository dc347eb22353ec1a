"""What engines lost, and how many trials per second they ran, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_lab.engines.kinds import ENGINES
from pellucid_lab.engines.records import N_PARAMS, SLEEP, EngineRun
from pellucid_lab.tables.grids import Grid, page

_NOTES = (
    f"Workers share a study of {N_PARAMS} floats; a trial sleeps {1e3 * SLEEP:.0f} ms besides asking and telling. All "
    "workers, and the server if there is one, run on one machine with few cores, so that from a few workers on the "
    "processors are the limit, not the sleep.",
    "*lost*: trials that a worker told but that are not complete in the storage. *stuck*: still running after the last "
    "worker has ended. *duplicates*: with the configuration of an earlier trial. *exceptions*: that reached a worker, "
    "and proposals that fell back to random ones. *seen*: proposals of a model that took the running trials of other "
    "workers into account. *share*: of the trials per second of RandomSampler on the same engine.",
)
_COLUMNS = (
    *("engine", "sampler", "workers", "trials"),
    *("lost", "stuck", "duplicates", "exceptions", "seen", "trials/s", "share"),
)


def markdown(runs: Sequence[EngineRun], provenance: str) -> str:
    by_key = {(run.engine, run.sampler): run for run in runs}
    rows = []
    for run in sorted(runs, key=lambda run: (list(ENGINES).index(run.engine), run.sampler)):
        random = by_key.get((run.engine, "random"))
        rows.append(
            (
                *(ENGINES[run.engine].words, run.sampler, str(run.workers), str(run.told)),
                *(str(count) for count in (run.lost, run.stuck, run.duplicates, run.exceptions)),
                f"{run.seen} of {run.modelled}" if run.modelled else "",
                f"{run.rate:.1f}",
                "" if random is None else f"{run.rate / random.rate:.0%}",
            )
        )
    return page("Many workers, one study", list(_NOTES), [Grid("", _COLUMNS, tuple(rows))], provenance)
