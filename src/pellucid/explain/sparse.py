"""Plausible models that leave out parameters: those that the trials do not speak for may have no effect at all.

An objective such as a latency often depends on few parameters, and many trials are then equal in it. No fitted
lengthscale is infinite, so a model of all parameters sees differences between such trials, and with noise they are
large: in joint draws they take turns at being the best.

Notation
    S_k, P(S_k)   the first k parameters of the ranking by `evidence`, and the chance that only they have an effect
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from pellucid.explain.evidence import NO_EFFECT, parameter_sets
from pellucid.explain.parts import drawn_models
from pellucid.models import GaussianProcess
from pellucid.numerics import stream
from pellucid.study.arrays import Arrays

_sparse: WeakKeyDictionary[GaussianProcess, tuple[GaussianProcess, ...]] = WeakKeyDictionary()


def sparse_models(gp: GaussianProcess, data: Arrays, about: tuple[str, ...] = ()) -> tuple[GaussianProcess, ...]:
    """The models to draw from, each without effects outside some S_k: as many with the same k as P(S_k) says. `gp` is
    the fitted model of `data`; they are made once for each.

    `about`: models of different subjects leave out parameters independently of each other.
    """
    if gp not in _sparse:
        models = drawn_models(gp, data)
        order, chances = parameter_sets(gp)
        # If the trials speak for no effect at all, they do not say either which parameters have none.
        chances = np.r_[0.0, chances[1:-1], chances[-1] + chances[0]]
        places = (np.arange(len(models)) + 0.5) / len(models)
        counts = np.minimum(np.searchsorted(np.cumsum(chances), places), len(order))
        counts = stream(0, "parameters left out", len(models), *about).permutation(counts)
        pairs = zip(models, counts.tolist(), strict=True)
        _sparse[gp] = tuple(_without(model, order[k:].tolist(), data) for model, k in pairs)
    return _sparse[gp]


def _without(gp: GaussianProcess, columns: list[int], data: Arrays) -> GaussianProcess:
    if not columns:
        return gp
    lengthscales = list(gp.hyperparameters.lengthscales)
    for column in columns:
        lengthscales[column] = NO_EFFECT
    fewer = GaussianProcess.from_hyperparameters(replace(gp.hyperparameters, lengthscales=tuple(lengthscales)))
    return fewer.condition(data.X, data.losses, data.observations.noise_variance)
