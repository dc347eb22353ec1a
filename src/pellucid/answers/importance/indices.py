"""Sobol indices of a model: of its posterior mean, and of draws from its posterior, which say how sure they are.

Notation
    P (N, d)    rows of trials, and of a low-discrepancy sequence over the whole space, encoded
    draw        a function with the values f(P) of a joint posterior draw, interpolated by the process: K^-1 f(P)
    group       parameters that exist under the same condition, in the part of the space where it holds
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pellucid.answers.proposals.background import rows_of
from pellucid.models import GaussianProcess, fitting
from pellucid.models.averages.averages import Average, Axis, Factors
from pellucid.models.averages.variances import Functions, Variances
from pellucid.numerics import Array, cholesky, stream
from pellucid.space.encoding import Condition, Space

# Rows of P: of trials at most, and of the sequence. More of them cost time, and what lies between them is added in
# expectation. A model has this many draws.
_MOST_ROWS, _N_SPREAD, _N_DRAWS = 200, 64, 6
# Added to the diagonal of K: trials of an optimiser lie close together. Interpolation is right to a thousandth.
_JITTER = 1e-6
# Pairs are compared among this many parameters of a group at most.
_MOST_PAIRED = 10


@dataclass(frozen=True)
class Group:
    """Parameters that exist under the same condition (None: always), and the part of the space where it holds."""

    condition: Condition | None
    average: Average
    columns: tuple[int, ...]


@dataclass(frozen=True)
class GroupIndices:
    """Indices of the J parameters of a group: first, total (J,) of the fitted model; draws (J, R) of the total index
    over plausible models; pairs: columns and index, of the fitted model."""

    group: Group
    first: Array
    total: Array
    draws: Array
    pairs: tuple[tuple[int, int, float], ...]


def groups_of(space: Space) -> list[Group]:
    """The whole space with the parameters that always exist, then every branch with its own."""
    groups: dict[Condition, list[int]] = {}
    for j in space.order:
        groups.setdefault(space.conditions[space.names[j]], []).append(j)
    always = tuple(j for j in range(len(space)) if j not in space.order)
    out = [Group(None, Average(space, {}), always)] if always else []
    for condition, columns in groups.items():
        child = columns[0]
        narrowed = Average.of(space, {}, {child: Axis.of(space.dimensions[child])}).axes
        parents = {j: axis for j, axis in narrowed.items() if j != child}
        out.append(Group(condition, Average(space, {}, parents), tuple(columns)))
    return out


def indices_of(gp: GaussianProcess, plausible: Sequence[GaussianProcess], space: Space) -> list[GroupIndices]:
    """Indices of a fitted model, with draws of models that are as plausible."""
    groups = groups_of(space)
    P = _support(gp, space)
    rng = stream(0, "draws of functions", len(P))
    mean = _functions(gp, P, 0, rng)
    drawn = [(_factors(model), _functions(model, P, _N_DRAWS, rng)) for model in plausible]
    return [_indices(group, _factors(gp), mean, drawn) for group in groups]


def total_indices(gp: GaussianProcess, space: Space) -> Array:
    """The total index (d,) of every parameter of a fitted model."""
    out = np.zeros(len(space))
    mean = _functions(gp, _support(gp, space), 0, stream(0))
    for group in groups_of(space):
        shares = Variances(group.average, _factors(gp), mean).shares(group.columns)
        out[list(group.columns)] = shares.total[:, 0]
    return out


def _support(gp: GaussianProcess, space: Space) -> Array:
    """The rows P."""
    return np.vstack([gp.data.X[fitting.subset(gp.data.z, _MOST_ROWS)], _spread_rows(space)])


def _spread_rows(space: Space) -> Array:
    """Rows all over the space."""
    return space.canonical(rows_of({}, space, 0, _N_SPREAD, 0))


def _indices(
    group: Group, factors: Factors, mean: Functions, drawn: Sequence[tuple[Factors, Functions]]
) -> GroupIndices:
    fitted = Variances(group.average, factors, mean)
    shares = fitted.shares(group.columns)
    draws = [Variances(group.average, *model).shares(group.columns).total for model in drawn]
    leaders = [group.columns[i] for i in np.argsort(-shares.total[:, 0], kind="stable")[:_MOST_PAIRED]]
    pairs = [(a, b, float(fitted.pair(a, b, shares.variance)[0])) for a, b in combinations(leaders, 2)]
    return GroupIndices(group, shares.first[:, 0], shares.total[:, 0], np.hstack(draws), tuple(pairs))


def _factors(gp: GaussianProcess) -> Factors:
    return Factors(gp.kernel, np.array(gp.hyperparameters.lengthscales))


def _functions(gp: GaussianProcess, P: Array, count: int, rng: np.random.Generator) -> Functions:
    """`count` draws of the latent function as expansions over P; the posterior mean if `count` is 0."""
    l, scale = np.array(gp.hyperparameters.lengthscales), gp.hyperparameters.outputscale
    columns = gp.kernel.columns(P, l)
    K = np.asarray(gp.kernel.cross(columns, columns, l), dtype=float)
    identity = np.eye(len(P))
    inverse = cholesky(K + _JITTER * identity).solve(identity)
    mean, covariance = gp.joint(P)
    if count == 0:
        return Functions(P, inverse @ mean[:, None], inverse, np.zeros(1))
    root = cholesky(covariance + _JITTER * scale * identity).L
    values = mean[:, None] + root @ rng.standard_normal((len(P), count))
    return Functions(P, inverse @ values, inverse, np.full(count, scale))
