"""Partial dependence of studies: any sampler, any parameter, in the user's units, with notes on reasons for doubt."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.samplers import BaseSampler, GridSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial, create_trial

import pellucid
from pellucid.answers.effects.trials import condition_of
from pellucid.models import GaussianProcess
from pellucid.space.encoding import Condition, Space


def known(trial: Trial) -> float:
    """Averages in closed form: 3 (u - 0.4)^2 in log lr, linear in depth, a step for one kind; nothing in `idle`."""
    lr = trial.suggest_float("lr", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 9)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    trial.suggest_float("idle", 0.0, 1.0)
    u = (math.log10(lr) + 4) / 4
    return 3 * (u - 0.4) ** 2 + 0.1 * depth + (0.5 if kind == "c" else 0.0)


def effect_of_lr(lr: float) -> float:
    u = (math.log10(lr) + 4) / 4
    return 3 * (u - 0.4) ** 2 + 0.5 + 0.5 / 3


def run(
    sampler: BaseSampler, n: int, objective: Callable[[Trial], float] = known, direction: str = "minimize"
) -> Study:
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def tpe() -> Study:
    return run(TPESampler(seed=0), 200)


@pytest.mark.parametrize(
    "sampler",
    [
        lambda: RandomSampler(seed=1),
        lambda: TPESampler(seed=1),
        lambda: pellucid.BayesianSampler(seed=1, interleave=pellucid.Interleave()),
        lambda: GridSampler(
            {"lr": [1e-4, 1e-3, 1e-2, 0.1, 1], "depth": [1, 9], "kind": ["a", "b", "c"], "idle": [0.2, 0.8]}, seed=0
        ),
    ],
    ids=["random", "tpe", "bobax", "grid"],
)
def test_studies_of_any_sampler_show_the_true_effect(sampler: Callable[[], BaseSampler]) -> None:
    effect = pellucid.partial_dependence(run(sampler(), 60), "lr")
    truth = np.array([effect_of_lr(lr) for lr in effect.values[0]])
    inside = (np.array(effect.low) <= truth) & (truth <= np.array(effect.high))
    assert inside.mean() > 0.85
    assert np.abs(np.array(effect.mean) - truth).mean() < 0.12
    assert effect.axes == ("log",)
    assert str(effect).startswith("With `lr` = ")


def test_one_line_on_a_study_of_two_hundred_tpe_trials(tpe: Study) -> None:
    effect = pellucid.partial_dependence(tpe, "lr")
    truth = np.array([effect_of_lr(lr) for lr in effect.values[0]])
    looked = np.array(effect.support) >= 5
    assert np.abs(np.array(effect.mean) - truth)[looked].mean() < 0.05
    assert ((np.array(effect.low) <= truth) & (truth <= np.array(effect.high)))[looked].mean() > 0.9
    # Bands are wider where TPE has few trials, and `support` shows where that is.
    width = np.array(effect.high) - np.array(effect.low)
    assert width[~looked].mean() > 2 * width[looked].mean()
    assert effect.values[0][0] == 1e-4
    assert effect.values[0][-1] == 1.0
    assert effect.n_trials == 200


def test_the_sentence_names_the_range_without_trials() -> None:
    """The range is wide, the trials are on its left: a visible warning, not a confident curve."""
    study = optuna.create_study()
    space = {"x": optuna.distributions.FloatDistribution(0.0, 10.0), "y": optuna.distributions.FloatDistribution(0, 1)}
    rng = np.random.default_rng(0)
    for _ in range(40):
        params = {"x": float(4 * rng.random()), "y": float(rng.random())}
        study.add_trial(create_trial(params=params, distributions=space, value=math.sin(params["x"]) + params["y"]))
    effect = pellucid.partial_dependence(study, "x")
    assert "No value is known near `x` = 4.5 to 10: the curve there is a guess." in effect.notes
    assert effect.support[-1] == 0
    width = np.array(effect.high) - np.array(effect.low)
    assert width[-1] > 4 * width[10]
    # Doubts are in the figure too.
    assert "the curve there is a guess" in effect.plot().layout.title.text.replace("<br>", " ")


def test_maximising_is_the_mirror_image() -> None:
    study = run(RandomSampler(seed=3), 40)
    mirrored = optuna.create_study(direction="maximize")
    for t in study.trials:
        mirrored.add_trial(create_trial(params=t.params, distributions=t.distributions, value=-t.value))
    a, b = (pellucid.partial_dependence(s, "lr") for s in (study, mirrored))
    np.testing.assert_allclose(a.mean, -np.array(b.mean), rtol=1e-9)
    np.testing.assert_allclose(a.low, -np.array(b.high), rtol=1e-9)
    assert a.best == b.best
    assert (a.direction, b.direction) == ("minimize", "maximize")


def test_a_parameter_without_effect_is_described_as_such(tpe: Study) -> None:
    effect = pellucid.partial_dependence(run(RandomSampler(seed=5), 120), "idle")
    assert effect.verdict in ("cannot tell", "no effect")
    assert "`idle` matters" not in str(effect)
    assert "on average over all other settings" in str(effect)
    assert max(effect.low) <= min(effect.high)


def test_too_few_trials_show_no_effect() -> None:
    effect = pellucid.partial_dependence(run(RandomSampler(seed=0), 4), "depth")
    assert any(alarm.startswith("Effects are provisional: 4 trials for 4 parameters") for alarm in effect.notes)
    assert effect.verdict == "cannot tell"
    assert "4 trials can't show which value of `depth` is better on average" in effect.sentence
    # The band is wider than the trials differ, so its width says nothing.
    assert effect.sentence.endswith("; its values could differ as much as the best and the worst trial.")


def test_categories_and_integers_in_their_own_values(tpe: Study) -> None:
    kinds = pellucid.partial_dependence(tpe, "kind")
    assert kinds.values == (("a", "b", "c"),)
    assert kinds.axes == ("category",)
    assert kinds.mean[2] - kinds.mean[0] == pytest.approx(0.5, abs=0.12)
    depth = pellucid.partial_dependence(tpe, "depth")
    assert depth.values == (tuple(range(1, 10)),)
    assert all(isinstance(v, int) for v in depth.values[0])
    assert sum(depth.support) == 200


def test_two_parameters_together(tpe: Study) -> None:
    effect = pellucid.partial_dependence(tpe, ("lr", "kind"))
    assert len(effect.mean) == 15 * 3
    assert effect.values[1][:3] == ("a", "b", "c")
    assert effect.individual == ()
    assert str(effect).startswith("With `lr` = ")
    figure = effect.plot()
    assert len(figure.data) == 4
    # The mean over one of them is the effect of the other.
    single = np.array(pellucid.partial_dependence(tpe, "kind").mean)
    fine = np.array(effect.mean).reshape(15, 3)
    assert np.abs(np.trapezoid(fine, dx=1 / 14, axis=0) - single).max() < 0.02


def conditional(trial: Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("booster", ["tree", "dart", "linear"]) == "dart":
        return x + 2 * (trial.suggest_float("drop", 0, 1) - 0.5) ** 2
    return x + 1.0


def test_a_conditional_parameter_is_averaged_where_it_exists() -> None:
    study = run(RandomSampler(seed=0), 120, conditional)
    effect = pellucid.partial_dependence(study, "drop")
    truth = 0.5 + 2 * (np.array(effect.values[0]) - 0.5) ** 2
    assert np.abs(np.array(effect.mean) - truth).mean() < 0.08
    assert effect.condition == "booster is dart"
    assert "(where booster is dart)" in str(effect)
    assert max(effect.support) < 40


def test_conditional_on_values_lists_and_ranges(tpe: Study) -> None:
    base = pellucid.partial_dependence(tpe, "lr")
    with_c = pellucid.partial_dependence(tpe, "lr", conditional_on={"kind": "c"})
    assert np.mean(with_c.mean) - np.mean(base.mean) == pytest.approx(1 / 3, abs=0.1)
    assert with_c.condition == "kind = 'c'"
    deep = pellucid.partial_dependence(tpe, "lr", conditional_on={"depth": (7, 9), "kind": ["a", "b"]})
    assert np.mean(deep.mean) - np.mean(base.mean) == pytest.approx(0.3 - 1 / 6, abs=0.12)
    narrow = pellucid.partial_dependence(tpe, "depth", conditional_on={"lr": (1e-3, 1e-2)})
    assert np.mean(narrow.mean) < np.mean(pellucid.partial_dependence(tpe, "depth").mean)


def test_curves_through_single_trials(tpe: Study) -> None:
    effect = pellucid.partial_dependence(tpe, "lr")
    assert 2 <= len(effect.individual) <= 12
    assert all(curve.low == () for curve in effect.individual)
    effect_at_trial = pellucid.partial_dependence(tpe, "lr", trial=17)
    (curve,) = effect_at_trial.individual
    assert curve.trial == 17
    params = tpe.trials[17].params
    truth = [
        effect_of_lr(lr) - 2 / 3 + 0.1 * params["depth"] + 0.5 * (params["kind"] == "c")
        for lr in effect_at_trial.values[0]
    ]
    near = [i for i, n in enumerate(effect_at_trial.support) if n >= 5]
    assert np.mean([curve.low[i] <= truth[i] <= curve.high[i] for i in near]) > 0.8
    assert effect_at_trial.mean == effect.mean


def test_heavy_tails_are_shown_as_typical_values() -> None:
    def loss(trial: Trial) -> float:
        return float(10 ** (6 * trial.suggest_float("x", 0, 1) + 3 * trial.suggest_float("y", 0, 1)))

    study = run(RandomSampler(seed=0), 60, loss)
    effect = pellucid.partial_dependence(study, "x")
    assert effect.typical
    assert "the objective is typically" in str(effect)
    truth = 10 ** (6 * np.array(effect.values[0]) + 1.5)
    assert np.abs(np.log10(effect.mean) - np.log10(truth)).mean() < 0.2
    # A model without a warp shows averages, even if those are dominated by the tail.
    assert not pellucid.partial_dependence(study, "x", surrogate=GaussianProcess()).typical


def test_radial_kernels_are_replaced_by_ones_with_exact_averages(tpe: Study) -> None:
    effect = pellucid.partial_dependence(tpe, "lr", surrogate=GaussianProcess("matern52-radial"))
    product = pellucid.partial_dependence(tpe, "lr", surrogate=GaussianProcess("matern52"))
    assert effect.mean == product.mean


def test_records_convert_to_frames_and_json(tpe: Study) -> None:
    effect = pellucid.partial_dependence(tpe, "lr", level=0.5)
    frame = effect.to_frame()
    assert list(frame.columns) == ["lr", "mean", "low", "high", "raw_sd", "support"]
    assert len(frame) == 40
    again = json.loads(json.dumps(effect.to_dict()))
    assert again["sentence"] == effect.sentence
    wide = pellucid.partial_dependence(tpe, "lr", level=0.99)
    assert wide.half_width / effect.half_width == pytest.approx(2.5758 / 0.67449, rel=1e-3)
    assert 0 < effect.raw_sd[0] < wide.high[0] - wide.low[0]


def test_names_that_look_like_markup_stay_text() -> None:
    study = optuna.create_study()
    hostile, choices = "<img src=x onerror=alert(1)>", ("<script>", "b", True, "True")
    space = {
        hostile: optuna.distributions.FloatDistribution(0, 1),
        "<b>kind</b>": optuna.distributions.CategoricalDistribution(choices),
        "mean": optuna.distributions.FloatDistribution(0, 1),
    }
    rng = np.random.default_rng(0)
    for i in range(20):
        params = {hostile: float(rng.random()), "<b>kind</b>": choices[i % 4], "mean": float(rng.random())}
        study.add_trial(create_trial(params=params, distributions=space, value=float(params[hostile] + i % 4)))
    for params in (hostile, "<b>kind</b>", "mean", (hostile, "<b>kind</b>")):
        effect = pellucid.partial_dependence(study, params)
        drawn = json.dumps(json.loads(effect.plot().to_json()))
        assert not any(raw in drawn for raw in ("<img", "<script>", "<b>kind"))
        assert any(escaped in drawn for escaped in ("&lt;img", "&lt;b&gt;kind", "`mean`"))
    assert len(effect.to_frame()) == len(effect.mean)
    assert pellucid.partial_dependence(study, "mean").to_frame().shape[1] == 6
    assert len(set(pellucid.partial_dependence(study, "<b>kind</b>").plot().data[-1].x)) == 4


# ------------------------------------------------------------------------------------------- bad input


def test_unknown_parameters_are_answered_with_the_known_ones(tpe: Study) -> None:
    with pytest.raises(
        ValueError, match=r"no parameter `detph`; it has `depth`, `idle`, `kind`, `lr`. Did you mean `depth`\?"
    ):
        pellucid.partial_dependence(tpe, "detph")
    with pytest.raises(ValueError, match="no parameter `zzz`; it has"):
        pellucid.partial_dependence(tpe, "lr", conditional_on={"zzz": 1})


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_finished_trials(n: int) -> None:
    with pytest.raises(ValueError, match=f"at least 3 finished trials with a value; this study has {n}"):
        pellucid.partial_dependence(run(RandomSampler(seed=0), n), "lr")


def test_trials_that_failed_do_not_count() -> None:
    study = run(RandomSampler(seed=0), 2)
    for _ in range(5):
        study.tell(
            study.ask({"lr": optuna.distributions.FloatDistribution(1e-4, 1, log=True)}),
            state=optuna.trial.TrialState.FAIL,
        )
    with pytest.raises(ValueError, match="this study has 2"):
        pellucid.partial_dependence(study, "lr")


def test_a_parameter_with_one_value() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("fixed", 2.0, 2.0)

    study = run(RandomSampler(seed=0), 10, objective)
    with pytest.raises(ValueError, match="`fixed` has only one value"):
        pellucid.partial_dependence(study, "fixed")
    assert pellucid.partial_dependence(study, "x").n_trials == 10


def test_a_parameter_that_all_trials_had_at_one_value() -> None:
    study = optuna.create_study()
    space = {"x": optuna.distributions.FloatDistribution(0, 1), "y": optuna.distributions.FloatDistribution(0, 1)}
    for i in range(10):
        params = {"x": 0.5, "y": i / 9}
        study.add_trial(create_trial(params=params, distributions=space, value=params["y"]))
    effect = pellucid.partial_dependence(study, "x")
    assert any("No value is known near `x`" in alarm for alarm in effect.notes)


def test_a_choice_that_no_trial_has_had() -> None:
    study = optuna.create_study()
    space = {
        "kind": optuna.distributions.CategoricalDistribution(("a", "b", "never")),
        "x": optuna.distributions.FloatDistribution(0, 1),
    }
    rng = np.random.default_rng(0)
    for i in range(20):
        params = {"kind": "ab"[i % 2], "x": float(rng.random())}
        study.add_trial(create_trial(params=params, distributions=space, value=params["x"] + i % 2))
    effect = pellucid.partial_dependence(study, "kind")
    assert "No trial had `kind` = never: what is shown there is a guess." in effect.notes
    assert effect.high[2] - effect.low[2] > 2 * (effect.high[0] - effect.low[0])
    with pytest.raises(ValueError, match=r"`kind` = 'd', but its choices are 'a', 'b', 'never'\."):
        pellucid.partial_dependence(study, "x", conditional_on={"kind": "d"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"params": ()}, "one parameter or of two"),
        ({"params": ("lr", "lr")}, "two different"),
        ({"params": ("lr", "depth", "kind")}, "one parameter or of two"),
        ({"params": "lr", "level": 1.0}, "between 0 and 1"),
        ({"params": ("lr", "depth"), "trial": 3}, "`trial` needs a single parameter"),
        ({"params": "lr", "trial": 999}, "Trial 999 is not among the 200 finished trials"),
        ({"params": "lr", "conditional_on": {"lr": 0.1}}, "must name other parameters than `params`"),
        ({"params": "lr", "conditional_on": {"depth": 77}}, r"`depth` = 77, but it goes from 1 to 9\."),
        ({"params": "depth", "conditional_on": {"lr": 3}}, r"`lr` = 3, but it goes from 0\.0001 to 1\."),
        ({"params": "lr", "conditional_on": {"idle": (0.5, 2)}}, r"`idle` from 0\.5 to 2, but it goes from 0 to 1\."),
        (
            {"params": "lr", "conditional_on": {"idle": (0.9, 0.1)}},
            r"got \(0\.9, 0\.1\) for `idle`: the lower end is first\.",
        ),
        ({"params": "lr", "conditional_on": {"kind": []}}, "`kind` = \\[\\], but its choices are '"),
        ({"params": "lr", "conditional_on": "depth"}, r"such as \{'depth': 3\}, but got 'depth'\."),
        ({"params": "lr", "level": "high"}, "`level` must be between 0 and 1, but got 'high'"),
    ],
    ids=str,
)
def test_wrong_arguments(tpe: Study, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.partial_dependence(tpe, **arguments)


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="one objective"):
        pellucid.partial_dependence(study, "lr")


def test_odd_studies_are_answered() -> None:
    """Constant, infinite, enormous, pruned, changed ranges, a single parameter, thousands of trials."""
    x = optuna.distributions.FloatDistribution(0, 1)

    def study_of(values: list[float]) -> Study:
        study = optuna.create_study()
        rng = np.random.default_rng(0)
        for value in values:
            study.add_trial(create_trial(params={"x": float(rng.random())}, distributions={"x": x}, value=value))
        return study

    for values in ([1.0] * 6, [1e300, -1e300, 0.0, 5.0], [math.inf, 1.0, 2.0, 3.0], [1e-300, 2e-300, 3e-300]):
        effect = pellucid.partial_dependence(study_of(values), "x")
        assert np.isfinite([effect.mean, effect.low, effect.high]).all()
        effect.plot()
    sentence = str(pellucid.partial_dependence(study_of([1.0] * 6), "x"))
    assert sentence.startswith("All 6 trials returned the same value, so the effect of `x` is not known.")
    moved = study_of([1.0, 2.0, 3.0, 4.0])
    wide = optuna.distributions.FloatDistribution(0.5, 3)
    for i in range(5):
        moved.add_trial(create_trial(params={"x": 0.5 + 0.5 * i}, distributions={"x": wide}, value=float(i)))
    effect = pellucid.partial_dependence(moved, "x")
    assert any("lie outside the present ranges" in alarm for alarm in effect.notes)
    many = optuna.create_study()
    rng = np.random.default_rng(0)
    logging.disable(logging.INFO)
    many.add_trials(
        [create_trial(params={"x": float(v)}, distributions={"x": x}, value=float(v * v)) for v in rng.random(2500)]
    )
    effect = pellucid.partial_dependence(many, "x")
    assert effect.n_trials == 1500
    assert any("1,500 of 2,500 trials" in alarm for alarm in effect.notes)
    assert np.abs(np.array(effect.mean) - np.array(effect.values[0]) ** 2).max() < 0.05


def test_a_range_of_a_log_integer_weighs_its_values_as_they_are_drawn() -> None:
    """From 1 to 4 on a log scale the value 1 covers half of the range: ln 3 of ln 9."""
    study = optuna.create_study()
    space = {
        "n": optuna.distributions.IntDistribution(1, 100, log=True),
        "x": optuna.distributions.FloatDistribution(0, 1),
    }
    rng = np.random.default_rng(0)
    for i in range(60):
        params = {"n": [1, 2, 3, 4, 30, 100][i % 6], "x": float(rng.random())}
        value = (10.0 if params["n"] == 1 else 0.0) + params["x"]
        study.add_trial(create_trial(params=params, distributions=space, value=value))
    effect = pellucid.partial_dependence(study, "x", conditional_on={"n": (1, 4)})
    assert np.mean(effect.mean) == pytest.approx(0.5 + 10 * math.log(3) / math.log(9), abs=0.5)


def test_a_parameter_that_only_trials_without_a_value_have_had() -> None:
    study = run(RandomSampler(seed=0), 8)
    extra = {**study.trials[0].distributions, "late": optuna.distributions.FloatDistribution(0, 1)}
    params = {**study.trials[0].params, "late": 0.5}
    study.add_trial(create_trial(params=params, distributions=extra, state=optuna.trial.TrialState.PRUNED))
    effect = pellucid.partial_dependence(study, "late")
    assert effect.individual == ()
    assert set(effect.support) == {0}
    assert any("No trial shows what `late` does" in alarm for alarm in effect.notes)
    effect.plot()


def test_trials_that_all_agree_are_not_called_unexplored() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: 0.0 * trial.suggest_float("x", 0, 1), n_trials=20)
    effect = pellucid.partial_dependence(study, "x")
    assert "All 20 trials returned the same value" in effect.sentence
    assert not any("unsure" in note for note in effect.notes)


def test_two_parameters_of_one_branch_name_it_once() -> None:
    kinds: dict[str, BaseDistribution] = {"kind": CategoricalDistribution(["svc", "tree"])}
    kinds |= {"C": FloatDistribution(0, 1), "gamma": FloatDistribution(0, 1)}
    space = Space.of(kinds, {"C": Condition("kind", (0,)), "gamma": Condition("kind", (0,))})
    assert condition_of(space, ["C", "gamma"], {}) == "kind is svc"
