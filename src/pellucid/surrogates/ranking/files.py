"""Meta-trained models as files: weights in safetensors, everything else as JSON in its header. Nothing is executed."""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, get_args

import torch
from optuna.distributions import (
    BaseDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
    json_to_distribution,
)
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from pellucid.study.encoding import Condition, Dimension, Space
from pellucid.surrogates.ranking.ensemble import Card, Check, RankingEnsemble
from pellucid.surrogates.ranking.network import Context
from pellucid.surrogates.ranking.training import Moment, Recipe, is_number

FORMAT = 1
_KEY = "pellucid:ranker"
_LARGEST = 64 * 2**20
# What reading a header that lies can end in.
_DAMAGE = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_T = TypeVar("_T")


class ModelFileError(ValueError):
    """A file that is no ranking model, or not one that this version can read."""


def save(model: RankingEnsemble, path: str | os.PathLike[str]) -> None:
    """Write a meta-trained model; a file that is there is replaced only when the new one is complete."""
    data = to_bytes(model)
    folder = Path(path).resolve().parent
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{Path(path).name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> RankingEnsemble:
    """Read what `save` wrote; ModelFileError says in a sentence why a file cannot be used."""
    rule = "A model is a file that `pellucid meta-train` or `RankingSampler.save` wrote"
    try:
        size = os.path.getsize(path)
        if os.path.isdir(path):
            raise ModelFileError(f"{rule}, but {path} is a folder: name a file in it.")
        if size > _LARGEST:
            raise ModelFileError(f"{path} is no ranking model of pellucid: it has more than {_LARGEST // 2**20} MB.")
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise ModelFileError(f"{rule}, but there is no {path}: make it, or name another file.") from error
    except OSError as error:
        why = error.strerror or error
        raise ModelFileError(
            f"{rule}, but {path} cannot be read ({why}): change that, or name another file."
        ) from error
    return from_bytes(data, str(path))


def digest(data: bytes) -> str:
    """A name for a model that follows from its content."""
    return blake2b(data, digest_size=8).hexdigest()


def to_bytes(model: RankingEnsemble) -> bytes:
    if model.weights is None:
        raise ValueError("This ensemble has not been meta-trained, so there is nothing to save.")
    header = {
        "format": FORMAT,
        "space": [
            {"name": one.name, "distribution": distribution_to_json(one.distribution), "ordinal": one.ordinal}
            for one in model.space.dimensions
        ],
        "conditions": {child: condition.to_list() for child, condition in model.space.conditions.items()},
        "members": model.members,
        "layers": model.layers,
        "width": model.width,
        "context": model.architecture.context,
        "recipe": asdict(model.recipe),
        "card": None if model.card is None else asdict(model.card),
    }
    tensors = {name: value.detach().cpu().contiguous() for name, value in model.weights.items()}
    return bytes(save_tensors(tensors, {_KEY: json.dumps(header, separators=(",", ":"))}))


def from_bytes(data: bytes, source: str = "This") -> RankingEnsemble:
    header = _header(data, source)
    try:
        tensors = load_tensors(data)
    except (SafetensorError, RuntimeError, *_DAMAGE) as error:
        raise ModelFileError(f"{source} is damaged or cut off: its weights cannot be read ({error}).") from error
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{source} has format {header['format']}, but this pellucid reads up to {FORMAT}: upgrade it for this file."
        )
    try:
        model = RankingEnsemble(
            space=_space(header),
            members=_count(header["members"]),
            layers=_count(header["layers"]),
            width=_count(header["width"]),
            context=_context(header["context"]),
            recipe=Recipe(**header["recipe"]),
            weights=tensors,
            card=None if header["card"] is None else _card(header["card"]),
        )
        wanted = _shapes(model)
    except _DAMAGE as error:
        raise ModelFileError(f"{source} is damaged: its header does not describe a model ({error}).") from error
    if {name: tuple(value.shape) for name, value in tensors.items()} != wanted:
        raise ModelFileError(f"{source} is damaged: its weights do not have the shapes that its header describes.")
    if not all(value.dtype == torch.float32 and bool(torch.isfinite(value).all()) for value in tensors.values()):
        raise ModelFileError(f"{source} is damaged: its weights are not all finite numbers of single precision.")
    return model


def _header(data: bytes, source: str) -> dict[str, Any]:
    """A safetensors file begins with the length of its JSON header, whose `__metadata__` is free text by name."""
    size = int.from_bytes(data[:8], "little")
    try:
        if not 0 < size <= len(data) - 8:
            raise ValueError("it does not begin as a safetensors file does")
        header = json.loads(data[8 : 8 + size])["__metadata__"][_KEY]
        found = json.loads(header)
        if _of(int, _of(dict, found)["format"]) < 1:
            raise ValueError("its header is of another kind")
    except _DAMAGE as error:
        why = "it has no header of one" if isinstance(error, KeyError) else error
        raise ModelFileError(
            f"{source} is no ranking model of pellucid ({why}); `pellucid meta-train` writes such files."
        ) from error
    return dict(found)


def _space(header: dict[str, Any]) -> Space:
    dimensions = tuple(
        Dimension(_of(str, one["name"]), _distribution(one["distribution"]), _of(bool, one["ordinal"]))
        for one in _of(list, header["space"])
    )
    by_name = {one.name: one for one in dimensions}
    if len(by_name) != len(dimensions) or not by_name:
        raise ValueError("its parameters have no names of their own")
    conditions = {child: _condition(rule, by_name) for child, rule in _of(dict, header["conditions"]).items()}
    for child in conditions:
        name, generations = by_name[child].name, 0
        while name in conditions:
            name, generations = conditions[name].parent, generations + 1
            if generations > len(conditions):
                raise ValueError(f"`{child}` depends on itself")
    return Space(dimensions, conditions)


def _distribution(text: Any) -> BaseDistribution:
    found = json_to_distribution(_of(str, text))
    if isinstance(found, (FloatDistribution, IntDistribution)) and not (is_number(found.low) and is_number(found.high)):
        raise ValueError(f"{found} has no end")
    return found


def _condition(rule: Any, by_name: dict[str, Dimension]) -> Condition:
    found = Condition.from_list(rule)
    cells = by_name[found.parent].cells
    if found.codes is None:
        possible = math.isfinite(found.low) and math.isfinite(found.high)
    else:
        possible = bool(found.codes) and all(0 <= code < cells for code in found.codes)
    if found.to_list() != rule or not possible:
        raise ValueError(f"{rule!r} is no condition on `{found.parent}`")
    return found


def _card(data: dict[str, Any]) -> Card:
    return Card(
        tasks=tuple(_of(str, one) for one in _of(list, data["tasks"])),
        checks=tuple(
            Check(
                _of(str, one["task"]), _of(int, one["configurations"]), _finite(one["regret"]), _finite(one["random"])
            )
            for one in _of(list, data["checks"])
        ),
        steps=_of(int, data["steps"]),
        course=tuple(
            Moment(_of(int, one["step"]), _of(float, one["training"]), _of(float, one["validation"]))
            for one in _of(list, data["course"])
        ),
    )


def _context(value: Any) -> Context:
    if value not in get_args(Context):
        raise ValueError(f"{value!r} is no kind of context")
    found: Context = value
    return found


def _finite(values: Any) -> tuple[float, ...]:
    if not _of(list, values) or not all(map(is_number, values)):
        raise ValueError(f"{values!r} are no numbers")
    return tuple(map(float, values))


def _of(kind: type[_T], value: Any) -> _T:
    """The value itself: in JSON, true is no number and a number no name."""
    if type(value) is not kind:
        raise TypeError(f"{value!r:.60} where a {kind.__name__} belongs")
    return value


def _count(value: Any) -> int:
    if not 1 <= _of(int, value) <= 4096:
        raise ValueError(f"{value!r} is no size of a network")
    return int(value)


def _shapes(model: RankingEnsemble) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for name, (members, rows, columns) in model.architecture.shapes().items():
        found[f"{name}.weight"] = (1, members, rows, columns)
        if name != "scorer.context":
            found[f"{name}.bias"] = (1, members, 1, columns)
    if math.prod((model.members, model.width, model.width)) > _LARGEST:
        raise ValueError("its network is larger than any that pellucid trains")
    return found
