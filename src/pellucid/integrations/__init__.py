"""The documented path of trackers: `mlflow.log` and `wandb.log`."""
