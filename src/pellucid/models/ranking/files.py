"""Meta-trained models as files: weights in safetensors, everything else as JSON in its header. Nothing is executed."""

from __future__ import annotations

import json
import math
import os
import stat
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

from pellucid.files import write_atomically
from pellucid.models.ranking.ensemble import Card, Check, RankingEnsemble
from pellucid.models.ranking.network import Context
from pellucid.models.ranking.training import Recipe, TrainingRecord, is_number
from pellucid.space.encoding import Condition, Dimension, Space
from pellucid.words import PrintableError, printable

FORMAT = 1
_KEY = "pellucid:ranker"
# Limits of a file, so that a damaged one is refused before it fills the memory: bytes of the file, weights of a hidden
# layer, members, layers or width of the network, and configurations in all lists of a training step. All are far above
# the models that pellucid trains.
_LARGEST_FILE, _LARGEST_LAYER, _LARGEST_SIZE, _LARGEST_STEP = 64 * 2**20, 64 * 2**20, 4096, 16 * 2**20
# Errors that reading a damaged header can raise.
_DAMAGE = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_T = TypeVar("_T")


class ModelFileError(PrintableError, ValueError):
    """The file is not a ranking model, or not one that this version can read."""


def save(model: RankingEnsemble, path: str | os.PathLike[str]) -> None:
    """Write a meta-trained model; an existing file is replaced only when the new one is complete."""
    write_atomically(path, to_bytes(model))


def load(path: str | os.PathLike[str]) -> RankingEnsemble:
    """Read a file that `save` wrote; raises ModelFileError with the reason if it cannot be used."""
    rule = "A model is a file that `pellucid meta-train` or `RankingSampler.save` wrote"
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise ModelFileError(f"{rule}, but {path} is a folder: name a file in it.")
        if not stat.S_ISREG(status.st_mode):  # Its size says nothing about how much there is to read.
            raise ModelFileError(f"{rule}, but {path} is a device or a pipe: name a file on a disk.")
        if status.st_size > _LARGEST_FILE:
            raise ModelFileError(
                f"{path} is not a ranking model of pellucid: it has more than {_LARGEST_FILE // 2**20} MB."
            )
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise ModelFileError(f"{rule}, but there is no {path}: create it, or name another file.") from error
    except OSError as error:
        reason = error.strerror or error
        raise ModelFileError(
            f"{rule}, but {path} cannot be read ({reason}): make it readable, or name another file."
        ) from error
    return from_bytes(data, str(path))


def digest(data: bytes) -> str:
    """Name of a model, derived from its content."""
    return blake2b(data, digest_size=8).hexdigest()


def to_bytes(model: RankingEnsemble) -> bytes:
    if model.weights is None:
        raise ValueError("This ensemble has not been meta-trained, so there is nothing to save.")
    header = {
        "format": FORMAT,
        "space": [
            {"name": d.name, "distribution": distribution_to_json(d.distribution), "ordinal": d.ordinal}
            for d in model.space.dimensions
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
            recipe=_recipe(header["recipe"]),
            weights=tensors,
            card=None if header["card"] is None else _card(header["card"]),
        )
        expected = _shapes(model)
    except _DAMAGE as error:
        raise ModelFileError(
            f"{source} is damaged: its header does not describe a model ({error}); train the model again."
        ) from error
    if {name: tuple(value.shape) for name, value in tensors.items()} != expected:
        raise ModelFileError(f"{source} is damaged: its weights do not have the shapes that its header describes.")
    if not all(value.dtype == torch.float32 and bool(torch.isfinite(value).all()) for value in tensors.values()):
        raise ModelFileError(f"{source} is damaged: its weights are not all finite numbers of single precision.")
    return model


def _header(data: bytes, source: str) -> dict[str, Any]:
    """A safetensors file starts with the length of its JSON header, whose `__metadata__` maps names to text."""
    size = int.from_bytes(data[:8], "little")
    try:
        if not 0 < size <= len(data) - 8:
            raise ValueError("it does not start like a safetensors file")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][_KEY])
        if _of(int, _of(dict, header)["format"]) < 1:
            raise ValueError("its format is below 1")
    except _DAMAGE as error:
        reason = "its header is missing or incomplete" if isinstance(error, KeyError) else error
        raise ModelFileError(
            f"{source} is not a ranking model of pellucid ({reason}); `pellucid meta-train` writes such files."
        ) from error
    return dict(header)


def _space(header: dict[str, Any]) -> Space:
    dimensions = tuple(
        Dimension(_of(str, data["name"]), _distribution(data["distribution"]), _of(bool, data["ordinal"]))
        for data in _of(list, header["space"])
    )
    by_name = {dimension.name: dimension for dimension in dimensions}
    if len(by_name) != len(dimensions) or not by_name:
        raise ValueError("it has no parameters, or two of the same name")
    conditions = {child: _condition(rule, by_name) for child, rule in _of(dict, header["conditions"]).items()}
    for child in conditions:
        name, generations = by_name[child].name, 0
        while name in conditions:
            name, generations = conditions[name].parent, generations + 1
            if generations > len(conditions):
                raise ValueError(printable(f"`{child}` depends on itself"))
    return Space(dimensions, conditions)


def _distribution(text: Any) -> BaseDistribution:
    distribution = json_to_distribution(_of(str, text))
    ends: tuple[float, ...] = ()
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        ends = (distribution.low, distribution.high)
    if not all(map(is_number, ends)):
        raise ValueError(printable(f"the ends of {distribution} are not finite numbers"))
    return distribution


def _condition(rule: Any, by_name: dict[str, Dimension]) -> Condition:
    condition = Condition.from_list(rule)
    cells = by_name[condition.parent].cells
    if condition.codes is None:
        possible = math.isfinite(condition.low) and math.isfinite(condition.high)
    else:
        possible = bool(condition.codes) and all(0 <= code < cells for code in condition.codes)
    if condition.to_list() != rule or not possible:
        raise ValueError(printable(f"{rule!r} is not a condition on `{condition.parent}`"))
    return condition


def _card(data: dict[str, Any]) -> Card:
    return Card(
        tasks=tuple(_of(str, name) for name in _of(list, data["tasks"])),
        checks=tuple(
            Check(
                task=_of(str, check["task"]),
                configurations=_of(int, check["configurations"]),
                regret=_finite(check["regret"]),
                random=_finite(check["random"]),
            )
            for check in _of(list, data["checks"])
        ),
        steps=_of(int, data["steps"]),
        course=tuple(
            TrainingRecord(_of(int, row["step"]), _of(float, row["training"]), _of(float, row["validation"]))
            for row in _of(list, data["course"])
        ),
    )


def _recipe(data: dict[str, Any]) -> Recipe:
    recipe = Recipe(**data)
    size = recipe.lists * recipe.list_size
    if size > _LARGEST_STEP:
        raise ValueError(
            printable(f"a step of training has at most {_LARGEST_STEP} configurations, but its recipe has {size}")
        )
    return recipe


def _context(value: Any) -> Context:
    if value not in get_args(Context):
        raise ValueError(f"{value!r} is not a kind of context")
    context: Context = value
    return context


def _finite(values: Any) -> tuple[float, ...]:
    if not _of(list, values) or not all(map(is_number, values)):
        raise ValueError(f"{values!r} is not a list of finite numbers")
    return tuple(map(float, values))


def _of(kind: type[_T], value: Any) -> _T:
    """The value, if it is exactly of this type: in JSON, true is not a number."""
    if type(value) is not kind:
        raise TypeError(f"{value!r:.60} should be of type {kind.__name__}")
    return value


def _count(value: Any) -> int:
    if not 1 <= _of(int, value) <= _LARGEST_SIZE:
        raise ValueError(f"{value!r} is not a size of a network")
    return int(value)


def _shapes(model: RankingEnsemble) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (members, rows, columns) in model.architecture.shapes().items():
        shapes[f"{name}.weight"] = (1, members, rows, columns)
        if name != "scorer.context":
            shapes[f"{name}.bias"] = (1, members, 1, columns)
    if math.prod((model.members, model.width, model.width)) > _LARGEST_LAYER:
        raise ValueError("its network is larger than any that pellucid trains")
    return shapes
