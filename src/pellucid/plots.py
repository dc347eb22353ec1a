"""The documented path of `save`, which writes the figure of an answer into a file."""

from pellucid.answers.drawing import save

__all__ = ["save"]
