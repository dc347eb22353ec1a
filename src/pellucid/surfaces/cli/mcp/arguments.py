"""The arguments of tools: their schema for the agent, and a sentence if one of them is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pellucid.answers.base import GoalName
from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.mcp.bounds import bounded_text
from pellucid.surfaces.cli.terminal import json_text
from pellucid.words import printable

# Characters of a wrong value that a message repeats.
_LONGEST_VALUE = 200


@dataclass(frozen=True)
class Kind:
    """What an argument can be: in JSON Schema, in words, and as a test."""

    schema: Mapping[str, Any]
    words: str
    accepts: Callable[[Any], bool]


@dataclass(frozen=True)
class Argument:
    name: str
    kind: Kind
    description: str
    required: bool = False


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


_GOALS = [goal.value for goal in GoalName]
TEXT = Kind({"type": "string"}, "a text", lambda value: isinstance(value, str))
NUMBER = Kind(
    {"type": "integer", "minimum": 0},
    "a whole number from 0 on",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
)
NAMES = Kind(
    {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    "a list with one name, or with two different ones",
    lambda value: _is_texts(value) and 1 <= len(value) <= 2 and len(set(value)) == len(value),
)
GOAL = Kind(
    {"type": "string", "enum": _GOALS},
    f"one of {', '.join(_GOALS)}",
    lambda value: isinstance(value, str) and value in _GOALS,
)
VALUES = Kind(
    {"type": "object", "minProperties": 1},
    "an object with a value for at least one parameter",
    lambda value: isinstance(value, dict) and bool(value),
)


def schema_of(arguments: Sequence[Argument]) -> dict[str, Any]:
    """The arguments of a tool in JSON Schema."""
    return {
        "type": "object",
        "properties": {
            argument.name: {**argument.kind.schema, "description": argument.description} for argument in arguments
        },
        "required": [argument.name for argument in arguments if argument.required],
        "additionalProperties": False,
    }


def checked(arguments: Sequence[Argument], received: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all arguments; None for one that was not given. Raises Mistake if one of them is wrong."""
    names = [argument.name for argument in arguments]
    for name in received:
        if name not in names:
            raise Mistake(_unknown(name, names))
    return {argument.name: _value(argument, received.get(argument.name)) for argument in arguments}


def _value(argument: Argument, value: Any) -> Any:
    if value is None and not argument.required:  # Many agents write null for what they leave out.
        return None
    if not argument.kind.accepts(value):
        raise Mistake(f"`{argument.name}` has to be {argument.kind.words}; got {in_words(value)}.")
    return value


def _unknown(name: str, names: Sequence[str]) -> str:
    taken = f"it takes {', '.join(f'`{known}`' for known in names)}" if names else "it takes none"
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    return f"The tool has no argument `{bounded_text(printable(name), _LONGEST_VALUE)}`; {taken}.{hint}"


def in_words(value: Any) -> str:
    """A value that was received, as JSON; "nothing" for null."""
    return "nothing" if value is None else bounded_text(json_text(value), _LONGEST_VALUE)
