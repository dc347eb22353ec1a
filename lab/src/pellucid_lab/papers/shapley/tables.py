"""The paper's tables about the hyper-ellipsoid, with our numbers beside its own.

Notation: contributions have the paper's sign (to the bound, which is minimised: negative is attractive); those of the
uncertainty are to -lambda se. Axes of arrays: run, iteration (1 in the text is 0 here), parameter.
"""

from __future__ import annotations

import csv as csv_files
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.numerics import Array
from pellucid_lab.papers.shapley.source import DIMENSION, LOOK, N_STEPS, N_WALKS_SOURCE, EllipsoidRun
from pellucid_lab.problems.data import find_data
from pellucid_lab.tables.grids import Grid, page, provenance_of

LAMBDAS = (1.0, 10.0)
# Iterations in a row for which the mean has to outweigh the uncertainty before that counts as a crossing.
_WINDOW = 5
_PARAMETERS = tuple(f"θ{j}" for j in range(1, DIMENSION + 1))
# The paper's Table 7, iteration 59: payouts of mean and uncertainty; its contributions do not add up to them.
SOURCE_PAYOUTS = {1.0: (-84.64, 12.11), 10.0: (-88.75, 44.3)}
# Crossings that the paper reads off its figure 6.
SOURCE_CROSSINGS = {0: 25, 3: 10}


@dataclass(frozen=True)
class Contributions:
    """Mean and sd over runs, each (iteration, parameter)."""

    mean: Array
    mean_sd: Array
    se: Array
    se_sd: Array


def ours(runs: Sequence[EllipsoidRun], lam: float) -> Contributions:
    chosen = [run for run in runs if run.lam == lam]
    mean, se = (np.array([getattr(run, name) for run in chosen]) for name in ("phi_mean", "phi_se"))
    ddof = 1 if len(chosen) > 1 else 0
    return Contributions(mean.mean(axis=0), mean.std(axis=0, ddof=ddof), se.mean(axis=0), se.std(axis=0, ddof=ddof))


def source_file(name: str, data: str | None) -> Path:
    """A file of the runs that the paper published."""
    file = f"shapleymbo/{name}"
    return find_data("This experiment", data, ("",), (file,), "the files that the paper published") / file


def the_source(lam: float, data: str | None) -> Contributions:
    out = {name: np.zeros((N_STEPS, DIMENSION)) for name in ("phi_mean", "phi_mean_sd", "phi_se", "phi_se_sd")}
    with source_file("hyper_ellipsoid_contributions.csv", data).open(encoding="utf-8") as file:
        for row in csv_files.DictReader(file):
            if float(row["lambda"]) == lam:
                for name, table in out.items():
                    table[int(row["iteration"]) - 1, int(row["parameter"][1:]) - 1] = float(row[name])
    return Contributions(out["phi_mean"], out["phi_mean_sd"], -lam * out["phi_se"], lam * out["phi_se_sd"])


def crossing(contributions: Contributions, parameter: int) -> int | None:
    """The first of five iterations in a row in which the mean makes a parameter more attractive than the uncertainty
    does; None if there are none."""
    ahead = contributions.mean[:, parameter] < contributions.se[:, parameter]
    for i in range(len(ahead) - _WINDOW + 1):
        if ahead[i : i + _WINDOW].all():
            return i + 1
    return None


def tables(runs: Sequence[EllipsoidRun], data: str | None) -> list[Grid]:
    grids = [_at_the_look(runs, data), _payouts(runs, data), _crossings(runs, data)]
    return [*grids, _predictions(runs), _exploration(runs), *_blocks(runs, data)]


def _at_the_look(runs: Sequence[EllipsoidRun], data: str | None) -> Grid:
    rows = []
    for lam in LAMBDAS:
        contributions, theirs = ours(runs, lam), the_source(lam, data)
        walks = np.array([run.walk_sd for run in runs if run.lam == lam]).mean(axis=0) / math.sqrt(N_WALKS_SOURCE)
        for k, (what, name) in enumerate((("mean", "mean"), ("se", "−λ se"))):
            for j in range(DIMENSION):
                a, b = getattr(contributions, what)[LOOK - 1, j], getattr(theirs, what)[LOOK - 1, j]
                a_sd = getattr(contributions, f"{what}_sd")[LOOK - 1, j]
                b_sd = getattr(theirs, f"{what}_sd")[LOOK - 1, j]
                rows.append(
                    (f"λ = {lam:g}, φ({name}), {_PARAMETERS[j]}", f"{a:.2f} ({a_sd:.2f})", f"{b:.2f} ({b_sd:.2f})",
                     f"{(a - b) / b_sd:+.2f}", "yes" if abs(a - b) <= b_sd else "no", f"{walks[k, j]:.2f}")
                )  # fmt: skip
    columns = ("contribution", "ours (sd)", "the source (sd)", "difference in its sd", "within one sd",
               f"error of {N_WALKS_SOURCE} walks")  # fmt: skip
    return Grid(f"Iteration {LOOK}: contributions, mean and sd over runs (the source's Table 6)", columns, tuple(rows))


def _payouts(runs: Sequence[EllipsoidRun], data: str | None) -> Grid:
    rows = []
    for lam in LAMBDAS:
        by_author = (ours(runs, lam), the_source(lam, data))
        levels = np.array([run.levels for run in runs if run.lam == lam])[:, LOOK - 1].mean(axis=0)
        payouts = {"mean": levels[0] - levels[1], "se": lam * (levels[3] - levels[2])}
        for k, what in enumerate(("mean", "se")):
            total, source_total = (float(getattr(author, what)[LOOK - 1].sum()) for author in by_author)
            claimed = SOURCE_PAYOUTS[lam][k]
            rows.append(
                (f"λ = {lam:g}, {'mean' if what == 'mean' else '−λ se'}", f"{payouts[what]:.2f}", f"{total:.2f}",
                 f"{total - payouts[what]:+.2f}", f"{claimed:.2f}", f"{source_total:.2f}",
                 f"{source_total - claimed:+.2f}")
            )  # fmt: skip
    columns = ("payout", "ours", "shared out", "gap", "the source", "shared out", "gap")
    return Grid(f"Iteration {LOOK}: payouts, and the sum of what the parameters got", columns, tuple(rows))


def _crossings(runs: Sequence[EllipsoidRun], data: str | None) -> Grid:
    by_author = (ours(runs, 10.0), the_source(10.0, data))
    rows = []
    for j, name in enumerate(_PARAMETERS):
        cells = [str(crossing(contributions, j) or "never") for contributions in by_author]
        rows.append((name, *cells, f"about {SOURCE_CROSSINGS[j]}" if j in SOURCE_CROSSINGS else "–"))
    columns = ("parameter", "ours", "the source's runs", "as the source reads its figure")
    return Grid(
        f"λ = 10: first of {_WINDOW} iterations in a row in which the mean outweighs the uncertainty",
        columns,
        tuple(rows),
    )


def _predictions(runs: Sequence[EllipsoidRun]) -> Grid:
    claims = {1.0: (0.34, 0.73, 85.38, 2.14, 14.25), 10.0: (0.66, 0.72, 89.47, 2.06, 6.49)}
    rows = []
    for lam in LAMBDAS:
        chosen = [run for run in runs if run.lam == lam]
        levels = np.array([run.levels for run in chosen])[:, LOOK - 1].mean(axis=0)
        y = float(np.mean([run.y[LOOK - 1] for run in chosen]))
        rows.append((f"λ = {lam:g}", *(f"{v:.2f}" for v in (y, *levels))))
        rows.append((f"λ = {lam:g}, the source", *(f"{v:.2f}" for v in claims[lam])))
    columns = ("", "y", "mean", "average mean", "se", "average se")
    return Grid(f"Iteration {LOOK}: predictions (Table 7)", columns, tuple(rows))


def _exploration(runs: Sequence[EllipsoidRun]) -> Grid:
    """The paper's measure: standard deviation over iterations 1 to 58 of the mean distance from the optimum."""
    claims = {1.0: (0.24, 0.15, 0.08, 0.07), 10.0: (1.40, 1.31, 1.11, 0.97)}
    rows = []
    for lam in LAMBDAS:
        distance = np.abs(np.array([run.x for run in runs if run.lam == lam])).mean(axis=0)[: LOOK - 1]
        rows.append((f"λ = {lam:g}", *(f"{v:.2f}" for v in distance.std(axis=0, ddof=1))))
        rows.append((f"λ = {lam:g}, the source", *(f"{v:.2f}" for v in claims[lam])))
    return Grid(
        "Exploration of each dimension, iterations 1 to 58 without the design (Table 8)",
        ("", *_PARAMETERS),
        tuple(rows),
    )


def _blocks(runs: Sequence[EllipsoidRun], data: str | None) -> list[Grid]:
    rows = []
    for lam, first, last in ((1.0, 1, 64), (10.0, 1, 10), (10.0, 55, 64)):
        by_author = {"ours": ours(runs, lam), "the source": the_source(lam, data)}
        for what, name in (("mean", "mean"), ("se", "−λ se")):
            for whose, contributions in by_author.items():
                block = getattr(contributions, what)[first - 1 : last].mean(axis=0)
                label = f"λ = {lam:g}, {first} to {last}, φ({name}), {whose}"
                rows.append((label, *(f"{v:.2f}" for v in block)))
    return [Grid("Contributions averaged over iterations (Table 9)", ("", *_PARAMETERS), tuple(rows))]


def markdown(runs: Sequence[EllipsoidRun], data: str | None) -> str:
    per_lambda = len({run.seed for run in runs})
    note = (
        "Contributions to the bound mean − λ se, which is minimised: negative is attractive. Ours come from a closed "
        "form (mean) and from nets with intervals (se); the source's come from 1000 random walks per proposal, whose "
        "standard error (for one proposal) is in the last column of the first table."
    )
    provenance = provenance_of(runs, sum(run.seconds for run in runs))
    return page(f"Hyper-ellipsoid, runs for each λ: {per_lambda}", [note], tables(runs, data), provenance)


def csv(runs: Sequence[EllipsoidRun]) -> str:
    """Mean and sd over runs per λ, iteration and parameter, in the layout of the paper's file."""
    out = io.StringIO()
    writer = csv_files.writer(out, lineterminator="\n")
    writer.writerow(("lambda", "iteration", "parameter", "phi_mean", "phi_mean_sd", "phi_se", "phi_se_sd"))
    for lam in LAMBDAS:
        contributions = ours(runs, lam)
        for i in range(N_STEPS):
            for j in range(DIMENSION):
                numbers = (
                    contributions.mean[i, j],
                    contributions.mean_sd[i, j],
                    -contributions.se[i, j] / lam,
                    contributions.se_sd[i, j] / lam,
                )
                writer.writerow((f"{lam:g}", i + 1, f"x{j + 1}", *(f"{v:.6g}" for v in numbers)))
    return out.getvalue()
