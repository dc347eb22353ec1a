"""Which parameters trade one objective against the other, and which only waste.

At a configuration inside the front, the slopes of both objectives point in opposite directions: moving a parameter that
has a slope makes one better and the other worse, and stays on the front to first order. A parameter without slopes
there (or at the end of its range) only makes things worse when it moves. So parameters are moved, one at a time, from
configurations on the front, and joint draws say what that does. Where parameters have to move together, as along a
constraint, no single move stays on the front; there a parameter trades if the value that it has in one place of the
front falls behind in another.

Notation
    members (c, d)    configurations on the front;  moves (m, d)  with one parameter moved, from member `origin`
    G (s, c + m, 2)   joint draws of both objectives in units of the length of the front: members first, then moves
    behind            how far an outcome is behind the front of a draw: the least that both objectives have to gain for
                      it to be on the front; 0 on it
    traded            what one objective gains or the other loses by a move, whichever is less
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.answers.fronts.records import ParameterRole
from pellucid.claims import TRADES, WASTES
from pellucid.numerics import Array, Indices, Mask
from pellucid.pareto import behind
from pellucid.space.encoding import Space

# Where an ordered parameter is moved to: steps from its own value, and values over its range.
_STEPS, _VALUES = (-0.1, 0.1), (0.1, 0.3, 0.5, 0.7, 0.9)
# Choices that a parameter is moved to, at most.
_MOST_CHOICES = 7


@dataclass(frozen=True, eq=False)
class Moves:
    """Configurations X (m, d) that differ from their `origin` (m,) in the parameter `column` (m,). `borrowed` (m,): the
    new value is that of another member."""

    X: Array
    origin: Indices
    column: Indices
    borrowed: Mask


def moves(space: Space, members: Array) -> Moves:
    """The moves of every parameter that exists at some member, without those that change nothing. Members are in the
    order of the front: its ends lend their values."""
    rows, origins, columns, borrowed = [], [], [], []
    for j, dimension in enumerate(space.dimensions):
        ends = members[[0, -1], j]
        for i, member in enumerate(members):
            if dimension.categorical:
                values = dimension.midpoint(np.arange(dimension.cells)[:_MOST_CHOICES])
            else:
                values = np.r_[np.clip(member[j] + np.array(_STEPS), 0.0, 1.0), _VALUES]
            moved = np.repeat(member[None], len(values) + 2, axis=0)
            moved[:, j] = np.r_[values, ends]
            rows.append(moved)
            origins.append(np.full(len(moved), i))
            columns.append(np.full(len(moved), j))
            borrowed.append(np.arange(len(moved)) >= len(values))
    X, origin = space.canonical(np.vstack(rows)), np.concatenate(origins)
    changed = (np.abs(X - members[origin]) > 1e-9).any(axis=1)
    return Moves(X[changed], origin[changed], np.concatenate(columns)[changed], np.concatenate(borrowed)[changed])


def parameter_roles(space: Space, moved: Moves, G: Array, n_members: int) -> tuple[ParameterRole, ...]:
    """The role of every parameter, the most certain first."""
    members, outcomes = G[:, :n_members], G[:, n_members:]
    own = behind(members, members)[:, moved.origin]
    lag = behind(outcomes, members)
    with np.errstate(invalid="ignore"):
        change = outcomes - members[:, moved.origin]
        wasted = np.nan_to_num(lag - own, nan=0.0, posinf=1.0)
    gain, loss = -change.min(axis=2), change.max(axis=2)
    close = np.asarray(wasted <= WASTES.threshold)
    traded = np.where(close, np.nan_to_num(np.minimum(gain, loss), nan=0.0, posinf=0.0), 0.0).clip(0.0)
    roles = []
    for j, name in enumerate(space.names):
        own_moves = np.flatnonzero(moved.column == j)
        roles.append(_role(name, traded[:, own_moves], wasted[:, own_moves].clip(0.0), moved.borrowed[own_moves]))
    order = ("trades", "wastes", "neither", "not known")
    return tuple(sorted(roles, key=lambda role: (order.index(role.role), -role.traded, -role.wasted)))


def _role(name: str, traded: Array, wasted: Array, borrowed: Mask) -> ParameterRole:
    """From what the moves of one parameter do, (s, m) each."""
    if not traded.shape[1]:
        return ParameterRole(name, "not known", *(0.0,) * 6)
    trades, wastes = (traded >= TRADES.threshold).mean(axis=0), (wasted >= WASTES.threshold).mean(axis=0)
    best = int(np.lexsort((np.median(traded, axis=0), trades))[-1])
    trading = max(float(trades[best]), float(wastes[borrowed].max(initial=0.0)))
    if trading >= TRADES.confidence:
        role = "trades"
    elif trading > 1.0 - TRADES.confidence:
        role = "not known"
    elif wastes.max() >= WASTES.confidence:
        role = "wastes"
    else:
        role = "neither" if wastes.max() <= 1.0 - WASTES.confidence else "not known"
    tail = 0.5 * (1.0 - TRADES.confidence)
    ranges = wasted[:, ~borrowed] if not borrowed.all() else wasted
    amounts = np.quantile(np.stack([traded[:, best], ranges.mean(axis=1)]), [0.5, tail, 1.0 - tail], axis=1).T.tolist()
    return ParameterRole(name, role, *amounts[0], *amounts[1])
