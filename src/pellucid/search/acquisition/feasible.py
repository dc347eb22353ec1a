"""Avoiding configurations that fail: an acquisition times the chance that a trial does not fail.

Notation
    k_i(x)    correlation of x with trial i, with lengthscales of its own (what makes trials fail need not be what makes
              them good), learned from which trials failed
    P(x)      (sum of k_i over trials that went well + c p) / (sum of k_i over all trials + c): the local share of
              trials that went well; p the overall share, c = 1 trial of prior belief: one failure alone proves little
    F(x)      sum of k_i over the trials that failed: the number of failures nearby
    score     of the acquisition (log EI, or a bound in standard deviations) + (1 + F) log P - b max(0, -log 2P)^2: EI
              times P where nothing has failed, a stronger penalty the more trials failed nearby, and a steep one where
              trials are more likely to fail than not, because close to convergence any such place promises more than
              the little that is left to gain
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.models.kernels import Kernel
from pellucid.numerics import Array
from pellucid.provenance import Term
from pellucid.search.acquisition.base import Acquisition, AcquisitionFunction, Pool, Situation, from_name
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.space.encoding import Space
from pellucid.threads import cached_property
from pellucid.words import printable

# Failures are avoided from this many on: a single one can be an accident, and says nothing about lengthscales.
FEWEST_FAILURES = 2
# Weight of the overall share of successes in the local share, as a number of trials.
_PRIOR_TRIALS = 1.0
# The log of the chance below which trials are more likely to fail than not, and how steep the penalty is there.
_LOW, _WALL = float(np.log(0.5)), 100.0


@dataclass(frozen=True)
class Chance:
    """The chance that a trial does not fail, as learned from the trials that ended.

    The model's rows begin with `n_ok` trials that went well and `n_failed` that did not; `lengthscales` one per column.
    """

    n_ok: int
    n_failed: int
    lengthscales: tuple[float, ...]

    @staticmethod
    def learned(X_ok: Array, X_failed: Array, space: Space) -> Chance:
        """With the most likely lengthscales, rounded so that a receipt stores them exactly."""
        failed = np.r_[np.zeros(len(X_ok)), np.ones(len(X_failed))]
        gp = GaussianProcess(nominal=space.nominal).fit(np.vstack([X_ok, X_failed]), failed)
        rounded = tuple(float(f"{l:.5g}") for l in gp.hyperparameters.lengthscales)
        return Chance(len(X_ok), len(X_failed), rounded)

    def times(self, acquisition: Acquisition) -> Acquisition:
        """The acquisition times the chance; unchanged if it has no single score to which a logarithm could be added."""
        if not acquisition.one_score:
            return acquisition
        return Feasible(acquisition, self.n_ok, self.n_failed, self.lengthscales)


@dataclass(frozen=True)
class Feasible(Acquisition):
    """`base` times a `Chance`, whose fields it has."""

    one_score = True

    base: Acquisition
    n_ok: int
    n_failed: int
    lengthscales: tuple[float, ...]

    def words(self) -> dict[str, Term]:
        return {
            "acquisition": self.base.score_words(),
            "feasibility": Term("chance of not failing", "unlikely to fail", "feasibility"),
        }

    def unit(self, scale: LatentScale) -> Unit:
        return Unit("log", 1.0)

    def settings(self) -> dict[str, Any]:
        own = {"base": self.base.name, "n_ok": self.n_ok, "n_failed": self.n_failed}
        return {**own, "lengthscales": list(self.lengthscales), **self.base.settings()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Feasible:
        own = ("base", "n_ok", "n_failed", "lengthscales")
        base = from_name(settings["base"], {name: value for name, value in settings.items() if name not in own})
        if not base.one_score:
            raise ValueError(
                f"Only an acquisition with one score can be multiplied by a chance, but got {settings['base']!r}."
            )
        scales = tuple(float(l) for l in settings["lengthscales"])
        return cls(base, int(settings["n_ok"]), int(settings["n_failed"]), scales)

    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> AcquisitionFunction:
        n_trials = self.n_ok + self.n_failed
        if model.n_observed < n_trials or len(self.lengthscales) != len(space):
            raise ValueError(
                printable(
                    f"The model must hold the {n_trials} trials and {len(self.lengthscales)} parameters that the "
                    f"chance of failing was learned from, but has {model.n_observed} trials and {len(space)} "
                    "parameters."
                )
            )
        return _FeasibleFunction(self, model, situation, self.base.bind(model, situation, space))


@dataclass(frozen=True)
class _FeasibleFunction(AcquisitionFunction):
    acquisition: Feasible
    model: GaussianProcess
    situation: Situation
    base: AcquisitionFunction

    @cached_property
    def _kernel(self) -> Kernel:
        kernel = self.model.kernel
        return Kernel("matern32", kernel.nominal) if kernel.radial else kernel

    @cached_property
    def _rows(self) -> Array:
        """Scaled columns of the trials that ended."""
        ended = self.acquisition.n_ok + self.acquisition.n_failed
        return self._kernel.columns(self.model.data.X[:ended], np.array(self.acquisition.lengthscales))

    def weights(self) -> dict[str, float]:
        return {"acquisition": 1.0, "feasibility": 1.0}

    def terms(self, X: Array) -> dict[str, Array]:
        return {"acquisition": self.base.score(X), "feasibility": self._log_chance(X)}

    def score(self, X: Array) -> Array:
        return self(X)

    def screen_pool(self, pool: Pool) -> Array:
        return self.base.screen_pool(pool) + self._log_chance(pool.X)

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        score, slope = self.base.score_with_gradient(X)
        l = np.array(self.acquisition.lengthscales)
        r, slopes = self._kernel.cross_with_slopes(self._kernel.columns(X, l), self._rows, l)
        well, ended, failures = self._sums(r)
        chance = np.log(well / ended)
        # d log P = (sum over well of dk) / well - (sum over all of dk) / ended, with dk = k * slope of log k.
        went_well = np.arange(r.shape[1]) < self.acquisition.n_ok
        steep = 1.0 + failures + 2.0 * _WALL * np.maximum(_LOW - chance, 0.0)
        pull = steep[:, None] * (went_well / well[:, None] - 1.0 / ended[:, None]) + ~went_well * chance[:, None]
        return score + _penalty(chance, failures), slope + np.einsum("mn,dmn->md", r * pull, slopes)

    def _log_chance(self, X: Array) -> Array:
        l = np.array(self.acquisition.lengthscales)
        r = np.asarray(self._kernel.cross(self._kernel.columns(X, l), self._rows, l), dtype=float)
        well, ended, failures = self._sums(r)
        return _penalty(np.log(well / ended), failures)

    def _sums(self, r: Array) -> tuple[Array, Array, Array]:
        """Trials nearby that went well, that ended, and that failed; the first two with the prior trials."""
        n_ok, n_failed = self.acquisition.n_ok, self.acquisition.n_failed
        share = (n_ok + _PRIOR_TRIALS) / (n_ok + n_failed + _PRIOR_TRIALS)
        well, failures = r[:, :n_ok].sum(axis=1), r[:, n_ok:].sum(axis=1)
        return well + _PRIOR_TRIALS * share, well + failures + _PRIOR_TRIALS, failures


def _penalty(chance: Array, failures: Array) -> Array:
    """From log P and the failures nearby; never positive."""
    return np.asarray((1.0 + failures) * chance - _WALL * np.maximum(_LOW - chance, 0.0) ** 2)
