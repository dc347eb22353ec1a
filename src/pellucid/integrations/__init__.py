"""The documented path of trackers: `mlflow.log` and `wandb.log`."""

from pellucid.integrations import mlflow, wandb

__all__ = ["mlflow", "wandb"]
