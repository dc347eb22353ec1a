"""Schedules compared as in SAWEI's paper: ranks per problem of the regret averaged over seeds, during and after a run.

Regret is log10 of the distance to the optimum (cut at 1e-8) on BBOB and the distance itself elsewhere. For each problem
(on BBOB: each function) the interquartile mean over seeds and instances is ranked among the methods (equal values share
a rank), and ranks are averaged over problems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.problems.functions import BBOB_NAME
from pellucid_lab.problems.suites import SUITES
from pellucid_lab.runs.regret import RegretRun
from pellucid_lab.tables.regret import PRECISION

Array = NDArray[np.float64]
# Shares of the proposals after which alpha and regret are reported.
QUARTERS = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class ScheduleRow:
    """One method. ``alpha``: its mean after a quarter, half and all of the proposals; empty if the method has none.

    ``minus_ei``: mean over the problems of its final regret minus that of EI, and the standard error of that mean.
    """

    method: str
    iqm_rank: float
    mean_rank: float
    final: float
    seconds: float
    alpha: tuple[float, ...]
    minus_ei: tuple[float, float] | None


@dataclass(frozen=True)
class ScheduleComparison:
    """Everything about one suite at one budget; arrays by method are in the order of ``rows`` (best first)."""

    suite: str
    n_init: int
    n_steps: int
    problems: int
    runs: int
    rows: tuple[ScheduleRow, ...]
    rank_over_time: dict[str, Array]
    rank_half_width: dict[str, Array]
    finals: dict[str, Array]
    alphas: dict[str, tuple[Array, Array, Array]]
    log_scale: bool

    def row(self, method: str) -> ScheduleRow:
        return next(row for row in self.rows if row.method == method)


def interquartile_mean(values: Array, axis: int = 0) -> Array:
    """Mean without a quarter of the values (rounded down) at each end."""
    ordered = np.sort(values, axis=axis)
    cut = ordered.shape[axis] // 4
    return np.asarray(np.take(ordered, range(cut, ordered.shape[axis] - cut), axis=axis).mean(axis=axis))


def compare(runs: Sequence[RegretRun]) -> ScheduleComparison:
    """Compares runs of one suite and one budget, on the problems and seeds that every method has."""
    kinds = {(run.suite, run.n_init, run.n_steps) for run in runs}
    if len(kinds) != 1:
        raise Mistake(f"A comparison needs runs of one suite and one budget; got {sorted(kinds) or 'none'}.")
    ((suite, n_init, n_steps),) = kinds
    log_scale = SUITES[suite].scale == "log10"
    methods = list(dict.fromkeys(run.method for run in runs))
    by_cell = {(run.method, run.problem, run.seed): run for run in runs}
    cells = sorted({(run.problem, run.seed) for run in runs})
    common = [cell for cell in cells if all((method, cell[0], cell[1]) in by_cell for method in methods)]
    if not common:
        raise Mistake("A comparison needs at least one problem and seed that every method has run.")
    problems = sorted({_family(problem) for problem, _ in common})
    curves = np.array(
        [
            [
                interquartile_mean(
                    np.array(
                        [
                            _regret(by_cell[method, name, seed], log_scale)
                            for name, seed in common
                            if _family(name) == problem
                        ]
                    )
                )
                for problem in problems
            ]
            for method in methods
        ]
    )
    ranks = rankdata(curves[:, :, n_init:], axis=0)
    final = ranks[:, :, -1]
    width = 1.96 * ranks.std(axis=1, ddof=1) / math.sqrt(len(problems)) if len(problems) > 1 else 0.0 * ranks[:, 0]
    runs_of = {method: [by_cell[method, cell[0], cell[1]] for cell in common] for method in methods}
    rows = [
        ScheduleRow(
            method,
            float(interquartile_mean(final[i])),
            float(final[i].mean()),
            float(curves[i, :, -1].mean()),
            float(np.mean([run.sampler_s for run in runs_of[method]])),
            tuple(float(np.mean([alpha_at(run.trace["alpha"], q) for run in runs_of[method]])) for q in QUARTERS)
            if all("alpha" in run.trace for run in runs_of[method])
            else (),
            _difference(curves[i, :, -1], curves[methods.index("ei"), :, -1]) if "ei" in methods else None,
        )
        for i, method in enumerate(methods)
    ]
    rows.sort(key=lambda row: (row.iqm_rank, row.mean_rank))
    index = {method: i for i, method in enumerate(methods)}
    order = [row.method for row in rows]
    return ScheduleComparison(
        suite, n_init, n_steps, len(problems), len(common), tuple(rows),
        {method: ranks[index[method]].mean(axis=0) for method in order},
        {method: width[index[method]] for method in order},
        {method: curves[index[method], :, -1] for method in order},
        {method: _band(runs_of[method]) for method in order if "alpha" in runs_of[method][0].trace},
        log_scale,
    )  # fmt: skip


def _difference(ours: Array, theirs: Array) -> tuple[float, float]:
    """Mean and standard error over the problems."""
    error = float((ours - theirs).std(ddof=1)) / math.sqrt(len(ours)) if len(ours) > 1 else math.nan
    return float((ours - theirs).mean()), error


def _family(problem: str) -> str:
    """The function of a BBOB problem, whose instances are the same function shifted and rotated; the name of any
    other problem."""
    match = BBOB_NAME.fullmatch(problem)
    return problem if match is None else f"f{match.group(1)}"


def regret_of(run: RegretRun) -> Array:
    """Distance from the best value so far to the optimum, after every evaluation."""
    values = np.array(run.values) * (1.0 if run.direction == "minimize" else -1.0)
    optimum = run.optimum if run.direction == "minimize" or run.optimum is None else -run.optimum
    if optimum is None:
        raise Mistake(f"A comparison needs problems with a known optimum; {run.problem} has none.")
    return np.asarray(np.maximum(np.minimum.accumulate(values) - optimum, 0.0))


def _regret(run: RegretRun, log_scale: bool) -> Array:
    distance = regret_of(run)
    return np.asarray(np.log10(np.maximum(distance, PRECISION)) if log_scale else distance)


def alpha_at(series: Sequence[float], share: float) -> float:
    """The weight after that share of the proposals."""
    return series[max(0, math.ceil(share * len(series)) - 1)]


def _band(runs: Sequence[RegretRun]) -> tuple[Array, Array, Array]:
    """First quartile, mean and third quartile of alpha at every proposal."""
    length = min(len(run.trace["alpha"]) for run in runs)
    table = np.array([run.trace["alpha"][:length] for run in runs])
    low, high = np.quantile(table, [0.25, 0.75], axis=0)
    return low, table.mean(axis=0), high
