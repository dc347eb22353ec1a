"""Accuracy against time: the YAHPO surrogates of networks (`lcbench`) and of boosting (`rbv2_xgboost`).

Their fronts are not known: 200,000 random configurations stand for them (`searched`), so that a run can dominate more
volume than the front that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid_lab.base import Outcomes, SeveralProblem, require_modules, stable_seed
from pellucid_lab.problems.yahpo import (
    LCBENCH,
    RBV2_XGBOOST,
    Scenario,
    load_surrogate,
    random_outputs,
    scenario_folder,
)

MODULES, PACKAGES = ("onnxruntime",), ("onnxruntime",)
SEARCHED = 200_000


@dataclass(frozen=True)
class Tuning:
    """A task of a scenario with the outputs that count: the first is maximised, the second minimised."""

    scenario: Scenario
    task: str
    outputs: tuple[str, str]
    reference: tuple[float, float]
    volume: float


_NETWORK = ("val_balanced_accuracy", "time")
_BOOSTING = ("acc", "timetrain")

# Tasks whose front has many points, over a range of times that does not make all but the slowest alike.
TUNINGS = {
    "lcbench-167161": Tuning(LCBENCH, "167161", _NETWORK, (0.589, 417.0), 86.33298),
    "lcbench-167168": Tuning(LCBENCH, "167168", _NETWORK, (0.324, 419.0), 215.3079),
    "lcbench-168908": Tuning(LCBENCH, "168908", _NETWORK, (0.699, 2591.0), 193.0744),
    "lcbench-167104": Tuning(LCBENCH, "167104", _NETWORK, (0.46, 302.0), 138.263),
    "lcbench-189908": Tuning(LCBENCH, "189908", _NETWORK, (0.8155, 883.0), 60.14015),
    "rbv2-307": Tuning(RBV2_XGBOOST, "307", _BOOSTING, (0.0, 13.3), 11.90143),
    "rbv2-1063": Tuning(RBV2_XGBOOST, "1063", _BOOSTING, (0.793, 3.72), 0.3005081),
    "rbv2-46": Tuning(RBV2_XGBOOST, "46", _BOOSTING, (0.427, 21.8), 11.6349),
    "rbv2-1487": Tuning(RBV2_XGBOOST, "1487", _BOOSTING, (0.9197, 2.81), 0.07458632),
}


def check_tuning(name: str, data: str | None) -> None:
    """Raise `Unavailable` if a package or the files are missing."""
    require_modules(MODULES, f"the problem {name}")
    scenario_folder(TUNINGS[name].scenario, data)


def tuning_problem(name: str, data: str | None) -> SeveralProblem:
    tuning = TUNINGS[name]
    surrogate = load_surrogate(tuning.scenario, data)
    fixed = {tuning.scenario.task: tuning.task, **dict(tuning.scenario.fidelity)}

    def evaluate(params: Mapping[str, Any]) -> Outcomes:
        predicted = surrogate.predict({**params, **fixed})
        return Outcomes({output: predicted[output] for output in tuning.outputs})

    accuracy, seconds = tuning.outputs
    return SeveralProblem(
        name=name,
        directions={accuracy: "maximize", seconds: "minimize"},
        suggest=surrogate.suggest,
        evaluate=evaluate,
        reference=tuning.reference,
        volume=tuning.volume,
        source=f"{SEARCHED:,} random configurations",
    )


def searched(name: str, size: int, data: str | None) -> NDArray[np.float64]:
    """(size, 2) outputs of random configurations."""
    tuning = TUNINGS[name]
    rng = np.random.default_rng(stable_seed("front", name))
    outputs = random_outputs(load_surrogate(tuning.scenario, data), tuning.task, size, rng)
    return outputs[:, [tuning.scenario.outputs.index(output) for output in tuning.outputs]]
