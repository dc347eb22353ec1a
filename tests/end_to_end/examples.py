"""Running the examples, and what several tests check of them."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import subprocess
import sys
from datetime import datetime, timedelta

import optuna
from optuna.trial import TrialState
from tests.helpers import ROOT, states


def run(script: str, *options: str) -> str:
    """What an example prints; it must succeed.

    It runs in this process: the packages that examples import take longer to load than most of them need to run.
    """
    path = ROOT / "examples" / script
    arguments, verbosity, printed = sys.argv, optuna.logging.get_verbosity(), io.StringIO()
    sys.argv = [str(path), *options]
    sys.path.insert(0, str(path.parent))  # As Python does for a script: examples may use each other.
    code: int | str | None = 0
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        code = end.code
    finally:
        sys.path.remove(str(path.parent))
        sys.argv = arguments
        optuna.logging.set_verbosity(verbosity)
    assert not code, printed.getvalue()
    return printed.getvalue()


def run_with_workers(script: str, *options: str) -> str:
    """What an example with several processes prints, in a process that it may copy."""
    command = [sys.executable, str(ROOT / "examples" / script), *options]
    done = subprocess.run(command, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def number(pattern: str, printed: str) -> float:
    """The number that the first group of a pattern catches."""
    match = re.search(pattern, printed)
    assert match is not None, printed
    return float(match[1])


def finished(printed: str, wanted: int) -> int:
    """How many trials an example with two workers says have finished, which is all of them. Two workers that check at
    the same moment may each begin a trial as the last one."""
    n = int(number(r"(\d+) trials, \d+ finished", printed))
    assert f"{n} trials, {n} finished." in printed
    assert n in (wanted, wanted + 1)
    return n


def share_between_workers(url: str) -> None:
    """One of two workers dies in trial 12. Trial 0 was lost before, with a worker that left no heartbeat."""
    study = optuna.create_study(study_name="workers", storage=url, direction="maximize")
    lost = optuna.create_trial(
        state=TrialState.RUNNING,
        params={"C": 1.0, "gamma": 0.01},
        distributions={
            "C": optuna.distributions.FloatDistribution(1e-2, 1e3, log=True),
            "gamma": optuna.distributions.FloatDistribution(1e-4, 1.0, log=True),
        },
    )
    lost.datetime_start = datetime.now() - timedelta(hours=1)
    study.add_trial(lost)
    printed = run_with_workers("cluster_database.py", "--storage", url, "--trials", "14", "--dies-in", "12")
    assert "The worker of trial 12 dies." in printed
    for number_lost in (0, 12):
        again = rf"Trial {number_lost} was lost with its worker; trial \d+ ran it again: COMPLETE\."
        assert re.search(again, printed), printed
    assert number(r"(\d+) of \d+ proposals took into account", printed) >= 1

    # Two workers that check at the same moment may each begin a trial as the last one.
    assert states(study).count(TrialState.COMPLETE) in (14, 15)
    assert set(states(study)) == {TrialState.COMPLETE, TrialState.FAIL}
    for trial in (study.trials[0], study.trials[12]):
        assert trial.state == TrialState.FAIL
        again_run = [other for other in study.trials if other.number > trial.number and other.params == trial.params]
        assert [other.state for other in again_run] == [TrialState.COMPLETE]
    optuna.delete_study(study_name="workers", storage=url)  # Another example may share the database.
