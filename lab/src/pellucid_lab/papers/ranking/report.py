"""Tables and figures of runs on tables: regret, average ranks, and which methods differ significantly.

Notation
    K, R, S        methods; runs (task × seed), the same for every method; steps after the initial design
    regret (R, S)  of one method: (max - best so far) / (max - min) of the run's table; column s is after s + 1 steps
    rank           of the K methods in a run after a step: 1 is the lowest regret, equal regrets share the mean rank
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from pellucid.numerics import Array
from pellucid.words import printable
from pellucid_lab.problems.tabular import Indices, TabularTask
from pellucid_lab.tables.grids import Grid
from pellucid_lab.tables.significance import critical_difference, friedman

# Steps after which tables report, steps that count as early, and the level of significance.
MARKS = (1, 5, 10, 20, 50, 100)
EARLY = 20
LEVEL = 0.05
# A difference of regrets that counts as one.
CLEARLY = 0.01

NOTE = (
    "Regret is (max − best so far) / (max − min) over a table, after that many steps beyond the start, averaged "
    "over runs (task × seed). Ranks compare the methods within each run after each step (1 is the best, equal regrets "
    "share the mean rank) and are averaged over runs. Differences: Friedman's test and Nemenyi's critical difference, "
    f"level {LEVEL}, with tasks as blocks (regret is averaged over the seeds of a task before it is ranked)."
)


@dataclass(frozen=True)
class Regrets:
    """Regret (R, S) by method, and the task and the space of each of the R runs."""

    by_method: Mapping[str, Array]
    tasks: tuple[str, ...]
    spaces: tuple[str, ...]

    def __post_init__(self) -> None:
        shapes = {regret.shape for regret in self.by_method.values()}
        if len(shapes) != 1 or len(shape := next(iter(shapes))) != 2 or 0 in shape:
            raise ValueError(
                printable(f"Every method has to have the same runs and steps, (R, S); got {sorted(shapes)}.")
            )
        if not shape[0] == len(self.tasks) == len(self.spaces):
            raise ValueError(
                printable(
                    f"Each of the {shape[0]} runs has to have a task and a space; got {len(self.tasks)} and "
                    f"{len(self.spaces)}."
                )
            )

    @property
    def steps(self) -> int:
        return int(next(iter(self.by_method.values())).shape[1])

    @property
    def marks(self) -> tuple[int, ...]:
        """The steps after which tables report."""
        return tuple(sorted({*(mark for mark in MARKS if mark < self.steps), self.steps}))


def regret_after(task: TabularTask, chosen: Indices, n_init: int, steps: int) -> Array:
    """Regret of each run after each of its steps, (seeds, S); the last value stays when a table is used up."""
    regret = np.stack([task.regret(row)[n_init:] for row in chosen])
    return np.pad(regret, ((0, 0), (0, steps - regret.shape[1])), mode="edge")


def mean_regret(regrets: Regrets) -> dict[str, Array]:
    """Mean regret over runs by method, (S,)."""
    return {name: regret.mean(axis=0) for name, regret in regrets.by_method.items()}


def average_ranks(regrets: Regrets) -> dict[str, Array]:
    """Mean rank over runs by method, (S,)."""
    ranks = rankdata(np.stack(list(regrets.by_method.values())), axis=0).mean(axis=1)
    return dict(zip(regrets.by_method, ranks, strict=True))


# ---------------------------------------------------------------------- differences


@dataclass(frozen=True)
class Difference:
    """Mean ranks over tasks after a step, Friedman's p, and the critical difference of two mean ranks."""

    step: int
    tasks: int
    p: float
    critical: float
    ranks: Mapping[str, float]

    @property
    def best(self) -> str:
        return min(self.ranks, key=lambda name: self.ranks[name])

    @property
    def worse(self) -> tuple[str, ...]:
        """Methods that differ from the best; none if Friedman's test is not significant."""
        if self.p >= LEVEL:
            return ()
        return tuple(name for name, rank in self.ranks.items() if rank - self.ranks[self.best] >= self.critical)

    def __str__(self) -> str:
        return printable(self._sentence())

    def _sentence(self) -> str:
        when = f"After {_steps(self.step)}"
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        how = f"(Friedman {p}, {self.tasks} tasks)"
        if self.worse:
            whom = "all others" if 1 < len(self.worse) == len(self.ranks) - 1 else _listed(self.worse)
            return f"{when}, {self.best} has the best mean rank and differs from {whom} {how}"
        if self.p < LEVEL:
            return f"{when}, {self.best} has the best mean rank, but differs from no other method alone {how}"
        return f"{when}, the methods do not differ significantly {how}"


def difference(regrets: Regrets, step: int) -> Difference:
    names = list(regrets.by_method)
    at = np.stack([regrets.by_method[name][:, step - 1] for name in names], axis=1)
    tasks = list(dict.fromkeys(regrets.tasks))
    task_of_run = np.array(regrets.tasks)
    values = np.stack([at[task_of_run == task].mean(axis=0) for task in tasks])
    _, p = friedman(values)
    means = rankdata(values, axis=1).mean(axis=0)
    ranks = {name: float(mean) for name, mean in zip(names, means, strict=True)}
    return Difference(step, len(tasks), p, critical_difference(len(names), len(tasks), LEVEL), ranks)


def differences(regrets: Regrets, steps: Sequence[int]) -> list[Difference]:
    """The difference after each of the steps; none if there is only one method or one task."""
    if len(regrets.by_method) < 2 or len(set(regrets.tasks)) < 2:
        return []
    return [difference(regrets, step) for step in steps]


# ---------------------------------------------------------------------- tables


def regret_grid(regrets: Regrets) -> Grid:
    means = mean_regret(regrets)
    rows = [(name, *(f"{means[name][mark - 1]:.3g}" for mark in regrets.marks)) for name in means]
    title = f"Mean regret after … steps, {len(regrets.tasks)} runs of {len(set(regrets.tasks))} tasks"
    return Grid(title, ("method", *map(str, regrets.marks)), tuple(rows))


def rank_grid(regrets: Regrets) -> Grid:
    ranks = average_ranks(regrets)
    early = min(EARLY, regrets.steps)
    rows = [
        (
            name,
            f"{ranks[name][:early].mean():.2f}",
            f"{ranks[name].mean():.2f}",
            *(f"{ranks[name][mark - 1]:.2f}" for mark in regrets.marks),
        )
        for name in ranks
    ]
    columns = ("method", f"steps 1–{early}", "all steps", *(f"after {mark}" for mark in regrets.marks))
    return Grid("Average rank", columns, tuple(rows))


def space_grid(regrets: Regrets) -> Grid:
    """Mean regret at the end by search space."""
    space_of_run, tasks = np.array(regrets.spaces), np.array(regrets.tasks)
    rows = [
        (
            space,
            str(len(set(tasks[space_of_run == space]))),
            *(f"{regret[space_of_run == space, -1].mean():.3g}" for regret in regrets.by_method.values()),
        )
        for space in dict.fromkeys(regrets.spaces)
    ]
    columns = ("search space", "tasks", *regrets.by_method)
    return Grid(f"Mean regret after {_steps(regrets.steps)}, by search space", columns, tuple(rows))


def task_grid(regrets: Regrets, step: int = 10) -> Grid:
    """Mean regret by task, after a few steps and at the end."""
    task_of_run = np.array(regrets.tasks)
    rows = [
        (
            task,
            *(
                f"{regret[task_of_run == task, step - 1].mean():.3f} / {regret[task_of_run == task, -1].mean():.3f}"
                for regret in regrets.by_method.values()
            ),
        )
        for task in dict.fromkeys(regrets.tasks)
    ]
    title = f"Mean regret by task, after {_steps(step)} / {_steps(regrets.steps)}"
    return Grid(title, ("task", *regrets.by_method), tuple(rows))


def against_grid(regrets: Regrets, reference: str, marks: Sequence[int]) -> Grid:
    """Mean regret of every method minus that of the reference, and on how many tasks it is clearly higher."""
    task_of_run = np.array(regrets.tasks)
    tasks = list(dict.fromkeys(regrets.tasks))
    rows = []
    for name in regrets.by_method:
        if name == reference:
            continue
        difference = regrets.by_method[name] - regrets.by_method[reference]
        by_task = np.stack([difference[task_of_run == task].mean(axis=0) for task in tasks])
        cells = [
            f"{difference[:, mark - 1].mean():+.3f} ({(by_task[:, mark - 1] > CLEARLY).sum()})".replace("-", "−")
            for mark in marks
        ]
        rows.append((name, *cells))
    title = (
        f"Regret minus that of {reference} after … steps (tasks of {len(tasks)} where it is more than {CLEARLY} higher)"
    )
    return Grid(title, ("method", *map(str, marks)), tuple(rows))


def difference_grid(differences: Sequence[Difference]) -> Grid:
    rows = [
        (
            str(difference.step),
            f"{difference.p:.2g}",
            f"{difference.critical:.2f}",
            difference.best,
            ", ".join(difference.worse) or "–",
        )
        for difference in differences
    ]
    tasks = differences[0].tasks if differences else 0
    columns = ("after … steps", "Friedman p", "critical difference", "best mean rank", "differs from")
    return Grid(f"Which methods differ, {tasks} tasks", columns, tuple(rows))


def report_grids(regrets: Regrets) -> list[Grid]:
    tables = experiment_grids(regrets)
    return [*tables[:2], space_grid(regrets), *tables[2:]]


def experiment_grids(regrets: Regrets) -> list[Grid]:
    """The tables of an experiment on one search space."""
    at_marks = differences(regrets, regrets.marks)
    return [regret_grid(regrets), rank_grid(regrets), *([difference_grid(at_marks)] if at_marks else [])]


# ---------------------------------------------------------------------- figures


def figures(regrets: Regrets, name: str, bold: Sequence[str] = ()) -> dict[str, Any]:
    """Average ranks, mean regret and, at each mark from 5 on, critical differences; the keys become file names."""
    from pellucid_lab.tables.figures import rank_diagram

    shown = {"ranks": _rank_figure(regrets, name, bold), "regret": _regret_figure(regrets, name, bold)}
    later = [mark for mark in regrets.marks if mark >= min(5, regrets.steps)]
    for at_mark in differences(regrets, later):
        figure = rank_diagram(at_mark.ranks, at_mark.critical, f"{name}: {at_mark}")
        shown[f"differences-{at_mark.step}"] = figure
    return shown


def _rank_figure(regrets: Regrets, name: str, bold: Sequence[str]) -> Any:
    from pellucid_lab.tables.figures import curves

    ranks = average_ranks(regrets)
    best = min(ranks, key=lambda method: ranks[method][-1])
    ahead = int((ranks[best] <= np.min(list(ranks.values()), axis=0)).sum())
    return curves(
        {method: curve.tolist() for method, curve in ranks.items()},
        title=f"{name}: {best} ranks best at the end ({ranks[best][-1]:.2f} of {len(ranks)}), and at {ahead} of "
        f"{_steps(regrets.steps)}",
        x_title="steps",
        y_title=f"average rank over {len(regrets.tasks)} runs (lower is better)",
        bold=bold,
    )


def _regret_figure(regrets: Regrets, name: str, bold: Sequence[str]) -> Any:
    from pellucid_lab.tables.figures import curves

    means = mean_regret(regrets)
    best = min(means, key=lambda method: means[method][-1])
    positive = np.concatenate([curve[curve > 0.0] for curve in means.values()])
    ends = any((curve == 0.0).any() for curve in means.values())
    figure = curves(
        # A logarithmic axis cannot show 0, the regret after every run has found the best of its table.
        {method: np.where(curve > 0.0, curve, np.nan).tolist() for method, curve in means.items()},
        title=f"{name}: {best} has the lowest mean regret at the end ({means[best][-1]:.2g})",
        x_title="steps",
        y_title=f"mean regret over {len(regrets.tasks)} runs" + (" (a line ends where it is 0)" if ends else ""),
        bold=bold,
    )
    wide = positive.size > 0 and positive.max() > 500.0 * positive.min()
    figure.update_yaxes(type="log", exponentformat="power", dtick=1 if wide else "D2")
    return figure


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
