"""What matters for a goal according to a model: indices on which draws of its posterior agree.

Every draw says which configurations reach the goal; the product of two draws' embeddings is the index of what they
agree about. Wiggles that only one draw has cancel, as they should: the draws of a model of noise agree about nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from pellucid.answers.importance.choices import ranks
from pellucid.answers.importance.draws import Subject, encoded_trials, spread_over_cells, usable_trials
from pellucid.answers.importance.goals import HsicImportance, ParameterImportance
from pellucid.answers.importance.hsic import MEDIAN, embeddings, holm, largest_possible
from pellucid.answers.importance.words import bins, importance_sentence, where
from pellucid.answers.proposals.background import rows_of
from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.explored import unexplored
from pellucid.claims import EVIDENCE, GOAL_IMPACTFUL, GOAL_NO_EFFECT
from pellucid.numerics import Array, Mask, stream
from pellucid.space.encoding import Space
from pellucid.study.arrays import arrays
from pellucid.study.goals import Goal, Sign
from pellucid.study.targets import Target
from pellucid.words import NoAnswerYet, choice_note

# Fresh configurations, and posterior draws on them: their joint covariance costs the cube of the first.
_N_FRESH, _N_DRAWS = 1024, 48
# Draws behind the largest possible index, which hardly differs between draws.
_N_LARGEST = 8
# p-values are at least this: the normal approximation behind them is not accurate further out.
_SMALLEST_P = 1e-6


def importance_of_model(beliefs: Beliefs, target: Target, goal: Goal, seed: int) -> HsicImportance:
    if goal.failures:
        raise ValueError(
            "source='surrogate' predicts objectives and cannot say which configurations would fail: "
            "use source='random'."
        )
    view = beliefs.view
    trials, notes, _ = usable_trials(view.trials, goal, "surrogate")
    space, _, _ = encoded_trials(trials)
    distributions = {dimension.name: dimension.distribution for dimension in space.dimensions}
    observed = view.observations_of([trial.number for trial in trials])
    every = arrays(distributions, observed if goal.joint else observed.of(target))
    data = view.chosen(every)
    models = beliefs.objective_models(data) if goal.joint else (beliefs.model(target, data),)
    u = rows_of({}, data.space, 0, _N_FRESH, 0)
    X = data.space.canonical(u)
    goals = _goals(_values(models, X, seed, joint=goal.joint), goal, Subject.of(view, goal, target).sign)
    spread, active = spread_over_cells(data.space, u, range(len(u))), data.space.active(X)
    measured = [_agreed(data.space, j, spread, active[:, j], goals) for j in range(len(data.space))]
    adjusted = holm(np.array([parameter.p for parameter in measured]))
    # Draws of a model that knows little agree about little, which does not show that there is no effect. Nor do draws
    # of several models: of parameters that had none on being near a front by them, more than half had one on the
    # reported problems of the laboratory's `fronts`.
    doubts = next((doubts for model in models if (doubts := unexplored(model.gp, X))), [])
    sure = not doubts and not goal.joint
    gains = np.max([model.evidence for model in models], axis=0)
    judged = [
        replace(parameter, p_adjusted=float(p), verdict=_verdict(parameter.verdict, float(p), gain, sure=sure))
        for parameter, p, gain in zip(measured, adjusted, gains.tolist(), strict=True)
    ]
    parameters = tuple(sorted(judged, key=lambda parameter: -parameter.index))
    n = len(every)
    return HsicImportance(
        goal=goal.words,
        parameters=parameters,
        pairs=(),
        n_trials=n,
        n_goal=round(float(goals.mean()) * n),
        bandwidth=float(MEDIAN),
        source="surrogate",
        sentence=importance_sentence(goal.words, parameters, (), n, "surrogate"),
        notes=(*notes, *choice_note(len(data), n), *doubts),
    )


def _values(models: Sequence[Model], X: Array, seed: int, *, joint: bool) -> Array:
    """(R, n), or (R, n, k) of all objectives: draws, in the user's unit."""
    if not joint:
        (model,) = models
        return model.target.sign * model.gp.sample(X, _N_DRAWS, stream(seed, "posterior"))
    draws = [
        model.target.sign * model.gp.sample(X, _N_DRAWS, stream(seed, "posterior", model.target.column))
        for model in models
    ]
    return np.stack(draws, axis=2)


def _goals(values: Array, goal: Goal, sign: Sign) -> Array:
    """(R, n): which configurations reach the goal, for every draw in which some do and some do not."""
    n = values.shape[1]
    no_failures = np.zeros(n, dtype=bool)
    goals: Array = np.array([goal.reached(row, no_failures, sign) for row in values], dtype=float)
    goals = goals[(goals.sum(axis=1) > 0) & (goals.sum(axis=1) < n)]
    if len(goals) < _N_DRAWS // 2:
        raise NoAnswerYet(f"According to the model, no configuration reaches the goal ({goal.words}), or all do.")
    return goals


def _verdict(verdict: str, p: float, gain: float, *, sure: bool) -> str:
    """Draws of one model may agree about noise that it took for an effect, so the trials must speak for it, too.

    `sure`: whether the model may say that there is no effect.
    """
    if p <= GOAL_IMPACTFUL.threshold:
        return "impactful" if gain > EVIDENCE else "cannot tell"
    return verdict if sure else "cannot tell"


@dataclass(frozen=True)
class _Agreement:
    """The index that draws agree about. `alone`: that of single draws; `largest`: of a parameter that alone decides."""

    index: float = 0.0
    stderr: float = 0.0
    p: float = 1.0
    largest: float = 0.0
    alone: float = 0.0

    @property
    def negligible(self) -> bool:
        """Draws that agree about nothing may each see an effect: then nothing is known."""
        limit = GOAL_NO_EFFECT.threshold * self.largest
        return self.largest > 0.0 and max(self.index + 2.0 * self.stderr, self.alone) <= limit


def _agreement(position: Array, goals: Array) -> _Agreement:
    """What R draws with goals (R, n) agree on about one parameter at these positions (n,)."""
    R = len(goals)
    E = embeddings(position, goals, MEDIAN)
    others = (E.sum(axis=1, keepdims=True) - E) / (R - 1)
    agreement = (E * others).sum(axis=0)
    index, stderr = max(float(agreement.mean()), 0.0), 2.0 * float(agreement.std(ddof=1)) / np.sqrt(R)
    largest = float(np.mean([largest_possible(draw.astype(bool), MEDIAN) for draw in goals[:_N_LARGEST]]))
    p = max(float(ndtr(-(index - GOAL_NO_EFFECT.threshold * largest) / max(stderr, 1e-300))), _SMALLEST_P)
    return _Agreement(index, stderr, p, largest, float((E * E).sum(axis=0).mean()))


def _agreed(space: Space, j: int, u: Array, rows: Mask, goals: Array) -> ParameterImportance:
    dimension = space.dimensions[j]
    inside = goals[:, rows]
    inside = inside[(inside.sum(axis=1) > 0) & (inside.sum(axis=1) < rows.sum())]
    agreement = _Agreement()
    if len(inside) >= _N_DRAWS // 2:
        position = u[rows, j]
        if dimension.nominal:
            place = ranks(dimension.code(position), inside, dimension.cells)
            position = dimension.midpoint(place[dimension.code(position)])
        agreement = _agreement(position, inside)
    likely = goals[:, rows].mean(axis=0) > goals[:, rows].mean()
    shown, ranges = bins(dimension, u[rows, j], likely)
    return ParameterImportance(
        name=dimension.name,
        index=agreement.index,
        stderr=agreement.stderr,
        null=0.0,
        p=agreement.p,
        p_adjusted=agreement.p,
        verdict="no effect" if agreement.negligible else "cannot tell",
        group="" if rows.all() else where(space, dimension.name),
        n_trials=int(rows.sum()),
        n_goal=int(likely.sum()),
        bins=shown,
        ranges=ranges,
    )
