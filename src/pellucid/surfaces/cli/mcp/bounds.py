"""Answers of a bounded size: an agent reads all that it gets, and its memory is short."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pellucid.surfaces.cli.terminal import json_text

# Characters of an answer: 20,000 in all, about 5,000 words. The numbers take more room than the sentences.
MOST_TEXT, MOST_JSON = 8_000, 12_000
# A text inside of JSON. Sentences are shorter; a parameter may have any text as a value.
_LONGEST_ENTRY = 2_000
# Records have fewer fields; there may be more parameters than that.
_MOST_KEYS = 50
# A place in the data is named by at most so many characters, since names of parameters are a part of it.
_LONGEST_PATH = 100
# Lists are halved so often at most: enough for a dozen lists of a thousand entries.
_MOST_ROUNDS = 100


def bounded_text(text: str, most: int = MOST_TEXT) -> str:
    """A text of at most so many characters. If it is cut, its end says how many were left out."""
    if len(text) <= most:
        return text
    ending = f" ... ({len(text)} characters in all; the rest was left out.)"
    return text[: most - len(ending)] + ending


def bounded_json(data: Mapping[str, Any], most: int = MOST_JSON) -> str:
    """JSON of at most so many characters. If it is cut, `left_out` says in which lists, and how many entries."""
    text = json_text(data)
    if len(text) <= most:
        return text
    content = json.loads(text)
    lengths: dict[str, int] = {}
    for _ in range(_MOST_ROUNDS):
        cutting = _Cutting(lengths)
        shorter = cutting.shortened(content, "")
        text = json_text({**shorter, "left_out": cutting.sentences()})
        if len(text) <= most:
            return text
        if not cutting.sizes:
            break
        largest = max(cutting.sizes, key=cutting.sizes.__getitem__)
        lengths[largest] = cutting.longest[largest] // 2
    return json_text({"left_out": {"everything": f"the numbers take more than {most} characters"}})


@dataclass
class _Cutting:
    """One pass over plain data that shortens lists. Lists in the entries of a list share a path, like `points[].x`.

    lengths   the most entries of the lists at a path
    received, kept   entries of all lists at a path that was cut
    longest, sizes   of the lists that could be cut further: entries of the longest, and characters in all
    """

    lengths: Mapping[str, int]
    received: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def shortened(self, value: Any, path: str) -> Any:
        if isinstance(value, str):
            return bounded_text(value, _LONGEST_ENTRY)
        if isinstance(value, list):
            entries = value[: self.lengths.get(path, len(value))]
            shorter = [self.shortened(entry, f"{path}[]") for entry in entries]
            return self._noted(path, len(value), shorter, fewest=1)
        if isinstance(value, dict):
            pairs = list(value.items())[: self.lengths.get(path, len(value))]
            fewer = {
                bounded_text(key, _LONGEST_ENTRY): self.shortened(entry, f"{path}.{key}".strip(".")[:_LONGEST_PATH])
                for key, entry in pairs
            }
            return self._noted(path, len(value), fewer, fewest=_MOST_KEYS)
        return value

    def _noted(self, path: str, received: int, shorter: Any, fewest: int) -> Any:
        if path in self.lengths:
            self.received[path] = self.received.get(path, 0) + received
            self.kept[path] = self.kept.get(path, 0) + len(shorter)
        if len(shorter) > fewest:
            self.longest[path] = max(self.longest.get(path, 0), len(shorter))
            self.sizes[path] = self.sizes.get(path, 0) + len(json_text(shorter))
        return shorter

    def sentences(self) -> dict[str, str]:
        return {
            path: f"{received - self.kept[path]} of {received} entries were left out"
            for path, received in self.received.items()
            if received > self.kept[path]
        }
