"""The documented path of what Optuna Dashboard shows of a study."""

from pellucid.surfaces.dashboard import publish

__all__ = ["publish"]
