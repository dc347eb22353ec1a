"""The profile of a parameter: the best objective that can be reached at each of its values, whatever the others are.

Partial dependence averages over a space that is mostly bad corners; what people who tune want to know is how good a
value can be once everything else suits it. Inside, numbers are losses; results are in the user's unit and direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from optuna.study import Study

from pellucid.answers.effects.best_draws import BestDraws, candidates, drawn_best
from pellucid.answers.effects.profile_words import Profile, costs_of, profile_notes, profile_sentence
from pellucid.answers.effects.records import ProfileEffect
from pellucid.answers.effects.trials import (
    CANNOT_TELL,
    MATTERS,
    NO_EFFECT,
    condition_of,
    effect_data,
    judged_branch,
    judged_choices,
    models_of,
    names_of,
    support_of,
)
from pellucid.beliefs import Beliefs, Fits, Model
from pellucid.beliefs.failing import unaware
from pellucid.beliefs.model import default_template
from pellucid.beliefs.of_study import opened
from pellucid.claims import EVIDENCE, PROFILE_MATTERS, PROFILE_MATTERS_EVIDENTLY, PROFILE_NO_EFFECT
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Mask, check_level, low_discrepancy
from pellucid.space.grids import effect_grid
from pellucid.study.arrays import Arrays
from pellucid.study.targets import Target
from pellucid.words import Note, about, number_text

# Joint draws cost the square of the trials: beyond this many, the best ones and an even selection are used.
_MOST_TRIALS = 500
# Values of a number, and choices, at which the best is looked for.
_LINE, _MOST_CHOICES = 24, 60
# The objective's spread is the distance between a typical and the best value, seen at so many points of the space.
_N_COVER = 256
# A model resolves no less than this share of the spread: bands are widened by it, because kinks, and the search for the
# best candidate, are not in the draws (without it, bands covered 88% of the truth, with it 95%).
_RESOLUTION = 0.015
# Differences are judged in units of the spread, or of so many standard deviations of the noise of one trial if that is
# more: where there is nothing but noise, the model's spread is next to nothing.
_NOISES = 5.0
# How small the leave-one-out errors of a model without a warp must be, in units of those with it, to be preferred.
_HALF = 0.5


def profile_effect(
    study: Study, param: str | Sequence[str], *, objective: str | int | None = None, level: float = 0.95
) -> ProfileEffect:
    """The best objective that can be reached at each value of a parameter, over all other parameters, with a band.

    A conditional parameter is profiled inside its branch; the choices of a parameter that switches others are compared
    by the best of their branches.

    Args:
        study: any study, whichever sampler ran it.
        param: the name of the parameter, or a list of it alone.
        objective: the name or number of one of several objectives, or the name of a constraint, for an answer about
            that; default: the study's only objective.
        level: of the band.
    """
    names = names_of(param, 1, "A profile is of one parameter")
    check_level(level)
    with opened(study, "profile_effect", objective) as (beliefs, target):
        return profiles_of(beliefs, target, names, level)[0]


def profiles_of(
    beliefs: Beliefs, target: Target, names: Sequence[str], level: float = 0.95
) -> tuple[ProfileEffect, ...]:
    """The profiles of several parameters, of one model."""
    data, notes = effect_data(beliefs, target, names, "This answer", _MOST_TRIALS)
    fitted = _Fitted(beliefs, _model(beliefs.fits(target), data), tuple(notes))
    return tuple(_profile(fitted, name, level) for name in names)


@dataclass(frozen=True)
class _Fitted:
    """The model of a study's trials. `notes`: on those that are left out."""

    beliefs: Beliefs
    model: Model
    notes: tuple[str, ...]


def _model(fits: Fits, data: Arrays) -> Model:
    """The default model; without its warp if that looks at nothing but the very best trials, as after a search without
    noise has converged."""
    warped = fits.model(data)
    plain = fits.model(data, default_template().unwarped())
    if plain is warped:
        return warped
    scale = max(float(np.abs(data.losses).max()), 1e-300)
    errors = [
        float(np.mean(((gp.from_latent(*gp.leave_one_out())[0] - data.losses) / scale) ** 2))
        for gp in (plain.gp, warped.gp)
    ]
    return plain if errors[0] < _HALF**2 * errors[1] else warped


def _profile(fitted: _Fitted, name: str, level: float) -> ProfileEffect:
    beliefs, model, target = fitted.beliefs, fitted.model, fitted.model.target
    data, gp = model.data, model.gp
    column = data.space.index[name]
    dimension = data.space.dimensions[column]
    size = max(_LINE, min(dimension.cells, _MOST_CHOICES)) if dimension.categorical else _LINE
    grid = _through_the_best(gp, data, column, effect_grid(data.space, [column], size))
    feasibility = beliefs.feasibility(target, data)
    found = candidates(gp, data.space, column, grid[:, 0], feasibility)
    draws = drawn_best(gp, models_of(model), found, feasibility)
    spread = _spread(gp, data, draws)
    unit = max(spread, _NOISES * _noise(gp, data))
    judged = judged_choices(data, column, grid[:, 0])
    enough = judged_branch(data, column)
    best = int(np.argmin(draws.mean))
    ends = _band(gp, draws, spread, level, judged & enough)
    profile = Profile(
        name=name,
        values=dimension.decode(grid[:, 0]),
        mean=target.sign * draws.mean,
        ends=np.sort(target.sign * ends, axis=0),
        level=level,
        support=support_of(data, [column], grid),
        judged=judged,
        best=best,
        lost=_surely_lost(draws, best),
        margin=PROFILE_MATTERS.threshold * unit,
        condition=condition_of(data.space, [name], {}),
        n_trials=len(data.losses),
        tried=sum(name in c for c in data.observations.configurations),
        enough=enough,
        needless=bool(model.evidence[column] <= -EVIDENCE),
    )
    verdict = _verdict(draws, judged, unit, float(model.evidence[column]))
    costs = costs_of(profile, dimension, verdict)
    return ProfileEffect(
        param=name,
        values=tuple(profile.values),
        mean=_floats(profile.mean),
        low=_floats(profile.ends[0]),
        high=_floats(profile.ends[1]),
        best=profile.best,
        support=tuple(int(count) for count in profile.support),
        verdict=verdict,
        level=level,
        scale=dimension.scale,
        condition=profile.condition,
        trial_numbers=data.observations.numbers,
        trial_values=tuple(c.get(name) for c in data.observations.configurations),
        trial_objectives=_floats(target.sign * data.losses),
        direction=target.direction,
        sentence=about(target.name, profile_sentence(profile, dimension, verdict, costs)),
        notes=(
            *profile_notes(data, column, profile, beliefs.known_failing),
            *fitted.notes,
            *unaware(beliefs.known_failing, model, beliefs.data(target).space, name),
            *_infeasible(fitted, draws),
        ),
        objective=target.name,
        position=beliefs.view.positions[name],
        costs=costs,
    )


def _through_the_best(gp: GaussianProcess, data: Arrays, column: int, grid: Array) -> Array:
    """The grid (G, 1) of a number, moved so that it holds the value of the best trial, as the model sees it: a narrow
    valley that trials have found must not fall between two values. The ends stay."""
    having = np.flatnonzero(data.observations.measured & data.space.active(data.X)[:, column])
    if data.space.dimensions[column].categorical or not len(having):
        return grid
    best = data.X[having[np.argmin(gp.latent_at_observed()[having])], column]
    nearest = int(np.argmin(np.abs(grid[:, 0] - best)))
    if 0 < nearest < len(grid) - 1:
        grid = grid.copy()
        grid[nearest, 0] = best
    return grid


def _infeasible(fitted: _Fitted, draws: BestDraws) -> tuple[str, ...]:
    """A note if nothing feasible is expected at some values."""
    target, worst = fitted.model.target, float(fitted.model.data.losses.max())
    if not fitted.beliefs.view.constrained or target.is_constraint:
        return ()
    if draws.mean.max() < worst:
        return (Note("Only what is feasible counts.", "feasibility"),)
    shown = f"a value without anything feasible is shown as the worst trial, {number_text(target.sign * worst)}"
    return (Note(f"Only what is feasible counts; {shown}.", "feasibility"),)


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def _spread(gp: GaussianProcess, data: Arrays, draws: BestDraws) -> float:
    """The distance between a typical and the best loss of the space, as the model sees it; 0 if all trials agree."""
    if np.ptp(data.losses) == 0.0:
        return 0.0
    anywhere = data.space.canonical(low_discrepancy(0, _N_COVER, np.full(len(data.space), 0.5)))
    losses = gp.losses(gp.latent_mean(anywhere))
    return float(np.median(losses)) - min(float(losses.min()), float(draws.mean.min()))


def _band(gp: GaussianProcess, draws: BestDraws, spread: float, level: float, known: Mask) -> Array:
    """Lower and upper ends (2, G) of what can be reached, in losses.

    At least as good as the best candidate is sure to be, at most as good as the best of all; the mean is inside. A
    value that is not `known`, because it or its branch has had too few trials, may be as much better than the best
    trial as a typical one is worse.
    """
    low = np.quantile(draws.best, 0.5 - 0.5 * level, axis=0)
    high = np.quantile(draws.sure, 0.5 + 0.5 * level, axis=0)
    limit = float(gp.losses(gp.latent_at_observed()).min()) - spread
    low = np.where(known, low, np.minimum(low, limit))
    room = _RESOLUTION * spread
    return np.array([np.minimum(low, draws.mean) - room, np.maximum(high, draws.mean) + room])


def _surely_lost(draws: BestDraws, best: int) -> Array:
    """How much worse (G,) every value is than the best one in all but few draws; negative if it may be better."""
    return np.asarray(np.quantile(draws.best - draws.best[:, [best]], 1.0 - PROFILE_MATTERS.confidence, axis=0))


def _noise(gp: GaussianProcess, data: Arrays) -> float:
    """The sd of the noise of one trial, in losses, near the best; 0 if all trials agree."""
    if np.ptp(data.losses) == 0.0:
        return 0.0
    best, sd = gp.latent_at_observed().min(), np.sqrt(np.median(gp.data.noise_ratio) * gp.hyperparameters.outputscale)
    return 0.5 * float(np.ptp(gp.losses(np.array([best - sd, best + sd]))))


def _verdict(draws: BestDraws, judged: Mask, unit: float, gain: float) -> str:
    """By differences between all pairs of values; one that has had too few trials is not called worse."""
    if unit <= 0.0:
        return CANNOT_TELL
    claim = PROFILE_MATTERS_EVIDENTLY if gain >= EVIDENCE else PROFILE_MATTERS
    worse = (draws.best[:, :, None] - draws.best[:, None, :] > claim.threshold * unit).mean(axis=0)
    if gain > -EVIDENCE and float(worse[judged].max(initial=0.0)) >= claim.confidence:
        return MATTERS
    widest = float(np.quantile(np.ptp(draws.best, axis=1), PROFILE_NO_EFFECT.confidence))
    return NO_EFFECT if judged.all() and widest < PROFILE_NO_EFFECT.threshold * unit else CANNOT_TELL
