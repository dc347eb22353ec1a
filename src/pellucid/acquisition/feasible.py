"""Keeping away from where trials fail: an acquisition times the chance that a trial goes well.

Notation
    k_i(x)    correlation of x with trial i, with lengthscales of its own (what makes trials fail need not be what makes
              them good), learned from which trials failed
    P(x)      (sum of k_i over trials that went well + c p) / (sum of k_i over all trials + c): the local share of
              trials that went well; p the overall share, c = 1 a trial's worth of doubt: one failure is no verdict
    F(x)      sum of k_i over the trials that failed: how often that was tried here
    score     of the acquisition (log EI, or a bound in standard deviations) + (1 + F) log P - b max(0, -log 2P)^2: EI
              times P where nothing has failed, harder the more often it has, and a wall where trials are more likely to
              fail than not: next to a converged optimum any failure promises more than what is left
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pellucid.acquisition.base import Acquisition, AcquisitionFunction, Pool, Scored, Situation, weighted_sum
from pellucid.numerics import Array
from pellucid.study.encoding import Space
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.kernels import Kernel

_DOUBT = 1.0
_LOW, _WALL = float(np.log(0.5)), 100.0
FEWEST_FAILURES = 2


@dataclass(frozen=True)
class Feasible:
    """`base` times the chance that a trial goes well. The model's rows begin with `n_ok` trials that went well and
    `n_failed` that did not; `lengthscales` of the chance, one per column."""

    base: Acquisition
    n_ok: int
    n_failed: int
    lengthscales: tuple[float, ...]
    name = "Feasible"

    @staticmethod
    def learned(base: Acquisition, X_ok: Array, X_failed: Array, space: Space) -> Feasible:
        """Lengthscales most likely given who failed; rounded, so that a receipt carries them as they are."""
        failed = np.r_[np.zeros(len(X_ok)), np.ones(len(X_failed))]
        gp = GaussianProcess(nominal=space.nominal).fit(np.vstack([X_ok, X_failed]), failed)
        rounded = tuple(float(f"{l:.5g}") for l in gp.hyperparameters.lengthscales)
        return Feasible(base, len(X_ok), len(X_failed), rounded)

    def settings(self) -> dict[str, object]:
        own = {"base": self.base.name, "n_ok": self.n_ok, "n_failed": self.n_failed}
        return {**own, "lengthscales": list(self.lengthscales), **self.base.settings()}

    @staticmethod
    def from_settings(settings: Mapping[str, Any], base: Acquisition) -> Feasible:
        scales = tuple(float(l) for l in settings["lengthscales"])
        return Feasible(base, int(settings["n_ok"]), int(settings["n_failed"]), scales)

    def score_of(self, weights: dict[str, float], terms: dict[str, Array]) -> Array:
        """The score of configurations whose terms are known."""
        return weighted_sum(weights, terms)

    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> Scored:
        if model.n_observed < self.n_ok + self.n_failed or len(self.lengthscales) != len(space):
            raise ValueError("The model does not hold the trials that this acquisition was learned from.")
        return _Avoiding(self, model, AcquisitionFunction(self.base, model, situation))


@dataclass(frozen=True)
class _Avoiding:
    feasible: Feasible
    model: GaussianProcess
    wanted: AcquisitionFunction

    @cached_property
    def _kernel(self) -> Kernel:
        kernel = self.model.kernel
        return Kernel("matern32", kernel.nominal) if kernel.radial else kernel

    @cached_property
    def _rows(self) -> Array:
        """Scaled columns of the trials that ended."""
        ended = self.feasible.n_ok + self.feasible.n_failed
        return self._kernel.columns(self.model.data.X[:ended], np.array(self.feasible.lengthscales))

    def __call__(self, X: Array) -> Array:
        return weighted_sum(self.weights(), self.terms(X))

    def weights(self) -> dict[str, float]:
        return {"acquisition": 1.0, "feasibility": 1.0}

    def terms(self, X: Array) -> dict[str, Array]:
        return {"acquisition": self.wanted.score(X), "feasibility": self._log_chance(X)}

    def score(self, X: Array) -> Array:
        return self.feasible.score_of(self.weights(), self.terms(X))

    def screen(self, X: Array) -> Array:
        return self.wanted.screen(X) + self._log_chance(X)

    def screen_pool(self, pool: Pool) -> Array:
        return self.wanted.screen_pool(pool) + self._log_chance(pool.X)

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        score, slope = self.wanted.score_with_gradient(X)
        l = np.array(self.feasible.lengthscales)
        r, slopes = self._kernel.cross_with_slopes(self._kernel.columns(X, l), self._rows, l)
        well, ended, failures = self._sums(r)
        chance = np.log(well / ended)
        # d log P = (sum over well of dk) / well - (sum over all of dk) / ended, with dk = k * slope of log k.
        went_well = np.arange(r.shape[1]) < self.feasible.n_ok
        steep = 1.0 + failures + 2.0 * _WALL * np.maximum(_LOW - chance, 0.0)
        pull = steep[:, None] * (went_well / well[:, None] - 1.0 / ended[:, None]) + ~went_well * chance[:, None]
        return score + _penalty(chance, failures), slope + np.einsum("mn,dmn->md", r * pull, slopes)

    def _log_chance(self, X: Array) -> Array:
        l = np.array(self.feasible.lengthscales)
        r = np.asarray(self._kernel.cross(self._kernel.columns(X, l), self._rows, l), dtype=float)
        well, ended, failures = self._sums(r)
        return _penalty(np.log(well / ended), failures)

    def _sums(self, r: Array) -> tuple[Array, Array, Array]:
        """Trials nearby that went well, that ended, and that failed; the first two with a trial's worth of doubt."""
        share = (self.feasible.n_ok + _DOUBT) / (self.feasible.n_ok + self.feasible.n_failed + _DOUBT)
        well, failures = r[:, : self.feasible.n_ok].sum(axis=1), r[:, self.feasible.n_ok :].sum(axis=1)
        return well + _DOUBT * share, well + failures + _DOUBT, failures


def _penalty(chance: Array, failures: Array) -> Array:
    """From log P and the failures nearby; never positive."""
    return np.asarray((1.0 + failures) * chance - _WALL * np.maximum(_LOW - chance, 0.0) ** 2)
