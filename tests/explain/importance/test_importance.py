"""What matters for a goal: verdicts, groups, interactions, failures, honesty about trials that were not drawn."""

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
from pellucid.explain.importance.hsic import hsic_index


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


def test_what_matters_alone_together_and_where_it_exists(study: Study) -> None:
    found = pellucid.hsic_importance(study)
    assert set(found.impactful) >= {"lr", "momentum"}
    by_name = {one.name: one for one in found.parameters}
    assert by_name["idle"].verdict != "impactful"
    assert by_name["momentum"].group == "where opt is sgd"
    assert by_name["momentum"].n_trials == sum("momentum" in t.params for t in study.trials)
    assert found.pairs[0].params in (("a", "b"), ("b", "a"))
    assert found.pairs[0].interact
    assert not any(one.interact for one in found.pairs if "idle" in one.params)
    assert [one.index for one in found.parameters] == sorted((one.index for one in found.parameters), reverse=True)
    assert str(found).startswith("For being among the best 10%, ")
    assert "together, `a` with `b` matter too" in str(found) or "together, `b` with `a` matter too" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    assert list(found.to_frame().columns)[:3] == ["name", "index", "stderr"]


def test_the_index_is_that_of_the_arrays(study: Study) -> None:
    found = {one.name: one for one in pellucid.hsic_importance(study, pairs=False).parameters}
    values = np.array([t.value for t in study.trials])
    in_goal = np.zeros(len(values), dtype=bool)
    in_goal[np.argsort(values, kind="stable")[:150]] = True
    u = np.array([(math.log10(t.params["lr"]) + 4) / 4 for t in study.trials])
    index, stderr = hsic_index(u, in_goal, "median")
    assert found["lr"].index == pytest.approx(index, abs=1e-12)
    assert found["lr"].stderr == pytest.approx(stderr, abs=1e-12)


def test_shares_of_values_overall_and_in_the_goal(study: Study) -> None:
    found = {one.name: one for one in pellucid.hsic_importance(study, pairs=False).parameters}
    assert [label for label, _, _ in found["opt"].bins] == ["adam", "sgd"]
    assert [label for label, _, _ in found["a"].bins] == ["1", "2", "3", "4"]
    assert len(found["lr"].bins) == 10
    assert found["lr"].bins[0][0].startswith("0.0001 to ")
    for one in found.values():
        assert sum(share for _, share, _ in one.bins) == pytest.approx(1.0)
        assert sum(share for _, _, share in one.bins) == pytest.approx(1.0)


def test_goals(study: Study) -> None:
    mirrored = drawn(1500, lambda trial: -known(trial), "maximize")
    best, also = pellucid.hsic_importance(study, pairs=False), pellucid.hsic_importance(mirrored, pairs=False)
    assert [(one.name, one.index) for one in best.parameters] == [(one.name, one.index) for one in also.parameters]
    worst = pellucid.hsic_importance(study, pellucid.goals.worst(0.1), pairs=False)
    assert worst.goal == "being among the worst 10%"
    assert worst.n_goal == 150
    cut = float(np.quantile([t.value for t in study.trials], 0.1))
    under = pellucid.hsic_importance(study, pellucid.goals.below(cut), pairs=False)
    same = pellucid.hsic_importance(study, lambda v: v < cut, pairs=False)
    assert [one.index for one in under.parameters] == [one.index for one in same.parameters]
    assert pellucid.hsic_importance(study, pellucid.goals.above(cut), pairs=False).n_goal == 1500 - under.n_goal


def test_which_parameters_make_trials_fail(caplog: pytest.LogCaptureFixture) -> None:
    def fragile(trial: Trial) -> float:
        units = trial.suggest_int("units", 1, 512)
        trial.suggest_float("lr", 0, 1)
        if units > 400:
            raise RuntimeError("out of memory")
        return math.nan if units < 20 else 1.0 / units

    caplog.set_level(logging.CRITICAL)
    found = pellucid.hsic_importance(drawn(300, fragile), pellucid.failed())
    assert found.impactful == ("units",)
    assert str(found).startswith("For failing, `units` matters (p ≤ ")
    top = max(found.parameters[0].bins, key=lambda bar: bar[2])
    assert top[0].split(" to ")[1] == "512"
    assert f"those have `units` most often from {top[0]} (" in str(found)


# ---------------------------------------------------------------------- honesty


def test_few_trials_cannot_tell() -> None:
    found = pellucid.hsic_importance(drawn(40))
    assert "no effect" not in {one.verdict for one in found.parameters}


def test_no_effect_is_said_where_one_would_have_shown() -> None:
    found = pellucid.hsic_importance(drawn(3000), pairs=False)
    assert {one.name: one.verdict for one in found.parameters}["idle"] == "no effect"


def test_trials_that_an_optimiser_has_chosen_are_named() -> None:
    tpe = optuna.create_study(sampler=TPESampler(seed=0))
    tpe.optimize(known, n_trials=150)
    found = pellucid.hsic_importance(tpe, pairs=False)
    assert "do not look like random draws" in str(found)
    assert "no effect" not in {one.verdict for one in found.parameters}
    model = pellucid.hsic_importance(tpe, pairs=False, source="surrogate")
    assert model.n_trials == 150
    assert "a model of 150 trials" in str(model)
    assert "lr" in model.impactful
    assert "idle" not in model.impactful


def test_startup_trials_are_what_was_drawn() -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=40))
    study.optimize(known, n_trials=50)
    found = pellucid.hsic_importance(study, pairs=False)
    assert found.n_trials == 40
    assert "Based on 40 trials that were drawn at random; 10 others were proposed." in str(found)
    everything = pellucid.hsic_importance(study, pairs=False, source="all")
    assert everything.n_trials == 50
    assert "An optimiser chose 10 of the 50 trials" in str(everything)


# ---------------------------------------------------------------------- limits of what can be said


def test_a_model_of_noise_agrees_about_nothing() -> None:
    loud = 0
    for seed in range(6):
        dice = np.random.default_rng(seed)
        study = drawn(60, lambda t, d=dice: 0.0 * sum(t.suggest_float(n, 0, 1) for n in "abc") + d.normal(), seed=seed)
        loud += bool(pellucid.hsic_importance(study, source="surrogate").impactful)
    assert loud <= 2


def test_whole_numbers_on_a_logarithmic_range_have_bins_of_their_own() -> None:
    """`2 to 2` was said where the first values of 1, 2, 3, ... fill several tenths of the range each."""
    study = drawn(200, lambda t: abs(t.suggest_int("depth", 1, 64, log=True) - 2))
    found = pellucid.hsic_importance(study, pairs=False)
    labels = [label for label, _, _ in found.parameters[0].bins]
    assert labels[:3] == ["1", "2", "3"]
    assert all(low != high for low, _, high in (label.partition(" to ") for label in labels))
    assert len(set(labels)) == len(labels)
    assert sum(share for _, share, _ in found.parameters[0].bins) == pytest.approx(1.0)
    assert "most often = 2" in str(found)


def test_a_model_that_knows_little_of_the_space_denies_no_effect() -> None:
    """Trials that crowd around one place: all ten parameters matter, and the model has seen none of them move."""
    dice = np.random.default_rng(0)
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
    for _ in range(60):
        params = {f"x{j}": float(np.clip(0.5 + 0.02 * dice.normal(), 0, 1)) for j in range(10)}
        study.enqueue_trial(params)
    study.optimize(lambda t: sum((t.suggest_float(f"x{j}", 0, 1) - 0.5) ** 2 for j in range(10)), n_trials=60)
    found = pellucid.hsic_importance(study, source="surrogate")
    assert "no effect" not in {one.verdict for one in found.parameters}
    assert "unsure about most of the space" in str(found)


def test_a_goal_that_no_trial_has_reached_can_be_asked_of_a_model() -> None:
    study = drawn(60, lambda t: (t.suggest_float("x", 0, 1) - 0.5) ** 2 + 0.1 * t.suggest_float("y", 0, 1))
    lowest = min(t.value for t in study.trials)
    with pytest.raises(ValueError, match="must be reached by at least 3"):
        pellucid.hsic_importance(study, pellucid.goals.below(1.01 * lowest))
    assert (
        "x" in pellucid.hsic_importance(study, pellucid.goals.below(1.5 * lowest + 0.01), source="surrogate").impactful
    )


def test_many_parameters_do_not_silence_the_one_that_decides() -> None:
    study = drawn(300, lambda t: min([t.suggest_float(f"x{j}", 0, 1) for j in range(60)][:1]))
    assert pellucid.hsic_importance(study, pairs=False).impactful == ("x0",)


def test_ties() -> None:
    winners = drawn(200, lambda t: 0.0 if t.suggest_float("x", 0, 1) < 0.08 else 1.0)
    found = pellucid.hsic_importance(winners)
    assert found.impactful == ("x",)
    assert found.n_goal == sum(t.value == 0.0 for t in winners.trials)
    half = drawn(200, lambda t: 0.0 if t.suggest_float("x", 0, 1) < 0.6 else t.params["x"])
    assert "Many trials are equally good: " in str(pellucid.hsic_importance(half))


def test_labels_differ() -> None:
    def odd(trial: Trial) -> float:
        choice = trial.suggest_categorical("c", [None, True, 1, "1", 1.0000001, 1.0000002])
        return trial.suggest_float("narrow", 1000, 1000.5) + (0.0 if choice is None else 1.0)

    for one in pellucid.hsic_importance(drawn(120, odd)).parameters:
        labels = [label for label, _, _ in one.bins]
        assert len(set(labels)) == len(labels)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "best"}, "`goal` must be a goal of `pellucid.goals`"),
        ({"source": "model"}, "`source` is one of random, all, surrogate"),
        ({"bandwidth": "foo"}, "`bandwidth` is 'max', 'median' or a positive number, but got 'foo'"),
        ({"goal": pellucid.goals.below(-100)}, "but 0 of 1500 reach it"),
        ({"goal": pellucid.goals.above(-100)}, "but 1500 of 1500 reach it"),
        ({"goal": pellucid.failed()}, "The goal .failing. must be reached by at least 3 trials"),
        ({"goal": pellucid.failed(), "source": "surrogate"}, "cannot say which configurations would fail"),
    ],
)
def test_wrong_requests_are_explained(study: Study, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.hsic_importance(study, **arguments)


def test_studies_with_nothing_to_say() -> None:
    with pytest.raises(ValueError, match="at least 10 trials with a value; this study has 0"):
        pellucid.hsic_importance(optuna.create_study())
    with pytest.raises(ValueError, match="at least 10 trials with a value; this study has 1"):
        pellucid.hsic_importance(drawn(1))
    with pytest.raises(ValueError, match="No parameter of this study varies"):
        pellucid.hsic_importance(drawn(20, lambda trial: trial.suggest_float("x", 1, 1) + trial.number))
    with pytest.raises(ValueError, match="between 0 and 1, but got 10"):
        pellucid.best(10)
    with pytest.raises(ValueError, match="works on studies with one objective"):
        pellucid.hsic_importance(optuna.create_study(directions=["minimize", "minimize"]))


def test_a_constant_objective_makes_nothing_matter() -> None:
    with pytest.raises(ValueError, match="but 0 of 60 reach it"):
        pellucid.hsic_importance(drawn(60, lambda trial: 0.0 * trial.suggest_float("x", 0, 1)))


def test_the_figure_escapes_names_and_says_the_finding() -> None:
    hostile = "</script><b>lr</b>"
    found = pellucid.hsic_importance(drawn(60, lambda trial: trial.suggest_float(hostile, 0, 1)))
    figure = found.plot()
    assert "matters" in figure.layout.title.text
    assert hostile not in figure.to_html()
    assert {trace.name for trace in figure.data} >= {"impactful", "all", "in the goal"}
