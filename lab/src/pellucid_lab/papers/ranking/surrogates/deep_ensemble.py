"""Deep ensembles: networks that predict a mean and a variance, trained from scratch on the observations.

Notation
    G, M            independent ensembles (one for one study) and their members
    n, N, F         observations, candidates, features of a configuration
    x (G, n, F)     observed configurations;  y (G, n) their standardised losses
    mu_i, s_i^2     prediction of member i; the ensemble is the mixture (1/M) sum_i N(mu_i, s_i^2):
                    mu = (1/M) sum_i mu_i,  s^2 = (1/M) sum_i (s_i^2 + mu_i^2) - mu^2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from pellucid.models.ranking.devices import array, generators, own_mode, tensor
from pellucid.models.ranking.features import features
from pellucid.models.ranking.network import Architecture, Weights, initial, outputs
from pellucid.models.ranking.scaling import seed_of, standardise
from pellucid.numerics import Array
from pellucid.space.encoding import Space

# Keeps the likelihood bounded when a network interpolates the observations.
_SMALLEST_VARIANCE = 1e-4


@dataclass(frozen=True)
class EnsembleSettings:
    members: int = 5
    layers: int = 2
    width: int = 32
    epochs: int = 1000
    learning_rate: float = 0.02

    def architecture(self, n_features: int) -> Architecture:
        return Architecture(n_features, self.members, self.width, self.layers, context="none", outputs=2)


def train_ensembles(x: Tensor, y: Tensor, settings: EnsembleSettings, chance: Sequence[torch.Generator]) -> Weights:
    """Weights of G ensembles, each trained on its own x (n, F) and y (n,), independently of the others."""
    start = initial(settings.architecture(x.shape[-1]), chance)
    weights = {name: value.to(x).requires_grad_() for name, value in start.items()}
    optimiser = torch.optim.Adam(weights.values(), settings.learning_rate, fused=True)
    for _ in range(settings.epochs):
        optimiser.zero_grad()
        negative_log_likelihood(*members(weights, x), y[:, None]).mean(-1).sum().backward()
        optimiser.step()
    return {name: value.detach() for name, value in weights.items()}


def members(weights: Weights, x: Tensor) -> tuple[Tensor, Tensor]:
    """Means and variances of every member at x (G, N, F), each (G, M, N)."""
    mean, raw = outputs(weights, x[:, None], None)[:, :, 0].unbind(-1)
    return mean, softplus(raw) + _SMALLEST_VARIANCE


def negative_log_likelihood(mean: Tensor, variance: Tensor, y: Tensor) -> Tensor:
    """log(s^2) / 2 + (y - mu)^2 / (2 s^2), without the constant."""
    return 0.5 * (variance.log() + (y - mean) ** 2 / variance)


def mixture(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the mixture, (G, N), as variance within plus between members: that is the same, and rounding
    cannot make it negative. (The paper also divides mu^2 by M.)"""
    return mean.mean(1), variance.mean(1) + mean.var(1, correction=0)


def predict_ensembles(weights: Weights, x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and sd of G ensembles at their candidates x (G, N, F), both (G, N)."""
    mean, variance = mixture(*members(weights, x))
    return mean, variance.sqrt()


@own_mode()
def trained_and_asked(
    x: Array, y: Array, candidates: Array, settings: EnsembleSettings, seeds: Sequence[int]
) -> tuple[Array, Array]:
    """Mean and sd (G, N), in the unit of the losses y (G, n), after training on features x (G, n, F)."""
    z, centre, unit = standardise(y)
    weights = train_ensembles(tensor(x), tensor(z), settings, generators(seeds))
    mean, sd = predict_ensembles(weights, tensor(candidates))
    return centre + unit * array(mean), unit * array(sd)


class DeepEnsemble:
    """A deep ensemble for one study; every `fit` starts from scratch."""

    def __init__(
        self,
        space: Space,
        members: int = 5,
        layers: int = 2,
        width: int = 32,
        epochs: int = 1000,
        learning_rate: float = 0.02,
        seed: int = 0,
    ) -> None:
        self.space = space
        self.settings = EnsembleSettings(members, layers, width, epochs, learning_rate)
        self.seed = seed
        self._weights: Weights | None = None
        self._scale = (0.0, 1.0)

    @own_mode()
    def fit(self, X: Array, y: Array) -> DeepEnsemble:
        z, centre, unit = standardise(y)
        x = features(self.space, X)
        chance = generators([seed_of(self.seed, "deep ensemble", len(z))])
        self._weights = train_ensembles(tensor(x[None]), tensor(z[None]), self.settings, chance)
        self._scale = (float(centre[0]), float(unit[0]))
        return self

    @own_mode()
    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd (of an observation) in the unit of the losses."""
        if self._weights is None:
            raise ValueError("This DeepEnsemble has not been fitted: call `.fit(X, y)` first.")
        mean, sd = predict_ensembles(self._weights, tensor(features(self.space, X)[None]))
        centre, unit = self._scale
        return centre + unit * array(mean[0]), unit * array(sd[0])
