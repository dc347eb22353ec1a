"""Trials that count as running although their process may be gone: by their age, or because their heartbeat stopped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from optuna.trial import FrozenTrial, TrialState

from pellucid.study.storage import silent_trials
from pellucid.study.view import StudyView

# No trial looks dead before it runs this many times as long as any other took, and for this long.
_MUCH_LONGER, _SHORTEST_AGE = 3, timedelta(minutes=10)
_MOST_NAMED = 3
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def dead_looking(
    trials: Sequence[FrozenTrial], now: datetime, silent: Collection[int] | None = None
) -> list[FrozenTrial]:
    """Running trials whose process may be gone: those in `silent`, whose heartbeat has stopped; if heartbeats are not
    known, those that run for much longer than any trial that has ended."""
    running = [trial for trial in trials if trial.state == TrialState.RUNNING]
    if silent is not None:
        return [trial for trial in running if trial.number in silent]
    old = [trial for trial in running if _age(trial, now) > _SHORTEST_AGE]
    longest = _longest(trials) if old else None
    return [] if longest is None else [trial for trial in old if _age(trial, now) > _MUCH_LONGER * longest]


def notice(view: StudyView, now: datetime) -> str:
    """A sentence about trials that look dead, and what to do; empty if there are none."""
    silent = silent_trials(view.study)
    dead = dead_looking(view.trials, now, silent)
    if not dead:
        return ""
    named = _named(dead)
    if silent is not None:
        one = "its process has" if len(dead) == 1 else "their processes have"
        many = "it" if len(dead) == 1 else "them"
        return (
            f"The heartbeat of {named} has stopped, so {one} probably died: "
            f"`optuna.storages.fail_stale_trials(study)` ends {many}."
        )
    return notice_by_age(view.trials, dead, now)


def notice_by_age(trials: Sequence[FrozenTrial], dead: Sequence[FrozenTrial], now: datetime) -> str:
    """The sentence about trials that have run for too long."""
    age = min(_age(trial, now) for trial in dead).total_seconds()
    longest = _longest(trials)
    has, at_least, one = ("has", "", "its process") if len(dead) == 1 else ("have", "at least ", "their processes")
    other = "" if longest is None else f", and no other took longer than {duration(longest.total_seconds())}"
    ends = "ends it" if len(dead) == 1 else "ends the first"
    return (
        f"{_named(dead).capitalize()} {has} run for {at_least}{duration(age)}{other}: if {one} died, "
        f"`study.tell({dead[0].number}, state=optuna.trial.TrialState.FAIL)` {ends}."
    )


def duration(seconds: float) -> str:
    """ "12 s", "3 min", "2.5 h" or "4 days" """
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.0f} days"


def _age(trial: FrozenTrial, now: datetime) -> timedelta:
    return timedelta(0) if trial.datetime_start is None else now - trial.datetime_start


def _longest(trials: Sequence[FrozenTrial]) -> timedelta | None:
    return max((trial.duration for trial in trials if trial.duration is not None), default=None)


def _named(trials: Sequence[FrozenTrial]) -> str:
    """ "trial 3", "trials 3 and 5" or "trials 3, 5, 6 and 9 others" """
    numbers = [str(trial.number) for trial in trials]
    if len(numbers) == 1:
        return f"trial {numbers[0]}"
    if len(numbers) > _MOST_NAMED + 1:
        return f"trials {', '.join(numbers[:_MOST_NAMED])} and {len(numbers) - _MOST_NAMED} others"
    return f"trials {', '.join(numbers[:-1])} and {numbers[-1]}"
