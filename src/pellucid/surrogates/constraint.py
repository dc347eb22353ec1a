"""The surrogate of a constraint, and the chance that a configuration satisfies it.

Notation
    m, s   latent mean and sd of the constraint at a configuration, without noise;  t  the limit on the latent scale
    P      Phi((t - m) / s), the chance that the true value is at most the limit; exact, because a warp is monotone
    k      a margin in standard deviations: Phi((t - m) / s - k) asks for more than the limit where little is known
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pellucid.numerics import Array, log_normal_cdf, normal_cdf
from pellucid.surrogates import warp
from pellucid.surrogates.gp import GaussianProcess

# Beyond so many standard deviations the hazard phi / Phi is its asymptote, -z.
_FAR = -1e5


@dataclass(frozen=True)
class ConstraintModel:
    """A constraint's surrogate: configurations are feasible where the constraint is at most `limit`."""

    name: str
    gp: GaussianProcess
    limit: float

    @cached_property
    def threshold(self) -> float:
        """t"""
        h = self.gp.hyperparameters
        return float((warp.forward(h.warp, np.array([self.limit]))[0] - h.y_mean) / h.y_scale)

    def believe(self, X: Array) -> ConstraintModel:
        """As if X had been observed at the posterior mean."""
        return ConstraintModel(self.name, self.gp.believe(X), self.limit)

    def probability(self, X: Array) -> Array:
        """P (n,)."""
        m, s = self.gp.latent(X)
        return normal_cdf((self.threshold - m) / s)

    def log_probability(self, X: Array, margin: float = 0.0) -> Array:
        return self._log(*self.gp.latent(X), margin)

    def screened(self, X: Array, margin: float = 0.0) -> Array:
        """The same in single precision, for ranking many candidates."""
        return self._log(*self.gp.screen(X), margin)

    def log_probability_with_gradient(self, X: Array, margin: float = 0.0) -> tuple[Array, Array]:
        """(n,) and its gradient (n, d)."""
        m, s, dm, ds = self.gp.latent_with_gradient(X)
        distance = (self.threshold - m) / s
        z = distance - margin
        log_p = log_normal_cdf(z)
        with np.errstate(over="ignore"):
            near = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_p)
        hazard = np.where(z < _FAR, -z, near)
        return log_p, -(hazard / s)[:, None] * (dm + distance[:, None] * ds)

    def _log(self, m: Array, s: Array, margin: float) -> Array:
        return log_normal_cdf((self.threshold - m) / s - margin)


def limit_of(values: Array) -> float:
    """The value up to which configurations count as feasible, given those observed (n,).

    That is 0, unless some are exactly 0, as with constraints that count, that are 0 or 1, or that are cut off below 0:
    then it is half-way from 0 to the smallest positive one, so that the model does not call 0 itself a toss-up.
    """
    if not (values == 0.0).any():
        return 0.0
    positive = values[values > 0.0]
    if len(positive):
        return 0.5 * float(positive.min())
    others = np.abs(values[values != 0.0])
    return 0.5 * float(others.min()) if len(others) else 1.0
