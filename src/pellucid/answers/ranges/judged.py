"""The model behind advice on ranges: what it says of the parts of a space, and which parameters it can judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.evidence import evidence
from pellucid.beliefs.feasibility import feasible_losses
from pellucid.beliefs.parts import best_rows, gain_of_tuning, inside_branch
from pellucid.claims import EVIDENCE
from pellucid.models import GaussianProcess
from pellucid.models.draws import joint_losses
from pellucid.numerics import Array, Mask
from pellucid.space.branches import Branch, branches, everywhere
from pellucid.space.encoding import Dimension, Space
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.targets import Target
from pellucid.study.trials import in_a_step
from pellucid.threads import cached_property

# Trials that a choice must have had, for itself and for each parameter of its own: on the design problems the model
# gave up a choice with two of them after 13 trials, although it was the best.
PER_PARAMETER = 10
# A stretch must be covered: so many trials for every part of it that is an eighth of the range long in each parameter
# that matters, and half of it in the others. A smooth model expects no good spot between trials that are further apart:
# on the design problem with a narrow optimum, quarters were not enough. A lengthscale says what matters.
PER_CELL, _PARTS, _FEW_PARTS, _SHORT = 3, 8, 2, 2.0
# Stretches are judged in tenths, or value by value of a parameter with few. Candidates in each: the best trials moved
# there; in each choice: evenly spread ones as well. Fewer of them if there are many parameters or choices.
_N_TENTHS, FEW_CELLS, _N_MOVED, _N_IN_CHOICE = 10, 20, 2, 32
_MOST_MOVED, _MOST_IN_CHOICES = 40, 480
# Of more parameters than this, those with the shortest lengthscales are judged.
_MOST_JUDGED = 20


@dataclass(frozen=True)
class Judged:
    """The model of the trials that count, and joint draws of it at candidates in every part that may be removed.

    `every`: all of these trials, which count where trials are counted; `data`: what the model is conditioned on.
    """

    beliefs: Beliefs
    every: Arrays
    model: Model

    @property
    def data(self) -> Arrays:
        return self.model.data

    @property
    def gp(self) -> GaussianProcess:
        return self.model.gp

    @cached_property
    def columns(self) -> list[int]:
        """The parameters that are judged, in their order."""
        order = np.argsort(self.gp.hyperparameters.lengthscales, kind="stable")
        return sorted(order[:_MOST_JUDGED].tolist())

    @cached_property
    def active(self) -> Mask:
        """Which parameters the trials of the model have."""
        return self.data.space.active(self.data.X)

    @cached_property
    def had(self) -> Mask:
        """(n, d): which parameters all trials have."""
        return self.every.space.active(self.every.X)

    @cached_property
    def choices(self) -> list[Branch]:
        return branches(self.every.space, self.every.X)

    @cached_property
    def parts(self) -> Array:
        """(d,): into how many parts a range is divided that trials have to cover."""
        short = np.array(self.gp.hyperparameters.lengthscales) < _SHORT
        numeric = [not dimension.categorical for dimension in self.data.space.dimensions]
        return np.where(numeric, np.where(short, _PARTS, _FEW_PARTS), 1).astype(float)

    @cached_property
    def clear(self) -> Mask:
        """(d,): which of the judged parameters have an effect that the trials speak for.

        Both ends of every range are looked at. The best of k that mean nothing seems to be worth log k nats.
        """
        ends = 2 * sum(not self.data.space.dimensions[j].categorical for j in self.columns)
        out = np.zeros(len(self.data.space), dtype=bool)
        out[self.columns] = evidence(self.gp, np.array(self.columns)) >= EVIDENCE + np.log(max(ends, 1))
        return out

    @cached_property
    def gain(self) -> float:
        return gain_of_tuning(self.every)

    @cached_property
    def candidates(self) -> Array:
        space = self.data.space
        rows = [everywhere(space), best_rows(self.gp, self.data, 8)]
        n_moved = max(1, min(_N_MOVED, _MOST_MOVED // len(self.columns)))
        for j in self.columns:
            dimension = space.dimensions[j]
            if not dimension.categorical:
                edges = segments(dimension)
                middle = dimension.snap(0.5 * (edges[:-1] + edges[1:]))
                rows.append(moved(space, best_rows(self.gp, self.data, n_moved, self.active[:, j]), j, middle))
        judged = [branch for branch in self.choices if branch.column in self.columns]
        chosen = [branch for branch in judged if branch.n_own or branch.n_trials >= needed(branch)]
        count = max(4, min(_N_IN_CHOICE, _MOST_IN_CHOICES // max(len(chosen), 1)))
        rows += [inside_branch(self.gp, self.data, branch, count) for branch in chosen]
        return np.unique(space.canonical(np.vstack(rows)), axis=0)

    @cached_property
    def draws(self) -> Array:
        draws = joint_losses(self.model.drawn, self.candidates)
        return feasible_losses(self.beliefs.constraint_models(self.data.space), self.candidates, draws)

    @cached_property
    def exists(self) -> Mask:
        """Which parameters the candidates have."""
        return self.data.space.active(self.candidates)


def judged_of(beliefs: Beliefs, target: Target) -> Judged | None:
    """None if there is nothing to model."""
    view, every = beliefs.view, beliefs.data(target)
    numbers = [n for n in every.observations.numbers if not in_a_step(view.by_number[n])]
    if len(numbers) < len(every.observations.numbers):
        every = arrays(view.varying, view.observations_of(numbers).of(target))
    if len(every) < 2 or np.ptp(every.losses) == 0.0:
        return None
    return Judged(beliefs, every, beliefs.model(target, view.chosen(every)))


def segments(dimension: Dimension) -> Array:
    """Edges of the parts in which a range is judged."""
    if 0 < dimension.cells <= FEW_CELLS:
        low, high = dimension.cell(np.arange(dimension.cells))
        return np.append(low, high[-1])
    return np.linspace(0.0, 1.0, _N_TENTHS + 1)


def moved(space: Space, rows: Array, j: int, at: Array) -> Array:
    """Every row with its parameter j at every position, row by row, and without the parameters that it switches off."""
    out = np.repeat(rows, len(at), axis=0)
    out[:, j] = np.tile(at, len(rows))
    return space.canonical(out)


def needed(branch: Branch) -> int:
    """Trials that a choice must have had: more if it has parameters of its own to tune."""
    return PER_PARAMETER * (1 + branch.n_own)
