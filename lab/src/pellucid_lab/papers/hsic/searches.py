"""The source's experiments with networks: a large random search, what it says, and four ways to search on from it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from pellucid.cli.errors import Mistake
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.two_step.sampler import TwoStepSampler
from pellucid_lab.base import stable_seed
from pellucid_lab.problems.network_tasks import CHEAP, suggest, task
from pellucid_lab.problems.networks import DEVICE, train
from pellucid_lab.runs.results import open_for_append
from pellucid_lab.runs.resumable import read
from pellucid_lab.runs.workers import run_all

METHODS = ("random search", "full GP", "two steps (accuracy)", "two steps (accuracy + speed)")
N_RANDOM, N_SEARCH = 1000, 1200
N_INITIAL, N_STEPS, N_STEP1 = 50, 50, 25
_PART = {"cpu": 250, "cuda": 2000}[DEVICE]


@dataclass(frozen=True)
class Drawn:
    """One configuration of the random search; errors are None where training diverged."""

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
class Numbers:
    """Configurations to be trained together."""

    task: str
    numbers: tuple[int, ...]


def train_numbers(part: Numbers) -> list[Drawn]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = [configuration(part.task, number) for number in part.numbers]
    trained = train(task(part.task), found, seed=stable_seed(*part.numbers))
    return [
        Drawn(part.task, number, settings, _finite(one.validation), _finite(one.test), one.parameters, one.flops)
        for number, settings, one in zip(part.numbers, found, trained, strict=True)
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def missing_parts(name: str, n: int, path: Path) -> list[Numbers]:
    done = {one.number for one in read(path, Drawn)}
    left = [number for number in range(n) if number not in done]
    return [Numbers(name, tuple(left[i : i + _PART])) for i in range(0, len(left), _PART)]


def random_search(parts: Sequence[Numbers], path: Path, processes: int) -> Iterator[str]:
    """Train what is missing; every part is in the file before the next one is named."""
    open_for_append(path)
    for finished in run_all(train_numbers, parts, processes):
        if finished.outcome.error is not None:
            raise Mistake(f"Training failed: {finished.outcome.error}")
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in finished.outcome.value)
        yield f"{finished.task.task} {finished.task.numbers[0]}-{finished.task.numbers[-1]}"


@cache
def pool(path: str, n: int) -> tuple[Drawn, ...]:
    return tuple(sorted((one for one in read(Path(path), Drawn) if one.number < n), key=lambda one: one.number))


def as_trial(one: Drawn) -> FrozenTrial:
    stored = FixedTrial(one.params)
    suggest(stored, one.task)
    attributes = {"test": one.test, "parameters": one.parameters, "flops": one.flops}
    state = TrialState.FAIL if one.validation is None else TrialState.COMPLETE
    return create_trial(
        params=one.params, distributions=stored.distributions, state=state, value=one.validation, user_attrs=attributes
    )


def study_of(drawn: Sequence[Drawn]) -> optuna.Study:
    study = optuna.create_study(direction="minimize")
    study.add_trials([as_trial(one) for one in drawn])
    return study


# ---------------------------------------------------------------------- four ways to search


@dataclass(frozen=True)
class Search:
    task: str
    method: str
    repetition: int
    pool: str
    n_pool: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.task, self.method, self.repetition

    @property
    def file(self) -> Path:
        """The trials of a search that is under way."""
        name = "".join(letter if letter.isalnum() else "-" for letter in self.method)
        return Path(self.pool).with_name(f"{self.task}-{name}-{self.repetition}.log")


@dataclass(frozen=True)
class Found:
    """The network that a search would use: its errors and its size, how it was set, and what was decided on the way."""

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


def run_search(job: Search) -> Found:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = stable_seed("search", job.task, job.repetition)
    words = ""
    if job.method == "random search":
        best = study_of(_subset(job, seed)[:N_SEARCH]).best_trial
    elif job.method == "full GP":
        study = _search(job, BayesianSampler(seed=seed, n_startup_trials=N_INITIAL), [], N_INITIAL + N_STEPS)
        best = study.best_trial
    else:
        fast = job.method.endswith("speed)")
        sampler = TwoStepSampler(
            n_random=N_RANDOM,
            n_step1=N_STEP1,
            goal="accuracy+speed" if fast else "accuracy",
            cheap=CHEAP,
            seed=seed,
        )
        study = _search(job, sampler, _subset(job, seed)[:N_RANDOM], N_RANDOM + N_STEPS)
        best = sampler.best_trial(study) if fast else study.best_trial
        words = str(sampler.plan(study))
    job.file.unlink(missing_ok=True)
    return Found(
        job.task, job.method, job.repetition, best.values[0], best.user_attrs["test"], best.user_attrs["parameters"],
        best.user_attrs["flops"], dict(best.params), words,
    )  # fmt: skip


def _subset(job: Search, seed: int) -> list[Drawn]:
    """The random search in another order for every repetition."""
    drawn = pool(job.pool, job.n_pool)
    return [drawn[i] for i in np.random.default_rng(seed).permutation(len(drawn))]


def _search(job: Search, sampler: optuna.samplers.BaseSampler, drawn: Sequence[Drawn], n_trials: int) -> optuna.Study:
    """Go on after what was drawn until there are so many trials; a search that was stopped goes on where it was."""
    storage = JournalStorage(JournalFileBackend(str(job.file)))
    study = optuna.create_study(
        study_name="search", storage=storage, sampler=sampler, direction="minimize", load_if_exists=True
    )
    study.add_trials([as_trial(one) for one in drawn[len(study.trials) :]])

    def objective(trial: optuna.Trial) -> float:
        settings = suggest(trial, job.task)
        seed = stable_seed(job.method, job.repetition, trial.number)
        (one,) = train(task(job.task), [settings], seed)
        for name, value in (("test", one.test), ("parameters", one.parameters), ("flops", one.flops)):
            trial.set_user_attr(name, value)
        return one.validation

    study.optimize(objective, n_trials=n_trials - sum(one.state.is_finished() for one in study.trials))
    return study
