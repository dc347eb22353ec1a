"""From the encoded proposal to the user's parameters, and what the receipts of all models share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.models import GaussianProcess
from pellucid.models.predictive import RECENT, predictive_sd, recalibration
from pellucid.numerics import Array, compress_integers
from pellucid.provenance import ModelState
from pellucid.search.models import pack
from pellucid.space.encoding import Space
from pellucid.space.values import plain
from pellucid.study.arrays import Arrays
from pellucid.study.predictions import recent_predictions
from pellucid.study.targets import Target
from pellucid.study.trials import source
from pellucid.study.view import StudyView

# Continuous coordinates are multiples of one part in a million of their range: finer than any objective can resolve,
# and coarser than the last bits in which an objective in another unit, or another BLAS, differs. Without the grid, such
# differences grow from proposal to proposal until two studies that should be the same have nothing in common.
_GRID = 2.0**20


@dataclass(frozen=True)
class Configuration:
    """A proposal in the user's units.

    params   values of all parameters. Inactive ones have a value too, in case the objective asks for one anyway.
    active   the parameters that the proposal has, as a receipt stores them
    x        (1, d), encoded as it will be read back, after rounding to the user's units
    """

    params: dict[str, Any]
    active: dict[str, Any]
    x: Array


def rounded(space: Space, x: Array, rng: np.random.Generator, held: Mapping[str, float] | None = None) -> Configuration:
    """The configuration of an encoded row x (d,). `held`: values in the user's units that encoding would round."""
    row = on_grid(space, x)[None]
    on = space.active(row)
    params = space.decode(np.where(on, row, rng.random(row.shape)), only_active=False)[0]
    params.update(held or {})
    active = {name: params[name] for name, is_active in zip(space.names, on[0], strict=True) if is_active}
    return Configuration(params, plain_params(active), space.encode([active])[0])


def on_grid(space: Space, x: Array) -> Array:
    """Encoded rows as they would be proposed."""
    continuous = np.array([dimension.cells == 0 for dimension in space.dimensions])
    return np.where(continuous, np.round(x * _GRID) / _GRID, x)


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a receipt stores them."""
    return {name: plain(value) for name, value in params.items()}


def shared_fields(
    view: StudyView, trial: FrozenTrial, seed: int, configuration: Configuration, data: Arrays
) -> dict[str, Any]:
    """The fields of a receipt that every model fills in alike: the configuration, the space and the observations."""
    return {
        "trial": trial.number,
        "seed": seed,
        "params": configuration.active,
        "space": {
            dimension.name: source(view.trials, dimension.name, dimension.distribution)
            for dimension in data.space.dimensions
        },
        "conditions": {child: condition.to_list() for child, condition in data.space.conditions.items()},
        "ordinal": data.space.ordinal,
        "fitted_on": compress_integers(data.observations.numbers),
    }


def model_state(
    view: StudyView,
    objective: Target,
    gp: GaussianProcess,
    model: GaussianProcess,
    x: Array,
    data: Arrays,
    learned_from: int,
    *,
    name: str = "",
    ceiling: float | None = None,
) -> ModelState:
    """What a receipt says of the model of an objective. `gp`: fitted to the data; `model`: the same with
    trials imputed; x (1, d): the proposal."""
    m, s = model.latent(x)
    mean, sd = model.from_latent(m, s)
    widening = recalibration([prediction.unwidened_z for prediction in recent_predictions(view, objective, RECENT)])
    predicted = widening * float(predictive_sd(gp, m, s)[0])
    return ModelState(
        name=name,
        direction=objective.direction,
        hyperparameters=gp.hyperparameters,
        fitted_on=compress_integers(data.observations.numbers),
        learned_from=learned_from,
        mean=objective.sign * float(mean[0]),
        sd=float(sd[0]),
        predictive_sd=predicted if math.isfinite(predicted) else None,
        recalibration=widening,
        latent_mean=float(m[0]),
        latent_sd=float(s[0]),
        best_value=best_value(objective, data),
        ceiling=ceiling,
        curvature=pack(gp.inverse_hessian),
    )


def best_value(objective: Target, data: Arrays) -> float | None:
    """The best value observed, in the user's units and direction."""
    measured = data.losses[data.observations.measured]
    return objective.sign * float(measured.min()) if len(measured) else None
