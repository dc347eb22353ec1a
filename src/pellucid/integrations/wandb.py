"""The documented path of `pellucid.surfaces.trackers.wandb`."""

from pellucid.surfaces.trackers.wandb import log

__all__ = ["log"]
