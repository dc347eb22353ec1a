"""Which parameters a model's prediction depends on, over the whole space: beside it, a proposal can be judged.

Notation
    f        latent posterior mean;  A (m, d)  an evenly spread sample of the space;  B  A with its rows in random order
    T_j      total index, E[(f(A) - f(A with column j of B))^2] / (2 Var f): 0 if f does not depend on j
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.explain.proposals.background import rows_of
from pellucid.numerics import Array, stream
from pellucid.study.encoding import Space
from pellucid.surrogates import GaussianProcess

# Rows of a sample: enough to tell a total index of 0.05 from one of 0.2, in a few milliseconds.
_N_ROWS = 256


def relevance(gp: GaussianProcess, space: Space, x: Array, players: Sequence[int]) -> dict[str, float]:
    """T_j by name. Parameters that exist for some choices only are judged among configurations with those of x (d,)."""
    switches = [space.index[rule.parent] for rule in space.conditions.values()]
    order = stream(0, "relevance").permutation(_N_ROWS)
    indices: dict[str, float] = {}
    for conditional in (False, True):
        group = [j for j in players if (space.names[j] in space.conditions) == conditional]
        A = rows_of({}, space, 0, _N_ROWS, 0)
        if conditional:
            A[:, switches] = x[switches]
        B = A[order]
        f = gp.latent_mean(space.canonical(A))
        variance = float(f.var())
        for j in group:
            swapped = A.copy()
            swapped[:, j] = B[:, j]
            moved = gp.latent_mean(space.canonical(swapped)) - f
            indices[space.names[j]] = 0.5 * float(np.mean(moved**2)) / variance if variance > 0.0 else 0.0
    return indices
