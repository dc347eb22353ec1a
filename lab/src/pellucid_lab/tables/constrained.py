"""What runs on constrained problems reached, how soon, and how many of their proposals were feasible.

Feasible means that every exact constraint is kept, also where the study was told noisy ones. A run without a feasible
trial is worse than any with one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from pellucid_lab.runs.constrained import ConstrainedRun
from pellucid_lab.tables.grids import Grid, page, provenance
from pellucid_lab.tables.regret import Duel, merged_versions
from pellucid_lab.tables.regret_grids import per_loss

# Proposals at the end of a run, which show where the search has settled.
LAST = 20
# Best values that agree to this share of their size tie: closer ones are the same to a user.
PRECISION = 1e-6
REFERENCE = "pellucid"
# Ends of the intervals in which stated chances are compared with what happened.
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0 + 1e-9)
_NOTHING = "–"


# ------------------------------------------------------------------------------------------ one run


def best_feasible(run: ConstrainedRun, n: int) -> float | None:
    """Best value among the feasible ones of the first n trials."""
    values = [value for value, feasible in zip(run.values[:n], run.feasible[:n], strict=True) if feasible]
    better = min if run.direction == "minimize" else max
    return better(values) if values else None


def first_feasible(run: ConstrainedRun) -> float:
    """Trials until the first feasible one, which counts; infinite if there is none."""
    return next((number for number, feasible in enumerate(run.feasible, start=1) if feasible), math.inf)


def late_share(run: ConstrainedRun) -> float:
    """Share of feasible ones among the last proposals."""
    return fmean(run.feasible[max(run.n_init, run.n_trials - LAST) :])


def _cost(run: ConstrainedRun, n: int) -> float:
    """The best feasible value as something to minimise; infinite if there is none."""
    best = best_feasible(run, n)
    if best is None:
        return math.inf
    return best if run.direction == "minimize" else -best


# ------------------------------------------------------------------------------------------ duels

Better = Callable[[ConstrainedRun, ConstrainedRun], int]


def better_value(ours: ConstrainedRun, theirs: ConstrainedRun) -> int:
    """1 if our best feasible value at the end is better, -1 if theirs is, 0 if they tie."""
    ours_cost, theirs_cost = _cost(ours, ours.n_trials), _cost(theirs, theirs.n_trials)
    if ours_cost == theirs_cost or math.isclose(ours_cost, theirs_cost, rel_tol=PRECISION, abs_tol=1e-9):
        return 0
    return 1 if ours_cost < theirs_cost else -1


def earlier_feasible(ours: ConstrainedRun, theirs: ConstrainedRun) -> int:
    """1 if our first feasible trial is earlier, -1 if theirs is, 0 if both have the same number."""
    first, other = first_feasible(ours), first_feasible(theirs)
    return (first < other) - (first > other)


def duel(runs: Sequence[ConstrainedRun], other: str, better: Better) -> Duel:
    """The reference against another method, over the problems and seeds that both have."""
    theirs = {(run.problem, run.seed): run for run in runs if run.method == other}
    ours = [run for run in runs if run.method == REFERENCE and (run.problem, run.seed) in theirs]
    results = [better(run, theirs[run.problem, run.seed]) for run in ours]
    return Duel(other, results.count(1), results.count(0), results.count(-1))


# ------------------------------------------------------------------------------------------ methods


@dataclass(frozen=True)
class MethodSummary:
    """One method over its runs. Shares are of the last proposals, on problems whose optimum is on the boundary of the
    feasible set and on those where it is inside; None if there are no such runs. ``first`` is the median over the runs
    that start without a feasible trial."""

    method: str
    runs: int
    never_feasible: int
    without_start: int
    first: float | None
    boundary_share: float | None
    inside_share: float | None
    ask_ms: float


def method_summary(method: str, runs: Sequence[ConstrainedRun]) -> MethodSummary:
    own = [run for run in runs if run.method == method]
    without = [run for run in own if not any(run.feasible[: run.n_init])]
    return MethodSummary(
        method=method,
        runs=len(own),
        never_feasible=sum(not any(run.feasible) for run in own),
        without_start=len(without),
        first=median(map(first_feasible, without)) if without else None,
        boundary_share=_mean(late_share(run) for run in own if run.active),
        inside_share=_mean(late_share(run) for run in own if not run.active),
        ask_ms=1e3 * median(seconds for run in own for seconds in run.ask_s[run.n_init :]),
    )


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return fmean(listed) if listed else None


# ------------------------------------------------------------------------------------------ grids


def constrained_grids(runs: Sequence[ConstrainedRun]) -> list[Grid]:
    """Of runs with the same numbers of trials."""
    methods = list(dict.fromkeys(run.method for run in runs))
    others = [method for method in methods if method != REFERENCE] if REFERENCE in methods else []
    grids = [_method_grid(methods, runs)]
    if others:
        grids += [_duel_grid(others, runs), _problem_duel_grid(others, runs)]
    return [*grids, *_chance_grids(runs), *_stop_grids(runs), *_problem_grids(methods, runs)]


def left(run: ConstrainedRun) -> float:
    """How much better the optimum is than the best feasible value; never negative, because some optima are only the
    best known."""
    best = best_feasible(run, run.n_trials)
    if best is None:
        return math.inf
    return max(best - run.optimum if run.direction == "minimize" else run.optimum - best, 0.0)


def _stop_grids(runs: Sequence[ConstrainedRun]) -> list[Grid]:
    """Our verdicts at the end of the runs, beside what was truly left to find."""
    judged = [(*run.verdict, left(run), run) for run in runs if run.verdict]
    rows = []
    for kind, active in (("boundary", True), ("inside", False)):
        here = [row for row in judged if bool(row[4].active) == active]
        stops = [row for row in here if row[0]]
        wrong = sum(truth > tolerance for _, _, tolerance, truth, _ in stops)
        covered = sum(bound >= truth for _, bound, _, truth, _ in here)
        if here:
            rows.append((kind, str(len(here)), str(len(stops)), str(wrong), f"{covered} of {len(here)}"))
    columns = ("optimum", "verdicts", "stops", "more left than tolerated", "no more left than the bound")
    return [Grid("Can you stop after the last trial?", columns, tuple(rows))] if rows else []


def _chance_grids(runs: Sequence[ConstrainedRun]) -> list[Grid]:
    """What was said of the chance of being feasible, beside what happened."""
    proposals = [(chance, run.feasible[trial]) for run in runs for trial, chance in run.chances]
    recommended = [(run.recommended[1], run.feasible[run.recommended[0]]) for run in runs if run.recommended]
    if not proposals:
        return []
    rows = []
    for low, high in pairwise(BINS):
        inside = [(chance, fine) for chance, fine in proposals if low <= chance < high]
        if inside:
            said, found = fmean(chance for chance, _ in inside), fmean(fine for _, fine in inside)
            rows.append((f"{low:.0%} to {min(high, 1.0):.0%}", str(len(inside)), f"{said:.1%}", f"{found:.1%}"))
    everything = [("all proposals", proposals), ("recommendations", recommended)]
    for name, pairs in everything:
        if pairs:
            said, found = fmean(chance for chance, _ in pairs), fmean(fine for _, fine in pairs)
            rows.append((name, str(len(pairs)), f"{said:.1%}", f"{found:.1%}"))
    return [Grid("Feasible with the chance that was said", ("said", "n", "mean of it", "truly feasible"), tuple(rows))]


def _method_grid(methods: Sequence[str], runs: Sequence[ConstrainedRun]) -> Grid:
    rows = []
    for row in (method_summary(method, runs) for method in methods):
        first = f"{_count(row.first)} ({row.without_start})"
        shares = _percent(row.boundary_share), _percent(row.inside_share)
        rows.append((row.method, str(row.runs), str(row.never_feasible), first, *shares, f"{row.ask_ms:.1f}"))
    columns = ("method", "runs", "never feasible", "first feasible", "boundary", "inside", "ms/ask")
    return Grid(f"Methods, and feasible shares of their last {LAST} proposals", columns, tuple(rows))


def _duel_grid(others: Sequence[str], runs: Sequence[ConstrainedRun]) -> Grid:
    columns = ("against", "wins", "ties", "losses", "wins per loss", "feasible earlier", "same", "later")
    rows = []
    for other in others:
        value, first = duel(runs, other, better_value), duel(runs, other, earlier_feasible)
        counts = map(str, (value.wins, value.ties, value.losses))
        firsts = map(str, (first.wins, first.ties, first.losses))
        rows.append((other, *counts, per_loss(value), *firsts))
    return Grid(f"{REFERENCE} against each, best feasible value at the end", columns, tuple(rows))


def _problem_duel_grid(others: Sequence[str], runs: Sequence[ConstrainedRun]) -> Grid:
    rows = []
    for problem in dict.fromkeys(run.problem for run in runs):
        here = [run for run in runs if run.problem == problem]
        duels = [duel(here, other, better_value) for other in others]
        rows.append((problem, *(f"{row.wins}/{row.ties}/{row.losses}" if row.cells else _NOTHING for row in duels)))
    return Grid(f"{REFERENCE} against each by problem: wins/ties/losses", ("problem", *others), tuple(rows))


def _problem_grids(methods: Sequence[str], runs: Sequence[ConstrainedRun]) -> list[Grid]:
    n_trials = runs[0].n_trials
    half = (n_trials + 1) // 2
    measures: dict[str, Callable[[Sequence[ConstrainedRun]], str]] = {
        f"Median best feasible value after {half} trials": lambda own: _median_best(own, half),
        f"Median best feasible value after {n_trials} trials": lambda own: _median_best(own, n_trials),
        "Median trials until the first feasible one": lambda own: _count(median(map(first_feasible, own))),
        f"Feasible share of the last {LAST} proposals": lambda own: _percent(fmean(map(late_share, own))),
    }
    return [_problem_grid(title, measure, methods, runs) for title, measure in measures.items()]


def _problem_grid(
    title: str,
    measure: Callable[[Sequence[ConstrainedRun]], str],
    methods: Sequence[str],
    runs: Sequence[ConstrainedRun],
) -> Grid:
    """``measure`` of the runs of each method on each problem."""
    groups: dict[str, dict[str, list[ConstrainedRun]]] = {}
    for run in runs:
        groups.setdefault(run.problem, {}).setdefault(run.method, []).append(run)
    rows = []
    for problem, by_method in groups.items():
        any_run = next(iter(by_method.values()))[0]
        label = f"{problem} ({'boundary' if any_run.active else 'inside'})"
        cells = [measure(by_method[method]) if method in by_method else _NOTHING for method in methods]
        rows.append((label, f"{any_run.optimum:.5g}", *cells))
    return Grid(title, ("problem", "optimum", *methods), tuple(rows))


def _median_best(runs: Sequence[ConstrainedRun], n: int) -> str:
    middle = median(_cost(run, n) for run in runs)
    if math.isinf(middle):
        return _NOTHING
    return f"{middle if runs[0].direction == 'minimize' else -middle:.5g}"


def _count(value: float | None) -> str:
    return _NOTHING if value is None or math.isinf(value) else f"{value:g}"


def _percent(share: float | None) -> str:
    return _NOTHING if share is None else f"{100 * share:.0f}%"


def constrained_page(runs: Sequence[ConstrainedRun]) -> str:
    """Of runs with the same numbers of trials."""
    n_init, n_trials = runs[0].n_init, runs[0].n_trials
    problems = {run.problem for run in runs}
    seeds = {run.seed for run in runs}
    notes = [
        f"{len(runs)} runs of {n_init} + {n_trials - n_init} trials (problems: {len(problems)}, seeds: {len(seeds)}). "
        "All methods continue the same random trials and read the constraints of all trials. Feasible means that the "
        "exact constraints are kept, also where the study was told noisy ones.",
        "`boundary` and `inside` say where the optimum lies in the feasible set. Among the methods, `first feasible` "
        "is the median number of the first feasible trial over the runs that start without one, whose number is in "
        f"brackets; {_NOTHING} stands for never. A run without a feasible trial loses against one with; best values "
        f"within {PRECISION:g} of their size tie. Times are CPU milliseconds of the asks after the start, the median, "
        "with one thread.",
    ]
    dates = sorted(run.date for run in runs)
    commands = tuple(dict.fromkeys(run.command for run in runs if run.command))
    machines = tuple(dict.fromkeys(run.machine for run in runs if run.machine))
    origin = provenance(commands, " to ".join(dict.fromkeys((dates[0], dates[-1]))), merged_versions(runs), machines)
    return page("Problems with constraints", notes, constrained_grids(runs), origin)
