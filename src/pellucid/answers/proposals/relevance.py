"""What the model knows about each parameter of a proposal, beside which its contributions can be judged.

Notation
    f        latent posterior;  A (m, d)  an evenly spread sample of the space;  B  A with its rows in random order
    T_j      total index, E[(mean f(A) - mean f(A with column j of B))^2] / (2 Var): 0 if f does not depend on j
    D_j      average over A of f(x with column j of A) - f(x): by how much the value of x is better than others there
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.answers.proposals.background import rows_of
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, stream
from pellucid.space.encoding import Space

# Rows behind T_j: enough to tell an index of 0.05 from one of 0.2; and behind D_j, which needs their joint covariance.
_N_ROWS, _N_CONTRAST = 256, 32
# Smallest relative variance of D_j, which rounding could turn negative.
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Relevance:
    """A parameter in the eyes of the models, one for each objective, called by what is good ("low latency").

    total      T_j, the largest
    evidence   the mean of D_j in its posterior sd, positive if the value of the proposal is predicted to be better than
               others
    """

    total: float
    evidence: Mapping[str, float]


def relevance(
    models: Mapping[str, GaussianProcess], space: Space, x: Array, players: Sequence[int]
) -> dict[str, Relevance]:
    """By name. Parameters that exist for some choices only are judged among configurations with those of x (d,)."""
    totals = [_totals(gp, space, x, players) for gp in models.values()]
    rows = rows_of({}, space, 0, _N_CONTRAST, 0)
    return {
        space.names[j]: Relevance(
            max(total[j] for total in totals),
            {what: _evidence(gp, space, x, j, rows) for what, gp in models.items()},
        )
        for j in players
    }


def _totals(gp: GaussianProcess, space: Space, x: Array, players: Sequence[int]) -> dict[int, float]:
    switches = [space.index[rule.parent] for rule in space.conditions.values()]
    order = stream(0, "relevance").permutation(_N_ROWS)
    totals: dict[int, float] = {}
    for conditional in (False, True):
        group = [j for j in players if (space.names[j] in space.conditions) == conditional]
        if not group:
            continue
        A = rows_of({}, space, 0, _N_ROWS, 0)
        if conditional:
            A[:, switches] = x[switches]
        f = gp.latent_mean(space.canonical(A))
        variance = float(f.var())
        for j in group:
            swapped = A.copy()
            swapped[:, j] = A[order, j]
            moved = gp.latent_mean(space.canonical(swapped)) - f
            totals[j] = 0.5 * float(np.mean(moved**2)) / variance if variance > 0.0 else 0.0
    return totals


def _evidence(gp: GaussianProcess, space: Space, x: Array, j: int, rows: Array) -> float:
    X = np.repeat(x[None], 1 + len(rows), axis=0)
    X[1:, j] = rows[:, j]
    mean, covariance = gp.joint(space.canonical(X))
    weights = np.append(-1.0, np.full(len(rows), 1.0 / len(rows)))
    variance = max(float(weights @ covariance @ weights), _SMALLEST * gp.hyperparameters.outputscale)
    return float(weights @ mean) / float(np.sqrt(variance))
