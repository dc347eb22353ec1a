"""What stopping early saves and costs: each run records where `StopWhen` would have ended it, and continues to the end
of its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from pellucid_lab.base import stable_seed
from pellucid_lab.problems.suites import load_problem
from pellucid_lab.tables.grids import Grid, page

StoppingKey = tuple[str, str, int, int, int, float, int, int]


@dataclass(frozen=True)
class StoppingTask:
    """One run; ``tolerance``, ``patience`` and ``min_trials`` are the arguments of `StopWhen`."""

    suite: str
    problem: str
    seed: int
    n_startup: int
    budget: int
    tolerance: float
    patience: int
    min_trials: int

    @property
    def key(self) -> StoppingKey:
        return (
            *(self.suite, self.problem, self.seed, self.n_startup),
            *(self.budget, self.tolerance, self.patience, self.min_trials),
        )

    @property
    def label(self) -> str:
        return f"{self.problem} seed {self.seed}"


@dataclass(frozen=True)
class StoppingRun(StoppingTask):
    """After how many trials the run would have stopped (its budget if never), and by how much the rest of the budget
    still improved the best value; ``sentence``: the reason that `StopWhen` gave."""

    used: int = 0
    loss: float = 0.0
    sentence: str = ""


def run_stopping_task(task: StoppingTask) -> StoppingRun:
    """Run in this process, which should be a worker with one thread."""
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
    return StoppingRun(**asdict(task), used=used, loss=abs(study.best_value - at_stop), sentence=sentence)


def markdown(runs: Sequence[StoppingRun], provenance: str) -> str:
    """A page about runs of one suite with the same settings."""
    first = runs[0]
    title = f"Stopping on {first.suite}: tolerance {first.tolerance:g}, budget {first.budget} trials"
    note = (
        f"`StopWhen({first.tolerance:g}, patience={first.patience}, min_trials={first.min_trials})`; the loss is the "
        "improvement that the rest of the budget still brought, in the unit of the objective."
    )
    example = next((run for run in runs if run.sentence), None)
    after = [] if example is None else [f"For example, {example.problem}, seed {example.seed}: “{example.sentence}”"]
    return page(title, [note], [_grid(runs)], provenance, after)


def _grid(runs: Sequence[StoppingRun]) -> Grid:
    rows = []
    for name in [*dict.fromkeys(sorted(run.problem for run in runs)), "all"]:
        chosen = [run for run in runs if name in (run.problem, "all")]
        used = fmean(run.used for run in chosen) / runs[0].budget
        losses = [run.loss for run in chosen]
        rows.append((name, str(len(chosen)), f"{used:.0%}", f"{fmean(losses):.5f}", f"{max(losses):.5f}"))
    columns = ("problem", "runs", "mean share of the budget used", "mean loss", "largest loss")
    return Grid("", columns, tuple(rows))
