"""Which runs an experiment has, and running them: resumable, one thread per process."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from pellucid.bench.bobax import METHODS, EffectRun, Task, read
from pellucid.bench.bobax_sampler import run_sampler
from pellucid.bench.bobax_source import run_source
from pellucid.bench.effects import FUNCTIONS, LCBENCH_TASKS, known_effects
from pellucid.bench.results import now, open_for_append, versions
from pellucid.bench.workers import run_all


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


def run_tasks(tasks: Sequence[Task], path: Path, processes: int) -> Iterator[EffectRun | str]:
    """Run what the file lacks; each record is in the file before it is yielded. A failure is yielded as a sentence."""
    done = {one.key for one in read(path)}
    open_for_append(path)
    for finished in run_all(run_task, [task for task in tasks if task.key not in done], processes):
        if finished.outcome.error is not None:
            yield f"{finished.task.problem} {finished.task.method} seed {finished.task.seed}: {finished.outcome.error}"
            continue
        record = finished.outcome.value
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record)) + "\n")
        yield record
