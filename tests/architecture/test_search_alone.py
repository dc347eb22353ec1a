"""The search does without the answers: studies are tuned in a process in which none of them can be imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

REFUSED = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[:2] in [["pellucid", package] for package in {packages!r}]:
            raise ImportError(f"{{name}} is refused")

sys.meta_path.insert(0, Refused())
"""
PACKAGES = ("answers", "beliefs", "surfaces")

STUDY = """
import warnings
import optuna
from pellucid.provenance import ModelReceipt, RankingReceipt
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.ranking import RankingSampler
from pellucid.study.view import receipts

warnings.simplefilter("ignore")
optuna.logging.disable_default_handler()

def tune(sampler, objective, kind, directions=("minimize",)):
    study = optuna.create_study(directions=directions, sampler=sampler)
    study.optimize(objective, n_trials=10 + 10)
    proposed = receipts(study)[10:]
    assert len(proposed) == 10, proposed
    assert all(isinstance(receipt, kind) for receipt in proposed), proposed
    return proposed

def one(trial):
    x, n = trial.suggest_float("x", 0.0, 1.0), trial.suggest_int("n", 1, 9)
    return (x - 0.3) ** 2 + n + trial.suggest_categorical("c", ["a", "b"]).count("b")

def two(trial):
    value = one(trial)
    return value, -value + trial.params["x"]

def constrained(trial):
    value = one(trial)
    trial.set_constraint("size", trial.params["n"] - 5.0)
    return value
"""

CASES = {
    "one objective": "tune(BayesianSampler(seed=0), one, ModelReceipt)",
    "two objectives": ("tune(BayesianSampler(seed=0), two, ModelReceipt, ('minimize', 'maximize'))"),
    "a constraint": (
        "proposed = tune(BayesianSampler(seed=0), constrained, ModelReceipt)\n"
        "assert all(receipt.constraints for receipt in proposed)"
    ),
    "a ranking": "tune(RankingSampler(hand_over=None, seed=0), one, RankingReceipt)",
}


@pytest.mark.parametrize("case", CASES)
def test_trials_are_proposed_without_the_answers(case: str) -> None:
    if case == "a ranking":
        pytest.importorskip("torch")
    code = REFUSED.format(packages=PACKAGES) + STUDY + CASES[case]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_the_process_refuses_the_answers(package: str) -> None:
    code = REFUSED.format(packages=PACKAGES) + f"import pellucid.{package}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert f"pellucid.{package} is refused" in run.stderr
