"""Runs on constrained problems: start-up trials that all methods share, then the method's own proposals.

Constraints are on the trials (`Trial.set_constraint`), where samplers of Optuna 5 find them by themselves: GPSampler
multiplies expected improvement by the probability of feasibility; TPESampler counts feasible trials as good, then those
with the smallest sum of violations. Their older argument `constraints_func` is not needed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pellucid.surfaces.cli.errors import Mistake
from pellucid.words import printable
from pellucid_lab.base import ConstrainedProblem, Direction, Evaluation, stable_seed, suggest_all
from pellucid_lab.methods.samplers import find_method, usable_methods
from pellucid_lab.problems.constrained import check_constrained, constrained_problem, packages_of_problem
from pellucid_lab.runs.files import RunFile
from pellucid_lab.runs.provenance import stamp
from pellucid_lab.runs.regret import packages_of, warm_up

if TYPE_CHECKING:
    from optuna.study import Study

# Methods that read constraints, and the random search: any other would be compared unfairly.
CONSTRAINED_METHODS = ("pellucid", "optuna-gp", "optuna-tpe", "random")

ConstrainedKey = tuple[str, str, int, int, int]


@dataclass(frozen=True)
class ConstrainedTask:
    """What one run needs: ``n_init`` of its ``n_trials`` trials are the start-up ones."""

    problem: str
    method: str
    seed: int
    n_init: int
    n_trials: int
    command: str = ""

    @property
    def key(self) -> ConstrainedKey:
        return (self.problem, self.method, self.seed, self.n_init, self.n_trials)

    @property
    def label(self) -> str:
        return f"{self.problem} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class ConstrainedRun:
    """A finished run; every series has one entry per trial.

    ``constraints`` and ``feasible`` are exact; ``told`` has the noisy constraints as the study knows them, and is empty
    without noise. ``ask_s``: CPU seconds. ``active``: the constraints that bind at the optimum. ``chances``: what our
    receipts said of the chance that each proposal is feasible, by trial; ``recommended``: our recommendation at the
    end, a trial and its chance; ``verdict``: our answer to whether the study can stop then, with what it saw left at
    most and its tolerance. All are empty for other methods and if there is none.
    """

    problem: str
    method: str
    seed: int
    n_init: int
    n_trials: int
    direction: Direction
    values: tuple[float, ...]
    constraints: Mapping[str, Sequence[float]]
    feasible: tuple[bool, ...]
    ask_s: tuple[float, ...]
    optimum: float
    active: tuple[str, ...]
    told: Mapping[str, Sequence[float]] = field(default_factory=dict)
    chances: tuple[tuple[int, float], ...] = ()
    recommended: tuple[int, float] | tuple[()] = ()
    verdict: tuple[bool, float, float] | tuple[()] = ()
    wall_s: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        series = (self.values, self.feasible, self.ask_s, *self.constraints.values(), *self.told.values())
        if any(len(entries) != self.n_trials for entries in series):
            raise ValueError(printable(f"every series needs {self.n_trials} entries"))
        if not all(math.isfinite(entry) for entries in series for entry in entries):
            raise ValueError("every series has to be finite")

    @property
    def key(self) -> ConstrainedKey:
        return (self.problem, self.method, self.seed, self.n_init, self.n_trials)


def constrained_file(path: Path) -> RunFile[ConstrainedRun]:
    return RunFile(path, ConstrainedRun)


def run_constrained_task(task: ConstrainedTask) -> ConstrainedRun:
    """Run in this process, which should be a worker with one thread."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    method, problem = find_method(task.method), constrained_problem(task.problem)
    warm_up(task.method)

    started = time.perf_counter()
    noise = np.random.default_rng(stable_seed("constraint noise", task.problem, task.seed))
    design = optuna.samplers.RandomSampler(seed=stable_seed("constrained design", task.problem, task.seed))
    study = optuna.create_study(direction=problem.direction, sampler=design)
    steps = []
    for number in range(task.n_trials):
        if number == task.n_init:
            seed = stable_seed("constrained sampler", task.problem, task.seed)
            study.sampler = method.make_sampler(seed, task.n_init, task.n_trials - task.n_init)
        errors = {name: sd * float(noise.standard_normal()) for name, sd in problem.noise.items()}
        steps.append(_step(study, problem, errors))
    evaluations = [evaluation for evaluation, _ in steps]
    return ConstrainedRun(
        *task.key,
        direction=problem.direction,
        values=tuple(evaluation.value for evaluation in evaluations),
        constraints=_series([evaluation.constraints for evaluation in evaluations]),
        feasible=tuple(evaluation.feasible for evaluation in evaluations),
        ask_s=tuple(round(seconds, 6) for _, seconds in steps),
        optimum=problem.optimum,
        active=problem.active,
        told=_series([trial.constraints for trial in study.trials]) if problem.noise else {},
        chances=_chances(study),
        recommended=_recommended(study) if task.method == "pellucid" else (),
        verdict=_verdict(study) if task.method == "pellucid" else (),
        wall_s=round(time.perf_counter() - started, 3),
        **stamp((*packages_of(task.method), *packages_of_problem(task.problem)), task.command),
    )


def _step(study: Study, problem: ConstrainedProblem, errors: Mapping[str, float]) -> tuple[Evaluation, float]:
    """One trial: its exact evaluation, and the CPU seconds to create it and suggest all parameters."""
    start = time.process_time()
    trial = study.ask()
    params = suggest_all(trial, problem.distributions)
    asked = time.process_time()
    evaluation = problem.evaluate(params)
    for name, constraint in evaluation.constraints.items():
        trial.set_constraint(name, constraint + errors.get(name, 0.0))
    study.tell(trial, evaluation.value)
    return evaluation, asked - start


def _chances(study: Study) -> tuple[tuple[int, float], ...]:
    import pellucid
    from pellucid.provenance import ModelReceipt

    modelled = [receipt for receipt in pellucid.receipts(study) if isinstance(receipt, ModelReceipt)]
    receipts = [receipt for receipt in modelled if receipt.constraints]
    said = [math.prod(state.probability for state in receipt.constraints) for receipt in receipts]
    return tuple((receipt.trial, round(chance, 6)) for receipt, chance in zip(receipts, said, strict=True))


def _recommended(study: Study) -> tuple[int, float] | tuple[()]:
    import pellucid

    try:
        use = pellucid.recommend(study)
    except pellucid.Unanswered:  # No trial is feasible.
        return ()
    return () if use.feasible is None else (use.trial, round(use.feasible, 6))


def _verdict(study: Study) -> tuple[bool, float, float] | tuple[()]:
    import pellucid

    verdict = pellucid.stopping_verdict(study)
    if verdict.bound is None or verdict.tolerance is None:
        return ()
    return verdict.stop, verdict.bound, verdict.tolerance


def _series(rows: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(row[name] for row in rows) for name in rows[0]}


def plan_constrained(
    names: Sequence[str], methods: Sequence[str], seeds: Sequence[int], n_init: int, n_trials: int, command: str
) -> tuple[list[ConstrainedTask], list[str]]:
    """The tasks that can run here, and a sentence for every method that is left out.

    Seed by seed, and methods alternate within a problem, so that a part of the runs is a smaller comparison.
    """
    if n_trials <= n_init:
        raise Mistake(f"--trials counts all trials, so it has to exceed --init; got {n_trials} and {n_init}.")
    for name in names:
        check_constrained(name)
    for method in methods:
        if method not in CONSTRAINED_METHODS:
            raise Mistake(
                f"--methods takes methods that read constraints: {', '.join(CONSTRAINED_METHODS)}; got `{method}`."
            )
    usable, notes = usable_methods(methods)
    tasks = [
        ConstrainedTask(name, method.name, seed, n_init, n_trials, command)
        for seed in seeds
        for name in names
        for method in usable
    ]
    return tasks, notes
