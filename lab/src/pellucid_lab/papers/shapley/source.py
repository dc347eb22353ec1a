"""The paper's hyper-ellipsoid study: its optimiser rebuilt, its proposals explained by our Shapley values.

Notation: f(theta) = sum_j j theta_j^2 on [-5.12, 5.12]^4 plus noise of 5% of its standard deviation; everything below
is on the unit cube. A process with a Matérn-3/2 product kernel and a constant mean is fitted by maximum likelihood with
lengthscales of at most twice the range; its standard error (se) includes the noise, as in the paper's software. The
bound mean - lambda se is minimised by a focus search (3 restarts, 5 rounds of 1000 points, the box halved each time).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.stats import qmc

from pellucid.answers.proposals.games import Game, estimated
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.models import GaussianProcess
from pellucid.models.states import Hyperparameters
from pellucid.numerics import Array
from pellucid.provenance import Term
from pellucid.search.acquisition import LCB, PointwiseAcquisition
from pellucid.search.acquisition.base import PointwiseFunction, Situation
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.space.encoding import Space
from pellucid_lab.base import stable_seed
from pellucid_lab.papers.shapley.walks import single_walks
from pellucid_lab.runs.provenance import stamp

# The paper's protocol: parameters, evaluations of the design, proposals, the iteration of its tables, and random walks
# of its estimator.
DIMENSION, N_INIT, N_STEPS = 4, 16, 64
LOOK = 59
N_WALKS_SOURCE = 1000
HALF_RANGE = 5.12
# Standard deviation of f over the box: Var(theta^2) = (1/5 - 1/9) 5.12^4, times 1 + 4 + 9 + 16.
SD = math.sqrt((1 / 5 - 1 / 9) * HALF_RANGE**4 * 30.0)
NOISE_SD = 0.05 * SD
SPACE = Space.of({f"x{j}": FloatDistribution(-HALF_RANGE, HALF_RANGE) for j in range(1, DIMENSION + 1)})
# Focus search, bounds of lengthscales, Latin hypercubes of which the best is taken, and walks from which the spread of
# a single one is estimated.
_RESTARTS, _ROUNDS, _POINTS = 3, 5, 1000
_SHORTEST, _LONGEST = 1e-3, 2.0
_N_DESIGNS = 50
_N_WALKS = 4000


@dataclass(frozen=True)
class NoisyBound(PointwiseAcquisition):
    """-mean + lambda sqrt(sd^2 + noise): the confidence bound of a process whose standard error includes the noise."""

    lam: float
    noise: float
    mean_term = "mean"

    def words(self) -> dict[str, Term]:
        return LCB(self.lam).words()

    def unit(self, scale: LatentScale) -> Unit:
        return scale.to_proposal

    def weights(self, situation: Situation) -> dict[str, float]:
        return {"mean": 1.0, "uncertainty": self.lam}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return {"mean": -m, "uncertainty": np.sqrt(s * s + self.noise)}

    def score(self, m: Array, s: Array, situation: Situation) -> Array:
        return np.asarray(self.lam * np.sqrt(s * s + self.noise) - m)

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        return self.score(m, s, situation), -np.ones_like(m), self.lam * s / np.sqrt(s * s + self.noise)


def ellipsoid(X: Array) -> Array:
    theta = HALF_RANGE * (2.0 * X - 1.0)
    return np.asarray((np.arange(1, DIMENSION + 1) * theta**2).sum(axis=1))


def design(rng: np.random.Generator) -> Array:
    """Of several Latin hypercubes, the one whose closest points are farthest apart."""
    candidates = [qmc.LatinHypercube(DIMENSION, rng=rng).random(N_INIT) for _ in range(_N_DESIGNS)]

    def closest(X: Array) -> float:
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        return float(squares[np.triu_indices(len(X), 1)].min())

    return max(candidates, key=closest)


def most_likely(X: Array, y: Array, rng: np.random.Generator) -> GaussianProcess:
    """Constant mean, variance, noise and one lengthscale per dimension by maximum likelihood."""
    n, d = X.shape
    mean, sd = float(y.mean()), float(y.std())
    z, distances = (y - mean) / sd, math.sqrt(3.0) * np.abs(X[:, None, :] - X[None, :, :])
    ones = np.ones(n)

    def negative_log_likelihood(theta: Array) -> tuple[float, Array]:
        """At the best mean and variance, up to a constant; theta: log lengthscales and log noise ratio."""
        r = distances / np.exp(theta[:d])
        R = np.prod(1.0 + r, axis=2) * np.exp(-r.sum(axis=2))
        try:
            factor = cho_factor(R + math.exp(theta[d]) * np.eye(n), lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros(d + 1)
        inverse = cho_solve(factor, np.eye(n))
        centred = z - float(ones @ inverse @ z) / float(inverse.sum())
        alpha = inverse @ centred
        scale = float(centred @ alpha) / n
        W = inverse - np.outer(alpha, alpha) / scale
        slopes = 0.5 * np.einsum("ij,ijk->k", W * R, r * r / (1.0 + r))
        value = 0.5 * n * math.log(scale) + float(np.log(np.diagonal(factor[0])).sum())
        return value, np.append(slopes, 0.5 * math.exp(theta[d]) * float(np.trace(W)))

    bounds = [(math.log(_SHORTEST), math.log(_LONGEST))] * d + [(math.log(1e-8), math.log(10.0))]
    starts = [np.log(np.r_[np.full(d, 1.0), 1e-2]), np.log(np.r_[rng.uniform(0.1, _LONGEST, d), 1e-4])]
    optima = [minimize(negative_log_likelihood, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    theta = min(optima, key=lambda optimum: float(optimum.fun)).x
    ratio = math.exp(theta[d])
    record = Hyperparameters("matern32", tuple(float(l) for l in np.exp(theta[:d])), 1.0, ratio, mean, sd)
    data = GaussianProcess.from_hyperparameters(record).condition(X, y).data
    inverse = data.factor.solve(np.eye(n))
    shift = float(ones @ inverse @ data.z) / float(inverse.sum())
    centred = data.z - shift
    scale = float(centred @ inverse @ centred) / n
    final = Hyperparameters("matern32", record.lengthscales, scale, scale * ratio, mean + sd * shift, sd)
    return GaussianProcess.from_hyperparameters(final).condition(X, y)


def focus_search(function: PointwiseFunction, rng: np.random.Generator) -> Array:
    best, best_score = np.full(DIMENSION, 0.5), -math.inf
    for _ in range(_RESTARTS):
        low, high = np.zeros(DIMENSION), np.ones(DIMENSION)
        for _ in range(_ROUNDS):
            candidates = rng.uniform(low, high, (_POINTS, DIMENSION))
            scores = function.score(candidates)
            top = int(np.argmax(scores))
            if scores[top] > best_score:
                best, best_score = candidates[top], float(scores[top])
            quarter = 0.25 * (high - low)
            low, high = np.maximum(candidates[top] - quarter, 0.0), np.minimum(candidates[top] + quarter, 1.0)
    return best


def explained(function: PointwiseFunction, gp: GaussianProcess, x: Array) -> dict[str, list[float]]:
    """Contributions with the paper's sign (to the bound, which is minimised: negative is attractive)."""
    players = tuple(range(DIMENSION))
    exact = mean_shapley(gp, x, SPACE, players)
    estimate = estimated(Game(function, gp, SPACE, x, players), [{}], 0.95, {0: (-exact.values, -exact.average)})
    scale = gp.hyperparameters.y_scale
    weights = np.array(list(function.weights().values()))
    mean, uncertainty = (-scale * weights[k] * estimate.values[:, k] for k in (0, 1))
    at_x = gp.latent(x[None])
    average = np.asarray(estimate.average)
    se = float(np.sqrt(at_x[1][0] ** 2 + gp.hyperparameters.noise))
    return {
        "phi_mean": mean.tolist(),
        "phi_se": uncertainty.tolist(),
        "levels": [
            float(gp.predict(x[None])[0][0]),
            float(gp.hyperparameters.y_mean - scale * average[0]),
            scale * se,
            scale * float(average[1]),
        ],
    }


@dataclass(frozen=True)
class EllipsoidTask:
    lam: float
    seed: int
    command: str = ""

    @property
    def key(self) -> tuple[float, int]:
        return (self.lam, self.seed)

    @property
    def label(self) -> str:
        return f"λ = {self.lam:g} seed {self.seed}"


@dataclass(frozen=True)
class EllipsoidRun:
    """One optimisation with every proposal explained; tuples have one entry per iteration.

    x                  the proposal, in the units of theta;  y its noisy value
    phi_mean, phi_se   contributions per parameter, with the paper's sign: to the mean, and to -lambda se
    levels             mean at the proposal, average mean, se at the proposal, average se
    walk_sd            at iteration 59: standard deviation of the result of one random walk, for mean and -lambda se and
                       each parameter; divided by the square root of the number of walks, it is the error of the paper's
                       estimator
    """

    lam: float
    seed: int
    x: tuple[Any, ...]
    y: tuple[float, ...]
    phi_mean: tuple[Any, ...]
    phi_se: tuple[Any, ...]
    levels: tuple[Any, ...]
    walk_sd: tuple[Any, ...]
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    @property
    def key(self) -> tuple[float, int]:
        return (self.lam, self.seed)


def _spread_of_walks(function: PointwiseFunction, gp: GaussianProcess, x: Array, rng: np.random.Generator) -> Array:
    """Standard deviation of single walks, (p, t): parameters and terms."""
    game = Game(function, gp, SPACE, x, tuple(range(DIMENSION)))
    return np.array([game_walks.std(axis=0) for game_walks in single_walks(game, _N_WALKS, rng)])


def run_ellipsoid_task(task: EllipsoidTask) -> EllipsoidRun:
    """Run in this process, which should be a worker with one thread. Both lambdas have the same design and noise."""
    started = time.perf_counter()
    rng = np.random.default_rng(stable_seed("hyper-ellipsoid", task.seed))
    X = design(rng)
    noise = NOISE_SD * rng.standard_normal(N_INIT + N_STEPS)
    y = ellipsoid(X) + noise[:N_INIT]
    search = np.random.default_rng(stable_seed("focus search", task.seed, task.lam))
    out: dict[str, list[Any]] = {name: [] for name in ("phi_mean", "phi_se", "levels", "x")}
    for step in range(N_STEPS):
        gp = most_likely(X, y, search)
        situation = Situation(float(gp.latent_at_observed().min()), len(y), DIMENSION)
        function = PointwiseFunction(NoisyBound(task.lam, gp.hyperparameters.noise), gp, situation)
        x = focus_search(function, search)
        for name, values in explained(function, gp, x).items():
            out[name].append([float(f"{v:.6g}") for v in values])
        if step + 1 == LOOK:
            scale = gp.hyperparameters.y_scale * np.array(list(function.weights().values()))
            out["walk_sd"] = [
                [float(f"{v:.6g}") for v in column] for column in (scale * _spread_of_walks(function, gp, x, search)).T
            ]
        out["x"].append([float(f"{v:.6g}") for v in HALF_RANGE * (2.0 * x - 1.0)])
        X, y = np.vstack([X, x]), np.append(y, ellipsoid(x[None]) + noise[N_INIT + step])
    fields: dict[str, Any] = {name: tuple(values) for name, values in out.items()}
    fields |= stamp(("pellucid", "numpy", "scipy"), task.command)
    return EllipsoidRun(
        lam=task.lam,
        seed=task.seed,
        y=tuple(float(f"{v:.6g}") for v in y[N_INIT:]),
        seconds=round(time.perf_counter() - started, 3),
        **fields,
    )
