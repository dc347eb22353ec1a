"""How `pellucid tune` shows a run: a live table on a terminal, a line now and then elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pellucid.cli.terminal import say, shown
from pellucid.cli.tune.watching import Snapshot

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

_MINUTE, _HOUR = 60, 3600


@dataclass(frozen=True)
class Progress:
    """What there is to show: the study, and the run that works on it. `error`: the last one, in one line."""

    title: str
    snapshot: Snapshot
    wanted: int
    done_here: int
    elapsed: float
    bound: float | None
    error: str
    workers: int

    @property
    def seconds_left(self) -> float | None:
        """At the pace of this run; None where it is over, or too young to tell."""
        left = self.wanted - self.snapshot.counted
        return self.elapsed / self.done_here * left if self.workers and self.done_here and left > 0 else None


class Display(Protocol):
    every: float

    def line(self, text: str) -> None:
        """What the user's code has printed."""

    def note(self, sentence: str) -> None:
        """Something that the user should know about the run."""

    def update(self, progress: Progress) -> None: ...

    def close(self) -> None: ...


def choose_display(quiet: bool) -> Display:
    if quiet:
        return QuietDisplay()
    return LiveDisplay() if sys.stderr.isatty() else PlainDisplay()


class QuietDisplay:
    every = 3600.0

    def line(self, text: str) -> None:
        pass

    def note(self, sentence: str) -> None:
        pass

    def update(self, progress: Progress) -> None:
        pass

    def close(self) -> None:
        pass


class PlainDisplay:
    """For logs: a line every ten seconds at most, and none while nothing has happened."""

    every = 10.0

    def __init__(self) -> None:
        self._last: tuple[int, str] | None = None

    def line(self, text: str) -> None:
        say(text)

    def note(self, sentence: str) -> None:
        say(sentence)

    def update(self, progress: Progress) -> None:
        now = (progress.snapshot.counted, progress.error)
        if now == self._last or not (progress.done_here or progress.error):
            return
        self._last = now
        say(sentence_of(progress))

    def close(self) -> None:
        pass


class LiveDisplay:
    """A table at the bottom of the terminal; lines of the objective scroll by above it."""

    every = 0.5

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live: Live = Live(console=Console(stderr=True), auto_refresh=False, transient=False)
        self._started = False

    def line(self, text: str) -> None:
        from rich.text import Text

        self._live.console.print(Text.from_ansi(text))

    def note(self, sentence: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(sentence, style="yellow"))

    def update(self, progress: Progress) -> None:
        if not self._started:
            self._live.start()
            self._started = True
        self._live.update(table_of(progress), refresh=True)

    def close(self) -> None:
        if self._started:
            self._live.stop()


# ---------------------------------------------------------------------- in words


def sentence_of(progress: Progress) -> str:
    now = progress.snapshot
    text = f"{time.strftime('%H:%M:%S')} {now.counted} of {progress.wanted} trials"
    if now.counts["fail"]:
        text += f", {now.counts['fail']} failed"
    if now.best is not None:
        text += f"; best {now.best.value:.6g} (trial {now.best.trial})"
    if progress.seconds_left is not None:
        text += f"; about {duration(progress.seconds_left)} left"
    if progress.error:
        text += f"; last error: {progress.error}"
    return text


def table_of(progress: Progress) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, title=Text(shown(progress.title)), title_justify="left", min_width=60)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows_of(progress):
        table.add_row(name, Text(text))
    return table


def rows_of(progress: Progress) -> list[tuple[str, str]]:
    """Names and texts; rows that have nothing to say are left out."""
    now = progress.snapshot
    counts = now.counts
    done = (
        f"{now.counted} of {progress.wanted}: {counts['complete']} complete, {counts['fail']} failed, "
        f"{counts['pruned']} pruned"
    )
    if progress.workers:
        done += f"; {counts['running']} running in {_workers(progress.workers)}"
    rows = [("trials", done)]
    if now.best is not None:
        rows.append(("best", f"{now.best.value:.6g} (trial {now.best.trial})"))
        rows.append(("with", ", ".join(f"{name}={_value(value)}" for name, value in now.best.params.items())))
    if now.alpha is not None:
        rows.append(("alpha", f"{now.alpha:.3g} (1 exploits, 0 explores)"))
    if progress.bound is not None:
        rows.append(("regret bound", f"{progress.bound:.3g}"))
    if now.proposal:
        rows.append(("last proposal", now.proposal))
    if now.seconds is not None:
        left = "" if progress.seconds_left is None else f"; about {duration(progress.seconds_left)} left"
        rows.append(("time", f"{now.seconds:.3g} s per trial{left}"))
    if progress.error:
        rows.append(("last error", progress.error))
    return [(name, shown(text)) for name, text in rows]


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def duration(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"
