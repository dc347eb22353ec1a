"""The samplers that can be compared. To add one, write a function that makes it and a line in ``METHODS``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from pellucid.search.acquisition import (
    EI,
    LCB,
    PI,
    SAWEI,
    WEI,
    Acquisition,
    InformationGain,
    Portfolio,
    Pulse,
    Steps,
    Switch,
)
from pellucid.search.acquisition.interleave import Interleave
from pellucid.search.acquisition.policy import Policy
from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.base import Method, require_modules
from pellucid_lab.methods.outside.forwarding import ForwardingSampler
from pellucid_lab.methods.outside.sampler import OutsideSampler, interpreter

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


def _pellucid(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from pellucid import BayesianSampler

    return BayesianSampler(seed=seed, n_startup_trials=n_startup)


def _optuna_gp(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from optuna.samplers import GPSampler

    return GPSampler(seed=seed, n_startup_trials=n_startup)


def _optuna_tpe(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from optuna.samplers import TPESampler

    return TPESampler(seed=seed, n_startup_trials=n_startup)


def _optuna_tpe_group(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from optuna.samplers import TPESampler

    return TPESampler(seed=seed, n_startup_trials=n_startup, multivariate=True, group=True)


def _optuna_nsga2(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from optuna.samplers import NSGAIISampler

    # Of 10, 20 and 50 (the default, with which half of 100 trials are random), the best on the design problems of
    # `bench moo`.
    return NSGAIISampler(seed=seed, population_size=10)


def _botorch(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from pellucid_lab.methods.peers import BoTorchSampler

    return BoTorchSampler(seed, n_startup)


def _botorch_front(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from pellucid_lab.methods.peers import BoTorchFrontSampler

    return BoTorchFrontSampler(seed, n_startup)


def _smac(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from pellucid_lab.methods.peers import SmacSampler

    return SmacSampler(seed, n_startup)


def _outside(environment: str) -> Method:
    """A peer that runs in an environment of its own; its file in `methods.outside` has the same name."""

    def make(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
        return OutsideSampler(environment, interpreter(environment), seed, n_startup)

    return Method(environment, make, static_only=True, environment=environment)


def _release(environment: str) -> Method:
    """Our sampler as it was in a release, in an environment of its own."""

    def make(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
        return ForwardingSampler(environment, interpreter(environment), seed, n_startup)

    return Method(environment, make, environment=environment)


def _random(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from optuna.samplers import RandomSampler

    return RandomSampler(seed=seed)


def _with(acquisition: Callable[[int], Acquisition | Policy]) -> Callable[[int, int, int], BaseSampler]:
    """Our sampler with an acquisition or a policy, which is made from the number of proposals."""

    def make(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
        from pellucid import BayesianSampler

        return BayesianSampler(acquisition=acquisition(n_steps), seed=seed, n_startup_trials=n_startup)

    return make


def _information(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    """A sampler whose proposals all learn the effects of the parameters."""
    from pellucid import BayesianSampler

    return BayesianSampler(acquisition=InformationGain(), seed=seed, n_startup_trials=n_startup)


def _bobax(seed: int, n_startup: int, n_steps: int) -> BaseSampler:
    from pellucid import BayesianSampler

    return BayesianSampler(acquisition=EI(), interleave=Interleave(), seed=seed, n_startup_trials=n_startup)


# The schedules that SAWEI is compared with in its paper (Table 1, without a guard), SAWEI itself, and ours.
SCHEDULES: dict[str, Callable[[int], Acquisition | Policy]] = {
    "ei": lambda n: EI(),
    "pi": lambda n: PI(),
    "lcb-2": lambda n: LCB(2.0),
    "lcb-widening": lambda n: LCB(None),
    "wei-explore": lambda n: WEI(0.0),
    "wei-exploit": lambda n: WEI(1.0),
    "steps-up": lambda n: Steps(n, 0.5, 1.0, guard=False),
    "steps-down": lambda n: Steps(n, 1.0, 0.5, guard=False),
    "switch-25": lambda n: Switch(n, 0.25),
    "switch-50": lambda n: Switch(n, 0.50),
    "switch-75": lambda n: Switch(n, 0.75),
    "pulse": lambda n: Pulse(guard=False),
    "portfolio": lambda n: Portfolio(),
    "sawei-paper": lambda n: SAWEI.paper(),
    "sawei": lambda n: SAWEI(),
    "steps-up-guarded": lambda n: Steps(n, 0.5, 1.0, guard=True),
    "pulse-guarded": lambda n: Pulse(guard=True),
}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("pellucid", _pellucid),
        Method("optuna-gp", _optuna_gp, requires=("torch", "scipy")),
        Method("optuna-tpe", _optuna_tpe),
        Method("optuna-tpe-group", _optuna_tpe_group),
        Method("optuna-nsga2", _optuna_nsga2),
        Method("botorch", _botorch, requires=("torch", "gpytorch", "botorch"), static_only=True),
        Method("botorch-front", _botorch_front, requires=("torch", "gpytorch", "botorch"), static_only=True),
        Method("smac", _smac, requires=("smac", "ConfigSpace"), static_only=True),
        _outside("ax"),
        _outside("hebo"),
        _outside("vizier"),
        _release("rc1"),
        Method("random", _random),
        Method("information", _information),
        Method("bobax", _bobax),
        *(Method(name, _with(acquisition)) for name, acquisition in SCHEDULES.items()),
    )
}


def find_method(name: str) -> Method:
    if name not in METHODS:
        raise Mistake(f"The methods are {', '.join(METHODS)}; got `{name}`.")
    return METHODS[name]


def usable_methods(names: Sequence[str]) -> tuple[list[Method], list[str]]:
    """The methods whose packages are installed, and a sentence for each of the others."""
    methods = [find_method(name) for name in names]
    reasons = {method.name: _missing(method) for method in methods}
    usable = [method for method in methods if reasons[method.name] is None]
    return usable, [reason for reason in reasons.values() if reason is not None]


def _missing(method: Method) -> str | None:
    try:
        require_modules(method.requires, f"the method {method.name}")
        if method.environment is not None:
            interpreter(method.environment)
    except Unavailable as reason:
        return str(reason)
    return None


def prepare(method: Method) -> None:
    """Import what the method needs and limit torch to one thread, so that times are comparable."""
    for module in method.requires:
        import_module(module)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
