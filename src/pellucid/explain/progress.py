"""A bar for what takes longer than a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def tracked(items: Sequence[T], what: str, wanted: bool) -> Iterator[T]:
    """The items, with a progress bar on standard error where that is a terminal (or a notebook)."""
    if not wanted or len(items) < 2:
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not (console.is_terminal or console.is_jupyter)) as bar:
        task = bar.add_task(what, total=len(items))
        for item in items:
            yield item
            bar.advance(task)
