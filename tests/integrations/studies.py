"""Studies that the tests of trackers log."""

from __future__ import annotations

from pathlib import Path

import optuna
from optuna.study import Study
from optuna.trial import Trial

LONG = "z" * 300
HOSTILE = f"<b>'; drop 🔥/../{LONG}"


def branches(trial: Trial) -> float:
    """A parameter of each branch has no value in the other."""
    if trial.suggest_categorical("model", ["svc", "forest"]) == "svc":
        return 0.5 + trial.suggest_float("C", 0, 1) ** 2
    return 1.0 - trial.suggest_float("depth", 0, 0.9)


def odd(trial: Trial) -> float:
    """One name is a folder of another; the rest no tracker accepts. The first value is infinite."""
    names = ("a", "a/b", "lr🔥/../x", LONG)
    value = sum(trial.suggest_float(name, 0, 1) for name in names)
    choice = trial.suggest_categorical("", ["x" * 9000, "\ud800"])
    return float("inf") if trial.number == 0 else value + len(choice)


def two(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return x - y**2, x**2 + y


def in_branches() -> Study:
    """Two trials of `svc`; a better one of `forest` may follow."""
    study = optuna.create_study(study_name="branches", sampler=optuna.samplers.RandomSampler(seed=0))
    study.set_metric_names(["val/loss"])
    for params in ({"model": "svc", "C": 0.1}, {"model": "svc", "C": 0.4}, {"model": "forest", "depth": 0.1}):
        study.enqueue_trial(params)
    study.optimize(branches, n_trials=3)
    return study


def with_odd_names() -> Study:
    study = optuna.create_study(study_name=HOSTILE, sampler=optuna.samplers.RandomSampler(seed=0))
    study.set_metric_names(["importance"])
    study.optimize(odd, n_trials=6)
    return study


def with_two_objectives() -> Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler, study_name="two")
    study.set_metric_names(["accuracy", "ms"])
    study.optimize(two, n_trials=4)
    return study


def without_complete_trials() -> Study:
    study = optuna.create_study(study_name="failing")
    study.optimize(lambda _: float("nan"), n_trials=2)
    return study


FILES = {
    *("answers.md", "calibration.json", "importance.json", "ranges.json", "recommendation.json", "report.html"),
    *("verdict.json", "stopping.json"),
}


def is_report(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")
