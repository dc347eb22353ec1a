"""Importance for `optuna.importance.get_param_importances(study, evaluator=...)`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers.importance.draws import spread_over_cells
from pellucid.answers.importance.hsic import MEDIAN, hsic_index
from pellucid.answers.importance.indices import total_indices
from pellucid.answers.importance.shares import supported, thinned
from pellucid.beliefs import Fits
from pellucid.models.hyperparameters import vary
from pellucid.numerics import Array, Mask, one_thread
from pellucid.space.encoding import Space
from pellucid.study.arrays import arrays
from pellucid.study.constraints import unconstrained
from pellucid.study.goals import best
from pellucid.study.observations import Observations
from pellucid.study.targets import Direction, Target, single_objective
from pellucid.study.trials import distributions
from pellucid.words import printable

Measure = Callable[[FrozenTrial], float]


class ImportanceEvaluator(BaseImportanceEvaluator):
    """The share of the variance that each parameter is responsible for, with its interactions: total Sobol indices.

    A conditional parameter is judged in the branch in which it exists. Optuna takes one number per parameter;
    `pellucid.importance` also gives intervals, verdicts, first-order indices and interactions.
    """

    def evaluate(
        self, study: Study, params: list[str] | None = None, *, target: Measure | None = None
    ) -> dict[str, float]:
        trials, values, newest, names, direction = _asked(study, params, target, type(self).__name__)
        losses = -values if direction == "maximize" else values
        indices = dict.fromkeys(names, 0.0)
        varying = {name: distribution for name, distribution in newest.items() if not distribution.single()}
        if varying and vary(losses):
            numbers = tuple(trial.number for trial in trials)
            configurations = tuple(trial.params for trial in trials)
            n = len(trials)
            observed = Observations(
                numbers, configurations, losses[:, None], (None,), (True,) * n, unconstrained(n), (False,) * n
            )
            data = thinned(arrays(varying, observed))
            if vary(data.losses):
                with one_thread:
                    model, _ = Fits(Target("objective")).effect_model(data)
                    pairs = zip(total_indices(model.gp, data.space).tolist(), model.evidence.tolist(), strict=True)
                totals = [supported(total, gain, len(data.losses)) for total, gain in pairs]
                found = dict(zip(data.space.names, totals, strict=True))
                indices = {name: found.get(name, 0.0) for name in names}
        return dict(sorted(indices.items(), key=lambda item: -item[1]))


class HsicImportanceEvaluator(BaseImportanceEvaluator):
    """How differently parameters are distributed among the best trials: HSIC towards the best `share` of them.

    A conditional parameter is judged among the trials that have it. Optuna takes one number per parameter;
    `pellucid.hsic_importance` also gives errors, p-values and interactions.
    """

    def __init__(self, *, share: float = 0.1) -> None:
        self._goal = best(share)

    def evaluate(
        self, study: Study, params: list[str] | None = None, *, target: Measure | None = None
    ) -> dict[str, float]:
        trials, values, newest, names, direction = _asked(study, params, target, type(self).__name__)
        sign = -1.0 if direction == "maximize" else 1.0
        in_goal = self._goal.reached(values, np.zeros(len(values), dtype=bool), sign)
        with one_thread:
            indices = {name: _index(name, newest[name], trials, in_goal) for name in names}
        return dict(sorted(indices.items(), key=lambda item: -item[1]))


def _asked(
    study: Study, params: list[str] | None, target: Measure | None, asker: str
) -> tuple[list[FrozenTrial], Array, dict[str, BaseDistribution], list[str], Direction]:
    """Complete trials with a finite value, these values, newest distributions, parameters asked for, and direction."""
    direction: Direction = "minimize"
    if target is None:
        direction = single_objective(study, f"{asker} without a `target`").direction
    trials, values = [], []
    for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        value = float(target(trial)) if target is not None else float(trial.values[0])
        if np.isfinite(value):
            trials.append(trial)
            values.append(value)
    newest = distributions(trials)
    missing = [name for name in params or () if name not in newest]
    if missing:
        raise ValueError(
            printable(f"Every parameter must be in a finished trial, but these are in none: {', '.join(missing)}.")
        )
    return trials, np.array(values), newest, list(newest) if params is None else list(params), direction


def _index(name: str, distribution: BaseDistribution, trials: list[FrozenTrial], in_goal: Mask) -> float:
    if distribution.single():
        return 0.0
    space = Space.of({name: distribution})
    rows = [i for i, trial in enumerate(trials) if name in trial.params]
    X, fits = space.encode([{name: trials[i].params[name]} for i in rows])
    kept = [i for i, fit in zip(rows, fits, strict=True) if fit]
    z = in_goal[kept]
    if not 0 < z.sum() < len(z):
        return 0.0
    return hsic_index(spread_over_cells(space, X[fits], [trials[i].number for i in kept]), z, MEDIAN)[0]
