"""How true the answers are: errors and coverage of many studies, each with its standard error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

from pellucid_lab.tables.grids import Grid
from pellucid_lab.truth import known
from pellucid_lab.truth.claims import cost_grid, share_grid
from pellucid_lab.truth.decisions import decision_grids
from pellucid_lab.truth.known import TrueIndex
from pellucid_lab.truth.measures import TruthRun
from pellucid_lab.truth.problems import find_problem
from pellucid_lab.truth.rates import cells, counted, rate
from pellucid_lab.truth.studies import N_TRIALS, OURS, SAMPLERS, SIZES

# A parameter with a larger index matters, whoever asks.
LARGE = 0.3
# Sizes of the studies by which importance is judged.
_ORDINARY = (60, 100)
# Predictions after a verdict of calibration, and the share of them inside below which it should not have said "trust".
_FOLLOWING, _POOR = 30, 0.85


def truth_grids(runs: Sequence[TruthRun]) -> list[Grid]:
    return [
        _importance(runs),
        _verdicts(runs),
        share_grid(runs),
        _recommendations(runs),
        _receipts(runs),
        *(_bands(runs, question, title) for question, title in _CURVES.items()),
        *(
            _curve_verdicts(runs, question, title, word)
            for word in ("matters", "no effect")
            for question, title in _CURVES.items()
        ),
        cost_grid(runs),
        *decision_grids(runs),
        _proposals(runs),
        _calibration(runs),
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
    everything: dict[str, list[float]] = {"dummy": [], "missed": [], "power": [], "idle": []}
    for sampler in SAMPLERS:
        for noisy in (False, True):
            found: dict[str, list[float]] = {name: [] for name in everything}
            chosen = [run for run in runs if run.sampler == sampler and run.noisy == noisy]
            for cell in cells(chosen, "importance"):
                verdicts = {name: verdict for name, _, _, _, verdict, *_ in cell.answer}
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
            for name, values in found.items():
                everything[name] += values
            rows.append(
                (f"{sampler}, {'noisy' if noisy else 'exact'}", *(counted(values) for values in found.values()))
            )
    rows.append(("all", *(counted(values) for values in everything.values())))
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


def _curve_verdicts(runs: Sequence[TruthRun], question: str, title: str, word: str) -> Grid:
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
                    said = float(cell.answer[index.name][2] == word)
                    if index.dummy:
                        found["dummy"].append(said)
                    elif index.first > LARGE:
                        found["large"].append(said)
            row += [counted(found["large"]), counted(found["dummy"])]
        rows.append(tuple(row))
    columns = ("sampler", "60 trials: first order > 0.3", "dummy", "150 trials: first order > 0.3", "dummy")
    return Grid(f"{title}: how often it says “{word}”", columns, tuple(rows))


# ---------------------------------------------------------------------- other claims, and time


def _proposals(runs: Sequence[TruthRun]) -> Grid:
    """Of explanations of proposals: how often they name a parameter without any effect as a reason."""
    rows = []
    for noisy in (False, True):
        named = []
        for cell in cells([run for run in runs if run.noisy == noisy], "explanation"):
            dummies = {index.name for index in known.indices(cell.run.problem) if index.dummy}
            if dummies:
                named.append(float(bool(dummies & set(cell.answer))))
        rows.append(("noisy" if noisy else "exact", counted(named)))
    return Grid("Proposals: explanations that name a dummy as a reason", ("studies", "explanations"), tuple(rows))


def _calibration(runs: Sequence[TruthRun]) -> Grid:
    """What calibration says after n trials, beside how many of the next predictions were true."""
    by_verdict: dict[str, list[list[float]]] = {}
    for cell in cells([run for run in runs if run.sampler == OURS], "calibration"):
        following = [
            float(abs(z) <= 1.96)
            for trial, z in cell.run.receipts
            if z is not None and cell.size <= trial < cell.size + _FOLLOWING
        ]
        if following:
            by_verdict.setdefault(cell.answer[0], []).append(following)
    rows = []
    for verdict, studies in sorted(by_verdict.items(), key=lambda item: -len(item[1])):
        pooled = [inside for following in studies for inside in following]
        poor = [float(np.mean(following) < _POOR) for following in studies]
        rows.append((verdict, str(len(studies)), counted(pooled), rate(poor)))
    columns = ("verdict", "times", f"next {_FOLLOWING} predictions inside", f"fewer than {_POOR:.0%} of them inside")
    return Grid("Calibration: what it said, and what came next (ours)", columns, tuple(rows))


def _seconds(runs: Sequence[TruthRun]) -> Grid:
    questions = dict.fromkeys(question for run in runs for question in run.seconds)
    rows = []
    for question in questions:
        seconds = [run.seconds[question] for run in runs if question in run.seconds]
        rows.append((question, f"{np.median(seconds):.3f}", f"{np.quantile(seconds, 0.95):.3f}"))
    return Grid("Seconds at 100 trials", ("answer", "median", "95% quantile"), tuple(rows))
