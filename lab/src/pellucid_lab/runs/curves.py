"""Runs on trainings that can be stopped early: random starts that all methods share, then the sampler's own proposals.

A method is a sampler and a pruner. The pruner is asked after every step but the last, in the starts as well; a run ends
once its trials have taken as many steps as ``budget`` complete trainings. A trial that was pruned is trained to the end
for the record only: the study never hears of it, and it costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.base import CurveProblem, Direction, stable_seed, suggest_all
from pellucid_lab.methods.pruners import find_pruner
from pellucid_lab.methods.samplers import find_method, usable_methods
from pellucid_lab.problems.curves import check_curves, curve_problem, packages_of_problem
from pellucid_lab.runs.files import RunFile
from pellucid_lab.runs.provenance import stamp
from pellucid_lab.runs.regret import packages_of, warm_up

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.study import Study

# Samplers that know pruned trials, and the random search; `ei` is ours with the plain expected improvement.
CURVE_SAMPLERS = ("pellucid", "ei", "optuna-gp", "optuna-tpe", "random")

CurveKey = tuple[str, str, int, int, int]


def method_name(sampler: str, pruner: str) -> str:
    return f"{sampler}+{pruner}"


def parts_of_method(name: str) -> tuple[str, str]:
    """Its sampler and its pruner."""
    sampler, _, pruner = name.partition("+")
    return sampler, pruner


@dataclass(frozen=True)
class CurveTask:
    """What one run needs: ``n_init`` random starts, and a ``budget`` in complete trainings."""

    problem: str
    method: str
    seed: int
    n_init: int
    budget: int
    data: str | None = None
    command: str = ""

    @property
    def key(self) -> CurveKey:
        return (self.problem, self.method, self.seed, self.n_init, self.budget)

    @property
    def label(self) -> str:
        return f"{self.problem} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class CurveRun:
    """A finished run; every series has one entry per trial.

    ``epochs``: steps that were taken; ``finals``: values after the last of the ``steps``, also of trials that were
    ``pruned``, which the study does not know. CPU seconds: ``ask_s``, ``prune_s`` of all `should_prune` of the trial,
    ``train_s`` of the steps that were taken.
    """

    problem: str
    method: str
    seed: int
    n_init: int
    budget: int
    direction: Direction
    steps: int
    optimum: float
    epochs: tuple[int, ...]
    finals: tuple[float, ...]
    pruned: tuple[bool, ...]
    ask_s: tuple[float, ...]
    prune_s: tuple[float, ...]
    train_s: tuple[float, ...]
    wall_s: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        series = (self.epochs, self.finals, self.pruned, self.ask_s, self.prune_s, self.train_s)
        if any(len(entries) != len(self.epochs) for entries in series):
            raise ValueError("every series needs one entry per trial")
        if not all(math.isfinite(entry) for entries in series for entry in entries):
            raise ValueError("every series has to be finite")

    @property
    def key(self) -> CurveKey:
        return (self.problem, self.method, self.seed, self.n_init, self.budget)


def curve_file(path: Path) -> RunFile[CurveRun]:
    return RunFile(path, CurveRun)


# ------------------------------------------------------------------------------------------ a run


@dataclass(frozen=True)
class _Trial:
    epochs: int
    final: float
    pruned: bool
    ask_s: float
    prune_s: float
    train_s: float


def run_curve_task(task: CurveTask) -> CurveRun:
    """Run in this process, which should be a worker with one thread."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler, pruner = parts_of_method(task.method)
    problem = curve_problem(task.problem, task.data)
    warm_up(sampler)
    _warm_up_pruner(pruner)

    started = time.perf_counter()
    study = _study(problem, find_pruner(pruner)(problem.steps), task.seed)
    trials: list[_Trial] = []
    while sum(trial.epochs for trial in trials) < task.budget * problem.steps:
        if len(trials) == task.n_init:
            seed = stable_seed("curve sampler", task.problem, task.seed)
            study.sampler = find_method(sampler).make_sampler(seed, task.n_init, task.budget - task.n_init)
        trials.append(_run_trial(study, problem))
    return CurveRun(
        *task.key,
        direction=problem.direction,
        steps=problem.steps,
        optimum=problem.optimum,
        epochs=tuple(trial.epochs for trial in trials),
        finals=tuple(round(trial.final, 7) for trial in trials),
        pruned=tuple(trial.pruned for trial in trials),
        ask_s=tuple(round(trial.ask_s, 4) for trial in trials),
        prune_s=tuple(round(trial.prune_s, 4) for trial in trials),
        train_s=tuple(round(trial.train_s, 4) for trial in trials),
        wall_s=round(time.perf_counter() - started, 3),
        **stamp((*packages_of(sampler), *packages_of_problem(task.problem)), task.command),
    )


def _study(problem: CurveProblem, pruner: BasePruner, seed: int) -> Study:
    import optuna

    design = optuna.samplers.RandomSampler(seed=stable_seed("curve design", problem.name, seed))
    # Hyperband assigns trials to brackets by the name of the study.
    name = f"{problem.name} {seed}"
    return optuna.create_study(study_name=name, direction=problem.direction, sampler=design, pruner=pruner)


def _run_trial(study: Study, problem: CurveProblem) -> _Trial:
    from optuna.trial import TrialState

    clock = time.process_time
    start = clock()
    trial = study.ask()
    params = suggest_all(trial, problem.distributions)
    ask_s, prune_s, train_s = clock() - start, 0.0, 0.0
    values = problem.curve(params)
    step, pruned, value = 0, False, math.nan
    while step < problem.steps and not pruned:
        start = clock()
        value = next(values)
        train_s += clock() - start
        step += 1
        trial.report(value, step)
        if step < problem.steps:
            start = clock()
            pruned = bool(trial.should_prune())  # Some pruners return a NumPy one, which JSON does not know.
            prune_s += clock() - start
    if pruned:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, value)
    final = [value, *values][-1]
    return _Trial(step, final, pruned, ask_s, prune_s, train_s)


@cache
def _warm_up_pruner(name: str) -> None:
    """Ask a pruner on a small study, so that imports are not counted as its time."""
    import optuna
    from optuna.distributions import FloatDistribution

    problem = CurveProblem(
        name="warm-up",
        direction="minimize",
        distributions={"x": FloatDistribution(0.0, 1.0)},
        steps=9,
        curve=lambda params: (params["x"] + 1.0 / step for step in range(1, 10)),
        optimum=0.0,
        source="",
    )
    study = optuna.create_study(pruner=find_pruner(name)(problem.steps), sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(8):
        _run_trial(study, problem)


# ------------------------------------------------------------------------------------------ plans


def plan_curves(
    names: Sequence[str],
    samplers: Sequence[str],
    pruners: Sequence[str],
    seeds: Sequence[int],
    n_init: int,
    budget: int,
    data: str | None,
    command: str,
) -> tuple[list[CurveTask], list[str]]:
    """The tasks that can run here, and a sentence for every problem and sampler that is left out.

    Seed by seed, and methods alternate within a problem, so that a part of the runs is a smaller comparison.
    """
    if budget <= n_init:
        raise Mistake(f"--budget counts all complete trainings, so it has to exceed --init; got {budget} and {n_init}.")
    for sampler in samplers:
        if sampler not in CURVE_SAMPLERS:
            raise Mistake(f"--samplers takes some of {', '.join(CURVE_SAMPLERS)}; got `{sampler}`.")
    for pruner in pruners:
        find_pruner(pruner)
    usable, notes = usable_methods(samplers)
    reasons = {name: _missing(name, data) for name in names}
    notes += [f"{name}: {reason}" for name, reason in reasons.items() if reason is not None]
    tasks = [
        CurveTask(name, method_name(sampler.name, pruner), seed, n_init, budget, data, command)
        for seed in seeds
        for name in names
        if reasons[name] is None
        for sampler in usable
        for pruner in pruners
    ]
    return tasks, notes


def _missing(name: str, data: str | None) -> str | None:
    """Why a problem cannot run here."""
    try:
        check_curves(name, data)
    except Unavailable as reason:
        return str(reason)
    return None
