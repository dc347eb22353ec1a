"""`pellucid tune`: real scripts, storages, processes and signals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError
from typer.testing import CliRunner, Result

import pellucid
from pellucid.cli.app import app

URL = "sqlite:///tuning.db"
COMPLETE, FAIL = TrialState.COMPLETE, TrialState.FAIL
PATIENCE_S = 120

SCRIPT = """
import os, sys, time
import optuna


def bowl(trial):
    with open(f"{trial.number}.running", "w") as file:
        file.write(str(os.getpid()))
    return trial.suggest_float("x", -1, 1) ** 2 + trial.suggest_float("y", -1, 1) ** 2


def slow(trial):
    value = bowl(trial)
    time.sleep(0.3)
    return value


def endless_from_third(trial):
    value = bowl(trial)
    while trial.number >= 3:
        time.sleep(0.02)
    return value


def stubborn(trial):
    value = bowl(trial)
    try:
        while trial.number >= 3:
            time.sleep(0.02)
    except KeyboardInterrupt:
        pass
    return value


def sometimes(trial):
    value = bowl(trial)
    if trial.number == 1:
        raise ValueError("one\\nis bad")
    if trial.number == 2:
        return "a word"
    if trial.number == 3:
        sys.exit(7)
    if trial.number == 4:
        raise optuna.TrialPruned
    return value


def always(trial):
    return helper(bowl(trial))


def helper(value):
    raise ZeroDivisionError("never works")


def suicide(trial):
    bowl(trial)
    os.kill(os.getpid(), 9)


def stops(trial):
    if trial.number == 2:
        trial.study.stop()
    return bowl(trial)


def chatty(trial):
    assert sys.stdin.read() == ""
    value = bowl(trial)
    time.sleep(0.1)
    print("printed [bold]by[/bold] trial", trial.number)
    print("warned", file=sys.stderr)
    os.write(1, b"by a library\\n")
    return value


def wanderer(trial):
    os.makedirs("elsewhere", exist_ok=True)
    os.chdir("elsewhere")
    return trial.suggest_float("x", -1, 1) ** 2


number = 3


class Thing:
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def tune(function: str, n: int, *options: str) -> Result:
    return call("tune", f"script.py:{function}", "--trials", str(n), "--storage", URL, *options)


def command(function: str, n: int, *options: str) -> list[str]:
    words = ["tune", f"script.py:{function}", "--trials", str(n), "--storage", URL, *options]
    return [sys.executable, "-m", "pellucid.cli", *words]


def start(function: str, n: int, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command(function, n, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def study(name: str = "script", storage: str = URL) -> Study:
    return optuna.load_study(study_name=name, storage=storage)


def states(name: str = "script") -> Counter[TrialState]:
    return Counter(trial.state for trial in study(name).trials)


def wait_for(happened: Callable[[], Any], process: subprocess.Popen[str] | None = None) -> Any:
    """What the function returns once that is something; a storage may not be there yet."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if found := happened():
                return found
        except (KeyError, OSError, SQLAlchemyError):
            pass
        if process is not None and process.poll() is not None:
            pytest.fail(f"It has ended early: {process.communicate()}")
        time.sleep(0.05)
    pytest.fail("It has not happened.")


def pid_of(number: int) -> int | None:
    """Of the worker that runs, or has run, a trial."""
    marker = Path(f"{number}.running")
    return int(marker.read_text() or 0) if marker.exists() else None


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process of ours whose parent is gone may stay in the table until somebody collects it.
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ---------------------------------------------------------------------- a run, and its continuation


def test_two_jobs_make_exactly_what_was_asked_for_and_the_command_continues(folder: Path) -> None:
    first = tune("bowl", 5, "--jobs", "2", "--seed", "0", "--json")
    assert first.exit_code == 0, first.output
    assert "New study `script` in sqlite:///tuning.db, to minimize: 5 trials to go." in first.stderr
    found = json.loads(first.stdout)
    assert found["study"] == "script"
    assert found["storage"] == URL
    assert found["n_trials"] == found["counts"]["complete"] == 5
    best = study().best_trial
    assert found["best"] == {"value": best.value, "trial": best.number, "params": best.params}
    assert found["recommendation"]["trial"] in range(5)
    assert found["verdict"]["stop"] is False
    assert found["report"] is None

    second = tune("bowl", 8, "--jobs", "2", "--seed", "0")
    assert second.exit_code == 0, second.output
    assert "5 of 8 trials of `script` in sqlite:///tuning.db are there; 3 to go." in second.stderr
    assert second.stdout.startswith("Use x=")
    assert "Go on: 8 of the 20 finished trials" in second.stdout
    assert states() == {COMPLETE: 8}

    third = tune("bowl", 8)
    assert third.exit_code == 0
    assert "nothing to do" in third.stderr
    assert states() == {COMPLETE: 8}


def test_workers_with_one_seed_do_not_repeat_each_other(folder: Path) -> None:
    assert tune("bowl", 6, "--jobs", "2", "--seed", "1", "--sampler", "random", "--quiet").exit_code == 0
    assert len({trial.params["x"] for trial in study().trials}) == 6


def test_a_model_of_earlier_studies_proposes_also_where_the_objective_changes_the_folder(folder: Path) -> None:
    pytest.importorskip("torch")
    import numpy as np
    from optuna.distributions import FloatDistribution

    from pellucid.study.encoding import Space
    from pellucid.surrogates.ranking.ensemble import RankingEnsemble
    from pellucid.surrogates.ranking.files import save
    from pellucid.surrogates.ranking.training import Recipe

    space = Space.of({"x": FloatDistribution(-1, 1)})
    tables = [np.random.default_rng(k).random((12, 1)) for k in range(3)]
    tasks = [(str(k), X, ((X - 0.5) ** 2).sum(axis=1)) for k, X in enumerate(tables)]
    save(RankingEnsemble(space, members=2, recipe=Recipe(steps=2)).meta_trained(tasks), folder / "earlier.ranker")
    result = tune("wanderer", 2, "--model", "earlier.ranker", "--seed", "0", "--quiet")
    assert result.exit_code == 0, result.output
    assert [one.kind for one in pellucid.receipts(study())] == ["ranking", "ranking"]


def test_meta_training_takes_names_and_patterns_and_says_what_was_learned(folder: Path) -> None:
    pytest.importorskip("torch")
    for k, name in enumerate(["net[a]", "net[b]", "other", "few"]):
        made = optuna.create_study(study_name=name, storage=URL, sampler=optuna.samplers.RandomSampler(seed=k))
        made.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=3 if name == "few" else 10)
    # A name is a name, also where a pattern could be read into it.
    result = call("meta-train", "--storage", URL, "--studies", "net[a]")
    assert result.exit_code == 2
    assert "needs at least 3 of them, but there is 1 to learn from" in result.stderr
    result = call("meta-train", "--storage", URL, "--studies", "net[[]*", "--studies", "nothing*")
    assert result.exit_code == 2
    assert "is called `nothing*`; it has `few`, `net[a]`, `net[b]`, `other`." in result.stderr
    result = call("meta-train", "--storage", URL, "--out", "all.ranker")
    assert result.exit_code == 0, result.output
    assert "Learned from 3 studies with 30 trials." in result.stdout
    assert "`few` is left out: it has 3 trials with a value, but needs at least 10." in result.stdout
    assert tune("bowl", 1, "--model", "all.ranker", "--quiet").exit_code == 0


def test_a_model_that_could_not_be_written_is_not_learned(folder: Path) -> None:
    pytest.importorskip("torch")
    result = call("meta-train", "--storage", URL, "--out", "y" * 250)
    assert result.exit_code == 2
    assert "cannot be written (File name too long)" in result.stderr
    assert not list(folder.glob(".y*"))


def test_a_journal_takes_studies_too(folder: Path) -> None:
    result = call("tune", "script.py:bowl", "--trials", "2", "--storage", "runs.log", "--direction", "maximize")
    assert result.exit_code == 0, result.output
    again = call("explain", "--storage", "runs.log", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["counts"]["complete"] == 2
    assert json.loads(again.stdout)["direction"] == "maximize"


@pytest.mark.parametrize("storage", ["tuning.log", URL])
def test_an_objective_may_change_the_folder(folder: Path, storage: str) -> None:
    result = tune("wanderer", 3, "--storage", storage)
    assert result.exit_code == 0, result.output
    assert not list(folder.glob("elsewhere/**/tuning.*"))
    assert "All 3 trials" in tune("wanderer", 3, "--storage", storage).stderr


def test_postgresql_needs_no_name_of_its_driver(folder: Path, postgres: str) -> None:
    url = postgres.replace("+psycopg2", "")
    result = call("tune", "script.py:bowl", "--trials", "2", "--storage", url, "--study", "from the command line")
    assert result.exit_code == 0, result.output
    assert f"in {url}" in result.stderr
    assert len(study("from the command line", postgres).trials) == 2


def test_a_module_is_a_target_and_quiet_says_nothing(folder: Path) -> None:
    result = call("tune", "script:bowl", "--trials", "1", "--storage", URL, "--study", "own", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert states("own") == {COMPLETE: 1}


def test_no_trial_begins_when_time_is_up(folder: Path) -> None:
    result = tune("bowl", 5, "--timeout", "0")
    assert result.exit_code == 0, result.output
    assert "0 of 5" in result.stderr


def test_the_objective_may_stop_the_study(folder: Path) -> None:
    result = tune("stops", 9)
    assert result.exit_code == 0, result.output
    assert "The objective has stopped the study: 3 of 9 trials are in" in result.stderr
    assert states() == {COMPLETE: 3}


# ---------------------------------------------------------------------- what goes wrong inside


def test_a_failing_trial_is_recorded_and_the_run_goes_on(folder: Path) -> None:
    result = tune("sometimes", 6)
    assert result.exit_code == 0, result.output
    assert states() == {COMPLETE: 2, FAIL: 3, TrialState.PRUNED: 1}
    assert "Traceback" not in result.output
    assert "last error: trial 3: the objective called exit (SystemExit: 7 (script.py, line" in result.stderr


@pytest.mark.parametrize(("n", "made"), [(2, 2), (9, 5)])
def test_an_objective_that_always_fails_ends_the_run(folder: Path, n: int, made: int) -> None:
    result = tune("always", n)
    assert result.exit_code == 1
    assert states() == {FAIL: made}
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


def test_workers_of_a_killed_parent_end_after_their_trial(folder: Path) -> None:
    process = start("chatty", 99, "--sampler", "random")
    worker = wait_for(lambda: pid_of(1), process)
    process.kill()
    process.communicate()
    wait_for(lambda: not alive(worker))
    assert set(states()) == {COMPLETE}


# ---------------------------------------------------------------------- Ctrl-C


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
    assert "Stopped: 3 of 5 trials are in sqlite:///tuning.db; the same command continues." in err
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


# ---------------------------------------------------------------------- what is shown


def read_terminal(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # The other end is closed.
            return
        if not data:
            return
        yield data


def test_a_terminal_gets_a_table_with_the_objectives_lines_above_it(folder: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(
        command("chatty", 13, "--sampler", "sawei", "--json"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown = b"".join(read_terminal(ours)).decode()
    out, _ = process.communicate(timeout=PATIENCE_S)
    os.close(ours)
    assert process.returncode == 0, shown
    assert json.loads(out)["n_trials"] == 13
    for number in range(13):
        assert f"printed [bold]by[/bold] trial {number}" in shown
    assert "warned" in shown
    assert "by a library" in shown
    for row in ("alpha", "regret bound", "last proposal", "13 of 13: 13 complete", "s per trial"):
        assert row in shown
    last = shown[shown.rindex("script in sqlite:///tuning.db") :]
    assert "printed" not in last
    assert "maximised WEI" in last


HOSTILE = ["'; DROP TABLE studies; --", "[red]name[/red]", "../../up", "-x", "näme 研究", "two\nlines\x1b[2J", "%s{0}"]


def test_hostile_study_names_are_names(folder: Path) -> None:
    for name in HOSTILE[:-1]:
        optuna.create_study(study_name=name, storage=URL).add_trial(optuna.create_trial(value=1.0))
    result = tune("bowl", 1, f"--study={HOSTILE[-1]}")
    assert result.exit_code == 0, result.output
    for name in HOSTILE:
        again = tune("bowl", 1, f"--study={name}", "--json")
        assert again.exit_code == 0, again.output
        assert "nothing to do" in again.stderr
        assert "\x1b" not in again.output
        assert json.loads(again.stdout)["study"] == name
    assert sorted(optuna.get_all_study_names(URL)) == sorted(HOSTILE)


# ---------------------------------------------------------------------- mistakes

BROKEN = {
    "syntax.py": "def objective(trial:\n",
    "missing.py": "import numpy\nimport no_such_package\n",
    "raises.py": "x = {}\nx['key']\n",
    "program.py": "import sys\nsys.exit(3)\n",
}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["script.py"], 2, "path/to/script.py:function or package.module:function; got `script.py`."),
        (["script.py:"], 2, "got `script.py:`"),
        (["script.py:a b"], 2, "got `script.py:a b`"),
        (["other.py:objective"], 2, "there is no file `other.py`"),
        (["notes.txt:objective"], 2, "`notes.txt` does not end in .py"),
        (["a-b.c:objective"], 2, "neither a script nor the name of a module"),
        (["no.such.module:objective"], 2, "there is no module `no`"),
        (["script.py:bowll"], 2, "has no `bowll`; the nearest is `bowl`."),
        (["script.py:zzz"], 2, "has no `zzz`; it has `bowl`"),
        (["script.py:number"], 2, "`number` in `script.py` is of type int"),
        (["script.py:Thing"], 2, "`Thing` in `script.py` is a class"),
        (["syntax.py:objective"], 2, "cannot be imported: SyntaxError"),
        (["missing.py:objective"], 2, "No module named 'no_such_package' (missing.py, line 2"),
        (["raises.py:objective"], 2, "KeyError: 'key' (raises.py, line 2"),
        (["program.py:objective"], 2, "if __name__ == '__main__'"),
        (["script.py:bowl", "--trials", "0"], 2, "--trials"),
        (["script.py:bowl", "--sampler", "best"], 2, "two-step"),
        (["script.py:bowl", "--sampler", "two-step"], 2, "needs --trials of at least 30"),
        (["script.py:bowl", "--model", "none.ranker"], 2, "there is no none.ranker: make it, or name another file."),
        (["script.py:bowl", "--model", "."], 2, "but . is a folder: name a file in it."),
        (["script.py:bowl", "--model", "notes.txt"], 2, "notes.txt is no ranking model of pellucid"),
        (["script.py:bowl", "--model", "x", "--sampler", "tpe"], 2, "--sampler bayesian or sawei later; got `tpe`"),
        (["script.py:bowl", "--direction", "up"], 2, "minimize"),
        (["script.py:bowl", "--study", ""], 2, "A study's name has 1 to 512 characters"),
        (["script.py:bowl", "--study", "x" * 600], 2, "got one with 600"),
        (["script.py:bowl", "--report", "."], 2, "is a folder"),
        (["script.py:bowl", "--report", "nowhere/report.html"], 2, "there is no `nowhere`"),
        (["script.py:bowl", "--storage", ""], 2, "got nothing"),
        (["script.py:bowl", "--storage", "sqlite://tuning.db"], 2, "with three slashes, like sqlite:///tuning.db"),
        (["script.py:bowl", "--storage", "sqlite:tuning.db"], 2, "with three slashes"),
        (["script.py:bowl", "--storage", "sqlite:///:memory:"], 2, "end with their process"),
        (["script.py:bowl", "--storage", "sqlite:///no/such/t.db"], 2, "The folder of an SQLite file has to exist"),
        (["script.py:bowl", "--storage", "sqlite:///notes.txt"], 2, "`notes.txt` is not an SQLite database"),
        (["script.py:bowl", "--storage", "tuning"], 2, "write sqlite:///tuning for an SQLite file"),
        (["script.py:bowl", "--storage", "train.log"], 2, "neither an SQLite file nor a journal"),
        (["script.py:bowl", "--storage", "."], 2, "is a folder"),
        (["script.py:bowl", "--storage", "oracel://me:secret@host/x"], 2, "no dialect for: `oracel://me:***@host/x`"),
        (["script.py:bowl", "--storage", "mysql://me:secret@host/x"], 3, "needs a driver package"),
        (["script.py:bowl", "--storage", "postgresql://me:secret@127.0.0.1:1/x"], 2, "check that the server runs"),
        (["script.py:bowl", "--storage", "postgresql://me:secret@host:port/x"], 2, "not a URL that a database has"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing_behind(
    folder: Path, arguments: list[str], code: int, sentence: str
) -> None:
    for name, text in BROKEN.items():
        (folder / name).write_text(text)
    (folder / "notes.txt").write_text("notes\n" * 50)
    (folder / "train.log").write_text("epoch 1\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    given = {"--trials": "3", "--storage": URL}
    defaults = [word for option, value in given.items() if option not in arguments for word in (option, value)]
    result = call("tune", *arguments, *defaults)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.output
    # Usage errors come in a box that folds lines.
    assert sentence in result.stderr or "Usage" in result.stderr
    assert sentence.split(maxsplit=1)[0] in result.stderr
    assert "secret" not in result.output
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before


def test_a_study_keeps_its_direction_and_its_one_objective(folder: Path) -> None:
    optuna.create_study(study_name="up", storage=URL, direction="maximize")
    optuna.create_study(study_name="two", storage=URL, directions=["minimize", "maximize"])
    result = tune("bowl", 3, "--study", "up", "--direction", "minimize")
    assert result.exit_code == 2
    assert "`up` has maximize, not minimize; leave --direction out" in result.stderr
    result = tune("bowl", 3, "--study", "two")
    assert result.exit_code == 2
    assert "pellucid works on studies with one objective; `two` has 2" in result.stderr
