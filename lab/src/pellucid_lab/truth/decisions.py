"""How true advice is that people act on: when to stop, and which ranges to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid_lab.tables.grids import Grid
from pellucid_lab.truth import known
from pellucid_lab.truth.measures import HOLDS, TruthRun
from pellucid_lab.truth.problems import find_problem
from pellucid_lab.truth.rates import cells, counted, rate
from pellucid_lab.truth.studies import N_TRIALS, OURS, SAMPLERS

# Advice is right if the optimum improves by more than this share of the spread (widen), or loses less (the rest).
GAIN = 0.002
# Widening is called for if the optimum improves by more than this share of the spread.
WORTH_WIDENING = 0.05
_SAFE_SHARE = 0.6
# Stated chances of error at which widenings are counted.
_STATED = (0.02, 0.05, 0.1, 0.2)
# Verdicts in a row of `TruthRun.stops`: the columns of whether it says stop, and of its tolerance.
_VERDICTS = {"given tolerance": (1, 3), "default tolerance": (4, 5)}


def decision_grids(runs: Sequence[TruthRun]) -> list[Grid]:
    return [
        _stopping(runs),
        _stopping_by_problem(runs),
        _trade_off(runs),
        _more_trials(runs),
        _ranges(runs),
        _widening(runs),
    ]


def first_stop(run: TruthRun, verdict: int, tolerance: int) -> tuple[int, float, float] | None:
    """Size, tolerance and true regret when the study was first told to stop; None if it never was."""
    for row in run.stops:
        if row[verdict] and row[6] is not None:
            return row[0], row[tolerance], row[6]
    return None


def _stopping(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for label, (verdict, tolerance) in _VERDICTS.items():
        for noisy in (False, True):
            for kind, wanted in (("safe", True), ("conditional or deceptive", False)):
                row = [f"{label}, {'noisy' if noisy else 'exact'}, {kind}"]
                chosen = [run for run in runs if run.noisy == noisy and find_problem(run.problem).safe == wanted]
                stops = [stop for run in chosen if (stop := first_stop(run, verdict, tolerance)) is not None]
                wrong = [float(regret > limit) for _, limit, regret in stops]
                row += [f"{len(stops)} of {len(chosen)}", rate(wrong)]
                row.append(rate(_early(chosen, verdict, tolerance)))
                rows.append(tuple(row))
        every = [stop for run in runs if (stop := first_stop(run, verdict, tolerance)) is not None]
        wrong = [float(regret > limit) for _, limit, regret in every]
        early = rate(_early(runs, verdict, tolerance))
        rows.append((f"{label}, all", f"{len(every)} of {len(runs)}", rate(wrong), early))
    columns = (
        "studies",
        "stopped",
        "wrongly, of those",
        f"stopped by {_SAFE_SHARE:.0%} of the budget where right (ours)",
    )
    return Grid("Stopping: regret above the tolerance when it says stop", columns, tuple(rows))


def _early(runs: Sequence[TruthRun], verdict: int, tolerance: int) -> list[float]:
    """Of our studies whose regret is within the tolerance at that share of the budget: whether they stopped by then."""
    out = []
    for run in runs:
        row = next((row for row in run.stops if row[0] >= _SAFE_SHARE * N_TRIALS), None)
        if run.sampler != OURS or row is None or row[6] is None or row[tolerance] is None or row[6] > row[tolerance]:
            continue
        stop = first_stop(run, verdict, tolerance)
        out.append(float(stop is not None and stop[0] <= _SAFE_SHARE * N_TRIALS))
    return out


def _stopping_by_problem(runs: Sequence[TruthRun]) -> Grid:
    """Wrong stops of all stops, of our own studies and of those of other samplers."""
    rows = []
    for name in dict.fromkeys(run.problem for run in runs):
        row = [name]
        for verdict, tolerance in _VERDICTS.values():
            for own in (True, False):
                chosen = [run for run in runs if run.problem == name and (run.sampler == OURS) == own]
                stops = [stop for run in chosen if (stop := first_stop(run, verdict, tolerance)) is not None]
                wrong = sum(regret > limit for _, limit, regret in stops)
                row.append(f"{wrong} of {len(stops)} ({len(chosen)})")
        rows.append(tuple(row))
    columns = ("problem", *(f"{label}: {whose}" for label in _VERDICTS for whose in ("ours", "others")))
    return Grid("Stopping: wrong stops, of all stops (of all studies)", columns, tuple(rows))


def _trade_off(runs: Sequence[TruthRun]) -> Grid:
    """Errors and early stops if only the first of the reasons counted that hold a stop back, in the order asked."""
    known_reasons = [run for run in runs if all(len(row) > 8 for row in run.stops)]
    rows = []
    for count in range(len(HOLDS) + 1):
        counted_reasons = tuple(HOLDS)[:count]
        told = [_without_reasons(run, counted_reasons) for run in known_reasons]
        stops = [stop for run in told if (stop := first_stop(run, 1, 3)) is not None]
        wrong = sum(regret > limit for _, limit, regret in stops)
        label = f"and {counted_reasons[-1]}" if count else "the bound alone"
        rows.append((label, f"{wrong} of {len(stops)}", counted(_early(told, 1, 3))))
    columns = ("what counts", "wrong stops", f"stopped by {_SAFE_SHARE:.0%} of the budget where right (ours)")
    return Grid("Stopping: errors against early stops (given tolerance)", columns, tuple(rows))


def _without_reasons(run: TruthRun, counted_reasons: Sequence[str]) -> TruthRun:
    """The run with the verdicts that it would have had if nothing but these reasons held a stop back."""
    stops = []
    for row in run.stops:
        within = row[2] is not None and row[2] <= row[3]
        stops.append((row[0], within and not set(counted_reasons) & set(row[8]), *row[2:]))
    return replace(run, stops=tuple(stops))


def _more_trials(runs: Sequence[TruthRun]) -> Grid:
    """“Roughly N more trials” beside the trials after which the bound was within the tolerance."""
    rows = []
    for noisy in (False, True):
        ratios, missed = [], 0
        sooner: list[float] = []
        for run in runs:
            if run.noisy != noisy or run.sampler != OURS:
                continue
            for i, row in _continued(run):
                n, said = row[0], row[7]
                within = [later[0] - n for later in run.stops[i + 1 :] if later[2] is not None and later[2] <= later[3]]
                if said is None:
                    sooner.append(float(bool(within) and within[0] <= n))
                elif within:
                    ratios.append(said / within[0])
                elif n + said <= N_TRIALS:
                    missed += 1
        near = [float(0.4 <= ratio <= 2.5) for ratio in ratios]
        median = f"{np.median(ratios):.2f}" if ratios else "–"
        rows.append(("noisy" if noisy else "exact", median, counted(near), str(missed), counted(sooner)))
    columns = (
        "studies",
        "said / true, median",
        "within a factor of 2.5",
        "said to come, did not",
        "“probably more than so far”, came sooner",
    )
    return Grid("Stopping: “roughly N more trials” (ours, given tolerance)", columns, tuple(rows))


def _continued(run: TruthRun) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The places and rows of verdicts to go on because the bound was above the tolerance."""
    for i, row in enumerate(run.stops):
        if len(row) > 8 and row[2] is not None and row[2] > row[3]:
            yield i, row


def _ranges(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for sampler in SAMPLERS:
        found: list[float] = []
        widening: list[float] = []
        removing: list[float] = []
        for cell in cells([run for run in runs if run.sampler == sampler], "ranges"):
            advised = set()
            for what, param, start, stop, *_ in cell.answer:
                error = float(not is_right(cell.run.problem, what, param, start, stop))
                (widening if what == "widen" else removing).append(error)
                if what == "widen":
                    advised.add((param, _end(stop)))
            if wanted := worth_widening(cell.run.problem):
                found.append(float(any(end in advised for end in wanted)))
        errors = (counted(errors) for errors in ([*widening, *removing], widening, removing))
        rows.append((sampler, counted(found), *errors))
    columns = ("sampler", "right widening found", "wrong, of all advice", "wrong widening", "removes the optimum")
    return Grid("Ranges: advice at 40, 60, 100 and 150 trials", columns, tuple(rows))


def _widening(runs: Sequence[TruthRun]) -> Grid:
    """Errors and finds if only widenings with a smaller stated chance of error were advised."""
    rows = []
    for sampler in SAMPLERS:
        row = [sampler]
        for limit in _STATED:
            found, wrong = [], []
            for cell in cells([run for run in runs if run.sampler == sampler], "ranges"):
                widened = [
                    (param, _end(stop))
                    for what, param, _, stop, *stated in cell.answer
                    if what == "widen" and stated and stated[0] <= limit
                ]
                wrong += [float(known.gain_beyond(cell.run.problem, *end) <= GAIN) for end in widened]
                if wanted := worth_widening(cell.run.problem):
                    found.append(float(any(end in widened for end in wanted)))
            row.append(f"{rate(found)} / {counted(wrong)}")
        rows.append(tuple(row))
    columns = ("sampler", *(f"stated chance of error up to {limit:.0%}: found / wrong" for limit in _STATED))
    return Grid("Ranges: widenings found against wrong ones", columns, tuple(rows))


def _end(stop: float) -> str:
    return "upper" if stop > 0.5 else "lower"


def is_right(problem: str, what: str, param: str, start: float, stop: float) -> bool:
    """Widening is right if better values lie there, other advice if the part to remove is not needed."""
    if what == "widen":
        return known.gain_beyond(problem, param, _end(stop)) > GAIN
    return known.loss_without(problem, param, start, stop) < GAIN


def worth_widening(problem: str) -> list[tuple[str, str]]:
    """Ends of ranges behind which the optimum is clearly better."""
    numeric = [
        parameter.name
        for parameter in find_problem(problem).parameters
        if not parameter.choices and not parameter.parent
    ]
    ends = [(name, end) for name in numeric for end in ("lower", "upper")]
    return [end for end in ends if known.gain_beyond(problem, *end) > WORTH_WIDENING]
