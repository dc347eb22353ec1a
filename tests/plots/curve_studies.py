"""Studies whose trials reported learning curves, made without running anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from warnings import catch_warnings, simplefilter

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

Curve = Callable[[float, int, int], float]


def rising(x: float, step: int, steps: int) -> float:
    """An accuracy that depends on the parameter."""
    return (0.9 - 0.3 * abs(x - 0.4)) * (1.0 - math.exp(-3.0 * step / steps))


def curve_study(
    n: int = 14,
    steps: int = 20,
    *,
    curve: Curve = rising,
    stopped: Sequence[int] = (9, 11, 13),
    at: int | None = None,
    direction: str = "maximize",
    name: str | None = None,
) -> optuna.Study:
    """`n` trials of one parameter, `steps` reports each. `stopped`: trials that end after the report `at` (default: a
    quarter)."""
    study = optuna.create_study(direction=direction)
    if name is not None:
        with catch_warnings():
            simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study.set_metric_names([name])
    turn = 1.0 if direction == "maximize" else -1.0
    for i in range(n):
        x = (0.61 * i) % 1.0
        last = max(steps // 4, 1) if at is None else at
        reports = {step: turn * curve(x, step, steps) for step in range(1, (last if i in stopped else steps) + 1)}
        study.add_trial(
            create_trial(
                params={"x": x},
                distributions={"x": FloatDistribution(0, 1)},
                intermediate_values=reports,
                state=TrialState.PRUNED if i in stopped else TrialState.COMPLETE,
                value=None if i in stopped else reports[steps],
            )
        )
    return study
