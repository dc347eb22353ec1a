"""What holds a stop back although the model sees little left: what the model cannot know.

Chosen on the design problems of the truth bench. There the bound alone was wrong in 2 of 78 stops on ordinary problems,
but in 19 of 21 on those with a choice of models or a narrow second optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers.stop.records import Hold
from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.feasibility import feasible_losses
from pellucid.beliefs.parts import best_rows, chance_of, inside_branch
from pellucid.models.draws import joint_losses
from pellucid.numerics import Array, Mask
from pellucid.search.acquisition.adaptive import upper_bound_regret
from pellucid.space.branches import Branch, branches, everywhere
from pellucid.space.encoding import Dimension
from pellucid.study.arrays import Arrays
from pellucid.study.trials import interrupted
from pellucid.words import counted, value_text

# Fewer trials say too little about the rest of the space for a verdict to stop.
MIN_TRIALS = 20
# Nothing is predicted further ahead than this many times the trials that there are.
_FURTHEST = 2.0
# Trials in which the best value must not have improved by more than the tolerance.
_RECENT = 5
# A choice without parameters of its own may also be ruled out by the model, from this number of trials on and with this
# chance; more choices than this are not judged one by one.
_FEWEST, RULED_OUT, MOST_JUDGED, N_SPREAD = 2, 0.02, 12, 16
# Choices of one parameter that are named one by one.
_MOST_NAMED = 3
# With this many parameters, a look everywhere is affordable: this share of the space must have a trial in the box
# around it that takes this share of each range. With more parameters no study could do that, and the model is believed.
_MOST_COVERED, _COVERED, _BOX, _N_PROBED = 2, 0.9, 0.15, 512


def more_trials(n: int, bound: float, limit: float, power: float) -> int | None:
    """Roughly how many trials after n bring a bound that falls with this power of their number to the limit; None if
    that is too far ahead."""
    if bound > limit * (1.0 + _FURTHEST) ** power:
        return None
    more = n * ((bound / limit) ** (1.0 / power) - 1.0)
    step = 1 if more < 10 else 5 if more < 50 else 10
    return int(step * np.ceil(more / step))


def until_a_stop(n: int, more: int | None) -> str:
    """How long it takes to get there, without the full stop. `more`: as `more_trials` says."""
    if more is None:
        return f"It will probably take more than {n} more trials to get below that"
    return f"It will take roughly {more} more {'trial' if more == 1 else 'trials'} to get below that"


@dataclass(frozen=True)
class Evidence:
    """The model behind a verdict, and how much may be lost by a stop, in the unit of the objective."""

    beliefs: Beliefs
    model: Model
    tolerance: float
    width: float

    @property
    def data(self) -> Arrays:
        """What the model is conditioned on."""
        return self.model.data

    @property
    def every(self) -> Arrays:
        """All trials, which count where trials are counted."""
        return self.beliefs.data(self.model.target)

    @property
    def few(self) -> list[Branch]:
        return short_of_trials(self.every, self.beliefs.view.trials)

    @property
    def feasible(self) -> Mask:
        return self.data.observations.feasible


def blocks(evidence: Evidence) -> tuple[Hold, ...]:
    """Reasons to go on. The expensive questions are only asked if the cheap ones give none.

    There are none if the tolerance exceeds all differences between trials: then nothing is worth looking for.
    """
    if evidence.tolerance >= float(np.ptp(evidence.data.losses)):
        return ()
    cheap = (*_still_improving(evidence), *_unseen(evidence), *_untried(evidence))
    return cheap or (*_not_ruled_out(evidence), *_other_fits(evidence))


def _still_improving(evidence: Evidence) -> list[Hold]:
    data = evidence.data
    rows = [i for i, done in enumerate(data.observations.complete) if done and evidence.feasible[i]]
    losses = data.losses[rows]
    if len(losses) <= _RECENT:
        return []
    gain = float(losses[:-_RECENT].min() - losses.min())
    if gain <= evidence.tolerance:
        return []
    number = data.observations.numbers[rows[int(np.argmin(losses))]]
    words = f"trial {number} has only just improved the best value by {gain:.2g}"
    return [Hold("improvement", words, trial=number)]


def _unseen(evidence: Evidence) -> list[Hold]:
    """In a space of one or two parameters: a narrow optimum between the trials is beyond the model."""
    space = evidence.data.space
    numeric = [j for j, dimension in enumerate(space.dimensions) if not dimension.categorical]
    if len(space) > _MOST_COVERED or not numeric:
        return []
    probes, X = everywhere(space, _N_PROBED)[:, numeric], evidence.every.X[:, numeric]
    nearest = np.full(len(probes), np.inf)
    for x in np.unique(np.round(X, 2), axis=0):
        nearest = np.minimum(nearest, np.abs(probes - x).max(axis=1))
    covered = float((nearest <= 0.5 * _BOX).mean())
    if covered >= _COVERED:
        return []
    names = [space.names[j] for j in numeric]
    words = (
        f"trials have covered only {covered:.0%} of the range of {' and '.join(f'`{name}`' for name in names)}, and a "
        "narrow optimum may be in the rest; stop if you know that there is none"
    )
    return [Hold("coverage", words, param=names[0] if len(names) == 1 else None)]


# ---------------------------------------------------------------------- choices


def _untried(evidence: Evidence) -> list[Hold]:
    """Choices with too few trials, except those that the model may rule out."""
    few = [branch for branch in evidence.few if needs_trials(branch)]
    return _choices(evidence, few)


def _not_ruled_out(evidence: Evidence) -> list[Hold]:
    """Choices with few trials that may hold something better by more than the tolerance, according to the model."""
    few, data, space = evidence.few, evidence.data, evidence.data.space
    if not few or len(few) > MOST_JUDGED:
        return _choices(evidence, few)
    parts = [inside_branch(evidence.model.gp, data, branch, N_SPREAD) for branch in few]
    Z = np.unique(np.vstack([best_rows(evidence.model.gp, data, 8), *parts]), axis=0)
    draws, active = joint_losses(evidence.model.drawn, Z), space.active(Z)
    draws = feasible_losses(evidence.beliefs.constraint_models(space), Z, draws)
    possible = []
    for branch in few:
        inside = branch.holds(space, Z, active)
        if inside.all() or chance_of(draws, inside, ~inside, evidence.tolerance).probability > RULED_OUT:
            possible.append(branch)
    return _choices(evidence, possible)


def needs_trials(branch: Branch) -> bool:
    """Whether a choice that is short of trials is beyond what the model may rule out."""
    return branch.n_own > 0 or branch.n_trials < _FEWEST


def short_of_trials(data: Arrays, trials: Sequence[FrozenTrial]) -> list[Branch]:
    """Choices without an order, or with parameters of their own, that have not had their chance. `data`: of all trials
    with a value; `trials`: also those that failed."""
    out = []
    for branch in branches(data.space, data.X):
        dimension = data.space.dimensions[branch.column]
        tried = replace(branch, n_trials=branch.n_trials + _failures(trials, dimension, branch.code))
        if (dimension.nominal or branch.n_own) and tried.n_trials < branch.fair_chance:
            out.append(tried)
    return out


def _failures(trials: Sequence[FrozenTrial], dimension: Dimension, code: int) -> int:
    """Failed trials with a choice: they were its chance as well."""
    failed = [t for t in trials if t.state == TrialState.FAIL and dimension.name in t.params and not interrupted(t)]
    if not failed:
        return 0
    u, known = dimension.encode([trial.params[dimension.name] for trial in failed])
    return int((known & (dimension.code(u) == code)).sum())


def _choices(evidence: Evidence, few: Sequence[Branch]) -> list[Hold]:
    data = evidence.data
    return choices_held(data, few, data.X[[int(np.argmin(data.standing(data.losses)))]])


def choices_held(data: Arrays, few: Sequence[Branch], best: Array) -> list[Hold]:
    """Why choices with few trials hold a stop back. `best`: the configurations (m, d) that lead."""
    out: list[Hold] = []
    active = data.space.active(best)
    for column in dict.fromkeys(branch.column for branch in few):
        dimension = data.space.dimensions[column]
        of_this = [branch for branch in few if branch.column == column]
        if len(of_this) > _MOST_NAMED:
            words = f"{len(of_this)} choices of `{dimension.name}` were tried too few times to rule them out"
            out.append(Hold("choice", words, param=dimension.name))
            continue
        for branch in of_this:
            choice = value_text(dimension.decode(dimension.midpoint(np.array([branch.code])))[0])
            leads = branch.holds(data.space, best, active).any()
            why = "too few to know how good it gets" if leads else "too few to rule it out"
            words = f"`{dimension.name}` = {choice} was tried {counted(branch.n_trials, 'time')}, {why}"
            out.append(Hold("choice", words, param=dimension.name))
    return out


# ---------------------------------------------------------------------- hyperparameters


def _other_fits(evidence: Evidence) -> list[Hold]:
    """The bound under most of the hyperparameters that the trials allow."""
    models = evidence.model.drawn
    if len(models) == 1:
        return []
    data = evidence.data
    X, constraints = data.X[evidence.feasible], evidence.beliefs.constraint_fits(data.space)
    bounds = [
        upper_bound_regret(model, X, data.space, width=evidence.width, constraints=constraints)[0] for model in models
    ]
    median = float(np.median(bounds))
    if median <= evidence.tolerance:
        return []
    words = f"the best fit of the model sees little left, but other fits that suit the trials see up to {median:.2g}"
    return [Hold("fits", words)]
