"""What stopping early saves and costs: runs that note where `StopWhen` would have ended them, and go on to the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from pellucid.cli.errors import Mistake
from pellucid_lab.base import stable_seed
from pellucid_lab.problems.suites import load_problem
from pellucid_lab.runs.workers import run_all

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Task:
    suite: str
    problem: str
    seed: int
    n_startup: int
    budget: int
    tolerance: float
    patience: int
    min_trials: int


@dataclass(frozen=True)
class Ending:
    """Where one run would have stopped (its budget if nowhere), and what the rest of the budget still brought."""

    problem: str
    seed: int
    used: int
    loss: float
    sentence: str


def run_task(task: Task) -> Ending:
    """Meant to be called inside a one-thread worker."""
    import optuna

    from pellucid import BayesianSampler, StopWhen
    from pellucid.samplers.stop_when import STOPPED_ATTRIBUTE

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = load_problem(task.suite, task.problem)
    seed = stable_seed("stopping", task.suite, task.problem, task.seed)
    study = optuna.create_study(
        direction=problem.direction, sampler=BayesianSampler(seed=seed, n_startup_trials=task.n_startup)
    )
    study.optimize(
        problem.objective,
        n_trials=task.budget,
        callbacks=[StopWhen(task.tolerance, patience=task.patience, min_trials=task.min_trials)],
    )
    used, at_stop = len(study.trials), study.best_value
    sentence = str(study.user_attrs.get(STOPPED_ATTRIBUTE, ""))
    if used < task.budget:
        study.optimize(problem.objective, n_trials=task.budget - used)
    return Ending(task.problem, task.seed, used, abs(study.best_value - at_stop), sentence)


def run_tasks(tasks: Sequence[Task], processes: int) -> Iterator[Ending]:
    for finished in run_all(run_task, tasks, processes):
        if finished.outcome.error is not None:
            raise Mistake(f"{finished.task.problem} seed {finished.task.seed} failed: {finished.outcome.error}.")
        yield finished.outcome.value


def markdown(tasks: Sequence[Task], endings: Sequence[Ending]) -> str:
    first = tasks[0]
    lines = [
        f"# Stopping on {first.suite}: tolerance {first.tolerance:g}, budget {first.budget} trials",
        "",
        f"`StopWhen({first.tolerance:g}, patience={first.patience}, min_trials={first.min_trials})`; the loss is what "
        "the rest of the budget still brought, in the unit of the objective.",
        "",
        "| problem | runs | mean share of the budget used | mean loss | largest loss |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    problems = list(dict.fromkeys(task.problem for task in tasks))
    for name in [*problems, "all"]:
        mine = [one for one in endings if name in (one.problem, "all")]
        used = fmean(one.used for one in mine) / first.budget
        losses = [one.loss for one in mine]
        lines.append(f"| {name} | {len(mine)} | {used:.0%} | {fmean(losses):.5f} | {max(losses):.5f} |")
    example = next((one for one in endings if one.sentence), None)
    if example is not None:
        lines += ["", f"For example, {example.problem}, seed {example.seed}: “{example.sentence}”"]
    return "\n".join(lines) + "\n"
