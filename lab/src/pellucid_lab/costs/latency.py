"""Milliseconds per ask against the number of finished trials, all methods side by side in one run.

Each method has its own process with one thread, and only one process works at a time. For every n the methods take
turns, several times if they are fast enough: a fast method's steps take so little time that a single turn would not be
a fair sample of the machine. All methods start from the same trials.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pellucid_lab.base import stable_seed
from pellucid_lab.methods.samplers import find_method
from pellucid_lab.problems.functions import bbob_name
from pellucid_lab.problems.suites import load_problem
from pellucid_lab.runs.provenance import stamp
from pellucid_lab.runs.regret import RegretTask, packages_of, run_regret_task, timed_step, warm_up
from pellucid_lab.runs.workers import Worker

# Untimed steps at the start of a turn: the first step fits hyperparameters from scratch.
WARM_UP_STEPS = 2
# A turn that has taken BLOCK_SECONDS ends after MIN_REPEATS steps: the spread of slow peers is small next to their
# median.
MIN_REPEATS = 3
BLOCK_SECONDS = 10.0
# Above this n a step takes most of a minute, so that one warm-up step and one timed step have to be enough.
ONE_REPEAT_ABOVE: Mapping[str, int] = {"smac": 280}
# Turns at every n. A method whose turn took longer than SLOW_TURN_SECONDS gets no further turn.
ROUNDS = 5
SLOW_TURN_SECONDS = 8.0
# Random and proposed evaluations of the complete run.
FULL_RUN = (24, 256)


@dataclass(frozen=True)
class Block:
    """The steps that one process times in one turn at one n."""

    method: str
    n: int
    dim: int
    function: int
    repeats: int


@dataclass(frozen=True)
class Timing:
    """Seconds of each timed step (ask and tell, without the objective) of a method at one n."""

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
    """Sampler time (ask and tell, without the initial design) of a complete run."""

    method: str
    n_init: int
    n_steps: int
    dim: int
    sampler_s: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class LatencyPlan:
    """What to measure. The times of the other methods are divided by those of the first."""

    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    dim: int
    function: int
    repeats: int
    max_n: Mapping[str, int]
    full_run: bool

    def blocks(self) -> list[Block]:
        """In the order of measurement: all methods at one n, then all at the next."""
        return [
            Block(method, n, self.dim, self.function, self.repeats)
            for n in self.sizes
            for method in self.methods
            if n <= self.max_n.get(method, n)
        ]


@dataclass(frozen=True)
class Latency:
    """A measurement, complete or stopped early; ``timings`` are in the order in which they were taken.

    ``load`` is the load average per core before the start: if it is well above 0, the times cannot be trusted.
    """

    plan: LatencyPlan
    timings: tuple[Timing, ...]
    full_run: FullRun | None
    load: float
    versions: Mapping[str, str]
    machine: str
    date: str
    command: str

    def find(self, method: str, n: int) -> Timing | None:
        return next((timing for timing in self.timings if (timing.method, timing.n) == (method, n)), None)

    def ratio(self, method: str, n: int) -> float | None:
        """Time of ``method`` over time of the first method at the same n."""
        first, other = self.find(self.plan.methods[0], n), self.find(method, n)
        if first is None or other is None or first.ms is None or other.ms is None:
            return None
        return other.ms / first.ms


def measure_block(block: Block) -> Timing:
    """Load the method, warm up, measure; runs in this process, which should be a worker with one thread."""
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
        _, ask_s, tell_s = timed_step(study, problem)
        seconds.append(ask_s + tell_s)
    return Timing(block.method, block.n, block.dim, tuple(round(second, 6) for second in seconds))


def measure(plan: LatencyPlan) -> Iterator[Timing | FullRun]:
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
        timings = turns[block.method]
        error = next((timing.error for timing in timings if timing.error is not None), None)
        seconds = tuple(second for timing in timings for second in timing.seconds)
        yield Timing(block.method, block.n, block.dim, seconds, error)


def _full_run(worker: Worker, plan: LatencyPlan) -> FullRun:
    method, (n_init, n_steps) = plan.methods[0], FULL_RUN
    task = RegretTask("bbob", bbob_name(plan.function, 1, plan.dim), method, 0, n_init, n_steps)
    outcome = worker.call(run_regret_task, task)
    if outcome.error is not None:
        return FullRun(method, n_init, n_steps, plan.dim, error=outcome.error)
    return FullRun(method, n_init, n_steps, plan.dim, sampler_s=round(outcome.value.sampler_s, 3))


def assemble(plan: LatencyPlan, results: Sequence[Timing | FullRun], load: float, command: str) -> Latency:
    packages = tuple(dict.fromkeys(package for method in plan.methods for package in packages_of(method)))
    return Latency(
        plan=plan,
        timings=tuple(result for result in results if isinstance(result, Timing)),
        full_run=next((result for result in results if isinstance(result, FullRun)), None),
        load=round(load, 2),
        **stamp(packages, command),
    )
