"""What joint draws of the model say about a part of a space: the chance that it holds something better.

Notation
    Z (m, d)      encoded candidates, canonical
    F (s, m)      joint draws of the function at all of them, as losses; an equal number from each plausible model.
                  Infinite where a draw of a constraint is above its limit
    inside (m,)   which candidates lie in the part that is judged
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.explain.model import plausible_models
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Mask, cholesky, low_discrepancy, stream
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays

_N_DRAWS = 384
# With more trials than this the hyperparameters are known well, and with more parameters plausible models cost seconds:
# the fitted model alone is drawn from.
_MOST_TRIALS, _MOST_PARAMETERS = 500, 60
# Trials that show what a typical configuration returns.
_N_FIRST = 10
# Configurations over the whole space, and the best trials that differ by this much in some coordinate.
_N_EVERYWHERE, _APART = 160, 0.05
# Trials that give a choice its chance: without parameters of its own, or with them, for itself and for each of them.
_CHANCE, _OWN_CHANCE, _PER_PARAMETER = 5, 3, 8


def drawn_models(gp: GaussianProcess, data: Arrays) -> tuple[GaussianProcess, ...]:
    """The models to draw from."""
    few = len(data.losses) <= _MOST_TRIALS and len(data.space) <= _MOST_PARAMETERS
    return plausible_models(gp, data) if few else (gp,)


def joint_losses(models: tuple[GaussianProcess, ...], Z: Array, about: tuple[str, ...] = ()) -> Array:
    """F: the same draws whenever the models and the candidates are the same. `about`: see `joint_latent`."""
    latent = joint_latent(models, Z, about).reshape(len(models), -1, len(Z))
    return np.vstack([model.losses(draws) for model, draws in zip(models, latent, strict=True)])


def joint_latent(models: tuple[GaussianProcess, ...], Z: Array, about: tuple[str, ...] = ()) -> Array:
    """Draws before the inverse of the warp; only those of the same row can be compared. `about`: draws of different
    subjects are independent of each other."""
    rng = stream(0, "parts of a space", len(Z), *about)
    draws = []
    for model in models:
        mean, covariance = model.joint(Z)
        steps = rng.standard_normal((_N_DRAWS // len(models), len(Z)))
        draws.append(mean + steps @ cholesky(covariance).L.T)
    return np.vstack(draws)


def gain_of_tuning(data: Arrays) -> float:
    """How much better the best trial is than the median of the first ones: the unit for what counts as small.

    Most searches begin with random trials. The spread of all trials would shrink while a search converges.
    """
    feasible = data.observations.feasible
    losses = data.losses[feasible] if feasible.any() else data.losses
    for usual in (np.median(losses[:_N_FIRST]), np.median(losses), losses.max()):
        if usual > losses.min():
            return float(usual - losses.min())
    return 0.0


def everywhere(space: Space, count: int = _N_EVERYWHERE) -> Array:
    """Evenly spread configurations."""
    return space.canonical(_uniform(space, count))


def _uniform(space: Space, count: int) -> Array:
    return low_discrepancy(0, count, stream(0, "everywhere").random(len(space)))


def best_rows(gp: GaussianProcess, data: Arrays, count: int, among: Mask | None = None) -> Array:
    """The observed configurations (k, d) with the best means that differ from each other, best first; k <= count."""
    mean = data.standing(gp.latent_at_observed())
    order = [i for i in np.argsort(mean, kind="stable") if among is None or among[i]]
    chosen: list[int] = []
    for i in order[: 20 * count]:
        if len(chosen) < count and (np.abs(data.X[chosen] - data.X[i]).max(axis=1, initial=1.0) > _APART).all():
            chosen.append(int(i))
    return np.asarray(data.X[chosen])


@dataclass(frozen=True)
class Chance:
    """That a part holds something better than everything outside it. `gain`: by how much, in the luckiest draw."""

    probability: float
    gain: float


def chance_of(F: Array, inside: Mask, outside: Mask, margin: float = 0.0) -> Chance:
    """The chance that the best inside beats the best outside by more than `margin`, never quite 0 or 1."""
    best_inside, best_outside = F[:, inside].min(axis=1), F[:, outside].min(axis=1)
    # Where nothing is feasible on either side, neither is better.
    known = np.isfinite(best_inside) | np.isfinite(best_outside)
    gain = np.where(known, best_outside, 0.0) - np.where(known, best_inside, 0.0)
    hits = int((known & (gain > margin)).sum())
    return Chance((hits + 1.0) / (len(gain) + 2.0), max(float(gain[np.isfinite(gain)].max(initial=0.0)), 0.0))


# ---------------------------------------------------------------------- choices


@dataclass(frozen=True)
class Branch:
    """One choice of a categorical parameter, with the parameters that exist under it. `n_trials`: that had it."""

    column: int
    code: int
    n_own: int
    n_trials: int

    @property
    def fair_chance(self) -> int:
        """Trials after which it counts as tried: fewer say little about how good it could be."""
        return _OWN_CHANCE + _PER_PARAMETER * self.n_own if self.n_own else _CHANCE

    def holds(self, space: Space, X: Array, active: Mask) -> Mask:
        return np.asarray((space.dimensions[self.column].code(X[:, self.column]) == self.code) & active[:, self.column])


def branches(data: Arrays) -> list[Branch]:
    """Every choice of every categorical parameter, tried or not."""
    space, active = data.space, data.space.active(data.X)
    parents = {condition.parent for condition in space.conditions.values()}
    out = []
    for j, dimension in enumerate(space.dimensions):
        if not dimension.categorical:
            continue
        codes = dimension.code(data.X[:, j])
        for code in range(dimension.cells):
            own = _n_own(space, j, code) if dimension.name in parents else 0
            out.append(Branch(j, code, own, int(((codes == code) & active[:, j]).sum())))
    return out


def _n_own(space: Space, column: int, code: int) -> int:
    """How many parameters exist because of a choice."""
    rows = forced(space, _uniform(space, 1), column, code)
    return sum(descends(space, k, column) for k in np.flatnonzero(space.active(rows)[0]).tolist())


def inside_branch(gp: GaussianProcess, data: Arrays, branch: Branch, count: int) -> Array:
    """Candidates that have a choice: evenly spread ones, the best that were tried, and the best trials moved to it."""
    space = data.space
    spread = forced(space, _uniform(space, count), branch.column, branch.code)
    tried = best_rows(gp, data, 4, branch.holds(space, data.X, space.active(data.X)))
    best = best_rows(gp, data, 4)
    moved = np.where(space.active(best), best, spread[: len(best)])
    return np.vstack([spread, tried, forced(space, moved, branch.column, branch.code)])


def forced(space: Space, X: Array, column: int, code: int) -> Array:
    """Configurations with this choice, and with what it takes for the parameter to exist."""
    out = X.copy()
    out[:, column] = space.dimensions[column].midpoint(np.array([code]))[0]
    name = space.names[column]
    for _ in space.order:
        if name not in space.conditions:
            break
        rule = space.conditions[name]
        name, parent = rule.parent, space.index[rule.parent]
        allowed = rule.codes
        at = 0.5 * (rule.low + rule.high)
        out[:, parent] = space.dimensions[parent].midpoint(np.array([allowed[0]]))[0] if allowed else at
    return space.canonical(out)


def descends(space: Space, column: int, ancestor: int) -> bool:
    """Whether a parameter exists only for some values of another."""
    name = space.names[column]
    for _ in space.order:
        if name not in space.conditions:
            return False
        name = space.conditions[name].parent
        if name == space.names[ancestor]:
            return True
    return False
