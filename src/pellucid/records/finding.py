"""The base of every answer, and what is returned instead if there is no answer yet.

Numbers are in the unit and direction of the objective as the user returns it, parameters in their own values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

Answer = TypeVar("Answer")
# The name of an objective that has none of its own, and of its unit.
OBJECTIVE = "objective"


class Finding(ABC):
    """An answer about a study: a frozen dataclass with a sentence, notes, a table and a figure.

    A subclass has `sentence` (the answer in one sentence) and `notes` (reasons for doubt) as fields or properties, and
    says in `_columns` what its table holds. Its figure is drawn by `pellucid.plots`.
    """

    if TYPE_CHECKING:  # A subclass defines both, as a field or as a property.

        @property
        def sentence(self) -> str: ...

        @property
        def notes(self) -> tuple[str, ...]: ...

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_frame(self) -> Any:
        """The answer as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Tables need pandas: install it with `pip install 'pellucid[plots]'`.") from error
        return pd.DataFrame(self._columns())

    @abstractmethod
    def _columns(self) -> Mapping[str, Any]:
        """The columns of the table, by name."""

    def plot(self) -> Any:
        """The answer as a Plotly figure."""
        return self._drawn(None)

    def _drawn(self, what: str | None) -> Any:
        """The figure, or the one called `what` if there are several."""
        try:
            plots = import_module("pellucid.plots")  # Above this package, so it is imported only when asked for.
        except ImportError as error:
            raise ImportError("Figures need plotly: install it with `pip install 'pellucid[plots]'`.") from error
        return plots.draw(self, what)

    def __str__(self) -> str:
        return " ".join((self.sentence, *self.notes))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<p>{escape(self.sentence)}</p>" + (f"<ul>{notes}</ul>" if notes else "")


@dataclass(frozen=True)
class NotKnown:
    """Stands where an answer would: why there is none yet."""

    reason: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return self.reason


def attempt(ask: Callable[[], Answer]) -> Answer | NotKnown:
    """An answer, or why there is none. Explainers raise ValueError with a sentence that is written for users."""
    try:
        return ask()
    except ValueError as error:
        return NotKnown(str(error))


def plain(value: Any) -> Any:
    """A value as JSON can carry it: NaN and infinities as null, arrays as lists, keys and anything else as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # Arrays and numbers of NumPy.
        return plain(value.tolist())
    return str(value)


def called(objective: str) -> str:
    """An objective in a sentence: by its name, if it has one."""
    return "the objective" if objective == OBJECTIVE else objective


def prefix(objective: str) -> str:
    """What stands before a value: "accuracy "; nothing if the objective has no name."""
    return "" if objective == OBJECTIVE else f"{objective} "


def percent(chance: float) -> str:
    """ "97%"; never 0% or 100%, because a model is never sure."""
    return "more than 99%" if chance > 0.99 else "less than 1%" if chance < 0.01 else f"{chance:.0%}"
