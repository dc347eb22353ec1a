"""How `pellucid tune` shows a run: as a live table on a terminal, as a line now and then elsewhere, or not at all."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pellucid.study.liveness import duration
from pellucid.surfaces.cli.terminal import say
from pellucid.surfaces.cli.tune.snapshot import RunningCurve, Snapshot, TrialOfSeveral
from pellucid.words import printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

# A curve in one line: from the smallest value to the largest, and at most so many of them.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BLOCKS, _MOST_BLOCKS = "▁▂▃▄▅▆▇█", 20


@dataclass(frozen=True)
class Progress:
    """What is shown: the study, and the run that works on it.

    n_trials  how many the study should have;  n_ended  how many this run has ended
    elapsed   seconds since the start of the run;  bound  how much the model sees left at most
    error     the last one, in one line;  n_workers  0 once the run is over
    """

    title: str
    snapshot: Snapshot
    n_trials: int
    n_ended: int
    elapsed: float
    bound: float | None
    error: str
    n_workers: int

    @property
    def seconds_left(self) -> float | None:
        """At the pace of this run so far; None if it is over or if none of its trials has ended yet."""
        n_left = self.n_trials - self.snapshot.n_counted
        return self.elapsed / self.n_ended * n_left if self.n_workers and self.n_ended and n_left > 0 else None


class Display(Protocol):
    """`every`: seconds between two updates."""

    every: float

    def line(self, text: str) -> None:
        """Print a line, such as the output of the user's code."""

    def note(self, sentence: str) -> None:
        """Print something unexpected that the user should notice."""

    def update(self, progress: Progress) -> None: ...

    def close(self) -> None: ...


def choose_display(quiet: bool) -> Display:
    if quiet:
        return QuietDisplay()
    return LiveDisplay() if sys.stderr.isatty() else PlainDisplay()


class QuietDisplay:
    every = 3600.0  # An update costs a look at the storage, and shows nothing here.

    def line(self, text: str) -> None:
        pass

    def note(self, sentence: str) -> None:
        pass

    def update(self, progress: Progress) -> None:
        pass

    def close(self) -> None:
        pass


class PlainDisplay:
    """For log files: at most one line in ten seconds, and none if nothing has changed."""

    every = 10.0

    def __init__(self) -> None:
        self._last_state: tuple[int, str] | None = None

    def line(self, text: str) -> None:
        say(_COLOUR.sub("", text.expandtabs()))

    def note(self, sentence: str) -> None:
        say(sentence)

    def update(self, progress: Progress) -> None:
        state = (progress.snapshot.n_counted, progress.error)
        if state == self._last_state or not (progress.n_ended or progress.error):
            return
        self._last_state = state
        say(sentence_of(progress))

    def close(self) -> None:
        pass


class LiveDisplay:
    """A table at the bottom of the terminal, with the output of the objective above it."""

    every = 0.5

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live: Live = Live(console=Console(stderr=True), auto_refresh=False, transient=False)
        self._started = False

    def line(self, text: str) -> None:
        from rich.text import Text

        self._live.console.print(Text.from_ansi(printable_output(text)))

    def note(self, sentence: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(printable(sentence), style="yellow"))

    def update(self, progress: Progress) -> None:
        if not self._started:
            self._live.start()
            self._started = True
        self._live.update(table_of(progress), refresh=True)

    def close(self) -> None:
        if self._started:
            self._live.stop()


# ---------------------------------------------------------------------- as text


def printable_output(text: str) -> str:
    """A line that the user's own code has printed: its colours are kept, and nothing else that controls a terminal."""
    pieces = _COLOUR.split(text.expandtabs())
    colours = _COLOUR.findall(text)
    return "".join(f"{printable(piece)}{colour}" for piece, colour in zip(pieces, [*colours, ""], strict=True))


def sentence_of(progress: Progress) -> str:
    snapshot = progress.snapshot
    text = f"{time.strftime('%H:%M:%S')} {snapshot.n_counted} of {progress.n_trials} trials"
    if snapshot.counts["fail"]:
        text += f", {snapshot.counts['fail']} failed"
    if snapshot.counts["pruned"]:
        text += f", {_pruned(snapshot)}"
    if snapshot.best is not None:
        text += f"; best {_best(snapshot)}"
    if snapshot.latest is not None:
        text += "" if snapshot.n_front is None else f"; {snapshot.n_front} on the front"
        text += f"; latest {_values(snapshot.latest)}"
    if progress.seconds_left is not None:
        text += f"; about {duration(progress.seconds_left)} left"
    if progress.error:
        text += f"; last error: {progress.error}"
    return text


def table_of(progress: Progress) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, title=Text(printable(progress.title)), title_justify="left", min_width=60)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows_of(progress):
        table.add_row(printable(name), Text(printable(text)))
    return table


def rows_of(progress: Progress) -> list[tuple[str, str]]:
    """The name and the text of each row. Rows without content are left out."""
    snapshot = progress.snapshot
    counts = snapshot.counts
    trials = (
        f"{snapshot.n_counted} of {progress.n_trials}: {counts['complete']} complete, {counts['fail']} failed, "
        f"{_pruned(snapshot)}"
    )
    if progress.n_workers:
        trials += f"; {counts['running']} running in {_workers(progress.n_workers)}"
    rows = [("trials", trials)]
    if snapshot.best is not None:
        rows.append(("best", _best(snapshot)))
        rows.append(("with", ", ".join(f"{name}={_value(value)}" for name, value in snapshot.best.params.items())))
    if snapshot.latest is not None:
        if snapshot.n_front is not None:
            rows.append(("front", "1 trial" if snapshot.n_front == 1 else f"{snapshot.n_front} trials"))
        rows.append(("latest", _values(snapshot.latest)))
    if snapshot.alpha is not None:
        rows.append(("alpha", f"{snapshot.alpha:.3g} (1 exploits, 0 explores)"))
    if progress.bound is not None:
        volume = f"{progress.bound:.2g} of the volume that the front dominates"
        rows.append(("left at most", f"{progress.bound:.2g}" if snapshot.n_front is None else volume))
    if snapshot.proposal:
        rows.append(("last proposal", snapshot.proposal))
    if snapshot.seconds is not None:
        left = "" if progress.seconds_left is None else f"; about {duration(progress.seconds_left)} left"
        rows.append(("time", f"{snapshot.seconds:.3g} s per trial{left}"))
    if progress.n_workers:
        rows += [(f"trial {curve.trial}", _curve(curve, snapshot.horizon)) for curve in snapshot.curves]
    if progress.error:
        rows.append(("last error", progress.error))
    return rows


def _best(snapshot: Snapshot) -> str:
    """With the name of the objective, if it has one."""
    from pellucid.words import number_text, prefix

    assert snapshot.best is not None
    value = number_text(snapshot.best.value, ".6g")
    return f"{prefix(snapshot.objective)}{value} (trial {snapshot.best.trial})"


def _values(trial: TrialOfSeveral) -> str:
    from pellucid.words import number_text

    listed = ", ".join(f"{name} {number_text(value, '.6g')}" for name, value in trial.values.items())
    return f"{listed} (trial {trial.trial})"


def _value(value: Any) -> str:
    from pellucid.words import number_text

    return number_text(value) if isinstance(value, float) else str(value)


def _pruned(snapshot: Snapshot) -> str:
    saved = f" ({snapshot.saved:,} steps saved)" if snapshot.saved else ""
    return f"{snapshot.counts['pruned']} pruned{saved}"


def _curve(curve: RunningCurve, horizon: int | None) -> str:
    from pellucid.words import number_text

    of = f" of {horizon}" if horizon is not None and curve.step <= horizon else ""
    return f"step {curve.step}{of}: {number_text(curve.values[-1], '.6g')} {sparkline(curve.values)}"


def sparkline(values: Sequence[float]) -> str:
    """Values from left to right, a larger one higher; of many, some at equal distances. NaN is a gap."""
    count = min(len(values), _MOST_BLOCKS)
    points = [values[round(i * (len(values) - 1) / max(count - 1, 1))] for i in range(count)]
    finite = [value for value in points if math.isfinite(value)]
    return "".join(_block(value, min(finite, default=0.0), max(finite, default=0.0)) for value in points)


def _block(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return " "
    value = min(max(value, low), high)
    width = high / 2 - low / 2  # In halves, because the distance of two large numbers may be infinite.
    share = (value / 2 - low / 2) / width if width else 0.5
    return _BLOCKS[round(share * (len(_BLOCKS) - 1))]


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"
