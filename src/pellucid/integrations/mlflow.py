"""The documented path of `pellucid.surfaces.trackers.mlflow`."""

from pellucid.surfaces.trackers.mlflow import log

__all__ = ["log"]
