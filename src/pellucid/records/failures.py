"""The answer to where trials fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pellucid.beliefs.settings import FailingSetting
from pellucid.records.finding import Finding


@dataclass(frozen=True)
class FailingSettings(Finding):
    """The settings at which trials fail: the one that explains most failures first; empty if none is known.

    n_trials, n_failed   trials that have ended and had a parameter, and those of them that failed
    n_other, n_other_failed   the same for trials with none of the settings
    """

    settings: tuple[FailingSetting, ...]
    n_trials: int
    n_failed: int
    n_other: int
    n_other_failed: int
    sentence: str
    notes: tuple[str, ...] = ()

    def _columns(self) -> Mapping[str, Any]:
        """One row per setting."""
        names = ("words", "n_trials", "n_failed", "n_new", "p")
        return {
            "setting" if name == "words" else name: [getattr(setting, name) for setting in self.settings]
            for name in names
        }
