"""The state of a study while it is tuned, read from its storage for the table of `pellucid tune`."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pellucid.cli.storage.studies import trials_by_state

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from pellucid.study.view import StudyView

# Receipts and durations are read from this many of the newest trials: enough for an average, and a refresh of the table
# costs the same in a long study as in a short one.
_RECENT = 50
# Pause between two verdicts: at least `_EVERY_S` seconds, and at least `_PAUSE_FACTOR` times as long as the last one
# took, so that verdicts take at most a twentieth of one processor from the workers.
_EVERY_S, _PAUSE_FACTOR = 5.0, 20.0


@dataclass(frozen=True)
class BestTrial:
    value: float
    trial: int
    params: dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """A study at one moment.

    n_counted  trials that count towards the budget;  counts  trials by state
    alpha      of the newest proposal whose policy has one
    proposal   the newest receipt, in words;  seconds  that recent trials took on average
    """

    n_counted: int
    counts: dict[str, int]
    best: BestTrial | None
    alpha: float | None
    proposal: str
    seconds: float | None


def snapshot_of(study: Study) -> Snapshot:
    from pellucid.study.receipts import readable_receipt
    from pellucid.study.trials import ended
    from pellucid.study.view import StudyView

    view = StudyView.of(study, "tune")
    newest_first = [readable_receipt(trial) for trial in reversed(view.trials[-_RECENT:])]
    receipts = [receipt for receipt in newest_first if receipt is not None]
    policies = [receipt.policy.numbers for receipt in receipts if receipt.policy is not None]
    return Snapshot(
        n_counted=len(ended(view.trials)),
        counts=trials_by_state(view.trials),
        best=best_trial(view),
        alpha=next((numbers["alpha"] for numbers in policies if "alpha" in numbers), None),
        proposal=str(receipts[0]) if receipts else "",
        seconds=_average_duration(view.trials[-_RECENT:]),
    )


def count_towards_budget(study: Study) -> int:
    """The number of trials that count towards `--trials`."""
    from pellucid.study.trials import ended
    from pellucid.study.view import StudyView

    return len(ended(StudyView.of(study, "tune").trials))


def best_trial(view: StudyView) -> BestTrial | None:
    """The best complete trial that is known to be feasible. Optuna's own counts trials without constraints, too."""
    usable = view.observations.of_complete_trials.of_feasible_trials
    if not len(usable):
        return None
    best = min(range(len(usable)), key=lambda row: float(usable.raw[row]))
    return BestTrial(view.sign * float(usable.raw[best]) + 0.0, usable.numbers[best], dict(usable.configurations[best]))


def _average_duration(trials: Sequence[FrozenTrial]) -> float | None:
    durations = [
        (trial.datetime_complete - trial.datetime_start).total_seconds()
        for trial in trials
        if trial.datetime_complete is not None and trial.datetime_start is not None
    ]
    return sum(durations) / len(durations) if durations else None


class RegretBound:
    """The bound of `stopping_verdict`: the same number as in the answers. It is computed now and then in a thread, so
    that the main loop does not wait for it."""

    def __init__(self) -> None:
        self.value: float | None = None
        self._thread: threading.Thread | None = None
        self._not_before = 0.0

    def refresh(self, study: Study) -> None:
        """Start a computation, unless one is running or the last one was a moment ago."""
        if (self._thread is None or not self._thread.is_alive()) and time.monotonic() >= self._not_before:
            self._thread = threading.Thread(target=self._compute, args=(study,), daemon=True)
            self._thread.start()

    def finish(self, study: Study) -> None:
        """The bound after the last trial."""
        if self._thread is not None:
            self._thread.join()
        self._compute(study)

    def _compute(self, study: Study) -> None:
        from pellucid import stopping_verdict

        start = time.monotonic()
        try:
            self.value = stopping_verdict(study).bound
        except Exception:  # A missing number in a table must not interrupt the run.
            self.value = None
        duration = time.monotonic() - start
        self._not_before = time.monotonic() + max(_EVERY_S, _PAUSE_FACTOR * duration)
