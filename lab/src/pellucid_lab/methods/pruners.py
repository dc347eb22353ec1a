"""The pruners that can be compared, each with any sampler. To add one, write a line in ``PRUNERS``.

Each has the defaults of its class, and is told the number of steps of a complete training if it asks for it; the median
also comes with a warm-up, without which one step can decide. Reports are numbered from 1.
"""

from __future__ import annotations

from collections.abc import Callable

from optuna.pruners import (
    BasePruner,
    HyperbandPruner,
    MedianPruner,
    NopPruner,
    PatientPruner,
    SuccessiveHalvingPruner,
    WilcoxonPruner,
)

from pellucid import CurvePruner
from pellucid.surfaces.cli.errors import Mistake

# Steps before the first question. On design problems of `bench curves`, one step alone decides too early: the median
# then stops the winners of most runs.
_WARM_UP = 5
# Steps without progress after which the median decides: about a tenth of the longest training.
_PATIENCE = 5

# Made from the number of steps. `wilcoxon` takes the steps for repetitions of the same measurement, which they are not.
PRUNERS: dict[str, Callable[[int], BasePruner]] = {
    "none": lambda steps: NopPruner(),
    "median": lambda steps: MedianPruner(),
    "median-5": lambda steps: MedianPruner(n_warmup_steps=_WARM_UP),
    "patient": lambda steps: PatientPruner(MedianPruner(), patience=_PATIENCE),
    "sha": lambda steps: SuccessiveHalvingPruner(),
    "hyperband": lambda steps: HyperbandPruner(max_resource=steps),
    "wilcoxon": lambda steps: WilcoxonPruner(),
    "curve": lambda steps: CurvePruner(),
    "curve-20": lambda steps: CurvePruner(keep=0.2),
    "curve-100": lambda steps: CurvePruner(keep=1.0),
}


def find_pruner(name: str) -> Callable[[int], BasePruner]:
    if name not in PRUNERS:
        raise Mistake(f"The pruners are {', '.join(PRUNERS)}; got `{name}`.")
    return PRUNERS[name]
