"""HSIC importance where Optuna asks for it: `optuna.importance.get_param_importances(study, evaluator=...)`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from pellucid.explain.importance.draws import Mask, spread_over_cells
from pellucid.explain.importance.hsic import MEDIAN, hsic_index
from pellucid.goals import best
from pellucid.numerics import one_thread
from pellucid.study import study_io
from pellucid.study.encoding import Space


class HsicImportanceEvaluator(BaseImportanceEvaluator):
    """How differently parameters are distributed among the best trials: HSIC towards the best `share` of them.

    A conditional parameter is judged among the trials that have it. Errors, p-values and interactions come with
    `pellucid.hsic_importance`; here Optuna wants one number per parameter.
    """

    def __init__(self, *, share: float = 0.1) -> None:
        self._goal = best(share)

    def evaluate(
        self, study: Study, params: list[str] | None = None, *, target: Callable[[FrozenTrial], float] | None = None
    ) -> dict[str, float]:
        if target is None:
            study_io.require_single_objective(study, "HsicImportanceEvaluator without a `target`")
        maximised = target is None and study.directions[0] == StudyDirection.MAXIMIZE
        found, values = [], []
        for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            value = float(target(trial)) if target is not None else float(trial.values[0])
            if np.isfinite(value):
                found.append(trial)
                values.append(value)
        newest = study_io.distributions(found)
        if params is not None:
            missing = [name for name in params if name not in newest]
            if missing:
                raise ValueError(
                    f"Every parameter must be in at least one finished trial, but {', '.join(missing)} is in none."
                )
        names = list(newest) if params is None else list(params)
        goal = self._goal.reached(np.array(values), np.zeros(len(values), dtype=bool), -1.0 if maximised else 1.0)
        with one_thread:
            out = {name: _index(name, newest[name][0], found, goal) for name in names}
        return dict(sorted(out.items(), key=lambda item: -item[1]))


def _index(name: str, distribution: BaseDistribution, found: list[FrozenTrial], goal: Mask) -> float:
    if distribution.single():
        return 0.0
    space = Space.of({name: distribution})
    rows = [i for i, trial in enumerate(found) if name in trial.params]
    X, fits = space.encode([{name: found[i].params[name]} for i in rows])
    kept = [i for i, fit in zip(rows, fits, strict=True) if fit]
    z = goal[kept]
    if not 0 < z.sum() < len(z):
        return 0.0
    return hsic_index(spread_over_cells(space, X[fits], [found[i].number for i in kept]), z, MEDIAN)[0]
