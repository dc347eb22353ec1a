"""Other words for everything that people read: what programs do with a record must not depend on them.

Every text becomes one word, and may be the beginning of the word for another text. `unscrambled` puts the texts back.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from pellucid.answers.finding import Finding
from pellucid.provenance import Receipt

# Fields and properties of records that hold what people read. Names of parameters, choices and objectives are no prose.
PROSE = frozenset(
    ("sentence", "notes", "title", "headline", "reply", "reason", "blocked", "words", "why", "compared_with", "dead")
)
OF_RECEIPTS = {"phase", "turn"}
_WORD = re.compile(r"\b([xX])(q+)\b")


class Scrambler:
    def __init__(self, seed: int) -> None:
        self._texts: dict[int, str] = {}
        self._length_of: dict[tuple[str, str], int] = {}
        self._free = list(range(1, 400))
        random.Random(seed).shuffle(self._free)

    def word(self, text: str, of: str = "") -> str:
        """The word for a text, the same every time. `of`: whose it is; others have another word for it. A note stays a
        note of its kind."""
        if not text:
            return text
        if (of, text) not in self._length_of:
            length = self._length_of[of, text] = self._free.pop()
            self._texts[length] = str(text)
        word = "x" + "q" * self._length_of[of, text]
        return type(text)(word, **vars(text)) if type(text) is not str else word

    def record(self, value: Any) -> Any:
        """A record, or what holds records, with words in the place of texts."""
        if is_dataclass(value) and not isinstance(value, type):
            if isinstance(value, Receipt):
                texts = {name: getattr(value, name) for name in OF_RECEIPTS if hasattr(value, name)}
                return replace(value, **{name: self.word(text, "receipt") for name, text in texts.items()})
            parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            return replace(value, **{name: self._part(name, part) for name, part in parts.items()})
        if isinstance(value, Mapping):
            return {key: self.record(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.record(entry) for entry in value)
        return value

    def _part(self, name: str, value: Any) -> Any:
        if name in PROSE and isinstance(value, str):
            return self.word(value)
        if name in PROSE and isinstance(value, tuple):
            return tuple(map(self.word, value))
        return self.record(value)

    def properties(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The sentences that records make when they are asked for."""
        for record in _subclasses(Finding):
            for name in PROSE & set(vars(record)):
                made = vars(record)[name]
                if isinstance(made, property) and made.fget is not None:
                    monkeypatch.setattr(record, name, property(self._asked(made.fget)))

    def _asked(self, make: Any) -> Any:
        def asked(record: Any) -> Any:
            text = make(record)
            return tuple(map(self.word, text)) if isinstance(text, tuple) else self.word(text)

        return asked

    def unscrambled(self, text: str) -> str:
        """With the texts in the place of their words; texts may hold words themselves. Half a word stays."""
        restored = _WORD.sub(self._text, text)
        return text if restored == text else self.unscrambled(restored)

    def _text(self, found: re.Match[str]) -> str:
        text = self._texts.get(len(found[2]), found[0])
        return f"{text[0].upper()}{text[1:]}" if found[1] == "X" else text


def _subclasses(record: type) -> Iterator[type]:
    for subclass in record.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
