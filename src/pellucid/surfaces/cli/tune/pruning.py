"""The pruners that `pellucid tune` offers."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pellucid.surfaces.cli.errors import Mistake

if TYPE_CHECKING:
    from optuna.pruners import BasePruner


class PrunerName(str, Enum):
    CURVE = "curve"
    MEDIAN = "median"
    HYPERBAND = "hyperband"
    NONE = "none"


def check_pruner(name: PrunerName, keep: float | None) -> None:
    """Raise Mistake if the pruner cannot be made."""
    if keep is None:
        return
    if name is not PrunerName.CURVE:
        raise Mistake(f"--keep belongs to --pruner curve; got `{name.value}`: leave --keep out, or use `curve`.")
    if not 0.0 <= keep <= 1.0:
        raise Mistake(f"--keep is a probability, from 0 (stop nothing) to 1; got {keep:g}. The default is 0.05.")


def check_pruned_objectives(name: PrunerName, n_objectives: int) -> None:
    """Raise Mistake if the pruner cannot judge the trials of a study with so many objectives.

    The default passes: an objective that returns several values may not report any, so no pruner is ever asked.
    """
    if n_objectives > 1 and name in (PrunerName.CURVE, PrunerName.HYPERBAND):
        raise Mistake(f"Trials are stopped early by one objective; the study has {n_objectives}: leave --pruner out.")


def make_pruner(name: PrunerName, keep: float | None) -> BasePruner:
    """The pruner of one worker. All workers decide alike, because every decision rests on the storage.

    `keep`: of `CurvePruner`; None: its default.
    """
    import optuna

    from pellucid import CurvePruner

    match name:
        case PrunerName.CURVE:
            return CurvePruner() if keep is None else CurvePruner(keep=keep)
        case PrunerName.MEDIAN:
            return optuna.pruners.MedianPruner()
        case PrunerName.HYPERBAND:
            return optuna.pruners.HyperbandPruner()
        case PrunerName.NONE:
            return optuna.pruners.NopPruner()
