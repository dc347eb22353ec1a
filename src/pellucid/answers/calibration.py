"""Whether predictions came true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject

if TYPE_CHECKING:
    from pellucid.records import Calibration


def calibration(overview: Overview, subject: Subject) -> Calibration:
    from pellucid.explain.calibration import calibration_of

    return calibration_of(overview.beliefs, overview.target(subject))
