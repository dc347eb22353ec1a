"""The settings at which trials fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject

if TYPE_CHECKING:
    from pellucid.records import FailingSettings


def failures(overview: Overview, _: Subject) -> FailingSettings:
    from pellucid.explain.failures import failing_settings_of

    return failing_settings_of(overview.beliefs)
