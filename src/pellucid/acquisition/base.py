"""What an acquisition is: a weighted sum of named terms, always maximised.

Notation
    m, s (n,)   posterior mean and sd on the latent scale (smaller is better)
    best        the latent value to improve on;  z = (best - m) / s
    value       sum_k weight_k * term_k(m, s): what explanations split
    score       an increasing function of the value (log EI for EI): what is maximised, finite where the value is not
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pellucid.numerics import Array


@dataclass(frozen=True)
class Situation:
    """What an acquisition may know beside the posterior: value to beat, number of observations, dimension."""

    best: float
    n_observed: int
    dimension: int


@dataclass(frozen=True)
class Pool:
    """Candidates with their approximate posterior, shared by everything that is maximised for one proposal.

    X (m, d) canonical;  mean, sd (m,) latent and correlations (m, n) with the data, in single precision: good for
    ranking, never for a result
    """

    X: Array
    mean: Array
    sd: Array
    correlations: npt.NDArray[np.float32]


@runtime_checkable
class Acquisition(Protocol):
    """An acquisition that depends on a configuration through its posterior mean and sd."""

    @property
    def name(self) -> str: ...

    def settings(self) -> dict[str, float | None]:
        """Constructor arguments, for the receipt."""

    def weights(self, situation: Situation) -> dict[str, float]: ...

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]: ...

    def score(self, m: Array, s: Array, situation: Situation) -> Array: ...

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        """score, d score / d m, d score / d s."""


class Scored(Protocol):
    """What can be maximised, and split into terms afterwards: something bound to a model."""

    def __call__(self, X: Array) -> Array:
        """The value, sum of weights times terms, (n,)."""

    def weights(self) -> dict[str, float]: ...

    def terms(self, X: Array) -> dict[str, Array]: ...

    def score(self, X: Array) -> Array: ...

    def screen(self, X: Array) -> Array:
        """Approximate score, for ranking candidates."""

    def screen_pool(self, pool: Pool) -> Array:
        """The same for candidates that the model has screened already."""

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]: ...


class Model(Protocol):
    """What maximising an acquisition needs of a surrogate."""

    def latent(self, X: Array) -> tuple[Array, Array]: ...

    def screen_with_correlations(self, X: Array) -> tuple[Array, Array, npt.NDArray[np.float32]]: ...

    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]: ...


@dataclass(frozen=True)
class AcquisitionFunction:
    """An acquisition bound to a model: arrays of configurations in, numbers out."""

    acquisition: Acquisition
    model: Model
    situation: Situation

    def __call__(self, X: Array) -> Array:
        return weighted_sum(self.weights(), self.terms(X))

    def weights(self) -> dict[str, float]:
        return self.acquisition.weights(self.situation)

    def terms(self, X: Array) -> dict[str, Array]:
        m, s = self.model.latent(X)
        return self.acquisition.terms(m, s, self.situation)

    def score(self, X: Array) -> Array:
        m, s = self.model.latent(X)
        return self.acquisition.score(m, s, self.situation)

    def screen(self, X: Array) -> Array:
        return self.screen_pool(Pool(X, *self.model.screen_with_correlations(X)))

    def screen_pool(self, pool: Pool) -> Array:
        return self.acquisition.score(pool.mean, pool.sd, self.situation)

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        m, s, dm, ds = self.model.latent_with_gradient(X)
        score, by_m, by_s = self.acquisition.score_slopes(m, s, self.situation)
        return score, by_m[:, None] * dm + by_s[:, None] * ds


def weighted_sum(weights: dict[str, float], terms: dict[str, Array]) -> Array:
    total: Array = sum((weights[name] * term for name, term in terms.items()), start=0.0 * next(iter(terms.values())))
    return total
