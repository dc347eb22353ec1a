"""The source's tables about the hyper-ellipsoid, ours beside its own, and what the two disagree about.

Notation: contributions are signed as in the source (of the bound that is minimised: negative is attractive); the
uncertainty's are of -lambda se. Arrays have axes run, iteration (from 1 in words, from 0 here), parameter.
"""

from __future__ import annotations

import csv as csv_files
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.cli.errors import Unavailable
from pellucid.numerics import Array
from pellucid_lab.papers.shapley.source import DIMENSION, LOOK, N_STEPS, N_WALKS_SOURCE, EllipsoidRun
from pellucid_lab.problems.yahpo import DATA_VARIABLE, data_folder
from pellucid_lab.tables.output import Grid, grid_markdown, provenance

LAMBDAS = (1.0, 10.0)
_WINDOW = 5
_PARAMETERS = tuple(f"θ{j}" for j in range(1, DIMENSION + 1))
# The source's Table 7, iteration 59: payouts of mean and uncertainty; its contributions do not add up to them.
SOURCE_PAYOUTS = {1.0: (-84.64, 12.11), 10.0: (-88.75, 44.3)}
# Crossings as the source reads them off its figure 6.
SOURCE_CROSSINGS = {0: 25, 3: 10}


@dataclass(frozen=True)
class Contributions:
    """Mean and sd over runs, each (iteration, parameter)."""

    mean: Array
    mean_sd: Array
    se: Array
    se_sd: Array


def ours(runs: Sequence[EllipsoidRun], lam: float) -> Contributions:
    mine = [run for run in runs if run.lam == lam]
    mean, se = (np.array([getattr(run, name) for run in mine]) for name in ("phi_mean", "phi_se"))
    ddof = 1 if len(mine) > 1 else 0
    return Contributions(mean.mean(axis=0), mean.std(axis=0, ddof=ddof), se.mean(axis=0), se.std(axis=0, ddof=ddof))


def source_file(name: str, data: str | None) -> Path:
    root = data_folder(data)
    path = None if root is None else root / "shapleymbo" / name
    if path is None or not path.is_file():
        raise Unavailable(
            f"This experiment is skipped: it needs shapleymbo/{name} of the thesis' own runs; pass --data DIR or set "
            f"{DATA_VARIABLE}=DIR."
        )
    return path


def the_source(lam: float, data: str | None) -> Contributions:
    out = {name: np.zeros((N_STEPS, DIMENSION)) for name in ("phi_mean", "phi_mean_sd", "phi_se", "phi_se_sd")}
    with source_file("hyper_ellipsoid_contributions.csv", data).open(encoding="utf-8") as file:
        for row in csv_files.DictReader(file):
            if float(row["lambda"]) == lam:
                for name, table in out.items():
                    table[int(row["iteration"]) - 1, int(row["parameter"][1:]) - 1] = float(row[name])
    return Contributions(out["phi_mean"], out["phi_mean_sd"], -lam * out["phi_se"], lam * out["phi_se_sd"])


def crossing(found: Contributions, parameter: int) -> int | None:
    """The first iteration from which the mean makes a parameter more attractive than the uncertainty does, for five
    iterations in a row; None when that never happens."""
    ahead = found.mean[:, parameter] < found.se[:, parameter]
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
        mine, theirs = ours(runs, lam), the_source(lam, data)
        walks = np.array([run.walk_sd for run in runs if run.lam == lam]).mean(axis=0) / math.sqrt(N_WALKS_SOURCE)
        for k, (what, name) in enumerate((("mean", "mean"), ("se", "−λ se"))):
            for j in range(DIMENSION):
                a, b = getattr(mine, what)[LOOK - 1, j], getattr(theirs, what)[LOOK - 1, j]
                a_sd, b_sd = getattr(mine, f"{what}_sd")[LOOK - 1, j], getattr(theirs, f"{what}_sd")[LOOK - 1, j]
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
        mine, theirs = ours(runs, lam), the_source(lam, data)
        levels = np.array([run.levels for run in runs if run.lam == lam])[:, LOOK - 1].mean(axis=0)
        payouts = {"mean": levels[0] - levels[1], "se": lam * (levels[3] - levels[2])}
        for k, what in enumerate(("mean", "se")):
            total, source_total = (float(getattr(one, what)[LOOK - 1].sum()) for one in (mine, theirs))
            claimed = SOURCE_PAYOUTS[lam][k]
            rows.append(
                (f"λ = {lam:g}, {'mean' if what == 'mean' else '−λ se'}", f"{payouts[what]:.2f}", f"{total:.2f}",
                 f"{total - payouts[what]:+.2f}", f"{claimed:.2f}", f"{source_total:.2f}",
                 f"{source_total - claimed:+.2f}")
            )  # fmt: skip
    columns = ("payout", "ours", "shared out", "gap", "the source", "shared out", "gap")
    return Grid(f"Iteration {LOOK}: payouts, and the sum of what the parameters got", columns, tuple(rows))


def _crossings(runs: Sequence[EllipsoidRun], data: str | None) -> Grid:
    mine, theirs = ours(runs, 10.0), the_source(10.0, data)
    rows = []
    for j, name in enumerate(_PARAMETERS):
        cells = [str(crossing(one, j) or "never") for one in (mine, theirs)]
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
        mine = [run for run in runs if run.lam == lam]
        levels = np.array([run.levels for run in mine])[:, LOOK - 1].mean(axis=0)
        y = float(np.mean([run.y[LOOK - 1] for run in mine]))
        rows.append((f"λ = {lam:g}", *(f"{v:.2f}" for v in (y, *levels))))
        rows.append((f"λ = {lam:g}, the source", *(f"{v:.2f}" for v in claims[lam])))
    columns = ("", "y", "mean", "average mean", "se", "average se")
    return Grid(f"Iteration {LOOK}: predictions (Table 7)", columns, tuple(rows))


def _exploration(runs: Sequence[EllipsoidRun]) -> Grid:
    """Standard deviation over iterations 1 to 58 of the mean distance from the optimum, as the source measures it."""
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
        mine, theirs = ours(runs, lam), the_source(lam, data)
        for what, name in (("mean", "mean"), ("se", "−λ se")):
            for whose, one in (("ours", mine), ("the source", theirs)):
                block = getattr(one, what)[first - 1 : last].mean(axis=0)
                label = f"λ = {lam:g}, {first} to {last}, φ({name}), {whose}"
                rows.append((label, *(f"{v:.2f}" for v in block)))
    return [Grid("Contributions averaged over iterations (Table 9)", ("", *_PARAMETERS), tuple(rows))]


def markdown(runs: Sequence[EllipsoidRun], data: str | None) -> str:
    per_lambda = len({run.seed for run in runs})
    parts = [
        f"# Hyper-ellipsoid, runs for each λ: {per_lambda}\n",
        "Contributions to the bound mean − λ se, which is minimised: negative is attractive. Ours come from a closed "
        "form (mean) and from nets with intervals (se); the source's from 1000 random walks per proposal, whose "
        "standard error (of one proposal) is in the last column of the first table.\n",
    ]
    for grid in tables(runs, data):
        parts += [f"## {grid.title}\n", grid_markdown(grid)]
    dates = sorted(run.date for run in runs)
    commands = tuple(dict.fromkeys(run.command for run in runs))
    machines = tuple(dict.fromkeys(run.machine for run in runs))
    minutes = sum(run.seconds for run in runs) / 60
    text = provenance(commands, f"{dates[0]} to {dates[-1]}", runs[0].versions, machines)
    return "\n".join([*parts, text.rstrip("\n") + f" · {minutes:.0f} minutes of one core\n"])


def csv(runs: Sequence[EllipsoidRun]) -> str:
    """Mean and sd over runs per λ, iteration and parameter, in the layout of the source's file."""
    out = io.StringIO()
    writer = csv_files.writer(out, lineterminator="\n")
    writer.writerow(("lambda", "iteration", "parameter", "phi_mean", "phi_mean_sd", "phi_se", "phi_se_sd"))
    for lam in LAMBDAS:
        found = ours(runs, lam)
        for i in range(N_STEPS):
            for j in range(DIMENSION):
                numbers = (found.mean[i, j], found.mean_sd[i, j], -found.se[i, j] / lam, found.se_sd[i, j] / lam)
                writer.writerow((f"{lam:g}", i + 1, f"x{j + 1}", *(f"{v:.6g}" for v in numbers)))
    return out.getvalue()
