"""Ranking-weighted ensemble of Gaussian processes: one per earlier task and one of the study, weighted by how well they
order the study's observations.

Notation
    T            earlier tasks; base process i = 1 .. T, each of standardised losses; number T + 1 is the study's own
    n, N         observations, candidates;  y (n,) the study's losses, standardised
    S            draws from the posterior of every process at the observations
    loss[i, s]   ordered pairs (j, k) that draw s of process i puts in another order than y does; the study's own
                 process predicts each observation without it (leave-one-out)
    w_i          share of the draws in which i has the smallest loss; processes with equal losses share a draw
    mean = sum_i w_i m_i;  variance = sum_i w_i^2 s_i^2, that of a weighted sum of independent processes
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from pellucid.models.gp import GaussianProcess
from pellucid.models.ranking.scaling import standardise
from pellucid.numerics import Array, cholesky, stream
from pellucid.space.encoding import Space

# Tables whose predictions by the base processes are kept: more than the tables of a collection's test tasks.
_REMEMBERED = 64


def ranking_loss(draws: Array, y: Array) -> Array:
    """Misordered pairs of each draw: (..., n), (n,) -> (...)."""
    below = draws[..., :, None] < draws[..., None, :]
    return np.asarray((below ^ (y[:, None] < y[None, :])).sum(axis=(-1, -2)))


def left_out_ranking_loss(draws: Array, y: Array) -> Array:
    """Misordered pairs with leave-one-out predictions: the draw at an observation is compared with the other values."""
    below = draws[..., :, None] < y[None, :]
    wrong = below ^ (y[:, None] < y[None, :])
    return np.asarray(wrong.sum(axis=(-1, -2)) - np.diagonal(wrong, axis1=-2, axis2=-1).sum(axis=-1))


def ranking_weights(losses: Array, guard: float | None = 0.95) -> Array:
    """Weights (T + 1,) from losses (T + 1, S), the study's own process last.

    guard: an earlier task whose median loss is above this quantile of the own losses gets no weight, so that many poor
    processes do not win draws by chance.
    """
    losses = np.array(losses, dtype=float)
    if guard is not None:
        diluting = np.median(losses[:-1], axis=1) > np.quantile(losses[-1], guard)
        losses[:-1][diluting] = np.inf
    winners = losses == losses.min(axis=0)
    return np.asarray((winners / winners.sum(axis=0)).mean(axis=1))


class RGPE:
    """Ranking-weighted Gaussian process ensemble for one study at a time.

    Args:
        tasks: encoded configurations and losses of each earlier task.
        points_per_task: the number of random configurations that the process of a task is fitted to.
        samples: S, the number of draws with which processes are compared.
        guard: see `ranking_weights`.
    """

    def __init__(
        self,
        space: Space,
        tasks: Sequence[tuple[Array, Array]],
        points_per_task: int = 100,
        seed: int = 0,
        *,
        samples: int = 256,
        guard: float | None = 0.95,
    ) -> None:
        self.space = space
        self.seed = seed
        self.samples = samples
        self.guard = guard
        self.base = [self._process(i, X, y, points_per_task) for i, (X, y) in enumerate(tasks)]
        self.weights: Array = np.empty(0)
        self._own: GaussianProcess | None = None
        self._scale = (0.0, 1.0)
        self._base_predictions: OrderedDict[bytes, tuple[Array, Array]] = OrderedDict()

    def _process(self, i: int, X: Array, y: Array, size: int) -> GaussianProcess:
        rows = stream(self.seed, "rgpe", "rows", i).permutation(len(y))[:size]
        return self._unfitted().fit(X[rows], standardise(y[rows])[0])

    def _unfitted(self) -> GaussianProcess:
        return GaussianProcess().unfitted(self.space.nominal)

    def fit(self, X: Array, y: Array) -> RGPE:
        z, centre, unit = standardise(y)
        self._scale = (float(centre[0]), float(unit[0]))
        self._own = self._unfitted().fit(X, z)
        rng = stream(self.seed, "rgpe", "draws", len(z))
        normal = rng.standard_normal((self.samples, len(z)))
        losses = [ranking_loss(_draws(process, X, normal), z) for process in self.base]
        mean, sd = left_out(self._own)
        losses.append(left_out_ranking_loss(mean + sd * normal, z))
        self.weights = ranking_weights(np.stack(losses), self.guard)
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd (of the function, without noise) in the unit of the losses."""
        if self._own is None:
            raise ValueError("This RGPE has not been fitted: call `.fit(X, y)` first.")
        mean, variance = self._predicted_by_base(X)
        own_mean, own_sd = self._own.predict(X)
        w = self.weights
        mean, variance = w[:-1] @ mean + w[-1] * own_mean, w[:-1] ** 2 @ variance + (w[-1] * own_sd) ** 2
        centre, unit = self._scale
        return centre + unit * mean, unit * np.sqrt(variance)

    def _predicted_by_base(self, X: Array) -> tuple[Array, Array]:
        """Means and variances of the base processes, (T, N) each. They are kept, because neither the processes nor the
        candidates of a table change."""
        X = np.ascontiguousarray(X, dtype=float)
        key = hashlib.blake2b(X.tobytes() + repr(X.shape).encode(), digest_size=16).digest()
        if key not in self._base_predictions:
            predictions = [process.predict(X) for process in self.base]
            means, sds = ([prediction[i] for prediction in predictions] for i in (0, 1))
            shape = (len(predictions), len(X))
            self._base_predictions[key] = np.reshape(means, shape), np.reshape(sds, shape) ** 2
            if len(self._base_predictions) > _REMEMBERED:
                self._base_predictions.popitem(last=False)
        self._base_predictions.move_to_end(key)
        return self._base_predictions[key]


def left_out(process: GaussianProcess) -> tuple[Array, Array]:
    """Leave-one-out mean and sd of every observation; for a process without a warp."""
    data, h = process.data, process.hyperparameters
    precision = np.maximum(np.diagonal(data.factor.solve(np.eye(len(data.z)))), 1e-300)
    return process.from_latent(data.z - data.alpha / precision, np.sqrt(h.outputscale / precision))


def _draws(process: GaussianProcess, X: Array, normal: Array) -> Array:
    """Latent draws (S, n): only their order counts."""
    mean, covariance = process.joint(X)
    return np.asarray(mean + normal @ cholesky(covariance).L.T)
