"""What lives from one call to the next, by study. It makes calls faster, never different."""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from optuna.study import Study

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The last value that was made for each study: it goes with the study, and no other process sees it."""

    def __init__(self) -> None:
        self._by_study: WeakKeyDictionary[Study, Value] = WeakKeyDictionary()

    def last(self, study: Study) -> Value | None:
        return self._by_study.get(study)

    def keep(self, study: Study, value: Value) -> None:
        self._by_study[study] = value

    def forget(self) -> None:
        """All of them."""
        self._by_study.clear()
