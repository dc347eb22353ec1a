"""Which runs an experiment has, and one of them."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence

from pellucid_lab.papers.bobax.experiment import METHODS, EffectRun, Task
from pellucid_lab.papers.bobax.sampler import run_sampler
from pellucid_lab.papers.bobax.source import run_source
from pellucid_lab.problems.effects import FUNCTIONS, LCBENCH_TASKS, known_effects
from pellucid_lab.runs.results import now, versions


def plan(experiment: str, seeds: Sequence[int], data: str | None, command: str) -> list[Task]:
    """All runs of an experiment; methods alternate, so that a file that is stopped early is still comparable."""
    networks = [f"lcbench-{task}" for task in LCBENCH_TASKS]
    problems = networks if experiment.endswith("lcbench") else list(FUNCTIONS)
    methods = METHODS[experiment]
    return [
        Task(experiment, problem, method, seed, data, command)
        for seed in seeds
        for problem in problems
        for method in methods
    ]


def run_task(task: Task) -> EffectRun:
    """Meant to be called inside a one-thread worker."""
    started = time.perf_counter()
    problem = known_effects(task.problem, task.data)
    measured = run_source(problem, task) if task.experiment.startswith("source") else run_sampler(problem, task)
    return EffectRun(
        *task.key,
        **measured,
        seconds=round(time.perf_counter() - started, 3),
        versions=versions(("pellucid", "optuna", "numpy", "scipy")),
        machine=platform.platform(),
        date=now(),
        command=task.command,
    )
