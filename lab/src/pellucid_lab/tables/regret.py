"""Regret, ranks, wins and times of runs, as frozen records.

The regret of a run after n evaluations is the distance from its best value so far to the best known value. If the
problem has no exact optimum, the best known value is the best of all runs in the file, so that regrets of different
files cannot be compared. For those problems the mean is also given against the best of all runs and of a long random
search, which may be out of reach for a run of this budget. Scales:

* ``log10``: log10 of the distance, cut at 1e-8 (the BBOB convention; two runs below it tie);
* ``normalised``: the distance divided by the distance from the best known value to the problem's anchor;
* ``difference``: the distance itself.

With noise, the value so far is the exact value of the trial that looks best: a lucky error is no progress.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from scipy.stats import rankdata

from pellucid_lab.base import Scale
from pellucid_lab.problems.suites import SUITES, regime
from pellucid_lab.runs.regret import RegretRun
from pellucid_lab.tables.found import FoundBranches, found_branches
from pellucid_lab.tables.grids import StampedRun

# The target precision of BBOB: smaller distances count as solved.
PRECISION = 1e-8

Cell = tuple[str, int]


@dataclass(frozen=True)
class MethodRow:
    """One method over its own runs. A cell is a problem and a seed; ``rank_all`` is None unless the method has a run in
    every cell."""

    method: str
    runs: int
    rank_all: float | None
    rank_common: float | None
    half_mean: float
    half_median: float
    full_mean: float
    full_median: float
    full_mean_with_search: float
    ask_ms: float
    sampler_s: float


@dataclass(frozen=True)
class Duel:
    """The reference method against one other, over the cells in which both have a run."""

    method: str
    wins: int
    ties: int
    losses: int

    @property
    def cells(self) -> int:
        return self.wins + self.ties + self.losses

    @property
    def win_rate(self) -> float:
        """Share of the cells won; a tie counts half."""
        return (self.wins + 0.5 * self.ties) / self.cells

    @property
    def wins_per_loss(self) -> float:
        return self.wins / self.losses if self.losses else math.inf


@dataclass(frozen=True)
class RegretTable:
    """Everything reported about one regime of a suite at one budget."""

    suite: str
    regime: str
    scale: Scale
    n_init: int
    n_steps: int
    reference: str
    cells: int
    common_cells: int
    rows: tuple[MethodRow, ...]
    duels: tuple[Duel, ...]
    by_problem: tuple[tuple[str, Mapping[str, float]], ...]
    found: FoundBranches | None
    versions: Mapping[str, str]
    commands: tuple[str, ...]
    dates: tuple[str, str]
    machines: tuple[str, ...]


def make_tables(runs: Sequence[RegretRun], reference: str = "pellucid") -> list[RegretTable]:
    """One table per suite, regime and budget, in the order of first appearance.

    ``reference`` is the method whose wins are counted; if it has no runs, it is the first method of the file.
    """
    best = best_values(runs)
    with_search = best_values(runs, with_search=True)
    groups: dict[tuple[str, str, int, int], list[RegretRun]] = {}
    for run in runs:
        place = run.suite, regime(run.suite, run.problem), run.n_init, run.n_steps
        groups.setdefault(place, []).append(run)
    return [_make_table(group, best, with_search, reference) for group in groups.values()]


def best_values(runs: Sequence[RegretRun], with_search: bool = False) -> dict[tuple[str, str], float]:
    """Best known value per problem: the exact optimum, or the best of all runs and, `with_search`, of the problem's
    random search."""
    best: dict[tuple[str, str], float] = {}
    for run in runs:
        better = min if run.direction == "minimize" else max
        exact = run.optimum_is_exact and run.optimum is not None
        known = [] if exact else list(run.values)
        if run.optimum is not None and (exact or with_search):
            known.append(run.optimum)
        place = (run.suite, run.problem)
        best[place] = better(*known, best.get(place, known[0]))
    return best


def regret_curve(run: RegretRun, best: float, scale: Scale) -> list[float]:
    """Regret after each evaluation, on the given scale."""
    # Rounding can make a value slightly better than a stored optimum.
    distances = [max(value - best if run.direction == "minimize" else best - value, 0.0) for value in _reached(run)]
    if scale == "log10":
        return [math.log10(max(distance, PRECISION)) for distance in distances]
    if scale == "difference":
        return distances
    spread = 0.0 if run.anchor is None else abs(best - run.anchor)
    return [distance / spread if spread else 0.0 for distance in distances]


def _reached(run: RegretRun) -> list[float]:
    """The exact value of the trial that looks best after each evaluation."""
    sign = 1.0 if run.direction == "minimize" else -1.0
    told = [sign * value for value in run.observed or run.values]
    reached, best = [], 0
    for i, value in enumerate(told):
        best = i if value < told[best] else best
        reached.append(run.values[best])
    return reached


def average_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1 for the smallest; equal values share the mean of their ranks."""
    return [float(rank) for rank in rankdata(values)]


def _make_table(
    runs: Sequence[RegretRun],
    best: Mapping[tuple[str, str], float],
    with_search: Mapping[tuple[str, str], float],
    reference: str,
) -> RegretTable:
    suite, n_init, n_steps = runs[0].suite, runs[0].n_init, runs[0].n_steps
    scale = SUITES[suite].scale if suite in SUITES else "difference"
    methods = list(dict.fromkeys(run.method for run in runs))
    if reference not in methods:
        reference = methods[0]
    curves: dict[str, dict[Cell, list[float]]] = {method: {} for method in methods}
    for run in runs:
        curves[run.method][run.problem, run.seed] = regret_curve(run, best[suite, run.problem], scale)
    final = {method: {cell: curve[-1] for cell, curve in cells.items()} for method, cells in curves.items()}
    cells = list(dict.fromkeys((run.problem, run.seed) for run in runs))
    common = [cell for cell in cells if all(cell in final[method] for method in methods)]
    complete = [method for method in methods if len(final[method]) == len(cells)]
    rank_all = mean_ranks(final, complete, cells)
    rank_common = mean_ranks(final, methods, common)
    rows = [
        _method_row(
            method,
            [run for run in runs if run.method == method],
            list(curves[method].values()),
            [regret_curve(run, with_search[suite, run.problem], scale)[-1] for run in runs if run.method == method],
            rank_all.get(method),
            rank_common.get(method),
        )
        for method in methods
    ]
    dates = sorted(run.date for run in runs)
    return RegretTable(
        suite=suite,
        regime=regime(suite, runs[0].problem),
        scale=scale,
        n_init=n_init,
        n_steps=n_steps,
        reference=reference,
        cells=len(cells),
        common_cells=len(common),
        rows=tuple(sorted(rows, key=_order)),
        duels=tuple(_duel(final[reference], other, final[other]) for other in methods if other != reference),
        by_problem=_by_problem(final, methods, cells),
        found=found_branches(runs),
        versions=merged_versions(runs),
        commands=tuple(dict.fromkeys(run.command for run in runs if run.command)),
        dates=(dates[0], dates[-1]),
        machines=tuple(dict.fromkeys(run.machine for run in runs if run.machine)),
    )


def _order(row: MethodRow) -> tuple[float, float]:
    ranks = [math.inf if rank is None else rank for rank in (row.rank_all, row.rank_common)]
    return ranks[0], ranks[1]


def mean_ranks(
    final: Mapping[str, Mapping[Cell, float]], methods: Sequence[str], cells: Sequence[Cell]
) -> dict[str, float]:
    """Mean rank of each method over cells in which all of them have a final regret."""
    if not methods or not cells:
        return {}
    ranks = [average_ranks([final[method][cell] for method in methods]) for cell in cells]
    return {method: fmean(column) for method, column in zip(methods, zip(*ranks, strict=True), strict=True)}


def _method_row(
    method: str,
    runs: Sequence[RegretRun],
    curves: Sequence[Sequence[float]],
    with_search: Sequence[float],
    rank_all: float | None,
    rank_common: float | None,
) -> MethodRow:
    half = [curve[(len(curve) + 1) // 2 - 1] for curve in curves]
    full = [curve[-1] for curve in curves]
    asks = [seconds for run in runs for seconds in run.ask_s[run.n_init :]]
    return MethodRow(
        method=method,
        runs=len(runs),
        rank_all=rank_all,
        rank_common=rank_common,
        half_mean=fmean(half),
        half_median=median(half),
        full_mean=fmean(full),
        full_median=median(full),
        full_mean_with_search=fmean(with_search),
        ask_ms=1e3 * median(asks) if asks else 0.0,
        sampler_s=fmean(run.sampler_s for run in runs),
    )


def _duel(ours: Mapping[Cell, float], other: str, theirs: Mapping[Cell, float]) -> Duel:
    pairs = [(ours[cell], theirs[cell]) for cell in ours if cell in theirs]
    wins = sum(our_regret < their_regret for our_regret, their_regret in pairs)
    losses = sum(our_regret > their_regret for our_regret, their_regret in pairs)
    return Duel(other, wins, len(pairs) - wins - losses, losses)


def _by_problem(
    final: Mapping[str, Mapping[Cell, float]], methods: Sequence[str], cells: Sequence[Cell]
) -> tuple[tuple[str, Mapping[str, float]], ...]:
    """Mean final regret per problem over the seeds each method has."""
    rows = []
    for problem in dict.fromkeys(problem for problem, _ in cells):
        here = [cell for cell in cells if cell[0] == problem]
        means = {}
        for method in methods:
            regrets = [final[method][cell] for cell in here if cell in final[method]]
            if regrets:
                means[method] = fmean(regrets)
        rows.append((problem, means))
    return tuple(rows)


def merged_versions(runs: Sequence[StampedRun]) -> dict[str, str]:
    """The versions of all runs; if there are several of one package, all are named."""
    by_package: dict[str, dict[str, None]] = {}
    for run in runs:
        for package, version in run.versions.items():
            by_package.setdefault(package, {})[version] = None
    return {package: " and ".join(versions) for package, versions in by_package.items()}
