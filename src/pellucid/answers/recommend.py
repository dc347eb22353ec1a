"""Which configuration to use, and what to expect of it.

The interval has to cover the true value of a configuration that was *chosen* for looking good, with noise that has to
be learned from few trials. So it is made of three parts:
    models   with plausible hyperparameters, with the output warp and without: under a warp noise shrinks towards the
             best values, which fits noise that grows with the loss; without, noise is the same everywhere
    bias     of the choice, per model, by a parametric bootstrap: new noise on the model's own mean, the smoothed values
             of it, the best of those, and by how much the mean there is worse than it looks (the winner's curse)
    widening of the model's own sd, for the few trials that it rests on; the bias has an uncertainty of its own

`expectation` has the notation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from optuna.study import Study

from pellucid.answers.finding import Finding
from pellucid.answers.fronts.answer import front_of, not_modelled
from pellucid.answers.fronts.compromise import compromise_of
from pellucid.answers.fronts.records import Compromise, Front
from pellucid.answers.fronts.wishes import limits_of, weights_of
from pellucid.beliefs import Beliefs
from pellucid.beliefs.expectation import (
    LEVEL,
    median_and_interval,
    no_interval,
    possible_losses,
    smoothed_values,
    too_few,
)
from pellucid.beliefs.feasibility import chance_of_feasible, none_feasible
from pellucid.beliefs.model import default_template
from pellucid.beliefs.of_study import beliefs_of, curve_notes
from pellucid.claims import RECOMMENDED
from pellucid.models import GaussianProcess
from pellucid.models.gp import check_template
from pellucid.numerics import Array, Mask, one_thread
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.observations import Observations
from pellucid.study.targets import Target, named
from pellucid.study.view import StudyView
from pellucid.words import (
    OBJECTIVE,
    NoAnswerYet,
    Note,
    choice_note,
    number_text,
    percent,
    prefix,
    printable,
    rounded,
    value_text,
)


@dataclass(frozen=True)
class Recommendation(Finding):
    """The configuration with the best *expected* objective, with an interval for its true value.

    trial      the trial that evaluated it;  observed  what that trial returned
    low, high  of the interval at `level`; None if there is no evidence for one
    n_trials   trials that it rests on; a note says if the model is conditioned on some of them
    feasible   the chance that it is truly feasible, for a study with constraints; otherwise None
    objective  its name
    """

    _pictured: ClassVar[bool] = False

    params: dict[str, Any]
    trial: int
    expected: float
    low: float | None
    high: float | None
    level: float
    observed: float
    n_trials: int
    direction: str
    notes: tuple[str, ...] = ()
    feasible: float | None = None
    objective: str = OBJECTIVE

    @property
    def sentence(self) -> str:
        settings = ", ".join(f"{k}={number_text(v) if isinstance(v, float) else v}" for k, v in self.params.items())
        error, interval = 0.0, ""
        if self.low is not None and self.high is not None:
            error = 0.5 * (self.high - self.low)
            ends = f"{rounded(self.low, error)} to {rounded(self.high, error)}"
            interval = f" ({self.level:.0%} interval {ends})"
        chance = "" if self.feasible is None else f", feasible with a chance of {percent(self.feasible)}"
        use = f"Use {settings} (trial {self.trial})"
        expected, observed = rounded(self.expected, error), rounded(self.observed, error)
        return f"{use}: expect {prefix(self.objective)}{expected}{interval}{chance}; it returned {observed}."

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        return {"param": list(self.params), "value": list(self.params.values())}


# Configurations, best first, that may look best under another noise.
_N_RIVALS = 100


# The number of objectives is not part of a study's type. `Any` stands for `Front`, so that code for one objective needs
# no check, and code for several can narrow it.
@overload
def recommend(
    study: Study,
    *,
    prefer: None = None,
    limits: None = None,
    feasible: float = RECOMMENDED.threshold,
    surrogate: GaussianProcess | None = None,
) -> Recommendation | Any: ...


@overload
def recommend(
    study: Study,
    *,
    prefer: Mapping[str, float] | None = None,
    limits: Mapping[str, str] | None = None,
    feasible: float = RECOMMENDED.threshold,
    surrogate: GaussianProcess | None = None,
) -> Compromise: ...


def recommend(
    study: Study,
    *,
    prefer: Mapping[str, float] | None = None,
    limits: Mapping[str, str] | None = None,
    feasible: float = RECOMMENDED.threshold,
    surrogate: GaussianProcess | None = None,
) -> Recommendation | Front | Compromise:
    """The evaluated configuration with the best *expected* objective, and a 95% interval of its true value.

    With noise this is not always the best trial: a lucky value is shrunk towards those of its neighbours. A study with
    too few trials to learn its noise from has no interval. With constraints, only trials that were feasible count.

    With several objectives, the front: every feasible configuration that was tried and is, with a chance of at least
    25%, not beaten by another one, with that chance. A configuration is beaten by one that is better in some objective
    and nowhere worse, in their true values. The ends of the front are named unless their chance is below 5%. Of
    configurations that differ by less than 1% of the length of the front in every objective one is listed, and the
    record has the numbers of the others. With `prefer` or `limits`, one compromise.

    Args:
        study: any study.
        prefer: with several objectives, a weight for each, by name. An objective counts in units of its spread over
            the front that was observed, so that weights do not depend on units: with `{"accuracy": 2, "latency": 1}`,
            a tenth of the way from the best accuracy on the front to the worst is as bad as a fifth of that way in
            latency. The configuration whose largest weighted loss is the smallest is recommended.
        limits: with several objectives, limits that its true values have to keep with the chance `feasible`, such as
            `{"latency": "<= 20"}`; without `prefer`, the objectives that have no limit count, equally.
        feasible: with constraints, the least chance that the configuration is truly feasible, because constraints may
            be noisy, too. If no feasible trial has it, the one with the largest chance is recommended.
        surrogate: kernel and warp of the model; default `GaussianProcess(warp="auto")`. For one objective.
    """
    if not 0.0 <= feasible <= 1.0:
        raise ValueError(f"`feasible` is a probability, from 0 to 1, but got {feasible!r}.")
    check_template(surrogate)
    beliefs = beliefs_of(study)
    view = beliefs.view
    if not view.several:
        if prefer is not None or limits is not None:
            raise ValueError(
                printable(
                    "`prefer` and `limits` choose between several objectives, but this study has one: "
                    f"{named(view.objectives)}. Call `recommend(study)`, and report a limit as a constraint of the "
                    "trials."
                )
            )
        with one_thread:
            return recommendation_of(beliefs, view.objectives[0], surrogate, feasible)
    if surrogate is not None:
        raise ValueError(
            f"`surrogate` is for studies with one objective, but this one has {len(view.objectives)}, each with a "
            "model of its own: leave it out."
        )
    with one_thread:
        if prefer is None and limits is None:
            return front_of(beliefs)
        weights = None if prefer is None else weights_of(view, prefer)
        return compromise_of(beliefs, weights, () if limits is None else limits_of(view, limits), feasible)


def recommendation_of(
    beliefs: Beliefs,
    target: Target,
    surrogate: GaussianProcess | None = None,
    feasible: float = RECOMMENDED.threshold,
) -> Recommendation:
    view, sign = beliefs.view, target.sign
    complete = view.observed(target).of_complete_trials
    if not len(complete):
        raise NoAnswerYet(
            "A recommendation needs at least one finished trial with a value; "
            f"this study has {len(view.trials)} trials, none of them finished with one."
        )
    if not complete.feasible.any():
        raise NoAnswerYet(f"There is nothing to recommend yet. {none_feasible(complete)}")
    observed = view.observed(target)
    usable = observed if view.extrapolation is not None or len(complete) == len(observed) else complete
    every = None
    if view.varying:  # Encoded already, unless some of the observations cannot be used.
        every = beliefs.data(target) if usable is view.observed(target) else arrays(view.varying, usable)
    if every is None or not _options(every.observations).any():
        return _best_trial(view, target, complete.of_feasible_trials)
    data = view.chosen(every)
    template = default_template() if surrogate is None else surrogate
    model = beliefs.model(target, data, template)
    gp, constraints = model.gp, beliefs.constraint_models(data.space)
    chance = chance_of_feasible(constraints, data.X) if view.constrained else None
    best = _chosen(gp, data.observations, chance, feasible)
    n, d = sum(every.observations.complete), len(data.space)
    few = too_few(n, d)
    expected, low, high = float(gp.predict(data.X[best : best + 1])[0][0]), None, None
    if not few and np.ptp(data.losses) > 0.0:
        expected, low, high = _interval(beliefs.interval_models(model, template), data, best)
        low, high = sorted((sign * low, sign * high))
    notes: list[str] = []
    if few:
        notes.append(no_interval(n, d))
    elif low is None:
        notes.append(Note(f"All {n} trials returned the same value, so there is no interval.", "evidence"))
    notes += curve_notes(data) + choice_note(len(data.losses), len(every.losses))
    notes += _on_feasibility(sign, data.observations, best, chance, feasible, low if sign > 0 else high)
    return Recommendation(
        params=dict(data.observations.configurations[best]),
        trial=data.observations.numbers[best],
        expected=sign * expected + 0.0,  # Never -0.0.
        low=low,
        high=high,
        level=LEVEL,
        observed=sign * float(data.observations.returned[best]),
        n_trials=n,
        direction=target.direction,
        notes=tuple(notes),
        feasible=None if chance is None else float(chance[best]),
        objective=target.name,
    )


def _chosen(gp: GaussianProcess, observations: Observations, chance: Array | None, feasible: float) -> int:
    """The feasible observation with the best mean; one that returned the worst possible value is not an option.

    `chance` (n,): of being feasible. If none has the required one, the observation with the largest.
    """
    mean = gp.latent_at_observed()
    options = _options(observations)
    if (options & (observations.returned < math.inf)).any():
        options = options & (observations.returned < math.inf)
    if chance is not None and not (options & (chance >= feasible)).any():
        return int(np.argmax(np.where(options, chance, -1.0)))
    if chance is not None:
        options = options & (chance >= feasible)
    return int(np.argmin(np.where(options, mean, math.inf)))


def _options(observations: Observations) -> Mask:
    """Which observations (n,) can be recommended: feasible ones that ran to their end."""
    return np.asarray(observations.feasible & np.array(observations.complete, dtype=bool))


def _on_feasibility(
    sign: float,
    observations: Observations,
    best: int,
    chance: Array | None,
    required: float,
    end: float | None,
) -> list[str]:
    """What a reader should know about the chance of being feasible. `end`: the better one of the interval."""
    if chance is None:
        return []
    values = observations.returned
    if chance[best] < required:
        least = f"a chance of {required:.0%} of being truly feasible"
        return [Note(f"No trial has {least}; this one comes closest.", "feasibility")]
    limit = float(values[best]) if end is None else min(float(values[best]), sign * end)
    better = np.flatnonzero(_options(observations) & (values < limit) & (chance < required))
    if not len(better):
        return []
    other = int(better[np.argmin(values[better])])
    value = value_text(sign * float(values[other]))
    text = (
        f"Trial {observations.numbers[other]} was feasible and returned {value}, but it was so close to the limit that "
        f"its chance of being truly feasible is {chance[other]:.0%}. Run it again to be sure."
    )
    return [Note(text, "feasibility")]


def _interval(models: tuple[GaussianProcess, ...], data: Arrays, best: int) -> tuple[float, float, float]:
    """Median and interval of the true loss of the trial that was chosen."""
    x, options, n = data.X[best : best + 1], _options(data.observations), len(data.X)
    return median_and_interval([possible_losses(gp, x, choice_bias(gp, options), n) for gp in models])


def choice_bias(gp: GaussianProcess, options: Mask | None = None) -> float:
    """By how much the best smoothed value looks better than it is on average, on the latent scale; never negative.

    `options` (n,): the trials that could be chosen; None: all.
    """
    mean = gp.latent_at_observed()
    order = np.argsort(mean, kind="stable")
    rivals = (order if options is None else order[options[order]])[:_N_RIVALS]
    values = smoothed_values(gp, mean, rivals, ())
    chosen = np.argmin(values, axis=1)
    return max(float(np.mean(mean[rivals][chosen] - values.min(axis=1))), 0.0)


def _best_trial(view: StudyView, target: Target, complete: Observations) -> Recommendation:
    """The best trial, for a study that cannot be modelled."""
    best = int(np.argmin(complete.losses))
    value = target.sign * float(complete.returned[best])
    why, kind = not_modelled(view), " feasible" if view.constrained else ""
    unmodelled = f"{why[0].upper()}{why[1:]}, so there is nothing to model: this is the best{kind} trial."
    return Recommendation(
        params=dict(complete.configurations[best]),
        trial=complete.numbers[best],
        expected=value,
        low=None,
        high=None,
        level=LEVEL,
        observed=value,
        n_trials=len(complete),
        direction=target.direction,
        notes=(Note(unmodelled, "scope"),),
        objective=target.name,
    )
