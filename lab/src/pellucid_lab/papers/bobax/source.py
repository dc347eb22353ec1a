"""The paper's protocol: hyperparameters fixed per problem, the best of 1500 random candidates at every step."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.models.averages.effects import Effects
from pellucid.models.averages.functionals import average
from pellucid.models.states import Hyperparameters
from pellucid.search.acquisition import EI, LCB, Acquisition, InformationGain, PosteriorVariance
from pellucid.search.acquisition.base import Situation
from pellucid.search.acquisition.interleave import Interleave
from pellucid_lab.base import stable_seed
from pellucid_lab.papers.bobax.experiment import (
    N_CANDIDATES,
    N_INIT,
    N_SAMPLE,
    PER_DIMENSION,
    SMALLEST_NUGGET,
    TOLERANCE,
    Array,
    EffectTask,
    mean_half_widths,
    rounded,
    sizes_of,
)
from pellucid_lab.problems.effects import KnownEffects, grid_of, known_effects


@cache
def fixed_hyperparameters(name: str, data: str | None = None) -> Hyperparameters:
    """Squared exponential kernel with zero mean, fitted by maximum likelihood to 200 random points.

    The same for every method and seed. The best variance has a closed form; lengthscales and nugget (noise variance
    divided by signal variance) are optimised from several starts.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    problem = known_effects(name, data)
    d, n = problem.dimension, 200
    X = problem.space.canonical(np.random.default_rng(stable_seed("hyperparameters", name)).random((n, d)))
    y = problem.losses(X)
    mean, sd = float(y.mean()), float(y.std())
    z, squares = (y - mean) / sd, (X[:, None, :] - X[None, :, :]) ** 2

    def negative_log_likelihood(theta: Array) -> tuple[float, Array]:
        """At the best variance, up to a constant, with its gradient; theta: log lengthscales and log nugget."""
        scaled = squares / np.exp(2.0 * theta[:d])
        R = np.exp(-0.5 * scaled.sum(axis=2))
        try:
            factor = cho_factor(R + math.exp(theta[d]) * np.eye(n), lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros(d + 1)
        alpha, inverse = cho_solve(factor, z), cho_solve(factor, np.eye(n))
        scale = float(z @ alpha) / n
        W = inverse - np.outer(alpha, alpha) / scale
        slopes = 0.5 * np.einsum("ij,ijk->k", W * R, scaled)
        value = 0.5 * n * math.log(scale) + float(np.log(np.diagonal(factor[0])).sum())
        return value, np.append(slopes, 0.5 * math.exp(theta[d]) * float(np.trace(W)))

    bounds = [(math.log(0.03), math.log(20.0))] * d + [(math.log(SMALLEST_NUGGET), 0.0)]
    starts = [np.log(np.r_[np.full(d, l), nugget]) for l in (0.25, 0.5, 1.0, 2.0) for nugget in (1e-8, 1e-4, 1e-2)]
    optima = [minimize(negative_log_likelihood, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    theta = min(optima, key=lambda optimum: float(optimum.fun)).x
    record = Hyperparameters("se", tuple(float(f"{l:.4g}") for l in np.exp(theta[:d])), 1.0, 1.0, mean, sd)
    nugget = float(f"{math.exp(theta[d]):.3g}")
    fitted = GaussianProcess.from_hyperparameters(replace(record, noise=nugget)).condition(X, y).data
    scale = float(f"{float(fitted.z @ fitted.alpha) / n:.4g}")
    return replace(record, outputscale=scale, noise=scale * nugget)


def run_source(problem: KnownEffects, task: EffectTask) -> dict[str, Any]:
    rng = np.random.default_rng(stable_seed("source", task.problem, task.seed))
    d, budget, networks = problem.dimension, PER_DIMENSION * problem.dimension, task.experiment != "source"
    X = problem.space.canonical(rng.random((N_INIT, d)))
    y = problem.losses(X)
    grids = [grid_of(problem.space, j) for j in range(d if networks else 1)]
    truths = [problem.effect(j, grid) for j, grid in enumerate(grids)]
    sample = np.repeat(rng.random((N_SAMPLE, d))[None], len(grids[0]), axis=0)
    sample[:, :, 0] = grids[0][:, None]
    sample = problem.space.canonical(sample.reshape(-1, d))
    truth_on_sample = problem.losses(sample).reshape(len(grids[0]), -1).mean(axis=1)
    proposals = np.random.default_rng(stable_seed("proposals", task.problem, task.seed, task.method))
    sizes = sizes_of(problem)
    out: dict[str, list[float]] = {name: [] for name in ("d", "d_sample", "regret")}
    reached: dict[str, int | None] = {"reached": None, "raw_reached": None}
    while True:
        gp = GaussianProcess.from_hyperparameters(fixed_hyperparameters(task.problem, task.data)).condition(X, y)
        if networks and None in reached.values():
            for name, width in mean_half_widths(gp, problem.space).items():
                if reached[name] is None and width <= TOLERANCE:
                    reached[name] = len(y)
        if len(y) in sizes:
            h = gp.hyperparameters
            phi = Effects(gp, [average(gp, j, grid, problem.space) for j, grid in enumerate(grids)])
            curves = h.y_mean + h.y_scale * phi.mean
            on_sample = gp.predict(sample)[0].reshape(len(grids[0]), -1).mean(axis=1)
            out["d"].append(float(np.abs(curves - np.concatenate(truths)).mean()))
            out["d_sample"].append(float(np.abs(on_sample - truth_on_sample).mean()))
            out["regret"].append(float(y.min() - problem.optimum))
        if len(y) == budget:
            series = {name: rounded(values) for name, values in out.items()}
            return {"sizes": sizes, "best": float(y.min()), **(reached if networks else {}), **series}
        candidates = problem.space.canonical(proposals.random((N_CANDIDATES, d)))
        x = _choose(task.method, gp, problem, len(y), candidates, proposals)
        X, y = np.vstack([X, x]), np.append(y, problem.losses(x[None]))


def _choose(
    method: str, gp: GaussianProcess, problem: KnownEffects, n: int, candidates: Array, rng: np.random.Generator
) -> Array:
    """The candidate that the method proposes after n evaluations."""
    situation = Situation(float(gp.latent_at_observed().min()), n, problem.dimension)
    kind, _, number = method.partition("-")
    first = InformationGain(problem.space.names[0])
    chosen: Acquisition | InformationGain | None = EI()
    if kind == "rs" or (kind == "ei" and number and n % int(number[3:]) == 0):
        chosen = None
    elif kind == "pvar":
        chosen = PosteriorVariance()
    elif kind == "lcb":
        chosen = LCB(float(number))
    elif kind == "eibax":
        return _product(gp, problem, situation, float(number) / n, candidates)
    elif kind == "a":
        adaptive = Interleave("all", every=1 if number == "bobax-first" else 2, until=TOLERANCE)
        if adaptive.turn(n, 0):
            chosen = adaptive.still_wide(gp, problem.space)[0] or chosen
    elif kind in ("bax", "bobax"):
        gains = {"all": InformationGain("all"), "output": replace(first, target="output"),
                 "path": replace(first, target="path")}  # fmt: skip
        every = int(number) if number.isdecimal() else 2
        if number in ("prob", "anneal"):
            turn = rng.random() < 0.5 * (0.98**n if number == "anneal" else 1.0)
        else:
            turn = kind == "bax" or Interleave(every=every).turn(n, 0)
        chosen = gains.get(number, first) if turn else chosen
    if chosen is None:
        return np.asarray(candidates[0])
    return np.asarray(candidates[int(np.argmax(chosen.bind(gp, situation, problem.space).score(candidates)))])


def _product(
    gp: GaussianProcess, problem: KnownEffects, situation: Situation, power: float, candidates: Array
) -> Array:
    """The candidate with the largest EI times a power of the information, which is scaled to [0, 1]."""
    information = InformationGain(problem.space.names[0]).bind(gp, situation, problem.space)(candidates)
    scaled = (information - information.min()) / max(float(np.ptp(information)), 1e-300)
    score = EI().bind(gp, situation, problem.space).score(candidates) + power * np.log(np.maximum(scaled, 1e-300))
    return np.asarray(candidates[int(np.argmax(score))])
