"""Trials that count as running although their process may be gone: their heartbeat has stopped, or, if they never gave
one, they run for much longer than any other trial took.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from optuna.trial import FrozenTrial, TrialState

from pellucid.study.storage import NO_HEARTBEATS, Heartbeats, heartbeats
from pellucid.study.view import StudyView

# No trial looks dead before it runs this many times as long as any other took, and for this long. A heartbeat has
# stopped after this long too, unless the storage was opened with a limit: Optuna's example beats once a minute.
_MUCH_LONGER, _SHORTEST_AGE = 3, timedelta(minutes=10)
_MOST_NAMED = 3
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@dataclass(frozen=True)
class DeadTrials:
    """Numbers of trials that look dead, and a notice that says what to do; both empty if there are none."""

    numbers: tuple[int, ...]
    notice: str


def dead_trials(view: StudyView, now: datetime, told: Collection[int] = ()) -> DeadTrials:
    """The running trials of a study whose process may be gone, besides those that were `told` of before. Asks the
    storage for heartbeats only if trials run."""
    if not any(trial.state == TrialState.RUNNING for trial in view.trials):
        return DeadTrials((), "")
    beats = heartbeats(view.study)
    dead = [trial for trial in dead_looking(view.trials, now, beats) if trial.number not in told]
    silent = [trial for trial in dead if trial.number in beats.ages]
    old = [trial for trial in dead if trial.number not in beats.ages]
    notices = [_notice_of_silent(silent, beats)] if silent else []
    notices += [_notice_of_old(view.trials, old, now)] if old else []
    return DeadTrials(tuple(trial.number for trial in dead), " ".join(notices))


def dead_looking(trials: Sequence[FrozenTrial], now: datetime, beats: Heartbeats = NO_HEARTBEATS) -> list[FrozenTrial]:
    """Running trials whose process may be gone. A worker that was killed early has never given a heartbeat."""
    longest = _longest(trials)
    limit = beats.limit or _SHORTEST_AGE

    def looks_dead(trial: FrozenTrial) -> bool:
        if trial.number in beats.ages:
            return beats.ages[trial.number] > limit
        return longest is not None and _age(trial, now) > max(_SHORTEST_AGE, _MUCH_LONGER * longest)

    return [trial for trial in trials if trial.state == TrialState.RUNNING and looks_dead(trial)]


def _notice_of_silent(dead: Sequence[FrozenTrial], beats: Heartbeats) -> str:
    one, it = ("its process has", "it") if len(dead) == 1 else ("their processes have", "them")
    if beats.limit is None:
        ends = f"{_telling(dead[0])} ends {'it' if len(dead) == 1 else 'the first'}"
    else:
        ends = f"`optuna.storages.fail_stale_trials(study)` ends {it}"
    return f"The heartbeat of {_named(dead)} has stopped, so {one} probably died: {ends}."


def _notice_of_old(trials: Sequence[FrozenTrial], dead: Sequence[FrozenTrial], now: datetime) -> str:
    age = min(_age(trial, now) for trial in dead).total_seconds()
    longest = _longest(trials)
    has, at_least, one = ("has", "", "its process") if len(dead) == 1 else ("have", "at least ", "their processes")
    other = "" if longest is None else f", and no other took longer than {duration(longest.total_seconds())}"
    ends = "ends it" if len(dead) == 1 else "ends the first"
    named = _named(dead).capitalize()
    return f"{named} {has} run for {at_least}{duration(age)}{other}: if {one} died, {_telling(dead[0])} {ends}."


def _telling(trial: FrozenTrial) -> str:
    return f"`study.tell({trial.number}, state=optuna.trial.TrialState.FAIL)`"


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
    """The longest time that a trial took; a clock that jumped back may have made it negative."""
    durations = (trial.duration for trial in trials)
    return max((max(took, timedelta(0)) for took in durations if took is not None), default=None)


def _named(trials: Sequence[FrozenTrial]) -> str:
    """ "trial 3", "trials 3 and 5" or "trials 3, 5, 6 and 9 others" """
    numbers = [str(trial.number) for trial in trials]
    if len(numbers) == 1:
        return f"trial {numbers[0]}"
    if len(numbers) > _MOST_NAMED + 1:
        return f"trials {', '.join(numbers[:_MOST_NAMED])} and {len(numbers) - _MOST_NAMED} others"
    return f"trials {', '.join(numbers[:-1])} and {numbers[-1]}"
