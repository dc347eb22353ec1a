"""Importance for a goal: verdicts, groups, interactions, failures, and notes on trials that were not random draws."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.answers.importance.hsic import hsic_index


def known(trial: Trial) -> float:
    """`lr` and `opt` matter, `a` and `b` only together, `idle` not at all; `momentum` exists and matters for sgd."""
    lr = trial.suggest_float("lr", 1e-4, 1, log=True)
    opt = trial.suggest_categorical("opt", ["adam", "sgd"])
    a, b = trial.suggest_int("a", 1, 4), trial.suggest_float("b", 0, 1)
    trial.suggest_float("idle", 0, 1)
    value = 2 * abs(math.log10(lr) + 2) - 2.0 * ((a > 2) != (b > 0.5)) + (0.5 if opt == "adam" else 0.0)
    if opt == "sgd":
        value += 3 * trial.suggest_float("momentum", 0, 1)
    return value


def drawn(n: int, objective: Any = known, direction: str = "minimize", seed: int = 0) -> Study:
    study = optuna.create_study(sampler=RandomSampler(seed=seed), direction=direction)
    study.optimize(objective, n_trials=n, catch=(RuntimeError,))
    return study


@pytest.fixture(scope="module")
def study() -> Study:
    return drawn(1500)


def test_importance_of_single_paired_and_conditional_parameters(study: Study) -> None:
    importance = pellucid.hsic_importance(study)
    assert set(importance.impactful) >= {"lr", "momentum"}
    by_name = {parameter.name: parameter for parameter in importance.parameters}
    assert by_name["idle"].verdict != "impactful"
    assert by_name["momentum"].group == "where opt is sgd"
    assert by_name["momentum"].n_trials == sum("momentum" in t.params for t in study.trials)
    assert importance.pairs[0].params in (("a", "b"), ("b", "a"))
    assert importance.pairs[0].interact
    assert not any(pair.interact for pair in importance.pairs if "idle" in pair.params)
    indices = [parameter.index for parameter in importance.parameters]
    assert indices == sorted(indices, reverse=True)
    text = str(importance)
    assert text.startswith("For being among the best 10%, ")
    assert "together, `a` with `b` matter too" in text or "together, `b` with `a` matter too" in text
    json.dumps(importance.to_dict(), allow_nan=False)
    assert list(importance.to_frame().columns)[:3] == ["name", "index", "stderr"]


def test_the_index_is_that_of_the_arrays(study: Study) -> None:
    parameters = {parameter.name: parameter for parameter in pellucid.hsic_importance(study, pairs=False).parameters}
    values = np.array([t.value for t in study.trials])
    in_goal = np.zeros(len(values), dtype=bool)
    in_goal[np.argsort(values, kind="stable")[:150]] = True
    u = np.array([(math.log10(t.params["lr"]) + 4) / 4 for t in study.trials])
    index, stderr = hsic_index(u, in_goal, "median")
    assert parameters["lr"].index == pytest.approx(index, abs=1e-12)
    assert parameters["lr"].stderr == pytest.approx(stderr, abs=1e-12)


def test_shares_of_values_overall_and_in_the_goal(study: Study) -> None:
    parameters = {parameter.name: parameter for parameter in pellucid.hsic_importance(study, pairs=False).parameters}
    assert [label for label, _, _ in parameters["opt"].bins] == ["adam", "sgd"]
    assert [label for label, _, _ in parameters["a"].bins] == ["1", "2", "3", "4"]
    assert len(parameters["lr"].bins) == 10
    assert parameters["lr"].bins[0][0].startswith("0.0001 to ")
    for parameter in parameters.values():
        assert sum(share for _, share, _ in parameter.bins) == pytest.approx(1.0)
        assert sum(share for _, _, share in parameter.bins) == pytest.approx(1.0)


def test_goals(study: Study) -> None:
    mirrored = drawn(1500, lambda trial: -known(trial), "maximize")
    best, also = pellucid.hsic_importance(study, pairs=False), pellucid.hsic_importance(mirrored, pairs=False)
    assert [(parameter.name, parameter.index) for parameter in best.parameters] == [
        (parameter.name, parameter.index) for parameter in also.parameters
    ]
    worst = pellucid.hsic_importance(study, pellucid.goals.worst(0.1), pairs=False)
    assert worst.goal == "being among the worst 10%"
    assert worst.n_goal == 150
    cut = float(np.quantile([t.value for t in study.trials], 0.1))
    under = pellucid.hsic_importance(study, pellucid.goals.below(cut), pairs=False)
    same = pellucid.hsic_importance(study, lambda v: v < cut, pairs=False)
    assert [parameter.index for parameter in under.parameters] == [parameter.index for parameter in same.parameters]
    assert pellucid.hsic_importance(study, pellucid.goals.above(cut), pairs=False).n_goal == 1500 - under.n_goal


def test_which_parameters_make_trials_fail(caplog: pytest.LogCaptureFixture) -> None:
    def fragile(trial: Trial) -> float:
        units = trial.suggest_int("units", 1, 512)
        trial.suggest_float("lr", 0, 1)
        if units > 400:
            raise RuntimeError("out of memory")
        return math.nan if units < 20 else 1.0 / units

    caplog.set_level(logging.CRITICAL)
    importance = pellucid.hsic_importance(drawn(300, fragile), pellucid.failed())
    assert importance.impactful == ("units",)
    assert str(importance).startswith("For failing, `units` matters (p ≤ ")
    top = max(importance.parameters[0].bins, key=lambda bar: bar[2])
    assert top[0].split(" to ")[1] == "512"
    assert f"of such trials have `units` from {top[0]}, against " in str(importance)


def test_no_model_is_advised_for_failures_that_an_optimiser_met() -> None:
    def fragile(trial: Trial) -> float:
        return math.nan if trial.suggest_float("x", 0, 1) > 0.6 else trial.params["x"]

    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, avoid_failures=False))
    study.optimize(fragile, n_trials=20)
    (note,) = (n for n in pellucid.hsic_importance(study, pellucid.failed()).notes if "optimiser" in n)
    assert note.endswith("add random trials to be sure.")


# ------------------------------------------------------------------ uncertainty


def test_no_effect_is_not_reported_after_few_trials() -> None:
    importance = pellucid.hsic_importance(drawn(40))
    assert "no effect" not in {parameter.verdict for parameter in importance.parameters}


def test_no_effect_is_reported_if_an_effect_would_have_shown() -> None:
    importance = pellucid.hsic_importance(drawn(3000), pairs=False)
    assert {parameter.name: parameter.verdict for parameter in importance.parameters}["idle"] == "no effect"


def test_trials_that_an_optimiser_has_chosen_are_named() -> None:
    tpe = optuna.create_study(sampler=TPESampler(seed=0))
    tpe.optimize(known, n_trials=150)
    importance = pellucid.hsic_importance(tpe, pairs=False)
    assert "do not look like random draws" in str(importance)
    assert "no effect" not in {parameter.verdict for parameter in importance.parameters}
    model = pellucid.hsic_importance(tpe, pairs=False, source="surrogate")
    assert model.n_trials == 150
    assert "a model of 150 trials" in str(model)
    assert "lr" in model.impactful
    assert "idle" not in model.impactful


def test_startup_trials_count_as_random_draws() -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=40))
    study.optimize(known, n_trials=50)
    importance = pellucid.hsic_importance(study, pairs=False)
    assert importance.n_trials == 40
    assert "Based on 40 trials that were drawn at random; 10 others were proposed." in str(importance)
    of_all_trials = pellucid.hsic_importance(study, pairs=False, source="all")
    assert of_all_trials.n_trials == 50
    assert "An optimiser chose 10 of the 50 trials" in str(of_all_trials)


def test_too_few_random_trials_are_refused_with_advice() -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=10))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) ** 2 + t.suggest_float("y", 0, 1), n_trials=25)
    with pytest.raises(ValueError, match=r"10 of them and 15 that an optimiser chose\. Ask `pellucid\.importance"):
        pellucid.hsic_importance(study)
    for source in ("all", "surrogate"):
        assert pellucid.hsic_importance(study, source=source).parameters


def test_failures_are_compared_whoever_chose_the_trials() -> None:
    def fragile(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if x > 0.7 and trial.number % 2:
            raise RuntimeError
        return (x - 0.8) ** 2

    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=5))
    study.optimize(fragile, n_trials=30, catch=(RuntimeError,))
    failures = pellucid.hsic_importance(study, pellucid.failed())
    assert "An optimiser chose" in str(failures)


# ---------------------------------------------------------------------- limits of what can be said


def test_a_model_of_noise_agrees_about_nothing() -> None:
    loud = 0
    for seed in range(6):
        dice = np.random.default_rng(seed)
        study = drawn(60, lambda t, d=dice: 0.0 * sum(t.suggest_float(n, 0, 1) for n in "abc") + d.normal(), seed=seed)
        loud += bool(pellucid.hsic_importance(study, source="surrogate").impactful)
    assert loud <= 2


def test_whole_numbers_on_a_logarithmic_range_have_bins_of_their_own() -> None:
    """The first values of 1, 2, 3, ... fill several tenths of the range each; no bin is labelled `2 to 2`."""
    study = drawn(200, lambda t: abs(t.suggest_int("depth", 1, 64, log=True) - 2))
    importance = pellucid.hsic_importance(study, pairs=False)
    labels = [label for label, _, _ in importance.parameters[0].bins]
    assert labels[:3] == ["1", "2", "3"]
    assert all(low != high for low, _, high in (label.partition(" to ") for label in labels))
    assert len(set(labels)) == len(labels)
    assert sum(share for _, share, _ in importance.parameters[0].bins) == pytest.approx(1.0)
    assert "= 2, against " in str(importance)


def test_a_model_that_knows_little_of_the_space_denies_no_effect() -> None:
    """Trials close to one point: all ten parameters matter, but none of them varies enough for the model to see it."""
    dice = np.random.default_rng(0)
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
    for _ in range(60):
        params = {f"x{j}": float(np.clip(0.5 + 0.02 * dice.normal(), 0, 1)) for j in range(10)}
        study.enqueue_trial(params)
    study.optimize(lambda t: sum((t.suggest_float(f"x{j}", 0, 1) - 0.5) ** 2 for j in range(10)), n_trials=60)
    importance = pellucid.hsic_importance(study, source="surrogate")
    assert "no effect" not in {parameter.verdict for parameter in importance.parameters}
    assert "unsure about most of the space" in str(importance)


def test_a_goal_that_no_trial_has_reached_can_be_asked_of_a_model() -> None:
    study = drawn(60, lambda t: (t.suggest_float("x", 0, 1) - 0.5) ** 2 + 0.1 * t.suggest_float("y", 0, 1))
    lowest = min(t.value for t in study.trials)
    with pytest.raises(ValueError, match="needs at least 3 trials that reach the goal"):
        pellucid.hsic_importance(study, pellucid.goals.below(1.01 * lowest))
    assert (
        "x" in pellucid.hsic_importance(study, pellucid.goals.below(1.5 * lowest + 0.01), source="surrogate").impactful
    )


def test_many_parameters_do_not_hide_the_one_that_matters() -> None:
    study = drawn(300, lambda t: min([t.suggest_float(f"x{j}", 0, 1) for j in range(60)][:1]))
    assert pellucid.hsic_importance(study, pairs=False).impactful == ("x0",)


def test_ties() -> None:
    winners = drawn(200, lambda t: 0.0 if t.suggest_float("x", 0, 1) < 0.08 else 1.0)
    importance = pellucid.hsic_importance(winners)
    assert importance.impactful == ("x",)
    assert importance.n_goal == sum(t.value == 0.0 for t in winners.trials)
    half = drawn(200, lambda t: 0.0 if t.suggest_float("x", 0, 1) < 0.6 else t.params["x"])
    assert "Many trials are equally good: " in str(pellucid.hsic_importance(half))


def test_labels_differ() -> None:
    def odd(trial: Trial) -> float:
        choice = trial.suggest_categorical("c", [None, True, 1, "1", 1.0000001, 1.0000002])
        return trial.suggest_float("narrow", 1000, 1000.5) + (0.0 if choice is None else 1.0)

    for parameter in pellucid.hsic_importance(drawn(120, odd)).parameters:
        labels = [label for label, _, _ in parameter.bins]
        assert len(set(labels)) == len(labels)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "best"}, "`goal` must be a goal of `pellucid.goals`"),
        ({"source": "model"}, "`source` is one of random, all, surrogate"),
        ({"bandwidth": "foo"}, "`bandwidth` is 'max', 'median' or a positive number, but got 'foo'"),
        ({"goal": pellucid.goals.below(-100)}, "but 0 of 1500 reach it"),
        ({"goal": pellucid.goals.above(-100)}, "All 1500 trials reach the goal"),
        ({"goal": pellucid.failed()}, "at least 3 trials that reach the goal .failing., but 0 of 1500 reach it"),
        ({"goal": pellucid.failed(), "source": "surrogate"}, "cannot say which configurations would fail"),
    ],
)
def test_wrong_requests_are_explained(study: Study, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.hsic_importance(study, **arguments)


def test_studies_without_enough_information_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 10 trials with a value; this study has 0"):
        pellucid.hsic_importance(optuna.create_study())
    with pytest.raises(ValueError, match="at least 10 trials with a value; this study has 1"):
        pellucid.hsic_importance(drawn(1))
    with pytest.raises(ValueError, match="No parameter of this study varies"):
        pellucid.hsic_importance(drawn(20, lambda trial: trial.suggest_float("x", 1, 1) + trial.number))
    with pytest.raises(ValueError, match="between 0 and 1, but got 10"):
        pellucid.best(10)
    with pytest.raises(ValueError, match="one objective at a time, but this study has 2"):
        pellucid.hsic_importance(optuna.create_study(directions=["minimize", "minimize"]), pellucid.best())


def test_a_constant_objective_makes_nothing_matter() -> None:
    with pytest.raises(ValueError, match="but 0 of 60 reach it"):
        pellucid.hsic_importance(drawn(60, lambda trial: 0.0 * trial.suggest_float("x", 0, 1)))


def test_the_figure_escapes_names_and_shows_the_finding() -> None:
    hostile = "</script><b>lr</b>"
    importance = pellucid.hsic_importance(drawn(60, lambda trial: trial.suggest_float(hostile, 0, 1)))
    figure = importance.plot()
    assert "matters" in figure.layout.title.text
    assert hostile not in figure.to_html()
    assert {trace.name for trace in figure.data} >= {"impactful", "all", "in the goal"}


def test_a_choice_is_no_range_whatever_it_is_called() -> None:
    def flat_is_worse(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", ["up to 3", "flat"])
        return float(kind == "flat") + 0.01 * trial.suggest_float("x", 0, 1)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(flat_is_worse, n_trials=100)
    answer = pellucid.hsic_importance(study, pellucid.goals.best(0.4), pairs=False, n_permutations=99)
    assert "of such trials have `kind` = up to 3, against" in answer.sentence
    ranges = {parameter.name: parameter.ranges for parameter in answer.parameters}
    assert ranges["kind"] == (False, False)
    assert ranges["x"] == (True,) * 10
