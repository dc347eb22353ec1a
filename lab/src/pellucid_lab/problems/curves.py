"""Trainings with a value after every step, by name: YAHPO's surrogate of `lcbench` by epochs, and real ones.

Rules and defaults are chosen on `DESIGN_NAMES`; `REPORTED_NAMES` has other tasks. The best value of a task of lcbench
is that of a random search of 20,000 complete trainings, as in `bench regret`; tables also know that of their runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import CurveProblem, require_modules
from pellucid_lab.problems.trainings import TRAININGS, training_problem
from pellucid_lab.problems.yahpo import LCBENCH, REFERENCE_SIZE, load_surrogate, reference_search, scenario_folder

SURROGATE = "lcbench"
_FIDELITY, _EPOCHS = "epoch", 52
_MODULES, _PACKAGES = ("onnxruntime",), ("onnxruntime",)

_DESIGN_TASKS = ("3945", "7593", "126026", "167161", "167168", "168908")
_REPORTED_TASKS = ("34539", "167104", "167149", "167152", "167184", "189873", "189908")

DESIGN_NAMES = tuple(f"{SURROGATE}-{task}" for task in _DESIGN_TASKS)
REPORTED_NAMES = tuple(f"{SURROGATE}-{task}" for task in _REPORTED_TASKS)
TRAINING_NAMES = tuple(TRAININGS)
SETS = {"design": DESIGN_NAMES, "reported": REPORTED_NAMES, "trainings": TRAINING_NAMES}
NAMES = (*DESIGN_NAMES, *REPORTED_NAMES, *TRAINING_NAMES)


def check_curves(name: str, data: str | None) -> None:
    """Raise `Mistake` if there is no such problem, and `Unavailable` if a package or its files are missing."""
    if name not in NAMES:
        raise Mistake(f"The problems with curves are {', '.join(NAMES)}; got `{name}`.")
    if name in TRAININGS:
        require_modules(TRAININGS[name].modules, f"the problem {name}")
    else:
        require_modules(_MODULES, f"the problem {name}")
        scenario_folder(LCBENCH, data)


def family(name: str) -> str:
    """Problems of a family have the same unit: balanced accuracy, or the logarithmic loss of real trainings."""
    return "trainings" if name in TRAININGS else SURROGATE


@cache
def curve_problem(name: str, data: str | None = None) -> CurveProblem:
    check_curves(name, data)
    return training_problem(name) if name in TRAININGS else _surrogate_problem(name, data)


def _surrogate_problem(name: str, data: str | None) -> CurveProblem:
    task = name.removeprefix(f"{SURROGATE}-")
    surrogate = load_surrogate(LCBENCH, data)

    def curve(params: Mapping[str, Any]) -> Iterator[float]:
        return iter(surrogate.curve({**params, LCBENCH.task: task}, _FIDELITY, _EPOCHS).tolist())

    _, best = reference_search(LCBENCH, task, data)
    source = f"{REFERENCE_SIZE:,} random configurations"
    return CurveProblem(name, "maximize", surrogate.space, _EPOCHS, curve, best, source)


def packages_of_problem(name: str) -> tuple[str, ...]:
    """Distributions that determine its values, so that their versions belong to a result."""
    return TRAININGS[name].packages if name in TRAININGS else _PACKAGES
