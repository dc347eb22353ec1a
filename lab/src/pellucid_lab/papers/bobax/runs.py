"""The tasks of an experiment, and the function that runs one of them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pellucid_lab.papers.bobax.experiment import METHODS, EffectRun, EffectTask
from pellucid_lab.papers.bobax.sampler import run_sampler
from pellucid_lab.papers.bobax.source import run_source
from pellucid_lab.problems.effects import FUNCTIONS, LCBENCH_TASKS, known_effects
from pellucid_lab.runs.provenance import stamp


def plan(experiment: str, seeds: Sequence[int], data: str | None, command: str) -> list[EffectTask]:
    """All runs of an experiment; methods alternate, so that the runs of an incomplete file are comparable."""
    networks = [f"lcbench-{task}" for task in LCBENCH_TASKS]
    problems = networks if experiment.endswith("lcbench") else list(FUNCTIONS)
    methods = METHODS[experiment]
    return [
        EffectTask(experiment, problem, method, seed, data, command)
        for seed in seeds
        for problem in problems
        for method in methods
    ]


def run_effect_task(task: EffectTask) -> EffectRun:
    """Run in this process, which should be a worker with one thread."""
    started = time.perf_counter()
    problem = known_effects(task.problem, task.data)
    measured = run_source(problem, task) if task.experiment.startswith("source") else run_sampler(problem, task)
    seconds = round(time.perf_counter() - started, 3)
    origin = stamp(("pellucid", "optuna", "numpy", "scipy"), task.command)
    return EffectRun(*task.key, seconds=seconds, **{**measured, **origin})
