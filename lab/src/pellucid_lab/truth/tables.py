"""How true the answers are: errors and coverage of many studies, each with its standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from pellucid_lab.tables.grids import Grid
from pellucid_lab.truth import known
from pellucid_lab.truth.known import TrueIndex
from pellucid_lab.truth.measures import TruthRun
from pellucid_lab.truth.problems import find_problem
from pellucid_lab.truth.studies import N_TRIALS, OURS, SAMPLERS, SIZES

# A parameter with a larger index matters, whoever asks.
LARGE = 0.3
# Advice is right if the optimum improves by more than this share of the spread (widen), or loses less (the rest).
GAIN = 0.002
# Widening is called for if the optimum improves by more than this share of the spread.
WORTH_WIDENING = 0.05
# Sizes of the studies by which importance is judged.
_ORDINARY = (60, 100)
_SAFE_SHARE = 0.6


@dataclass(frozen=True)
class Cell:
    """One answer to one study at one size."""

    run: TruthRun
    size: int
    answer: Any


def cells(runs: Iterable[TruthRun], question: str, sizes: Sequence[int] = SIZES) -> Iterator[Cell]:
    for run in runs:
        for size in sizes:
            answer = run.answers.get(str(size), {}).get(question)
            if answer is not None:
                yield Cell(run, size, answer)


def rate(values: Sequence[float]) -> str:
    """Mean with its standard error; a dash without values."""
    if not values:
        return "–"
    mean, n = float(np.mean(values)), len(values)
    error = float(np.std(values)) / math.sqrt(n)
    return f"{mean:.3f} ± {error:.3f}"


def counted(values: Sequence[float]) -> str:
    return f"{rate(values)} ({len(values)})"


def truth_grids(runs: Sequence[TruthRun]) -> list[Grid]:
    return [
        _importance(runs),
        _verdicts(runs),
        _recommendations(runs),
        _receipts(runs),
        *(_bands(runs, question, title) for question, title in _CURVES.items()),
        *(_curve_verdicts(runs, question, title) for question, title in _CURVES.items()),
        _stopping(runs),
        _ranges(runs),
        _seconds(runs),
    ]


_CURVES = {"dependence": "Partial dependence", "profile": "Profile effect"}


# ---------------------------------------------------------------------- importance


def groups(problem: str) -> list[list[TrueIndex]]:
    """Parameters that are compared with each other: those that always exist, and those of each branch."""
    by_branch: dict[str, list[TrueIndex]] = {}
    for index in known.indices(problem):
        by_branch.setdefault(index.branch, []).append(index)
    return [members for members in by_branch.values() if len(members) >= 3]


def agreement(problem: str, estimated: dict[str, float]) -> tuple[list[float], list[float]]:
    """Spearman correlation with the true total index, and whether the first parameter is the right one, by group."""
    correlations, firsts = [], []
    for members in groups(problem):
        truth = [member.total for member in members]
        guess = [estimated.get(member.name, 0.0) for member in members]
        if len(set(guess)) < 2:
            correlations.append(0.0)
            firsts.append(0.0)
            continue
        correlations.append(float(spearmanr(_ties(truth), guess).statistic))
        firsts.append(float(truth[int(np.argmax(guess))] > 0.95 * max(truth)))
    return correlations, firsts


def _ties(truth: Sequence[float]) -> list[float]:
    """Parameters without an effect are equally unimportant."""
    return [0.0 if total < known.NO_EFFECT else total for total in truth]


def _importance(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for sampler in SAMPLERS:
        row = [sampler]
        chosen = [run for run in runs if run.sampler == sampler]
        for question in ("importance", "fanova"):
            flat = {True: [], False: []}  # type: dict[bool, list[tuple[float, float]]]
            for cell in cells(chosen, question, _ORDINARY):
                pairs = zip(*agreement(cell.run.problem, {name: value for name, value, *_ in cell.answer}), strict=True)
                flat[not find_problem(cell.run.problem).conditional].extend(pairs)
            for kind in (True, False) if question == "importance" else (True,):
                row += [rate([pair[0] for pair in flat[kind]]), rate([pair[1] for pair in flat[kind]])]
        rows.append(tuple(row))
    columns = (
        "sampler",
        "Spearman",
        "first right",
        "conditional: Spearman",
        "first right",
        "fANOVA: Spearman",
        "first right",
    )
    return Grid("Importance: agreement with the true total index, 60 and 100 trials", columns, tuple(rows))


def _verdicts(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for sampler in SAMPLERS:
        for noisy in (False, True):
            found: dict[str, list[float]] = {"dummy": [], "missed": [], "power": [], "idle": []}
            chosen = [run for run in runs if run.sampler == sampler and run.noisy == noisy]
            for cell in cells(chosen, "importance"):
                verdicts = {name: verdict for name, _, _, _, verdict in cell.answer}
                for index in known.indices(cell.run.problem):
                    verdict = verdicts.get(index.name)
                    if verdict is None:
                        continue
                    if index.dummy:
                        found["dummy"].append(verdict == "matters")
                        found["idle"].append(verdict == "no effect")
                    elif index.total > LARGE:
                        found["missed"].append(verdict == "no effect")
                        found["power"].append(verdict == "matters")
            rows.append(
                (f"{sampler}, {'noisy' if noisy else 'exact'}", *(counted(values) for values in found.values()))
            )
    columns = ("studies", "dummy “matters”", "total > 0.3 “no effect”", "total > 0.3 “matters”", "dummy “no effect”")
    return Grid("Importance: verdicts, all sizes", columns, tuple(rows))


# ---------------------------------------------------------------------- recommendation and receipts


def _recommendations(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for noisy in (True, False):
        for sampler in SAMPLERS:
            row = [f"{sampler}, {'noisy' if noisy else 'exact'}"]
            chosen = [run for run in runs if run.sampler == sampler and run.noisy == noisy]
            everything: list[float] = []
            ratios = []
            for size in SIZES:
                covered, widths, errors = [], [], []
                for cell in cells(chosen, "recommendation", [size]):
                    expected, low, high, truth = cell.answer
                    if low is None or high is None:
                        continue
                    unit = known.spread(cell.run.problem)
                    covered.append(float(low - 1e-9 * unit <= truth <= high + 1e-9 * unit))
                    widths.append((high - low) / unit)
                    errors.append(abs(expected - truth) / unit)
                row.append(rate(covered))
                everything += covered
                if errors:
                    ratios.append(
                        f"{float(np.median(widths)) / max(2.0 * float(np.quantile(errors, 0.95)), 1e-12):.2f}"
                    )
            rows.append((*row, rate(everything), " / ".join(ratios)))
    columns = ("studies", *(f"n = {size}" for size in SIZES), "all", "median width / ideal width")
    return Grid("Recommendation: coverage of the 95% interval", columns, tuple(rows))


def _receipts(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for noisy in (False, True):
        for label, first, last in (("10–19", 10, 20), ("10–39", 10, 40), ("40–149", 40, N_TRIALS)):
            z = [
                float(score)
                for run in runs
                if run.sampler == OURS and run.noisy == noisy
                for trial, score in run.receipts
                if first <= trial < last and score is not None
            ]
            inside = [float(abs(score) <= 1.96) for score in z]
            moments = (f"{np.mean(z):+.2f}", f"{np.std(z):.2f}") if z else ("–", "–")
            rows.append((f"trials {label}, {'noisy' if noisy else 'exact'}", counted(inside), *moments))
    return Grid("Receipts: values inside the 95% prediction", ("proposals", "coverage", "z mean", "z sd"), tuple(rows))


# ---------------------------------------------------------------------- curves


def _bands(runs: Sequence[TruthRun], question: str, title: str) -> Grid:
    rows = []
    for sampler in SAMPLERS:
        row = [sampler]
        for noisy in (False, True):
            chosen = [run for run in runs if run.sampler == sampler and run.noisy == noisy]
            curves = [curve for cell in cells(chosen, question) for curve in cell.answer.values()]
            row += [counted([curve[0] for curve in curves]), rate([curve[1] for curve in curves])]
        rows.append(tuple(row))
    columns = ("sampler", "exact: coverage", "width", "noisy: coverage", "width")
    return Grid(f"{title}: share of the curve inside its 95% band", columns, tuple(rows))


def _curve_verdicts(runs: Sequence[TruthRun], question: str, title: str) -> Grid:
    rows = []
    for sampler in SAMPLERS:
        row = [sampler]
        chosen = [run for run in runs if run.sampler == sampler]
        for size in (60, 150):
            found: dict[str, list[float]] = {"large": [], "dummy": []}
            for cell in cells(chosen, question, [size]):
                for index in known.indices(cell.run.problem):
                    if index.name not in cell.answer:
                        continue
                    matters = float(cell.answer[index.name][2] == "matters")
                    if index.dummy:
                        found["dummy"].append(matters)
                    elif index.first > LARGE:
                        found["large"].append(matters)
            row += [counted(found["large"]), counted(found["dummy"])]
        rows.append(tuple(row))
    columns = ("sampler", "60 trials: first order > 0.3", "dummy", "150 trials: first order > 0.3", "dummy")
    return Grid(f"{title}: how often it says “matters”", columns, tuple(rows))


# ---------------------------------------------------------------------- stopping and ranges


def first_stop(run: TruthRun, verdict: int, tolerance: int) -> tuple[int, float, float] | None:
    """Size, tolerance and true regret when the study was first told to stop; None if it never was."""
    for row in run.stops:
        if row[verdict] and row[6] is not None:
            return row[0], row[tolerance], row[6]
    return None


def _stopping(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for label, verdict, tolerance in (("given tolerance", 1, 3), ("default tolerance", 4, 5)):
        for noisy in (False, True):
            for kind, wanted in (("safe", True), ("conditional or deceptive", False)):
                row = [f"{label}, {'noisy' if noisy else 'exact'}, {kind}"]
                chosen = [run for run in runs if run.noisy == noisy and find_problem(run.problem).safe == wanted]
                stops = [stop for run in chosen if (stop := first_stop(run, verdict, tolerance)) is not None]
                wrong = [float(regret > limit) for _, limit, regret in stops]
                row += [f"{len(stops)} of {len(chosen)}", rate(wrong)]
                row.append(rate(_early(chosen, verdict, tolerance)))
                rows.append(tuple(row))
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


def _seconds(runs: Sequence[TruthRun]) -> Grid:
    questions = dict.fromkeys(question for run in runs for question in run.seconds)
    rows = []
    for question in questions:
        seconds = [run.seconds[question] for run in runs if question in run.seconds]
        rows.append((question, f"{np.median(seconds):.3f}", f"{np.quantile(seconds, 0.95):.3f}"))
    return Grid("Seconds at 100 trials", ("answer", "median", "95% quantile"), tuple(rows))
