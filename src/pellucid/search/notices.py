"""What a sampler says about the other trials of a study."""

from __future__ import annotations

import logging
from datetime import datetime

from pellucid.study.liveness import dead_looking, dead_trials
from pellucid.study.view import StudyView
from pellucid.words import printable

_logger = logging.getLogger("pellucid")


class DeadTrialNotices:
    """Says of every trial that looks dead, once, that it does: proposals keep away from what it tries as long as it
    counts as running."""

    def __init__(self) -> None:
        self._told: dict[str, set[int]] = {}  # Numbers of trials, by study.

    def log(self, view: StudyView) -> None:
        # A storage is asked for heartbeats only if a trial is old enough to look dead without one.
        now = datetime.now()
        if not dead_looking(view.trials, now):
            return
        told = self._told.setdefault(view.study.study_name, set())
        dead = dead_trials(view, now, told)
        if dead.numbers:
            told.update(dead.numbers)
            _logger.warning("%s", printable(dead.notice))
