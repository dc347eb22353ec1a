"""The trials that the models of all answers are conditioned on, if there are too many for all of them.

They are chosen as for a proposal (`models.thinning`): the newest, those near the best, and some of every region. On
top come those that answers name: the best by their values and by the models, the ends of every objective, running
trials that have a value, and the trials that show where a constraint is violated, if they are few.

Notation
    k objectives
    X (n, d)   encoded configurations of all observations;  Y (n, k)  their losses
    l (d,)     lengthscales, of every parameter the shortest of all models: some of every region of each model are kept
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.models.thinning import MOST_ROWS, MOST_TRIALS, representative_rows
from pellucid.numerics import Array, Indices, one_thread
from pellucid.pareto import MOST_OBJECTIVES, apart, front
from pellucid.study.arrays import Arrays, encoded
from pellucid.study.constraint_data import ConstraintData
from pellucid.study.view import StudyView
from pellucid.threads import cached_property

# The best of every objective, and members of the front, whose neighbours are kept: as many as for a proposal.
_N_BEST, _MOST_NEIGHBOURED = 20, 200
# Those that are kept themselves, by their values and by the models: as many as answers compare with each other. With
# several objectives these are members of the front.
_N_RIVALS, _MOST_ON_FRONT = 100, 250
# Trials that violate a constraint, or that satisfy it, whichever are fewer: those nearest to the limit.
_MOST_RARE = 200


def bounded(view: StudyView) -> StudyView:
    """The view with a choice of its trials for models; the same view if there are not too many. The choice is made when
    the first model is."""
    return replace(view, choice=_Choice(view)) if len(view.observations) > MOST_TRIALS else view


@dataclass(frozen=True, eq=False)
class _Choice:
    """`view`: of all trials, without a choice."""

    view: StudyView

    @cached_property
    def numbers(self) -> frozenset[int]:
        data = self.view.data
        if len(data) <= MOST_TRIALS or not len(data.space):
            return frozenset(self.view.observations.numbers)
        with one_thread:
            rows = _rows(self.view, data)
        return frozenset(data.observations.numbers[row] for row in rows.tolist())


def _rows(view: StudyView, data: Arrays) -> Indices:
    objectives, Y = [data.of(objective) for objective in view.objectives], data.observations.values
    observations = data.observations
    usable = np.flatnonzero(observations.feasible) if observations.feasible.any() else np.arange(len(Y))
    models = [_learned(each) for each in objectives]
    l = np.min([gp.hyperparameters.lengthscales for gp in (*models, *_of_constraints(view, data))], axis=0)
    near = usable[_best(Y[usable], _N_BEST, _MOST_NEIGHBOURED)]
    rows = representative_rows(models[0].kernel, l, data.X, data.standing(Y[:, 0]), MOST_ROWS, near)
    for gp, each in zip(models, objectives, strict=True):
        some = each.select(rows)
        gp.condition(some.X, some.losses, some.observations.noise_variance)
    means = np.stack([gp.latent_means(data.X[usable]) for gp in models], axis=1)
    rivals = _N_RIVALS if len(models) == 1 else _N_BEST
    running = [i for i, n in enumerate(observations.numbers) if not view.by_number[n].state.is_finished()]
    also = (
        usable[_best(Y[usable], rivals, _MOST_ON_FRONT)],
        usable[_best(means, rivals, _MOST_ON_FRONT)],
        Y.argmin(axis=0),
        Y.argmax(axis=0),
        np.array(running, dtype=np.intp),
        *_rare(observations.constraints.values),
    )
    return np.unique(np.concatenate([rows, *also]))


def _learned(data: Arrays) -> GaussianProcess:
    """The default model without data."""
    gp = GaussianProcess(warp="auto").unfitted(data.space.nominal)
    return gp.learn(data.X, data.losses, data.observations.noise_variance)


def _of_constraints(view: StudyView, data: Arrays) -> list[GaussianProcess]:
    known = [
        ConstraintData.of(constraint, encoded(data.space, view.observed(constraint))) for constraint in view.constraints
    ]
    return [_learned(each.data) for each in known if each is not None]


def _best(Y: Array, count: int, most: int) -> Indices:
    """The `count` best rows of every objective, and up to `most` of the front, far from each other."""
    best = np.argsort(Y, axis=0, kind="stable")[:count].ravel()
    if not 1 < Y.shape[1] <= MOST_OBJECTIVES:
        return np.unique(best)
    members = np.flatnonzero(front(Y))
    return np.union1d(best, members[apart(Y[members], most)])


def _rare(values: Array) -> list[Indices]:
    """For each constraint, given all values (n, c): the rows that violate it, or the others if those are fewer."""
    out = []
    for column in values.T:
        over, under = np.flatnonzero(column > 0.0), np.flatnonzero(column <= 0.0)
        fewer = over if len(over) < len(under) else under
        out.append(fewer[np.argsort(np.abs(column[fewer]), kind="stable")[:_MOST_RARE]])
    return out
