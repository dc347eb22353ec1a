"""A family of tasks that resemble each other."""

from __future__ import annotations

import numpy as np
from optuna.distributions import FloatDistribution

from pellucid.models.ranking.training import Recipe
from pellucid.numerics import Array
from pellucid.space.encoding import Space

SPACE = Space.of({name: FloatDistribution(0.0, 1.0) for name in ("a", "b")})


QUICK = Recipe(steps=400, list_size=40, lists=8)


def bowl(seed: int, n: int) -> tuple[str, Array, Array]:
    """A task of a family: minima near (0.7, 0.3), scales and offsets differ widely."""
    rng = np.random.default_rng(seed)
    X, centre = rng.random((n, 2)), np.array([0.7, 0.3]) + 0.05 * rng.standard_normal(2)
    return f"bowl {seed}", X, rng.uniform(-50, 50) + 10.0 ** rng.uniform(-3, 3) * ((X - centre) ** 2).sum(axis=1)
