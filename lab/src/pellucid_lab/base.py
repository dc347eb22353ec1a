"""What every file of this room shares: problems, methods and jobs as frozen records, and stable seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from pellucid.cli.errors import Unavailable

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import Trial

Direction = Literal["minimize", "maximize"]
Scale = Literal["log10", "normalised", "difference"]
Params = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """One objective function with its space and what is known about its range of values.

    ``distributions`` is None for a conditional space. ``optimum`` is the best value known and
    ``optimum_is_exact`` says whether nothing better exists; ``anchor`` is the value at which normalised
    regret is 1 (the worst of a table, the median configuration of a random search).
    """

    name: str
    suite: str
    direction: Direction
    suggest: Callable[[Trial], Params]
    evaluate: Callable[[Mapping[str, Any]], float]
    distributions: Mapping[str, BaseDistribution] | None
    optimum: float | None = None
    optimum_is_exact: bool = False
    anchor: float | None = None

    @property
    def conditional(self) -> bool:
        return self.distributions is None

    def objective(self, trial: Trial) -> float:
        return self.evaluate(self.suggest(trial))


@dataclass(frozen=True)
class Suite:
    """A family of problems with the protocol that is used unless the user says otherwise."""

    name: str
    n_init: int
    n_steps: int
    seeds: tuple[int, ...]
    scale: Scale
    methods: tuple[str, ...]
    requires: tuple[str, ...]


@dataclass(frozen=True)
class Method:
    """A sampler under test, made from a seed, the number of trials before it and the number it will propose.

    ``requires`` names modules it needs: they are loaded before any clock starts.
    """

    name: str
    make_sampler: Callable[[int, int, int], BaseSampler]
    requires: tuple[str, ...] = ()
    static_only: bool = False


@dataclass(frozen=True)
class Job:
    """One run: plain values only, so that it travels to a fresh process and back into a file."""

    suite: str
    problem: str
    method: str
    seed: int
    n_init: int
    n_steps: int
    data: str | None = None
    command: str = ""

    @property
    def key(self) -> tuple[str, str, str, int, int, int]:
        return (self.suite, self.problem, self.method, self.seed, self.n_init, self.n_steps)


def stable_seed(*parts: object) -> int:
    """A seed below 2**31 from any printable parts, equal in every process and on every machine."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def require_modules(modules: tuple[str, ...], what: str) -> None:
    """Raise the sentence that says how to install what is missing, before anything slow starts."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Unavailable(
            f"{what} is skipped: it needs {', '.join(missing)}; install with `pip install 'pellucid[bench]'`."
        )


def suggest_all(trial: Trial, distributions: Mapping[str, BaseDistribution]) -> Params:
    return {name: suggest_one(trial, name, distribution) for name, distribution in distributions.items()}


def suggest_one(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return trial.suggest_float(name, low, high, step=distribution.step, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        first, last = distribution.low, distribution.high
        return trial.suggest_int(name, first, last, step=distribution.step, log=distribution.log)
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    raise TypeError(f"A benchmark parameter is a float, an int or a categorical; `{name}` is {distribution!r}.")
