"""``pellucid bench ranking``: what learning from earlier studies costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.terminal import STOPPED, say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import AsJson, Data, Quiet
from pellucid_lab.terminal import collect, command_line, integers, progress_bar, write

if TYPE_CHECKING:
    from pellucid_lab.costs.ranking import Measurement, SpeedPlan, TrainingTime

_PACKAGES = ("pellucid", "optuna", "numpy", "scipy", "torch")
# The ranking surrogate is fine-tuned from this many observations on.
_FINE_TUNING_STARTS = 9


def ranking(
    data: Data = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of meta-training in the race of ten members.")] = 100,
    turns: Annotated[int, typer.Option(min=1, help="How often each contestant of a race is timed.")] = 5,
    observations: Annotated[
        str, typer.Option(help="Numbers of observations in the races of fine-tuning, separated by commas.")
    ] = "20,50",
    trials: Annotated[
        str, typer.Option(help="Numbers of finished trials before a timed ask, separated by commas.")
    ] = "10,20,30,50",
    asks: Annotated[int, typer.Option(min=1, help="Timed asks, each in its own study, for every number.")] = 11,
    full: Annotated[bool, typer.Option(help="Also time meta-training with the default recipe.")] = True,
    out: Annotated[Path | None, typer.Option(help="Write the tables as a page of Markdown to this file.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        require_modules(("torch", "safetensors", "onnxruntime"), "the ranking surrogate")
        from pellucid_lab.costs import ranking as speed
        from pellucid_lab.costs.load import load_per_core
        from pellucid_lab.papers.ranking.experiments import COLLECTIONS
        from pellucid_lab.tables.grids import page, provenance_now, show_grids

        plan = speed.SpeedPlan(
            data, COLLECTIONS, steps, turns, _counts(observations, "--observations"), _counts(trials, "--trials"), asks
        )
        note = speed.note(load_per_core())
        measurements: list[Measurement]
        measurements, stopped = collect(
            "ranking", speed.measure(plan), plan.measurements, quiet, lambda measurement: measurement.label
        )
        if full and not stopped:
            try:
                measurements.append(_full_training(plan, quiet))
            except KeyboardInterrupt:
                stopped = True
        grids = speed.grids(measurements)
        if out is not None:
            provenance = provenance_now(command_line(), _PACKAGES)
            write(out, page("What the ranking surrogate costs", [note], grids, provenance))
        show_grids(grids, as_json, quiet)
        if stopped:
            say(f"Stopped after {len(measurements)} of {plan.measurements + full} measurements.")
            raise typer.Exit(STOPPED)


def _full_training(plan: SpeedPlan, quiet: bool) -> TrainingTime:
    from pellucid.models.ranking.training import Recipe
    from pellucid_lab.costs.ranking import full_training

    recipe = Recipe()
    with progress_bar("meta-training", recipe.steps, quiet) as advance:
        return full_training(plan, recipe, lambda _: advance(""))


def _counts(text: str, option: str) -> tuple[int, ...]:
    counts = integers(text, option)
    if min(counts) < _FINE_TUNING_STARTS:
        raise Mistake(
            f"{option} lists numbers of at least {_FINE_TUNING_STARTS}, at which fine-tuning begins; got {min(counts)}."
        )
    return counts
