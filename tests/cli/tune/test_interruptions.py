"""`pellucid tune` when trials fail, workers die, or the user presses Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from optuna.trial import TrialState
from tests.cli.tune.scripts import (
    COMPLETE,
    FAIL,
    LOG,
    PATIENCE_S,
    SCRIPT,
    URL,
    alive,
    call,
    pid_of,
    start,
    states,
    study,
    tune,
    wait_for,
)

# ------------------------------------------------------------------------------ failures


@pytest.mark.usefixtures("copied_workers")
def test_a_failing_trial_is_recorded_and_the_run_goes_on(folder: Path) -> None:
    result = tune("sometimes", 6, "--storage", LOG)
    assert result.exit_code == 0, result.output
    assert states(storage=LOG) == {COMPLETE: 2, FAIL: 3, TrialState.PRUNED: 1}
    assert "Traceback" not in result.output
    assert "last error: trial 3: the objective called exit (SystemExit: 7 (script.py, line" in result.stderr


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.parametrize(("n", "n_failed"), [(2, 2), (9, 5)])
def test_an_objective_that_always_fails_ends_the_run(folder: Path, n: int, n_failed: int) -> None:
    result = tune("always", n, "--storage", LOG)
    assert result.exit_code == 1
    assert states(storage=LOG) == {FAIL: n_failed}
    line = SCRIPT.splitlines().index('    raise ZeroDivisionError("never works")') + 1
    assert f"ZeroDivisionError: never works (script.py, line {line}, in helper)" in result.stderr
    assert "Traceback" not in result.output


def test_a_killed_worker_costs_its_trial_and_not_the_run(folder: Path) -> None:
    process = start("slow", 9, "--jobs", "2")
    os.kill(wait_for(lambda: pid_of(2), process), signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "killed by signal 9" in err
    assert "1 of 2 go on" in err
    assert states() == {COMPLETE: 8, FAIL: 1}
    assert study().trials[2].state == FAIL
    assert out.startswith("Use ")


def test_when_all_workers_are_gone_the_run_says_so(folder: Path) -> None:
    result = tune("suicide", 9, "--jobs", "2")
    assert result.exit_code == 1
    assert "All workers have ended; the last: worker" in result.stderr
    assert "killed by signal 9" in result.stderr
    assert set(states()) == {FAIL}


@pytest.mark.parametrize("options", [["--quiet"], pytest.param(["--jobs", "2"], marks=pytest.mark.slow)])
def test_if_all_workers_die_at_their_start_the_error_shows_what_they_printed(folder: Path, options: list[str]) -> None:
    (folder / "dies.py").write_text(
        "import os, sys\nfor i in range(20):\n    print('line', i)\nprint('no driver', file=sys.stderr)\nos._exit(3)\n"
    )
    result = call("tune", "dies.py:objective", "--trials", "3", "--storage", URL, *options)
    assert result.exit_code == 1
    sentence, *lines = result.stderr[result.stderr.index("All workers ended") :].splitlines()
    assert sentence.endswith("has ended unexpectedly (exit code 3).")
    assert lines == ["The last lines that it printed:", *(f"  line {i}" for i in range(13, 20)), "  no driver"]
    assert not (folder / "tuning.db").exists()


def test_workers_of_a_killed_parent_end_after_their_trial(folder: Path) -> None:
    process = start("chatty", 99, "--sampler", "random")
    worker = wait_for(lambda: pid_of(1), process)
    process.kill()
    process.communicate()
    wait_for(lambda: not alive(worker))
    assert set(states()) == {COMPLETE}


# ---------------------------------------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize(
    ("number", "function"),
    [(signal.SIGINT, "endless_from_third"), (signal.SIGTERM, "stubborn")],
)
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_continues(
    folder: Path, number: signal.Signals, function: str
) -> None:
    process = start(function, 5, "--jobs", "2", "--json")
    pids = [wait_for(lambda number=number: pid_of(number), process) for number in (3, 4)]
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Stopped: 3 of 5 trials are in sqlite:///tuning.db; the same command continues the study." in err
    assert "Traceback" not in err
    assert json.loads(out)["ended"] == "interrupted"
    assert states() == {COMPLETE: 3, FAIL: 2}
    assert not any(map(alive, pids))
    if number == signal.SIGTERM:
        return
    result = tune("bowl", 5)
    assert result.exit_code == 0, result.output
    assert "3 of 5 trials" in result.stderr
    assert states() == {COMPLETE: 5, FAIL: 2}
