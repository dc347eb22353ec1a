"""How true answers about fronts are: chances, intervals, bands of exchange rates and roles, each with a count."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pellucid.beliefs.front_members import TOLERANCE
from pellucid.claims import GOAL_NO_EFFECT
from pellucid_lab.tables.grids import Grid
from pellucid_lab.truth.front_claims import FEASIBLE, GOALS
from pellucid_lab.truth.front_runs import FrontRun

# Ends of the bins of chances.
_BINS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.01)
_KINDS = {"exact": False, "noisy": True}
_EVERY: dict[str, bool | None] = {**_KINDS, "all": None}
# The parameter that is said to matter most is rightly the first if its true index is this share of the largest one.
_ABOUT_THE_LARGEST = 0.8
# Rounding of what is stored.
_EQUAL = 1e-9


def front_grids(runs: Sequence[FrontRun]) -> list[Grid]:
    return [
        *(_chances(runs), _answers(runs), _by_problem(runs), _roles(runs)),
        *(_compromises(runs), _limits(runs), _importance(runs), _first(runs), _seconds(runs)),
    ]


def _share(values: Sequence[bool] | Sequence[float]) -> str:
    return f"{100.0 * float(np.mean(values)):.1f}%" if len(values) else "–"


def _chances(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _EVERY.items():
        cases = [case for run in runs if noisy is None or run.noisy == noisy for case in run.chances]
        for low, high in pairwise(_BINS):
            inside = [case for case in cases if low <= case[0] < high]
            if inside:
                said, truth = ([case[k] for case in inside] for k in range(2))
                bin_name = f"{kind}, {low:.0%} to {min(high, 1.0):.0%}"
                rows.append((bin_name, str(len(inside)), _share(said), _share(truth)))
    columns = ("said", "trials", "mean of it", "truly on the front")
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


def _behind(values: Sequence[float]) -> tuple[str, str]:
    """The median, and the share that is within the tolerance."""
    if not values:
        return "–", "–"
    return f"{np.median(values):.3f}", _share([value <= TOLERANCE for value in values])


def _compromises(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _KINDS.items():
        for wish in ("weights", "limits"):
            asked = [each for run in runs if run.noisy == noisy for each in run.compromises if each[0] == wish]
            covered = [inside for each in asked for inside in each[3]]
            front, trials = [each[4] for each in asked], [each[5] for each in asked if each[5] is not None]
            cells = (_share(covered), str(len(covered)), *_behind(front), *_behind(trials))
            rows.append((f"{kind}, {wish}", str(len(asked)), *cells))
    shares = ("behind the best of the front", "within 1%", "behind the best trial", "within 1%")
    title = "Compromises by weights, and by a limit on the first objective"
    return Grid(title, ("studies", "asked", "95% intervals", "n", *shares), tuple(rows))


def _limits(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _KINDS.items():
        asked = [each for run in runs if run.noisy == noisy for each in run.compromises if each[0] == "limits"]
        for label, enough in ((f"at least {FEASIBLE:.0%}", True), ("less", False)):
            own = [each for each in asked if (each[1] >= FEASIBLE) == enough]
            said, kept = [each[1] for each in own], [each[2] for each in own]
            rows.append((f"{kind}, {label}", str(len(own)), _share(said), _share(kept)))
    return Grid("Limits that are kept with the chance that was said", ("said", "n", "mean of it", "kept"), tuple(rows))


def _importance(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _KINDS.items():
        for goal in GOALS:
            cases = [case for run in runs if run.noisy == noisy for case in run.importance if case[0] == goal]
            for matters, label in ((True, "matters"), (False, "negligible")):
                said = [verdict for _, verdict, share in cases if (share > GOAL_NO_EFFECT.threshold) == matters]
                counts = [str(said.count(verdict)) for verdict in ("impactful", "cannot tell", "no effect")]
                rows.append((f"{kind}, {goal}, truly {label}", str(len(said)), *counts))
    columns = ("parameters", "n", "“impactful”", "“cannot tell”", "“no effect”")
    return Grid("What matters for being on the front, or near it", columns, tuple(rows))


def _first(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for kind, noisy in _KINDS.items():
        for goal in GOALS:
            own = [[case[2] for case in run.importance if case[0] == goal] for run in runs if run.noisy == noisy]
            shares = [each for each in own if each]
            right = [each[0] >= _ABOUT_THE_LARGEST * max(each) for each in shares]
            by_chance = [np.mean([s >= _ABOUT_THE_LARGEST * max(each) for s in each]) for each in shares]
            rows.append((f"{kind}, {goal}", str(len(shares)), _share(right), _share([float(s) for s in by_chance])))
    columns = ("studies", "n", "truly the first, or nearly", "of a random parameter")
    return Grid("The parameter that is said to matter most for being on the front, or near it", columns, tuple(rows))


def _seconds(runs: Sequence[FrontRun]) -> Grid:
    rows = []
    for k, name in enumerate(("recommend", "tradeoff")):
        seconds = [run.seconds[k] for run in runs]
        rows.append((name, f"{np.median(seconds):.2f}", f"{np.quantile(seconds, 0.95):.2f}"))
    return Grid("Seconds at 60 trials", ("answer", "median", "95% quantile"), tuple(rows))
