"""The JSON in which receipts are stored, version 1.

It is one flat object with the fields of all kinds. With one objective, the fields of its model stand beside those of
the receipt. With several, they hold nothing, and `objectives` has a list of models. Fields that hold nothing are left
out, except numbers and the direction.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from copy import deepcopy
from dataclasses import asdict, is_dataclass
from sys import intern
from typing import Any

from pellucid.models.states import Hyperparameters
from pellucid.provenance.states import (
    AcquisitionState,
    ConstraintState,
    CurveState,
    ModelState,
    PolicyState,
    RankingState,
)
from pellucid.words import RecordError, UnreadableRecordError, printable

VERSION = 1

# Every field in the order in which it is stored, with what it holds where a kind has no such field.
_NOTHING: dict[str, Any] = {
    "trial": None,
    "kind": "",
    "seed": None,
    "params": {},
    "reason": "",
    "direction": "minimize",
    "space": {},
    "conditions": {},
    "ordinal": (),
    "fitted_on": "",
    "curves": None,
    "believed": "",
    "pending": {},
    "hyperparameters": None,
    "acquisition": None,
    "mean": None,
    "sd": None,
    "predictive_sd": None,
    "recalibration": None,
    "latent_mean": None,
    "latent_sd": None,
    "curvature": (),
    "learned_from": 0,
    "best_value": None,
    "policy": None,
    "bounds": (),
    "phase": "",
    "turn": "",
    "look": False,
    "constraints": (),
    "objectives": (),
    "front": "",
    "reference": (),
    "tolerance": 0.0,
    "width": 1.0,
    "ranking": None,
    "version": VERSION,
}
# They are stored even if they are empty.
_ALWAYS = frozenset(("trial", "kind", "seed", "params", "version"))
_TUPLES = ("bounds", "reference", "ordinal", "curvature")
# The fields of the model of a single objective, but for `fitted_on`, which the receipt has too.
_OF_MODEL = (
    *("direction", "hyperparameters", "learned_from", "mean", "sd", "predictive_sd", "recalibration", "latent_mean"),
    *("latent_sd", "best_value", "curvature"),
)


# ---------------------------------------------------------------------- writing


def flat(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """All fields of version 1, given those of a receipt. States are still objects."""
    data = _NOTHING | fields
    data["kind"] = kind
    if "models" in fields:
        models = data.pop("models")
        del data["step"]  # The words of `phase` say it: see `_step`.
        if len(models) == 1:
            model = vars(models[0])
            data |= {name: model[name] for name in _OF_MODEL}
        else:
            data["objectives"] = models
    return data


def plain(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """`flat`, with dictionaries in place of states. Nothing in it belongs to the receipt."""
    return {name: _copied(value) for name, value in flat(kind, fields).items()}


def written(kind: str, fields: dict[str, Any]) -> str:
    """Compact JSON."""
    data = flat(kind, fields)
    if data["hyperparameters"] is not None:
        data["hyperparameters"] = _as_json(data["hyperparameters"])
    for part in ("constraints", "objectives"):
        data[part] = [{**vars(state), "hyperparameters": _as_json(state.hyperparameters)} for state in data[part]]
    if data["acquisition"] is not None:
        data["acquisition"] = {k: v for k, v in vars(data["acquisition"]).items() if k != "learns_about" or v}
    for part in ("policy", "curves", "ranking"):
        if data[part] is not None:
            data[part] = vars(data[part])
    kept = {k: v for k, v in data.items() if k in _ALWAYS or v not in (None, "", {}, (), [])}
    return json.dumps(kept, separators=(",", ":"), allow_nan=True)


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else deepcopy(value)


def _as_json(hyperparameters: Hyperparameters) -> dict[str, Any]:
    """As JSON can carry them: `asdict`, without its copies."""
    warp = hyperparameters.warp
    return {**vars(hyperparameters), "warp": None if warp is None else vars(warp)}


# ---------------------------------------------------------------------- reading


def parsed(text: str) -> dict[str, Any]:
    """The object. Raises UnreadableRecordError if it is none, or of a newer version."""
    try:
        data: dict[str, Any] = json.loads(text)
        version = int(data["version"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise UnreadableRecordError(f"This receipt is damaged and cannot be read ({error!s:.300}).") from error
    if version > VERSION:
        raise UnreadableRecordError(
            f"This receipt has version {version}, but this pellucid reads up to version {VERSION}: "
            "upgrade pellucid to read it."
        )
    data["version"] = version
    return data


def fields_of(data: dict[str, Any], kind: str, names: Collection[str]) -> dict[str, Any]:
    """The fields of a receipt of this kind, with these `names`. Raises an error of any sort if the data has no such
    receipt: every field that the kind does not have must hold nothing."""
    if "models" in data or "step" in data:
        raise RecordError("`models` and `step` are no fields of version 1.")
    _share_texts(data)
    for name, state in _STATES.items():
        if data.get(name) is not None:
            data[name] = state(data[name])
    for name in _TUPLES:
        if name in data:
            data[name] = tuple(data[name])
    if "constraints" in data:
        data["constraints"] = tuple(map(ConstraintState.from_dict, data["constraints"]))
    if "objectives" in data:
        data["objectives"] = tuple(map(ModelState.from_dict, data["objectives"]))
    if "pending" in data:
        data["pending"] = {k: tuple(v) for k, v in data["pending"].items()}
    if kind == "model":
        several = len(data.get("objectives", ())) > 1
        if data.get("acquisition") is None or (not several and data.get("hyperparameters") is None):
            raise RecordError("A receipt of kind 'model' needs hyperparameters and an acquisition.")
        data["step"] = _step(data.get("phase", ""))
        data["models"] = data.pop("objectives") if several else _single_model(data)
    for name in data.keys() - names:
        nothing, value = _NOTHING.get(name), data.pop(name)
        if name not in _NOTHING or type(value) is not type(nothing) or value != nothing:
            raise RecordError(printable(f"A receipt of kind '{kind}' has no `{name:.100}`."))
    return data


def _single_model(data: dict[str, Any]) -> tuple[ModelState, ...]:
    """The model of the only objective, whose fields are taken out of the data."""
    own = {name: data.pop(name, _NOTHING[name]) for name in _OF_MODEL}
    return (ModelState(name="", fitted_on=data.get("fitted_on", ""), ceiling=None, **own),)


def _step(phase: str) -> int | None:
    """Version 1 has the step of a search in steps in its words alone: this is the one place that reads them."""
    return next((step for step in (1, 2) if f"Step {step} tunes" in phase), None)


def _policy(data: dict[str, Any]) -> PolicyState:
    points = tuple(tuple(row) for row in data.pop("points", ()))
    return PolicyState(**data, points=points)


_STATES = {
    "hyperparameters": Hyperparameters.from_dict,
    "acquisition": lambda data: AcquisitionState(**data),
    "curves": CurveState.from_dict,
    "ranking": lambda data: RankingState(**data),
    "policy": _policy,
}


def _share_texts(data: dict[str, Any]) -> None:
    """Keep one copy of equal lists of trials. With several objectives, most models have seen the same trials: in large
    studies these texts are most of what a receipt takes in memory."""
    for state in (data, *data.get("objectives", ()), *data.get("constraints", ())):
        if isinstance(state.get("fitted_on"), str):
            state["fitted_on"] = intern(state["fitted_on"])
