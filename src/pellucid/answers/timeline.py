"""When trials ran, how long they took, and how many ran at once."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, ClassVar

from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.answers.finding import Finding
from pellucid.beliefs import Beliefs
from pellucid.notebook import Rows
from pellucid.study.trials import state_of
from pellucid.study.view import StudyView
from pellucid.words import NoAnswerYet, counted


@dataclass(frozen=True)
class Timeline(Finding):
    """When trials ran. Trials that never started are left out.

    starts      seconds after the first trial started
    durations   seconds; None for a trial that has not ended
    lanes       trials that ran at the same time have different numbers, from 0 up
    """

    _rows: ClassVar[Rows] = "even"

    numbers: tuple[int, ...]
    states: tuple[str, ...]
    starts: tuple[float, ...]
    durations: tuple[float | None, ...]
    lanes: tuple[int, ...]
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    @property
    def n_lanes(self) -> int:
        """How many trials ran at once at most."""
        return max(self.lanes, default=-1) + 1

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        return {
            "trial": self.numbers,
            "state": self.states,
            "start": self.starts,
            "duration": self.durations,
            "lane": self.lanes,
        }


_SHORT, _MINUTE, _HOUR, _DAY = 0.01, 60.0, 3600.0, 86400.0


def timeline(study: Study) -> Timeline:
    """When every trial of a study ran, and how long it took.

    Args:
        study: any study; trials that wait to be run are left out.
    """
    return timeline_of(Beliefs(StudyView.whole(study)))


def timeline_of(beliefs: Beliefs) -> Timeline:
    begun = sorted(
        (t for t in beliefs.view.trials if t.datetime_start is not None), key=lambda t: (_start(t), t.number)
    )
    if not begun:
        raise NoAnswerYet("No trial has started yet, so there are no times to show.")
    first = _start(begun[0])
    starts = [_start(trial) - first for trial in begun]
    durations = [_duration(trial) for trial in begun]
    lanes = _lanes(starts, durations)
    return Timeline(
        numbers=tuple(trial.number for trial in begun),
        states=tuple(map(state_of, begun)),
        starts=tuple(starts),
        durations=tuple(durations),
        lanes=tuple(lanes),
        sentence=_sentence(begun, starts, durations, max(lanes) + 1),
    )


def _start(trial: FrozenTrial) -> float:
    """Seconds since 1970."""
    assert trial.datetime_start is not None
    try:
        return trial.datetime_start.timestamp()
    except (OverflowError, ValueError):  # A clock in the first or the last year: without the time zone.
        return (trial.datetime_start - datetime(1970, 1, 1)).total_seconds()


def _duration(trial: FrozenTrial) -> float | None:
    """Seconds; None if the trial has not ended. A clock that jumped back counts as none at all."""
    return None if trial.duration is None else max(trial.duration.total_seconds(), 0.0)


def _lanes(starts: Sequence[float], durations: Sequence[float | None]) -> list[int]:
    """The first lane that is free when each trial starts; trials are in the order of their starts."""
    lanes: list[int] = []
    running: list[tuple[float, int]] = []
    free: list[int] = []
    for start, duration in zip(starts, durations, strict=True):
        while running and running[0][0] <= start:
            heapq.heappush(free, heapq.heappop(running)[1])
        lane = heapq.heappop(free) if free else len(running)
        heapq.heappush(running, (float("inf") if duration is None else start + duration, lane))
        lanes.append(lane)
    return lanes


def _sentence(
    trials: Sequence[FrozenTrial], starts: Sequence[float], durations: Sequence[float | None], at_once: int
) -> str:
    took = [(duration, trial.number) for duration, trial in zip(durations, trials, strict=True) if duration is not None]
    if not took:
        return f"{counted(len(trials), 'trial')} started; none has ended yet."
    ends = [start + duration for start, duration in zip(starts, durations, strict=True) if duration is not None]
    longest, number = max(took)
    span = f"{counted(len(took), 'trial')} took {seconds_text(max(ends))}"
    if len(took) == 1:
        return f"{span}."
    usual = f"half of them took {seconds_text(median(d for d, _ in took))} or less"
    most = f"the longest, trial {number}, {seconds_text(longest)}"
    together = "one ran at a time" if at_once == 1 else f"up to {at_once} ran at once"
    return f"{span} from first to last: {usual}, {most}; {together}."


def seconds_text(seconds: float) -> str:
    """ "0.73 ms", "0.83 s", "12 s", "3.5 min", "2.5 h" or "4.1 days" """
    if 0.0 < seconds < _SHORT:
        return f"{1000.0 * seconds:.2g} ms"
    for limit, unit, name in ((2 * _MINUTE, 1.0, "s"), (2 * _HOUR, _MINUTE, "min"), (2 * _DAY, _HOUR, "h")):
        if seconds < limit:
            return f"{_two_digits(seconds / unit)} {name}"
    return f"{_two_digits(seconds / _DAY)} days"


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 10.0 else f"{number:.2g}"
