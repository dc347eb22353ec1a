"""Known constraints: a rule of the user's that says which configurations may be proposed.

Such a rule (`batch * sequence <= memory`) needs no model. It is asked about every candidate; what it forbids is never
proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution

from pellucid.numerics import Array, Mask
from pellucid.search.configuration import on_grid
from pellucid.space.encoding import Space
from pellucid.study.view import StudyView
from pellucid.words import PrintableError

Predicate = Callable[[dict[str, Any]], bool]
# Configurations that are tried in search of allowed ones: in all, and at a time; how many allowed ones are enough; and
# how often in a row no other one is found before the search ends.
_MOST_TRIED, _AT_ONCE, _ENOUGH, _IN_VAIN = 65_536, 1024, 256, 4
# Of the steps away from an allowed configuration, the largest and the smallest, as shares of the range.
_FAR, _NEAR = 0.5, 1e-3


class RuleError(PrintableError, ValueError):
    """A rule that raises, or that allows nothing: the user has to change it, so the study stops."""


@dataclass(frozen=True)
class Rule:
    """`allowed` as the user gave it, for one space; `fixed`: parameters that have only one value."""

    allowed: Predicate
    space: Space
    fixed: Mapping[str, Any]

    @staticmethod
    def of(allowed: Predicate | None, view: StudyView, space: Space) -> Rule | None:
        if allowed is None:
            return None
        fixed = {name: _only(d) for name, d in view.distributions.items() if d.single() and name not in space.index}
        return Rule(allowed, space, fixed)

    def __call__(self, X: Array) -> Mask:
        """Which encoded configurations (m, d) are allowed, as they would be proposed."""
        return np.array([self.asked(params) for params in self.space.decode(on_grid(self.space, X))], dtype=bool)

    def asked(self, params: Mapping[str, Any]) -> bool:
        configuration = {**self.fixed, **params}
        try:
            return bool(self.allowed(dict(configuration)))
        except Exception as error:
            raise RuleError(
                "`allowed` must return True or False for every configuration, but it raised "
                f"{type(error).__name__}: {error} for {configuration}."
            ) from error

    def found(self, near: Array, rng: np.random.Generator) -> Array:
        """Allowed configurations (k, d): spread over the space, and, if few are, around those and around `near`.

        Raises RuleError if none is found.
        """
        some = near[self(near)] if len(near) else near
        tried, in_vain = len(near), 0
        while tried < _MOST_TRIED and len(some) < _ENOUGH and in_vain < _IN_VAIN:
            X = rng.random((_AT_ONCE, len(self.space)))
            if len(some):
                steps = np.exp(rng.uniform(np.log(_NEAR), np.log(_FAR), size=(_AT_ONCE // 2, 1)))
                centres = some[rng.integers(len(some), size=_AT_ONCE // 2)]
                X[: _AT_ONCE // 2] = np.clip(centres + steps * rng.standard_normal(centres.shape), 0.0, 1.0)
            X = self.space.canonical(X)
            more = np.unique(np.vstack([some, X[self(X)]]), axis=0)
            in_vain = in_vain + 1 if len(more) == len(some) > 0 else 0
            some, tried = more, tried + _AT_ONCE
        if not len(some):
            example = self.space.decode(self.space.canonical(np.full((1, len(self.space)), 0.5)))[0]
            raise RuleError(
                f"`allowed` allows none of {tried:,} configurations, such as {example}: change it, or the ranges."
            )
        return some


def checked(allowed: object) -> None:
    """Raise TypeError if a rule cannot be called."""
    if allowed is not None and not callable(allowed):
        raise TypeError(
            "`allowed` must be a function of the parameters, such as `lambda params: params['batch'] <= 64`, "
            f"but got {allowed!r}."
        )


def _only(distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    return distribution.low  # type: ignore[attr-defined]
