"""Write the JSON Schemas of `pellucid explain --json` and `pellucid tune --json` from the types of the records:
python tools/json_schema.py

Run it after a field of a record was added, renamed or removed. A test fails if a file is not up to date.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import optuna

from pellucid.answers.base import Answer, resolve
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.finding import Finding
from pellucid.answers.on_pages import CURVES
from pellucid.surfaces.cli.tune.run import EndReason
from pellucid.surfaces.cli.tune.snapshot import BestTrial, TrialOfSeveral

FOLDER = Path(__file__).parent.parent / "src" / "pellucid" / "cli"


def keys_of(answers: Iterable[Answer[Any]]) -> dict[str, tuple[type, ...]]:
    """The records that answers can be, by their key."""
    found: dict[str, dict[type, None]] = {}
    for answer in answers:
        found.setdefault(answer.key, {}).update(dict.fromkeys(map(resolve, answer.records)))
    return {key: tuple(of_key) for key, of_key in found.items()}


ANSWERS = keys_of(answer for answer in CATALOGUE if answer.asked)
# The same for the answers at the end of `pellucid tune`.
CONCLUSIONS = keys_of(answer for answer in CATALOGUE if answer.concludes)
# Answers that studies with several objectives hold by the name of the objective, or of two.
BY_OBJECTIVE = {answer.key for answer in CATALOGUE if answer.asked and answer.parts.several}
# JSON has neither NaN nor infinities: a number can be null.
NUMBER = {"type": ["number", "null"]}
SIMPLE: Mapping[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: NUMBER,
    str: {"type": "string"},
    NoneType: {"type": "null"},
    Any: {},
}


# What every answer holds, as a field or as a property.
OF_EVERY_ANSWER: Mapping[str, Any] = {"sentence": str, "notes": tuple[str, ...], "n_trials": int}


def explain_schema() -> dict[str, Any]:
    """The schema of all that `pellucid explain --json` prints."""
    definitions: dict[str, Any] = {}
    answers = {key: _answer(key, definitions) for key in ANSWERS}
    head = {
        **_study(definitions),
        "dead": _object({"trials": tuple[int, ...], "notice": str}, definitions)
        | {"description": "Running trials whose process may have ended, and a sentence about them."},
    }
    reasons = {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}
    unknown = {
        "type": "object",
        "properties": dict.fromkeys(ANSWERS, reasons),
        "additionalProperties": False,
        "description": "Why an answer is not known yet, by its key; by objective below that if there are several.",
    }
    failed = {
        "type": "object",
        # What other answers make of learning curves is printed only if that fails.
        "properties": dict.fromkeys((*ANSWERS, CURVES.key), reasons),
        "additionalProperties": False,
        "description": "Why an answer failed, in the layers of `unknown`: an error in pellucid.",
    }
    properties = {**head, **answers, "unknown": unknown, "failed": failed}
    return _document("pellucid explain --json", properties, set(answers), definitions)


def tune_schema() -> dict[str, Any]:
    """The schema of all that `pellucid tune --json` prints."""
    definitions: dict[str, Any] = {}
    answers = {key: _one_of((*types, NoneType), definitions) for key, types in CONCLUSIONS.items()}
    properties = {
        **_study(definitions),
        "ended": {"enum": [reason.value for reason in EndReason], "description": "Why the run is over."},
        "wanted": {"type": "integer", "description": "--trials."},
        "n_trials": {"type": "integer", "description": "Trials that count towards --trials."},
        "best": _of(BestTrial | None, definitions) | {"description": "The best complete and feasible trial."},
        "front": _of(tuple[TrialOfSeveral, ...], definitions)
        | {"description": "With several objectives: the complete and feasible trials on their front."},
        **answers,
        "report": {"type": ["string", "null"], "description": "The file that --report has written."},
    }
    return _document("pellucid tune --json", properties, {"front"}, definitions)


def _document(
    title: str, properties: dict[str, Any], optional: set[str], definitions: dict[str, Any]
) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def _study(definitions: dict[str, Any]) -> dict[str, Any]:
    """What every command says of its study."""
    return {
        "study": {"type": "string", "description": "Name of the study."},
        "storage": {"type": "string", "description": "The storage, without user, password and query."},
        "direction": {"enum": ["minimize", "maximize", None], "description": "null if there are several objectives."},
        "objectives": {"type": "array", "minItems": 1, "items": _object({"name": str, "direction": str}, definitions)},
        "counts": _object(dict.fromkeys(_states(), int), definitions) | {"description": "Trials by their state."},
    }


def _states() -> list[str]:
    return [state.name.lower() for state in optuna.trial.TrialState]


def _answer(key: str, definitions: dict[str, Any]) -> dict[str, Any]:
    one = _one_of(ANSWERS[key], definitions)
    if key not in BY_OBJECTIVE:
        return one
    return {"anyOf": [*one.get("anyOf", [one]), {"type": "object", "additionalProperties": one}]}


def _one_of(types: tuple[type, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    """One of several records, or null."""
    options = [_of(each, definitions) for each in types]
    return options[0] if len(options) == 1 else {"anyOf": options}


def _object(types: Mapping[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    properties = {name: _of(annotation, definitions) for name, annotation in types.items()}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _of(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type. Schemas of records are added to the definitions."""
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        options = [_of(argument, definitions) for argument in arguments]
        return NUMBER if NUMBER in options and {"type": "null"} in options else {"anyOf": options}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return _tuple(arguments, definitions)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    assert is_dataclass(annotation), f"no schema for {annotation}"
    name = annotation.__name__  # type: ignore[union-attr]
    if name not in definitions:
        hints = get_type_hints(annotation)
        types = {field.name: hints[field.name] for field in fields(annotation)}
        definitions[name] = _object({**(OF_EVERY_ANSWER if _is_answer(annotation) else {}), **types}, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _is_answer(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Finding)


def _tuple(arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if arguments[-1] is ...:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    items = [_of(argument, definitions) for argument in arguments]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def texts() -> dict[str, str]:
    """The files by their names: one line for each key, answer and record."""
    schemas = {"explain": explain_schema(), "tune": tune_schema()}
    return {f"{name}.schema.json": _lines(schema, {"properties", "$defs"}) + "\n" for name, schema in schemas.items()}


def _lines(value: Mapping[str, Any], opened: set[str]) -> str:
    """An object with a line for each entry; those that are `opened` have a line for each of theirs."""
    entries = (
        f"{json.dumps(key)}: {_lines(entry, set()) if key in opened else json.dumps(entry)}"
        for key, entry in value.items()
    )
    return "{\n" + ",\n".join(entries) + "\n}"


def main() -> None:
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
