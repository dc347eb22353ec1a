"""Milliseconds per ask as tables for the terminal, Markdown and JSON."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from pellucid_lab.costs.latency import Latency
from pellucid_lab.costs.load import busy_sentences
from pellucid_lab.tables.grids import Grid, page, provenance


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
        timings = [latency.find(method, n) for method in plan.methods]
        times = [
            "–" if timing is None else "failed" if timing.ms is None else f"{timing.ms:.1f} ({len(timing.seconds)})"
            for timing in timings
        ]
        ratios = [latency.ratio(method, n) for method in others]
        rows.append((str(n), *times, *("–" if ratio is None else f"{ratio:.1f}×" for ratio in ratios)))
    title = f"Median ms per ask and tell (steps timed), BBOB f{plan.function}, {plan.dim}-d, one thread each"
    return [Grid(title, tuple(columns), tuple(rows))]


def latency_sentences(latency: Latency) -> list[str]:
    """Failures, a warning if the machine was busy, and the time of the complete run."""
    failed = [timing for timing in latency.timings if timing.error is not None]
    sentences = [f"{timing.method} failed at n = {timing.n}: {timing.error}" for timing in failed]
    sentences += busy_sentences(latency.load)
    run = latency.full_run
    if run is None:
        return sentences
    what = f"A complete {run.n_init} + {run.n_steps} evaluation run of {run.method} in {run.dim} dimensions"
    if run.sampler_s is None:
        return [*sentences, f"{what} failed: {run.error}"]
    return [*sentences, f"{what} took {run.sampler_s:.2f} s of sampler time."]


def latency_markdown(latency: Latency) -> str:
    (grid,) = latency_grids(latency)
    origin = provenance((latency.command,), latency.date, latency.versions, (latency.machine,))
    return page(grid.title, [], [replace(grid, title="")], origin, latency_sentences(latency))


def latency_json(latency: Latency) -> dict[str, Any]:
    timings = [
        {**asdict(timing), "ms": timing.ms, "ratio": latency.ratio(timing.method, timing.n)}
        for timing in latency.timings
    ]
    return {**asdict(latency), "timings": timings}
