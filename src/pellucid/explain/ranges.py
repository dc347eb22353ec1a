"""Which ranges to change: widen them at a bound, narrow them, or drop a choice."""

from __future__ import annotations

import numpy as np
from optuna.study import Study
from scipy.special import bdtrc

from pellucid.explain.importance.draws import Sample, in_a_step, sample_of
from pellucid.explain.model import opened
from pellucid.explain.text import value_text
from pellucid.goals import best, worst
from pellucid.numerics import Array, Mask
from pellucid.records import ParameterRanges, RangeAdvice, RangeAxis
from pellucid.records.importance import SIGNIFICANCE
from pellucid.study.encoding import Dimension
from pellucid.study.view import StudyView

# The end of a range: a tenth of it, or the last value of a parameter with few.
_EDGE, _FEW_CELLS = 0.1, 20
# Advice needs this many good trials, and a p-value this small after correction for all ranges.
_FEWEST_IN_GOAL, _CONFIDENT = 5, 0.01
# A parameter with up to this many values, or choices, has a tick at each of them.
_N_TICKED, _MOST_CHOICES = 12, 60


def parameter_ranges(study: Study) -> ParameterRanges:
    """The ranges of a study, where its trials and the best of them are, and advice on what to change.

    Advice, most certain first: widen a range at whose bound the best trials pile up, narrow one where no good trial
    ever was, drop a choice that is frequent in the worst tenth and missing in the best. Trials of a search in steps are
    left out, because they hold parameters at values that were not compared with others.

    Args:
        study: any study with one objective.
    """
    with opened(study, "parameter_ranges") as view:
        return ranges_of(view)


def ranges_of(view: StudyView) -> ParameterRanges:
    top, worst_tenth = _best_and_worst(view)
    axes = []
    for j, dimension in enumerate(top.space.dimensions):
        having = top.present[:, j]
        others, good = (tuple(top.u[having & part, j].tolist()) for part in (~top.in_goal, top.in_goal))
        axes.append(RangeAxis(dimension.name, _ticks(dimension), others, good))
    return ParameterRanges(tuple(axes), tuple(_advice(top, worst_tenth)), len(top.in_goal))


def _ticks(dimension: Dimension) -> tuple[tuple[float, str], ...]:
    """Every value of a parameter with few, or of choices; five over the range otherwise."""
    if 0 < dimension.cells <= (_MOST_CHOICES if dimension.categorical else _N_TICKED):
        at = dimension.midpoint(np.arange(dimension.cells))
    else:
        at = np.linspace(0.0, 1.0, 5)
    return tuple((float(u), value_text(value)) for u, value in zip(at, dimension.decode(at), strict=True))


def _best_and_worst(view: StudyView) -> tuple[Sample, Mask]:
    """The trials with those in the best tenth as their goal, and which of them are in the worst tenth."""
    trials = [trial for trial in view.trials if not in_a_step(trial)]
    top, _, _ = sample_of(trials, best(), view.sign, source="all")
    try:
        worst_tenth = sample_of(trials, worst(), view.sign, source="all")[0].in_goal
    except ValueError:  # So many are equally bad that there is no worst tenth.
        worst_tenth = np.zeros(len(top.in_goal), dtype=bool)
    return top, worst_tenth


def _advice(top: Sample, worst_tenth: Mask) -> list[RangeAdvice]:
    n_tests = 4 * len(top.space)
    advice: list[RangeAdvice] = []
    for j, dimension in enumerate(top.space.dimensions):
        rows = top.present[:, j]
        u, good, bad = top.u[rows, j], top.in_goal[rows], worst_tenth[rows]
        if good.sum() < _FEWEST_IN_GOAL:
            continue
        if dimension.categorical:
            advice += _drops(dimension, u, good, bad, n_tests)
        else:
            advice += [*_widen(dimension, u, good, n_tests), *_narrow(dimension, u, good, n_tests)]
    return sorted(advice, key=lambda piece: piece.p)


def _more_than(hits: int, draws: int, share: float) -> float:
    """Probability of at least this many hits."""
    return float(bdtrc(hits - 1, draws, min(max(share, 1e-12), 1.0))) if hits > 0 else 1.0


def _widen(dimension: Dimension, u: Array, good: Mask, n_tests: int) -> list[RangeAdvice]:
    advice = []
    m = int(good.sum())
    for end, near, beside in _ends(dimension, u):
        hits, share = int((good & near).sum()), float(near.mean())
        declared = 1.0 / dimension.cells if 0 < dimension.cells <= _FEW_CELLS else _EDGE
        # More than a uniform draw from the range would give, and more than the trials themselves.
        p = min(1.0, n_tests * _more_than(hits, m, declared))
        also = _more_than(hits, m, share)
        rate, next_to = (float(good[part].mean()) if part.any() else 0.0 for part in (near, beside))
        if p <= _CONFIDENT and also <= SIGNIFICANCE and rate > next_to:
            bound = dimension.decode(np.array([1.0 if end == "upper" else 0.0]))[0]
            sentence = (
                f"Widen `{dimension.name}` beyond its {end} bound {value_text(bound)}: {100 * hits / m:.0f}% of the "
                f"best trials lie at that end of its range, where {100 * share:.0f}% of all trials are."
            )
            start, stop = (1.0 - declared, 1.0) if end == "upper" else (0.0, declared)
            advice.append(RangeAdvice(dimension.name, "widen", sentence, p, start, stop))
    return advice


def _ends(dimension: Dimension, u: Array) -> list[tuple[str, Mask, Mask]]:
    """Both ends of a range, and the parts next to them: values of a parameter with few, tenths otherwise."""
    if 0 < dimension.cells <= _FEW_CELLS:
        code, last = dimension.code(u), dimension.cells - 1
        return [("upper", code == last, code == last - 1), ("lower", code == 0, code == 1)]
    return [
        ("upper", u > 1.0 - _EDGE, (u <= 1.0 - _EDGE) & (u > 1.0 - 2 * _EDGE)),
        ("lower", u < _EDGE, (u >= _EDGE) & (u < 2 * _EDGE)),
    ]


def _narrow(dimension: Dimension, u: Array, good: Mask, n_tests: int) -> list[RangeAdvice]:
    advice = []
    m = int(good.sum())
    position = dimension.midpoint(dimension.code(u)) if dimension.cells else u
    first, last = float(position[good].min()), float(position[good].max())
    for end, edge, empty in (("below", first, position < first), ("above", last, position > last)):
        share = float(empty.mean())
        # How likely is it that no good trial is in a part of the range that holds this share of all trials?
        p = min(1.0, n_tests * (1.0 - share) ** m)
        if p <= _CONFIDENT and share >= _EDGE:
            cut = dimension.decode(np.array([edge]))[0]
            sentence = (
                f"Narrow `{dimension.name}`: none of the best trials has it {end} {value_text(cut)}, where "
                f"{100 * share:.0f}% of the trials were."
            )
            start, stop = (0.0, edge) if end == "below" else (edge, 1.0)
            advice.append(RangeAdvice(dimension.name, "narrow", sentence, p, start, stop))
    return advice


def _drops(dimension: Dimension, u: Array, good: Mask, bad: Mask, n_tests: int) -> list[RangeAdvice]:
    advice = []
    codes = dimension.code(u)
    for code in range(dimension.cells if bad.any() else 0):
        having = codes == code
        share, hits = float(having.mean()), int((bad & having).sum())
        p = min(1.0, n_tests * _more_than(hits, int(bad.sum()), share))
        if p <= _CONFIDENT and not (good & having).any():
            choice = dimension.decode(dimension.midpoint(np.array([code])))[0]
            sentence = (
                f"Drop `{dimension.name}` = {value_text(choice)}: it makes up {100 * hits / int(bad.sum()):.0f}% of "
                f"the worst trials ({100 * share:.0f}% of all) and none of the best."
            )
            low, high = dimension.cell(np.array([code]))
            advice.append(RangeAdvice(dimension.name, "drop", sentence, p, float(low[0]), float(high[0])))
    return advice
