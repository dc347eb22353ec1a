"""Why trials fail: the settings at which all of them do, or nearly all, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import TrialState

from pellucid.answers.finding import Finding
from pellucid.beliefs import Beliefs
from pellucid.beliefs.settings import FailingSetting
from pellucid.study.trials import ended
from pellucid.study.view import StudyView
from pellucid.words import Note, counted


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


def failing_settings(study: Study) -> FailingSettings:
    """The settings at which all trials fail, or nearly all: a choice, two choices together, a number beyond some value,
    or that with a choice.

    A setting is named if at least three trials with it failed, and at least 90% of them, which must be unlikely by
    chance: p ≤ 0.05 after a correction for all settings that were tried. If failures have nothing to do with the
    parameters, a setting is named in at most 5% of studies; of 7,000 that were simulated, with 12 to 150 random trials,
    it was in 0.7%. What failed trials share need not be the cause: if a machine broke for an hour, what a sampler liked
    to try in that hour fails.

    Args:
        study: any study.
    """
    return failing_settings_of(Beliefs(StudyView.whole(study)))


def failing_settings_of(beliefs: Beliefs) -> FailingSettings:
    """Raises NoAnswerYet if there is nothing to compare."""
    failing = beliefs.failing
    empty = sum(trial.state == TrialState.FAIL and not trial.params for trial in ended(beliefs.view.trials))
    return FailingSettings(
        settings=failing.settings,
        n_trials=failing.n_trials,
        n_failed=failing.n_failed,
        n_other=failing.n_other,
        n_other_failed=failing.n_other_failed,
        sentence=_sentence(failing.settings, failing.n_failed, failing.n_trials),
        notes=_without_parameters(empty),
    )


def _without_parameters(count: int) -> tuple[str, ...]:
    ended = f"{counted(count, 'failed trial')} ended without a parameter, which says nothing."
    return (Note(ended, "omission"),) if count else ()


def _sentence(settings: Sequence[FailingSetting], total: int, n: int) -> str:
    if not settings:
        return f"{total} of {n} trials failed, and no setting is known to make them fail."
    parts = []
    left = total
    for i, setting in enumerate(settings):
        every = setting.n_new == left
        if i == 0:
            who = f"All {total} failed trials" if every else f"{setting.n_new} of {total} failed trials"
        else:
            who = f"The other {left}" if every else f"Another {setting.n_new}"
        parts.append(f"{who} have {setting.words}: {setting.outcome}.")
        left -= setting.n_new
    if left:
        parts.append(f"What the other {left if left > 1 else 'one'} {'share' if left > 1 else 'has'} is not known.")
    return " ".join(parts)
