"""Texts that can be compared: numbers are masked as `#`, and no part of a file has a line twice.

So a file of texts reads as a diff. Lines at the margin are structure: sections, figures, keys, questions. The indented
ones are sentences. Where a processor rounds otherwise than the one that recorded them, the structure must be the same,
and of the sentences all but a few: a verdict that is close to its limit may become another one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent / "texts"
# Golden studies whose texts are recorded: every kind of space and sampler, of trouble and of question.
NAMES = (
    "first trial",
    *("flat", "mixed", "conditional", "noisy", "failures", "curves", "pending", "two steps", "tpe", "random"),
    *("gain and cost", "three objectives", "two objectives, constraint", "two constraints"),
)

# Share of a file's lines that may be others where a processor rounds otherwise: with SSE 4.2 and with AVX-512, at most
# 2.2% were.
FEW = 0.05

_NUMBER = re.compile(r"(?<![\w#])[-+−]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?|\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_LIST = re.compile(r"#(?:, #)+(?:,? (?:and|or) #)?|# (?:and|or) #")
_RANGES = re.compile(r"# to #(?:(?:,|,? and)? # to #| to #)+")


def masked(text: str) -> str:
    """The text in one line, with `#` in the place of every number and of every list of numbers, and `# to #` in that of
    every list of ranges."""
    return _RANGES.sub("# to #", _LIST.sub("#", _NUMBER.sub("#", " ".join(text.split()))))


def part(title: str, sentences: Iterable[str] = ()) -> list[str]:
    """A line of structure, and below it every sentence once: no empty ones, and no rules between rows of a table."""
    lines = dict.fromkeys(map(masked, sentences))
    return [masked(title), *(f"    {line}" for line in lines if line.strip("#|─━-% "))]


def text_file(folder: str, name: str) -> Path:
    return FOLDER / folder / f"{name.replace(', ', '-').replace(' ', '-')}.txt"


def write_text(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def changes(path: Path, present: Sequence[str], *, exact: bool) -> list[str]:
    """Lines that are gone or new, under the name of the file; without `exact`, nothing if these are few sentences."""
    golden = path.read_text(encoding="utf-8").splitlines()
    name = f"{path.parent.name}/{path.name}"
    lines = list(difflib.unified_diff(golden, present, f"{name}, recorded", f"{name}, now", lineterm="", n=1))
    if not exact and _structure(golden) == _structure(present):
        gone = sum(line.startswith("-    ") for line in lines)
        return lines if gone > FEW * len(golden) else []
    return lines


def _structure(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not line.startswith(" ")]
