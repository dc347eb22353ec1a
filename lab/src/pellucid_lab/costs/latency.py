"""Milliseconds per ask against the number of finished trials, all methods side by side in one run.

Each method lives in its own one-thread process and only one of them works at any time. For every n the
methods take turns, several times over where that is affordable, so that a slow spell of the machine falls on all of
them: a fast method's steps are over in a blink, and one blink is no sample. The trials a study starts from are the
same for all.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pellucid_lab.base import Job, stable_seed
from pellucid_lab.methods.samplers import find_method
from pellucid_lab.problems.functions import bbob_name
from pellucid_lab.problems.suites import load_problem
from pellucid_lab.runs.results import now
from pellucid_lab.runs.runner import method_versions, run_job, timed_step, warm_up
from pellucid_lab.runs.workers import Worker

WARM_UP_STEPS = 2
MIN_REPEATS = 3
# A block that has used this long stops at MIN_REPEATS: the peers' spread is small next to their median.
BLOCK_SECONDS = 10.0
# Above this n one step takes the better part of a minute: one warm-up and one timed step have to do.
ONE_REPEAT_ABOVE: Mapping[str, int] = {"smac": 280}
# Turns at every n; a method whose first turn took longer than this has had a fair sample of the machine already.
ROUNDS = 5
SLOW_TURN_SECONDS = 8.0
FULL_RUN = (24, 256)


@dataclass(frozen=True)
class Block:
    """What one process is asked to do at one n."""

    method: str
    n: int
    dim: int
    function: int
    repeats: int


@dataclass(frozen=True)
class Timing:
    """Seconds of each timed step (ask and tell, without the objective) of one method at one n."""

    method: str
    n: int
    dim: int
    seconds: tuple[float, ...] = ()
    error: str | None = None

    @property
    def ms(self) -> float | None:
        return 1e3 * median(self.seconds) if self.seconds else None


@dataclass(frozen=True)
class FullRun:
    """Sampler time (ask and tell, initial design excluded) of one complete run."""

    method: str
    n_init: int
    n_steps: int
    dim: int
    sampler_s: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class Plan:
    """What to measure. The first method is the one the others are divided by."""

    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    dim: int
    function: int
    repeats: int
    max_n: Mapping[str, int]
    full_run: bool

    def blocks(self) -> list[Block]:
        """Every method at one n before any method at the next."""
        return [
            Block(method, n, self.dim, self.function, self.repeats)
            for n in self.sizes
            for method in self.methods
            if n <= self.max_n.get(method, n)
        ]


@dataclass(frozen=True)
class Latency:
    """A measurement, complete or stopped early; ``timings`` are in the order in which they were taken.

    ``load`` is the load average per core before the start: well above 0, the times cannot be trusted.
    """

    plan: Plan
    timings: tuple[Timing, ...]
    full_run: FullRun | None
    load: float
    versions: Mapping[str, str]
    machine: str
    date: str
    command: str

    def find(self, method: str, n: int) -> Timing | None:
        return next((one for one in self.timings if (one.method, one.n) == (method, n)), None)

    def ratio(self, method: str, n: int) -> float | None:
        """Time of ``method`` over time of the first method at the same n."""
        first, other = self.find(self.plan.methods[0], n), self.find(method, n)
        if first is None or other is None or first.ms is None or other.ms is None:
            return None
        return other.ms / first.ms


def measure_block(block: Block) -> Timing:
    """Preload, warm up, measure; meant to be called inside a one-thread worker."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warm_up(block.method)
    problem = load_problem("bbob", bbob_name(block.function, 1, block.dim))
    seed = stable_seed("latency", block.dim, block.function, block.n)
    source = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    source.optimize(problem.objective, n_trials=block.n)
    study = optuna.create_study(sampler=find_method(block.method).make_sampler(seed, min(10, block.n), block.repeats))
    study.add_trials(source.trials)

    brief = block.n > ONE_REPEAT_ABOVE.get(block.method, block.n)
    for _ in range(1 if brief else WARM_UP_STEPS):
        timed_step(study, problem)
    seconds: list[float] = []
    started = time.perf_counter()
    while len(seconds) < (1 if brief else block.repeats):
        if len(seconds) >= MIN_REPEATS and time.perf_counter() - started > BLOCK_SECONDS:
            break
        _, asked, told = timed_step(study, problem)
        seconds.append(asked + told)
    return Timing(block.method, block.n, block.dim, tuple(round(one, 6) for one in seconds))


def measure(plan: Plan) -> Iterator[Timing | FullRun]:
    """Results as they come; closing the iterator ends the processes."""
    workers = {method: Worker() for method in plan.methods}
    try:
        for n in plan.sizes:
            yield from _take_turns([block for block in plan.blocks() if block.n == n], workers)
        if plan.full_run:
            yield _full_run(workers[plan.methods[0]], plan)
    finally:
        for worker in workers.values():
            worker.stop()


def _take_turns(blocks: Sequence[Block], workers: dict[str, Worker]) -> Iterator[Timing]:
    """One timing per block, from all of its turns."""
    turns: dict[str, list[Timing]] = {block.method: [] for block in blocks}
    slow: set[str] = set()
    for _ in range(ROUNDS):
        for block in blocks:
            if block.method in slow:
                continue
            started = time.perf_counter()
            outcome = workers[block.method].call(measure_block, block)
            if not workers[block.method].alive:
                workers[block.method].stop()
                workers[block.method] = Worker()
            failed = Timing(block.method, block.n, block.dim, error=outcome.error)
            turns[block.method].append(outcome.value if outcome.error is None else failed)
            if outcome.error is not None or time.perf_counter() - started > SLOW_TURN_SECONDS:
                slow.add(block.method)
    for block in blocks:
        mine = turns[block.method]
        error = next((one.error for one in mine if one.error is not None), None)
        seconds = tuple(second for one in mine for second in one.seconds)
        yield Timing(block.method, block.n, block.dim, seconds, error)


def _full_run(worker: Worker, plan: Plan) -> FullRun:
    method, (n_init, n_steps) = plan.methods[0], FULL_RUN
    outcome = worker.call(run_job, Job("bbob", bbob_name(plan.function, 1, plan.dim), method, 0, n_init, n_steps))
    if outcome.error is not None:
        return FullRun(method, n_init, n_steps, plan.dim, error=outcome.error)
    run = outcome.value
    total = sum(run.ask_s[n_init:]) + sum(run.tell_s[n_init:])
    return FullRun(method, n_init, n_steps, plan.dim, sampler_s=round(total, 3))


def load_per_core() -> float:
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0


def assemble(plan: Plan, results: Sequence[Timing | FullRun], load: float, command: str) -> Latency:
    versions: dict[str, str] = {}
    for method in plan.methods:
        versions |= method_versions(method)
    return Latency(
        plan=plan,
        timings=tuple(one for one in results if isinstance(one, Timing)),
        full_run=next((one for one in results if isinstance(one, FullRun)), None),
        load=round(load, 2),
        versions=versions,
        machine=platform.platform(),
        date=now(),
        command=command,
    )
