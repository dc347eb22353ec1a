"""What sentences about importance and profiles claim beside their verdicts, and how often it is false."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pellucid_lab.tables.grids import Grid
from pellucid_lab.truth import known
from pellucid_lab.truth.measures import TruthRun
from pellucid_lab.truth.problems import find_problem
from pellucid_lab.truth.rates import cells, counted
from pellucid_lab.truth.studies import SAMPLERS

# A parameter comes first if its index is at least this share of the largest one.
_FIRST = 0.95


def kinds_of(runs: Sequence[TruthRun]) -> Iterator[tuple[str, list[TruthRun]]]:
    """Runs by sampler and noise, then all of them, and those of problems that hide their optimum or have branches."""
    for sampler in SAMPLERS:
        for noisy in (False, True):
            chosen = [run for run in runs if run.sampler == sampler and run.noisy == noisy]
            yield f"{sampler}, {'noisy' if noisy else 'exact'}", chosen
    yield "all", list(runs)
    yield "all conditional or deceptive", [run for run in runs if not find_problem(run.problem).safe]


def share_grid(runs: Sequence[TruthRun]) -> Grid:
    rows = []
    for label, chosen in kinds_of(runs):
        covered, exceeded = [], []
        first: dict[str, list[float]] = {"most": [], "probably most": []}
        for cell in cells(chosen, "importance"):
            truth = {index.name: index for index in known.indices(cell.run.problem)}
            for name, _, low, high, verdict, rank in cell.answer:
                index = truth[name]
                covered.append(float(low <= max(index.total, known.NO_EFFECT) and index.total <= high))
                if verdict == "no effect":
                    exceeded.append(float(index.total > max(math.ceil(100.0 * high), 1) / 100.0))
                if rank:
                    largest = max(other.total for other in truth.values() if other.branch == index.branch)
                    first[rank].append(float(index.total >= _FIRST * largest))
        rows.append((label, *map(counted, (covered, exceeded, first["most"], first["probably most"]))))
    columns = (
        "studies",
        "index inside its 95% interval",
        "above “at most”",
        "“matters most” right",
        "“probably” right",
    )
    return Grid("Importance: shares and ranks, all sizes", columns, tuple(rows))


def cost_grid(runs: Sequence[TruthRun]) -> Grid:
    """Of bounds like "expect values up to 0.01 to be at least 0.3 worse": how often the best of those values is less
    worse than the best value that is named."""
    rows = []
    by_problem = [
        (name, [run for run in runs if run.problem == name]) for name in sorted({run.problem for run in runs})
    ]
    for label, chosen in (*kinds_of(runs), *by_problem):
        bounds = [
            (stated, true)
            for cell in cells(chosen, "profile")
            for _, _, _, claims in cell.answer.values()
            for stated, true in claims
        ]
        false = [float(true < stated) for stated, true in bounds]
        far = [float(true < 0.5 * stated) for stated, true in bounds]
        rows.append((label, counted(false), counted(far)))
    columns = ("studies", "costs less than stated", "less than half of it")
    return Grid("Profile effect: “expect … to be at least … worse”", columns, tuple(rows))
