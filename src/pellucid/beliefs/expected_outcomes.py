"""What to expect of configurations that were chosen for being on a front.

The bias of the choice is that of `recommend`, for a front in the place of one best: new noise on the models' own means,
the front of the smoothed values, and by how much the means of its members are worse than they look, per objective.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.expectation import ExpectedOutcome, losses_around, median_and_interval, smoothed_values, too_few
from pellucid.beliefs.front_members import near_front
from pellucid.beliefs.model import default_template
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Mask
from pellucid.pareto import front
from pellucid.study.arrays import Arrays

# Configurations that may look best under another noise.
_N_RIVALS = 100
# With more trials the best fit of every objective stands for all plausible ones, which would take seconds.
_MOST_PLAUSIBLE = 500


def expected_outcomes(
    beliefs: Beliefs, data: Arrays, rows: Sequence[int], options: Mask
) -> list[tuple[ExpectedOutcome, ...]]:
    """What to expect of observations in each objective. `options` (n,): the trials that could be chosen."""
    best_fits, known = beliefs.objective_models(data), not too_few(*data.X.shape)
    families: list[tuple[GaussianProcess, ...]] = []
    for model in best_fits:
        if not known or np.ptp(model.data.losses) == 0.0:
            families.append(())
        else:
            few = len(data) <= _MOST_PLAUSIBLE
            families.append(beliefs.interval_models(model, default_template()) if few else (model.gp,))
    biases: list[list[float]] = [[] for _ in families]
    if known:
        biases = _biases(families, tuple(model.gp for model in best_fits), data.X, options)
    columns = [
        _outcomes(model, list(rows), models, bias)
        for model, models, bias in zip(best_fits, families, biases, strict=True)
    ]
    return [tuple(outcomes) for outcomes in zip(*columns, strict=True)]


def _biases(
    families: list[tuple[GaussianProcess, ...]], best_fits: tuple[GaussianProcess, ...], X: Array, options: Mask
) -> list[list[float]]:
    """What every model of every objective expects, on its own latent scale. Models of different objectives are paired
    in turn."""
    together = []
    for turn in range(max(len(models) for models in families)):
        models = tuple(m[turn % len(m)] if m else gp for m, gp in zip(families, best_fits, strict=True))
        together.append(front_bias(models, X, options))
    return [[float(together[turn][k]) for turn in range(len(models))] for k, models in enumerate(families)]


def _outcomes(
    best_fit: Model, rows: list[int], models: tuple[GaussianProcess, ...], biases: Sequence[float]
) -> list[ExpectedOutcome]:
    data, sign, name = best_fit.data, best_fit.target.sign, best_fit.target.name
    X, observed = data.X[rows], (sign * data.observations.returned[rows]).tolist()
    if not models:
        means = (sign * best_fit.gp.predict(X)[0] + 0.0).tolist()
        return [ExpectedOutcome(name, mean, None, None, value) for mean, value in zip(means, observed, strict=True)]
    n, d = data.X.shape
    latent = [np.stack(model.latent(X), axis=1).tolist() for model in models]
    outcomes = []
    for value, posteriors in zip(observed, zip(*latent, strict=True), strict=True):
        known = zip(models, posteriors, biases, strict=True)
        points = [losses_around(model, m, s, bias, d / n) for model, (m, s), bias in known]
        expected, *ends = (sign * loss for loss in median_and_interval(points))
        outcomes.append(ExpectedOutcome(name, expected + 0.0, min(ends), max(ends), value))
    return outcomes


def front_bias(models: tuple[GaussianProcess, ...], X: Array, options: Mask) -> Array:
    """By how much the members of the front of smoothed values look better than they are, on average and in every
    objective (k,), on the latent scale; never negative."""
    rows = near_front(models, X, options, _N_RIVALS)
    means = [gp.latent_at_observed() for gp in models]
    values = np.stack(
        [smoothed_values(gp, mean, rows, (str(i),)) for i, (gp, mean) in enumerate(zip(models, means, strict=True))],
        axis=2,
    )
    mean = np.stack([each[rows] for each in means], axis=1)
    worse = np.concatenate([(mean - sample)[front(sample)] for sample in values])
    return np.asarray(np.maximum(worse.mean(axis=0), 0.0))
