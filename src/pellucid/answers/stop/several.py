"""Whether a study with several objectives can stop: by how much the volume that its front dominates could still grow.

The bound is a 95% quantile over joint draws of all objectives (`beliefs.growth`), doubled. As with one objective, a
bound within the tolerance is not enough for a stop: what holds it back is below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pellucid.answers.stop.blocks import (
    MIN_TRIALS,
    MOST_JUDGED,
    N_SPREAD,
    RULED_OUT,
    choices_held,
    more_trials,
    needs_trials,
    short_of_trials,
    until_a_stop,
)
from pellucid.answers.stop.records import FrontVerdict, Hold, RegretHistory
from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.feasibility import none_feasible_clause
from pellucid.beliefs.growth import FrontModels, foremost, growth, growth_draws
from pellucid.beliefs.parts import inside_branch
from pellucid.claims import STOP_SEVERAL
from pellucid.models import GaussianProcess
from pellucid.numerics import Array
from pellucid.pareto import check_front, front, in_lengths, reference_of, reference_point, volumes
from pellucid.space.branches import Branch
from pellucid.study.arrays import Arrays
from pellucid.study.receipts import model_receipts
from pellucid.study.view import StudyView
from pellucid.words import Note, as_share, choice_note, counted, share_text

# The doubt about every stop.
_UNSEEN = Note(
    "The models cannot see a part of the front that no trial has come near; "
    "if there may be one, add some random trials before you stop.",
    "evidence",
)
# The quantile of the draws is doubled, see `claims.STOP_SEVERAL`.
_WIDENING = 2.0
# Between the ends of the front, the quantile alone must be within the tolerance: of 54 verdicts on the design problems,
# with the present search, 15 were stops and 2 of them left more than the tolerance; doubled 10 and 1, without it 27 and
# 5. In 27 no more than that was left.
# The last third of the trials must not have made the volume grow by more than the tolerance. With this, 3 of 76 stops
# left more than the tolerance, and 6 of 83 without it; with the last half 1 of 56. In 111 no more than that was left.
_RECENT = 3
# The bound falls roughly with this power of the number of trials: the median ratio of said to true was 0.9, and 58% of
# predictions were right to a factor of 2.5.
_POWER = 2.0
# Bounds over the run by the number of objectives, and how many trials their models are conditioned on at most.
_N_BOUNDS, _MOST_CONDITIONED = {2: 12, 3: 8, 4: 6}, 1500


@dataclass(frozen=True)
class _Evidence:
    """The models behind a verdict, and the share that may be lost by a stop.

    `data`: what the models are conditioned on; the view has all trials.
    """

    beliefs: Beliefs
    data: Arrays
    models: tuple[Model, ...]
    reference: Array
    tolerance: float

    @property
    def X(self) -> Array:
        """Configurations of the feasible trials."""
        return self.data.X[self.data.observations.feasible]

    @property
    def means(self) -> list[Array]:
        """Predicted losses (n,) of every objective at all trials."""
        X = self.beliefs.view.data.X
        every = len(X) == len(self.data.X)
        fits = [model.gp for model in self.models]
        return [gp.losses(gp.latent_at_observed() if every else gp.latent_means(X)) for gp in fits]

    @property
    def all_fits(self) -> FrontModels:
        """The best fits, and other fits that suit the trials."""
        objectives = tuple((model.gp, *model.drawn[1:]) for model in self.models)
        return FrontModels(objectives, self.beliefs.constraint_models(self.data.space), self.reference)

    @property
    def best_fits(self) -> FrontModels:
        limits = tuple((best,) for best in self.beliefs.constraint_fits(self.data.space))
        return FrontModels(tuple((model.gp,) for model in self.models), limits, self.reference)


def front_verdict_of(
    beliefs: Beliefs,
    regret_below: float | str | None = None,
    min_trials: int = MIN_TRIALS,
    surrogate: GaussianProcess | None = None,
) -> FrontVerdict:
    """Raises ValueError if there are too many objectives for a front."""
    view = beliefs.view
    check_front(len(view.objectives))
    limit, words = _tolerance(regret_below)
    n = sum(view.observations.complete)

    def no_verdict(reason: str) -> FrontVerdict:
        return FrontVerdict(False, n, None, None, limit, None, reason)

    if n < max(min_trials, 2):
        return no_verdict(f"a verdict needs {max(min_trials, 2)} complete trials, and this study has {n}")
    if not view.varying:
        return no_verdict("no parameter varies, so there is nothing to model")
    if not view.observations.feasible.any():
        return no_verdict(f"there is nothing to use yet. {none_feasible_clause(view.observations)}")
    inside = len(view.data)
    if inside < 2:
        return no_verdict(f"a verdict needs 2 finished trials inside the present ranges, and this study has {inside}")
    if not view.data.observations.feasible.any():
        return no_verdict("no trial inside the present ranges is feasible")
    data = view.chosen(view.data)
    feasible = data.observations.feasible
    Y = data.observations.values
    if not np.ptp(Y, axis=0).any():
        return no_verdict("all finished trials returned the same values, which say nothing about the rest of the space")
    evidence = _Evidence(beliefs, data, beliefs.objective_models(data, surrogate), reference_of(Y, feasible), limit)
    bound = growth_bound(evidence.best_fits, data, evidence.X)
    signs = [objective.sign for objective in view.objectives]
    about = int(front(Y[feasible]).sum()), tuple((evidence.reference * signs).tolist())
    grow = "more than double" if bound > 1.0 else f"grow by at most {share_text(bound)} more"
    left = f"after {n} trials, the models see the volume that the front dominates {grow}, "
    left += f"{'above' if bound > limit else 'within'} {words}"
    notes = choice_note(len(data), inside, "The models rest")
    if bound > limit:
        more = more_trials(n, bound, limit, _POWER)
        reason = f"{left}. {until_a_stop(n, more)}"
        return FrontVerdict(False, n, None, bound, limit, None, reason, tuple(notes), (), more, "", *about)
    held_by = _blocks(evidence)
    blocked = tuple(hold.words for hold in held_by)
    reason = f"{'; '.join(blocked)}. The bound alone would allow a stop: {left}" if blocked else left
    notes += [] if blocked else [_UNSEEN]
    more = None
    return FrontVerdict(
        not blocked, n, None, bound, limit, None, reason, tuple(notes), blocked, more, "", *about, held_by=held_by
    )


def growth_bound(models: FrontModels, data: Arrays, X: Array) -> float:
    """By what share the volume that the front dominates could still grow at most. X: the feasible trials."""
    return _WIDENING * float(np.quantile(growth_draws(models, data.space, X), STOP_SEVERAL.confidence))


def check_share(regret_below: float | str | None) -> None:
    """Raise ValueError if this is no tolerance for several objectives."""
    _tolerance(regret_below)


def _tolerance(regret_below: float | str | None) -> tuple[float, str]:
    """As a share, and in words."""
    if regret_below is None:
        return STOP_SEVERAL.threshold, f"the tolerance of {share_text(STOP_SEVERAL.threshold)}"
    share = as_share(regret_below) if isinstance(regret_below, str) else None
    if share is None:
        raise ValueError(
            "With several objectives, `regret_below` must be a share of the volume that the front dominates, such as "
            f"'2%', or None, but got {regret_below!r}."
        )
    return share, f"your tolerance of {share_text(share)}"


# ---------------------------------------------------------------------- reasons to go on


def _blocks(evidence: _Evidence) -> tuple[Hold, ...]:
    """The expensive questions are only asked if the cheap ones give no reason."""
    view = evidence.beliefs.view
    few = short_of_trials(view.data, view.trials)
    cheap = (*_still_growing(evidence), *_choices(evidence, [branch for branch in few if needs_trials(branch)]))
    return cheap or (*_not_ruled_out(evidence, few), *_coarse(evidence), *_other_fits(evidence))


def _still_growing(evidence: _Evidence) -> list[Hold]:
    """Measured without the luck of noisy values."""
    feasible = evidence.beliefs.view.data.observations.feasible
    means = np.stack([mean[feasible] for mean in evidence.means], axis=1)
    seen = in_lengths(means, evidence.reference, means.min(axis=0))
    dominated = volumes(seen, np.zeros_like(evidence.reference))
    recent = len(dominated) // _RECENT
    if recent == 0:
        return []
    before = max(float(dominated[-1 - recent]), 1e-300)
    share = float(dominated[-1]) / before - 1.0
    if share <= evidence.tolerance:
        return []
    words = f"the last {counted(recent, 'trial')} made the volume grow by {share_text(share)}"
    return [Hold("improvement", words)]


def _choices(evidence: _Evidence, few: list[Branch]) -> list[Hold]:
    if not few:
        return []
    rows = np.flatnonzero(evidence.data.observations.feasible)
    best = rows[front(evidence.data.observations.values[rows])]
    return choices_held(evidence.data, few, evidence.data.X[best])


def _not_ruled_out(evidence: _Evidence, few: list[Branch]) -> list[Hold]:
    """Choices with few trials that may make the volume grow by more than the tolerance, according to the models."""
    if not few or len(few) > MOST_JUDGED:
        return _choices(evidence, few)
    space = evidence.data.space
    fits = [model.gp for model in evidence.models]
    X = evidence.X[foremost(fits, evidence.X)]
    possible = []
    for branch in few:
        parts = [inside_branch(model.gp, model.data, branch, N_SPREAD) for model in evidence.models]
        F = evidence.all_fits.outcomes(X, np.unique(np.vstack(parts), axis=0))
        others = ~branch.holds(space, X, space.active(X))
        if not others.any():
            possible.append(branch)
            continue
        share = growth(F[:, : len(X)][:, others], F, evidence.reference)
        if ((share > evidence.tolerance).sum() + 1.0) / (len(share) + 2.0) > RULED_OUT:
            possible.append(branch)
    return _choices(evidence, possible)


def _coarse(evidence: _Evidence) -> list[Hold]:
    """The ends of the front rule what is dominated below a point that is far behind it, and would hide that the rest of
    the front is still coarse. So it counts alone as well."""
    outcomes = evidence.data.observations.values[evidence.data.observations.feasible]
    near = replace(evidence.best_fits, reference=reference_point(outcomes[front(outcomes)]))
    draws = growth_draws(near, evidence.data.space, evidence.X)
    bound = float(np.quantile(draws, STOP_SEVERAL.confidence))
    if bound <= evidence.tolerance:
        return []
    words = f"between its ends, the volume that the front dominates could still grow by {share_text(bound)}"
    return [Hold("middle", words)]


def _other_fits(evidence: _Evidence) -> list[Hold]:
    """The bound with the hyperparameters that the trials allow."""
    if all(len(each) == 1 for each in evidence.all_fits.objectives):
        return []
    bound = growth_bound(evidence.all_fits, evidence.data, evidence.X)
    if bound <= evidence.tolerance:
        return []
    words = f"the best fits of the models see little left, but other fits that suit the trials see {share_text(bound)}"
    return [Hold("fits", words)]


# ---------------------------------------------------------------------- over the run


def front_regret_history_of(
    beliefs: Beliefs, regret_below: float | str | None = None, min_trials: int = MIN_TRIALS
) -> RegretHistory:
    return front_regret_history_to(beliefs, front_verdict_of(beliefs, regret_below, min_trials))


def front_regret_history_to(beliefs: Beliefs, stopping: FrontVerdict) -> RegretHistory:
    """The course that led to a verdict."""
    view = beliefs.view
    after: tuple[int, ...] = ()
    bounds: tuple[float, ...] = ()
    if stopping.bound is not None:
        models = beliefs.objective_models(view.chosen(view.data))
        counts = _counts(view)
        numbers = view.data.observations.numbers
        after = (*(numbers[count - 1] for count in counts), numbers[-1])
        bounds = (*(_bound_after(beliefs, models, count) for count in counts), stopping.bound)
    proposals = model_receipts(view.trials, len(view.trials))
    nothing = (None,) * len(proposals)
    return RegretHistory(stopping, after, bounds, tuple(receipt.trial for receipt in proposals), nothing, nothing)


def _counts(view: StudyView) -> list[int]:
    """Numbers of trials after which there is a bound: from the first two feasible ones on, early ones closer together,
    fewer of them if they cost more."""
    data = view.data
    n, feasible = len(data), data.observations.feasible
    last = max(2, min(int(0.9 * n), _MOST_CONDITIONED))
    counts = np.geomspace(min(last, 2 * len(data.space)), last, _N_BOUNDS[len(view.objectives)]).round().astype(int)
    return [count for count in np.unique(counts).tolist() if feasible[:count].sum() > 1]


def _bound_after(beliefs: Beliefs, models: tuple[Model, ...], count: int) -> float:
    """The bound after the first `count` trials, with the hyperparameters of all."""
    data = beliefs.view.data.select(np.arange(count))
    feasible = data.observations.feasible
    fits = []
    for model in models:
        own = data.of(model.target)
        gp = GaussianProcess.from_hyperparameters(model.gp.hyperparameters)
        fits.append((gp.condition(own.X, own.losses, own.observations.noise_variance),))
    limits = tuple((best,) for best in beliefs.constraint_fits(data.space))
    reference = reference_of(data.observations.values, feasible)
    return growth_bound(FrontModels(tuple(fits), limits, reference), data, data.X[feasible])
