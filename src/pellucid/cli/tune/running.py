"""A run of `pellucid tune`: hands out trials to workers until the study has as many as were asked for."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING

from pellucid.cli.storage.places import Place
from pellucid.cli.storage.studies import Direction, create_study, storage_sentences
from pellucid.cli.tune.crew import Crew, Worker
from pellucid.cli.tune.display import Display, Progress
from pellucid.cli.tune.messages import Job, Kind, Message
from pellucid.cli.tune.watching import Adviser, look

if TYPE_CHECKING:
    from optuna.study import Study

_TICK_S = 0.2
_FIRST_FAILURES = 5


class How(str, Enum):
    """Why a run is over."""

    DONE = "done"
    TIMEOUT = "timeout"
    BY_OBJECTIVE = "by the objective"
    INTERRUPTED = "interrupted"
    FAILING = "failing"
    LOST = "lost"
    UNUSABLE = "unusable"


@dataclass(frozen=True)
class Ending:
    """`study` is None where it was never made: the target cannot be run. `text`: what went wrong, in words."""

    how: How
    study: Study | None
    n_ended: int
    n_failed: int
    text: str = ""


@dataclass(frozen=True)
class Request:
    """What was asked for. `direction`: of a study that has yet to be made."""

    place: Place
    study: str
    direction: Direction
    n_trials: int
    timeout: float | None


def count(study: Study) -> int:
    """Trials that count towards what was asked for."""
    from pellucid.study import study_io

    return len(study_io.ended(study_io.trials(study)))


class Stop:
    """Ctrl-C and SIGTERM, noted until the loop looks: nothing is broken off in the middle."""

    def __init__(self) -> None:
        self.times = 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.times += 1

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Run:
    """Trials are handed out one by one: the storage says how many there are, this object how many are under way."""

    def __init__(self, request: Request, jobs: Sequence[Job], study: Study | None, display: Display) -> None:
        self._request, self._jobs, self._study, self._display = request, jobs, study, display
        self._stop = Stop()
        self._adviser = Adviser()
        self._n_ended = self._n_failed = 0
        self._error = self._unusable = ""
        self._over: How | None = None  # No more trials are handed out; those that run may end.
        self._start = time.monotonic()
        self._shown_at = float("-inf")

    def __call__(self) -> Ending:
        with self._stop.listening(), storage_sentences(self._request.place):
            crew = Crew(self._jobs)
            try:
                ending = self._loop(crew)
            except BaseException:
                self._display.close()
                pressed = self._stop.times
                crew.end(lambda: self._stop.times > pressed)
                raise
            self._part(crew, ending.how)
            return ending

    def _part(self, crew: Crew, how: How) -> None:
        """From the workers, and from the display."""
        try:
            if how in (How.DONE, How.TIMEOUT, How.BY_OBJECTIVE):
                crew.dismiss()
                crew.wait()
                return
            if how is How.INTERRUPTED:
                self._display.note("Stopping: running trials are ended; Ctrl-C again kills them.")
            pressed = self._stop.times
            ended = crew.end(lambda: self._stop.times > pressed)
            self._listen(crew, 0.0)
            self._clean_up(ended, interrupted=True)
        finally:
            self._listen(crew, 0.0)
            self._show(0)
            self._display.close()

    def _loop(self, crew: Crew) -> Ending:
        while True:
            self._listen(crew, _TICK_S)
            for worker in crew.take_lost():
                self._listen(crew, 0.0)
                self._mourn(worker, crew)
            if self._unusable:
                return self._ending(How.UNUSABLE, self._unusable)
            if self._stop.times:
                return self._ending(How.INTERRUPTED)
            if self._n_ended == self._n_failed >= _FIRST_FAILURES:
                return self._ending(How.FAILING, self._error)
            if not crew.workers:
                return self._ending(self._over or How.LOST, self._error)
            self._hand_out(crew)
            if self._over is not None and not any(worker.busy for worker in crew.workers):
                return self._ending(self._over, self._error)
            self._show(len(crew.workers))

    def _listen(self, crew: Crew, seconds: float) -> None:
        for heard in crew.hear(seconds):
            if isinstance(heard.said, str):
                self._display.line(heard.said)
            else:
                self._take(heard.worker, heard.said)

    def _ending(self, how: How, text: str = "") -> Ending:
        return Ending(how, self._study, self._n_ended, self._n_failed, self._request.place.without_secrets(text))

    def _take(self, worker: Worker, message: Message) -> None:
        match message.kind:
            case Kind.READY:
                worker.waiting = True
            case Kind.BEGAN:
                worker.trial = message.trial
            case Kind.ENDED:
                worker.trial, worker.busy, worker.waiting = None, False, True
                self._n_ended += 1
                self._n_failed += message.failed
                if message.failed:
                    self._error = f"trial {message.trial}: {message.text}"
            case Kind.STOPPED:
                worker.busy = False
                self._over = How.BY_OBJECTIVE
            case Kind.LOST:
                worker.words = message.text
            case Kind.UNUSABLE:
                self._unusable = message.text

    def _mourn(self, worker: Worker, crew: Crew) -> None:
        """A worker has ended by itself: its trial failed, the others go on."""
        if self._over is How.BY_OBJECTIVE and worker.process.returncode == 0:
            return
        lost_trial = worker.trial
        self._clean_up([worker], interrupted=False)
        text = f"worker {worker.index + 1} has ended unexpectedly ({worker.how_it_ended})"
        if lost_trial is not None:
            text += f" in trial {lost_trial}, which counts as failed"
            self._n_ended += 1
            self._n_failed += 1
        self._error = text
        if crew.workers:
            self._display.note(f"{text[0].upper()}{text[1:]}; {len(crew.workers)} of {len(self._jobs)} go on.")

    def _hand_out(self, crew: Crew) -> None:
        waiting = [worker for worker in crew.workers if worker.waiting]
        if not waiting or self._over is not None:
            return
        counted = count(self._made())
        timeout = self._request.timeout
        if counted >= self._request.n_trials:
            self._over = How.DONE
        elif timeout is not None and time.monotonic() - self._start >= timeout:
            self._over = How.TIMEOUT
        if self._over is not None:
            return
        free = self._request.n_trials - counted - sum(worker.busy for worker in crew.workers)
        for worker in waiting[: max(free, 0)]:
            crew.order(worker)

    def _made(self) -> Study:
        """The study; a new one is made when the user's code is known to be there, not before."""
        if self._study is None:
            request = self._request
            self._study = create_study(request.place, request.study, request.direction)
        return self._study

    def _clean_up(self, ended: Sequence[Worker], *, interrupted: bool) -> None:
        """No trial stays marked as running when nobody runs it."""
        from pellucid.study import study_io

        for worker in ended:
            if worker.trial is not None and self._study is not None:
                study_io.fail_running(self._study, worker.trial, interrupted=interrupted)
                worker.trial = None

    def _show(self, workers: int) -> None:
        """From time to time, and at the end (when there are no workers)."""
        now = time.monotonic()
        if self._study is None or (workers and now - self._shown_at < self._display.every):
            return
        self._shown_at = now
        snapshot = look(self._study)
        if snapshot.bound is None and workers:
            self._adviser.consult(self._study)
        self._display.update(
            Progress(
                title=f"{self._request.study} in {self._request.place.shown}",
                snapshot=snapshot,
                wanted=self._request.n_trials,
                done_here=self._n_ended,
                elapsed=now - self._start,
                bound=self._adviser.bound if snapshot.bound is None else snapshot.bound,
                error=self._request.place.without_secrets(self._error),
                workers=workers,
            )
        )
