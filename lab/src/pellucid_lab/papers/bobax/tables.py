"""Tables of ``pellucid reproduce bobax``: relative errors and regrets, significance, coverage, beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from pellucid_lab.papers.bobax.experiment import METHODS, PER_DIMENSION, QUARTERS, TOLERANCE, EffectRun
from pellucid_lab.tables.grids import Grid, page, provenance_of
from pellucid_lab.tables.significance import against_best

Array = NDArray[np.float64]

# The paper's numbers, after 25, 50, 75 and 100% of the evaluations.
SOURCE_ERRORS: dict[str, tuple[float, ...]] = {
    "rs": (0.0, 0.0, 0.0, 0.0),
    "ei": (0.18, 0.39, 0.47, 0.67),
    "pvar": (0.13, -0.08, 0.08, 0.14),
    "bax-path": (-0.17, -0.20, -0.07, 0.0),
    "bobax-path": (-0.14, -0.16, -0.04, 0.03),
}
SOURCE_REGRETS: dict[str, tuple[float, ...]] = {
    "rs": (2.42, 160.99, 530.70, 951.47),
    "ei": (0.0, 0.0, 0.0, 0.0),
    "pvar": (3.38, 232.14, 741.69, 1887.22),
    "bax-path": (2.27, 242.06, 602.15, 1408.62),
    "bobax-path": (1.68, 5.04, 4.73, 3.26),
}
# The paper's iterations to the tolerance, final error of the effects, and final loss in per cent.
SOURCE_LCBENCH = {
    "rs": (14.91, 0.49, 22.56),
    "ei": (22.59, 0.57, 19.38),
    "bax-all": (9.85, 0.51, 23.97),
    "a-bobax": (11.56, 0.52, 19.94),
}
# The paper's level of significance.
ALPHA = 0.01
BOBAX = "bobax-2"
# Resamples of the seeds for a standard error: enough for its two printed digits.
RESAMPLES = 500
# The designs for which the coverage of bands is reported, and those over which it is averaged: random, and searches.
DESIGNS = {"rs": "random", "ei": "EI", "default": "LCB (default)", "bobax-2": "BOBAX (one effect)",
           "bobax-all": "BOBAX (all effects)", "a-bobax": "a-BOBAX", "bax-all": "BAX"}  # fmt: skip
JUDGED = ("rs", "ei", "bobax-2", "bobax-all", "a-bobax")


def at_quarter(run: EffectRun, series: tuple[float, ...], quarter: float) -> float:
    budget = max(run.sizes)
    return series[run.sizes.index(math.ceil(quarter * budget))]


def methods_in(runs: Sequence[EffectRun]) -> list[str]:
    """The methods with a run for every problem and seed that any method has, in the order of the experiment."""
    cells = {(run.problem, run.seed) for run in runs}
    listed = METHODS[runs[0].experiment] if runs else ()
    return [m for m in listed if {(r.problem, r.seed) for r in runs if r.method == m} == cells]


def relative(
    runs: Sequence[EffectRun], method: str, baseline: str, series: Callable[[EffectRun], tuple[float, ...]]
) -> list[float]:
    """For each quarter, the mean of a series over seeds divided by that of the baseline, minus 1, averaged over
    problems."""
    out = []
    for quarter in QUARTERS:
        shares = []
        for problem in dict.fromkeys(run.problem for run in runs):
            ours, theirs = (
                fmean(at_quarter(r, series(r), quarter) for r in runs if (r.problem, r.method) == (problem, name))
                for name in (method, baseline)
            )
            shares.append(ours / theirs - 1.0)
        out.append(fmean(shares))
    return out


def indistinguishable(
    runs: Sequence[EffectRun], methods: Sequence[str], series: Callable[[EffectRun], tuple[float, ...]]
) -> list[set[str]]:
    """Per quarter, the methods that are not significantly worse than the best."""
    out = []
    for quarter in QUARTERS:
        cells = sorted({(run.problem, run.seed) for run in runs})
        by_cell = {(r.problem, r.seed, r.method): at_quarter(r, series(r), quarter) for r in runs}
        values = np.array([[by_cell[problem, seed, method] for method in methods] for problem, seed in cells])
        # Problems have different units: values are divided by the problem's mean.
        for problem in {cell[0] for cell in cells}:
            rows = [i for i, cell in enumerate(cells) if cell[0] == problem]
            values[rows] /= max(float(values[rows].mean()), 1e-300)
        _, p = against_best(values)
        out.append({method for method, value in zip(methods, p, strict=True) if value >= ALPHA})
    return out


def _row(numbers: Sequence[float], marked: Sequence[bool] | None = None) -> tuple[str, ...]:
    marks = marked if marked is not None else [False] * len(numbers)
    return tuple(f"{v:+.2f}{'*' if mark else ''}" for v, mark in zip(numbers, marks, strict=True))


def _relative_grid(
    title: str,
    runs: Sequence[EffectRun],
    baseline: str,
    series: Callable[[EffectRun], tuple[float, ...]],
    claims: dict[str, tuple[float, ...]],
) -> Grid:
    methods = methods_in(runs)
    equal = indistinguishable(runs, methods, series)
    rows = []
    for method in methods:
        marks = [method in quarter for quarter in equal]
        claim = " / ".join(f"{v:.2f}" for v in claims[method]) if method in claims else "–"
        rows.append((method, *_row(relative(runs, method, baseline, series), marks), claim))
    return Grid(title, ("method", *(f"{q:.0%}" for q in QUARTERS), "the source"), tuple(rows))


def tables_of(experiment: str, runs: Sequence[EffectRun]) -> list[Grid]:
    if experiment.endswith("lcbench"):
        return [_lcbench_grid(runs)]
    grids = []
    if experiment == "source":
        title = "Error of the first effect, same sample for estimate and truth, relative to random search"
        grids.append(_relative_grid(title, runs, "rs", lambda run: run.d_sample, SOURCE_ERRORS))
    title = "Error of the first effect, exact integrals, relative to random search"
    grids.append(_relative_grid(title, runs, "rs", lambda run: run.d, {}))
    claims = SOURCE_REGRETS if experiment == "source" else {}
    grids.append(_relative_grid("Regret relative to EI", runs, "ei", lambda run: run.regret, claims))
    grids.append(_final_regrets(runs))
    if BOBAX in methods_in(runs):
        grids.append(_by_problem(runs))
    grids.append(_combined_ranks(runs))
    return grids


def _by_problem(runs: Sequence[EffectRun]) -> Grid:
    """BOBAX problem by problem, with standard errors by resampling seeds."""
    rng = np.random.default_rng(0)
    rows, estimates, variances = [], [], []
    for problem in dict.fromkeys(run.problem for run in runs):
        by_method = {}
        for method in (BOBAX, "rs"):
            seeds = sorted((r for r in runs if (r.problem, r.method) == (problem, method)), key=lambda run: run.seed)
            by_method[method] = np.array([[at_quarter(run, run.d, q) for q in QUARTERS] for run in seeds])
        ours, theirs = by_method[BOBAX], by_method["rs"]
        again = rng.integers(len(ours), size=(RESAMPLES, len(ours)))
        estimate = ours.mean(axis=0) / theirs.mean(axis=0) - 1.0
        spread = (ours[again].mean(axis=1) / theirs[again].mean(axis=1)).std(axis=0)
        rows.append((problem, *(f"{v:+.2f} ± {s:.2f}" for v, s in zip(estimate, spread, strict=True))))
        estimates.append(estimate)
        variances.append(spread**2)
    mean, error = np.mean(estimates, axis=0), np.sqrt(np.sum(variances, axis=0)) / len(rows)
    rows.append(("mean", *(f"{v:+.2f} ± {s:.2f}" for v, s in zip(mean, error, strict=True))))
    title = f"{BOBAX}, error of the first effect by problem (exact integrals), with standard errors over seeds"
    return Grid(title, ("problem", *(f"{q:.0%}" for q in QUARTERS)), tuple(rows))


def _final_regrets(runs: Sequence[EffectRun]) -> Grid:
    """The regrets themselves, because ratios say little if the baseline is almost zero."""
    methods = methods_in(runs)
    rows = tuple(
        (
            problem,
            *(f"{fmean(r.regret[-1] for r in runs if (r.problem, r.method) == (problem, m)):.2g}" for m in methods),
        )
        for problem in dict.fromkeys(run.problem for run in runs)
    )
    return Grid("Mean regret in the end, in the unit of each function", ("problem", *methods), rows)


def _combined_ranks(runs: Sequence[EffectRun]) -> Grid:
    """The paper's Table 4: half the rank by error plus half the rank by regret, averaged over runs."""
    from scipy.stats import rankdata

    methods = methods_in(runs)
    cells = sorted({(run.problem, run.seed) for run in runs})
    by_cell = {(r.problem, r.seed, r.method): r for r in runs}
    columns = []
    for quarter in QUARTERS:
        rows_of_runs = [[by_cell[problem, seed, method] for method in methods] for problem, seed in cells]
        errors = np.array([[at_quarter(run, run.d, quarter) for run in row] for row in rows_of_runs])
        regrets = np.array([[at_quarter(run, run.regret, quarter) for run in row] for row in rows_of_runs])
        columns.append(0.5 * (rankdata(errors, axis=1) + rankdata(regrets, axis=1)).mean(axis=0))
    order = np.argsort(columns[-1])
    rows = tuple((methods[i], *(f"{column[i]:.2f}" for column in columns)) for i in order)
    return Grid("Combined rank: half by error, half by regret", ("method", *(f"{q:.0%}" for q in QUARTERS)), rows)


def _lcbench_grid(runs: Sequence[EffectRun]) -> Grid:
    methods = methods_in(runs)

    def steps(run: EffectRun, reached: int | None) -> tuple[float, ...]:
        return (float(reached or max(run.sizes)),) * len(run.sizes)

    equal = indistinguishable(runs, methods, lambda run: steps(run, run.reached))[-1]
    equal_raw = indistinguishable(runs, methods, lambda run: steps(run, run.raw_reached))[-1]
    rows = []
    for method in methods:
        chosen = [run for run in runs if run.method == method]
        claim = SOURCE_LCBENCH.get(method)
        rows.append(
            (
                method,
                f"{fmean(steps(run, run.reached)[0] for run in chosen):.1f}{'*' if method in equal else ''}",
                f"{fmean(steps(run, run.raw_reached)[0] for run in chosen):.1f}{'*' if method in equal_raw else ''}",
                f"{sum(run.reached is None for run in chosen)} / {sum(run.raw_reached is None for run in chosen)}",
                f"{100 * fmean(run.d[-1] for run in chosen):.2f}",
                f"{100 * fmean(run.best for run in chosen):.2f}",
                " / ".join(f"{v:.2f}" for v in claim) if claim else "–",
            )
        )
    columns = ("method", f"evaluations to ±{100 * TOLERANCE:g} points", "the same, posterior alone", "never",
               "error of the effects, points", "100 (1 - balanced accuracy)", "the source")  # fmt: skip
    return Grid(f"Fifteen tuned networks, all five effects, {len(runs)} runs", columns, tuple(rows))


# ---------------------------------------------------------------------- coverage


def coverage_tables(runs: Sequence[EffectRun]) -> list[Grid]:
    """Share of the grid values at which the 95% band contains the true effect: per design and budget, per problem."""
    return [_coverage_grid(runs), _coverage_by_problem(runs)]


def _at(run: EffectRun, size: int, series: tuple[float, ...]) -> float:
    return series[run.sizes.index(size)]


def _enough(run: EffectRun) -> list[int]:
    """The sizes of at least 20 evaluations per dimension."""
    dimension = max(run.sizes) // PER_DIMENSION
    return [size for size in run.sizes if size >= 20 * dimension]


def _coverage_grid(runs: Sequence[EffectRun]) -> Grid:
    rows = []
    judged: list[tuple[float, ...]] = []
    for method, label in DESIGNS.items():
        of_method = [run for run in runs if run.method == method]
        for kind, where in (("fitted", "functions"), ("fitted-lcbench", "lcbench")):
            of_kind = [run for run in of_method if run.experiment == kind]
            if not of_kind:
                continue
            for share in (0.25, 0.5, 2 / 3, 0.75, 1.0):
                sizes = [(r, math.ceil(round(share * max(r.sizes), 6))) for r in of_kind]
                rows.append((label, where, f"{share * PER_DIMENSION:.3g} d", *_coverage_row(sizes)))
        enough = [(run, size) for run in of_method for size in _enough(run)]
        if enough and method in JUDGED:
            judged.append(_coverage_numbers(enough))
            rows.append((f"**{label}**", "both", "≥ 20 d", *_coverage_row(enough)))
    mean = tuple(fmean(column) for column in zip(*judged, strict=True))
    rows.append(("**mean of these designs**", "both", "≥ 20 d", *_coverage_text(mean)))
    columns = ("design", "problems", "n", "coverage", "without calibration", "half-width", "without", "ratio")
    return Grid("Coverage of the 95% bands, all variables, hyperparameters learned", columns, tuple(rows))


def _coverage_numbers(sizes: Sequence[tuple[EffectRun, int]]) -> tuple[float, ...]:
    """Coverage, raw coverage, half-width, raw half-width: means over runs and budgets, problems weighing the same."""
    problems = dict.fromkeys(run.problem for run, _ in sizes)

    def mean(series: Callable[[EffectRun], tuple[float, ...]]) -> float:
        return fmean(fmean(_at(r, size, series(r)) for r, size in sizes if r.problem == p) for p in problems)

    return (mean(lambda r: r.coverage), mean(lambda r: r.raw_coverage), mean(lambda r: r.half_width),
            mean(lambda r: r.raw_half_width))  # fmt: skip


def _coverage_row(sizes: Sequence[tuple[EffectRun, int]]) -> tuple[str, ...]:
    return _coverage_text(_coverage_numbers(sizes))


def _coverage_text(numbers: Sequence[float]) -> tuple[str, ...]:
    covered, raw, half, raw_half = numbers
    return f"{covered:.1%}", f"{raw:.1%}", f"{half:.3f}", f"{raw_half:.3f}", f"{half / raw_half:.2f}"


def _coverage_by_problem(runs: Sequence[EffectRun]) -> Grid:
    methods = [m for m in DESIGNS if any(run.method == m for run in runs)]
    rows = []
    for problem in dict.fromkeys(run.problem for run in runs):
        cells = []
        for method in methods:
            sizes = [(r, s) for r in runs if (r.problem, r.method) == (problem, method) for s in _enough(r)]
            cells.append(f"{_coverage_numbers(sizes)[0]:.0%}" if sizes else "–")
        rows.append((problem, *cells))
    return Grid("Coverage per problem, n ≥ 20 d", ("problem", *(DESIGNS[m] for m in methods)), tuple(rows))


# ---------------------------------------------------------------------- text

_NOTES = {
    "source": "Squared exponential kernel with hyperparameters fixed per function (most likely on 200 random points), "
    "5 random evaluations, 30 per dimension in all, 1500 random candidates per proposal, effect of the first variable "
    "on 20 values. `bax` and `bobax` learn about bands unless the name says otherwise; a number after `bobax` or `rs` "
    "says how many evaluations apart the learning or random ones are.",
    "fitted": "Our sampler with its defaults: output warp and hyperparameters are learned during the run, candidates "
    "are refined; the effects are those of `pellucid.partial_dependence`. Regret relative to EI is divided by EI's own "
    "regret, which can be as small as 1e-6: it says how far a method is behind EI, not whether that matters.",
    "source-lcbench": "Surrogates of real networks, five parameters, 150 evaluations, the source's protocol "
    "(hyperparameters fixed per network). The precision is reached when the mean half-width of the 95% bands of all "
    "effects is within the tolerance (150 if never): of calibrated bands, which also decide when a-BOBAX stops "
    "learning, and of the posterior alone, as the source counts. `a-bobax` takes turns, `a-bobax-first` learns first.",
    "fitted-lcbench": "The same networks with our sampler and its defaults.",
}


def markdown(experiment: str, runs: Sequence[EffectRun]) -> str:
    seeds = len({run.seed for run in runs})
    problems = len({run.problem for run in runs})
    explanation = (
        "A star: not significantly worse than the best of its column (Friedman's aligned ranks, Hommel's correction, "
        "1%). Relative: per problem the mean over seeds divided by that of the baseline (random search for effects, "
        "EI for regret), minus 1; then the mean over problems. 0 is as good as the baseline, -0.5 is half its error."
    )
    title = f"{experiment}: {problems} problems, {seeds} seeds"
    return page(title, [_NOTES[experiment], explanation], tables_of(experiment, runs), _provenance(runs))


def csv(runs: Sequence[EffectRun]) -> str:
    """One line per run, small enough to keep beside the tables."""
    series = ("d", "d_sample", "regret", "coverage", "raw_coverage", "half_width", "raw_half_width")
    single = ("reached", "raw_reached", "best", "seconds")
    lines = [",".join(("problem", "method", "seed", "sizes", *series, *single))]
    for run in sorted(runs, key=lambda run: run.key):
        lists = (" ".join(f"{v:g}" for v in getattr(run, name)) for name in ("sizes", *series))
        numbers = ("" if getattr(run, name) is None else f"{getattr(run, name):.6g}" for name in single)
        lines.append(",".join((run.problem, run.method, str(run.seed), *lists, *numbers)))
    return "\n".join(lines) + "\n"


def coverage_markdown(runs: Sequence[EffectRun]) -> str:
    first, *others = coverage_tables(runs)
    note = (
        "The share of 20 values per variable at which the band contains the true average; half-widths are shares of "
        "the range of the largest effect. *Without calibration*: the posterior alone. Problems have equal weight."
    )
    return page(first.title, [note], [replace(first, title=""), *others], _provenance(runs))


def _provenance(runs: Sequence[EffectRun]) -> str:
    return provenance_of(runs, sum(run.seconds for run in runs))
