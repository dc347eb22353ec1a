"""Peers in processes of their own: what the two sides tell each other, and how a peer may fail."""

import json
import math
import sys
from pathlib import Path

import optuna
import pytest

from pellucid.surfaces.cli.errors import Unavailable
from pellucid_lab.base import Method
from pellucid_lab.methods import samplers
from pellucid_lab.methods.outside.sampler import FOLDER_VARIABLE, OutsideSampler, interpreter
from pellucid_lab.runs.regret import RegretTask, run_regret_task

PYTHON = Path(sys.executable)
REPOSITORY = Path(__file__).parents[3]

# Writes what it hears beside itself, and proposes the lower end of every range and the last of the choices.
STAND_IN = """
import json, pathlib
PACKAGES = ("pip",)
LOG = pathlib.Path(__file__).with_suffix(".log")

class Peer:
    def __init__(self, space, seed):
        print("a line that is no message")
        self.space = space
        self.hear({"space": space, "seed": seed})

    def hear(self, message):
        with LOG.open("a") as file:
            file.write(json.dumps(message) + "\\n")

    def tell(self, rows):
        self.hear(rows)

    def ask(self):
        return [entry["count"] - 1 if entry["kind"] == "choice" else entry["low"] for entry in self.space]
"""


def stand_in(folder: Path, source: str = STAND_IN) -> Path:
    path = folder / "stand_in.py"
    path.write_text(source)
    return path


def heard(peer: Path) -> list:
    return [json.loads(line) for line in peer.with_suffix(".log").read_text().splitlines()]


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate\n", 1e-3, 1, log=True)
    layers = trial.suggest_int("layers", 1, 4)
    kind = trial.suggest_categorical('"kind"', [None, "b", True])
    return math.log10(rate) + layers + (kind is True)


def test_a_peer_is_told_each_trial_once_and_its_numbers_become_parameters(tmp_path: Path) -> None:
    peer = stand_in(tmp_path)
    study = optuna.create_study(direction="maximize", sampler=OutsideSampler("stand-in", PYTHON, 7, 2, peer))
    study.optimize(objective, n_trials=4)
    first, start, later = heard(peer)
    assert first["seed"] == 7
    assert {json.dumps(entry) for entry in first["space"]} == {
        '{"kind": "float", "low": 0.001, "high": 1.0, "log": true}',
        '{"kind": "int", "low": 1, "high": 4, "log": false}',
        '{"kind": "choice", "count": 3}',
    }
    assert study.trials[2].params == study.trials[3].params == {"rate\n": 1e-3, "layers": 1, '"kind"': True}
    assert [loss for _, loss in start] == [-study.trials[0].value, -study.trials[1].value]
    assert [loss for _, loss in later] == [-study.trials[2].value]
    assert sorted(later[0][0]) == [1e-3, 1, 2]


def test_infinite_values_are_not_told_and_another_range_starts_the_peer_anew(tmp_path: Path) -> None:
    peer = stand_in(tmp_path)
    study = optuna.create_study(sampler=OutsideSampler("stand-in", PYTHON, 0, 1, peer))
    study.optimize(lambda trial: math.inf * trial.suggest_float("x", 1, 2), n_trials=1)
    study.optimize(lambda trial: trial.suggest_float("x", 1, 2), n_trials=1)
    assert heard(peer)[1:] == [[]]
    study.optimize(lambda trial: trial.suggest_float("x", 1, 2) + trial.suggest_float("y", 0, 1), n_trials=2)
    assert [len(rows) for rows in heard(peer)[1:]] == [0, 1, 1]

    fresh = optuna.create_study(sampler=study.sampler)
    fresh.optimize(lambda trial: trial.suggest_float("x", 0, 3), n_trials=2)
    assert heard(peer)[-2]["space"][0]["high"] == 3.0
    assert len(heard(peer)[-1]) == 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise SystemExit('no such package')", "exit code 1.*no such package"),
        (STAND_IN.replace("def ask(self):", "def ask(self):\n        1 / 0"), "exit code 1.*ZeroDivisionError"),
        (STAND_IN.replace("def ask(self):", "def ask(self):\n        import os; os.abort()"), "exit code -6"),
    ],
)
def test_a_peer_that_dies_says_so_with_the_end_of_its_stderr(tmp_path: Path, source: str, words: str) -> None:
    sampler = OutsideSampler("stand-in", PYTHON, 0, 1, stand_in(tmp_path, source))
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=1)
    with pytest.raises(RuntimeError, match=rf"(?s)the process of the peer stand-in ended with {words}"):
        study.optimize(objective, n_trials=1)


def test_parameters_with_a_step_are_refused(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=OutsideSampler("stand-in", PYTHON, 0, 1, stand_in(tmp_path)))
    with pytest.raises(TypeError, match="without a step"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1, step=0.25), n_trials=2)


def test_a_missing_environment_is_a_sentence_with_the_command(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(Unavailable, match=r"the method ax is skipped: it needs an environment.*`make peers`"):
        interpreter("ax")
    usable, notes = samplers.usable_methods(["hebo", "random"])
    assert [method.name for method in usable] == ["random"]
    assert len(notes) == 1


def test_a_run_records_the_seconds_and_the_versions_of_the_peer(monkeypatch, tmp_path: Path) -> None:
    peer = stand_in(tmp_path)

    def make(seed: int, n_startup: int, n_steps: int) -> OutsideSampler:
        sampler = OutsideSampler("stand-in", PYTHON, seed, n_startup, peer)
        sampler.cpu_s = 1000.0  # What was used before the first step does not count.
        return sampler

    monkeypatch.setitem(samplers.METHODS, "ax", Method("ax", make, environment="ax"))
    run = run_regret_task(RegretTask("synthetic", "mixed-network", "ax", 0, 3, 2))
    assert "pip" in run.versions
    assert all(0.0 < seconds < 100.0 for seconds in run.ask_s)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ax", "hebo", "vizier"])
def test_peers_propose_inside_a_mixed_space(monkeypatch, name: str) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(REPOSITORY / ".venvs"))
    try:
        interpreter(name)
    except Unavailable as reason:
        pytest.skip(str(reason))
    study = optuna.create_study(sampler=samplers.METHODS[name].make_sampler(1, 5, 2))
    seen = []

    def watched(trial: optuna.Trial) -> float:
        value = objective(trial)
        seen.append(trial.relative_params)
        return value

    study.optimize(watched, n_trials=7)
    assert seen[:5] == [{}] * 5
    assert all(set(params) == {"rate\n", "layers", '"kind"'} for params in seen[5:])
    assert all(trial.params == seen[trial.number] for trial in study.trials[5:])
