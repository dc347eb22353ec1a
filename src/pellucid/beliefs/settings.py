"""A setting at which trials fail: a choice, a part of the range of a number, or two of these together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
