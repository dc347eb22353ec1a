"""Maximum-a-posteriori hyperparameters of a Gaussian process, with analytic gradients.

Notation
    X (n, d)  encoded;  z (n,)  standardised targets;  R(l) correlations;  eta = noise / outputscale
    v (n,)    known noise variances on the scale of z^2 (0 where unknown);  s outputscale, b mean, on the scale of z
    C = R + eta I + diag(v / s)
    theta     (log l_1..d, log eta), with b profiled out and s at its posterior mode given theta, in closed form;
              (log l_1..d, log eta, log s) if some v > 0, because s no longer factors out
    objective -log p(z | theta) - log p(theta) up to a constant (smaller is better)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from pellucid.models.pairs import Pairs
from pellucid.numerics import Array, Indices

# Rows that hyperparameters are fitted on at most: more of them determine these better, but an evaluation is O(n^3).
MAX_FIT_POINTS = 400
# If there are more rows or columns than these, a fit is large: an ask would take a second or more, so starts are
# compared on few rows and only the best one is followed on MAX_FIT_POINTS, both fewer if there are more columns.
_MANY_ROWS, _MANY_COLUMNS, _FEW = 1500, 100, 150
# With thousands of columns, both are at least these.
_FEWEST = (15, 40)

# The priors were chosen on the development problems of lab/results/engine.
# Log-normal prior of a lengthscale, of an ordered and of a nominal column, on the unit cube: wide enough that the data
# decide, narrow enough that a few observations cannot make a parameter irrelevant or infinitely rough.
_LOG_L_MEAN, _NOMINAL_LOG_L_MEAN, _LOG_L_SD = 0.0, 0.0, 1.0
# Shorter lengthscales are white noise, longer ones a constant; both make C hard to factor.
_LOG_L_BOUNDS = (np.log(5e-3), np.log(1e2))
# Inverse-gamma prior of the outputscale with mean about 1 (targets are standardised) and the weight of this many
# observations: without it, trials that cluster around the incumbent shrink the scale, and with it the exploration.
SCALE_WEIGHT = 20.0
# Hard bounds of the outputscale, for fits that include it in theta: far beyond what standardised targets need.
_SCALE_BOUNDS = (1e-4, 1e4)

# Minimisation. Longest step in any log hyperparameter: longer ones often leave the region where the gradient is valid.
_LARGEST_STEP = 1.5
# Share of the predicted decrease that a step must achieve (Armijo), and the step below which the search gives up.
_SUFFICIENT_DECREASE, _SMALLEST_STEP = 1e-4, 1e-4
# Factor of a step after a failed factorisation, and the range of the factor after a step that decreased too little.
_FAILED_FACTOR, _BACKTRACKING = 0.3, (0.1, 0.5)
# Digits of the fitted hyperparameters: more than the data determine, and few enough that a study in another unit, or on
# another BLAS, whose targets differ in their last bits, gets the same hyperparameters and not merely similar ones.
_DIGITS = 5


@dataclass(frozen=True)
class NoisePrior:
    """Log-normal prior of the noise ratio eta, with hard bounds that keep C positive definite."""

    median: float
    log_sd: float
    low: float
    high: float


# Unknown noise has an sd of about a tenth of the signal's, give or take a factor of four: weak enough that some dozen
# trials decide. With a median of 1e-4 and log-sd 2, the learned variance was half of the truth or less at 40 trials
# (design problems of lab/results/truth). A deterministic objective has almost none, but the factorisation needs some.
UNKNOWN_NOISE = NoisePrior(median=1e-2, log_sd=3.0, low=1e-8, high=1e1)
NO_NOISE = NoisePrior(median=1e-7, log_sd=1.0, low=1e-9, high=1e-5)


@dataclass(frozen=True)
class Fit:
    """Fitted hyperparameters on the scale of z, with the objective there and the inverse Hessian in theta."""

    lengthscales: Array
    noise_ratio: float
    outputscale: float
    mean: float
    objective: float
    inverse_hessian: Array
    evaluations: int

    @property
    def theta(self) -> Array:
        return np.append(np.log(self.lengthscales), np.log(self.noise_ratio))


class Objective:
    """-log posterior of theta and its gradient; keeps the profiled mean and scale of every theta it was called with."""

    def __init__(self, pairs: Pairs, z: Array, v: Array | None, noise: NoisePrior) -> None:
        self.pairs, self.v, self.noise = pairs, v, noise
        self.moments: dict[bytes, tuple[float, float]] = {}
        self.targets = np.column_stack([z, np.ones_like(z)])
        size = pairs.d + (1 if v is None else 2)
        self.low = np.r_[np.full(pairs.d, _LOG_L_BOUNDS[0]), np.log(noise.low), np.log(_SCALE_BOUNDS[0])][:size]
        self.high = np.r_[np.full(pairs.d, _LOG_L_BOUNDS[1]), np.log(noise.high), np.log(_SCALE_BOUNDS[1])][:size]
        nominal = np.array([pairs.kernel.is_nominal(j) for j in range(pairs.d)])
        self.prior_mean = np.where(nominal, _NOMINAL_LOG_L_MEAN, _LOG_L_MEAN)
        self.evaluations = 0

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The value and its gradient; (inf, zeros) if C cannot be factored."""
        solved = self._solved(theta)
        if solved is None:
            return np.inf, np.zeros_like(theta)
        value, U, alpha, quadratic, R = solved
        d, n = self.pairs.d, self.pairs.n
        l, eta = np.exp(theta[:d]), float(np.exp(theta[d]))
        s = self.moments[theta.tobytes()][1]
        inverse, _ = lapack.dpotri(U, lower=0, overwrite_c=1)
        blas.dger(-1.0 / s, alpha, alpha, a=inverse, overwrite_a=1)
        G = inverse.T
        diagonal = np.diagonal(G).copy()
        gradient = np.empty_like(theta)
        weighted = self.pairs.pack(G)
        weighted *= R
        gradient[:d] = self.pairs.lengthscale_gradient(l, weighted)
        gradient[d] = 0.5 * eta * diagonal.sum()
        if self.v is not None:
            # dC/d(log s) = -diag(v/s); the factor s itself adds n/2 and -quadratic/(2s).
            gradient[d + 1] = 0.5 * n - 0.5 * quadratic / s - 0.5 * float(diagonal @ (self.v / s))
        return self._with_prior(theta, value, gradient)

    def value(self, theta: Array) -> float:
        """The value alone, at a third of the cost; inf if C cannot be factored."""
        solved = self._solved(theta)
        return np.inf if solved is None else self._with_prior(theta, solved[0], np.zeros_like(theta))[0]

    def _solved(self, theta: Array) -> tuple[float, Array, Array, float, Array] | None:
        """-log likelihood, factor of C, alpha = C^-1 (z - b), z' alpha and R; keeps the mean and the scale."""
        self.evaluations += 1
        d, n = self.pairs.d, self.pairs.n
        l, eta = np.exp(theta[:d]), float(np.exp(theta[d]))
        s = 1.0 if self.v is None else float(np.exp(theta[d + 1]))
        R = self.pairs.correlations(l)
        extra = 0.0 if self.v is None else self.v / s
        C = self.pairs.square(R, 1.0 + eta + extra)
        U, info = lapack.dpotrf(C.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            self.moments[theta.tobytes()] = (0.0, 1.0)
            return None
        solved, _ = lapack.dpotrs(U, self.targets, lower=0)
        mean = float(solved[:, 0].sum() / solved[:, 1].sum())
        alpha = solved[:, 0] - mean * solved[:, 1]
        quadratic = float(alpha @ self.targets[:, 0])
        half_log_det = float(np.log(np.diagonal(U)).sum())
        if self.v is None:
            s = max((quadratic + SCALE_WEIGHT) / (n + SCALE_WEIGHT), 1e-300)
            value = half_log_det + 0.5 * (n + SCALE_WEIGHT) * np.log(s)
        else:
            value = half_log_det + 0.5 * n * np.log(s) + 0.5 * quadratic / s
        self.moments[theta.tobytes()] = (mean, s)
        return float(value), U, alpha, quadratic, R

    def _with_prior(self, theta: Array, value: float, gradient: Array) -> tuple[float, Array]:
        d = self.pairs.d
        off = (theta[:d] - self.prior_mean) / _LOG_L_SD
        gradient[:d] += off / _LOG_L_SD
        value += 0.5 * float(off @ off)
        away = (theta[d] - np.log(self.noise.median)) / self.noise.log_sd
        gradient[d] += away / self.noise.log_sd
        value += 0.5 * away**2
        if self.v is not None:
            # The same prior as in the closed form above: weight / 2 * (log s + 1 / s).
            inverse_scale = float(np.exp(-theta[d + 1]))
            gradient[d + 1] += 0.5 * SCALE_WEIGHT * (1.0 - inverse_scale)
            value += 0.5 * SCALE_WEIGHT * (theta[d + 1] + inverse_scale)
        return value, gradient


def minimise(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    low: Array,
    high: Array,
    inverse_hessian: Array | None = None,
    tolerance: float = 1e-3,
    max_evaluations: int = 40,
) -> tuple[Array, float, Array]:
    """BFGS in a box (clipped steps, Armijo backtracking), with few evaluations, because these take almost all the time.

    Stops when the predicted decrease is below `tolerance`. Returns the point, its value and the inverse Hessian.
    """
    x = np.clip(start, low, high)
    H = np.eye(len(x)) if inverse_hessian is None else inverse_hessian.copy()
    f, g = function(x)
    used = 1
    while used < max_evaluations:
        free = ~(((x <= low) & (g > 0)) | ((x >= high) & (g < 0)))
        p = np.where(free, -(H @ np.where(free, g, 0.0)), 0.0)
        slope = float(p @ g)
        if slope > -1e-12:
            H = np.eye(len(x))
            p = np.where(free, -g, 0.0)
            slope = float(p @ g)
        if -slope < 2.0 * tolerance:
            break
        p *= min(1.0, _LARGEST_STEP / float(np.abs(p).max()))
        step = 1.0
        while used < max_evaluations:
            x_new = np.clip(x + step * p, low, high)
            f_new, g_new = function(x_new)
            used += 1
            if f_new <= f + _SUFFICIENT_DECREASE * float(g @ (x_new - x)):
                break
            step *= _step_factor(step, f, f_new, slope)
            if step < _SMALLEST_STEP:
                return x, f, H
        else:
            break
        H = _bfgs_update(H, x_new - x, g_new - g)
        x, f, g = x_new, f_new, g_new
    return x, f, H


def _step_factor(step: float, f: float, f_new: float, slope: float) -> float:
    """Factor by which a step is shortened: towards the minimum of the parabola through both values and the slope."""
    if not np.isfinite(f_new):
        return _FAILED_FACTOR
    bend = f_new - f - step * slope
    fraction = 0.5 if bend <= 0 else -0.5 * step * slope / bend
    return max(_BACKTRACKING[0], min(_BACKTRACKING[1], fraction))


def _bfgs_update(H: Array, s: Array, y: Array) -> Array:
    sy = float(s @ y)
    if sy <= 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):
        return H
    Hy = H @ y
    out = np.outer(s, s)
    out *= (sy + float(y @ Hy)) / sy**2
    out += H
    cross = np.outer(Hy, s)
    cross = cross + cross.T
    cross /= sy
    out -= cross
    return np.asarray(out)


def subset(z: Array, size: int = MAX_FIT_POINTS) -> Indices:
    """Rows that hyperparameters are fitted on: all, or `size` of them, half of these the best and half evenly spread
    over the others. The worst row is added if it is farther above the chosen ones than their whole range."""
    n = len(z)
    if n <= size:
        return np.arange(n)
    order = np.argsort(z, kind="stable")
    best, rest = order[: size // 2], np.sort(order[size // 2 :])
    spread = rest[np.linspace(0, len(rest) - 1, size - len(best)).astype(int)]
    chosen = np.sort(np.concatenate([best, spread]))
    low, high = float(z[chosen].min()), float(z[chosen].max())
    return np.union1d(chosen, order[-1:]) if z[order[-1]] - high > high - low else chosen


def fit_sizes(n: int, d: int) -> tuple[int, int]:
    """On how many of n rows starts are compared, and on how many the best one is followed."""
    if n <= _MANY_ROWS and d <= _MANY_COLUMNS:
        return MAX_FIT_POINTS, MAX_FIT_POINTS
    # A power of 1/2 would keep the memory of all distances the same, which takes longer to get than to fill.
    share = min(1.0, (_MANY_COLUMNS / d) ** 0.75)
    return max(int(_FEW * share), _FEWEST[0]), max(int(MAX_FIT_POINTS * share), _FEWEST[1])


def fit(
    objective: Objective,
    starts: list[Array],
    inverse_hessian: Array | None = None,
    tolerance: float = 1e-3,
    max_evaluations: int = 40,
) -> Fit:
    """Best of the local optima reached from `starts` (each (d + 1,): log lengthscales, log noise ratio)."""
    pairs, v = objective.pairs, objective.v
    best: tuple[Array, float, Array] | None = None
    for start in starts:
        theta0 = start if v is None else np.r_[start, 0.0]
        H = inverse_hessian if inverse_hessian is not None and len(inverse_hessian) == len(theta0) else None
        optimum = minimise(objective, theta0, objective.low, objective.high, H, tolerance, max_evaluations)
        if best is None or optimum[1] < best[1]:
            best = optimum
    assert best is not None
    theta, value, H = best
    mean, scale = objective.moments[theta.tobytes()]
    d = pairs.d
    theta, mean, scale = np.round(theta, _DIGITS), round(mean, _DIGITS), float(np.exp(round(np.log(scale), _DIGITS)))
    return Fit(np.exp(theta[:d]), float(np.exp(theta[d])), scale, mean, value, H, objective.evaluations)
