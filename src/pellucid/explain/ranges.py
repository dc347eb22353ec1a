"""Which ranges to change: widen them at a bound, narrow them, or drop a choice.

All advice comes from the posterior, never from where the trials are: an optimiser puts its trials where it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from optuna.study import Study

from pellucid.explain.importance.draws import FEWEST, in_a_step, sample_of
from pellucid.explain.model import fitted_model, opened
from pellucid.explain.parts import (
    Branch,
    best_rows,
    branches,
    chance_of,
    drawn_models,
    everywhere,
    gain_of_tuning,
    inside_branch,
    joint_latent,
    joint_losses,
)
from pellucid.explain.text import counted, value_text
from pellucid.goals import best as best_tenth
from pellucid.numerics import Array, Mask
from pellucid.records import ParameterRanges, RangeAdvice, RangeAxis
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.encoding import Dimension, Space
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

# Widening, chosen on the design problems of the truth bench. With this many of the best configurations, the bound must
# be better on average than a point this far inside, with this chance of error; with the best one the bound must be the
# best point within this distance, and the gain a visible share of what tuning brought. 12% is far enough for a
# difference to show and near enough for the slope to be that of the bound.
_N_SLICES, _INSIDE, _WIDEN_ERROR, _NEAR, _WIDEN_GAIN = 5, 0.12, 0.15, 0.35, 0.01
_N_SLICE = 26
# Narrowing and dropping lose the optimum if they are wrong. The chance of that, where a part counts as good already if
# it comes this close to the best (a share of what tuning brought); and the shortest stretch that is worth an edit.
_REMOVE_ERROR, _CLOSE, _SHORTEST = 0.01, 0.05, 0.2
# Trials that a choice must have had, for itself and for each parameter of its own: on the design problems the model
# gave up a choice with two of them after 13 trials, although it was the best.
_PER_PARAMETER = 10
# A stretch must be covered: so many trials for every part of it that is an eighth of the range long in each parameter
# that matters, and half of it in the others. A smooth model expects no good spot between trials that are further apart:
# on the design problem with a narrow optimum, quarters were not enough. A lengthscale says what matters.
_PER_CELL, _PARTS, _FEW_PARTS, _SHORT = 3, 8, 2, 2.0
# Stretches are judged in tenths, or value by value of a parameter with few. Candidates in each: the best trials moved
# there; in each choice: evenly spread ones as well. Fewer of them if there are many parameters or choices.
_N_TENTHS, _FEW_CELLS, _N_MOVED, _N_IN_CHOICE = 10, 20, 2, 32
_MOST_MOVED, _MOST_IN_CHOICES = 40, 480
# The end of a range in the figure.
_EDGE = 0.1
# A parameter with up to this many values, or choices, has a tick at each of them.
_N_TICKED, _MOST_CHOICES = 12, 60
# Choices of one parameter that are named one by one in the notes.
_MOST_NAMED = 3


def parameter_ranges(study: Study) -> ParameterRanges:
    """The ranges of a study, where its trials and the best of them are, and advice on what to change.

    Advice, most certain first: widen a range if the model gets better towards its bound, narrow it or drop a choice if
    the part to be removed was tried often enough and hardly holds anything better. Every piece says how likely it is to
    be wrong and what that would cost. Trials of a search in steps are left out, because they hold parameters at values
    that were not compared with others.

    Args:
        study: any study with one objective.
    """
    with opened(study, "parameter_ranges") as view:
        return ranges_of(view)


def ranges_of(view: StudyView) -> ParameterRanges:
    trials = [trial for trial in view.trials if not in_a_step(trial)]
    losses = view.observations.losses
    if len(losses) >= FEWEST and np.ptp(losses) == 0.0:
        raise ValueError(f"All {len(losses)} trials returned the same value, so they say nothing about ranges.")
    top, _, _ = sample_of(trials, best_tenth(), view.sign, source="all")
    axes = []
    for j, dimension in enumerate(top.space.dimensions):
        having = top.present[:, j]
        others, good = (tuple(top.u[having & part, j].tolist()) for part in (~top.in_goal, top.in_goal))
        axes.append(RangeAxis(dimension.name, _ticks(dimension), others, good))
    judged = _judged(view)
    if judged is None:
        return ParameterRanges(tuple(axes), (), len(top.in_goal))
    advice = sorted([*_widen(judged), *_narrow(judged), *_drops(judged)], key=lambda piece: piece.probability)
    return ParameterRanges(tuple(axes), tuple(advice), len(top.in_goal), tuple(_untried(judged)))


def _ticks(dimension: Dimension) -> tuple[tuple[float, str], ...]:
    """Every value of a parameter with few, or of choices; five over the range otherwise."""
    if 0 < dimension.cells <= (_MOST_CHOICES if dimension.categorical else _N_TICKED):
        at = dimension.midpoint(np.arange(dimension.cells))
    else:
        at = np.linspace(0.0, 1.0, 5)
    return tuple((float(u), value_text(value)) for u, value in zip(at, dimension.decode(at), strict=True))


# ---------------------------------------------------------------------- the model, and draws at candidates


@dataclass(frozen=True)
class _Judged:
    """The model of the trials that count, and joint draws of it at candidates in every part that may be removed."""

    data: Arrays
    gp: GaussianProcess

    @cached_property
    def models(self) -> tuple[GaussianProcess, ...]:
        return drawn_models(self.gp, self.data)

    @cached_property
    def active(self) -> Mask:
        """(n, d): which parameters the trials have."""
        return self.data.space.active(self.data.X)

    @cached_property
    def choices(self) -> list[Branch]:
        return branches(self.data)

    @cached_property
    def gain(self) -> float:
        return gain_of_tuning(self.data)

    @cached_property
    def candidates(self) -> Array:
        space = self.data.space
        rows = [everywhere(space), best_rows(self.gp, self.data, 8)]
        n_moved = max(1, min(_N_MOVED, _MOST_MOVED // len(space)))
        for j, dimension in enumerate(space.dimensions):
            if not dimension.categorical:
                edges = _segments(dimension)
                middle = dimension.snap(0.5 * (edges[:-1] + edges[1:]))
                rows.append(_moved(space, best_rows(self.gp, self.data, n_moved, self.active[:, j]), j, middle))
        chosen = [branch for branch in self.choices if branch.n_own or branch.n_trials >= _needed(branch)]
        count = max(4, min(_N_IN_CHOICE, _MOST_IN_CHOICES // max(len(chosen), 1)))
        rows += [inside_branch(self.gp, self.data, branch, count) for branch in chosen]
        return np.unique(space.canonical(np.vstack(rows)), axis=0)

    @cached_property
    def draws(self) -> Array:
        return joint_losses(self.models, self.candidates)

    @cached_property
    def exists(self) -> Mask:
        """Which parameters the candidates have."""
        return self.data.space.active(self.candidates)


def _judged(view: StudyView) -> _Judged | None:
    """None if there is nothing to model."""
    data = view.data
    numbers = [n for n in data.observations.numbers if not in_a_step(view.by_number[n])]
    if len(numbers) < len(data.observations.numbers):
        data = arrays(view.varying, view.observations_of(numbers))
    if len(data.losses) < 2 or np.ptp(data.losses) == 0.0:
        return None
    return _Judged(data, fitted_model(view, data))


def _segments(dimension: Dimension) -> Array:
    """Edges of the parts in which a range is judged."""
    if 0 < dimension.cells <= _FEW_CELLS:
        low, high = dimension.cell(np.arange(dimension.cells))
        return np.append(low, high[-1])
    return np.linspace(0.0, 1.0, _N_TENTHS + 1)


# ---------------------------------------------------------------------- widen


def _widen(judged: _Judged) -> Iterator[RangeAdvice]:
    for j, dimension in enumerate(judged.data.space.dimensions):
        if dimension.categorical or dimension.cells == 2 or not judged.active[:, j].any():
            continue  # Two numbers are a switch, which has nothing beyond its ends.
        at = np.linspace(0.0, 1.0, _N_SLICE)
        at = np.unique(dimension.snap(at)) if dimension.cells else at
        rows = best_rows(judged.gp, judged.data, _N_SLICES, judged.active[:, j])
        mean = judged.gp.latent_mean(_moved(judged.data.space, rows[:1], j, at))
        for end, bound in (("upper", len(at) - 1), ("lower", 0)):
            inside = _inside(at, bound)
            near = np.abs(at - at[bound]) <= _NEAR
            gain = float(np.diff(judged.gp.losses(mean[[bound, inside]]))[0])
            if mean[bound] > mean[near].min() or gain <= _WIDEN_GAIN * judged.gain:
                continue
            error = _no_gain(judged, _moved(judged.data.space, rows, j, at[[bound, inside]]))
            if error <= _WIDEN_ERROR:
                yield _widening(dimension, end, at[[bound, inside]], error)


def _moved(space: Space, rows: Array, j: int, at: Array) -> Array:
    """Every row with its parameter j at every position, row by row, and without the parameters that it switches off."""
    out = np.repeat(rows, len(at), axis=0)
    out[:, j] = np.tile(at, len(rows))
    return space.canonical(out)


def _no_gain(judged: _Judged, pairs: Array) -> float:
    """The chance that the bound is no better than inside, on average over pairs of rows: at the bound, and inside.

    Latent values, because a warp stretches differences of good configurations less than those of bad ones.
    """
    draws = joint_latent(judged.models, pairs)
    gain = (draws[:, 1::2] - draws[:, ::2]).mean(axis=1)
    return float(((gain <= 0.0).sum() + 1.0) / (len(gain) + 2.0))


def _inside(at: Array, bound: int) -> int:
    """The position to compare the bound with: some way inside, and never the bound itself."""
    step = 1 if bound == 0 else -1
    nearest = int(np.argmin(np.abs(at - (at[bound] + step * _INSIDE))))
    return nearest if nearest != bound else bound + step


def _widening(dimension: Dimension, end: str, positions: Array, error: float) -> RangeAdvice:
    bound, inside = (value_text(value) for value in dimension.decode(positions))
    sentence = (
        f"Widen `{dimension.name}` beyond its {end} bound {bound}: with the best configurations the prediction still "
        f"improves from {inside} to {bound} (chance of error {_percent(error)}). "
        "If this is wrong, you lose a few trials."
    )
    edge = 1.0 / dimension.cells if 0 < dimension.cells <= _FEW_CELLS else _EDGE
    start, stop = (1.0 - edge, 1.0) if end == "upper" else (0.0, edge)
    return RangeAdvice(dimension.name, "widen", sentence, error, 0.0, start, stop)


# ---------------------------------------------------------------------- narrow and drop


def _narrow(judged: _Judged) -> Iterator[RangeAdvice]:
    for j, dimension in enumerate(judged.data.space.dimensions):
        if dimension.categorical:
            continue
        edges = _segments(dimension)
        tenths = not 0 < dimension.cells <= _FEW_CELLS
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
    judged: _Judged, j: int, end: str, stretch: tuple[float, float], safe: tuple[float, float]
) -> RangeAdvice | None:
    dimension, having = judged.data.space.dimensions[j], judged.active[:, j]
    n_trials = int((having & _within(judged.data.X[:, j], safe)).sum())
    if n_trials < max(_PER_PARAMETER, _covering(judged, having, safe[1] - safe[0])):
        return None
    inside = judged.exists[:, j] & _within(judged.candidates[:, j], stretch)
    outside = judged.exists[:, j] & ~inside
    if not inside.any() or not outside.any():
        return None
    chance = chance_of(judged.draws, inside, outside, -_CLOSE * judged.gain)
    if chance.probability > _REMOVE_ERROR:
        return None
    kept = np.array([safe[1] if end == "below" else safe[0]])
    at = dimension.snap(kept + (1e-9 if end == "below" else -1e-9)) if dimension.cells else kept
    bound = value_text(dimension.decode(at)[0])
    sentence = (
        f"Narrow `{dimension.name}`: {end} {bound}, where {counted(n_trials, 'trial')} were, the chance of anything "
        f"as good is {_percent(chance.probability)}. {_loss(chance.gain)}"
    )
    return RangeAdvice(dimension.name, "narrow", sentence, chance.probability, chance.gain, *map(float, safe))


def _covering(judged: _Judged, having: Mask, width: float) -> float:
    """How many trials cover a stretch of this width in all numeric parameters that exist with it."""
    together = np.any(judged.active[having], axis=0).tolist()
    parts = 1.0
    for j, dimension in enumerate(judged.data.space.dimensions):
        if together[j] and not dimension.categorical:
            parts *= _PARTS if judged.gp.hyperparameters.lengthscales[j] < _SHORT else _FEW_PARTS
    return _PER_CELL * width * parts


def _within(u: Array, stretch: tuple[float, float]) -> Mask:
    """Discrete values are at mid-points, so no value is on an edge."""
    return np.asarray((u >= stretch[0]) & (u <= stretch[1]))


def _drops(judged: _Judged) -> Iterator[RangeAdvice]:
    space = judged.data.space
    for branch in judged.choices:
        dimension = space.dimensions[branch.column]
        if branch.n_trials < _needed(branch):
            continue
        inside = branch.holds(space, judged.candidates, judged.exists)
        outside = judged.exists[:, branch.column] & ~inside
        if not outside.any():
            continue
        chance = chance_of(judged.draws, inside, outside, -_CLOSE * judged.gain)
        if chance.probability <= _REMOVE_ERROR:
            sentence = (
                f"Drop `{dimension.name}` = {_choice(judged, branch)}: it was tried {branch.n_trials} times, and the "
                f"chance that it holds anything as good is {_percent(chance.probability)}. {_loss(chance.gain)}"
            )
            low, high = dimension.cell(np.array([branch.code]))
            part = float(low[0]), float(high[0])
            yield RangeAdvice(dimension.name, "drop", sentence, chance.probability, chance.gain, *part)


def _needed(branch: Branch) -> int:
    """Trials that a choice must have had: more if it has parameters of its own to tune."""
    return _PER_PARAMETER * (1 + branch.n_own)


def _untried(judged: _Judged) -> Iterator[str]:
    """A note on every parameter with choices that had too few trials to be judged; never on the one to use."""
    space = judged.data.space
    best = best_rows(judged.gp, judged.data, 1)
    has = space.active(best)
    for j in sorted({branch.column for branch in judged.choices}):
        few = [
            branch
            for branch in judged.choices
            if branch.column == j and branch.n_trials < _needed(branch) and not branch.holds(space, best, has)[0]
        ]
        name = space.names[j]
        if len(few) > _MOST_NAMED:
            yield f"{len(few)} choices of `{name}` were tried too few times to judge."
            continue
        for branch in few:
            times = counted(branch.n_trials, "time")
            yield f"`{name}` = {_choice(judged, branch)} was tried {times}: too few to judge."


def _choice(judged: _Judged, branch: Branch) -> str:
    dimension = judged.data.space.dimensions[branch.column]
    return value_text(dimension.decode(dimension.midpoint(np.array([branch.code])))[0])


def _loss(gain: float) -> str:
    if gain == 0.0:
        return "If this is wrong, you lose less than the model can see."
    return f"If this is wrong, you lose at most about {gain:.2g}."


def _percent(chance: float) -> str:
    """ "0.3%", "97%" """
    return f"{100.0 * chance:.1f}%" if chance < 0.0095 else f"{100.0 * chance:.0f}%"
