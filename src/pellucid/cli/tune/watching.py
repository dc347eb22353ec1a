"""What a running study looks like from outside: read from its storage, for the table of `pellucid tune`."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from pellucid.records import Receipt

_RECENT = 50
_EVERY_S = 5.0
_SHARE_OF_TIME = 20.0


@dataclass(frozen=True)
class Best:
    value: float
    trial: int
    params: dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """A study at a moment.

    counted   trials that count towards the budget;  counts  trials by state
    alpha     of the newest proposal whose policy has one;  bound  of the regret, from the newest receipt that has one
    proposal  the newest receipt, in words;  seconds  that recent trials took on average
    """

    counted: int
    counts: dict[str, int]
    best: Best | None
    alpha: float | None
    bound: float | None
    proposal: str
    seconds: float | None


def look(study: Study) -> Snapshot:
    from pellucid.study import study_io

    found = study_io.trials(study)
    receipts = _newest_receipts(found)
    policies = [one.policy.numbers for one in receipts if one.policy is not None]
    return Snapshot(
        counted=len(study_io.ended(found)),
        counts=counts_of(found),
        best=best_of(study),
        alpha=next((numbers["alpha"] for numbers in policies if "alpha" in numbers), None),
        bound=next((one.bounds[0] for one in receipts if one.bounds), None),
        proposal=str(receipts[0]) if receipts else "",
        seconds=_seconds(found),
    )


def counts_of(found: Sequence[FrozenTrial]) -> dict[str, int]:
    """Trials by state; every state is there."""
    from optuna.trial import TrialState

    return {state.name.lower(): sum(t.state == state for t in found) for state in TrialState}


def best_of(study: Study) -> Best | None:
    try:
        best = study.best_trial
    except ValueError:  # No trial is complete yet.
        return None
    return None if best.value is None else Best(best.value, best.number, dict(best.params))


def _newest_receipts(found: Sequence[FrozenTrial]) -> list[Receipt]:
    """Of the last trials, newest first; damaged ones are passed over."""
    from pellucid.records import RecordError
    from pellucid.study import study_io

    out = []
    for trial in reversed(found[-_RECENT:]):
        try:
            receipt = study_io.read_receipt(trial)
        except RecordError:
            continue
        if receipt is not None:
            out.append(receipt)
    return out


def _seconds(found: Sequence[FrozenTrial]) -> float | None:
    durations = [
        (t.datetime_complete - t.datetime_start).total_seconds()
        for t in found[-_RECENT:]
        if t.datetime_complete is not None and t.datetime_start is not None
    ]
    return sum(durations) / len(durations) if durations else None


class Adviser:
    """The bound of the regret where no receipt has one: fitted now and then beside the main loop, which never waits."""

    def __init__(self) -> None:
        self.bound: float | None = None
        self._thread: threading.Thread | None = None
        self._not_before = 0.0

    def consult(self, study: Study) -> None:
        if (self._thread is None or not self._thread.is_alive()) and time.monotonic() >= self._not_before:
            self._thread = threading.Thread(target=self._think, args=(study,), daemon=True)
            self._thread.start()

    def _think(self, study: Study) -> None:
        from pellucid import stopping_verdict

        start = time.monotonic()
        try:
            self.bound = stopping_verdict(study).bound
        except Exception:  # A number in a table is not worth an interruption of the run.
            self.bound = None
        took = time.monotonic() - start
        # The workers need the processor more: one part in twenty at most.
        self._not_before = time.monotonic() + max(_EVERY_S, _SHARE_OF_TIME * took)
