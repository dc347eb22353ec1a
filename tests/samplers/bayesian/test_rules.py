"""Known constraints: what a rule forbids is never proposed, however little it allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid import BayesianSampler, Interleave
from pellucid.search.acquisition import EI, SAWEI

Params = dict[str, Any]


def line(trial: Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return (1.0 - x) ** 2 + (1.0 - y) ** 2


def batches(trial: Trial) -> float:
    batch = trial.suggest_categorical("batch", [16, 32, 64, 128])
    length, width = trial.suggest_int("length", 16, 512, log=True), trial.suggest_int("width", 1, 3)
    trial.suggest_float("fixed", 2.0, 2.0)
    return -float(batch * length * width)


def branches(trial: Trial) -> float:
    kind = trial.suggest_categorical("kind", ["small", "large"])
    size = trial.suggest_float("size", 0, 1)
    depth = trial.suggest_int("depth", 1, 30) if kind == "large" else 0
    return (size - 0.9) ** 2 - 0.1 * depth


RULES: dict[str, tuple[Callable[[Trial], float], Callable[[Params], bool]]] = {
    "half": (line, lambda p: p["x"] + p["y"] <= 1.0),
    "band": (line, lambda p: abs(p["x"] - p["y"]) < 0.01),
    "corner": (line, lambda p: p["x"] < 0.02 and p["y"] < 0.02),
    "product": (batches, lambda p: p["batch"] * p["length"] * p["width"] * p["fixed"] <= 8192),
    "branch": (branches, lambda p: p["kind"] == "small" or p["depth"] * p["size"] <= 4),
    "only one": (batches, lambda p: p["batch"] == 64 and p["width"] == 2 and p["length"] <= 60),
}


def study_of(name: str, n: int = 22, **options: Any) -> Study:
    objective, allowed = RULES[name]
    study = optuna.create_study(sampler=BayesianSampler(seed=1, allowed=allowed, **options))
    study.optimize(objective, n_trials=n)
    return study


@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_forbids_is_never_proposed(name: str) -> None:
    study = study_of(name)
    allowed = RULES[name][1]
    assert all(allowed(trial.params) for trial in study.trials[1:])
    kinds = [receipt.kind for receipt in pellucid.receipts(study)]
    assert kinds == ["startup"] * 10 + ["model"] * 12


@pytest.mark.parametrize(
    "options",
    [{"acquisition": EI()}, {"acquisition": SAWEI()}, {"interleave": Interleave(params=["x"], every=2)}],
    ids=["EI", "SAWEI", "interleave"],
)
def test_every_acquisition_keeps_to_the_rule(options: dict[str, Any]) -> None:
    study = study_of("half", 20, **options)
    assert all(RULES["half"][1](trial.params) for trial in study.trials[1:])


def test_the_best_allowed_configuration_is_found() -> None:
    study = study_of("half", 40)
    best = min(study.trials[1:], key=lambda trial: trial.value if trial.value is not None else 9.0)
    assert best.value == pytest.approx(0.5, abs=0.01)
    assert best.params["x"] == pytest.approx(0.5, abs=0.08)


def test_start_up_trials_stay_spread_over_what_is_allowed() -> None:
    study = study_of("half", 11)
    xs = sorted(trial.params["x"] for trial in study.trials[1:10])
    assert max(b - a for a, b in zip([0.0, *xs], [*xs, 0.9], strict=True)) < 0.45
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 11


def test_running_trials_and_another_process_get_allowed_configurations_too() -> None:
    study = study_of("band", 12)
    asked = [study.ask() for _ in range(5)]
    points = [{"x": t.suggest_float("x", 0, 1), "y": t.suggest_float("y", 0, 1)} for t in asked]
    assert all(map(RULES["band"][1], points))
    assert len({tuple(point.values()) for point in points}) == 5
    again = study_of("band", 12)
    assert [trial.params for trial in again.trials] == [trial.params for trial in study.trials[:12]]


def test_a_rule_and_constraints_hold_together() -> None:
    def objective(trial: Trial) -> float:
        value = line(trial)
        trial.set_constraint("memory", trial.params["x"] - 0.4)
        return value

    study = optuna.create_study(sampler=BayesianSampler(seed=0, allowed=RULES["half"][1]))
    study.optimize(objective, n_trials=30)
    assert all(RULES["half"][1](trial.params) for trial in study.trials[1:])
    assert sum(trial.constraints["memory"] <= 0.0 for trial in study.trials[-10:]) >= 8


def test_a_rule_that_raises_stops_the_study_with_one_sentence() -> None:
    study = optuna.create_study(sampler=BayesianSampler(seed=0, allowed=lambda p: p["z"] > 0))
    with pytest.raises(
        ValueError, match=r"must return True or False for every configuration, but it raised KeyError: 'z' for \{"
    ):
        study.optimize(line, n_trials=3)


def test_a_rule_that_allows_nothing_says_so() -> None:
    study = optuna.create_study(sampler=BayesianSampler(seed=0, allowed=lambda p: False))
    with pytest.raises(
        ValueError, match=r"allows none of 65,536 configurations, such as \{.*\}: change it, or the ranges"
    ):
        study.optimize(line, n_trials=3)


def test_a_rule_must_be_a_function() -> None:
    with pytest.raises(TypeError, match=r"`allowed` must be a function of the parameters, .* but got 'x < 1'"):
        BayesianSampler(allowed="x < 1")  # type: ignore[arg-type]
