"""What runs with pruners reached by epochs spent, what pruning saved, and the winners that it lost.

Notation: a run with trials i = 1..n that took e_i epochs each has spent E_i = e_1 + ... + e_i when trial i ends. Its
regret after E epochs is the distance from the best known value to the best last value of the complete trials with
E_i <= E: infinite if there is none. A trial that ends after the budget does not count. The best known value is the best
of a search and of all trials here, as in `tables.regret`: regrets of different files differ by a constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from pellucid_lab.problems.curves import SURROGATE, family
from pellucid_lab.runs.curves import CurveRun, method_name, parts_of_method
from pellucid_lab.tables.grids import Grid, page, provenance
from pellucid_lab.tables.regret import merged_versions

# Shares of the budget after which regret is compared: 520, 1,040 and 2,080 epochs of lcbench with a budget of 40.
MARKS = (0.25, 0.5, 1.0)
_NO_PRUNER = "none"
_NOTHING = "–"


# ------------------------------------------------------------------------------------------ what is compared


def against_best(runs: Sequence[CurveRun]) -> list[CurveRun]:
    """The runs with the best known value of their problem as the optimum: that of a search or of any trial here, also
    of a pruned one."""
    best: dict[str, float] = {}
    for run in runs:
        better = min if run.direction == "minimize" else max
        best[run.problem] = better(best.get(run.problem, run.optimum), run.optimum, *run.finals)
    return [replace(run, optimum=best[run.problem]) for run in runs]


def beyond_search(runs: Sequence[CurveRun]) -> float:
    """How much better the best known values are than those of the searches, on average over the common cells."""
    best = {run.problem: run.optimum for run in against_best(runs)}
    cells = {(run.problem, run.seed): abs(best[run.problem] - run.optimum) for run in common(runs)}
    return fmean(cells.values()) if cells else 0.0


def common(runs: Sequence[CurveRun]) -> list[CurveRun]:
    """The runs of the problems and seeds that every method has."""
    methods = {run.method for run in runs}
    having: dict[tuple[str, int], set[str]] = {}
    for run in runs:
        having.setdefault((run.problem, run.seed), set()).add(run.method)
    return [run for run in runs if having[run.problem, run.seed] == methods]


# ------------------------------------------------------------------------------------------ one run


def n_epochs(run: CurveRun) -> int:
    """Epochs of the whole budget."""
    return run.budget * run.steps


def counted(run: CurveRun) -> int:
    """Trials that end within the budget."""
    return sum(spent <= n_epochs(run) for spent in accumulate(run.epochs))


def regrets(run: CurveRun) -> NDArray[np.float64]:
    """(budget * steps,) regret after 1, 2, ... epochs."""
    after = np.full(n_epochs(run), np.inf)
    for spent, final, pruned in zip(accumulate(run.epochs), run.finals, run.pruned, strict=True):
        if not pruned:
            after[spent - 1 :] = np.minimum(after[spent - 1 :], _distance(run, final))
    return after


def _distance(run: CurveRun, value: float) -> float:
    return value - run.optimum if run.direction == "minimize" else run.optimum - value


def lost(run: CurveRun) -> float:
    """How much better the best pruned trial would have ended than the best complete one; 0 if it would not."""
    n = counted(run)
    pairs = list(zip((_distance(run, final) for final in run.finals[:n]), run.pruned[:n], strict=True))
    complete = min((distance for distance, pruned in pairs if not pruned), default=math.inf)
    stopped = min((distance for distance, pruned in pairs if pruned), default=math.inf)
    return max(complete - stopped, 0.0) if stopped < math.inf else 0.0


def questions(run: CurveRun) -> int:
    """Calls of `should_prune`: after every epoch but the last of a complete trial."""
    return sum(run.epochs) - run.pruned.count(False)


def seconds(run: CurveRun) -> NDArray[np.float64]:
    """(budget * steps,) CPU seconds of training, asking and pruning after 1, 2, ... epochs; those of a trial count from
    its first epoch, in equal parts."""
    parts = zip(run.ask_s, run.prune_s, run.train_s, run.epochs, strict=True)
    rates = [np.full(epochs, (ask + prune + train) / epochs) for ask, prune, train, epochs in parts]
    return np.cumsum(np.concatenate(rates))[: n_epochs(run)]


# ------------------------------------------------------------------------------------------ methods


@dataclass(frozen=True)
class MethodSummary:
    """One method over its runs: ``regrets`` are means after the `MARKS`; ``winners`` is the share of the runs in which
    a pruned trial would have ended as the best, and ``lost`` the mean over all runs of how much better."""

    method: str
    runs: int
    regrets: tuple[float, ...]
    winners: float
    lost: float
    trials: float
    epochs_per_trial: float
    ask_ms: float
    prune_ms: float


def method_summary(method: str, runs: Sequence[CurveRun]) -> MethodSummary:
    own = [run for run in runs if run.method == method]
    marked = [[regrets(run)[_index(run, mark)] for mark in MARKS] for run in own]
    trials = sum(len(run.epochs) for run in own)
    asked = [second for run in own for second in run.ask_s[run.n_init :]]
    return MethodSummary(
        method=method,
        runs=len(own),
        regrets=tuple(float(mean) for mean in np.mean(marked, axis=0)),
        winners=fmean(lost(run) > 0.0 for run in own),
        lost=fmean(map(lost, own)),
        trials=trials / len(own),
        epochs_per_trial=sum(sum(run.epochs) for run in own) / trials,
        ask_ms=1e3 * fmean(asked) if asked else math.nan,
        prune_ms=1e3 * sum(sum(run.prune_s) for run in own) / max(sum(map(questions, own)), 1),
    )


def _index(run: CurveRun, mark: float) -> int:
    return max(math.floor(mark * n_epochs(run)), 1) - 1


@dataclass(frozen=True)
class Saving:
    """When a method is as good, in the mean over its runs, as its sampler without a pruner after the whole budget: the
    share of the epochs and of the CPU seconds that it needs; None if it never is."""

    method: str
    epochs: float | None
    seconds: float | None


def saving(method: str, runs: Sequence[CurveRun]) -> Saving | None:
    """Over runs on one problem. None without runs of its sampler without a pruner."""
    sampler, _ = parts_of_method(method)
    own = {run.seed: run for run in runs if run.method == method}
    plain = {run.seed: run for run in runs if run.method == method_name(sampler, _NO_PRUNER) and run.seed in own}
    if not plain:
        return None
    target = fmean(regrets(run)[-1] for run in plain.values())
    means = np.mean([regrets(own[seed]) for seed in plain], axis=0)
    reached = np.flatnonzero(means <= target + 1e-12)
    if len(reached) == 0:
        return Saving(method, None, None)
    first = int(reached[0])
    cost = fmean(seconds(own[seed])[first] for seed in plain)
    return Saving(method, (first + 1) / len(means), cost / fmean(seconds(run)[-1] for run in plain.values()))


# ------------------------------------------------------------------------------------------ grids


def curve_grids(runs: Sequence[CurveRun]) -> list[Grid]:
    """Of runs with the same numbers of starts and the same budget, family by family."""
    ordered = sorted(against_best(runs), key=lambda run: family(run.problem))
    return [grid for name, own in groupby(ordered, lambda run: family(run.problem)) for grid in _grids(name, list(own))]


def _grids(name: str, runs: Sequence[CurveRun]) -> list[Grid]:
    methods = sorted({run.method for run in runs}, key=_order)
    shared = common(runs)
    grids = [_method_grid(name, methods, shared)] if shared else []
    savings = _saving_grid(name, methods, runs)
    by_problem = [_problem_grid(name, mark, methods, runs) for mark in MARKS]
    return [*grids, *([savings] if savings.rows else []), *by_problem]


def _order(method: str) -> tuple[str, bool, str]:
    """By sampler, first without a pruner."""
    sampler, pruner = parts_of_method(method)
    return sampler, pruner != _NO_PRUNER, pruner


def _method_grid(name: str, methods: Sequence[str], runs: Sequence[CurveRun]) -> Grid:
    rows = []
    for row in (method_summary(method, runs) for method in methods):
        counts = f"{row.trials:.0f}", f"{row.epochs_per_trial:.1f}"
        losses = f"{row.winners:.0%}", _regret(row.lost)
        rows.append((row.method, *map(_regret, row.regrets), *losses, *counts, _ms(row.ask_ms), f"{row.prune_ms:.2f}"))
    cells = len({(run.problem, run.seed) for run in runs})
    after = [f"regret@{label}" for label in _mark_labels(runs)]
    columns = ("method", *after, "winners pruned", "lost", "trials", "epochs/trial", "ms/ask", "ms/should_prune")
    return Grid(f"{name}: methods on {cells} cells (problem × seed)", columns, tuple(rows))


def _mark_labels(runs: Sequence[CurveRun]) -> list[str]:
    """Epochs of each mark, or its share of the budget if the problems differ in their number of steps."""
    totals = {n_epochs(run) for run in runs}
    if len(totals) > 1:
        return [f"{mark:.0%}" for mark in MARKS]
    return [f"{math.floor(mark * total)}" for total in totals for mark in MARKS]


def _saving_grid(name: str, methods: Sequence[str], runs: Sequence[CurveRun]) -> Grid:
    problems = sorted({run.problem for run in runs})
    timed = name != SURROGATE  # The time of a surrogate is not that of a training.
    rows = []
    for method in (method for method in methods if parts_of_method(method)[1] != _NO_PRUNER):
        savings = [saving(method, [run for run in runs if run.problem == problem]) for problem in problems]
        if any(savings):
            rows.append((method, *(_saving(saved, timed) for saved in savings)))
    what = "epochs (CPU seconds)" if timed else "epochs"
    title = f"{name}: {what} to be as good as without a pruner after the whole budget, in shares of it"
    return Grid(title, ("method", *problems), tuple(rows))


def _problem_grid(name: str, mark: float, methods: Sequence[str], runs: Sequence[CurveRun]) -> Grid:
    problems = sorted({run.problem for run in runs})
    groups: dict[tuple[str, str], list[CurveRun]] = {}
    for run in runs:
        groups.setdefault((run.method, run.problem), []).append(run)

    def cell(method: str, problem: str) -> str:
        own = groups.get((method, problem), [])
        return _regret(fmean(regrets(run)[_index(run, mark)] for run in own)) if own else _NOTHING

    rows = tuple((method, *(cell(method, problem) for problem in problems)) for method in methods)
    return Grid(f"{name}: mean regret by problem after {mark:.0%} of the budget", ("method", *problems), rows)


def _saving(saved: Saving | None, timed: bool) -> str:
    if saved is None:
        return _NOTHING
    if saved.epochs is None:
        return "never"
    return f"{saved.epochs:.0%} ({saved.seconds:.0%})" if timed else f"{saved.epochs:.0%}"


def _regret(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else _NOTHING


def _ms(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else _NOTHING


def _search_note(runs: Sequence[CurveRun]) -> str:
    families = sorted({family(run.problem) for run in runs})
    shifts = {name: beyond_search([run for run in runs if family(run.problem) == name]) for name in families}
    listed = " and ".join(f"{shift:.4f} ({name})" for name, shift in shifts.items())
    return f"Against the searches alone, mean regrets of methods would be smaller by {listed}."


def curve_page(runs: Sequence[CurveRun]) -> str:
    """Of runs with the same numbers of starts and the same budget."""
    n_init, budget = runs[0].n_init, runs[0].budget
    problems, seeds = {run.problem for run in runs}, {run.seed for run in runs}
    notes = [
        f"{len(runs)} runs with the epochs of {budget} complete trainings (problems: {len(problems)}, seeds: "
        f"{len(seeds)}). All methods start with the same {n_init} random configurations, which can be pruned too; the "
        "pruner is asked after every epoch but the last. A pruned trial costs only the epochs that it ran.",
        "Regret is the distance from the best last value of a complete trial, so many epochs after the start, to the "
        "best known one: that of a search before, or of any trial here. " + _search_note(runs),
        "`winners pruned` is the share of runs in which a pruned trial would have ended better than the best complete "
        "one, and `lost` the mean of how much better over all runs; the sampler never sees these values. Times are "
        "means of CPU milliseconds with one thread, those of asks after the start.",
    ]
    dates = sorted(run.date for run in runs)
    commands = tuple(dict.fromkeys(run.command for run in runs if run.command))
    machines = tuple(dict.fromkeys(run.machine for run in runs if run.machine))
    origin = provenance(commands, " to ".join(dict.fromkeys((dates[0], dates[-1]))), merged_versions(runs), machines)
    return page("Trainings that can be stopped early", notes, curve_grids(runs), origin)
