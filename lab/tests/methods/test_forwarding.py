"""Another release of pellucid in a process of its own: it proposes what it would propose in this one."""

import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

import pellucid
from pellucid.surfaces.cli.errors import Unavailable
from pellucid_lab.base import Method
from pellucid_lab.methods import samplers
from pellucid_lab.methods.outside.forwarding import ForwardingSampler
from pellucid_lab.methods.outside.sampler import FOLDER_VARIABLE, interpreter
from pellucid_lab.runs.regret import RegretTask, run_regret_task

PYTHON = Path(sys.executable)
REPOSITORY = Path(__file__).parents[3]


def conditional(trial: optuna.Trial) -> float:
    """With a choice that is no text, parameters that only one choice has, and numbers of every kind."""
    rate = trial.suggest_float("rate\n", 1e-3, 1, log=True)
    kind = trial.suggest_categorical("kind", [None, "b", True])
    if kind == "b":
        return math.log10(rate) + 0.1 * trial.suggest_int("layers", 1, 64, log=True)
    return math.log10(rate) + trial.suggest_float("x", 0, 1, step=0.25) + trial.suggest_int("n", 2, 8, step=2)


def failing(trial: optuna.Trial) -> float:
    x, y = (trial.suggest_float(name, -1, 1) for name in ("x", "y"))
    pellucid.report_noise(trial, 0.1)
    return math.nan if x > 0.5 else (x - 0.3) ** 2 + y**2


def constrained(trial: optuna.Trial) -> tuple[float, float]:
    x, y = (trial.suggest_float(name, -1, 1) for name in ("x", "y"))
    trial.set_constraint("room", 0.2 - x)
    return (x - 0.3) ** 2 + y**2, -((x + 0.3) ** 2) - y**2


def reporting(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -1, 1)
    for step in range(1, 6):
        trial.report(x * x + 1 / step, step)
        if trial.number % 3 == 2 and step == 3:
            raise optuna.TrialPruned
    return x * x + 0.2


def trials_of(sampler: Any, objective: Any, directions: list[str]) -> list[Any]:
    """Three trials at random, five that the sampler proposes one after the other, then two at once."""
    study = optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=3)
    study.sampler = sampler
    study.optimize(objective, n_trials=5)
    if objective is conditional:
        for trial in [study.ask() for _ in range(2)]:
            objective(trial)
        study.optimize(objective, n_trials=1)
    return [(trial.params, trial.values, trial.state) for trial in study.trials]


@pytest.mark.parametrize(
    ("objective", "directions"),
    [
        (conditional, ["maximize"]),
        (failing, ["minimize"]),
        (constrained, ["minimize", "maximize"]),
        (reporting, ["minimize"]),
    ],
)
def test_proposals_are_those_of_the_sampler_itself(objective: Any, directions: list[str]) -> None:
    forwarding = ForwardingSampler("rc1", PYTHON, 7, 3)
    own = pellucid.BayesianSampler(seed=7, n_startup_trials=3)
    assert trials_of(forwarding, objective, directions) == trials_of(own, objective, directions)
    assert set(forwarding.versions) == {"pellucid", "optuna", "numpy", "scipy"}
    assert forwarding.cpu_s > 0.0


def test_a_configuration_that_was_not_suggested_is_refused() -> None:
    study = optuna.create_study(sampler=ForwardingSampler("rc1", PYTHON, 0, 3))
    study.enqueue_trial({"x": 0.25})
    with pytest.raises(RuntimeError, match="A trial has the parameters that were suggested"):
        study.optimize(failing, n_trials=2)


def test_a_run_is_that_of_the_working_tree_but_for_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(seed: int, n_startup: int, n_steps: int) -> ForwardingSampler:
        return ForwardingSampler("rc1", PYTHON, seed, n_startup)

    monkeypatch.setitem(samplers.METHODS, "rc1", Method("rc1", make, environment="rc1"))
    runs = {name: run_regret_task(RegretTask("synthetic", "branin", name, 0, 5, 4)) for name in ("rc1", "pellucid")}
    assert runs["rc1"].values == runs["pellucid"].values
    assert runs["rc1"].sampler_s > 0.0


def test_a_missing_environment_is_a_sentence_with_the_command(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    usable, [note] = samplers.usable_methods(["rc1", "random"])
    assert [method.name for method in usable] == ["random"]
    assert "`make peers`" in note


def test_a_clone_without_the_history_says_so_in_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "tools" / "rc1.sh"
    script.parent.mkdir()
    shutil.copy(REPOSITORY / "tools" / "rc1.sh", script)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    command = ["sh", str(script), sys.executable, sys.executable, str(tmp_path / "rc1")]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 3
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("1.0.0rc1 is left out, because this clone has no history")
    assert not (tmp_path / "rc1").exists()


@pytest.mark.slow
def test_the_release_candidate_proposes_in_its_own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(REPOSITORY / ".venvs"))
    try:
        interpreter("rc1")
    except Unavailable as reason:
        pytest.skip(str(reason))
    sampler = samplers.METHODS["rc1"].make_sampler(1, 5, 2)
    assert isinstance(sampler, ForwardingSampler)
    assert len(trials_of(sampler, conditional, ["minimize"])) == 11
    assert sampler.versions["pellucid"] == "1.0.0rc1"
