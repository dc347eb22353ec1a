"""Settings at which trials fail: records of the rules that failed trials follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pellucid.records.finding import Finding
from pellucid.words import value_text


@dataclass(frozen=True)
class FailingCondition:
    """A part of a setting. `what`: 'is' (a choice), 'at least' or 'at most' (a number)."""

    param: str
    what: str
    value: Any

    @property
    def words(self) -> str:
        """ "`solver` = lbfgs", "`depth` of 12 or more" """
        return self._said_of(f"`{self.param}`")

    @property
    def label(self) -> str:
        """The same without a mark around the name."""
        return self._said_of(self.param)

    def _said_of(self, name: str) -> str:
        value = value_text(self.value)
        if self.what == "is":
            return f"{name} = {value}"
        return f"{name} of {value} or {'more' if self.what == 'at least' else 'less'}"


@dataclass(frozen=True)
class FailingSetting:
    """A setting at which all trials fail, or nearly all.

    conditions          one, or two that hold together;  words  the same as text
    n_trials, n_failed  trials with this setting, and those of them that failed
    n_new               failed trials with this setting and with none of those before it
    p                   of Fisher's exact test, times the number of settings that were tried
    """

    conditions: tuple[FailingCondition, ...]
    words: str
    n_trials: int
    n_failed: int
    n_new: int
    p: float

    @property
    def outcome(self) -> str:
        """ "all 14 such trials failed", "27 of 29 such trials failed" """
        every = self.n_failed == self.n_trials
        return f"{f'all {self.n_failed}' if every else f'{self.n_failed} of {self.n_trials}'} such trials failed"


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
