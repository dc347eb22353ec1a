"""Choices between models with parameters of their own, as formulas: the best one is known and must be tuned to show it.

Notation
    u        position of a parameter in its range, from 0 to 1;  c, w  the centre and the width of a model's optimum
    r^2      sum of ((u - c) / w)^2 over the parameters of a model
    loss     floor + (ceiling - floor) * shape(r),  shape(0) = 0 and shape -> 1 far away
    target   the lowest floor of the other models: a smaller loss is only possible with the best one

`kernels-2` is instance 2 of the family `kernels`: centres and the order of the choices are drawn anew, the rest stays.
Rules and defaults are chosen on the families of `DESIGN`; those of `REPORTED` have other shapes and numbers of models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import Params, Problem, stable_seed

if TYPE_CHECKING:
    from optuna.trial import Trial

Shape = Literal["well", "cone", "funnel"]


@dataclass(frozen=True)
class Model:
    """One choice: how many parameters it has, how narrow its optimum is, and its losses there and far away."""

    dimension: int
    width: float
    floor: float
    ceiling: float


@dataclass(frozen=True)
class Family:
    """A choice between models. `shared`: parameters that every model has, with an optimum of their own."""

    name: str
    shape: Shape
    models: tuple[Model, ...]
    shared: int = 0


def _growing(count: int, narrowest: float, last_dimension: int = 2) -> tuple[Model, ...]:
    """Models from easy and poor to narrow and good."""
    share = [k / (count - 1) for k in range(count)]
    return tuple(
        Model(1 if s < 0.3 else last_dimension, 0.6 + (narrowest - 0.6) * s, 0.30 - 0.25 * s, 0.5 + 0.2 * s)
        for s in share
    )


DESIGN = {
    family.name: family
    for family in (
        Family("kernels", "well", (Model(1, 0.5, 0.12, 0.4), Model(3, 0.4, 0.10, 0.5), Model(2, 0.15, 0.05, 0.6))),
        Family("trio", "well", (Model(2, 0.5, 0.15, 0.4), Model(2, 0.3, 0.12, 0.5), Model(3, 0.25, 0.05, 0.6)), 1),
        Family("four", "cone", (Model(1, 0.8, 0.2, 0.5), *_growing(4, 0.2, 2)[1:])),
        Family("six", "well", _growing(6, 0.2)),
        Family("spike", "well", _growing(6, 0.09)),
        Family("eight", "well", _growing(8, 0.25)),
    )
}
REPORTED = {
    family.name: family
    for family in (
        Family("solvers", "funnel", (Model(1, 0.6, 0.13, 0.45), Model(2, 0.5, 0.11, 0.5), Model(3, 0.2, 0.04, 0.65))),
        Family("losses", "well", (Model(2, 0.4, 0.10, 0.35), Model(1, 0.5, 0.14, 0.4), Model(2, 0.16, 0.04, 0.6)), 1),
        Family("five", "well", (Model(3, 0.5, 0.2, 0.4), *_growing(5, 0.22, 3)[1:])),
        Family("sextet", "funnel", _growing(6, 0.15)),
        Family("half-dozen", "well", (*_growing(6, 0.22)[:5], Model(3, 0.25, 0.05, 0.7))),
        Family("needle", "well", (*_growing(6, 0.3)[:5], Model(2, 0.08, 0.05, 0.7))),
        Family("seven", "cone", _growing(7, 0.2)),
    )
}
FAMILIES = {**DESIGN, **REPORTED}


def choice_name(family: str, instance: int) -> str:
    return f"{family}-{instance}"


def choice_names(tasks: Iterable[str], instances: Sequence[int]) -> tuple[str, ...]:
    """`kernels-2` stays; `kernels` becomes its instances."""
    return tuple(
        name
        for task in tasks
        for name in ([choice_name(task, instance) for instance in instances] if task in FAMILIES else [task])
    )


def family_and_instance(name: str) -> tuple[Family, int]:
    family, _, number = name.rpartition("-")
    if family not in FAMILIES or not number.isdigit():
        raise Mistake(f"A choice is named like kernels-2, with a family of {', '.join(FAMILIES)}; got `{name}`.")
    return FAMILIES[family], int(number)


def choice(name: str) -> Problem:
    """The parameters of model k are `a<k>`, `b<k>`, ...; those that every model has, `s0`, `s1`, ..."""
    family, _ = family_and_instance(name)
    rng = np.random.default_rng(stable_seed("choice", name))
    order = rng.permutation(len(family.models))
    models = [family.models[k] for k in order]
    centres = [rng.uniform(0.12, 0.88, model.dimension) for model in models]
    shared = rng.uniform(0.12, 0.88, family.shared)
    best = int(np.argmin([model.floor for model in models]))

    def suggest(trial: Trial) -> Params:
        k = int(trial.suggest_categorical("model", [f"m{k}" for k in range(len(models))])[1:])
        names = [f"s{j}" for j in range(family.shared)] + [f"{'abcdef'[j]}{k}" for j in range(models[k].dimension)]
        return {"model": f"m{k}", **{name: trial.suggest_float(name, 0.0, 1.0) for name in names}}

    def evaluate(params: Mapping[str, Any]) -> float:
        k = int(params["model"][1:])
        model = models[k]
        own = [(float(params[f"{'abcdef'[j]}{k}"]) - c) / model.width for j, c in enumerate(centres[k])]
        common = [(float(params[f"s{j}"]) - c) / 0.5 for j, c in enumerate(shared)]
        r = math.sqrt(sum(v * v for v in (*own, *common)))
        return float(model.floor + (model.ceiling - model.floor) * _shape(family.shape, r))

    return Problem(
        name=name,
        suite="choices",
        direction="minimize",
        suggest=suggest,
        evaluate=evaluate,
        distributions=None,
        optimum=models[best].floor,
        optimum_is_exact=True,
        anchor=max(model.ceiling for model in models),
        target=min(model.floor for k, model in enumerate(models) if k != best),
    )


def _shape(shape: Shape, r: float) -> float:
    if shape == "well":
        return -math.expm1(-0.5 * r * r)
    if shape == "cone":
        return math.tanh(0.7 * r)
    return r * r / (1.0 + r * r)
