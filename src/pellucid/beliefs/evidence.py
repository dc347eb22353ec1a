"""Do the trials speak for an effect of a parameter at all? Likelihood ratios of models with and without it.

Shares of the variance add up to at least one even in a model of pure noise, so a share alone is no evidence.

Notation
    z (n,)    latent targets;  C = R + eta I;  s, b  scale and mean at their best given the rest, in closed form
    L(S)      log-likelihood if only the parameters in S have an effect (the others a very long lengthscale), with the
              best of several noise levels: what a parameter seems to explain may as well be noise
    gain_j    L(all) - max over S without j of L(S) + (d - 1 - |S|): a parameter more gains about one nat by chance
The sets S are all parameters but j, and the first ones of the ranking by that single comparison, as long as j is not
among them: parameters that only explain noise do it together, so that leaving out one of them costs much.
    P(S)      the chance that only the parameters in S have an effect, for S_k, the first k of the ranking: in
              proportion to exp(L(S_k) - k), for the same reason
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.models import GaussianProcess, fitting
from pellucid.models.kernels import Kernel
from pellucid.numerics import Array, Integers, cholesky

# A lengthscale with which a parameter does nothing, ordered or nominal.
NO_EFFECT = 1e6
# Noise ratios that are compared, on top of the fitted one; with the last there is nothing but noise.
_MORE_NOISE = (0.0, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 100.0)
# Trials that the likelihood is computed with at most: the cost of one grows with their cube.
_MOST_ROWS = 200


def evidence(gp: GaussianProcess, among: Integers | None = None) -> Array:
    """gain (d,) of every parameter of a fitted model, in nats. `among`: of these columns, without the others."""
    columns = np.arange(gp.data.X.shape[1]) if among is None else among
    compared = _Compared.of(gp, columns)
    d = len(columns)
    simpler = np.maximum.accumulate(compared.first[:-1] + d - 1 - np.arange(d)) if d else compared.first[:-1]
    gain: Array = np.empty(d)
    gain[compared.order] = np.minimum(compared.alone[compared.order], compared.first[-1] - simpler)
    return gain


def parameter_sets(gp: GaussianProcess) -> tuple[Integers, Array]:
    """The columns of a fitted model in the order of their ranking (d,), and the chances P(S_k) (d + 1,) that the first
    k of them, for k = 0 to d, have an effect and the others have none."""
    compared = _Compared.of(gp, np.arange(gp.data.X.shape[1]))
    score = compared.first - np.arange(len(compared.first))
    chances = np.exp(score - score.max())
    return compared.order, np.asarray(chances / chances.sum())


@dataclass(frozen=True, eq=False)
class _Compared:
    """alone (d,): what leaving out one parameter costs;  order (d,): the ranking by it;  first (d + 1,): L of the
    first k parameters of the ranking."""

    alone: Array
    order: Integers
    first: Array

    @staticmethod
    def of(gp: GaussianProcess, columns: Integers) -> _Compared:
        rows = fitting.subset(gp.data.z, _MOST_ROWS)
        X, z, noise = gp.data.X[np.ix_(rows, columns)], gp.data.z[rows], gp.data.noise_ratio[rows]
        nominal = tuple(gp.kernel.nominal[j] for j in columns) if gp.kernel.nominal else ()
        kernel = Kernel(gp.kernel.name, nominal)
        lengthscales = np.array(gp.hyperparameters.lengthscales)[columns]
        everything = np.arange(len(lengthscales))

        def likelihood(kept: Integers) -> float:
            l = np.full(len(lengthscales), NO_EFFECT)
            l[kept] = lengthscales[kept]
            return _log_likelihood(kernel, X, z, noise, l)

        best = likelihood(everything)
        alone = np.array([best - likelihood(np.delete(everything, j)) for j in everything])
        order = np.argsort(-alone, kind="stable")
        return _Compared(alone, order, np.array([*(likelihood(order[:k]) for k in everything), best]))


def _log_likelihood(kernel: Kernel, X: Array, z: Array, noise: Array, lengthscales: Array) -> float:
    """Up to a constant, at the best scale, mean and noise level."""
    columns = kernel.columns(X, lengthscales)
    R = np.asarray(kernel.cross(columns, columns, lengthscales), dtype=float)
    targets = np.column_stack([z, np.ones_like(z)])
    best = -np.inf
    for more in _MORE_NOISE:
        C = R.copy()
        C.flat[:: len(C) + 1] += noise + more
        root = cholesky(C)
        half = root.half_solve(targets)
        residual = half[:, 0] - half[:, 1] * (half[:, 1] @ half[:, 0]) / (half[:, 1] @ half[:, 1])
        scale = max(float(residual @ residual) / len(z), 1e-300)
        best = max(best, -0.5 * (root.log_determinant + len(z) * np.log(scale)))
    return best
