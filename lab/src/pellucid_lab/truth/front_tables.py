"""How true answers about fronts are: chances, intervals, bands of exchange rates and roles, each with a count."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pellucid_lab.tables.grids import Grid
from pellucid_lab.truth.front_runs import FrontRun

# Ends of the bins of chances.
_BINS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.01)
_KINDS = {"exact": False, "noisy": True}
_EVERY: dict[str, bool | None] = {**_KINDS, "all": None}
# Rounding of what is stored.
_EQUAL = 1e-9


def front_grids(runs: Sequence[FrontRun]) -> list[Grid]:
    return [_chances(runs), _answers(runs), _by_problem(runs), _roles(runs), _seconds(runs)]


def _share(values: Sequence[bool] | Sequence[float]) -> str:
    return f"{100.0 * float(np.mean(values)):.1f}%" if len(values) else "–"


def _chances(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _EVERY.items():
        cases = [case for run in runs if noisy is None or run.noisy == noisy for case in run.chances]
        for low, high in pairwise(_BINS):
            inside = [case for case in cases if low <= case[0] < high]
            if inside:
                said, truth, strict = ([case[k] for case in inside] for k in range(3))
                bin_name = f"{kind}, {low:.0%} to {min(high, 1.0):.0%}"
                rows.append((bin_name, str(len(inside)), _share(said), _share(truth), _share(strict)))
    columns = ("said", "trials", "mean of it", "truly on the front", "without a tolerance")
    return Grid("On the front with the chance that was said", columns, tuple(rows))


def _covers(rate: Sequence[float]) -> bool:
    low, _, high, truth = rate
    return low - _EQUAL <= truth <= high + _EQUAL


def _answers(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _EVERY.items():
        own = [run for run in runs if noisy is None or run.noisy == noisy]
        intervals = [covered for run in own for covered in run.intervals]
        rates = [rate for run in own for rate in run.rates]
        widths = [rate[2] - rate[0] for rate in rates]
        width = f"{np.median(widths):.3f}" if widths else "–"
        known = sum(bool(run.rates) for run in own)
        covered = _share([_covers(rate) for rate in rates])
        held, predictions = (sum(run.predicted[i] for run in own) for i in range(2))
        next_values = (f"{held / predictions:.1%}" if predictions else "–", str(predictions))
        members = (_share(intervals), str(len(intervals)))
        rows.append((kind, str(known), *next_values, *members, covered, str(len(rates)), width))
    columns = ("95% of next values", "n", "95% intervals", "n", "90% bands of gains", "n", "median width")
    title = "Coverage of predictions of the next value, of what is expected of members, and of gains along the front"
    return Grid(title, ("studies", "with a trade-off", *columns), tuple(rows))


def _by_problem(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for problem in dict.fromkeys(run.problem for run in runs):
        row = [problem]
        for noisy in _KINDS.values():
            rates = [rate for run in runs if (run.problem, run.noisy) == (problem, noisy) for rate in run.rates]
            below, above = sum(r[3] < r[0] - _EQUAL for r in rates), sum(r[3] > r[2] + _EQUAL for r in rates)
            row += [_share([_covers(rate) for rate in rates]), f"{below}/{above}", str(len(rates))]
        rows.append(tuple(row))
    columns = ("problem", "exact", "below/above", "n", "noisy", "below/above", "n")
    return Grid("Bands of gains by problem, and how often the truth is below or above", columns, tuple(rows))


def _roles(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _KINDS.items():
        roles = [role for run in runs if run.noisy == noisy for role in run.roles]
        for truth, label in ((True, "trade"), (False, "only waste")):
            said = [role for role, trades in roles if trades == truth]
            counts = [str(said.count(role)) for role in ("trades", "wastes", "neither", "not known")]
            rows.append((f"{kind}, truly {label}", str(len(said)), *counts))
    columns = ("parameters", "n", "“trades”", "“wastes”", "“neither”", "“not known”")
    return Grid("Which parameters trade", columns, tuple(rows))


def _seconds(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for k, name in enumerate(("recommend", "tradeoff")):
        seconds = [run.seconds[k] for run in runs]
        rows.append((name, f"{np.median(seconds):.2f}", f"{np.quantile(seconds, 0.95):.2f}"))
    return Grid("Seconds at 60 trials", ("answer", "median", "95% quantile"), tuple(rows))
