"""Problems with known truth: spaces, positions on them, and evaluations of many configurations at once.

Notation
    position   of a numeric value on its own scale (logarithmic or not), in [0, 1]; of a choice, its index 0, 1, ...
    u (n, d)   uniform draws, one column per parameter, from which configurations are decoded
Formulas of problems take positions, so that a centre of 0.5 is the middle of a range whatever its scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid_lab.base import Direction, Params, stable_seed, suggest_value

if TYPE_CHECKING:
    from optuna.trial import Trial

Array = NDArray[np.float64]
Positions = Mapping[str, Array]
Distribution = FloatDistribution | IntDistribution | CategoricalDistribution


@dataclass(frozen=True)
class Parameter:
    """One parameter. `parent`, `values`: it exists only if its parent has one of these values."""

    name: str
    distribution: Distribution
    parent: str = ""
    values: tuple[Any, ...] = ()

    @property
    def choices(self) -> int:
        return len(self.distribution.choices) if isinstance(self.distribution, CategoricalDistribution) else 0

    def decoded(self, u: Array) -> list[Any]:
        """Values at uniform draws; choices and whole numbers have the cells that Optuna's samplers give them."""
        kind = self.distribution
        if isinstance(kind, CategoricalDistribution):
            return [kind.choices[int(code)] for code in np.minimum((u * self.choices).astype(int), self.choices - 1)]
        low, high = float(kind.low), float(kind.high)
        if isinstance(kind, IntDistribution):
            low, high = low - 0.5, high + 0.5
        raw = np.exp(np.log(low) + u * np.log(high / low)) if kind.log else low + u * (high - low)
        if isinstance(kind, IntDistribution):
            return [int(value) for value in np.clip(np.round(raw), kind.low, kind.high)]
        return [float(value) for value in np.clip(raw, kind.low, kind.high)]

    def positions(self, values: Sequence[Any]) -> Array:
        kind = self.distribution
        if isinstance(kind, CategoricalDistribution):
            return np.array([kind.choices.index(value) for value in values], dtype=float)
        raw, low, high = np.array(values, dtype=float), float(kind.low), float(kind.high)
        if kind.log:
            return np.asarray(np.log(raw / low) / np.log(high / low))
        return np.asarray((raw - low) / (high - low))


def real(name: str, low: float, high: float, *, log: bool = False, where: tuple[str, Any] | None = None) -> Parameter:
    return _parameter(name, FloatDistribution(low, high, log=log), where)


def whole(name: str, low: int, high: int, *, log: bool = False, where: tuple[str, Any] | None = None) -> Parameter:
    return _parameter(name, IntDistribution(low, high, log=log), where)


def choice(name: str, *choices: str, where: tuple[str, Any] | None = None) -> Parameter:
    return _parameter(name, CategoricalDistribution(choices), where)


def _parameter(name: str, distribution: Distribution, where: tuple[str, Any] | None) -> Parameter:
    if where is None:
        return Parameter(name, distribution)
    parent, values = where
    return Parameter(name, distribution, parent, values if isinstance(values, tuple) else (values,))


@dataclass(frozen=True)
class TruthProblem:
    """A function whose importance, effects, optimum and ranges are known.

    formula   positions (n,) of all parameters -> values (n,); it ignores those that do not exist
    safe      whether a good search finds the optimum: no choice of models and no narrow second optimum
    """

    name: str
    direction: Direction
    parameters: tuple[Parameter, ...]
    formula: Callable[[Positions], Array]
    safe: bool = True

    @property
    def sign(self) -> float:
        return 1.0 if self.direction == "minimize" else -1.0

    @cached_property
    def by_name(self) -> dict[str, Parameter]:
        return {parameter.name: parameter for parameter in self.parameters}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.by_name)

    @property
    def conditional(self) -> bool:
        return any(parameter.parent for parameter in self.parameters)

    def suggest(self, trial: Trial) -> Params:
        params: Params = {}
        for parameter in self.parameters:
            if not parameter.parent or params.get(parameter.parent) in parameter.values:
                params[parameter.name] = suggest_value(trial, parameter.name, parameter.distribution)
        return params

    def value(self, params: Mapping[str, Any]) -> float:
        """Without noise. Parameters that do not exist may have any value."""
        positions = {
            name: parameter.positions([params[name]]) if name in params else np.array([0.5])
            for name, parameter in self.by_name.items()
        }
        return float(self.formula(positions)[0])

    def values_at(self, u: Array, positions: Mapping[str, float] | None = None) -> Array:
        """Of the configurations that uniform draws (n, d) decode to. `positions`: of parameters that have the same one
        everywhere, which may lie beyond the ends of their ranges."""
        held = positions or {}
        columns = {}
        for j, parameter in enumerate(self.parameters):
            if parameter.name in held:
                columns[parameter.name] = np.full(len(u), held[parameter.name])
            elif isinstance(parameter.distribution, FloatDistribution):
                columns[parameter.name] = u[:, j]
            else:
                columns[parameter.name] = parameter.positions(parameter.decoded(u[:, j]))
        return self.formula(columns)

    @cached_property
    def noise_sd(self) -> float:
        """Noise of the noisy version: a tenth of the distance between a typical and the best value."""
        rng = np.random.default_rng(stable_seed("noise", self.name))
        losses = self.sign * self.values_at(rng.random((20_000, len(self.parameters))))
        return float(0.1 * (np.median(losses) - losses.min()))
