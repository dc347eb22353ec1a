"""The base of every answer, and what is returned instead if there is no answer yet.

Numbers are in the unit and direction of the objective as the user returns it, parameters in their own values.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pellucid.notebook import Rows, document, prose
from pellucid.words import NoAnswer, Note, Unanswered, cause_of, printable, printable_traceback

Answer = TypeVar("Answer")

_logger = logging.getLogger("pellucid")


class Finding(ABC):
    """An answer about a study: a frozen dataclass with a sentence, notes, a table and a figure.

    A subclass has `sentence` (the answer in one sentence), `notes` (reasons for doubt) and `n_trials` (how many trials
    it rests on) as fields or properties, and says in `_columns` what its table holds. Its figure is drawn by
    `pellucid.answers.drawing`.

    In a notebook, `_pictured` says whether the figure is shown below the text, `_rows` which rows of a long table, and
    `_told` which columns of it the sentence has already.
    """

    _pictured: ClassVar[bool] = True
    _told: ClassVar[tuple[str, ...]] = ()
    _rows: ClassVar[Rows] = "first"

    if TYPE_CHECKING:  # A subclass defines all three, as a field or as a property.

        @property
        def sentence(self) -> str: ...

        @property
        def notes(self) -> tuple[str, ...]: ...

        @property
        def n_trials(self) -> int | tuple[int, ...]: ...

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data, with `sentence`, `notes` and `n_trials` where these are properties."""
        return _data_of(self)  # type: ignore[no-any-return]

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
            plots = import_module(
                "pellucid.answers.drawing"
            )  # Above this package, so it is imported only when asked for.
        except ImportError as error:
            raise ImportError("Figures need plotly: install it with `pip install 'pellucid[plots]'`.") from error
        return plots.draw(self, what)

    @property
    def reply(self) -> str:
        """The sentence as it stands after the question. Some answers say there more than in their sentence alone."""
        return self.sentence

    def __str__(self) -> str:
        return printable(" ".join((self.sentence, *self.notes)))

    def __init_subclass__(cls) -> None:
        """Every answer has the short `repr` below. `dataclass` would write one with all fields, often pages of them."""
        if "__repr__" not in vars(cls):
            cls.__repr__ = Finding.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return printable(f"<{type(self).__name__}: {self.sentence}>")

    def _repr_html_(self) -> str:
        """The sentence, a small table and the notes."""
        columns = {name: values for name, values in self._columns().items() if name not in self._told}
        return document(self.sentence, columns, self.notes, self._rows)

    def _ipython_display_(self) -> None:
        """What a notebook shows: the text, and the figure below it. It is an output of its own, which Plotly's renderer
        for this notebook makes. On IPython's terminal: the text alone."""
        from IPython import get_ipython
        from IPython.display import display

        display({"text/plain": str(self), "text/html": self._repr_html_()}, raw=True)
        if self._pictured and type(get_ipython()).__name__ != "TerminalInteractiveShell":
            with suppress(ImportError):  # Without Plotly, the text is all.
                import_module("pellucid.answers.drawing").show(self)


def _data_of(value: Any) -> Any:
    """As `dataclasses.asdict`; an answer inside another one has its properties, too."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        if isinstance(value, Finding):
            names += [name for name in ("sentence", "notes", "n_trials") if name not in names]
        return {name: _data_of(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: _data_of(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_data_of(entry) for entry in value)
    return str(value) if isinstance(value, Note) else value


@dataclass(frozen=True)
class NotKnown:
    """Stands where an answer would.

    reason  why there is none, in a sentence
    final   whether more trials do not change that
    failed  whether that is because of an error in pellucid, which the reason names
    """

    reason: str
    final: bool = False
    failed: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return printable(self.reason)

    def __repr__(self) -> str:
        return printable(f"<NotKnown: {self.reason}>")

    def _repr_html_(self) -> str:
        return f"<p>{'' if self.final else 'Not known yet. '}{prose(self.reason)}</p>"


# Stands for an answer that takes long, on a page that comes before it.
PENDING = NotKnown("It is being computed.")


def attempt(ask: Callable[[], Answer]) -> Answer | NotKnown:
    """An answer, or why there is none. One that fails is logged, and keeps no other from its reader."""
    try:
        return ask()
    except Unanswered as reason:
        return NotKnown(str(reason), isinstance(reason, NoAnswer))
    except Exception as error:
        # Not as `exc_info`: messages may hold names of the study, which must not reach a terminal as they are.
        _logger.error("An answer failed (%s).\n%s", cause_of(error), printable_traceback(error))
        return NotKnown(f"This answer failed; please report it ({cause_of(error)}).", final=True, failed=True)


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
