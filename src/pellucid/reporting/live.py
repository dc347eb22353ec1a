"""A report that renews itself: a thread watches a study, and computes the page again when trials have ended.

`server` shows it to browsers; in the browser, `assets/live.js` asks for the version and loads the page again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Event, Thread

from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.reporting.gather import check_objectives, gather
from pellucid.reporting.page import page

# Seconds between two looks at the study. A look reads the trials that are new or that were running before.
_EVERY = 2.0
# The pause doubles with every failure in a row, up to this many seconds: a server may be away for hours.
_LONGEST = 60.0


@dataclass(frozen=True)
class LivePage:
    """A page as it is served.

    version    milliseconds since 1970 when it was computed: larger than any before, also after a restart
    n_trials   of the study that it shows;  n_ended  those of them that have ended
    """

    html: bytes
    version: int
    n_trials: int
    n_ended: int


@dataclass(frozen=True)
class Problem:
    """Why the page is not renewed. `since`: milliseconds since 1970."""

    sentence: str
    since: int


@dataclass(frozen=True)
class LiveState:
    """What is served at one moment. `page`: None before the first one; `problem`: None if all is well."""

    page: LivePage | None = None
    problem: Problem | None = None


class LiveReport:
    """The report of a study, renewed by a thread of its own.

    `explained`: what to tell the reader about an error of the storage or of the computation.
    """

    def __init__(self, study: Study, explained: Callable[[Exception], str]) -> None:
        check_objectives(len(study.directions))
        self.name = study.study_name
        self.state = LiveState()
        self._study, self._explained = study, explained
        self._changes: SimpleQueue[LiveState] = SimpleQueue()
        self._ending = Event()
        # Nothing can interrupt a computation, so that it must not keep the process from ending.
        self._thread = Thread(target=self._watch, name="pellucid report", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self, seconds: float) -> bool:
        """Compute no more pages. Returns False if a computation still runs after these seconds."""
        self._ending.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def next_change(self, seconds: float) -> LiveState | None:
        """The next state; None if there is none in these seconds."""
        try:
            return self._changes.get(timeout=seconds)
        except Empty:
            return None

    def _watch(self) -> None:
        pause, failures = 0.0, 0
        while not self._ending.wait(pause):
            start = time.monotonic()
            try:
                state = LiveState(self._renewed(self.state.page))
                failures = 0
            except Exception as error:  # Of any storage, and of any answer: the page stays, and the next try may do.
                before = self.state.problem
                since = _now() if before is None else before.since
                state = replace(self.state, problem=Problem(self._explained(error), since))
                failures += 1
            if state != self.state:
                self.state = state
                self._changes.put(state)
            # At most half of a processor is taken from the trials that run beside it.
            pause = min(_LONGEST, max(_EVERY * 2**failures if failures else _EVERY, time.monotonic() - start))

    def _renewed(self, shown: LivePage | None) -> LivePage:
        """The page that is shown if no trial has ended since, or else a new one."""
        if shown is not None and shown.n_ended == _ended(self._study.get_trials(deepcopy=False)):
            return shown
        answers = gather(self._study, progress=False)
        version = max(_now(), 0 if shown is None else shown.version + 1)
        html = page(answers, live=version).encode()
        return LivePage(html, version, len(answers.trials), _ended(answers.trials))


def _ended(trials: Sequence[FrozenTrial]) -> int:
    return sum(trial.state.is_finished() for trial in trials)


def _now() -> int:
    """Milliseconds since 1970, as browsers count."""
    return int(time.time() * 1000)
