"""What all calls of a session share, and what one call returns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.cli.storage.studies import chosen_name, load, names_in, reading

if TYPE_CHECKING:
    from optuna.study import Study


@dataclass(frozen=True)
class Session:
    """A server at work.

    place        the storage, opened anew by every call, so that an answer is about the trials of that moment
    reports      the folder of reports;  temporary  whether it is removed in the end
    may_enqueue  whether trials may be enqueued
    """

    place: Place
    reports: Path
    temporary: bool = False
    may_enqueue: bool = False

    @contextmanager
    def study(self, name: str | None) -> Iterator[Study]:
        """An existing study, to read only. None stands for the only one of the storage."""
        with reading(self.place) as storage:
            yield load(storage, chosen_name(names_in(storage), name, self.place))


@dataclass(frozen=True)
class Returned:
    """What a tool returns: sentences, and the same as data."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What an agent gets, of a bounded length: sentences, and the same as JSON. `failed`: a sentence, what is wrong."""

    texts: tuple[str, ...]
    failed: bool = False
