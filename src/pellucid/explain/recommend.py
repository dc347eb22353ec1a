"""Which configuration to use, and what to expect of it.

The interval has to cover the true value of a configuration that was *chosen* for looking good, with noise that has to
be learned from few trials. So it is made of three parts:
    models   with plausible hyperparameters, with the output warp and without: under a warp noise shrinks towards the
             best values, which fits noise that grows with the loss; without, noise is the same everywhere
    bias     of the choice, per model, by a parametric bootstrap: new noise on the model's own mean, the smoothed values
             of it, the best of those, and by how much the mean there is worse than it looks (the winner's curse)
    widening of the model's own sd, for the few trials that it rests on; the bias has an uncertainty of its own

Notation
    m, s     latent mean and sd of the function at the recommended configuration;  b  the bias;  n trials, d parameters
    w        widening: per model the loss is normal on the latent scale, mean m + b, variance (w s)^2 + b^2 / 3
    S        smoother of the model: the posterior mean at the data is S z
"""

from __future__ import annotations

import math

import numpy as np
from optuna.study import Study
from scipy.special import ndtri

from pellucid.explain.feasibility import chance_of_feasible, none_feasible
from pellucid.explain.model import default_template, fitted_model, opened, plausible_models
from pellucid.explain.text import counted, value_text
from pellucid.numerics import Array, Mask, stream
from pellucid.records import Recommendation
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.observations import Observations
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

LEVEL = 0.95
# With fewer trials than this, or than twice the parameters, a recommendation is called provisional and has no interval.
_FEW = 10
# Bootstrap samples of the noise, and the configurations, best first, that may look best under another noise.
_N_BOOTSTRAP, _N_RIVALS = 100, 100
# Points of the distribution of one model.
_NODES = ndtri((np.arange(64) + 0.5) / 64)
# The model's sd is widened by w = sqrt(1 + _WIDENING d / n): chosen on the design problems of lab/results/truth, where
# it takes the coverage at 40 noisy random trials from 86% to 97%.
_WIDENING = 20.0
# The bias is anything from nothing to twice what the bootstrap says: the sd of that, in units of it. It is not widened:
# in a converged search, whose best trials are close rivals, it is larger than the model's sd, and intervals that
# widened both were a third wider at 40 trials (2.1 times the ideal instead of 1.6) without covering more.
_BIAS_SD = 1.0 / math.sqrt(3.0)


def recommend(study: Study, *, feasible: float = 0.9, surrogate: GaussianProcess | None = None) -> Recommendation:
    """The evaluated configuration with the best *expected* objective, and a 95% interval of its true value.

    With noise this is not always the best trial: a lucky value is shrunk towards those of its neighbours. A study with
    too few trials to learn its noise from has no interval. With constraints, only trials that were feasible count.

    Args:
        study: any study with one objective.
        feasible: with constraints, the least chance that the configuration is truly feasible, because constraints may
            be noisy, too. If no feasible trial has it, the one with the largest chance is recommended.
        surrogate: kernel and warp of the model; default `GaussianProcess(warp="auto")`.
    """
    if not 0.0 <= feasible <= 1.0:
        raise ValueError(f"`feasible` is a probability, from 0 to 1, but got {feasible!r}.")
    with opened(study, "recommend") as view:
        return recommendation_of(view, surrogate, feasible)


def recommendation_of(
    view: StudyView, surrogate: GaussianProcess | None = None, feasible: float = 0.9
) -> Recommendation:
    complete = view.observations.of_complete_trials
    if not len(complete):
        raise ValueError(
            "A recommendation needs at least one finished trial with a value; "
            f"this study has {len(view.trials)} trials, none of them finished with one."
        )
    if not complete.feasible.any():
        raise ValueError(f"There is nothing to recommend yet. {none_feasible(complete)}")
    data = arrays(view.varying, complete) if view.varying else None
    if data is None or not data.observations.feasible.any():
        return _best_trial(view, complete.of_feasible_trials)
    template = default_template() if surrogate is None else surrogate
    gp = fitted_model(view, data, template)
    chance = chance_of_feasible(view, data.space, data.X) if view.constrained else None
    best = _chosen(gp, data.observations, chance, feasible)
    n, d = len(data.losses), len(data.space)
    few = n < max(2 * d, _FEW)
    expected, low, high = float(gp.predict(data.X[best : best + 1])[0][0]), None, None
    if not few and np.ptp(data.losses) > 0.0:
        expected, low, high = _interval(_models(view, data, gp, template), data, best)
        low, high = sorted((view.sign * low, view.sign * high))
    notes = []
    if few:
        counts = f"{counted(n, 'trial')} for {counted(d, 'parameter')}"
        notes.append(f"Provisional: {counts}, too few to learn how noisy they are, so there is no interval.")
    elif low is None:
        notes.append(f"All {n} trials returned the same value, so there is no interval.")
    notes += _on_feasibility(view, data.observations, best, chance, feasible, low if view.sign > 0 else high)
    return Recommendation(
        params=dict(data.observations.configurations[best]),
        trial=data.observations.numbers[best],
        expected=view.sign * expected + 0.0,  # Never -0.0.
        low=low,
        high=high,
        level=LEVEL,
        observed=view.sign * float(data.observations.raw[best]),
        n_trials=n,
        direction=view.direction,
        notes=tuple(notes),
        feasible=None if chance is None else float(chance[best]),
    )


def _chosen(gp: GaussianProcess, observations: Observations, chance: Array | None, feasible: float) -> int:
    """The feasible observation with the best mean; one that returned the worst possible value is not an option.

    `chance` (n,): of being feasible. If none has the required one, the observation with the largest.
    """
    mean = gp.latent_at_observed()
    options = observations.feasible
    if (options & (observations.raw < math.inf)).any():
        options = options & (observations.raw < math.inf)
    if chance is not None and not (options & (chance >= feasible)).any():
        return int(np.argmax(np.where(options, chance, -1.0)))
    if chance is not None:
        options = options & (chance >= feasible)
    return int(np.argmin(np.where(options, mean, math.inf)))


def _on_feasibility(
    view: StudyView,
    observations: Observations,
    best: int,
    chance: Array | None,
    required: float,
    end: float | None,
) -> list[str]:
    """What a reader should know about the chance of being feasible. `end`: the better one of the interval."""
    if chance is None:
        return []
    values = observations.raw
    if chance[best] < required:
        return [f"No trial has a chance of {required:.0%} of being truly feasible; this one comes closest."]
    limit = float(values[best]) if end is None else min(float(values[best]), view.sign * end)
    better = np.flatnonzero(observations.feasible & (values < limit) & (chance < required))
    if not len(better):
        return []
    other = int(better[np.argmin(values[better])])
    value = value_text(view.sign * float(values[other]))
    return [
        f"Trial {observations.numbers[other]} was feasible and returned {value}, but it was so close to the limit that "
        f"its chance of being truly feasible is {chance[other]:.0%}."
    ]


def _models(
    view: StudyView, data: Arrays, gp: GaussianProcess, template: GaussianProcess
) -> tuple[GaussianProcess, ...]:
    """Plausible models with the warp that was chosen, and without one."""
    if gp.hyperparameters.warp is None:
        return plausible_models(gp, data)
    plain = fitted_model(view, data, template.unwarped())
    return (*plausible_models(gp, data), *plausible_models(plain, data))


def _interval(models: tuple[GaussianProcess, ...], data: Arrays, best: int) -> tuple[float, float, float]:
    """Median and interval of the true loss of the trial that was chosen."""
    n, d = data.X.shape
    widening = math.sqrt(1.0 + _WIDENING * d / n)
    losses = []
    for gp in models:
        (m,), (s,) = gp.latent(data.X[best : best + 1])
        bias = choice_bias(gp, data.observations.feasible)
        losses.append(gp.losses(m + bias + math.hypot(widening * s, _BIAS_SD * bias) * _NODES))
    low, median, high = np.quantile(np.concatenate(losses), [0.5 - LEVEL / 2, 0.5, 0.5 + LEVEL / 2])
    return float(median), float(low), float(high)


def choice_bias(gp: GaussianProcess, options: Mask | None = None) -> float:
    """By how much the best smoothed value looks better than it is on average, on the latent scale; never negative.

    `options` (n,): the trials that could be chosen; None: all.
    """
    data, scale = gp.data, gp.hyperparameters.outputscale
    mean = gp.latent_at_observed()
    order = np.argsort(mean, kind="stable")
    rivals = (order if options is None else order[options[order]])[:_N_RIVALS]
    columns: Array = np.zeros((len(mean), len(rivals)))
    columns[rivals, np.arange(len(rivals))] = 1.0
    smoother = columns - data.factor.solve(columns) * data.noise_ratio[rivals]
    noise = stream(0, "noise", len(mean)).standard_normal((_N_BOOTSTRAP, len(mean)))
    values = (mean + noise * np.sqrt(scale * data.noise_ratio)) @ smoother
    chosen = np.argmin(values, axis=1)
    return max(float(np.mean(mean[rivals][chosen] - values.min(axis=1))), 0.0)


def _best_trial(view: StudyView, complete: Observations) -> Recommendation:
    """The best trial, for a study without a parameter to model."""
    best = int(np.argmin(complete.losses))
    value = view.sign * float(complete.raw[best])
    return Recommendation(
        params=dict(complete.configurations[best]),
        trial=complete.numbers[best],
        expected=value,
        low=None,
        high=None,
        level=LEVEL,
        observed=value,
        n_trials=len(complete),
        direction=view.direction,
        notes=("No parameter varies, so there is nothing to model: this is the best trial.",),
    )
