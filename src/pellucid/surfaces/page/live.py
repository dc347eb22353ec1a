"""A report that renews itself: a thread watches a study, and computes the page again when trials have ended.

The first page has what needs no model, so that it appears in a moment, and says what is still being computed.
`server` shows the pages to browsers; in the browser, `assets/live.js` asks for the version and loads the page again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.answers.base import Overview
from pellucid.surfaces.page.gather import check_objectives, gather, gather_at_once
from pellucid.surfaces.page.page import page

# Seconds between two looks at the study. A look reads the trials that are new or that were running before.
_EVERY = 2.0
# The pause doubles with every failure in a row, up to this many seconds: a server may be away for hours.
_LONGEST = 60.0


@dataclass(frozen=True)
class LivePage:
    """A page as it is served.

    version    milliseconds since 1970 when it was computed: larger than any before, also after a restart
    read       milliseconds since 1970 when its trials were read
    n_trials   of the study that it shows;  n_ended  those of them that have ended
    whole      whether it has all answers
    """

    html: bytes
    version: int
    read: int
    n_trials: int
    n_ended: int
    whole: bool


@dataclass(frozen=True)
class Problem:
    """Why the page is not renewed. `since`: milliseconds since 1970."""

    sentence: str
    since: int


@dataclass(frozen=True)
class LiveState:
    """What is served at one moment.

    page       None before the first one;  problem  None if all is well
    n_trials   of the study at the last look at it;  n_ended  those of them that had ended
    computing  since when a page is being computed, in milliseconds since 1970; None if none is
    """

    page: LivePage | None = None
    problem: Problem | None = None
    n_trials: int = 0
    n_ended: int = 0
    computing: int | None = None


class LiveReport:
    """The report of a study, renewed by a thread of its own.

    `explained`: what to tell the reader about an error of the storage or of the computation.
    """

    def __init__(self, study: Study, explained: Callable[[Exception], str]) -> None:
        check_objectives(len(study.directions))
        self.name = study.study_name
        self.state = LiveState()
        self._study, self._explained = study, explained
        self._lasting: dict[Any, Any] = {}
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
        """The next state with another page or problem; None if there is none in these seconds."""
        try:
            return self._changes.get(timeout=seconds)
        except Empty:
            return None

    def _watch(self) -> None:
        pause, failures = 0.0, 0
        while not self._ending.wait(pause):
            start = time.monotonic()
            try:
                self._look()
                failures = 0
            except Exception as error:  # Of any storage, and of any answer: the page stays, and the next try may do.
                before = self.state.problem
                since = _now() if before is None else before.since
                self._publish(replace(self.state, problem=Problem(self._explained(error), since), computing=None))
                failures += 1
            # At most half of a processor is taken from the trials that run beside it.
            pause = min(_LONGEST, max(_EVERY * 2**failures if failures else _EVERY, time.monotonic() - start))

    def _look(self) -> None:
        """Look at the study, and compute its page if a trial has ended since the last one."""
        trials = self._study.get_trials(deepcopy=False)
        seen, shown = replace(self.state, n_trials=len(trials), n_ended=_ended(trials)), self.state.page
        if shown is not None and shown.whole and shown.n_ended == seen.n_ended:
            self._publish(replace(seen, problem=None))
            return
        self._publish(replace(seen, computing=_now()))
        if shown is None and seen.n_ended:
            self._publish(replace(self.state, page=self._page(gather_at_once)))
        whole = self._page(lambda study: gather(study, False, self._lasting))
        self._publish(replace(self.state, page=whole, problem=None, computing=None))

    def _page(self, ask: Callable[[Study], Overview]) -> LivePage:
        read, shown = _now(), self.state.page
        overview = ask(self._study)
        version = max(_now(), 0 if shown is None else shown.version + 1)
        html = page(overview, live=version).encode()
        trials = overview.view.trials
        return LivePage(html, version, read, len(trials), _ended(trials), overview.whole)

    def _publish(self, state: LiveState) -> None:
        before, self.state = self.state, state
        if (state.page, state.problem) != (before.page, before.problem):
            self._changes.put(state)


def _ended(trials: Sequence[FrozenTrial]) -> int:
    return sum(trial.state.is_finished() for trial in trials)


def _now() -> int:
    """Milliseconds since 1970, as browsers count."""
    return int(time.time() * 1000)
