"""Figures of studies: their contents, their direction, and the finding that they show."""

from __future__ import annotations

import math
from html import unescape

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import Trial, create_trial

import pellucid
from pellucid.answers import drawing as plots
from pellucid.answers.drawing.colours import COLOURS, EXPLOIT, EXPLORE, parameter_colour


def objective(trial: Trial) -> float:
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    trial.suggest_float("idle", 0, 1)
    if rate > 0.07:
        raise RuntimeError("diverged")
    return (math.log10(rate) + 1.5) ** 2 + (kind == "c")


def study_of(n: int, sampler: optuna.samplers.BaseSampler, direction: str = "minimize") -> optuna.Study:
    study = optuna.create_study(direction=direction, sampler=sampler)
    turn = -1.0 if direction == "maximize" else 1.0
    study.optimize(lambda t: turn * objective(t), n_trials=n, catch=(RuntimeError,))
    return study


@pytest.fixture(scope="module")
def drawn() -> optuna.Study:
    return study_of(300, RandomSampler(seed=0))


@pytest.fixture(scope="module")
def proposed() -> optuna.Study:
    return study_of(30, pellucid.BayesianSampler(seed=0, acquisition=pellucid.acquisition.SAWEI()))


def finding(figure: object) -> str:
    return str(figure.layout.meta["finding"])  # type: ignore[attr-defined]


# ------------------------------------------------------------------------ histories


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_history_is_that_of_the_study(direction: str) -> None:
    study = study_of(25, pellucid.BayesianSampler(seed=1), direction)
    history = pellucid.history(study)
    assert history.numbers == tuple(range(25))
    assert [v for v in history.values if v is not None] == [t.value for t in study.trials if t.value is not None]
    assert history.best[-1] == study.best_value
    worst_first = sorted((b for b in history.best if b is not None), reverse=direction == "minimize")
    assert [b for b in history.best if b is not None] == worst_first
    receipts = {receipt.trial: receipt for receipt in pellucid.receipts(study)}
    assert history.expected == tuple(receipts[n].mean for n in history.numbers)
    assert [phase.label for phase in history.phases] == ["start-up", "model"]
    assert f", first reached by trial {study.best_trial.number};" in str(history)
    figure = history.plot()
    best = next(trace for trace in figure.data if trace.name == "best so far")
    assert best.y[-1] == study.best_value
    assert sum(len(trace.x) for trace in figure.data if trace.name == "complete") == sum(
        t.value is not None for t in study.trials
    )
    assert finding(figure) == str(history)


def test_pruned_and_failed_trials_never_count_as_best() -> None:
    study = optuna.create_study()

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(-5.0, 0)
        if trial.number % 3 == 1:
            raise optuna.TrialPruned
        return x if trial.number % 3 == 0 else math.nan

    study.optimize(objective, n_trials=12)
    history = pellucid.history(study)
    assert history.states.count("pruned") == 4
    assert history.states.count("failed") == 4
    assert history.best[-1] == study.best_value
    names = {trace.name for trace in history.plot().data}
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
    (points,) = (trace for trace in figure.data if (trace.name or "").startswith("complete"))
    assert points.name == "complete (1 beyond the edge)"
    assert points.marker.symbol[-1] == "triangle-up"
    assert points.y[-1] < high
    assert points.text[-1] == "trial 49: 1e+07"


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


def test_the_regret_history_ends_with_the_verdict(proposed: optuna.Study) -> None:
    regret = pellucid.regret_history(proposed)
    verdict = pellucid.stopping_verdict(proposed)
    assert regret.stopping == verdict
    assert (regret.after[-1], regret.bounds[-1]) == (29, verdict.bound)
    assert list(regret.after) == sorted(set(regret.after))
    receipts = [receipt for receipt in pellucid.receipts(proposed) if receipt.kind == "model"]
    assert regret.trials == tuple(receipt.trial for receipt in receipts)
    for receipt, alpha in zip(receipts, regret.alpha, strict=True):
        if receipt.turn:
            assert alpha is None  # The turn of a choice is not SAWEI's.
            continue
        assert receipt.policy is not None
        assert receipt.acquisition is not None
        # The guard proposes by EI, which has no weight.
        assert alpha == (receipt.policy.numbers["alpha"] if receipt.acquisition.name == "WEI" else None)
    for receipt, share in zip(receipts, regret.exploring, strict=True):
        assert receipt.acquisition is not None
        # Where the model expects nothing better, the exploiting part is negative: all of the appeal is exploring.
        parts = {
            k: max(receipt.acquisition.weights[k] * receipt.acquisition.terms[k], 0.0) for k in ("exploit", "explore")
        }
        assert share == pytest.approx(parts["explore"] / sum(parts.values()))
    traces = {trace.name: trace for trace in regret.plot().data}
    assert traces["exploration"].line.color == EXPLORE
    assert finding(regret.plot()) == verdict.sentence


def test_a_regret_history_without_a_verdict_is_empty_and_gives_the_reason() -> None:
    regret = pellucid.regret_history(study_of(5, RandomSampler(seed=0)))
    assert regret.after == ()
    assert "needs 20 complete trials, and this study has 4" in finding(regret.plot())


def test_the_regret_history_is_in_order_with_pruned_trials() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        if trial.number % 3:
            raise optuna.TrialPruned
        return x

    study.optimize(objective, n_trials=75)
    regret = pellucid.regret_history(study)
    assert list(regret.after) == sorted(set(regret.after))
    assert regret.after[-1] == 74


def test_gaps_in_the_share_of_exploration_stay_gaps() -> None:
    bound = pellucid.acquisition.LCB(2.0)
    sampler = pellucid.BayesianSampler(acquisition=bound, seed=0, interleave=pellucid.Interleave(every=3))
    study = study_of(30, sampler)
    regret = pellucid.regret_history(study)
    assert {share for share in regret.exploring if share is not None} == {1.0}
    trace = next(drawn_trace for drawn_trace in regret.plot().data if drawn_trace.name == "exploration")
    assert trace.connectgaps is False
    assert list(trace.y).count(None) == regret.exploring.count(None) > 5


# ------------------------------------------------------------------------ importance, ranges


def test_bars_values_and_pairs_of_importance(drawn: optuna.Study) -> None:
    importance = pellucid.hsic_importance(drawn)
    bars = importance.plot("indices")
    shown = {name: x for trace in bars.data for name, x in zip(trace.y, trace.x, strict=True)}
    assert shown == {parameter.name: parameter.index for parameter in importance.parameters}
    assert finding(bars).startswith("`rate` matters most for being among the best 10%, then `kind`")
    values = importance.plot("values")
    coloured = [trace.marker.color for trace in values.data if trace.name == "in the goal"]
    assert coloured == [parameter_colour(p.position) for p in importance.parameters if p.verdict == "impactful"]
    pairs = importance.plot("pairs")
    assert "matter" in finding(pairs) or "No pairs" in finding(pairs)
    with pytest.raises(ValueError, match="'importance' or 'indices' or 'values' or 'pairs', but got 'bars'"):
        importance.plot("bars")


def test_bars_of_shares_by_branch() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(
        lambda t: (
            t.suggest_float("<b>x</b>", 0, 1) ** 2
            + (2 * t.suggest_float("depth", 0, 1) if t.suggest_categorical("kind", ["tree", "line"]) == "tree" else 0.0)
        ),
        n_trials=40,
    )
    shares = pellucid.importance(study)
    figure = shares.plot()
    totals = {name: x for trace in figure.data if not trace.name for name, x in zip(trace.y, trace.x, strict=True)}
    assert totals == {p.name.replace("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"): p.total for p in shares.parameters}
    assert [annotation.text for annotation in figure.layout.annotations] == ["everywhere", "where kind is tree"]
    assert unescape(finding(figure)) == shares.sentence
    for trace in (trace for trace in figure.data if not trace.name):
        assert all(np.array(trace.x) + trace.error_x.array <= 1.0 + 1e-12)
        assert all(np.array(trace.x) - trace.error_x.arrayminus >= -1e-12)
    assert max(pair.index for pair in shares.pairs) < 0.005  # The objective is a sum.
    assert finding(shares.plot("pairs")) == "No two parameters act together on more than 0.5% of the variance."
    with pytest.raises(ValueError, match="'importance' or 'pairs', but got 'values'"):
        shares.plot("values")


def test_a_figure_of_one_parameter_has_no_pairs() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=10)
    assert finding(pellucid.importance(study).plot("pairs")) == "There are no two parameters to compare."


def test_a_headline_has_few_names() -> None:
    study = study_of(40, RandomSampler(seed=3))
    importance = pellucid.hsic_importance(study, pairs=False)
    many = tuple(
        type(parameter)(**{**vars(parameter), "name": f"{parameter.name}{i}", "verdict": "impactful"})
        for i in range(3)
        for parameter in importance.parameters
    )
    text = type(importance)(**{**vars(importance), "parameters": many}).headline
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
    ranges = pellucid.parameter_ranges(study)
    assert list(ranges.advice) == list(pellucid.parameter_ranges(study).advice)
    widen = next(advice for advice in ranges.advice if advice.what == "widen")
    assert (widen.param, widen.start, widen.stop) == ("rate", 0.0, pytest.approx(0.1))
    narrow = next(advice for advice in ranges.advice if advice.what == "narrow" and advice.param == "rate")
    dimension_at = 10 ** (-4 + 4 * narrow.start)
    assert f"at most {dimension_at:.4g}" in narrow.sentence
    drop = next(advice for advice in ranges.advice if advice.what == "drop")
    assert (drop.start, drop.stop) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    axis = next(drawn_axis for drawn_axis in ranges.axes if drawn_axis.param == "rate")
    assert len(axis.best) + len(axis.others) == 400
    assert max(axis.best) <= narrow.start
    assert axis.ticks[0] == (0.0, "0.0001")
    figure = ranges.plot()
    assert {(s.x0, s.x1) for s in figure.layout.shapes} == {(advice.start, advice.stop) for advice in ranges.advice}
    assert figure.layout.yaxis.ticktext[-1] == ranges.advice[0].param
    assert "Widen `rate`" in finding(figure)
    assert "drop a choice of `kind`" in finding(figure)


def test_choices_that_look_alike_stay_apart() -> None:
    choices = ["1", 1, "None", None, "a" * 40 + "x", "a" * 40 + "y"]
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: float(choices.index(t.suggest_categorical("kind", choices))), n_trials=120)
    (axis,) = pellucid.parameter_ranges(study).axes
    assert [text for _, text in axis.ticks[:4]] == ["'1'", "1", "'None'", "None"]
    figure = pellucid.hsic_importance(study, pairs=False).plot("values")
    assert len(set(figure.data[0].x)) == 6


def test_choices_are_at_their_place_and_no_tick_is_there_twice() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(
        lambda t: t.suggest_int("leaf", 1, 30, log=True) + (t.suggest_categorical("kind", ["a", "b"]) == "a"),
        n_trials=40,
    )
    leaf, kind = sorted(pellucid.parameter_ranges(study).axes, key=lambda axis: axis.param, reverse=True)
    assert {*kind.others, *kind.best} == {0.25, 0.75}
    texts = [text for _, text in leaf.ticks]
    assert len(set(texts)) == len(texts)
    effect = pellucid.profile_effect(study, "kind").plot()
    trials = next(trace for trace in effect.data if (trace.name or "").startswith("trials"))
    assert len(set(trials.x)) == 2
    assert effect.layout.xaxis.tickvals == (0, 1)


def test_choices_to_drop_are_labelled_in_their_middle() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    choices = [f"c{i}" for i in range(16)]
    study.optimize(
        lambda t: 9.0 * (t.suggest_categorical("kind", choices) == "c13") + t.suggest_float("x", 0, 1), n_trials=600
    )
    ranges = pellucid.parameter_ranges(study)
    drop = next(advice for advice in ranges.advice if advice.what == "drop")
    labels = {note.text: note.x for note in ranges.plot().layout.annotations if note.text.startswith("c")}
    assert drop.start < labels["c13"] < drop.stop


def test_a_parameter_has_one_colour_everywhere(drawn: optuna.Study) -> None:
    names = list(dict.fromkeys(name for trial in drawn.trials for name in trial.params))
    colour = parameter_colour(names.index("rate"))
    effect = plots.plot_partial_dependence(drawn, "rate")
    assert {t.line.color for t in effect.data if t.name and "band" in t.name} == {colour}
    values = plots.plot_values(drawn)
    assert colour in {trace.marker.color for trace in values.data}
    ranges = plots.plot_ranges(drawn)
    assert colour in {trace.marker.color for trace in ranges.data}
    interval = plots.plot_interval_reduction(drawn, "rate")
    assert {trace.marker.color for trace in interval.data} == {colour}
    assert not {parameter_colour(i) for i in range(12)} & set(COLOURS)


def test_colours_differ_in_lightness() -> None:
    """Things that only colour distinguishes differ in greyscale too: the first colours, and exploit from explore."""

    def lightness(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114])) / 255

    first = sorted(lightness(colour) for colour in COLOURS[:3])
    assert min(np.diff(first)) > 0.15
    assert abs(lightness(EXPLOIT) - lightness(EXPLORE)) > 0.3


# ---------------------------------------------------------------------- every figure of a study


def test_every_function_draws_its_record(drawn: optuna.Study, proposed: optuna.Study) -> None:
    for figure in (
        plots.plot_history(proposed),
        plots.plot_calibration(proposed),
        plots.plot_calibration(drawn),
        plots.plot_regret_history(proposed, regret_below=0.1),
        plots.plot_proposal(proposed, 29),
        plots.plot_desirability_paths(proposed, [27, 28, 29]),
        plots.plot_partial_dependence(drawn, ("rate", "kind")),
        plots.plot_importance(drawn),
        plots.plot_importance(drawn, pellucid.best()),
        plots.plot_pairs(drawn),
        plots.plot_pairs(drawn, pellucid.best()),
        plots.plot_failures(drawn),
    ):
        assert figure.data
        assert finding(figure)
        assert figure.layout.title.text
    assert "your tolerance of 0.1" in finding(plots.plot_regret_history(proposed, regret_below=0.1))
    assert finding(plots.plot_failures(drawn)).startswith("For failing, `rate` matter")
