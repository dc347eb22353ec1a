"""The other trials of a study, as a proposal sees them: known, failed, and still running.

A configuration is complete if it has every parameter that is always active; only complete ones can be encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.models import GaussianProcess, thinning
from pellucid.numerics import Array
from pellucid.space.encoding import Space
from pellucid.study import trials
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView


@dataclass(frozen=True)
class Imputed:
    """Trials without a value: numbers and rows of those that failed, rows of those that run, by number."""

    failed: list[int]
    X_failed: Array
    running: dict[int, Array]

    @staticmethod
    def of(data: Arrays, view: StudyView, number: int) -> Imputed:
        """All of them but trial `number` that fit the space; a running trial may be among the observations already."""
        observed = set(data.observations.numbers)
        running = pending(data.space, view, number)
        return Imputed(*failed(data.space, view), {k: x for k, x in running.items() if k not in observed})

    @property
    def rows(self) -> Array:
        d = self.X_failed.shape[1]
        return np.vstack([self.X_failed, np.array(list(self.running.values())).reshape(-1, d)])

    def thinned(self, gp: GaussianProcess) -> Imputed:
        """With a choice of the failed trials if there are too many for all of them."""
        l = np.array(gp.hyperparameters.lengthscales)
        rows = thinning.newest_and_spread_rows(gp.kernel, l, self.X_failed, thinning.MOST_FAILED)
        return Imputed([self.failed[row] for row in rows], self.X_failed[rows], self.running)


def taken(params: Mapping[str, Any], others: Mapping[int, Mapping[str, Any]]) -> bool:
    """Whether another trial has, or was offered, exactly these parameters."""
    return any(
        all(name in other and other[name] == value for name, value in params.items()) for other in others.values()
    )


def known(space: Space, view: StudyView, number: int) -> Array:
    """Canonical configurations of all trials but `number` that fit the space, in any state."""
    finished = [trial.params for trial in view.trials if trial.number != number and trial.state.is_finished()]
    running = trials.pending(view.trials, number).values()
    configurations = [params for params in (*finished, *running) if complete(space, params)]
    if not configurations:
        return np.empty((0, len(space)))
    X, fits = space.encode(configurations)
    return space.canonical(X[fits])


def failed(space: Space, view: StudyView) -> tuple[list[int], Array]:
    """Failed trials that fit the space: their numbers and encoded configurations."""
    candidates = [trial for trial in trials.failed(view.trials) if complete(space, trial.params)]
    if not candidates:
        return [], np.empty((0, len(space)))
    X, fits = space.encode([trial.params for trial in candidates])
    return [trial.number for trial, fit in zip(candidates, fits, strict=True) if fit], X[fits]


def pending(space: Space, view: StudyView, number: int) -> dict[int, Array]:
    """Running trials but `number` that fit the space: encoded configurations by number."""
    running = {k: params for k, params in trials.pending(view.trials, number).items() if complete(space, params)}
    if not running:
        return {}
    X, fits = space.encode(list(running.values()))
    return {k: x for k, x, fit in zip(running, space.canonical(X), fits, strict=True) if fit}


def complete(space: Space, configuration: Mapping[str, Any]) -> bool:
    return all(name in configuration for name in space.names if name not in space.conditions)
