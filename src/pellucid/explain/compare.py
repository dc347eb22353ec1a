"""Other ways to say which parameter matters, beside Shapley values: for side-by-side views.

Notation: u (n, d) -> (n,) is better the larger it is; x (d,) the explained point.
    ablation     from a source to x, flipping at every step the coordinate that gains most (Fawcett and Hoos)
    local        variance of u along every axis through x, as shares of their sum (Biedenkapp et al.)
    H            of a pair: how much of its joint partial dependence is interaction, 0 to 1 (Friedman and Popescu)
    permutation  how much the squared error grows when a column of the data is shuffled (Breiman)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from optuna.study import Study

from pellucid.acquisition.information import axis_grid
from pellucid.explain import shapley
from pellucid.explain.background import rows_of
from pellucid.explain.cases import Case, case_of
from pellucid.explain.shapley_mean import mean_shapley
from pellucid.numerics import Array, one_thread, stream
from pellucid.records import Comparison
from pellucid.space import study_io

Function = Callable[[Array], Array]
_N_LINE = 100
_ROUNDING = 1e-12
_ROWS_AT_ONCE = 4096
_N_BACKGROUND = 1024
_N_PAIRS = 64
_N_REPEATS = 20


@dataclass(frozen=True)
class Ablation:
    """A greedy path from one point to another.

    order        columns in the order in which they were flipped;  values  u before the first and after every flip
    gains        per column, what its flip gained;  first_round  what flipping it first would have gained
    """

    order: tuple[int, ...]
    values: Array
    gains: Array
    first_round: Array


def ablation_path(fn: Function, source: Array, target: Array, players: Sequence[int] | None = None) -> Ablation:
    """Which flips, one after the other, lead best from `source` to `target`. Columns that are equal already gain 0."""
    here, goal = np.array(source, dtype=float), np.asarray(target, dtype=float)
    if here.ndim != 1 or here.shape != goal.shape:
        raise ValueError(f"`source` and `target` are two points (d,), but have shapes {here.shape} and {goal.shape}.")
    left = list(range(len(here)) if players is None else players)
    value = float(shapley.evaluated(fn, here[None])[0])
    values: list[float] = [value]
    order: list[int] = []
    gains, first_round = np.zeros(len(here)), np.zeros(len(here))
    while left:
        flips = np.repeat(here[None], len(left), axis=0)
        flips[np.arange(len(left)), left] = goal[left]
        after = shapley.evaluated(fn, flips)
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
    lines = axes if isinstance(axes, Mapping) else dict(enumerate(axes))
    variances = np.zeros(len(x))
    for j, line in lines.items():
        points = np.repeat(x[None], len(line), axis=0)
        points[:, j] = line
        variances[j] = float(np.var(shapley.evaluated(fn, points)))
    total = variances.sum()
    return variances / total if total > 0.0 else variances


def friedman_h(
    fn: Function, background: Array, pairs: Sequence[tuple[int, int]] | None = None
) -> dict[tuple[int, int], float]:
    """H of pairs of columns (all of them by default), estimated on the rows of a background (m, d): m^2 evaluations per
    pair and per column. 0: the two add up; 1: nothing but interaction; 0 too where neither does anything."""
    Z = np.atleast_2d(np.asarray(background, dtype=float))
    wanted = list(combinations(range(Z.shape[1]), 2)) if pairs is None else [(int(j), int(k)) for j, k in pairs]
    for j, k in wanted:
        if j == k or not (0 <= j < Z.shape[1] and 0 <= k < Z.shape[1]):
            raise ValueError(f"A pair is two different columns between 0 and {Z.shape[1] - 1}, but got {(j, k)}.")
    alone = {j: _centred_dependence(fn, Z, (j,)) for j in sorted({j for pair in wanted for j in pair})}
    nothing = len(Z) * (_ROUNDING * float(np.abs(shapley.evaluated(fn, Z)).max())) ** 2
    out = {}
    for pair in wanted:
        together = _centred_dependence(fn, Z, pair)
        size = float((together**2).sum())
        left = float(((together - alone[pair[0]] - alone[pair[1]]) ** 2).sum())
        out[pair] = float(np.sqrt(left / size)) if size > nothing else 0.0
    return out


def _centred_dependence(fn: Function, Z: Array, columns: tuple[int, ...]) -> Array:
    """Partial dependence on columns at the rows of Z, minus its mean."""
    parts = []
    for first in range(0, len(Z), step := max(1, _ROWS_AT_ONCE // len(Z))):
        held = Z[first : first + step]
        points = np.repeat(Z[None], len(held), axis=0)
        points[:, :, columns] = held[:, None, columns]
        parts.append(shapley.evaluated(fn, points.reshape(-1, Z.shape[1])).reshape(len(held), -1).mean(axis=1))
    values = np.concatenate(parts)
    return np.asarray(values - values.mean())


def permutation_importance(fn: Function, X: Array, y: Array, n_repeats: int = _N_REPEATS, seed: int = 0) -> Array:
    """Growth (d,) of the mean squared error of `fn` as a prediction of y when a column of X is shuffled."""
    X, y = np.atleast_2d(np.asarray(X, dtype=float)), np.asarray(y, dtype=float)
    rng = stream(seed, "permutation importance")
    error = float(np.mean((shapley.evaluated(fn, X) - y) ** 2))
    out = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        for _ in range(n_repeats):
            shuffled = X.copy()
            shuffled[:, j] = X[rng.permutation(len(X)), j]
            out[j] += (float(np.mean((shapley.evaluated(fn, shuffled) - y) ** 2)) - error) / n_repeats
    return out


# ---------------------------------------------------------------------- of a trial


def compare_importance(study: Study, trial: int) -> Comparison:
    """What made the predicted objective of a trial good, told four ways, and which parameters interact in the model.

    The model is the one behind `explain_proposal`. Shares sum to one; a negative one counted against the trial. The
    ablation starts at the configuration whose prediction is nearest to the average over the space, so that it shares
    out about the same as the Shapley values.
    """
    study_io.require_single_objective(study, "compare_importance")
    found = {t.number: t for t in study_io.trials(study)}
    if not found:
        raise ValueError("The study has no trials yet, so there is nothing to compare.")
    with one_thread:
        return _compared(case_of(found, trial, study_io.sign(study)))


def _compared(case: Case) -> Comparison:
    game = case.game
    gp, space, x, players = game.gp, game.space, game.x, game.players

    def attractive(X: Array) -> Array:
        return -gp.latent(space.canonical(X))[0]

    rows = rows_of({}, space, 0, _N_BACKGROUND, 0)
    predicted = attractive(rows)
    if gp.kernel.radial:
        values = np.asarray(shapley.shapley_values(attractive, x, rows[:_N_PAIRS], players=players).values)
    else:
        values = -mean_shapley(gp, x, space, players).values
    source = rows[int(np.argmin(np.abs(predicted - predicted.mean())))]
    ablation = ablation_path(attractive, source, x, players)
    axes = {j: axis_grid(space, j, _N_LINE) for j in players}
    names = [space.names[j] for j in players]
    strengths = friedman_h(attractive, rows[:_N_PAIRS], list(combinations(players, 2)))
    return Comparison(
        trial=case.trial,
        params=tuple(names),
        shapley=_shares(values),
        ablation=_shares(ablation.gains[list(players)]),
        local=_shares(local_importance(attractive, x, axes)[list(players)]),
        permutation=_shares(permutation_importance(attractive, gp.data.X, -gp.data.z)[list(players)]),
        ablation_order=tuple(space.names[j] for j in ablation.order),
        interactions={(space.names[j], space.names[k]): h for (j, k), h in strengths.items()},
        proposed=case.proposed,
    )


def _shares(values: Array) -> tuple[float, ...]:
    total = float(values.sum())
    return tuple(float(v) / total if total else 0.0 for v in values)
