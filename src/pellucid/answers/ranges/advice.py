"""Which ranges to change: widen them at a bound, narrow them, or drop a choice.

All advice comes from the posterior, never from where the trials are: an optimiser puts its trials where it likes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from optuna.study import Study

from pellucid.answers.importance.draws import FEWEST, Subject, sample_of
from pellucid.answers.ranges.judged import (
    FEW_CELLS,
    PER_CELL,
    PER_PARAMETER,
    Judged,
    judged_of,
    moved,
    needed,
    segments,
)
from pellucid.answers.ranges.limits import end_of_counts, end_of_shares
from pellucid.answers.ranges.records import ParameterRanges, RangeAdvice, RangeAxis
from pellucid.beliefs import Beliefs
from pellucid.beliefs.failing import always_fails, fails_with
from pellucid.beliefs.feasibility import chance_of_feasible, none_feasible
from pellucid.beliefs.of_study import opened
from pellucid.beliefs.parts import Chance, best_rows, chance_of
from pellucid.beliefs.settings import FailingSetting
from pellucid.claims import NARROW_OR_DROP, WIDEN
from pellucid.models.draws import joint_latent
from pellucid.numerics import Array, Mask
from pellucid.space.branches import Branch
from pellucid.space.encoding import Dimension
from pellucid.space.text import axis_ticks
from pellucid.study.goals import best as best_tenth
from pellucid.study.targets import Target
from pellucid.study.trials import in_a_step
from pellucid.words import NoAnswerYet, Note, choice_note, counted, percent, value_text

# Widening, chosen on the design problems of the truth bench. With this many of the best configurations, the bound must
# be better on average than a point this far inside (`claims.WIDEN`); with the best one the bound must be the
# best point of the whole range, and the gain a visible share of what tuning brought. 12% is far enough for a difference
# to show and near enough for the slope to be that of the bound. The trials must also speak for an effect of the
# parameter (`Judged.clear`): without that, a stated chance of 13% was wrong in 42% of 24 cases, with it in 13% of 15.
_N_SLICES, _INSIDE, _WIDEN_GAIN = 5, 0.12, 0.01
_N_SLICE = 26
# A part counts as good already if it comes this close to the best (a share of what tuning brought); and the shortest
# stretch that is worth an edit.
_CLOSE, _SHORTEST = 0.05, 0.2
# No range is widened towards a bound that is less likely to be feasible than this.
_LIKELY_FEASIBLE = 0.5
# The end of a range in the figure.
_EDGE = 0.1
# Choices of one parameter that are named one by one in the notes.
_MOST_NAMED = 3


def parameter_ranges(study: Study, *, objective: str | int | None = None) -> ParameterRanges:
    """The ranges of a study, where its trials and the best of them are, and advice on what to change.

    Advice, most certain first: widen a range if the model gets better towards its bound, narrow it or drop a choice if
    the part to be removed was tried often enough and hardly holds anything better. Every piece says how likely it is to
    be wrong and what that would cost. A note, not advice, says that a whole number is best at its lower bound 0 or 1,
    where counts end. Of hundreds of parameters only those
    are judged that the objective seems to depend on most. Trials of a search in steps are left out, because they hold
    parameters at values that were not compared with others.

    Args:
        study: any study.
        objective: the one that the advice is about, by name or number, if the study has several.
    """
    with opened(study, "parameter_ranges", objective) as (beliefs, target):
        return ranges_of(beliefs, target)


def ranges_of(beliefs: Beliefs, target: Target) -> ParameterRanges:
    view = beliefs.view
    trials = [trial for trial in view.trials if not in_a_step(trial)]
    observed = view.observed(target)
    losses = observed.losses
    if len(losses) >= FEWEST and np.ptp(losses) == 0.0:
        raise NoAnswerYet(f"All {len(losses)} trials returned the same value, so they say nothing about ranges.")
    if len(losses) and not observed.feasible.any():
        raise NoAnswerYet(f"Which ranges to change is not known. {none_feasible(observed)}")
    top, _, _ = sample_of(trials, best_tenth(), Subject.of(view, best_tenth(), target), source="all")
    axes = []
    for j, dimension in enumerate(top.space.dimensions):
        having = top.present[:, j]
        u = dimension.snap(top.u[:, j])  # The sample has spread discrete values over their cells.
        others, good = (tuple(u[having & part].tolist()) for part in (~top.in_goal, top.in_goal))
        axes.append(RangeAxis(dimension.name, axis_ticks(dimension), others, good, view.positions[dimension.name]))
    judged = judged_of(beliefs, target)
    alone = _alone(target, len(view.objectives))
    if judged is None:
        return ParameterRanges(tuple(axes), (), len(top.in_goal), alone)
    pieces, notes = _widen(judged)
    n_trials = len(judged.every)
    notes += choice_note(len(judged.data), n_trials)
    by_certainty = sorted([*pieces, *_narrow(judged), *_drops(judged)], key=lambda piece: piece.probability)
    advice = tuple(replace(piece, n_trials=n_trials) for piece in by_certainty)
    return ParameterRanges(tuple(axes), advice, n_trials, (*alone, *notes, *_untried(judged)))


def _alone(target: Target, n_objectives: int) -> tuple[str, ...]:
    """A note if there are other objectives."""
    if n_objectives == 1 or target.is_constraint:
        return ()
    text = f"This is about `{target.name}` alone: other ranges may be better for another objective."
    return (Note(text, "scope"),)


# ---------------------------------------------------------------------- widen


def _widen(judged: Judged) -> tuple[list[RangeAdvice], list[str]]:
    """Advice to widen, and notes on bounds that are best, but at which counts end."""
    advice: list[RangeAdvice] = []
    notes: list[str] = []
    best = best_rows(judged.gp, judged.data, 1)
    exists = judged.data.space.active(best)[0]
    for j in judged.columns:
        dimension = judged.data.space.dimensions[j]
        # Two numbers are a switch, which has nothing beyond its ends.
        if not exists[j] or dimension.categorical or dimension.cells == 2:
            continue
        at = np.linspace(0.0, 1.0, _N_SLICE)
        at = np.unique(dimension.snap(at)) if dimension.cells else at
        mean = judged.gp.latent_mean(moved(judged.data.space, best, j, at))
        for end, bound in (("upper", len(at) - 1), ("lower", 0)):
            inside = _inside(at, bound)
            gain = float(np.diff(judged.gp.losses(mean[[bound, inside]]))[0])
            if mean[bound] > mean.min() or gain <= _WIDEN_GAIN * judged.gain or not judged.clear[j]:
                continue
            rows = best_rows(judged.gp, judged.data, _N_SLICES, judged.active[:, j])
            error = _no_gain(judged, moved(judged.data.space, rows, j, at[[bound, inside]]))
            there = moved(judged.data.space, best, j, at[[bound]])
            likely = (
                chance_of_feasible(judged.beliefs.constraint_models(judged.data.space), there)[0] >= _LIKELY_FEASIBLE
            )
            if error > WIDEN.threshold or not likely:
                continue
            if end_of_counts(dimension.distribution, end):
                notes.append(_limit(dimension, end, at[bound]))
            else:
                advice.append(_widening(dimension, end, at[[bound, inside]], error))
    return advice, notes


def _no_gain(judged: Judged, pairs: Array) -> float:
    """The chance that the bound is no better than inside, on average over pairs of rows: at the bound, and inside.

    Latent values, because a warp stretches differences of good configurations less than those of bad ones.
    """
    draws = joint_latent(judged.model.drawn, pairs)
    gain = (draws[:, 1::2] - draws[:, ::2]).mean(axis=1)
    return float(((gain <= 0.0).sum() + 1.0) / (len(gain) + 2.0))


def _inside(at: Array, bound: int) -> int:
    """The position to compare the bound with: some way inside, and never the bound itself."""
    step = 1 if bound == 0 else -1
    nearest = int(np.argmin(np.abs(at - (at[bound] + step * _INSIDE))))
    return nearest if nearest != bound else bound + step


def _widening(dimension: Dimension, end: str, positions: Array, error: float) -> RangeAdvice:
    bound, inside = (value_text(value) for value in dimension.decode(positions))
    larger = "larger" if end == "upper" else "smaller"
    perhaps = f", if {larger} values are allowed" if end_of_shares(dimension.distribution, end) else ""
    sentence = (
        f"Widen `{dimension.name}` beyond its {end} bound {bound}{perhaps}: the best configurations probably still "
        f"improve as it goes from {inside} to {bound} (chance of error {_percent(error)}). "
        "If this is wrong, you lose a few trials."
    )
    edge = 1.0 / dimension.cells if 0 < dimension.cells <= FEW_CELLS else _EDGE
    start, stop = (1.0 - edge, 1.0) if end == "upper" else (0.0, edge)
    return RangeAdvice(dimension.name, "widen", sentence, error, 0.0, start, stop)


def _limit(dimension: Dimension, end: str, position: float) -> Note:
    value = value_text(dimension.decode(np.array([position]))[0])
    best = f"`{dimension.name}` is best at its {end} bound {value}"
    return Note(f"{best}; counts end there, so there is nothing to widen.", "scope")


# ---------------------------------------------------------------------- narrow and drop


def _narrow(judged: Judged) -> Iterator[RangeAdvice]:
    for j in judged.columns:
        dimension = judged.data.space.dimensions[j]
        if dimension.categorical:
            continue
        edges = segments(dimension)
        tenths = not 0 < dimension.cells <= FEW_CELLS
        # From the longest stretch to the shortest; of tenths one stays as a margin.
        for end in ("below", "above"):
            for count in range(len(edges) - 2, 0, -1):
                kept = count - tenths
                stretch = (0.0, edges[count]) if end == "below" else (edges[-1 - count], 1.0)
                safe = (0.0, edges[kept]) if end == "below" else (edges[-1 - kept], 1.0)
                if safe[1] - safe[0] < _SHORTEST:
                    break
                advice = _narrowing(judged, j, end, stretch, safe)
                if advice is not None:
                    yield advice
                    break


def _narrowing(
    judged: Judged, j: int, end: str, stretch: tuple[float, float], safe: tuple[float, float]
) -> RangeAdvice | None:
    dimension, having = judged.data.space.dimensions[j], judged.had[:, j]
    n_trials = int((having & _within(judged.every.X[:, j], safe)).sum())
    if n_trials < max(PER_PARAMETER, _covering(judged, having, safe[1] - safe[0])):
        return None
    inside = judged.exists[:, j] & _within(judged.candidates[:, j], stretch)
    outside = judged.exists[:, j] & ~inside
    if not inside.any() or not outside.any():
        return None
    chance = chance_of(judged.draws, inside, outside, -_CLOSE * judged.gain)
    if chance.probability > NARROW_OR_DROP.threshold:
        return None
    kept = np.array([safe[1] if end == "below" else safe[0]])
    at = dimension.snap(kept + (1e-9 if end == "below" else -1e-9)) if dimension.cells else kept
    bound = value_text(dimension.decode(at)[0])
    sentence = (
        f"Narrow `{dimension.name}` to at {'least' if end == 'below' else 'most'} {bound}: {end} that, the chance of "
        f"anything as good is {_risk(chance, n_trials)}"
    )
    start, stop = map(float, safe)
    return RangeAdvice(dimension.name, "narrow", sentence, chance.probability, chance.gain, start, stop)


def _covering(judged: Judged, having: Mask, width: float) -> float:
    """How many trials cover a stretch of this width in all numeric parameters that exist with it."""
    together = np.any(judged.had[having], axis=0)
    return float(PER_CELL * width * math.prod(judged.parts[together].tolist()))


def _within(u: Array, stretch: tuple[float, float]) -> Mask:
    """Discrete values are at mid-points, so no value is on an edge."""
    return np.asarray((u >= stretch[0]) & (u <= stretch[1]))


def _drops(judged: Judged) -> Iterator[RangeAdvice]:
    space = judged.data.space
    for branch in judged.choices:
        dimension = space.dimensions[branch.column]
        if branch.column not in judged.columns or branch.n_trials < needed(branch):
            continue
        inside = branch.holds(space, judged.candidates, judged.exists)
        outside = judged.exists[:, branch.column] & ~inside
        if not outside.any():
            continue
        chance = chance_of(judged.draws, inside, outside, -_CLOSE * judged.gain)
        if chance.probability <= NARROW_OR_DROP.threshold:
            sentence = (
                f"Drop `{dimension.name}` = {_choice(judged, branch)}: the chance that it holds anything as good is "
                f"{_risk(chance, branch.n_trials)}"
            )
            low, high = dimension.cell(np.array([branch.code]))
            part = float(low[0]), float(high[0])
            yield RangeAdvice(dimension.name, "drop", sentence, chance.probability, chance.gain, *part)


def _untried(judged: Judged) -> Iterator[str]:
    """A note on every parameter with choices that had too few trials to be judged; never on the one to use."""
    space, failing = judged.data.space, judged.beliefs.known_failing
    best = best_rows(judged.gp, judged.data, 1)
    has = space.active(best)
    for j in sorted({branch.column for branch in judged.choices}):
        few = [
            branch
            for branch in judged.choices
            if branch.column == j and branch.n_trials < needed(branch) and not branch.holds(space, best, has)[0]
        ]
        name = space.names[j]
        if len(few) > _MOST_NAMED:
            text = f"{len(few)} choices of `{name}` have too few values to say whether to drop them."
            yield Note(text, "evidence")
            continue
        for branch in few:
            yield _too_few(judged, branch, failing)


def _too_few(judged: Judged, branch: Branch, failing: Sequence[FailingSetting]) -> Note:
    """Why a choice cannot be judged. If failures are the reason for its few values, that is said."""
    dimension = judged.data.space.dimensions[branch.column]
    (value,) = dimension.decode(dimension.midpoint(np.array([branch.code])))
    lost = always_fails(failing, dimension.name, value)
    if lost is not None:
        return Note(f"Drop {lost.words}, or fix what makes it fail: {lost.outcome}.", "failures")
    few = f"has {counted(branch.n_trials, 'trial')} with a value, too few to say whether to drop it"
    pairs = [f"with {other}, {setting.outcome}" for other, setting in fails_with(failing, dimension.name, value)]
    text = f"`{dimension.name}` = {value_text(value)} {few}{'; ' if pairs else ''}{' and '.join(pairs)}."
    return Note(text, "evidence")


def _choice(judged: Judged, branch: Branch) -> str:
    dimension = judged.data.space.dimensions[branch.column]
    return value_text(dimension.decode(dimension.midpoint(np.array([branch.code])))[0])


def _risk(chance: Chance, n_trials: int) -> str:
    """How likely it is that a part to be removed is missed, how many trials say so, and the loss."""
    text, tried = percent(chance.probability), counted(n_trials, "trial")
    if chance.gain == 0.0:
        return f"{text} ({tried}; the model expects no loss)."
    return f"{text} ({tried}). If this is wrong, you lose about {chance.gain:.2g} at most."


def _percent(chance: float) -> str:
    """ "0.3%", "97%" """
    return f"{100.0 * chance:.1f}%" if chance < 0.0095 else f"{100.0 * chance:.0f}%"
