"""Runs on problems with several objectives: start-up trials that all methods share, then the method's own proposals.

Constraints are on the trials (`Trial.set_constraint`), where samplers of Optuna 5 find them by themselves. NSGA-II does
not take the trials of other samplers into its population, so its first generation is random as well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.words import printable
from pellucid_lab.base import Direction, Outcomes, SeveralProblem, stable_seed
from pellucid_lab.methods.samplers import find_method, prepare, usable_methods
from pellucid_lab.problems.several import PLAIN_NAMES, check_several, packages_of_problem, several_problem
from pellucid_lab.runs.files import RunFile
from pellucid_lab.runs.front_verdicts import Verdict, front_verdicts
from pellucid_lab.runs.provenance import stamp
from pellucid_lab.runs.regret import packages_of

if TYPE_CHECKING:
    from optuna.study import Study

# Methods that read several objectives, and the random search. All but those of `PLAIN_METHODS` read constraints and
# take conditional spaces.
SEVERAL_METHODS = ("pellucid", "optuna-gp", "optuna-tpe", "optuna-nsga2", "botorch-front", "random")
PLAIN_METHODS = ("botorch-front",)

SeveralKey = tuple[str, str, int, int, int]


@dataclass(frozen=True)
class SeveralTask:
    """What one run needs: ``n_init`` of its ``n_trials`` trials are the start-up ones."""

    problem: str
    method: str
    seed: int
    n_init: int
    n_trials: int
    data: str | None = None
    command: str = ""

    @property
    def key(self) -> SeveralKey:
        return (self.problem, self.method, self.seed, self.n_init, self.n_trials)

    @property
    def label(self) -> str:
        return f"{self.problem} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class SeveralRun:
    """A finished run; every series has one entry per trial.

    ``values``, by objective, and ``feasible`` are exact; ``told`` has the noisy values as the study knows them, and is
    empty without noise. ``ask_s``: CPU seconds. ``reference`` and ``volume`` are those of the problem. ``verdicts``:
    our answers to whether the study can stop; empty for other methods.
    """

    problem: str
    method: str
    seed: int
    n_init: int
    n_trials: int
    directions: Mapping[str, Direction]
    values: Mapping[str, Sequence[float]]
    feasible: tuple[bool, ...]
    ask_s: tuple[float, ...]
    reference: tuple[float, ...]
    volume: float
    told: Mapping[str, Sequence[float]] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    wall_s: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        series = (*self.values.values(), self.feasible, self.ask_s, *self.told.values())
        if any(len(entries) != self.n_trials for entries in series):
            raise ValueError(printable(f"every series needs {self.n_trials} entries"))
        if not all(math.isfinite(entry) for entries in series for entry in entries):
            raise ValueError("every series has to be finite")
        if not len(self.values) == len(self.directions) == len(self.reference):
            raise ValueError("every objective needs values, a direction and a reference")

    @property
    def key(self) -> SeveralKey:
        return (self.problem, self.method, self.seed, self.n_init, self.n_trials)


def several_file(path: Path) -> RunFile[SeveralRun]:
    return RunFile(path, SeveralRun)


def run_several_task(task: SeveralTask) -> SeveralRun:
    """Run in this process, which should be a worker with one thread."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    method, problem = find_method(task.method), several_problem(task.problem, task.data)
    _warm_up(task.method)

    started = time.perf_counter()
    noise = np.random.default_rng(stable_seed("objective noise", task.problem, task.seed))
    design = optuna.samplers.RandomSampler(seed=stable_seed("several design", task.problem, task.seed))
    study = optuna.create_study(directions=list(problem.directions.values()), sampler=design)
    study.set_metric_names(list(problem.directions))
    steps = []
    for number in range(task.n_trials):
        if number == task.n_init:
            seed = stable_seed("several sampler", task.problem, task.seed)
            study.sampler = method.make_sampler(seed, task.n_init, task.n_trials - task.n_init)
        errors = {name: sd * float(noise.standard_normal()) for name, sd in problem.noise.items()}
        steps.append(_step(study, problem, errors))
    told = [dict(zip(problem.directions, trial.values, strict=True)) for trial in study.trials]
    return SeveralRun(
        *task.key,
        directions=problem.directions,
        values=_series([outcomes.values for outcomes, _ in steps]),
        feasible=tuple(outcomes.feasible for outcomes, _ in steps),
        ask_s=tuple(round(seconds, 6) for _, seconds in steps),
        reference=problem.reference,
        volume=problem.volume,
        told=_series(told) if problem.noise else {},
        verdicts=front_verdicts(study) if task.method == "pellucid" else (),
        wall_s=round(time.perf_counter() - started, 3),
        **stamp((*packages_of(task.method), *packages_of_problem(task.problem)), task.command),
    )


@cache
def _warm_up(name: str) -> None:
    """Run a method once on a small study, so that imports are not counted as sampling."""
    import optuna

    method, problem = find_method(name), several_problem("shifted-zdt1")
    prepare(method)
    study = optuna.create_study(directions=list(problem.directions.values()))
    study.sampler = optuna.samplers.RandomSampler(seed=0)
    for number in range(6):
        if number == 4:
            study.sampler = method.make_sampler(0, 4, 2)
        _step(study, problem, {})


def _step(study: Study, problem: SeveralProblem, errors: Mapping[str, float]) -> tuple[Outcomes, float]:
    """One trial: its exact outcomes, and the CPU seconds to create it and suggest all parameters."""
    start = time.process_time()
    trial = study.ask()
    params = problem.suggest(trial)
    asked = time.process_time()
    outcomes = problem.evaluate(params)
    for name, constraint in outcomes.constraints.items():
        trial.set_constraint(name, constraint)
    study.tell(trial, [value + errors.get(name, 0.0) for name, value in outcomes.values.items()])
    return outcomes, asked - start


def _series(rows: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(row[name] for row in rows) for name in rows[0]}


def _missing(name: str, data: str | None) -> str | None:
    """Why a problem cannot run here."""
    try:
        check_several(name, data)
    except Unavailable as reason:
        return str(reason)
    return None


def plan_several(
    names: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    n_init: int,
    n_trials: int,
    data: str | None,
    command: str,
) -> tuple[list[SeveralTask], list[str]]:
    """The tasks that can run here, and a sentence for every problem and method that is left out.

    Seed by seed, and methods alternate within a problem, so that a part of the runs is a smaller comparison.
    """
    if n_trials <= n_init:
        raise Mistake(f"--trials counts all trials, so it has to exceed --init; got {n_trials} and {n_init}.")
    for method in methods:
        if method not in SEVERAL_METHODS:
            raise Mistake(
                f"--methods takes methods that read several objectives: {', '.join(SEVERAL_METHODS)}; got `{method}`."
            )
    usable, notes = usable_methods(methods)
    reasons = {name: _missing(name, data) for name in names}
    notes += [f"{name}: {reason}" for name, reason in reasons.items() if reason is not None]
    notes += [
        f"{method.name} reads no constraints and takes no conditional spaces: {', '.join(skipped)} skipped."
        for method in usable
        if method.name in PLAIN_METHODS and (skipped := [name for name in names if name not in PLAIN_NAMES])
    ]
    tasks = [
        SeveralTask(name, method.name, seed, n_init, n_trials, data, command)
        for seed in seeds
        for name in names
        if reasons[name] is None
        for method in usable
        if name in PLAIN_NAMES or method.name not in PLAIN_METHODS
    ]
    return tasks, notes
