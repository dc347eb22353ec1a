"""A run of `pellucid tune`: hands out trials to workers until the study has as many as were asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pellucid.surfaces.cli.signals import StopSignals
from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.cli.storage.studies import create_study, storage_sentences
from pellucid.surfaces.cli.tune.display import Display, Progress
from pellucid.surfaces.cli.tune.messages import Job, Message, MessageKind
from pellucid.surfaces.cli.tune.pool import WorkerPool, WorkerProcess
from pellucid.surfaces.cli.tune.snapshot import RegretBound, count_towards_budget, snapshot_of
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.study import Study

# How long one turn of the loop waits for messages: the longest delay before it sees Ctrl-C, a dead worker or the
# timeout.
_TICK_S = 0.2
# A run stops if this many trials have ended and all of them failed: the objective is then most likely broken.
_FIRST_FAILURES = 5


class EndReason(str, Enum):
    """Why a run is over. FAILING: its first trials all failed. LOST: no worker is left. UNUSABLE: the target cannot be
    run."""

    DONE = "done"
    TIMEOUT = "timeout"
    BY_OBJECTIVE = "by the objective"
    INTERRUPTED = "interrupted"
    FAILING = "failing"
    LOST = "lost"
    UNUSABLE = "unusable"

    @property
    def regular(self) -> bool:
        """Whether all trials that had begun could end."""
        return self in (EndReason.DONE, EndReason.TIMEOUT, EndReason.BY_OBJECTIVE)


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `study` is None if it was never created; `error` is the last one, in words; `output`: if no
    worker is left, the last lines that the last one printed, unless it reported an error itself."""

    reason: EndReason
    study: Study | None
    n_ended: int
    n_failed: int
    error: str = ""
    output: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """What the user asked for. `directions` and `metrics`, which may be empty: of a study that does not exist yet."""

    place: Place
    study: str
    directions: tuple[str, ...]
    metrics: tuple[str, ...]
    n_trials: int
    timeout: float | None


class Run:
    """Hands out trials one by one: the storage says how many there are, and this object how many are running."""

    def __init__(self, request: Request, jobs: Sequence[Job], study: Study | None, display: Display) -> None:
        self._request, self._jobs, self._study, self._display = request, jobs, study, display
        self._signals = StopSignals()
        self._regret_bound = RegretBound()
        self._n_ended = self._n_failed = 0
        self._error = self._unusable = ""
        self._last_output: tuple[str, ...] = ()  # Of the worker that was lost last.
        self._end_reason: EndReason | None = None  # Once set, no more trials begin; running ones may end.
        self._start = time.monotonic()
        self._shown_at = float("-inf")

    def finish(self) -> Outcome:
        """Run trials until there are enough, or something stops the run."""
        with self._signals.counting(), storage_sentences(self._request.place):
            pool = WorkerPool(self._jobs)
            try:
                outcome = self._loop(pool)
            except BaseException:
                self._display.close()
                self._end_workers(pool)
                raise
            self._close(pool, outcome.reason)
            return outcome

    def _loop(self, pool: WorkerPool) -> Outcome:
        while True:
            self._handle_events(pool, _TICK_S)
            for worker in pool.remove_ended():
                self._handle_events(pool, 0.0)
                self._record_lost(worker, pool)
            if self._unusable:
                return self._outcome(EndReason.UNUSABLE, self._unusable)
            if self._signals.count:
                return self._outcome(EndReason.INTERRUPTED)
            if self._n_ended == self._n_failed >= _FIRST_FAILURES:
                return self._outcome(EndReason.FAILING, self._error)
            if not pool.workers:
                reason = self._end_reason or EndReason.LOST
                return self._outcome(reason, self._error, self._last_output if reason is EndReason.LOST else ())
            self._hand_out(pool)
            if self._end_reason is not None and not any(worker.busy for worker in pool.workers):
                return self._outcome(self._end_reason, self._error)
            self._show(len(pool.workers))

    def _outcome(self, reason: EndReason, error: str = "", output: Sequence[str] = ()) -> Outcome:
        return Outcome(reason, self._study, self._n_ended, self._n_failed, error, tuple(output))

    # ------------------------------------------------------------------ messages of workers

    def _handle_events(self, pool: WorkerPool, seconds: float) -> None:
        for event in pool.events(seconds):
            if isinstance(event.content, str):
                self._display.line(event.content)
            else:
                self._handle(event.worker, event.content)

    def _handle(self, worker: WorkerProcess, message: Message) -> None:
        match message.kind:
            case MessageKind.READY:
                worker.waiting = True
            case MessageKind.BEGAN:
                worker.trial = message.trial
            case MessageKind.ENDED:
                worker.trial, worker.busy, worker.waiting = None, False, True
                self._n_ended += 1
                self._n_failed += message.failed
                if message.failed:
                    self._error = f"trial {message.trial}: {message.text}"
            case MessageKind.STOPPED:
                worker.busy = False
                self._end_reason = EndReason.BY_OBJECTIVE
            case MessageKind.CRASHED:
                worker.error = message.text
            case MessageKind.UNUSABLE:
                self._unusable = message.text

    # ------------------------------------------------------------------ trials

    def _hand_out(self, pool: WorkerPool) -> None:
        waiting = [worker for worker in pool.workers if worker.waiting]
        if not waiting or self._end_reason is not None:
            return
        n_counted = count_towards_budget(self._created_study())
        timeout = self._request.timeout
        if n_counted >= self._request.n_trials:
            self._end_reason = EndReason.DONE
        elif timeout is not None and time.monotonic() - self._start >= timeout:
            self._end_reason = EndReason.TIMEOUT
        if self._end_reason is not None:
            return
        n_open = self._request.n_trials - n_counted - sum(worker.busy for worker in pool.workers)
        for worker in waiting[: max(n_open, 0)]:
            pool.start_trial(worker)

    def _created_study(self) -> Study:
        """The study. A new one is created only once a worker has imported the user's code without an error."""
        if self._study is None:
            request = self._request
            self._study = create_study(request.place, request.study, request.directions, request.metrics)
            aims = [f"{direction} {name}" for direction, name in zip(request.directions, request.metrics, strict=False)]
            self._display.line(
                f"New study `{printable(request.study)}` in {request.place.shown}, to "
                f"{printable(' and '.join(aims or request.directions))}: {request.n_trials} trials to go."
            )
        return self._study

    # ------------------------------------------------------------------ the end of workers

    def _record_lost(self, worker: WorkerProcess, pool: WorkerPool) -> None:
        """A worker has ended by itself: its trial failed, and the others go on."""
        if self._end_reason is EndReason.BY_OBJECTIVE and worker.process.returncode == 0:
            return
        lost_trial = worker.trial
        self._fail_trials([worker], interrupted=False)
        error = f"worker {worker.index + 1} has ended unexpectedly ({worker.cause_of_end})"
        if lost_trial is not None:
            error += f" in trial {lost_trial}, which counts as failed"
            self._n_ended += 1
            self._n_failed += 1
        self._error = error
        self._last_output = () if worker.error else tuple(worker.output)
        if pool.workers:
            self._display.note(f"{error[0].upper()}{error[1:]}; {len(pool.workers)} of {len(self._jobs)} go on.")

    def _fail_trials(self, ended: Sequence[WorkerProcess], *, interrupted: bool) -> None:
        """Mark the trials of workers that have ended as failed, so that none stays marked as running."""
        from pellucid.study.storage import fail_running

        for worker in ended:
            if worker.trial is not None and self._study is not None:
                fail_running(self._study, worker.trial, interrupted=interrupted)
                worker.trial = None

    def _end_workers(self, pool: WorkerPool) -> list[WorkerProcess]:
        """End all workers; another Ctrl-C kills them."""
        n_before = self._signals.count
        return pool.end(lambda: self._signals.count > n_before)

    def _close(self, pool: WorkerPool, reason: EndReason) -> None:
        """End the workers and the display."""
        try:
            if reason.regular:
                pool.dismiss()
                pool.wait()
                return
            if reason is EndReason.INTERRUPTED:
                self._display.note("Stopping: running trials are ended; Ctrl-C again kills them.")
            ended = self._end_workers(pool)
            self._handle_events(pool, 0.0)
            self._fail_trials(ended, interrupted=True)
        finally:
            self._handle_events(pool, 0.0)
            self._show(0)
            self._display.close()

    def _show(self, n_workers: int) -> None:
        """Update the display if it is due, and always at the end, when no worker is left."""
        now = time.monotonic()
        if self._study is None or (n_workers and now - self._shown_at < self._display.every):
            return
        self._shown_at = now
        snapshot = snapshot_of(self._study)
        if n_workers:
            self._regret_bound.refresh(self._study)
        else:
            self._regret_bound.finish(self._study)
        self._display.update(
            Progress(
                title=f"{self._request.study} in {self._request.place.shown}",
                snapshot=snapshot,
                n_trials=self._request.n_trials,
                n_ended=self._n_ended,
                elapsed=now - self._start,
                bound=self._regret_bound.value,
                error=self._error,
                n_workers=n_workers,
            )
        )


def completed(request: Request, jobs: Sequence[Job], study: Study | None, display: Display) -> Outcome:
    """How the run ended. Without jobs the study already has all trials, so nothing is started."""
    if not jobs:
        return Outcome(EndReason.DONE, study, n_ended=0, n_failed=0)
    return Run(request, jobs, study, display).finish()
