"""From losses in the user's unit to the hyperparameters of a Gaussian process: warp, standardisation, starts.

Notation
    X (n, d)  encoded configurations;  y (n,) losses in the user's unit
    z (n,)    targets (warp(y) - y_mean) / y_scale with mean 0 and sd 1
    v (n,)    known noise variances on the scale of z^2
    theta     (log l_1..d, log eta): log lengthscales and log noise ratio (see `fitting`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pellucid.models import fitting, warp
from pellucid.models.kernels import Kernel
from pellucid.models.pairs import Pairs
from pellucid.models.states import Hyperparameters, Warp
from pellucid.numerics import Array, Indices, cholesky

# Lengthscales and noise ratios from which a fit from scratch starts. The likelihood can have several local optima, so
# there are three starts: functions that vary within the cube, functions that are nearly linear in it, and noisy ones,
# whose ups and downs are otherwise taken for the function's.
_START_LENGTHSCALE, _SMOOTH_LENGTHSCALE = 0.7, 2.0
_START_NOISE, _NOISY_START = 1e-4, 1e-1
# Evaluations of a fit from scratch (first without a warp, then with the chosen one) and of a warm start, and the
# decrease of the objective at which they stop. A warm start follows small changes of the data, at every proposal.
_FIRST_EVALUATIONS, _EVALUATIONS, _WARM_EVALUATIONS = 25, 40, 10
_TOLERANCE, _WARM_TOLERANCE = 1e-3, 3e-2
# Evaluations of a fit from scratch on few rows, which is only a start.
_FEW_EVALUATIONS = 15
# Short fits that end in the same optimum differ by less than this.
_BETTER = 1.0
# Digits of theta in a warm start: few enough that differences in the last bits do not change where a fit starts.
_START_DIGITS = 6

# Bounds that keep the arithmetic finite.
# Losses with a smaller spread, relative to their size or absolute, count as equal.
_SMALLEST_RELATIVE_SPREAD, _SMALLEST_SPREAD = 1e-14, 1e-280
# Known noise on the scale of z^2: a noisier trial has no influence anyway, and the factorisation keeps its precision.
_LARGEST_NOISE = 1e9
_OUTPUTSCALE_BOUNDS = (1e-12, 1e12)


def vary(y: Array) -> bool:
    """Whether there are two losses that differ by more than rounding."""
    if len(y) < 2:
        return False
    spread = float(np.max(y) - np.min(y))
    return spread > max(_SMALLEST_RELATIVE_SPREAD * float(np.max(np.abs(y))), _SMALLEST_SPREAD)


def uninformed(kernel: Kernel, d: int, y: Array, noise: fitting.NoisePrior) -> Hyperparameters:
    """Hyperparameters at their priors, for at most one loss or losses that are all equal."""
    mean = float(y[0]) if len(y) else 0.0
    return Hyperparameters(
        kernel=kernel.name,
        lengthscales=(1.0,) * d,
        outputscale=1.0,
        noise=noise.median,
        y_mean=mean,
        y_scale=max(abs(mean) * 1e-3, 1e-12),
        warp=None,
        nominal=kernel.nominal,
    )


@dataclass(frozen=True)
class Solution:
    """A fit under a warp, on the scale of z."""

    fit: fitting.Fit
    warp: Warp | None
    y_mean: float
    y_scale: float

    def hyperparameters(self, kernel: Kernel) -> Hyperparameters:
        outputscale = float(np.clip(self.fit.outputscale, *_OUTPUTSCALE_BOUNDS))
        return Hyperparameters(
            kernel=kernel.name,
            lengthscales=tuple(float(l) for l in self.fit.lengthscales),
            outputscale=outputscale,
            noise=outputscale * self.fit.noise_ratio,
            y_mean=self.y_mean + self.y_scale * self.fit.mean,
            y_scale=self.y_scale,
            warp=self.warp,
            nominal=kernel.nominal,
        )


@dataclass(frozen=True)
class FitProblem:
    """The rows that hyperparameters are learned from, with the noise prior.

    noise_variance   known variances (n,) in the unit of y squared, NaN or 0 where unknown
    highest          largest loss of all rows, also of those that are not used
    few              the same problem on few rows, where starts are compared; None: on all of these
    """

    pairs: Pairs
    y: Array
    noise_variance: Array | None
    noise: fitting.NoisePrior
    highest: float
    few: FitProblem | None = None

    @staticmethod
    def of(kernel: Kernel, X: Array, y: Array, noise_variance: Array | None, noise: fitting.NoisePrior) -> FitProblem:
        few, rows = (fitting.subset(y, size) for size in fitting.fit_sizes(*X.shape))
        problem = FitProblem.of_rows(rows, kernel, X, y, noise_variance, noise)
        if len(few) == len(rows):
            return problem
        return replace(problem, few=FitProblem.of_rows(few, kernel, X, y, noise_variance, noise))

    @staticmethod
    def of_rows(
        rows: Indices, kernel: Kernel, X: Array, y: Array, noise_variance: Array | None, noise: fitting.NoisePrior
    ) -> FitProblem:
        known = None if noise_variance is None else np.asarray(noise_variance, dtype=float)[rows]
        return FitProblem(Pairs(kernel, X[rows]), y[rows], known, noise, float(y.max()))

    def accepts(self, start: Hyperparameters) -> bool:
        """Whether a fit can start from these hyperparameters."""
        return len(start.lengthscales) == self.pairs.d and start.kernel == self.pairs.kernel.name

    def from_scratch(self) -> Solution:
        """A fit without a warp; if starts are compared on few rows, it is a fit to these, and only a start."""
        starts = [self._start(_START_LENGTHSCALE), self._start(_SMOOTH_LENGTHSCALE), *self._noisy_start()]
        if self.few is None:
            return self._solve(None, starts, None, _TOLERANCE, _FIRST_EVALUATIONS)
        solution = self.few._solve(None, starts, None, _WARM_TOLERANCE, _FEW_EVALUATIONS)  # noqa: SLF001 - same class
        # The likelihood bends in proportion to the number of rows.
        inverse_hessian = solution.fit.inverse_hessian * (self.few.pairs.n / self.pairs.n)
        return replace(solution, fit=replace(solution.fit, inverse_hessian=inverse_hessian))

    def refined(
        self, chosen: Warp | None, theta: Array, inverse_hessian: Array | None, *, warm: bool, restart: bool
    ) -> Solution:
        """A fit under the chosen warp from theta; a short one if `warm`, also from the prior if `restart`."""
        starts = [theta, self._start(_START_LENGTHSCALE), *self._noisy_start()] if restart else [theta]
        tolerance, evaluations = (_WARM_TOLERANCE, _WARM_EVALUATIONS) if warm else (_TOLERANCE, _EVALUATIONS)
        if self.few is not None:
            starts = [self.few.best_start(chosen, starts, inverse_hessian)]
        return self._solve(chosen, starts, inverse_hessian, tolerance, evaluations)

    def best_start(self, chosen: Warp | None, starts: list[Array], inverse_hessian: Array | None) -> Array:
        """The first start, or where a short fit from another one ended if it found a better optimum."""
        if len(starts) == 1:
            return starts[0]
        first, *others = (
            self._solve(chosen, [start], inverse_hessian, _WARM_TOLERANCE, _WARM_EVALUATIONS).fit for start in starts
        )
        best = min(others, key=lambda fit: fit.objective)
        return best.theta if first.objective - best.objective > _BETTER else starts[0]

    def _start(self, lengthscale: float, noise: float = _START_NOISE) -> Array:
        start = noise if noise < self.noise.high else self.noise.median
        return np.append(np.full(self.pairs.d, np.log(lengthscale)), np.log(start))

    def _noisy_start(self) -> list[Array]:
        """None if the objective has no noise."""
        return [self._start(_START_LENGTHSCALE, _NOISY_START)] if self.noise.high > _NOISY_START else []

    def _solve(
        self,
        chosen: Warp | None,
        starts: list[Array],
        inverse_hessian: Array | None,
        tolerance: float,
        evaluations: int,
    ) -> Solution:
        objective, y_mean, y_scale = self.objective_under(chosen)
        fit = fitting.fit(objective, starts, inverse_hessian, tolerance, evaluations)
        return Solution(fit, chosen, y_mean, y_scale)

    def objective_under(self, chosen: Warp | None) -> tuple[fitting.Objective, float, float]:
        """What a fit minimises under a warp, and the mean and sd with which warped losses are standardised."""
        z, y_mean, y_scale = _standardise(warp.forward(chosen, self.y))
        v = latent_noise(self.noise_variance, chosen, self.y, y_scale)
        return fitting.Objective(self.pairs, z, v, self.noise), y_mean, y_scale

    def choose_warp(self, theta: Array) -> Warp | None:
        """The warp with the largest profile likelihood, corrected by its Jacobian; one Cholesky factor serves all."""
        options, warped, jacobian = warp.candidates(self.y)
        if len(options) == 1:
            return None
        n, pairs = len(self.y), self.pairs
        factor = cholesky(pairs.square(pairs.correlations(np.exp(theta[: pairs.d])), 1.0 + np.exp(theta[pairs.d])))
        # Each column in its own unit, because losses may be near 1e300; the likelihood is corrected for the unit.
        unit = np.maximum(np.abs(warped).max(axis=0), 1e-300)
        half = factor.half_solve(np.column_stack([warped / unit, np.ones(n)]))
        ones = half[:, -1]
        residual = half[:, :-1] - np.outer(ones, (ones @ half[:, :-1]) / (ones @ ones))
        scale = np.maximum((residual**2).sum(axis=0) / n, 1e-300)
        chosen = options[int(np.argmax(jacobian - n * np.log(unit) - 0.5 * n * np.log(scale)))]
        # The warp bends over the range of all losses, not only of those that it was chosen by: on its linear part, a
        # loss that diverged would be millions of standard deviations away.
        return None if chosen is None else replace(chosen, high=max(chosen.high, self.highest))


def theta_of(start: Hyperparameters) -> Array:
    """Where a warm start from these hyperparameters begins."""
    theta = np.append(np.log(start.lengthscales), np.log(start.noise / start.outputscale))
    return np.asarray(np.round(theta, _START_DIGITS))


def _standardise(w: Array) -> tuple[Array, float, float]:
    """(w - mean) / sd without overflow for values up to 1e308."""
    size = max(float(np.max(np.abs(w))), 1e-300)
    scaled = w / size
    mean, sd = float(scaled.mean()), float(scaled.std())
    return (scaled - mean) / sd, mean * size, sd * size


def latent_noise(noise_variance: Array | None, chosen: Warp | None, y: Array, y_scale: float) -> Array | None:
    """Known noise variances on the scale of z^2, by the delta method through the warp; None if none is known."""
    if noise_variance is None:
        return None
    known = np.nan_to_num(np.asarray(noise_variance, dtype=float), nan=0.0, posinf=0.0, neginf=0.0)
    if not (known > 0).any():
        return None
    with np.errstate(over="ignore"):
        sd = np.sqrt(np.maximum(known, 0.0)) * np.exp(warp.log_derivative(chosen, y)) / y_scale
    return np.asarray(np.minimum(sd, np.sqrt(_LARGEST_NOISE)) ** 2)
