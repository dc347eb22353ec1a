"""Advice on ranges: the lowest value without a measurable cost, bounds, and choices to drop."""

from __future__ import annotations

import json
import math

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.answers.ranges.advice import ranges_of
from pellucid.answers.ranges.judged import judged_of
from pellucid.beliefs.of_study import opened


def known(trial: Trial) -> float:
    """Layers matter below four only; the best `lr` is above its range; `sigmoid` is bad; `width` has no effect."""
    layers = trial.suggest_int("n_layers", 1, 10)
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    act = trial.suggest_categorical("act", ["relu", "tanh", "sigmoid"])
    trial.suggest_int("width", 8, 512, log=True)
    noise = trial.suggest_float("noise", 0, 1)
    return max(0, 4 - layers) - 0.5 * math.log10(lr) + (3 if act == "sigmoid" else 0) + 0.3 * noise


@pytest.fixture(scope="module")
def study() -> Study:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(known, n_trials=1500)
    return study


def test_the_lowest_value_without_a_measurable_cost(study: Study) -> None:
    layers = pellucid.interval_reduction(study, "n_layers")
    assert layers.value == 4
    assert layers.cuts == tuple(range(1, 11))
    assert all(p <= 0.05 for p in layers.p[:3])
    assert str(layers).startswith("`n_layers` = 4 is the lowest value that costs nothing measurable (p = ")
    assert "below it, fewer trials are among the best 10%" in str(layers)
    width = pellucid.interval_reduction(study, "width")
    assert width.value == 8
    assert "the lowest value, costs nothing measurable" in str(width)
    json.dumps(layers.to_dict(), allow_nan=False)
    assert len(layers.to_frame()) == 10


def test_from_the_other_end_the_cheap_values_may_be_the_good_ones(study: Study) -> None:
    assert pellucid.interval_reduction(study, "n_layers", cheap="high").value == 10
    rate = pellucid.interval_reduction(study, "lr", cheap="high")
    assert rate.value == pytest.approx(0.1)
    assert "reach the goal there" in str(rate)
    low = pellucid.interval_reduction(study, "lr")
    assert low.value is not None
    assert low.value > 1e-3


def test_directions_do_not_matter(study: Study) -> None:
    mirrored = optuna.create_study(sampler=RandomSampler(seed=0), direction="maximize")
    mirrored.optimize(lambda trial: -known(trial), n_trials=1500)
    assert (
        pellucid.interval_reduction(mirrored, "n_layers").index == pellucid.interval_reduction(study, "n_layers").index
    )


def test_advice_in_sentences(study: Study) -> None:
    advice = {(entry.param, entry.what): entry for entry in list(pellucid.parameter_ranges(study).advice)}
    assert ("act", "drop") in advice
    assert "`act` = sigmoid" in str(advice["act", "drop"])
    assert "beyond its upper bound 0.1" in str(advice["lr", "widen"])
    assert "`n_layers` to at least 4: below that, " in str(advice["n_layers", "narrow"])
    assert not any(param == "width" for param, _ in advice), "it has no effect"
    losses = "If this is wrong, you lose ", "the model expects no loss"
    assert all(any(loss in str(entry) for loss in losses) for entry in advice.values())
    assert [entry.probability for entry in list(pellucid.parameter_ranges(study).advice)] == sorted(
        entry.probability for entry in list(pellucid.parameter_ranges(study).advice)
    )


def test_advice_for_a_study_that_piled_up_at_a_bound() -> None:
    tpe = optuna.create_study(sampler=TPESampler(seed=0))
    tpe.optimize(lambda t: -t.suggest_float("x", 0, 1) + 0.01 * t.suggest_float("y", 0, 1), n_trials=120)
    advice = list(pellucid.parameter_ranges(tpe).advice)
    assert ("x", "widen") in {(entry.param, entry.what) for entry in advice}
    assert "beyond its upper bound 1" in next(str(entry) for entry in advice if entry.what == "widen")


def test_nothing_is_advised_without_evidence() -> None:
    noise = optuna.create_study(sampler=RandomSampler(seed=1))
    noise.optimize(lambda t: t.suggest_float("x", 0, 1) * 0 + math.sin(1e4 * t.params["x"]), n_trials=200)
    assert list(pellucid.parameter_ranges(noise).advice) == []
    few = optuna.create_study(sampler=RandomSampler(seed=1))
    few.optimize(known, n_trials=30)
    assert not any(entry.param in ("width", "noise") for entry in list(pellucid.parameter_ranges(few).advice))


@pytest.mark.parametrize("sampler", ["ours", "tpe"])
def test_a_range_is_widened_where_the_model_gets_better_not_where_the_trials_are(sampler: str) -> None:
    """The optimum of `far` is beyond its range, that of `near` inside but close to its bound."""

    def objective(trial: Trial) -> float:
        far, near = trial.suggest_float("far", 0, 1), trial.suggest_float("near", 0, 1)
        return (far - 1.4) ** 2 + (near - 0.93) ** 2 + 0.5 * (trial.suggest_float("inner", 0, 1) - 0.4) ** 2

    ours = pellucid.BayesianSampler(seed=0)
    study = optuna.create_study(sampler=ours if sampler == "ours" else TPESampler(seed=0))
    study.optimize(objective, n_trials=60)
    widened = [entry for entry in pellucid.parameter_ranges(study).advice if entry.what == "widen"]
    assert [(entry.param, entry.stop) for entry in widened] == [("far", 1.0)]
    assert str(widened[0]).endswith("If this is wrong, you lose a few trials.")
    assert widened[0].cost == 0.0
    assert 0.0 < widened[0].probability < 0.07


def test_a_choice_is_not_judged_before_it_has_had_its_chance() -> None:
    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["linear", "svc"]) == "linear":
            return 0.2 + 0.1 * trial.suggest_float("alpha", 0, 1)
        return 1.0 + trial.suggest_float("gamma", 0, 1) + trial.suggest_float("C", 0, 1)

    def asked(n_svc: int) -> pellucid.ParameterRanges:
        study = optuna.create_study(sampler=RandomSampler(seed=0))
        for i in range(40 + n_svc):
            study.enqueue_trial({"model": "svc" if i < n_svc else "linear"})
        study.optimize(objective, n_trials=40 + n_svc)
        return pellucid.parameter_ranges(study)

    few, enough = asked(4), asked(40)
    assert not any(entry.what == "drop" for entry in few.advice)
    assert few.notes == ("`model` = svc has 4 trials with a value, too few to say whether to drop it.",)
    (drop,) = (entry for entry in enough.advice if entry.what == "drop")
    assert str(drop).startswith("Drop `model` = svc: the chance that it holds anything as good is")
    assert drop.probability <= 0.01
    assert enough.notes == ()


def test_a_switch_is_not_widened() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_int("on", 0, 1) + 0.1 * t.suggest_float("x", 0, 1), n_trials=60)
    assert not any(entry.what == "widen" and entry.param == "on" for entry in pellucid.parameter_ranges(study).advice)


def test_advice_knows_where_counts_end_and_where_shares_may() -> None:
    def objective(trial: Trial) -> float:
        return (
            trial.suggest_float("dropout", 0, 0.5)
            + (1 - trial.suggest_float("subsample", 0.5, 1))
            + 0.05 * trial.suggest_int("min_samples_leaf", 1, 20)
            - 0.2 * math.log10(trial.suggest_float("lr", 1e-5, 1, log=True))
        )

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=80)
    ranges = pellucid.parameter_ranges(study)
    widened = {entry.param: str(entry) for entry in ranges.advice if entry.what == "widen"}
    assert set(widened) == {"dropout", "subsample", "lr"}
    assert widened["dropout"].startswith("Widen `dropout` beyond its lower bound 0, if smaller values are allowed: the")
    assert widened["subsample"].startswith("Widen `subsample` beyond its upper bound 1, if larger values are allowed: ")
    assert widened["lr"].startswith("Widen `lr` beyond its upper bound 1, if larger values are allowed: the best")
    assert (
        "`min_samples_leaf` is best at its lower bound 1; counts end there, so there is nothing to widen."
        in ranges.notes
    )


def test_a_parameter_without_an_effect_is_not_widened_because_of_noise() -> None:
    """Few noisy trials, of which some are better at one end of a range by chance: ten ends in each of 20 studies."""
    wrong, right = 0, 0
    for seed in range(20):
        dice = np.random.default_rng(seed)
        study = optuna.create_study(sampler=RandomSampler(seed=seed))

        def objective(t: Trial, d: np.random.Generator = dice) -> float:
            for j in range(5):
                t.suggest_float(f"dummy{j}", 2, 3)
            return -2 * t.suggest_float("x", 2, 3) + 0.15 * float(d.normal())

        study.optimize(objective, n_trials=40)
        widened = [entry.param for entry in pellucid.parameter_ranges(study).advice if entry.what == "widen"]
        right += "x" in widened
        wrong += sum(param != "x" for param in widened)
    assert wrong <= 1
    assert right >= 15


def test_a_range_is_not_widened_in_a_branch_that_loses() -> None:
    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["linear", "svc"]) == "linear":
            return (trial.suggest_float("alpha", 2, 3) - 2.5) ** 2
        return 5.0 - trial.suggest_float("gamma", 2, 3)

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=60)
    assert not any(entry.what == "widen" for entry in pellucid.parameter_ranges(study).advice)


def test_of_hundreds_of_parameters_the_most_active_are_judged() -> None:
    """Without a limit the candidates, and the square of their number, grow with the parameters."""
    rng, names = np.random.default_rng(0), [f"p{j}" for j in range(300)]
    kinds: dict[str, optuna.distributions.BaseDistribution] = {
        name: CategoricalDistribution("abc") if j % 3 == 2 else FloatDistribution(2, 3) for j, name in enumerate(names)
    }
    study = optuna.create_study()
    for _ in range(60):
        params = {n: "abc"[rng.integers(3)] if j % 3 == 2 else 2 + rng.random() for j, n in enumerate(names)}
        study.add_trial(optuna.create_trial(params=params, distributions=kinds, value=-10 * params["p0"]))
    with opened(study, "parameter_ranges") as (beliefs, target):
        judged = judged_of(beliefs, target)
        assert judged is not None
        assert len(judged.columns) == 20
        assert 0 in judged.columns
        assert len(judged.candidates) < 1000
        assert len(ranges_of(beliefs, target).axes) == 300


def test_a_constant_objective_calls_for_nothing() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: float(t.suggest_float("x", 0, 1) > 2) + (t.number < 3), n_trials=30)
    assert not any(entry.what != "narrow" for entry in pellucid.parameter_ranges(study).advice)


def test_trials_that_all_agree_say_nothing_about_ranges() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: 0.0 * t.suggest_float("x", 0, 1), n_trials=20)
    with pytest.raises(ValueError, match="All 20 trials returned the same value"):
        pellucid.parameter_ranges(study)


def test_choices_of_a_parameter_that_the_best_trial_lacks_are_all_noted() -> None:
    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["linear", "svc"]) == "linear":
            return 0.1 * trial.suggest_float("alpha", 0, 1)
        return 2.0 + len(trial.suggest_categorical("kernel", ["rbf", "poly", "linear"]))

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for i in range(52):
        kernel = ("rbf", "poly", "linear")[i % 3]
        study.enqueue_trial({"model": "svc", "kernel": kernel} if i < 12 else {"model": "linear"})
    study.optimize(objective, n_trials=52)
    notes = pellucid.parameter_ranges(study).notes
    for kernel in ("rbf", "poly", "linear"):
        assert f"`kernel` = {kernel} has 4 trials with a value, too few to say whether to drop it." in notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"param": "n_layer"}, "no parameter `n_layer`; .* Did you mean `n_layers`"),
        ({"param": "act"}, "`act` is categorical, so it has no interval to reduce"),
        ({"param": "lr", "cheap": "left"}, "`cheap` is 'low' or 'high', but got 'left'"),
    ],
)
def test_wrong_requests_are_explained(study: Study, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.interval_reduction(study, **arguments)  # type: ignore[arg-type]


def test_too_few_trials_are_reported() -> None:
    few = optuna.create_study(sampler=RandomSampler(seed=0))
    few.optimize(known, n_trials=30)
    reduction = pellucid.interval_reduction(few, "n_layers")
    assert reduction.value is None
    assert "is not known: too few trials reach the goal" in str(reduction)
    assert len(reduction.plot().layout.shapes) == 0


def test_an_effect_that_could_be_missed_is_not_called_free() -> None:
    """A hundred noisy trials of a parameter that matters up to six: no small value may be recommended."""
    for seed in range(10):
        dice = np.random.default_rng(seed)
        study = optuna.create_study(sampler=RandomSampler(seed=seed))
        study.optimize(lambda t, d=dice: -min(t.suggest_int("k", 1, 10), 6) + 2 * d.normal(), n_trials=100)
        reduction = pellucid.interval_reduction(study, "k")
        assert reduction.value is None or reduction.value >= 5
        assert reduction.value is not None or "could miss an effect" in str(reduction) or "too few" in str(reduction)


def test_integers_on_a_logarithmic_scale_keep_their_values() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: -math.log(t.suggest_int("k", 1, 1000, log=True) + 1e-9), n_trials=400)
    reduction = pellucid.interval_reduction(study, "k")
    assert len(set(reduction.cuts)) == len(reduction.cuts)
    assert reduction.cuts[0] == 1
    assert all(isinstance(cut, int) for cut in reduction.cuts)
    big = optuna.create_study(sampler=RandomSampler(seed=0))
    big.optimize(lambda t: 0.0 * t.suggest_int("k", 0, 10**9) + t.suggest_float("x", 0, 1), n_trials=400)
    assert pellucid.interval_reduction(big, "k").cuts[0] == 0
    assert pellucid.interval_reduction(big, "k", cheap="high").cuts[0] == 10**9


@pytest.mark.parametrize("goal", [pellucid.goals.worst(), pellucid.failed()], ids=["worst", "failed"])
def test_goals_to_avoid_are_refused(study: Study, goal: object) -> None:
    with pytest.raises(ValueError, match="`goal` must be something to reach"):
        pellucid.interval_reduction(study, "lr", goal=goal)  # type: ignore[arg-type]


def test_no_false_advice_when_ranges_were_widened_or_values_are_few() -> None:
    wrong = 0
    for seed in range(10):
        dice = np.random.default_rng(seed)
        study = optuna.create_study(sampler=RandomSampler(seed=seed))

        def noise(t: Trial, d: np.random.Generator = dice) -> float:
            t.suggest_float("x", 0, 1 if t.number < 150 else 10)
            t.suggest_int("few", 0, 1)
            return float(d.random())

        study.optimize(noise, n_trials=200)
        wrong += len(list(pellucid.parameter_ranges(study).advice))
    assert wrong <= 1
    steps = optuna.create_study(sampler=RandomSampler(seed=0))
    steps.optimize(lambda t: -t.suggest_int("k", 1, 3) + 0.1 * t.suggest_float("y", 0, 1), n_trials=400)
    advice = [str(entry) for entry in list(pellucid.parameter_ranges(steps).advice)]
    assert any("Widen `k` beyond its upper bound 3" in sentence for sentence in advice)
    assert any("Narrow `k` to at least 3: below that, the chance" in sentence for sentence in advice)


def test_the_figure_marks_the_value(study: Study) -> None:
    figure = pellucid.interval_reduction(study, "n_layers").plot()
    assert len(figure.layout.shapes) == 1
    assert "costs nothing measurable" in figure.layout.title.text
    points = sum(len(trace.x) for trace in figure.data)
    assert points == 10
