"""What goes wrong is counted: each counter of the faults is shown something that it must not miss."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pellucid_lab.faults import children, kills, outages, receipts, statements
from pellucid_lab.faults.base import FaultTask, Tally, recorded
from pellucid_lab.faults.children import Child, attempted
from pellucid_lab.faults.examples import example_studies, model_data
from pellucid_lab.faults.homes import home
from pellucid_lab.faults.mutations import code
from pellucid_lab.faults.names import controls, hostile_names, injected
from pellucid_lab.faults.receipts import count_executed
from pellucid_lab.faults.studies import (
    Snapshot,
    begun,
    count_backwards,
    count_lost,
    count_unusable,
    prepared,
    snapshot,
    work,
)

SNAPSHOT: Snapshot = {0: ("COMPLETE", (1.5,)), 1: ("PRUNED", (2.0,)), 2: ("RUNNING", ())}


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    prepared()


# ------------------------------------------------------------------------------------------------ lost


@pytest.mark.parametrize(
    ("told", "lost"),
    [
        ({}, 0),
        ({0: (1.5,), 1: (2.0,)}, 0),
        ({3: (1.0,)}, 1),
        ({0: (1.25,)}, 1),
        ({2: (1.0,)}, 1),
        ({2: (1.0,), 3: (1.0,)}, 2),
    ],
)
def test_a_told_trial_that_is_not_there_is_lost(told: dict[int, tuple[float, ...]], lost: int) -> None:
    tally = Tally()
    count_lost(tally, told, SNAPSHOT)
    assert tally.lost == lost
    assert len(tally.notes) == lost


@pytest.mark.parametrize(
    ("change", "lost"),
    [({}, 0), ({2: ("COMPLETE", (1.0,))}, 0), ({0: ("COMPLETE", (9.0,))}, 1), ({0: ("FAIL", ())}, 1)],
)
def test_a_finished_trial_that_changes_is_lost(change: Snapshot, lost: int) -> None:
    tally = Tally()
    count_backwards(tally, SNAPSHOT, {**SNAPSHOT, **change})
    assert tally.lost == lost


def test_a_trial_that_is_gone_is_lost() -> None:
    tally = Tally()
    count_backwards(tally, SNAPSHOT, {0: SNAPSHOT[0], 1: SNAPSHOT[1]})
    assert tally.lost == 1


def test_a_trial_that_somebody_deletes_from_a_database_is_lost() -> None:
    tally = Tally()
    with home("sqlite") as at_home:
        begun(tally, at_home.address, 2)
        worker = Child(lambda say: work(at_home.address, 1, say))
        assert worker.ended().fine
        told = {number: tuple(values) for number, values in worker.said}
        assert list(told) == [2]
        count_lost(tally, told, snapshot(tally, at_home.address) or {})
        assert tally.failures == 0
        with closing(sqlite3.connect(at_home.address.removeprefix("sqlite:///"))) as connection:
            connection.execute("DELETE FROM trials WHERE number = 2")
            connection.commit()
        count_lost(tally, told, snapshot(tally, at_home.address) or {})
        assert tally.lost == 1


def test_a_worker_of_tune_tells_a_trial_before_it_begins_another() -> None:
    tally = Tally()
    kills._count_untold(tally, [(7, 0), (8, 1), (7, 2)], {0: ("COMPLETE", (1.0,)), 1: ("RUNNING", ())})
    assert tally.lost == 0
    kills._count_untold(tally, [(7, 0), (7, 1), (7, 2)], {0: ("COMPLETE", (1.0,)), 1: ("RUNNING", ())})
    assert tally.lost == 1


def test_a_receipt_that_nobody_changed_and_that_is_gone_is_lost() -> None:
    import optuna

    source, tally = example_studies()["bowl"], Tally()
    receipts._read(tally, source, source)
    assert tally.lost == 0
    receipts._read(tally, optuna.create_study(), source)
    assert tally.lost == 1


# -------------------------------------------------------------------------------------------- unusable


def test_a_study_that_cannot_be_opened_is_unusable(tmp_path: Path) -> None:
    tally = Tally()
    with home("sqlite") as at_home:
        begun(tally, at_home.address, 2)
        Path(at_home.address.removeprefix("sqlite:///")).write_bytes(b"SQLite format 3\0" + b"?" * 5000)
        count_unusable(tally, at_home.address, tmp_path)
        assert snapshot(tally, at_home.address) is None
    assert tally.unusable == 2


def test_a_study_that_cannot_be_reported_is_unusable(tmp_path: Path) -> None:
    tally = Tally()
    (tmp_path / "report.html").mkdir()
    with home("sqlite") as at_home:
        begun(tally, at_home.address, 2)
        count_unusable(tally, at_home.address, tmp_path)
    assert tally.unusable == 1
    assert "report: ValueError: A report is a file" in tally.notes[0]


def test_a_model_whose_scores_are_not_finite_is_unusable() -> None:
    pytest.importorskip("torch")
    from pellucid.models.ranking.files import from_bytes
    from pellucid_lab.faults.models import try_to_load, try_to_score

    model, tally = from_bytes(model_data()), Tally()
    assert model.weights is not None
    try_to_load(tally, model_data(), None)
    assert tally.failures == 0
    assert tally.counted == {"files that could still be used": 1}
    broken = replace(model, weights={name: value * float("nan") for name, value in model.weights.items()})
    try_to_score(tally, broken)
    assert tally.failures == 1


# -------------------------------------------------------------------------------------------- executed


def execute(text: str) -> None:
    """Run a text in all ways that pellucid must not."""
    runs: list[Callable[[], object]] = [
        lambda: eval(text),  # noqa: S307
        lambda: pickle.loads(text.encode()),  # noqa: S301
        lambda: subprocess.run(f"true {text}", shell=True, check=False, stdin=subprocess.DEVNULL, timeout=60),
    ]
    for run in runs:
        try:
            run()
        except Exception:  # noqa: PERF203
            continue


def test_a_text_that_runs_is_counted(tmp_path: Path) -> None:
    canary, fired = tmp_path / "canary", 0
    for text in code(canary):
        tally = Tally()
        execute(text)
        count_executed(tally, canary)
        fired += tally.executed
        canary.unlink(missing_ok=True)
    assert fired >= 5


def test_markup_in_a_page_is_counted(tmp_path: Path) -> None:
    scripts = "<script></script>" * 5
    harmful = [name for name in hostile_names(tmp_path) if injected(f"<p>{name}</p>{scripts}")]
    assert len(harmful) >= 7, "names that change a page if they are not escaped"
    assert injected(f"<p title='&lt;img onerror=x&gt;'>&lt;script&gt;</p>{scripts}") == []
    assert injected("<p>no scripts</p>") == ["0 scripts"]


def test_names_that_would_control_a_terminal_are_found(tmp_path: Path) -> None:
    assert sum(bool(controls(name)) for name in hostile_names(tmp_path)) >= 4
    assert controls("a\tb\nc <b> \\x1b é 🙂\u200d") == []
    assert controls("\x1b[2J\u202e\u200f\x9b") == ["\x1b", "\x9b", "\u200f", "\u202e"]


# --------------------------------------------------------------------------------- hangs, crashes, memory


def test_a_hang_is_counted_and_ended() -> None:
    tally = Tally()
    ended = attempted(tally, lambda say: time.sleep(3600), patience=0.5)
    assert ended.hung
    assert (tally.hangs, tally.crashes) == (1, 0)


def test_a_child_that_nobody_waits_for_ends_with_its_context() -> None:
    with Child(lambda say: time.sleep(3600)) as child:
        pass
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_child_says_more_in_time_or_not() -> None:
    def twice(say: children.Say) -> None:
        say(1)
        say(2)
        time.sleep(3600)

    with Child(twice) as child:
        assert child.says(2, patience=30)
        assert not child.says(1, patience=0.2)
    with Child(lambda say: None) as child:
        assert not child.says(1, patience=30)


@pytest.mark.parametrize(
    ("after", "hangs", "crashes"),
    [
        (lambda say: [say([7, [1.0]]), time.sleep(3600)], 0, 0),  # It goes on.
        (lambda say: refuse(), 0, 0),
        (lambda say: time.sleep(3600), 1, 0),
        (lambda say: 1 / 0, 0, 1),
        (lambda say: None, 0, 1),
    ],
)
def test_a_worker_goes_on_or_gives_up_or_hangs_when_its_storage_is_back(
    after: Callable[[children.Say], object], hangs: int, crashes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "PATIENCE_S", 0.5)
    monkeypatch.setattr(Child.ended, "__defaults__", (0.5,))
    tally = Tally()
    with Child(after) as worker:
        outages._count_ended(tally, worker, still_works=True, more=1)
    assert (tally.hangs, tally.crashes) == (hangs, crashes)


def refuse() -> None:
    raise OSError("no space left")


def test_whoever_says_something_does_not_hang() -> None:
    def slow(say: children.Say) -> int:
        for number in range(8):
            time.sleep(0.1)
            say(number)
        return 5

    tally = Tally()
    assert attempted(tally, slow, patience=0.6).value == 5
    assert tally.failures == 0


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda say: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda say: os.kill(os.getpid(), signal.SIGUSR1), f"killed by signal {signal.SIGUSR1.value}"),
        (lambda say: os.kill(os.getpid(), signal.SIGKILL), f"killed by signal {signal.SIGKILL.value}"),
    ],
)
def test_a_crash_is_counted(function: Callable[[children.Say], object], error: str) -> None:
    tally = Tally()
    assert attempted(tally, function).error == error
    assert (tally.hangs, tally.crashes) == (0, 1)


def test_memory_is_measured() -> None:
    small, large = Tally(), Tally()
    attempted(small, lambda say: None)
    attempted(large, lambda say: len(bytearray(os.urandom(1)) * 300_000_000))
    assert large.peak_mb > small.peak_mb + 250


# ------------------------------------------------------------------------------------------- different


def test_a_trial_that_differs_from_that_of_a_study_without_a_kill_is_counted() -> None:
    tally = Tally()
    with home("sqlite") as at_home:
        begun(tally, at_home.address, statements.TRIALS)
        _, reference = attempted(tally, lambda say: statements.uninterrupted(at_home.copy("whole"), say)).value
        statements._kill_at(tally, at_home, 0, reference)
        assert (tally.failures, tally.counted) == (0, {"left absent": 1})
        reference[1][2]["x"] += "1"
        statements._kill_at(tally, at_home, 0, reference)
        assert tally.different == 1


def test_a_trial_that_differs_from_that_of_a_process_that_goes_on_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()
    with home("sqlite") as at_home:
        begun(tally, at_home.address, statements.TRIALS)
        monkeypatch.setattr(statements, "went_on", lambda address, at, say: [])
        statements._kill_at(tally, at_home, 40, [])
        assert tally.different == 1


# --------------------------------------------------------------------------------------------- records


def test_counts_of_children_are_added() -> None:
    tally = Tally(tried=1, lost=1, peak_mb=5.0, counted={"a": 1})
    other = Tally(tried=2, hangs=1, different=1, crashes=2, peak_mb=7.0, notes=["x"], counted={"a": 1, "b": 2})
    tally.add(vars(other))
    assert (tally.tried, tally.failures, tally.peak_mb) == (3, 5, 7.0)
    assert tally.notes == ["x"]
    assert tally.counted == {"a": 2, "b": 2}


def test_a_record_has_the_key_of_its_task() -> None:
    task = FaultTask("names", "sqlite", 6, 6, "pellucid bench faults")
    record = recorded(task, Tally(tried=6, lost=1), 1.0)
    assert record.key == task.key
    assert (record.lost, record.command) == (1, "pellucid bench faults")
