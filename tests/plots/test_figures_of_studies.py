"""Figures of studies: what is in them, in whose direction, and that they say what they found."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import Trial, create_trial

import pellucid
from pellucid import plots
from pellucid.plots.base import COLOURS, EXPLOIT, EXPLORE, parameter_colour


def objective(trial: Trial) -> float:
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    trial.suggest_float("idle", 0, 1)
    if rate > 0.07:
        raise RuntimeError("diverged")
    return (math.log10(rate) + 1.5) ** 2 + (kind == "c")


def made(n: int, sampler: optuna.samplers.BaseSampler, direction: str = "minimize") -> optuna.Study:
    study = optuna.create_study(direction=direction, sampler=sampler)
    turn = -1.0 if direction == "maximize" else 1.0
    study.optimize(lambda t: turn * objective(t), n_trials=n, catch=(RuntimeError,))
    return study


@pytest.fixture(scope="module")
def drawn() -> optuna.Study:
    return made(300, RandomSampler(seed=0))


@pytest.fixture(scope="module")
def proposed() -> optuna.Study:
    return made(30, pellucid.BayesianSampler(seed=0, acquisition=pellucid.acquisition.SAWEI()))


def finding(figure: object) -> str:
    return str(figure.layout.meta["finding"])  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- how it went


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_history_is_that_of_the_study(direction: str) -> None:
    study = made(25, pellucid.BayesianSampler(seed=1), direction)
    found = pellucid.history(study)
    assert found.numbers == tuple(range(25))
    assert [v for v in found.values if v is not None] == [t.value for t in study.trials if t.value is not None]
    assert found.best[-1] == study.best_value
    worst_first = sorted((b for b in found.best if b is not None), reverse=direction == "minimize")
    assert [b for b in found.best if b is not None] == worst_first
    receipts = {one.trial: one for one in pellucid.receipts(study)}
    assert found.expected == tuple(receipts[n].mean for n in found.numbers)
    assert [one.label for one in found.phases] == ["start-up", "model"]
    assert f"The best trial is number {study.best_trial.number} with" in str(found)
    figure = found.plot()
    best = next(trace for trace in figure.data if trace.name == "best so far")
    assert best.y[-1] == study.best_value
    assert sum(len(trace.x) for trace in figure.data if trace.name == "complete") == sum(
        t.value is not None for t in study.trials
    )
    assert finding(figure) == str(found)


def test_pruned_and_failed_trials_never_count_as_best() -> None:
    study = optuna.create_study()

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(-5.0, 0)
        if trial.number % 3 == 1:
            raise optuna.TrialPruned
        return x if trial.number % 3 == 0 else math.nan

    study.optimize(objective, n_trials=12)
    found = pellucid.history(study)
    assert found.states.count("pruned") == 4
    assert found.states.count("failed") == 4
    assert found.best[-1] == study.best_value
    names = {trace.name for trace in found.plot().data}
    assert {"complete", "pruned", "failed", "best so far"} <= names


def test_a_trial_that_went_wrong_by_far_does_not_flatten_the_figure() -> None:
    study = optuna.create_study()
    study.add_trials(
        [create_trial(params={"x": i / 50}, distributions={"x": FloatDistribution(0, 1)}, value=v)
         for i, v in enumerate([*np.linspace(0.1, 1.0, 49), 1e7])]
    )  # fmt: skip
    figure = pellucid.history(study).plot()
    low, high = figure.layout.yaxis.range
    assert low < 0.1
    assert 1.0 < high < 3.0
    assert "1 trials are beyond the edge" in figure.layout.meta["doubts"][0]


def test_thousands_of_trials_are_thinned_and_the_steps_stay() -> None:
    study = optuna.create_study()
    values = np.minimum.accumulate(np.random.default_rng(0).random(5000)) + np.random.default_rng(1).random(5000)
    study.add_trials(
        [create_trial(params={"x": 0.5}, distributions={"x": FloatDistribution(0, 1)}, value=float(v)) for v in values]
    )
    figure = pellucid.history(study).plot()
    shown = next(trace for trace in figure.data if trace.name == "complete")
    assert 1000 < len(shown.x) <= 2000
    assert "One in 3 trials is shown." in figure.layout.meta["doubts"]
    best = next(trace for trace in figure.data if trace.name == "best so far")
    assert set(best.y) == set(np.minimum.accumulate(values))


def test_the_course_ends_with_the_verdict(proposed: optuna.Study) -> None:
    found = pellucid.regret_history(proposed)
    verdict = pellucid.stopping_verdict(proposed)
    assert found.stopping == verdict
    assert (found.after[-1], found.bounds[-1]) == (29, verdict.bound)
    assert list(found.after) == sorted(set(found.after))
    receipts = [one for one in pellucid.receipts(proposed) if one.kind == "model"]
    assert found.trials == tuple(one.trial for one in receipts)
    for one, alpha in zip(receipts, found.alpha, strict=True):
        assert one.policy is not None
        assert one.acquisition is not None
        # The guard proposes by EI, which has no weight.
        assert alpha == (one.policy.numbers["alpha"] if one.acquisition.name == "WEI" else None)
    for one, share in zip(receipts, found.exploring, strict=True):
        assert one.acquisition is not None
        # Where the model expects nothing better, the exploiting part is negative: all of the appeal is exploring.
        parts = {k: max(one.acquisition.weights[k] * one.acquisition.terms[k], 0.0) for k in ("exploit", "explore")}
        assert share == pytest.approx(parts["explore"] / sum(parts.values()))
    traces = {trace.name: trace for trace in found.plot().data}
    assert traces["exploration"].line.color == EXPLORE
    assert finding(found.plot()) == str(verdict)


def test_a_course_without_a_verdict_is_empty_and_says_why() -> None:
    found = pellucid.regret_history(made(5, RandomSampler(seed=0)))
    assert found.after == ()
    assert "needs 20 finished trials, and this study has 4" in finding(found.plot())


def test_the_course_runs_forwards_with_pruned_trials() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        if trial.number % 3:
            raise optuna.TrialPruned
        return x

    study.optimize(objective, n_trials=75)
    found = pellucid.regret_history(study)
    assert list(found.after) == sorted(set(found.after))
    assert found.after[-1] == 74


def test_gaps_in_what_was_explored_stay_gaps() -> None:
    sampler = pellucid.BayesianSampler(seed=0, interleave=pellucid.Interleave(every=3))
    study = made(30, sampler)
    found = pellucid.regret_history(study)
    assert {one for one in found.exploring if one is not None} == {1.0}
    trace = next(one for one in found.plot().data if one.name == "exploration")
    assert trace.connectgaps is False
    assert list(trace.y).count(None) == found.exploring.count(None) > 5


# ---------------------------------------------------------------------- what matters, ranges


def test_bars_values_and_pairs_of_importance(drawn: optuna.Study) -> None:
    found = pellucid.hsic_importance(drawn)
    bars = found.plot("indices")
    shown = {name: x for trace in bars.data for name, x in zip(trace.y, trace.x, strict=True)}
    assert shown == {one.name: one.index for one in found.parameters}
    assert finding(bars).startswith("`rate` matters most for being among the best 10%, then `kind`")
    values = found.plot("values")
    coloured = [trace.marker.color for trace in values.data if trace.name == "in the goal"]
    assert coloured == [parameter_colour(name) for name in found.impactful]
    pairs = found.plot("pairs")
    assert "matter" in finding(pairs) or "No pairs" in finding(pairs)
    with pytest.raises(ValueError, match="'importance' or 'indices' or 'values' or 'pairs', but got 'bars'"):
        found.plot("bars")


def test_a_headline_has_few_names() -> None:
    study = made(40, RandomSampler(seed=3))
    found = pellucid.hsic_importance(study, pairs=False)
    many = tuple(
        type(one)(**{**vars(one), "name": f"{one.name}{i}", "verdict": "impactful"})
        for i in range(3)
        for one in found.parameters
    )
    text = type(found)(**{**vars(found), "parameters": many}).headline
    assert text.endswith("and 5 more.")
    assert text.count("`") == 8


def test_pairs_that_matter_together_carry_a_star() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(
        lambda t: float(
            (t.suggest_float("x", 0, 1) > 0.5) != (t.suggest_float("y", 0, 1) > 0.5)
        ) + 0.01 * t.suggest_float("z", 0, 1),
        n_trials=600,
    )  # fmt: skip
    figure = pellucid.hsic_importance(study, pellucid.goals.below(0.5)).plot("pairs")
    assert finding(figure) == "Matter together, but not alone: `x` and `y` (for an objective below 0.5)."
    stars = next(trace for trace in figure.data if trace.type == "scatter")
    assert len(stars.x) == 1


def test_ranges_are_drawn_where_their_advice_is() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    distributions = {
        "rate": FloatDistribution(1e-4, 1.0, log=True),
        "size": IntDistribution(1, 100),
        "kind": CategoricalDistribution(["good", "bad", "fine"]),
    }
    dice = np.random.default_rng(0)
    for _ in range(400):
        params = {
            "rate": float(10 ** dice.uniform(-4, 0)),
            "size": int(dice.integers(1, 101)),
            "kind": str(dice.choice(["good", "bad", "fine"])),
        }
        value = abs(math.log10(params["rate"]) + 4) + 0.01 * max(params["size"] - 40, 0) + 9 * (params["kind"] == "bad")
        study.add_trial(create_trial(params=params, distributions=distributions, value=value))
    found = pellucid.parameter_ranges(study)
    assert list(found.advice) == list(pellucid.parameter_ranges(study).advice)
    widen = next(one for one in found.advice if one.what == "widen")
    assert (widen.param, widen.start, widen.stop) == ("rate", 0.0, pytest.approx(0.1))
    narrow = next(one for one in found.advice if one.what == "narrow" and one.param == "rate")
    dimension_at = 10 ** (-4 + 4 * narrow.start)
    assert f"above {dimension_at:.4g}" in narrow.sentence
    drop = next(one for one in found.advice if one.what == "drop")
    assert (drop.start, drop.stop) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    axis = next(one for one in found.axes if one.param == "rate")
    assert len(axis.best) + len(axis.others) == 400
    assert max(axis.best) <= narrow.start
    assert axis.ticks[0] == (0.0, "0.0001")
    figure = found.plot()
    assert {(s.x0, s.x1) for s in figure.layout.shapes} == {(one.start, one.stop) for one in found.advice}
    assert figure.layout.yaxis.ticktext[-1] == found.advice[0].param
    assert "Widen `rate`" in finding(figure)
    assert "Drop a choice of `kind`" in finding(figure)


def test_choices_that_look_alike_stay_apart() -> None:
    choices = ["1", 1, "None", None, "a" * 40 + "x", "a" * 40 + "y"]
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: float(choices.index(t.suggest_categorical("kind", choices))), n_trials=120)
    (axis,) = pellucid.parameter_ranges(study).axes
    assert [text for _, text in axis.ticks[:4]] == ["'1'", "1", "'None'", "None"]
    figure = pellucid.hsic_importance(study, pairs=False).plot("values")
    assert len(set(figure.data[0].x)) == 6


def test_choices_to_drop_are_labelled_in_their_middle() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    choices = [f"c{i}" for i in range(16)]
    study.optimize(
        lambda t: 9.0 * (t.suggest_categorical("kind", choices) == "c13") + t.suggest_float("x", 0, 1), n_trials=600
    )
    found = pellucid.parameter_ranges(study)
    drop = next(one for one in found.advice if one.what == "drop")
    labels = {note.text: note.x for note in found.plot().layout.annotations if note.text.startswith("c")}
    assert drop.start < labels["c13"] < drop.stop


def test_a_parameter_has_one_colour_everywhere(drawn: optuna.Study) -> None:
    mine = parameter_colour("rate")
    effect = plots.plot_partial_dependence(drawn, "rate")
    assert {t.line.color for t in effect.data if t.name and "band" in t.name} == {mine}
    values = plots.plot_values(drawn)
    assert mine in {trace.marker.color for trace in values.data}
    ranges = plots.plot_ranges(drawn)
    assert mine in {trace.marker.color for trace in ranges.data}
    interval = plots.plot_interval_reduction(drawn, "rate")
    assert {trace.marker.color for trace in interval.data} == {mine}
    assert not {parameter_colour(str(i)) for i in range(200)} & {EXPLOIT, EXPLORE}


def test_colours_differ_in_lightness() -> None:
    """In greyscale, what is told apart by colour alone still is: the first colours, and exploit from explore."""

    def lightness(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114])) / 255

    first = sorted(lightness(one) for one in COLOURS[:3])
    assert min(np.diff(first)) > 0.15
    assert abs(lightness(EXPLOIT) - lightness(EXPLORE)) > 0.3


# ---------------------------------------------------------------------- every figure of a study


def test_every_function_draws_its_record(drawn: optuna.Study, proposed: optuna.Study) -> None:
    for figure in (
        plots.plot_history(proposed),
        plots.plot_regret_history(proposed, regret_below=0.1),
        plots.plot_proposal(proposed, 29),
        plots.plot_desirability_paths(proposed, [27, 28, 29]),
        plots.plot_partial_dependence(drawn, ("rate", "kind")),
        plots.plot_importance(drawn),
        plots.plot_pairs(drawn),
        plots.plot_failures(drawn),
    ):
        assert figure.data
        assert finding(figure)
        assert figure.layout.title.text
    assert "your tolerance is 0.1" in finding(plots.plot_regret_history(proposed, regret_below=0.1))
    assert finding(plots.plot_failures(drawn)).startswith("For failing, `rate` matter")
