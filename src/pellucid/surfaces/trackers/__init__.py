"""The answers about a study, for experiment trackers: one run per study, updated when it is logged again.

`contents` decides what a run holds; `mlflow` and `wandb` write it. Neither package is imported before `log` is called.
"""

from pellucid.surfaces.trackers import mlflow, wandb

__all__ = ["mlflow", "wandb"]
