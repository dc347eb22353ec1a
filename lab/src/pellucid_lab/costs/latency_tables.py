"""Milliseconds per ask as tables: for people, for Markdown and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pellucid_lab.costs.latency import Latency
from pellucid_lab.tables.output import BUSY, Grid, grid_markdown, provenance


def latency_grids(latency: Latency) -> list[Grid]:
    plan = latency.plan
    first, *others = plan.methods
    columns = [
        "n",
        *(f"{method} ms" for method in plan.methods),
        *(f"{method} / {first}" for method in others),
    ]
    rows = []
    for n in plan.sizes:
        found = [latency.find(method, n) for method in plan.methods]
        times = [
            "–" if one is None else "failed" if one.ms is None else f"{one.ms:.1f} ({len(one.seconds)})"
            for one in found
        ]
        ratios = [latency.ratio(method, n) for method in others]
        rows.append((str(n), *times, *("–" if one is None else f"{one:.1f}×" for one in ratios)))
    title = f"Median ms per ask and tell (steps timed), BBOB f{plan.function}, {plan.dim}-d, one thread each"
    return [Grid(title, tuple(columns), tuple(rows))]


def latency_sentences(latency: Latency) -> list[str]:
    run = latency.full_run
    sentences = [f"{one.method} failed at n = {one.n}: {one.error}" for one in latency.timings if one.error is not None]
    if latency.load > BUSY:
        sentences.append(
            f"The machine was busy before the start (load average {latency.load:.2f} per core): do not "
            f"trust these times, measure again on an idle machine."
        )
    if run is None:
        return sentences
    what = f"A complete {run.n_init} + {run.n_steps} evaluation run of {run.method} in {run.dim} dimensions"
    if run.sampler_s is None:
        return [*sentences, f"{what} failed: {run.error}"]
    return [*sentences, f"{what} took {run.sampler_s:.2f} s of sampler time."]


def latency_markdown(latency: Latency) -> str:
    (grid,) = latency_grids(latency)
    parts = [f"# {grid.title}\n", grid_markdown(grid)]
    parts += [f"{sentence}\n" for sentence in latency_sentences(latency)]
    parts.append(provenance((latency.command,), latency.date, latency.versions, (latency.machine,)))
    return "\n".join(parts)


def latency_json(latency: Latency) -> dict[str, Any]:
    timings = [{**asdict(one), "ms": one.ms, "ratio": latency.ratio(one.method, one.n)} for one in latency.timings]
    return {**asdict(latency), "timings": timings}
