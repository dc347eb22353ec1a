"""One configuration between several objectives.

Notation
    F (s, m, k)   joint draws of the true outcomes of tried configurations, as losses
    u             F in units of the spread of the observed front, from the best mean of every objective: 0 is as good as
                  it gets in an objective, 1 the other end of the front
    cost          max over objectives of weight * u, plus a little of the sum: the mean over draws counts

The largest weighted loss, not the sum, because sums only ever choose the ends of a front that is not convex.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.answers.fronts.answer import modelled, not_modelled, notes_on
from pellucid.answers.fronts.records import Compromise, KeptLimit
from pellucid.answers.fronts.wishes import Limit
from pellucid.beliefs import Beliefs
from pellucid.beliefs.expectation import LEVEL
from pellucid.beliefs.expected_outcomes import expected_outcomes
from pellucid.beliefs.feasibility import chance_of_feasible
from pellucid.beliefs.front_members import Tried, usable
from pellucid.numerics import Array
from pellucid.study.view import StudyView
from pellucid.words import NoAnswerYet, Note, spoken, value_text

# Share of the sum in the cost: of two configurations with the same largest loss, the one that is better elsewhere.
_SUM = 0.05
# If no configuration keeps the limits with more than this chance, the one that misses them by the least comes closest.
_HARDLY = 0.05


def compromise_of(beliefs: Beliefs, weights: Array | None, limits: Sequence[Limit], feasible: float) -> Compromise:
    """By weights (k,), or by the objectives without a limit if there are none. Raises ValueError if no trial is known
    to be feasible."""
    view = beliefs.view
    data, n = modelled(view)
    if data is None:
        raise NoAnswerYet(f"A compromise needs a model; in this study of {n} trials {not_modelled(view)}.")
    tried = Tried.of(beliefs, data)
    weights = _free(tried.spread, limits) if weights is None else weights
    F = tried.draws.outcomes
    kept = np.stack([F[:, :, limit.index] <= limit.loss for limit in limits], axis=2) if limits else None
    all_kept = np.ones(len(tried.rows)) if kept is None else kept.all(axis=2).mean(axis=0)
    constraints = beliefs.constraint_models(data.space)
    fine = chance_of_feasible(constraints, data.X[tried.rows]) if view.constrained else None
    cost = _cost(F, weights, tried.spread)
    enough = (all_kept >= feasible) & (True if fine is None else fine >= feasible)
    notes = notes_on(view, data, n)
    if enough.any():
        best = int(np.argmin(np.where(enough, cost, np.inf)))
        why = _why(view, weights, limits, feasible)
    else:
        best = _closest(F, limits, tried.spread, all_kept, fine, cost)
        why = "It comes closest."
        notes.insert(0, Note(_short(view, limits, feasible, all_kept, fine), "feasibility"))
    row = int(tried.rows[best])
    (outcomes,) = expected_outcomes(beliefs, data, [row], usable(data))
    said = [] if kept is None else kept[:, best].mean(axis=0).tolist()
    return Compromise(
        params=dict(data.observations.configurations[row]),
        trial=data.observations.numbers[row],
        outcomes=outcomes,
        weights={o.name: float(w) for o, w in zip(view.objectives, weights, strict=True)},
        limits=tuple(
            KeptLimit(view.objectives[limit.index].name, limit.text, chance)
            for limit, chance in zip(limits, said, strict=True)
        ),
        why=why,
        level=LEVEL,
        n_trials=n,
        notes=tuple(notes),
        feasible=None if fine is None else float(fine[best]),
    )


def _free(spread: Array, limits: Sequence[Limit]) -> Array:
    """Equal weights of the objectives without a limit, or of all if those are the same everywhere."""
    weights: Array = np.ones(len(spread))
    weights[[limit.index for limit in limits]] = 0.0
    if not weights[spread > 0.0].any():
        weights[:] = 1.0
    return np.asarray(weights / weights.sum())


def _cost(F: Array, weights: Array, spread: Array) -> Array:
    """(m,)"""
    u = F / _scale(spread)
    u = weights * (u - u.mean(axis=0).min(axis=0))
    return np.asarray((u.max(axis=2) + _SUM * u.sum(axis=2)).mean(axis=0))


def _closest(F: Array, limits: Sequence[Limit], spread: Array, kept: Array, fine: Array | None, cost: Array) -> int:
    """The configuration that most likely keeps everything, or misses the limits by the least if hardly any does; of
    those that miss them by as much, the one with the least cost."""
    chance = kept if fine is None else kept * fine
    if not limits or kept.max() > _HARDLY:
        return int(np.argmax(chance))
    scale = _scale(spread)
    among = [(limit.index, limit.loss) for limit in limits]
    over = [np.maximum((F[:, :, i] - loss) / scale[i], 0.0).mean(axis=0) for i, loss in among]
    return int(np.lexsort((cost, np.sum(over, axis=0)))[0])


def _scale(spread: Array) -> Array:
    """What an objective is measured in: infinite if it is the same everywhere, since its draws differ by rounding."""
    return np.asarray(np.where(spread > 0.0, spread, np.inf))


def _why(view: StudyView, weights: Array, limits: Sequence[Limit], feasible: float) -> str:
    among = ""
    if limits:
        texts = [f"{view.objectives[limit.index].name} {limit.text}" for limit in limits]
        among = f"Of the configurations that keep {spoken(texts)} with a chance of at least {feasible:.0%}, "
    counting = [i for i, weight in enumerate(weights) if weight > 0.0]
    if len(counting) == 1:
        what = f"it has the best expected {view.objectives[counting[0]].name}."
    else:
        least = float(weights[counting].min())
        each = spoken([f"{view.objectives[i].name} counts {value_text(float(weights[i]) / least)}" for i in counting])
        what = f"it is the best compromise if {each}, each in units of its spread over the front."
    return among + what if among else what[0].upper() + what[1:]


def _short(view: StudyView, limits: Sequence[Limit], feasible: float, kept: Array, fine: Array | None) -> str:
    """Which requirement no configuration meets."""
    texts = [f"{view.objectives[limit.index].name} {limit.text}" for limit in limits]
    if limits and not (kept >= feasible).any():
        return f"No configuration keeps {spoken(texts)} with a chance of {feasible:.0%}."
    if fine is not None and not (fine >= feasible).any():
        return f"No trial has a chance of {feasible:.0%} of being truly feasible."
    return f"No configuration keeps {spoken(texts)} and is truly feasible, each with a chance of {feasible:.0%}."
