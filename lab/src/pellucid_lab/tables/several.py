"""How much volume runs with several objectives dominate after some of their trials, and what their asks cost.

Volume is that of the exact outcomes of feasible trials, on the scale of the objectives, up to the problem's reference
point, as a share of the volume of the known front. Two runs tie if these shares differ by at most `PRECISION`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from pellucid.pareto import volume
from pellucid_lab.runs.front_verdicts import stops
from pellucid_lab.runs.several import SeveralRun
from pellucid_lab.tables.grids import Grid, page, provenance
from pellucid_lab.tables.regret import Duel, merged_versions
from pellucid_lab.tables.regret_grids import per_loss

# Trials after which volumes are compared, as far as runs have them.
BUDGETS = (60, 100)
# Shares of the front's volume that are this close are the same to a user.
PRECISION = 1e-4
# Asks at the end of a run whose median is the time of an ask at that number of trials.
LAST = 10
REFERENCE = "pellucid"
_NOTHING = "–"


# ------------------------------------------------------------------------------------------ one run


def dominated(run: SeveralRun, n: int) -> float:
    """Share of the front's volume that the first n trials dominate; a little above 1 is possible where the front is
    only the best known."""
    signs = np.array([1.0 if direction == "minimize" else -1.0 for direction in run.directions.values()])
    outcomes = np.array([run.values[name][:n] for name in run.directions], dtype=float).T
    feasible = np.array(run.feasible[:n], dtype=bool)
    return volume(signs * outcomes[feasible], signs * np.array(run.reference)) / run.volume


def late_ask(run: SeveralRun) -> float:
    """Median CPU seconds of the last proposals."""
    return median(run.ask_s[max(run.n_init, run.n_trials - LAST) :])


def largest_ask(run: SeveralRun) -> float:
    return max(run.ask_s[run.n_init :])


# ------------------------------------------------------------------------------------------ many runs


@dataclass(frozen=True)
class Volumes:
    """Runs with their shares after each budget, so that each is computed once."""

    runs: tuple[SeveralRun, ...]
    budgets: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(runs: Sequence[SeveralRun]) -> Volumes:
        """Of runs with the same numbers of trials."""
        last = runs[0].n_trials
        budgets = (*(budget for budget in BUDGETS if budget < last), last)
        return Volumes(tuple(runs), budgets, tuple(tuple(dominated(run, n) for n in budgets) for run in runs))

    def where(self, kept: Sequence[bool]) -> Volumes:
        chosen = [(run, row) for run, row, keep in zip(self.runs, self.shares, kept, strict=True) if keep]
        return Volumes(tuple(run for run, _ in chosen), self.budgets, tuple(row for _, row in chosen))

    def at(self, budget: int) -> dict[tuple[str, str, int], float]:
        """Shares by problem, method and seed."""
        column = self.budgets.index(budget)
        return {run.key[:3]: row[column] for run, row in zip(self.runs, self.shares, strict=True)}


def duel(volumes: Volumes, other: str, budget: int) -> Duel:
    """The reference against another method, over the problems and seeds that both have."""
    shares = volumes.at(budget)
    results = [
        _better(share, shares[problem, other, seed])
        for (problem, method, seed), share in shares.items()
        if method == REFERENCE and (problem, other, seed) in shares
    ]
    return Duel(other, results.count(1), results.count(0), results.count(-1))


def _better(ours: float, theirs: float) -> int:
    return 0 if math.isclose(ours, theirs, rel_tol=0.0, abs_tol=PRECISION) else 1 if ours > theirs else -1


# ------------------------------------------------------------------------------------------ grids


def several_grids(runs: Sequence[SeveralRun]) -> list[Grid]:
    """Of runs with the same numbers of trials."""
    volumes = Volumes.of(runs)
    methods = list(dict.fromkeys(run.method for run in runs))
    others = [method for method in methods if method != REFERENCE] if REFERENCE in methods else []
    grids = [_method_grid(methods, volumes)]
    if others:
        grids.append(_duel_grid(others, volumes))
        grids += [_problem_duel_grid(others, volumes, budget) for budget in volumes.budgets]
    grids += [_volume_grid(methods, volumes, budget) for budget in volumes.budgets]
    grids += [_verdict_grid(runs)] if any(run.verdicts for run in runs) else []
    return [*grids, _time_grid(methods, volumes)]


def _method_grid(methods: Sequence[str], volumes: Volumes) -> Grid:
    """Means are over the cells (problem, seed) that all methods have which ran on every problem, so that they compare;
    a method with a part of the problems has none."""
    cells = {method: {(run.problem, run.seed) for run in volumes.runs if run.method == method} for method in methods}
    problems = {run.problem for run in volumes.runs}
    everywhere = [method for method in methods if {problem for problem, _ in cells[method]} == problems]
    common = set.intersection(*(cells[method] for method in everywhere)) if everywhere else set()
    rows = []
    for method in methods:
        own = volumes.where([run.method == method for run in volumes.runs])
        shared = own.where([(run.problem, run.seed) in common for run in own.runs])
        compares = bool(common) and method in everywhere
        means = [_share(fmean(shared.at(budget).values())) if compares else _NOTHING for budget in volumes.budgets]
        late = 1e3 * median(map(late_ask, own.runs))
        largest = 1e3 * max(map(largest_ask, own.runs))
        rows.append((method, str(len(own.runs)), *means, f"{late:.1f}", f"{largest:.0f}"))
    columns = (*(f"volume@{budget}" for budget in volumes.budgets), "ms/ask at the end", "largest ms")
    title = f"Methods, and their mean volume over {len(common)} common runs"
    return Grid(title, ("method", "runs", *columns), tuple(rows))


def _duel_grid(others: Sequence[str], volumes: Volumes) -> Grid:
    rows = []
    for other in others:
        cells = []
        for budget in volumes.budgets:
            row = duel(volumes, other, budget)
            cells += [f"{row.wins}/{row.ties}/{row.losses}", per_loss(row)]
        rows.append((other, *cells))
    columns = [column for budget in volumes.budgets for column in (f"@{budget}", f"wins per loss@{budget}")]
    return Grid(f"{REFERENCE} against each: wins/ties/losses", ("against", *columns), tuple(rows))


def _problem_duel_grid(others: Sequence[str], volumes: Volumes, budget: int) -> Grid:
    rows = []
    for problem in dict.fromkeys(run.problem for run in volumes.runs):
        here = volumes.where([run.problem == problem for run in volumes.runs])
        duels = [duel(here, other, budget) for other in others]
        rows.append((problem, *(f"{row.wins}/{row.ties}/{row.losses}" if row.cells else _NOTHING for row in duels)))
    title = f"{REFERENCE} against each by problem after {budget} trials: wins/ties/losses"
    return Grid(title, ("problem", *others), tuple(rows))


def _volume_grid(methods: Sequence[str], volumes: Volumes, budget: int) -> Grid:
    shares = volumes.at(budget)

    def cell(problem: str, method: str) -> str:
        own = [share for key, share in shares.items() if key[:2] == (problem, method)]
        return _share(fmean(own)) if own else _NOTHING

    problems = dict.fromkeys(run.problem for run in volumes.runs)
    rows = tuple((problem, *(cell(problem, method) for method in methods)) for problem in problems)
    return Grid(f"Mean volume after {budget} trials", ("problem", *methods), rows)


def _verdict_grid(runs: Sequence[SeveralRun]) -> Grid:
    rows = []
    for n in dict.fromkeys(n for run in runs for n, *_ in run.verdicts):
        judged = [(verdict, dominated(run, n)) for run in runs for verdict in run.verdicts if verdict[0] == n]
        count = stops(judged)
        rows.append((str(n), *map(str, (count.verdicts, count.within, count.stops, count.wrong, count.covered))))
    columns = ("no more left than tolerated", "stops", "of these, more left", "no more left than the bound")
    return Grid("Our verdicts: can the study stop?", ("trials", "verdicts", *columns), tuple(rows))


def _time_grid(methods: Sequence[str], volumes: Volumes) -> Grid:
    def cell(problem: str, method: str) -> str:
        own = [late_ask(run) for run in volumes.runs if (run.problem, run.method) == (problem, method)]
        return f"{1e3 * median(own):.1f}" if own else _NOTHING

    problems = dict.fromkeys(run.problem for run in volumes.runs)
    rows = tuple((problem, *(cell(problem, method) for method in methods)) for problem in problems)
    return Grid(f"Milliseconds per ask, the last {LAST} asks", ("problem", *methods), rows)


def _share(share: float) -> str:
    return f"{share:.4f}"


def several_page(runs: Sequence[SeveralRun]) -> str:
    """Of runs with the same numbers of trials."""
    n_init, n_trials = runs[0].n_init, runs[0].n_trials
    problems = {run.problem for run in runs}
    seeds = {run.seed for run in runs}
    notes = [
        f"{len(runs)} runs of {n_init} + {n_trials - n_init} trials (problems: {len(problems)}, seeds: {len(seeds)}). "
        "All methods continue the same random trials and read the constraints of all trials.",
        "Volume is what the exact outcomes of feasible trials dominate, up to the problem's reference point, as a "
        f"share of the volume of the known front; runs whose shares differ by at most {PRECISION:g} tie. Times are CPU "
        f"milliseconds with one thread: the median of the last {LAST} asks of each run, and the largest ask after the "
        "start.",
    ]
    dates = sorted(run.date for run in runs)
    commands = tuple(dict.fromkeys(run.command for run in runs if run.command))
    machines = tuple(dict.fromkeys(run.machine for run in runs if run.machine))
    origin = provenance(commands, " to ".join(dict.fromkeys((dates[0], dates[-1]))), merged_versions(runs), machines)
    return page("Problems with several objectives", notes, several_grids(runs), origin)
