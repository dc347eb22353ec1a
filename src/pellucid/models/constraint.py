"""The surrogate of a constraint, and the chance that a configuration satisfies it.

Notation
    m, s   latent mean and sd of the constraint at a configuration, without noise;  t  the limit on the latent scale
    P      Phi((t - m) / s), the chance that the true value is at most the limit; exact, because a warp is monotone
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pellucid.models import warp
from pellucid.models.gp import GaussianProcess
from pellucid.numerics import Array, log_normal_cdf, normal_cdf
from pellucid.threads import cached_property

# Beyond so many standard deviations the hazard phi / Phi is its asymptote, -z.
_FAR = -1e5
# The share of the positive values of a constraint that are smaller than a little.
_LITTLE = 0.25


@dataclass(frozen=True)
class ConstraintModel:
    """A constraint's surrogate: configurations are feasible where it is at most `limit`. `zero`: see `zero_of`."""

    name: str
    gp: GaussianProcess
    limit: float
    zero: float = 0.0

    @cached_property
    def threshold(self) -> float:
        """t"""
        h = self.gp.hyperparameters
        return float((warp.forward(h.warp, np.array([self.limit]))[0] - h.y_mean) / h.y_scale)

    def believe(self, X: Array) -> ConstraintModel:
        """As if X had been observed at the posterior mean."""
        return replace(self, gp=self.gp.believe(X))

    def probability(self, X: Array) -> Array:
        """P (n,)."""
        m, s = self.gp.latent(X)
        return normal_cdf((self.threshold - m) / s)

    def log_probability(self, X: Array) -> Array:
        return self.log_from(*self.gp.latent(X))

    def screened(self, X: Array) -> Array:
        """The same in single precision, for ranking many candidates."""
        return self.log_from(*self.gp.screen(X))

    def log_probability_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """(n,) and its gradient (n, d)."""
        m, s, dm, ds = self.gp.latent_with_gradient(X)
        z = (self.threshold - m) / s
        log_p = log_normal_cdf(z)
        with np.errstate(over="ignore"):
            near = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_p)
        hazard = np.where(z < _FAR, -z, near)
        return log_p, -(hazard / s)[:, None] * (dm + z[:, None] * ds)

    def log_from(self, m: Array, s: Array) -> Array:
        """log P from a latent mean and sd."""
        return log_normal_cdf((self.threshold - m) / s)


def log_chance(constraints: Iterable[ConstraintModel], X: Array) -> Array:
    """The logarithm (n,) of the chance that all of them are satisfied; 0 if there are none."""
    total: Array = np.zeros(len(X))
    for constraint in constraints:
        total = total + constraint.log_probability(X)
    return total


def zero_of(values: Array) -> float:
    """What a constraint of 0 stands for, given those observed (n,).

    That is 0, unless no value is negative, as with constraints that are 0 or 1, or cut off below 0: then 0 only says
    that a trial is feasible, not by how much, and stands for as much as others exceed the limit by little. Otherwise
    the model would call every feasible configuration a toss-up.
    """
    positive = values[values > 0.0]
    if (values < 0.0).any() or len(positive) == len(values):
        return 0.0
    return -float(np.quantile(positive, _LITTLE)) if len(positive) else -1.0


def limit_of(values: Array) -> float:
    """The value up to which configurations count as feasible, given those observed (n,), with zeros as they stand for.

    That is 0, unless some are exactly 0, as with counts: then it is half-way to the smallest positive one.
    """
    if not (values == 0.0).any():
        return 0.0
    positive = values[values > 0.0]
    others = positive if len(positive) else np.abs(values[values != 0.0])
    return 0.5 * float(others.min()) if len(others) else 1.0


def targets(values: Array, zero: float) -> Array:
    """What a constraint's surrogate is fitted to."""
    return np.where(values == 0.0, zero, values)
