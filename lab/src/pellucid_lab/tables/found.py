"""How often the best branch of a choice was found: a run has found it once a value is better than its target, which no
other branch can reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pellucid_lab.runs.regret import RegretRun
from pellucid_lab.tables.grids import Grid

# Numbers of evaluations that are looked at; the whole budget is looked at, too.
MOMENTS = (30, 40, 60, 80, 100)
ALL_FAMILIES = "all"


@dataclass(frozen=True)
class FoundShares:
    """The runs of one method on one family of problems; one share per moment."""

    family: str
    method: str
    runs: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class FoundBranches:
    """All families together, then each."""

    moments: tuple[int, ...]
    rows: tuple[FoundShares, ...]


def found_branches(runs: Sequence[RegretRun]) -> FoundBranches | None:
    """Of runs with the same budget; None if no problem has a target."""
    with_target = [run for run in runs if run.target is not None]
    if not with_target:
        return None
    budget = with_target[0].n_init + with_target[0].n_steps
    moments = (*(moment for moment in MOMENTS if moment < budget), budget)
    methods = dict.fromkeys(run.method for run in with_target)
    families = dict.fromkeys(family_of(run.problem) for run in with_target)
    rows = []
    for family in (ALL_FAMILIES, *families):
        for method in methods:
            own = [
                evaluations_to_target(run)
                for run in with_target
                if run.method == method and family in (ALL_FAMILIES, family_of(run.problem))
            ]
            if own:
                shares = tuple(fmean(needed is not None and needed <= moment for needed in own) for moment in moments)
                rows.append(FoundShares(family, method, len(own), shares))
    return FoundBranches(moments, tuple(rows))


def family_of(problem: str) -> str:
    """`kernels-2` and `kernels-2*1000` belong to `kernels`."""
    return problem.partition("*")[0].rpartition("-")[0] or problem


def evaluations_to_target(run: RegretRun) -> int | None:
    """How many evaluations a run needed to beat its target; None if it did not or has none."""
    target = run.target
    if target is None:
        return None
    better = (value < target if run.direction == "minimize" else value > target for value in run.values)
    return next((number for number, is_better in enumerate(better, start=1) if is_better), None)


def found_grid(found: FoundBranches) -> Grid:
    columns = ("family", "method", "runs", *(f"@{moment}" for moment in found.moments))
    rows = tuple(
        (row.family, row.method, str(row.runs), *(f"{100 * share:.0f}%" for share in row.shares)) for row in found.rows
    )
    return Grid("Share of runs that found the best branch after N evaluations", columns, rows)
