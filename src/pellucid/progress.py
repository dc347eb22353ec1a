"""Progress bars for what takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pellucid.words import escape, printable

T = TypeVar("T")
# Seconds between updates of a bar in a notebook: each is a message to the browser.
_EVERY = 0.2


class _Shown(Protocol):
    """A bar that somebody sees."""

    def update(self, *, advance: int = 0, completed: int | None = None, description: str | None = None) -> None: ...


@dataclass(frozen=True)
class Bar:
    """A bar on the screen, or none if nothing is shown."""

    shown: _Shown | None = None

    def advance(self, what: str | None = None) -> None:
        """One step further. `what`: the description from now on."""
        if self.shown is not None:
            self.shown.update(advance=1, description=what)

    def reach(self, done: int) -> None:
        """Set the number of steps that are done."""
        if self.shown is not None:
            self.shown.update(completed=done)


@contextmanager
def progress_bar(what: str, total: int, *, show: bool) -> Iterator[Bar]:
    """A bar with an estimate of the time left: on standard error if that is a terminal, or in a notebook."""
    if not show:
        yield Bar()
    elif _in_notebook():
        with _notebook_bar(what, total) as shown:
            yield Bar(shown)
    else:
        with _terminal_bar(what, total) as bar:
            yield bar


def tracked(items: Sequence[T], what: str, *, show: bool) -> Iterator[T]:
    """The items, with a progress bar if there are several."""
    with progress_bar(what, len(items), show=show and len(items) > 1) as bar:
        for item in items:
            yield item
            bar.advance()


# ------------------------------------------------------------------------------------------ terminals


@dataclass(frozen=True)
class _TerminalBar:
    progress: Any

    def update(self, *, advance: int = 0, completed: int | None = None, description: str | None = None) -> None:
        moved = {"advance": advance} if completed is None else {"completed": completed}
        shown = None if description is None else printable(description)
        self.progress.update(self.progress.task_ids[0], description=shown, **moved)


@contextmanager
def _terminal_bar(what: str, total: int) -> Iterator[Bar]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar()
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(printable(what), total=total)
        yield Bar(_TerminalBar(progress))


# ------------------------------------------------------------------------------------------ notebooks


class _NotebookBar:
    """An HTML bar in an output of its own, which is emptied at the end. rich's bar would need ipywidgets."""

    def __init__(self, what: str, total: int, handle: Any) -> None:
        self._what, self._total, self._done = what, total, 0
        self._handle = handle
        self._start = self._last = time.monotonic()

    def update(self, *, advance: int = 0, completed: int | None = None, description: str | None = None) -> None:
        self._done = self._done + advance if completed is None else completed
        self._what = self._what if description is None else description
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            self._handle.update(self.bundle(), raw=True)

    def bundle(self) -> dict[str, str]:
        left = ""
        if self._done:
            seconds = (time.monotonic() - self._start) / self._done * (self._total - self._done)
            left = f", {int(seconds // 60)}:{int(seconds % 60):02d} left"
        text = printable(f"{self._what}: {self._done} of {self._total}{left}")
        bar = f"<progress value='{self._done}' max='{self._total}' aria-label='Progress'></progress>"
        return {"text/plain": text, "text/html": f"<div>{bar} {escape(text)}</div>"}


@contextmanager
def _notebook_bar(what: str, total: int) -> Iterator[_NotebookBar]:
    from IPython.display import DisplayHandle

    handle = DisplayHandle()
    bar = _NotebookBar(what, total, handle)
    handle.display(bar.bundle(), raw=True)
    try:
        yield bar
    finally:
        handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel, as in a notebook. IPython is not loaded for it."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
