"""The documented path of goals: sets of outcomes that a question is about."""

from pellucid.study.goals import Goal, above, below, best, failed, on_the_front, such_that, worst

__all__ = ["Goal", "above", "below", "best", "failed", "on_the_front", "such_that", "worst"]
