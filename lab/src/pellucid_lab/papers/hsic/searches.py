"""The paper's experiments with networks: a large random search, and four ways to continue from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.two_step.sampler import TwoStepSampler
from pellucid_lab.base import stable_seed
from pellucid_lab.problems.network_tasks import CHEAP, suggest, task
from pellucid_lab.problems.networks import DEVICE, train
from pellucid_lab.runs.files import RunFile

METHODS = ("random search", "full GP", "two steps (accuracy)", "two steps (accuracy + speed)")
# The paper's budgets: random networks before two steps, networks of a random search, and trials of the full search and
# of the first step.
N_RANDOM, N_SEARCH = 1000, 1200
N_INITIAL, N_STEPS, N_STEP1 = 50, 50, 25
# Networks that are trained together: enough to fill their stacks, few enough that a stop loses little.
_BATCH = {"cpu": 250, "cuda": 2000}[DEVICE]


@dataclass(frozen=True)
class RandomNetwork:
    """A network of the random search; its errors are None if training diverged."""

    task: str
    number: int
    params: dict[str, Any]
    validation: float | None
    test: float | None
    parameters: int
    flops: int

    @property
    def key(self) -> tuple[str, int]:
        return self.task, self.number


def configuration(name: str, number: int) -> dict[str, Any]:
    """The settings of network `number` of the random search."""
    sampler = optuna.samplers.RandomSampler(seed=stable_seed("network", name, number))
    return suggest(optuna.create_study(sampler=sampler).ask(), name)


@dataclass(frozen=True)
class NetworkBatch:
    """Networks of the random search that are trained together."""

    task: str
    numbers: tuple[int, ...]

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        return self.task, self.numbers

    @property
    def label(self) -> str:
        return f"{self.task} {self.numbers[0]}-{self.numbers[-1]}"


def train_batch(batch: NetworkBatch) -> list[RandomNetwork]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    settings = [configuration(batch.task, number) for number in batch.numbers]
    trained = train(task(batch.task), settings, seed=stable_seed(*batch.numbers))
    return [
        RandomNetwork(
            batch.task,
            number,
            params,
            _finite(network.validation),
            _finite(network.test),
            network.parameters,
            network.flops,
        )
        for number, params, network in zip(batch.numbers, settings, trained, strict=True)
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def missing_batches(name: str, n: int, file: RunFile[RandomNetwork]) -> list[NetworkBatch]:
    """Batches of those of the first n networks that the file lacks."""
    done = {network.number for network in file.read()}
    missing = [number for number in range(n) if number not in done]
    return [NetworkBatch(name, tuple(missing[i : i + _BATCH])) for i in range(0, len(missing), _BATCH)]


@cache
def pool(path: str, n: int) -> tuple[RandomNetwork, ...]:
    """The first n networks of the random search, by number."""
    networks = RunFile(Path(path), RandomNetwork).read()
    return tuple(sorted((network for network in networks if network.number < n), key=lambda network: network.number))


def as_trial(network: RandomNetwork) -> FrozenTrial:
    stored = FixedTrial(network.params)
    suggest(stored, network.task)
    return create_trial(
        params=network.params,
        distributions=stored.distributions,
        state=TrialState.FAIL if network.validation is None else TrialState.COMPLETE,
        value=network.validation,
        user_attrs={"test": network.test, "parameters": network.parameters, "flops": network.flops},
    )


def study_of(networks: Sequence[RandomNetwork]) -> optuna.Study:
    study = optuna.create_study(direction="minimize")
    study.add_trials([as_trial(network) for network in networks])
    return study


# ---------------------------------------------------------------------- four ways to search


@dataclass(frozen=True)
class SearchTask:
    task: str
    method: str
    repetition: int
    pool: str
    n_pool: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.task, self.method, self.repetition

    @property
    def label(self) -> str:
        return f"{self.method} {self.repetition}"

    @property
    def file(self) -> Path:
        """The trials of a search that has not ended."""
        name = "".join(letter if letter.isalnum() else "-" for letter in self.method)
        return Path(self.pool).with_name(f"{self.task}-{name}-{self.repetition}.log")


@dataclass(frozen=True)
class SearchRun:
    """The network that a search recommends: its errors, its size and its settings; `words`: what two steps decided."""

    task: str
    method: str
    repetition: int
    validation: float
    test: float
    parameters: int
    flops: int
    params: dict[str, Any]
    words: str

    @property
    def key(self) -> tuple[str, str, int]:
        return self.task, self.method, self.repetition


def run_search(search: SearchTask) -> SearchRun:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = stable_seed("search", search.task, search.repetition)
    words = ""
    if search.method == "random search":
        best = study_of(_subset(search, seed)[:N_SEARCH]).best_trial
    elif search.method == "full GP":
        study = _search(search, BayesianSampler(seed=seed, n_startup_trials=N_INITIAL), [], N_INITIAL + N_STEPS)
        best = study.best_trial
    else:
        fast = search.method.endswith("speed)")
        sampler = TwoStepSampler(
            n_random=N_RANDOM,
            n_step1=N_STEP1,
            goal="accuracy+speed" if fast else "accuracy",
            cheap=CHEAP,
            seed=seed,
        )
        study = _search(search, sampler, _subset(search, seed)[:N_RANDOM], N_RANDOM + N_STEPS)
        best = sampler.best_trial(study) if fast else study.best_trial
        words = str(sampler.plan(study))
    search.file.unlink(missing_ok=True)
    return SearchRun(
        *search.key, best.values[0], best.user_attrs["test"], best.user_attrs["parameters"], best.user_attrs["flops"],
        dict(best.params), words,
    )  # fmt: skip


def _subset(search: SearchTask, seed: int) -> list[RandomNetwork]:
    """The random search in another order for every repetition."""
    networks = pool(search.pool, search.n_pool)
    return [networks[i] for i in np.random.default_rng(seed).permutation(len(networks))]


def _search(
    search: SearchTask, sampler: optuna.samplers.BaseSampler, networks: Sequence[RandomNetwork], n_trials: int
) -> optuna.Study:
    """Continue after these networks until there are that many trials; a search that was stopped is resumed."""
    storage = JournalStorage(JournalFileBackend(str(search.file)))
    study = optuna.create_study(
        study_name="search", storage=storage, sampler=sampler, direction="minimize", load_if_exists=True
    )
    study.add_trials([as_trial(network) for network in networks[len(study.trials) :]])

    def objective(trial: optuna.Trial) -> float:
        settings = suggest(trial, search.task)
        seed = stable_seed(search.method, search.repetition, trial.number)
        (network,) = train(task(search.task), [settings], seed)
        for name, value in (("test", network.test), ("parameters", network.parameters), ("flops", network.flops)):
            trial.set_user_attr(name, value)
        return network.validation

    study.optimize(objective, n_trials=n_trials - sum(trial.state.is_finished() for trial in study.trials))
    return study
