"""The goal of being on the front: which trials reach it, and every answer that takes a goal."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.pareto import front
from pellucid.study import goals
from pellucid.words import OBJECTIVE


def reached(goal: goals.Goal, values: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return goal.reached(values, np.zeros(len(values), dtype=bool), signs)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_front_is_what_no_other_trial_dominates(k: int) -> None:
    signs = np.array([1.0, -1.0, 1.0])[:k]
    values = np.random.default_rng(k).random((400, k)).round(1 if k > 1 else 6)
    values[7, 0] = math.nan
    on = reached(pellucid.on_the_front(), values, signs)
    losses = values * signs
    # `front` keeps the first of equal rows, the goal all of them.
    best = losses[front(losses)]
    assert on.tolist() == [any((row == other).all() for other in best) for row in losses]


def test_a_share_takes_those_that_the_fewest_others_dominate() -> None:
    signs = np.array([1.0, 1.0])
    values = np.random.default_rng(0).random((300, 2))
    dominators = np.array([((values <= row).all(axis=1) & (values < row).any(axis=1)).sum() for row in values])
    near = reached(pellucid.on_the_front(0.2), values, signs)
    assert 60 <= near.sum() < 80
    assert dominators[near].max() < dominators[~near].min()
    assert (near | ~reached(pellucid.on_the_front(), values, signs)).all(), "the front itself comes first"
    one = values[:, :1]
    assert reached(pellucid.on_the_front(0.1), one, signs[:1]).tolist() == (
        reached(pellucid.best(0.1), one[:, 0], signs[0]).tolist()
    )
    with pytest.raises(ValueError, match="`share` must be between 0 and 1"):
        pellucid.on_the_front(2.0)


def objective(trial: Trial) -> tuple[float, float]:
    """x trades one objective for the other, y only wastes, and z does nothing."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.suggest_float("z", 0, 1)
    trial.set_constraint("memory", x - 0.9)
    if x > 0.97:
        raise RuntimeError
    return x + 2.0 * y, -(1.0 - x) - 2.0 * y


@pytest.fixture(scope="module")
def study() -> Study:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=RandomSampler(seed=0))
    study.set_metric_names(["latency", "accuracy"])
    study.optimize(objective, n_trials=250, catch=(RuntimeError,))
    return study


def test_by_default_several_objectives_ask_for_the_front(study: Study) -> None:
    importance = pellucid.hsic_importance(study, n_permutations=199, pairs=False)
    assert importance.goal == "being among the 10% nearest to the front"
    assert importance.impactful[0] == "y"
    assert "z" not in importance.impactful
    assert importance == pellucid.hsic_importance(study, pellucid.on_the_front(0.1), n_permutations=199, pairs=False)
    feasible = [t for t in study.trials if t.values and t.params["x"] <= 0.9]
    values = np.array([t.values for t in feasible])
    exact = pellucid.hsic_importance(study, pellucid.on_the_front(), n_permutations=99, pairs=False)
    assert exact.n_goal == front(values * [1.0, -1.0]).sum()


def test_a_model_draws_all_objectives(study: Study) -> None:
    few = optuna.create_study(directions=study.directions)
    few.add_trials(study.trials[:50])
    importance = pellucid.hsic_importance(few, source="surrogate")
    assert importance.source == "surrogate"
    assert "y" in importance.impactful
    verdicts = {parameter.name: parameter.verdict for parameter in importance.parameters}
    assert verdicts["z"] == "cannot tell", "a model does not say that a parameter has no effect on being near a front"


def test_a_goal_of_one_objective_or_constraint_names_it(study: Study) -> None:
    with pytest.raises(ValueError, match=r"one objective at a time.*objective='latency' or objective='accuracy'"):
        pellucid.hsic_importance(study, pellucid.best())
    latency = pellucid.hsic_importance(study, objective="latency", n_permutations=199, pairs=False)
    assert latency.goal == "being among the best 10% in latency"
    assert set(latency.impactful) == {"x", "y"}
    # The accuracy is maximised, so that x has the opposite effect on it.
    low, high = (
        next(p for p in pellucid.hsic_importance(study, objective=name, n_permutations=99).parameters if p.name == "x")
        for name in ("latency", "accuracy")
    )
    assert low.bins != high.bins
    memory = pellucid.hsic_importance(study, goals.above(0.0), objective="memory", n_permutations=99, pairs=False)
    assert memory.impactful == ("x",)
    with pytest.raises(ValueError, match=r"about all objectives, but got objective='latency'"):
        pellucid.hsic_importance(study, pellucid.on_the_front(), objective="latency")
    failures = pellucid.hsic_importance(study, pellucid.failed(), n_permutations=99, pairs=False)
    assert failures.impactful == ("x",)


def test_interval_reduction_takes_them_too(study: Study) -> None:
    reduction = pellucid.interval_reduction(study, "z", n_permutations=99)
    assert reduction.goal == "being among the 10% nearest to the front"
    of_one = pellucid.interval_reduction(study, "z", objective="accuracy", goal=pellucid.best(0.2), n_permutations=99)
    assert of_one.goal == "being among the best 20% in accuracy"
    with pytest.raises(ValueError, match="must be something to reach"):
        pellucid.interval_reduction(study, "z", goal=pellucid.failed())


def test_ranges_and_comparisons_are_about_one_objective(study: Study) -> None:
    few = optuna.create_study(directions=study.directions)
    few.set_metric_names(["latency", "accuracy"])
    few.add_trials(study.trials[:30])
    ranges = pellucid.parameter_ranges(few, objective="accuracy")
    assert "This is about `accuracy` alone" in ranges.notes[0]
    latency, accuracy = (pellucid.compare_importance(few, 3, objective=i) for i in (0, 1))
    assert latency.shapley != accuracy.shapley
    for ask in (pellucid.parameter_ranges, lambda study: pellucid.compare_importance(study, 3)):
        with pytest.raises(ValueError, match="one objective at a time"):
            ask(study)


def test_a_front_of_too_few_trials_says_what_to_use() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: [trial.suggest_float("x", 0, 1)] * 2, n_trials=30)
    with pytest.raises(ValueError, match=r"but 1 of 30 reach it\. `pellucid.on_the_front\(0.1\)` counts trials near"):
        pellucid.hsic_importance(study, pellucid.on_the_front())
    assert pellucid.hsic_importance(study, n_permutations=99).n_goal == 3


@pytest.mark.parametrize(
    ("goal", "words", "fewer"),
    [
        (goals.best(0.1), "being among the best 10% in loss", "among the best 10% in loss"),
        (goals.worst(0.2), "being among the worst 20% in loss", "among the worst 20% in loss"),
        (goals.on_the_front(), "being on the front", "on the front"),
        (goals.on_the_front(0.1), "being among the 10% nearest to the front", "among the 10% nearest to the front"),
        (goals.below(3.0), "loss below 3", "good for loss below 3"),
        (goals.above(3.0), "loss above 3", "good for loss above 3"),
        (goals.failed(), "failing", "good for failing"),
        (goals.such_that(bool), "reaching the goal", "good for reaching the goal"),
    ],
)
def test_a_goal_about_an_objective_says_what_fewer_trials_are(goal: goals.Goal, words: str, fewer: str) -> None:
    about = goal.about("loss")
    assert (about.words, about.fewer) == (words, fewer)
    assert goal.about(OBJECTIVE) is goal
