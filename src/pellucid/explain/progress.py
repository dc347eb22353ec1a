"""Progress bars for what takes longer than a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Bar:
    """A bar on the screen, or none if nothing is shown."""

    shown: Any = None

    def advance(self, what: str | None = None) -> None:
        """One step further. `what`: the description from now on."""
        if self.shown is not None:
            self.shown.update(self.shown.task_ids[0], advance=1, description=what)

    def reach(self, done: int) -> None:
        """Set the number of steps that are done."""
        if self.shown is not None:
            self.shown.update(self.shown.task_ids[0], completed=done)


@contextmanager
def progress_bar(what: str, total: int, *, show: bool) -> Iterator[Bar]:
    """A bar on standard error, with an estimate of the time left; only on a terminal or in a notebook."""
    if not show:
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield Bar()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        shown.add_task(what, total=total)
        yield Bar(shown)


def tracked(items: Sequence[T], what: str, *, show: bool) -> Iterator[T]:
    """The items, with a progress bar if there are several."""
    with progress_bar(what, len(items), show=show and len(items) > 1) as bar:
        for item in items:
            yield item
            bar.advance()
