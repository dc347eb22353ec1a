"""Other measures of which parameter matters, to compare with Shapley values.

Notation: u (n, d) -> (n,) is better the larger it is; x (d,) the explained point.
    ablation     from a source to x, changing at every step the coordinate that gains most (Fawcett and Hoos)
    local        variance of u along every axis through x, as shares of their sum (Biedenkapp et al.)
    H            of a pair: how much of its joint partial dependence is interaction (Friedman and Popescu)
    permutation  how much the squared error grows when a column of the data is shuffled (Breiman)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from optuna.study import Study

from pellucid.answers import shapley
from pellucid.answers.proposals.background import Part, parts_of, rows_of
from pellucid.answers.proposals.cases import ModelCase, case_of
from pellucid.answers.proposals.records import ImportanceComparison
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.beliefs.of_study import opened
from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Average, Factors
from pellucid.numerics import Array, stream
from pellucid.space.encoding import Space
from pellucid.space.grids import axis_grid
from pellucid.words import printable

Function = Callable[[Array], Array]
# Points along an axis on which its variance is measured.
_N_LINE = 100
# Effects below this share of the function's values are rounding errors.
_ROUNDING = 1e-12
# Rows that are evaluated at once: they bound the memory.
_ROWS_AT_ONCE = 4096
# Background rows of a trial's comparison, and the fewer that a radial kernel can afford: it has no closed forms, and H
# costs the square of their number.
_N_BACKGROUND, _N_PAIRS = 256, 64
# Shuffles per column, whose average is the permutation importance.
_N_REPEATS = 20


@dataclass(frozen=True)
class Ablation:
    """A greedy path from one point to another.

    order        columns in the order of their changes;  values  u before the first and after every change
    gains        per column, what its change gained;  first_round  what it would have gained as the first change
    """

    order: tuple[int, ...]
    values: Array
    gains: Array
    first_round: Array


def ablation_path(fn: Function, source: Array, target: Array, players: Sequence[int] | None = None) -> Ablation:
    """The greedy path from `source` to `target`. Columns that are equal in both gain 0."""
    here, goal = np.array(source, dtype=float), np.asarray(target, dtype=float)
    if here.ndim != 1 or here.shape != goal.shape:
        raise ValueError(f"`source` and `target` are two points (d,), but have shapes {here.shape} and {goal.shape}.")
    left = list(shapley.checked_players(players, len(here)))
    value = float(_single(fn, here[None])[0])
    values: list[float] = [value]
    order: list[int] = []
    gains, first_round = np.zeros(len(here)), np.zeros(len(here))
    while left:
        flips = np.repeat(here[None], len(left), axis=0)
        flips[np.arange(len(left)), left] = goal[left]
        after = _single(fn, flips)
        if not order:
            first_round[left] = after - value
        best = int(np.argmax(after))
        j = left.pop(best)
        gains[j], value = float(after[best]) - value, float(after[best])
        here[j] = goal[j]
        order.append(j)
        values.append(value)
    return Ablation(tuple(order), np.array(values), gains, first_round)


def local_importance(fn: Function, x: Array, axes: Sequence[Array] | Mapping[int, Array]) -> Array:
    """Shares (d,) of the variance of `fn` along every axis through x; `axes[j]`: the values that column j can take."""
    x = np.asarray(x, dtype=float)
    lines = dict(axes) if isinstance(axes, Mapping) else dict(enumerate(axes))
    shapley.checked_players(list(lines), len(x))
    spreads = np.zeros(len(x))
    for j, line in lines.items():
        if len(line) == 0:
            raise ValueError(printable(f"An axis needs at least one value, but that of column {j} has none."))
        points = np.repeat(x[None], len(line), axis=0)
        points[:, j] = line
        spreads[j] = _spread(_single(fn, points))
    variances = (spreads / max(float(spreads.max()), 1e-300)) ** 2
    total = variances.sum()
    return np.asarray(variances / total) if total > 0.0 else variances


def friedman_h(
    fn: Function, background: Array, pairs: Sequence[tuple[int, int]] | None = None
) -> dict[tuple[int, int], float]:
    """H of pairs of columns (all by default), estimated on the rows of a background (m, d): m^2 evaluations per pair
    and per column. 0: the two add up, or neither has an effect; about 1: pure interaction. On rows whose columns depend
    on each other it can exceed 1."""
    Z = np.atleast_2d(np.asarray(background, dtype=float))
    if len(Z) < 2:
        raise ValueError(f"Friedman's H needs at least two rows, but `background` has {len(Z)}.")
    selected = list(combinations(range(Z.shape[1]), 2)) if pairs is None else [(int(j), int(k)) for j, k in pairs]
    for j, k in selected:
        if j == k or not (0 <= j < Z.shape[1] and 0 <= k < Z.shape[1]):
            raise ValueError(
                printable(f"A pair is two different columns between 0 and {Z.shape[1] - 1}, but got {(j, k)}.")
            )
    size = float(np.abs(_single(fn, Z)).max())
    return _strengths(lambda columns: _dependence(fn, Z, columns), selected, size)


def _strengths(
    dependence: Callable[[tuple[int, ...]], Array], pairs: Sequence[tuple[int, int]], size: float
) -> dict[tuple[int, int], float]:
    """H from partial dependences at common points. `size`: of the function's values; smaller effects are rounding."""
    scale = max(size, 1e-300)

    def centred(columns: tuple[int, ...]) -> Array:
        values = dependence(columns) / scale
        return np.asarray(values - values.mean())

    alone = {j: centred((j,)) for j in sorted({j for pair in pairs for j in pair})}
    out = {}
    for j, k in pairs:
        together = centred((j, k))
        whole, left = (float(np.sum(part**2)) for part in (together, together - alone[j] - alone[k]))
        out[j, k] = float(np.sqrt(left / whole)) if whole > len(together) * _ROUNDING**2 else 0.0
    return out


def _dependence(fn: Function, Z: Array, columns: tuple[int, ...]) -> Array:
    """Partial dependence on columns at the rows of Z, averaged over the rows of Z."""
    parts = []
    for first in range(0, len(Z), step := max(1, _ROWS_AT_ONCE // len(Z))):
        held = Z[first : first + step]
        points = np.repeat(Z[None], len(held), axis=0)
        points[:, :, columns] = held[:, None, columns]
        parts.append(_single(fn, points.reshape(-1, Z.shape[1])).reshape(len(held), -1).mean(axis=1))
    return np.concatenate(parts)


def permutation_importance(fn: Function, X: Array, y: Array, n_repeats: int = _N_REPEATS, seed: int = 0) -> Array:
    """Increase (d,) of the mean squared error of `fn` as a prediction of y when a column of X is shuffled."""
    X, y = np.atleast_2d(np.asarray(X, dtype=float)), np.asarray(y, dtype=float)
    if y.shape != (len(X),) or len(X) == 0:
        raise ValueError(f"`y` has one value per row of `X`, but their shapes are {y.shape} and {X.shape}.")
    if n_repeats < 1:
        raise ValueError(printable(f"`n_repeats` must be at least 1, but got {n_repeats}."))
    rng = stream(seed, "permutation importance")
    error = float(np.mean((_single(fn, X) - y) ** 2))
    out = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        for _ in range(n_repeats):
            shuffled = X.copy()
            shuffled[:, j] = X[rng.permutation(len(X)), j]
            out[j] += (float(np.mean((_single(fn, shuffled) - y) ** 2)) - error) / n_repeats
    return out


def _single(fn: Function, X: Array) -> Array:
    """Values of a function with one output."""
    out = shapley.evaluated(fn, X)
    if out.ndim != 1:
        raise ValueError(f"`fn` must return one number per row here, but returned shape {out.shape}.")
    return out


def _spread(values: Array) -> float:
    """Standard deviation without overflow."""
    size = max(float(np.abs(values).max()), 1e-300)
    return size * float(np.std(values / size))


# ---------------------------------------------------------------------- of a trial


def compare_importance(study: Study, trial: int, *, objective: str | int | None = None) -> ImportanceComparison:
    """Each parameter's share in the predicted objective of a trial, by four methods, and which parameters interact.

    The model is that of `explain_proposal`. The absolute shares sum to one; a negative share counted against the trial.
    The ablation starts at the configuration whose prediction is nearest to the average over the space, so that it
    splits about the same difference as the Shapley values.

    Args:
        study: any study.
        trial: number of the trial.
        objective: the one whose prediction is split, by name or number, if the study has several.
    """
    with opened(study, "compare_importance", objective) as (beliefs, target):
        return _compared(case_of(beliefs.view, trial, target))


def _compared(case: ModelCase) -> ImportanceComparison:
    game = case.game
    gp, space, x, players = game.gp, game.space, game.x, game.players

    def attractive(X: Array) -> Array:
        return -gp.latent_mean(space.canonical(X))

    (part,) = parts_of("global", space, x, players)
    rows = rows_of(part, space, 0, _N_BACKGROUND, 0)
    predicted = attractive(rows)
    pairs = list(combinations(players, 2))
    if gp.kernel.radial:
        values = np.asarray(shapley.shapley_values(attractive, x, rows[:_N_PAIRS], players=players).values)
        strengths = friedman_h(attractive, rows[:_N_PAIRS], pairs)
    else:
        values = -mean_shapley(gp, x, space, players, part).values
        strengths = _strengths(_exact_dependence(gp, space, rows, part), pairs, float(np.abs(predicted).max()))
    source = rows[int(np.argmin(np.abs(predicted - predicted.mean())))]
    ablation = ablation_path(attractive, source, x, players)
    axes = {j: axis_grid(space, j, _N_LINE) for j in players}
    observed = gp.data.X[: case.n_trials], -gp.data.z[: case.n_trials]
    columns = list(players)
    return ImportanceComparison(
        trial=case.trial,
        params=tuple(space.names[j] for j in players),
        shapley=_shares(values),
        ablation=_shares(ablation.gains[columns]),
        local=_shares(local_importance(attractive, x, axes)[columns]),
        permutation=_shares(permutation_importance(attractive, *observed)[columns]),
        ablation_order=tuple(space.names[j] for j in ablation.order),
        interactions={(space.names[j], space.names[k]): h for (j, k), h in strengths.items()},
        proposed=case.proposed,
        objective=case.objective,
        n_trials=case.n_trials,
    )


def _exact_dependence(gp: GaussianProcess, space: Space, rows: Array, part: Part) -> Callable[[tuple[int, ...]], Array]:
    """Partial dependence of the mean at rows, averaged over the space in closed form."""
    factors = Factors(gp.kernel, np.array(gp.hyperparameters.lengthscales))

    def dependence(columns: tuple[int, ...]) -> Array:
        average = Average(space, {j: rows[:, j] for j in columns}, part)
        return -(average.cross(factors, gp.data.X) @ gp.data.alpha)

    return dependence


def _shares(values: Array) -> tuple[float, ...]:
    size = float(np.abs(values).sum())
    return tuple(float(v) / size if size else 0.0 for v in values)
