"""Large studies: what an ask costs, and what a model of a choice of the trials gives away.

A run continues a study of n trials, half of them random and half perturbations of the best so far. Times are CPU times
of one thread: what an ask takes on an idle core, also if the machine is busy.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from pellucid_lab.base import Problem, stable_seed
from pellucid_lab.problems.functions import bbob_name
from pellucid_lab.problems.suites import load_problem
from pellucid_lab.tables.grids import Grid, page

if TYPE_CHECKING:
    from optuna import Study

# Of the trials that the runs continue: the best that are perturbed, and the smallest and largest scale of that, as
# shares of the range.
N_PARENTS, SMALLEST_SCALE, LARGEST_SCALE = 10, 3e-3, 0.2
# Regrets that differ by less than this share count as equal.
SAME = 1e-9

ScaleKey = tuple[int, int, int, int, int, int, int, bool]


@dataclass(frozen=True)
class ScaleTask:
    """Continue a study of ``n`` trials of a BBOB function by ``steps`` asks while ``running`` other trials run.

    ``exact``: condition the model on all trials, however many there are.
    """

    n: int
    dim: int
    running: int
    function: int
    instance: int
    seed: int
    steps: int
    exact: bool

    @property
    def key(self) -> ScaleKey:
        return (self.n, self.dim, self.running, self.function, self.instance, self.seed, self.steps, self.exact)

    @property
    def label(self) -> str:
        return f"{bbob_name(self.function, self.instance, self.dim)} n={self.n}{' exact' if self.exact else ''}"


@dataclass(frozen=True)
class ScaleRun(ScaleTask):
    """``seconds`` per ask; the largest memory of the process in ``megabytes``, NaN if the system does not tell; regret
    before and after the asks; and how many configurations of the asks, and of the running trials, differ."""

    seconds: tuple[float, ...] = ()
    megabytes: float = math.nan
    before: float = math.nan
    after: float = math.nan
    distinct: int = 0


def cost_tasks(function: int, steps: int) -> list[ScaleTask]:
    """Studies of many trials, of many parameters, and with many running trials."""
    sizes = [(n, 5, running) for n in (100, 1000, 2000, 5000, 10_000) for running in (0, 64)]
    sizes += [(10_000, 20, 0), (200, 300, 0)]
    return [ScaleTask(n, dim, running, function, 1, 0, steps, exact=False) for n, dim, running in sizes]


def run_scale_task(task: ScaleTask) -> ScaleRun:
    """Run in this process, which should be a worker with one thread."""
    import optuna

    from pellucid import BayesianSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    _forget_peak_memory()
    problem = load_problem("bbob", bbob_name(task.function, task.instance, task.dim))
    assert problem.optimum is not None
    seed = stable_seed("scale", task.n, task.dim, task.function, task.instance, task.seed)
    study = optuna.create_study(sampler=BayesianSampler(seed=seed))
    _fill(study, problem, task.n, np.random.default_rng(seed))
    before = study.best_value - problem.optimum
    proposed, seconds = [], []
    with all_rows() if task.exact else _nothing():
        for step in range(task.running + task.steps):
            start = time.process_time()
            trial = study.ask()
            params = problem.suggest(trial)
            seconds.append(time.process_time() - start)
            proposed.append(tuple(params.values()))
            if step >= task.running:
                study.tell(trial, problem.evaluate(params))
    return ScaleRun(
        **asdict(task),
        seconds=tuple(round(second, 5) for second in seconds[task.running :]),
        megabytes=_peak_memory(),
        before=before,
        after=study.best_value - problem.optimum,
        distinct=len(set(proposed)),
    )


@contextmanager
def all_rows() -> Iterator[None]:
    """Samplers condition their models on all trials meanwhile, for comparison."""
    from pellucid.models import thinning

    limit = thinning.MOST_TRIALS
    thinning.MOST_TRIALS = sys.maxsize
    try:
        yield
    finally:
        thinning.MOST_TRIALS = limit


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _fill(study: Study, problem: Problem, n: int, rng: np.random.Generator) -> None:
    """n trials, half of them random, half perturbations of the best so far."""
    from optuna.trial import create_trial

    assert problem.distributions is not None
    names = list(problem.distributions)
    low = np.array([problem.distributions[name].low for name in names])  # type: ignore[attr-defined]
    high = np.array([problem.distributions[name].high for name in names])  # type: ignore[attr-defined]
    points: list[dict[str, float]] = []
    values: list[float] = []
    rows = np.empty((n, len(names)))
    for i in range(n):
        if i < n / 2:
            rows[i] = rng.random(len(names))
        else:
            parent = rows[rng.choice(np.argsort(values, kind="stable")[:N_PARENTS])]
            scale = math.exp(rng.uniform(math.log(SMALLEST_SCALE), math.log(LARGEST_SCALE)))
            rows[i] = np.clip(parent + scale * rng.standard_normal(len(names)), 0.0, 1.0)
        points.append(dict(zip(names, (low + rows[i] * (high - low)).tolist(), strict=True)))
        values.append(problem.evaluate(points[-1]))
    distributions = dict(problem.distributions)
    study.add_trials(
        [
            create_trial(params=point, distributions=distributions, value=value)
            for point, value in zip(points, values, strict=True)
        ]
    )


def _forget_peak_memory() -> None:
    """On Linux, the largest memory of the process counts from here on."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _peak_memory() -> float:
    """In megabytes; NaN on systems other than Linux."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return math.nan
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), math.nan)


# ---------------------------------------------------------------------------------------------------- tables


def markdown(costs: Sequence[ScaleRun], continued: Sequence[ScaleRun], provenance: str) -> str:
    notes = [
        "Studies of BBOB functions, half of their trials random and half perturbations of the best so far, continued "
        "by `BayesianSampler` with its defaults. CPU time of one thread: what an ask takes on an idle core."
    ]
    return page("Large studies", notes, [_cost_grid(costs), _regret_grid(continued)], provenance, _summary(continued))


def _cost_grid(runs: Sequence[ScaleRun]) -> Grid:
    rows = []
    for run in sorted(runs, key=lambda run: (run.dim, run.n, run.running)):
        first, *later = (1e3 * second for second in run.seconds)
        idle = next((r for r in runs if (r.n, r.dim, r.running) == (run.n, run.dim, 0)), run)
        ratio = median(later) / median(1e3 * second for second in idle.seconds[1:])
        rows.append(
            (
                *(f"{run.n:,}", str(run.dim), str(run.running), f"{first:.0f}", f"{median(later):.0f}"),
                *(f"{max(later):.0f}", f"{ratio:.2f}×" if run.running else "–", f"{run.megabytes:.0f}"),
                f"{run.distinct} of {run.running + run.steps}",
            )
        )
    columns = ("trials", "parameters", "running", "first ask, ms", "median", "largest", "of none running", "peak MB")
    return Grid("An ask", (*columns, "distinct proposals"), tuple(rows))


def _regret_grid(runs: Sequence[ScaleRun]) -> Grid:
    rows = []
    for exact, choice in _pairs(runs):
        name = bbob_name(choice.function, choice.instance, choice.dim)
        regrets = (f"{value:.3g}" for value in (choice.before, exact.after, choice.after))
        times = (f"{1e3 * median(run.seconds[1:]):.0f}" for run in (exact, choice))
        rows.append((name, str(choice.seed), *regrets, *times))
    n, steps = (runs[0].n, runs[0].steps) if runs else (0, 0)
    columns = ("problem", "seed", "before", "all trials", "a choice", "ms, all trials", "ms, a choice")
    return Grid(f"Regret of {n:,} trials, and after {steps} more with a model of", columns, tuple(rows))


def _summary(runs: Sequence[ScaleRun]) -> list[str]:
    pairs = _pairs(runs)
    if not pairs:
        return []
    logs = [math.log10(max(c.after, 1e-12)) - math.log10(max(e.after, 1e-12)) for e, c in pairs]
    wins, losses = sum(log < -SAME for log in logs), sum(log > SAME for log in logs)
    error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return [
        f"The model of a choice found a better value than that of all trials in {wins} of {len(pairs)} runs, a worse "
        f"one in {losses}, and the same in the others. Mean difference of log10 regret (negative: the choice is "
        f"better) {fmean(logs):+.3f} ± {error:.3f} (standard error)."
    ]


def _pairs(runs: Sequence[ScaleRun]) -> list[tuple[ScaleRun, ScaleRun]]:
    """Runs with a model of all trials, each with the run that used a choice."""
    choices = {run.key[:-1]: run for run in runs if not run.exact}
    exact = sorted((run for run in runs if run.exact), key=lambda run: (run.dim, run.function, run.seed))
    return [(run, choices[run.key[:-1]]) for run in exact if run.key[:-1] in choices]
