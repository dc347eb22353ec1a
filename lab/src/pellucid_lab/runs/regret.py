"""Runs that measure regret: an initial design that all methods share, then the method's own proposals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.surfaces.cli.errors import Mistake
from pellucid.words import printable
from pellucid_lab.base import Direction, Problem, Suite, require_modules, stable_seed
from pellucid_lab.methods.outside.forwarding import ForwardingSampler
from pellucid_lab.methods.outside.sampler import OutsideSampler
from pellucid_lab.methods.samplers import find_method, prepare, usable_methods
from pellucid_lab.problems.suites import (
    check_problem,
    find_suite,
    is_conditional,
    load_problem,
    name_and_factor,
    name_and_noise,
)
from pellucid_lab.runs.files import RunFile
from pellucid_lab.runs.provenance import stamp

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.study import Study

RegretKey = tuple[str, str, str, int, int, int]


@dataclass(frozen=True)
class RegretTask:
    """What one run needs."""

    suite: str
    problem: str
    method: str
    seed: int
    n_init: int
    n_steps: int
    data: str | None = None
    command: str = ""

    @property
    def key(self) -> RegretKey:
        return (self.suite, self.problem, self.method, self.seed, self.n_init, self.n_steps)

    @property
    def label(self) -> str:
        return f"{self.problem} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class RegretRun:
    """A finished run; ``values``, ``ask_s`` and ``tell_s`` have one entry per evaluation.

    ``values`` are exact; ``observed`` are what the study was told, empty if the two are the same.
    ``ask_s`` and ``tell_s``: CPU seconds, which a busy machine does not inflate as it does ``wall_s``, the seconds on
    the clock of the whole run. A peer that runs in a process of its own is included.

    ``trace``: series that a policy wrote into its receipts (``alpha``, ``ubr``), one entry per proposal.
    ``target``: the best value outside the best branch of a choice, where it is known.
    """

    suite: str
    problem: str
    method: str
    seed: int
    n_init: int
    n_steps: int
    direction: Direction
    values: tuple[float, ...]
    ask_s: tuple[float, ...]
    tell_s: tuple[float, ...]
    optimum: float | None = None
    optimum_is_exact: bool = False
    anchor: float | None = None
    wall_s: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""
    trace: dict[str, tuple[float, ...]] = field(default_factory=dict)
    observed: tuple[float, ...] = ()
    target: float | None = None

    def __post_init__(self) -> None:
        series = (self.values, self.ask_s, self.tell_s)
        expected = self.n_init + self.n_steps
        if any(len(entries) != expected for entries in series):
            raise ValueError(printable(f"values, ask_s and tell_s need {expected} entries each"))
        if not all(math.isfinite(entry) for entries in series for entry in entries):
            raise ValueError("values, ask_s and tell_s have to be finite")

    @property
    def key(self) -> RegretKey:
        return (self.suite, self.problem, self.method, self.seed, self.n_init, self.n_steps)

    @property
    def sampler_s(self) -> float:
        """Seconds of asking and telling, without the initial design."""
        return sum(self.ask_s[self.n_init :]) + sum(self.tell_s[self.n_init :])


def regret_file(path: Path) -> RunFile[RegretRun]:
    return RunFile(path, RegretRun)


def run_regret_task(task: RegretTask) -> RegretRun:
    """Run in this process, which should be a worker with one thread."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    method = find_method(task.method)
    problem = load_problem(task.suite, task.problem, task.data)
    if method.static_only and problem.conditional:
        raise Mistake(f"{method.name} does not support conditional spaces, which {problem.name} has.")
    warm_up(task.method)

    started = time.perf_counter()
    # The same problem in another unit, or with noise, starts from the same design.
    plain, _ = name_and_factor(name_and_noise(task.problem)[0])
    noise = np.random.default_rng(stable_seed("noise", task.suite, plain, task.seed))
    design = optuna.samplers.RandomSampler(seed=stable_seed("design", task.suite, plain, task.seed))
    study = optuna.create_study(direction=problem.direction, sampler=design)
    steps = []
    for number in range(task.n_init + task.n_steps):
        if number == task.n_init:
            seed = stable_seed("sampler", task.suite, plain, task.seed)
            study.sampler = method.make_sampler(seed, task.n_init, task.n_steps)
        error = problem.noise * float(noise.standard_normal())
        steps.append(timed_step(study, problem, _cpu_clock(study.sampler), error))
    values, ask_s, tell_s = zip(*steps, strict=True)
    return RegretRun(
        *task.key,
        direction=problem.direction,
        values=values,
        ask_s=tuple(round(seconds, 6) for seconds in ask_s),
        tell_s=tuple(round(seconds, 6) for seconds in tell_s),
        optimum=problem.optimum,
        optimum_is_exact=problem.optimum_is_exact,
        anchor=problem.anchor,
        target=problem.target,
        wall_s=round(time.perf_counter() - started, 3),
        trace=_trace(study),
        observed=tuple(float(trial.value or 0.0) for trial in study.trials) if problem.noise else (),
        **_stamp(task, study.sampler),
    )


def _cpu_clock(sampler: BaseSampler) -> Callable[[], float]:
    """A clock of the CPU seconds of this process and, if the sampler has one, of its peer's."""
    if isinstance(sampler, OutsideSampler | ForwardingSampler):
        return lambda: time.process_time() + sampler.cpu_s
    return time.process_time


def _stamp(task: RegretTask, sampler: BaseSampler) -> dict[str, Any]:
    fields = stamp((*packages_of(task.method), *find_suite(task.suite).packages), task.command)
    if isinstance(sampler, OutsideSampler | ForwardingSampler):
        fields["versions"] = {**fields["versions"], **sampler.versions}
    return fields


def _trace(study: Study) -> dict[str, tuple[float, ...]]:
    """What our policies wrote into their receipts, one entry per proposal; empty for other methods."""
    from pellucid import receipts
    from pellucid.provenance import ModelReceipt

    modelled = [receipt for receipt in receipts(study) if isinstance(receipt, ModelReceipt)]
    with_policy = [receipt for receipt in modelled if receipt.policy is not None]
    numbers = [receipt.policy.numbers for receipt in with_policy if receipt.policy is not None]
    series = {
        "alpha": tuple(policy["alpha"] for policy in numbers if "alpha" in policy),
        "ubr": tuple(receipt.bounds[0] for receipt in with_policy if receipt.bounds),
    }
    return {name: values for name, values in series.items() if values}


def timed_step(
    study: Study, problem: Problem, clock: Callable[[], float] = time.perf_counter, error: float = 0.0
) -> tuple[float, float, float]:
    """One evaluation: its value, the seconds to create the trial and suggest all parameters, the seconds to tell.

    ``error`` is added to the value that the study is told.
    """
    start = clock()
    trial = study.ask()
    params = problem.suggest(trial)
    asked = clock()
    value = problem.evaluate(params)
    evaluated = clock()
    study.tell(trial, value + error)
    return value, asked - start, clock() - evaluated


@cache
def warm_up(name: str) -> None:
    """Run a method once on a small study, so that imports are not counted as sampling."""
    import optuna

    method = find_method(name)
    if method.environment is not None:
        return  # Its process starts anew with every run and does not count its imports.
    prepare(method)
    problem = load_problem("synthetic", "branin")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem.objective, n_trials=4)
    study.sampler = method.make_sampler(0, 4, 2)
    study.optimize(problem.objective, n_trials=2)


def packages_of(method: str) -> tuple[str, ...]:
    """The packages whose versions belong to a result of this method."""
    return ("pellucid", "optuna", "numpy", "scipy", *find_method(method).requires)


def plan_regret(
    suite: Suite,
    names: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    n_init: int,
    n_steps: int,
    data: str | None,
    command: str,
) -> tuple[list[RegretTask], list[str]]:
    """The tasks that can run here, and a sentence for everything that is left out.

    Methods alternate within a problem and seed, so that the runs of a file are comparable even if it is incomplete.
    """
    require_modules(suite.requires, f"the {suite.name} suite")
    for name in names:
        check_problem(suite.name, name, data)
    usable, notes = usable_methods(methods)
    conditional = [name for name in names if is_conditional(suite.name, name)]
    notes += [
        f"{method.name} does not support conditional spaces: {suite.name} {', '.join(conditional)} skipped."
        for method in usable
        if method.static_only and conditional
    ]
    tasks = [
        RegretTask(suite.name, name, method.name, seed, n_init, n_steps, data, command)
        for name in names
        for seed in seeds
        for method in usable
        if not (method.static_only and name in conditional)
    ]
    return tasks, notes
