"""Whether predictions came true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Metrics, Overview, Subject
from pellucid.answers.catalogue import CALIBRATION

if TYPE_CHECKING:
    from pellucid.answers.calibration import Calibration


def calibration(overview: Overview, subject: Subject) -> Calibration:
    from pellucid.answers.calibration import calibration_of

    return calibration_of(overview.beliefs, overview.target(subject))


def doubts(overview: Overview) -> list[str]:
    """Predictions that did not come true as they promised."""
    asked = [overview.found(CALIBRATION, question.subject) for question in overview.shown(CALIBRATION)]
    return [known.sentence for known in asked if known is not None and known.doubtful]


# ---------------------------------------------------------------------- for trackers


def metrics(calibration: Calibration) -> Metrics:
    return {("calibration", name): getattr(calibration, name) for name in ("n", "coverage", "z_mean", "z_sd")}
