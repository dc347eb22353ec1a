"""One job is one run: an initial design shared by all methods, then the method's own proposals."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.errors import Mistake
from pellucid_lab.base import Job, Problem, Suite, require_modules, stable_seed
from pellucid_lab.methods.samplers import find_method, prepare, usable_methods
from pellucid_lab.problems.suites import check_problem, is_conditional, load_problem, name_and_factor
from pellucid_lab.runs.results import Failure, Run, append, failure, now, open_for_append, read_runs, versions
from pellucid_lab.runs.workers import run_all

if TYPE_CHECKING:
    from optuna.study import Study


def run_job(job: Job) -> Run:
    """Run in this process; meant to be called inside a one-thread worker."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    method = find_method(job.method)
    problem = load_problem(job.suite, job.problem, job.data)
    if method.static_only and problem.conditional:
        raise Mistake(f"{method.name} does not support conditional spaces, which {problem.name} has.")
    warm_up(job.method)

    started = time.perf_counter()
    plain, _ = name_and_factor(job.problem)  # The same problem in another unit starts from the same design.
    design = optuna.samplers.RandomSampler(seed=stable_seed("design", job.suite, plain, job.seed))
    study = optuna.create_study(direction=problem.direction, sampler=design)
    steps = []
    for number in range(job.n_init + job.n_steps):
        if number == job.n_init:
            seed = stable_seed("sampler", job.suite, plain, job.seed)
            study.sampler = method.make_sampler(seed, job.n_init, job.n_steps)
        steps.append(timed_step(study, problem))
    values, ask_s, tell_s = zip(*steps, strict=True)
    return Run(
        *job.key,
        direction=problem.direction,
        values=values,
        ask_s=tuple(round(seconds, 6) for seconds in ask_s),
        tell_s=tuple(round(seconds, 6) for seconds in tell_s),
        optimum=problem.optimum,
        optimum_is_exact=problem.optimum_is_exact,
        anchor=problem.anchor,
        wall_s=round(time.perf_counter() - started, 3),
        versions=method_versions(job.method),
        machine=platform.platform(),
        date=now(),
        command=job.command,
        trace=_trace(study),
    )


def _trace(study: Study) -> dict[str, tuple[float, ...]]:
    """What our policies wrote into their receipts, one entry per proposal; empty for every other method."""
    from pellucid import receipts

    policies = [one for one in receipts(study) if one.policy is not None]
    return {
        name: values
        for name, values in {
            "alpha": tuple(one.policy.numbers["alpha"] for one in policies if "alpha" in one.policy.numbers),  # type: ignore[union-attr]
            "ubr": tuple(one.bounds[0] for one in policies if one.bounds),
        }.items()
        if values
    }


def timed_step(study: Study, problem: Problem) -> tuple[float, float, float]:
    """One evaluation: its value, seconds to create the trial and suggest everything, seconds to tell."""
    start = time.perf_counter()
    trial = study.ask()
    params = problem.suggest(trial)
    asked = time.perf_counter()
    value = problem.evaluate(params)
    evaluated = time.perf_counter()
    study.tell(trial, value)
    return value, asked - start, time.perf_counter() - evaluated


@cache
def warm_up(name: str) -> None:
    """Load the method's code with a throwaway study, so that imports are not counted as sampling."""
    import optuna

    method = find_method(name)
    prepare(method)
    problem = load_problem("synthetic", "branin")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem.objective, n_trials=4)
    study.sampler = method.make_sampler(0, 4, 2)
    study.optimize(problem.objective, n_trials=2)


def method_versions(name: str) -> dict[str, str]:
    return versions(("pellucid", "optuna", "numpy", "scipy", *find_method(name).requires))


def plan_jobs(
    suite: Suite,
    names: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    n_init: int,
    n_steps: int,
    data: str | None,
    command: str,
) -> tuple[list[Job], list[str]]:
    """The jobs that can run here, and a sentence for everything that is left out.

    Methods alternate within a problem and seed, so that a file that is stopped early is still comparable.
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
    jobs = [
        Job(suite.name, name, method.name, seed, n_init, n_steps, data, command)
        for name in names
        for seed in seeds
        for method in usable
        if not (method.static_only and name in conditional)
    ]
    return jobs, notes


def pending(jobs: Sequence[Job], path: Path) -> list[Job]:
    """The jobs without a finished run in the file; those that failed there are tried again."""
    done = {run.key for run in read_runs(path)}
    return [job for job in jobs if job.key not in done]


def run_jobs(jobs: Sequence[Job], path: Path, processes: int) -> Iterator[Run | Failure]:
    """Run what the file lacks; each record is in the file before it is yielded, so a stop loses little."""
    open_for_append(path)
    for finished in run_all(run_job, pending(jobs, path), processes):
        outcome = finished.outcome
        record = outcome.value if outcome.error is None else failure(finished.task, outcome.error, outcome.trace)
        append(path, record)
        yield record
