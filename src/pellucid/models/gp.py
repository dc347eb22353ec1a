"""Exact Gaussian process regression on the unit cube.

Notation
    X (n, d)  encoded configurations;  y (n,) losses in the user's unit
    z (n,)    latent targets (warp(y) - y_mean) / y_scale, prior mean zero;  s outputscale, noise = s * eta
    C = R + eta I + diag(v / s),  C = L L',  alpha = C^-1 z
    latent mean m(x) = r(x)' alpha;  latent variance  s (1 - r(x)' C^-1 r(x))  (of the function, without noise)

`predict` returns the unit of y; `latent*` return the latent scale, on which acquisitions work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from pellucid.models import fitting, warp
from pellucid.models.hyperparameters import FitProblem, Solution, latent_noise, theta_of, uninformed, vary
from pellucid.models.kernels import Kernel
from pellucid.models.posterior import Posterior
from pellucid.models.states import Hyperparameters
from pellucid.numerics import Array, Cholesky, cholesky, cholesky_of, extend_cholesky, single_precision_half_solve
from pellucid.words import printable

# Smallest variance relative to the outputscale, in double and in single precision: rounding must not leave zero at an
# observed point, because acquisitions divide by the sd.
_SMALLEST_RELATIVE_VARIANCE, _SMALLEST_SCREENED_VARIANCE = 1e-12, 1e-7
# Rows whose correlations are computed at once, if there may be very many.
_BATCH = 1024


@dataclass(frozen=True)
class _Data:
    """The data that the process is conditioned on: scaled columns of X, factor of C, and vectors for predictions."""

    X: Array
    columns: Array
    z: Array
    noise_ratio: Array
    factor: Cholesky
    alpha: Array


class GaussianProcess:
    """A Gaussian process with a product (or radial) kernel, learned noise and an optional output warp.

    Args:
        kernel: one of `pellucid.models.kernels.KERNELS`.
        warp: None, or "auto" to let the likelihood choose a monotone output warp.
        deterministic: whether the objective has no noise, so that a repeated configuration returns the same value.
        nominal: number of categories per column, 0 for ordered columns; empty if no column is nominal.
    """

    def __init__(
        self,
        kernel: str = "matern32",
        *,
        warp: str | None = None,
        deterministic: bool = False,
        nominal: tuple[int, ...] = (),
    ) -> None:
        if warp not in (None, "auto"):
            raise ValueError(f"`warp` must be None or 'auto', but got {warp!r}.")
        self.kernel = Kernel(kernel, tuple(nominal))
        self.warp = warp
        self.deterministic = deterministic
        self.inverse_hessian: Array | None = None
        self.beginning: Solution | None = None
        self._hyperparameters: Hyperparameters | None = None
        self._data: _Data | None = None

    @staticmethod
    def from_hyperparameters(record: Hyperparameters) -> GaussianProcess:
        """A process with these hyperparameters and no data; add data with `.condition(X, y)`."""
        gp = GaussianProcess(record.kernel, nominal=record.nominal)
        gp._hyperparameters = record
        return gp

    def unfitted(self, nominal: tuple[int, ...], *, deterministic: bool | None = None) -> GaussianProcess:
        """A process with the same settings for columns of these kinds, without hyperparameters and data."""
        deterministic = self.deterministic if deterministic is None else deterministic
        return GaussianProcess(self.kernel.name, warp=self.warp, deterministic=deterministic, nominal=nominal)

    def unwarped(self) -> GaussianProcess:
        """A process with the same settings, but without a warp and with a product kernel: its averages are exact."""
        name = "matern52" if self.kernel.radial else self.kernel.name
        return GaussianProcess(name, deterministic=self.deterministic, nominal=self.kernel.nominal)

    @property
    def hyperparameters(self) -> Hyperparameters:
        if self._hyperparameters is None:
            raise ValueError("This GaussianProcess has not been fitted: call `.fit(X, y)` first.")
        return self._hyperparameters

    @property
    def data(self) -> _Data:
        if self._data is None:
            raise ValueError("This GaussianProcess has no data: call `.fit(X, y)` or `.condition(X, y)` first.")
        return self._data

    @property
    def n_observed(self) -> int:
        return len(self.data.z)

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        X: Array,
        y: Array,
        noise_variance: Array | None = None,
        *,
        start: Hyperparameters | None = None,
        inverse_hessian: Array | None = None,
        restart: bool = False,
    ) -> GaussianProcess:
        """Learn hyperparameters from data and condition on it; arguments as in `learn`."""
        self.learn(X, y, noise_variance, start=start, inverse_hessian=inverse_hessian, restart=restart)
        return self.condition(X, y, noise_variance)

    def learn(
        self,
        X: Array,
        y: Array,
        noise_variance: Array | None = None,
        *,
        start: Hyperparameters | None = None,
        inverse_hessian: Array | None = None,
        restart: bool = False,
        beginning: Solution | None = None,
    ) -> GaussianProcess:
        """Learn hyperparameters from data without conditioning on it.

        `noise_variance`: known variances of y's noise in the unit of y squared, NaN or 0 where unknown.
        `start`, `inverse_hessian`: an earlier fit, which makes this one a short warm start; `restart` compares it with
        a start from the prior, so that a long study does not stay in a poor local optimum.
        `beginning`: that of a process with the same kernel and noise that has learned from the same data. A fit from
        scratch begins without a warp, so processes with and without one begin alike.
        """
        X, y = _checked(X, y)
        noise = fitting.NO_NOISE if self.deterministic else fitting.UNKNOWN_NOISE
        if not vary(y):
            self._hyperparameters = uninformed(self.kernel, X.shape[1], y, noise)
            return self
        problem = FitProblem.of(self.kernel, X, y, noise_variance, noise)
        warm_start = start if start is not None and problem.accepts(start) else None
        warm = warm_start is not None or problem.few is not None
        if warm_start is None:
            solution = problem.from_scratch() if beginning is None else beginning
            self.beginning = solution
            theta = solution.fit.theta
            inverse_hessian = inverse_hessian if problem.few is None else solution.fit.inverse_hessian
        else:
            theta = theta_of(warm_start)
        chosen = problem.choose_warp(theta) if self.warp == "auto" else None
        if warm or chosen is not None:
            solution = problem.refined(chosen, theta, inverse_hessian, warm=warm, restart=restart)
        self.inverse_hessian = solution.fit.inverse_hessian
        self._hyperparameters = solution.hyperparameters(self.kernel)
        return self

    def condition(self, X: Array, y: Array, noise_variance: Array | None = None) -> GaussianProcess:
        """Condition on data without changing the hyperparameters."""
        X, y = _checked(X, y)
        h = self.hyperparameters
        if X.shape[1] != len(h.lengthscales):
            raise ValueError(
                printable(f"X must have {len(h.lengthscales)} columns, one per lengthscale, but has {X.shape[1]}.")
            )
        l = np.array(h.lengthscales)
        z = (warp.forward(h.warp, y) - h.y_mean) / h.y_scale
        v = latent_noise(noise_variance, h.warp, y, h.y_scale)
        eta = np.full(len(y), h.noise / h.outputscale) + (0.0 if v is None else v / h.outputscale)
        columns = self.kernel.columns(X, l)

        def correlations() -> Array:
            C = self.kernel.gram(columns, l)
            C.flat[:: len(C) + 1] = 1.0 + eta
            return C

        factor = cholesky_of(correlations)
        self._data = _Data(X, columns, z, eta, factor, factor.solve(z))
        return self

    def believe(self, X: Array) -> GaussianProcess:
        """This process as if X had been observed at its posterior mean: the mean is unchanged and the variance at X is
        gone (the "kriging believer" for trials that are still running)."""
        if len(X) == 0:
            return self
        data, h = self.data, self.hyperparameters
        l = np.array(h.lengthscales)
        columns = self.kernel.columns(X, l)
        cross = np.asarray(self.kernel.cross(data.columns, columns, l), dtype=float)
        corner = np.asarray(self.kernel.cross(columns, columns, l), dtype=float)
        eta = np.full(len(X), h.noise / h.outputscale)
        corner.flat[:: len(X) + 1] += eta
        factor = extend_cholesky(data.factor, cross, corner)
        # With z_new = m(x_new) the new alpha is the old one padded with zeros: the mean does not move.
        z = np.concatenate([data.z, cross.T @ data.alpha])
        alpha = np.concatenate([data.alpha, np.zeros(len(X))])
        return self._with_data(
            _Data(
                X=np.vstack([data.X, X]),
                columns=np.hstack([data.columns, columns]),
                z=z,
                noise_ratio=np.append(data.noise_ratio, eta),
                factor=factor,
                alpha=alpha,
            )
        )

    def _with_data(self, data: _Data) -> GaussianProcess:
        """A process with the same hyperparameters and other data."""
        out = GaussianProcess.from_hyperparameters(self.hyperparameters)
        out._data = data  # noqa: SLF001 - the same class
        return out

    def update(self, X: Array, y: Array) -> GaussianProcess:
        """Add observations in O(n^2) without changing the hyperparameters (incremental Cholesky)."""
        X, y = _checked(X, y)
        data, h = self.believe(X).data, self.hyperparameters
        z = np.append(self.data.z, (warp.forward(h.warp, y) - h.y_mean) / h.y_scale)
        return self._with_data(replace(data, z=z, alpha=data.factor.solve(z)))

    # ------------------------------------------------------------------ predicting

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Latent mean and sd (of the function, without noise) at X."""
        data, l = self.data, np.array(self.hyperparameters.lengthscales)
        return self.latent_from_correlations(
            np.asarray(self.kernel.cross(self.kernel.columns(X, l), data.columns, l), dtype=float)
        )

    def latent_mean(self, X: Array) -> Array:
        """Latent mean alone, in a fraction of the time."""
        data, l = self.data, np.array(self.hyperparameters.lengthscales)
        return np.asarray(self.kernel.cross(self.kernel.columns(X, l), data.columns, l), dtype=float) @ data.alpha

    def latent_means(self, X: Array) -> Array:
        """`latent_mean` of any number of rows: the matrix of correlations stays small next to those of the model."""
        parts = np.array_split(X, len(X) // _BATCH + 1)
        return np.concatenate([self.latent_mean(part) for part in parts])

    def latent_from_correlations(self, r: Array) -> tuple[Array, Array]:
        """Latent mean and sd from the correlations (m, n) of points with the data."""
        data = self.data
        half = data.factor.half_solve(r.T)
        variance = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), _SMALLEST_RELATIVE_VARIANCE)
        return r @ data.alpha, np.sqrt(self.hyperparameters.outputscale * variance)

    def posterior(self, r: Array) -> Posterior:
        """The same, with sds only where they are needed, from correlations (n, m) that are overwritten."""
        data, s = self.data, self.hyperparameters.outputscale
        return Posterior(data.factor, data.alpha, s, _SMALLEST_RELATIVE_VARIANCE, r)

    def posterior_at(self, X: Array) -> Posterior:
        data, l = self.data, np.array(self.hyperparameters.lengthscales)
        return self.posterior(np.asarray(self.kernel.cross(data.columns, self.kernel.columns(X, l), l), dtype=float))

    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Latent mean (m,), sd (m,) and their gradients (m, d) with respect to X."""
        data, h = self.data, self.hyperparameters
        l = np.array(h.lengthscales)
        r, slopes = self.kernel.cross_with_slopes(self.kernel.columns(X, l), data.columns, l)
        half = data.factor.half_solve(r.T)
        variance = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), _SMALLEST_RELATIVE_VARIANCE)
        sd = np.sqrt(h.outputscale * variance)
        w = data.factor.half_solve_transposed(half).T
        # Both gradients in one batched product: per point (2, n) weights times (n, d) slopes.
        weighted = np.stack([r * data.alpha, r * w], axis=1)
        gradient = weighted @ slopes.transpose(1, 2, 0)
        return r @ data.alpha, sd, gradient[:, 0], gradient[:, 1] * (-h.outputscale / sd)[:, None]

    def screen(self, X: Array) -> tuple[Array, Array]:
        """Latent mean and sd in single precision, for ranking many candidates, not for results."""
        return self.screen_with_correlations(X)[:2]

    def screen_with_correlations(self, X: Array) -> tuple[Array, Array, npt.NDArray[np.float32]]:
        """`screen`, and the correlations (m, n) of X with the data."""
        data, h = self.data, self.hyperparameters
        l = np.array(h.lengthscales)
        A = self.kernel.columns(X, l).astype(np.float32)
        B = data.columns.astype(np.float32)
        r = np.asarray(self.kernel.cross(A, B, l), dtype=np.float32)
        mean = r @ data.alpha.astype(np.float32)
        half = single_precision_half_solve(data.factor.L.astype(np.float32), r.copy())
        variance = np.maximum(1.0 - np.einsum("ij,ij->i", half, half), _SMALLEST_SCREENED_VARIANCE)
        return mean.astype(float), np.sqrt(h.outputscale * variance.astype(float)), r

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Latent mean vector (m,) and covariance matrix (m, m)."""
        data, h = self.data, self.hyperparameters
        l = np.array(h.lengthscales)
        A = self.kernel.columns(X, l)
        r = np.asarray(self.kernel.cross(A, data.columns, l), dtype=float)
        half = data.factor.half_solve(r.T)
        prior = np.asarray(self.kernel.cross(A, A, l), dtype=float)
        return r @ data.alpha, h.outputscale * (prior - half.T @ half)

    def latent_at_observed(self) -> Array:
        """Latent mean at the data: z - eta * alpha, without another kernel evaluation."""
        data = self.data
        return np.asarray(data.z - data.noise_ratio * data.alpha - data.factor.jitter * data.alpha)

    def leave_one_out(self) -> tuple[Array, Array]:
        """Latent mean and sd (noise included) of every observation, from all others with the same hyperparameters."""
        data = self.data
        half = data.factor.half_solve(np.eye(len(data.z)))
        precision = np.maximum(np.einsum("ij,ij->j", half, half), 1e-300)
        return data.z - data.alpha / precision, np.sqrt(self.hyperparameters.outputscale / precision)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd of the function (without noise) in the unit of y."""
        return self.from_latent(*self.latent(np.atleast_2d(np.asarray(X, dtype=float))))

    def from_latent(self, mean: Array, sd: Array) -> tuple[Array, Array]:
        """Mean and sd in the unit of y from a latent mean and sd."""
        h = self.hyperparameters
        return warp.moments(h.warp, h.y_mean + h.y_scale * mean, h.y_scale * sd)

    def quantile(self, X: Array, p: float) -> Array:
        """Quantile of the function's posterior in the unit of y; exact, because a warp is monotone."""
        mean, sd = self.latent(np.atleast_2d(np.asarray(X, dtype=float)))
        return self.losses(mean + float(ndtri(p)) * sd)

    def to_latent(self, losses: Array) -> Array:
        """Inverse of `losses`."""
        h = self.hyperparameters
        return np.asarray((warp.forward(h.warp, losses) - h.y_mean) / h.y_scale)

    def losses(self, latent: Array) -> Array:
        """Latent values in the unit of y. The map is monotone, so bounds and quantiles stay exact."""
        h = self.hyperparameters
        return warp.inverse(h.warp, h.y_mean + h.y_scale * latent)

    def sample(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        """`size` joint posterior draws of the function at X, (size, m), in the unit of y."""
        mean, covariance = self.joint(np.atleast_2d(np.asarray(X, dtype=float)))
        draws = mean + rng.standard_normal((size, len(mean))) @ cholesky(covariance).L.T
        return self.losses(draws)

    def log_marginal_likelihood(self) -> float:
        """log N(z; 0, s C) of the latent targets, without priors and without the Jacobian of the warp."""
        data, h = self.data, self.hyperparameters
        n = len(data.z)
        quadratic = float(data.z @ data.alpha) / h.outputscale
        log_scale = float(np.log(h.outputscale) + np.log(2.0 * np.pi))
        return -0.5 * (quadratic + data.factor.log_determinant + n * log_scale)


def check_template(surrogate: object) -> None:
    """Raise TypeError if an argument `surrogate` is neither None nor a process of this very class."""
    if surrogate is not None and type(surrogate) is not GaussianProcess:
        raise TypeError(
            "`surrogate` must be a plain pellucid.surrogates.GaussianProcess, whose kernel and warp are used, but got "
            f"{surrogate!r}: receipts cannot rebuild a subclass or another model, so pass one with the settings that "
            "you want, such as GaussianProcess('matern52', warp='auto')."
        )


def _checked(X: Array, y: Array) -> tuple[Array, Array]:
    X, y = np.atleast_2d(np.asarray(X, dtype=float)), np.asarray(y, dtype=float).ravel()
    if len(X) != len(y):
        raise ValueError(f"X and y must have the same number of rows, but got {len(X)} and {len(y)}.")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError("X and y must be finite: drop or replace NaN and infinite values first.")
    return X, np.clip(y, -warp.LARGEST_VALUE, warp.LARGEST_VALUE)
