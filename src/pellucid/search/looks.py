"""Looks elsewhere: once a search of few parameters has settled, some trials go where it has not been.

A model that has converged is sure that there is nothing elsewhere, so an acquisition polishes the best configuration
for the rest of the study, and a second, narrower optimum is never found. Once the search has settled, every second
proposal is therefore a look: around a trial that is better than those around it, if it has not had its chance yet, or
else in the middle of the largest hole between the trials. Most looks that come near a narrow optimum only touch its
flank, which the model explains away: without the looks around such trials the others find hardly anything.

Notation
    X (n, d), m (n,)   encoded trials with a value, and the model's latent means there (smaller is better)
    K (k, d)           all trials, encoded: with a value, failed or running
    Z (c, d)           candidates
    room (c,)          half the width of the largest box around a candidate without a trial. Opposite sides of the space
                       touch, so that corners, which lie far from everything, do not come first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.numerics import Array, low_discrepancy
from pellucid.search import others
from pellucid.search.acquisition.bounds import LCB, PosteriorVariance
from pellucid.search.acquisition.policy import Decision
from pellucid.search.maximising import Fitted, Region
from pellucid.space.branches import everywhere
from pellucid.study.receipts import model_receipts
from pellucid.study.view import StudyView

# With more parameters, looks are too few for the space.
_MOST_PARAMETERS = 2
# The search has settled if so many of its last trials lie this close to the best one, and the best mean has improved by
# no more than this in them. That the best value has not improved says too little: the search may be on its way.
RECENT, _N_CLOSE, _CLOSE, _IMPROVED = 8, 6, 0.05, 1e-4
# Then one proposal in this many is a look, until no candidate has more room than this.
_EVERY, _LEAST_ROOM = 2, 0.03
_N_CANDIDATES = 256
# The least chance of being feasible.
LIKELY = 0.5
# A trial is compared with the best trials of this many cells around it, per parameter; cells have this width.
_NEIGHBOURS, _CELL = 2, 0.03
# It has had its chance once this many trials per parameter, and two more, are in the box around it: this far from it.
# Looks there stay this far from each other.
_CHANCE, _BOX, _APART = 2, 0.1, 0.01


def turn(view: StudyView, trial: FrozenTrial, fitted: Fitted) -> Region:
    """A look if it is the turn of one; otherwise the whole space.

    No look goes where trials are rarely feasible. With several objectives there are none: that search keeps moving
    along the front.
    """
    data, space = fitted.data, fitted.data.space
    small = len(space) <= _MOST_PARAMETERS and not any(dimension.categorical for dimension in space.dimensions)
    if trial.number % _EVERY or not small or view.several:
        return Region()
    m = fitted.standing
    looked = {receipt.trial for receipt in model_receipts(view.trials, trial.number) if receipt.look}
    searched = [i for i, number in enumerate(data.observations.numbers) if number not in looked]
    if not settled(data.X, m, searched):
        return Region()
    known = others.known(space, view, trial.number)
    numbers = data.observations.numbers
    why = f"the search had settled near trial {numbers[int(np.argmin(m))]}."
    i = neglected(data.X, m, known)
    if i is not None:
        x = _around(data.X[i], known, fitted)
        if x is not None:
            words = f"It looked around trial {numbers[i]}, which is better than its neighbours: {why}"
            return Region(turn=words, look=Decision(LCB(2.0), x=x))
    candidates = everywhere(space, _N_CANDIDATES)
    room = np.where(fitted.chance_of_feasible(candidates) >= LIKELY, rooms(candidates, known), 0.0)
    if room.max() <= _LEAST_ROOM:
        return Region()
    words = f"It looked where nothing had been tried: {why}"
    return Region(turn=words, look=Decision(PosteriorVariance(), x=candidates[int(np.argmax(room))]))


def settled(X: Array, m: Array, searched: Sequence[int]) -> bool:
    """Whether a search stays where it is. `searched`: its trials, which are no looks, as rows of X in their order."""
    if len(searched) <= RECENT:
        return False
    last = list(searched[-RECENT:])
    close = (np.abs(X[last] - X[int(np.argmin(m))]) <= _CLOSE).all(axis=1)
    return bool(close.sum() >= _N_CLOSE and np.delete(m, last).min() - m.min() <= _IMPROVED)


def rooms(Z: Array, K: Array) -> Array:
    """room (c,)."""
    apart = np.zeros((len(Z), len(K)))
    for j in range(Z.shape[1]):
        straight = np.abs(Z[:, None, j] - K[None, :, j])
        apart = np.maximum(apart, np.minimum(straight, 1.0 - straight))
    return np.asarray(apart.min(axis=1, initial=0.5))


def neglected(X: Array, m: Array, K: Array) -> int | None:
    """The row of X, best first, that is better than its neighbours and has not had its chance; None if there is none.

    The neighbourhood of the best of all is left out: it is where the search is.
    """
    order = np.argsort(m, kind="stable")
    _, first = np.unique(np.floor(X[order] / _CELL), axis=0, return_index=True)
    rows = order[np.sort(first)]
    n_parameters = X.shape[1]
    n_neighbours = _NEIGHBOURS * n_parameters + 1
    for place, i in enumerate(rows[1:], start=1):
        apart = np.abs(X[rows] - X[i]).max(axis=1)
        nearest = np.argsort(apart, kind="stable")[1 : n_neighbours + 1]
        # Rows are sorted, so the better ones are those before it.
        if apart[0] > 2.0 * _BOX and (nearest > place).all():
            inside = int((np.abs(K - X[i]).max(axis=1) <= _BOX).sum())
            if inside < _CHANCE * n_parameters + 2:
                return int(i)
    return None


def _around(x: Array, known: Array, fitted: Fitted) -> Array | None:
    """The configuration (d,) in the box around x with the best lower bound; None if there is no new one."""
    steps = 2.0 * low_discrepancy(0, _N_CANDIDATES, np.full(len(x), 0.5)) - 1.0
    Z = fitted.data.space.canonical(np.clip(x + _BOX * steps, 0.0, 1.0))
    Z = Z[np.abs(Z[:, None] - known[None]).max(axis=2).min(axis=1, initial=1.0) > _APART]
    Z = Z[fitted.chance_of_feasible(Z) >= LIKELY]
    if not len(Z):
        return None
    m, s = fitted.gp.latent(Z)
    return np.asarray(Z[int(np.argmin(m - 2.0 * s))])
