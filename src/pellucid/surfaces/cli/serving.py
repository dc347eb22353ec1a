"""``pellucid report --serve``: shows the report of a study in a browser, and renews it as trials arrive."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.redaction import redacted
from pellucid.surfaces.cli.signals import StopSignals
from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.cli.storage.studies import storage_sentences
from pellucid.surfaces.cli.terminal import DONE, print_lines, say
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.surfaces.page.live import LiveReport, LiveState

# The same port every time, so that a page in a browser and a tunnel from another machine go on after a restart.
DEFAULT_PORT = 8050
# Seconds: how long it takes to notice Ctrl-C, and how long a computation may take to end after it.
_TICK_S, _END_S = 0.2, 0.5


def serve_report(study: Study, place: Place, port: int | None, quiet: bool) -> None:
    """Serve the report until Ctrl-C or SIGTERM. `port`: None is the default one, or a free one if that is taken."""
    from pellucid.surfaces.page.live import LiveReport
    from pellucid.words import Unanswered

    try:
        live = LiveReport(study, lambda error: sentence_about(error, place))
    except Unanswered as reason:
        raise Mistake(str(reason)) from None
    signals = StopSignals()
    with signals.counting(), ExitStack() as stack:
        address = _opened(stack, live, port, quiet)
        if not quiet:
            print_lines(f"The report of `{live.name}` is at {address} and renews itself; Ctrl-C ends it.")
        display = stack.enter_context(_choose_display(quiet))
        live.start()
        while not signals.count:
            state = live.next_change(_TICK_S)
            if state is not None:
                display.show(state)
    if not live.end(_END_S):
        # An interpreter that ends as usual while a thread is inside C++ code, such as torch, can crash.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(DONE)


def _opened(stack: ExitStack, live: LiveReport, port: int | None, quiet: bool) -> str:
    """The address of the report."""
    from pellucid.surfaces.page.server import serving

    wanted = DEFAULT_PORT if port is None else port
    try:
        return stack.enter_context(serving(live, wanted))
    except OSError as error:
        if port is None and not quiet:  # Otherwise nobody would learn the address.
            return stack.enter_context(serving(live, 0))
        reason = error.strerror or str(error)
        raise Mistake(
            f"The report needs a free port of this machine; {wanted} cannot be used ({reason}): choose another with "
            "--port."
        ) from None


def sentence_about(error: Exception, place: Place) -> str:
    """What the reader is told about an error, without secrets."""
    try:
        with storage_sentences(place):
            raise error
    except (Mistake, Unavailable) as explained:
        return str(explained)
    except KeyError:
        reason = printable(redacted(str(error)))
        return f"The study cannot be read ({reason}); if it was deleted, end this command with Ctrl-C."
    except Exception:
        return printable(redacted(f"The report cannot be computed ({type(error).__name__}: {error})."))


# ---------------------------------------------------------------------- the terminal


class _Display(Protocol):
    def show(self, state: LiveState) -> None: ...


@contextmanager
def _choose_display(quiet: bool) -> Iterator[_Display]:
    if quiet:
        yield _QuietDisplay()
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status("Computing the report ...") as status:
            yield _LineDisplay(lambda text: status.update(Text(printable(text))))
    else:
        yield _LineDisplay(say)


class _QuietDisplay:
    def show(self, state: LiveState) -> None:
        pass


class _LineDisplay:
    """One line, which says what the page shows: the same one again and again on a terminal, new ones elsewhere."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line

    def show(self, state: LiveState) -> None:
        if state.problem is not None:
            since = _clock(state.problem.since)
            self._line(f"The page has not been renewed since {since}. {state.problem.sentence}")
        elif state.page is not None:
            trials = "1 trial" if state.page.n_trials == 1 else f"{state.page.n_trials} trials"
            rest = "" if state.page.whole else "; the answers are being computed"
            self._line(f"The page shows {trials}, renewed {_clock(state.page.version)}{rest}.")


def _clock(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).strftime("%H:%M:%S")
