"""``pellucid bench ranking``: what learning from earlier studies costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.terminal import STOPPED, say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.terminal import AsJson, Quiet, command_line, integers, progress_bar, write

if TYPE_CHECKING:
    from pellucid_lab.costs.ranking import Asks, Plan, Race, Training

_PACKAGES = ("pellucid", "optuna", "numpy", "scipy", "torch")


def ranking(
    data: Annotated[str | None, typer.Option(help="Folder with yahpo/ and meta/; default $PELLUCID_DATA.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of meta-training in the race of ten members.")] = 100,
    turns: Annotated[int, typer.Option(min=1, help="How often every contestant of a race is timed.")] = 5,
    observations: Annotated[str, typer.Option(help="Of fine-tuning in the race, with commas.")] = "20,50",
    trials: Annotated[str, typer.Option(help="Finished trials of a study that asks, with commas.")] = "10,20,30,50",
    asks: Annotated[int, typer.Option(min=1, help="Studies that ask, for every number of trials.")] = 11,
    full: Annotated[bool, typer.Option(help="Also time meta-training with the default recipe.")] = True,
    out: Annotated[Path | None, typer.Option(help="Write the tables as a page of Markdown to this file.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Seconds of ten members at once and one by one, of an ask with fine-tuning, and of meta-training."""
    with sentences():
        require_modules(("torch", "safetensors", "onnxruntime"), "the ranking surrogate")
        from pellucid_lab.costs import ranking as speed
        from pellucid_lab.costs.latency import load_per_core
        from pellucid_lab.papers.ranking.experiments import COLLECTIONS
        from pellucid_lab.tables.output import page_markdown

        plan = speed.Plan(
            data, COLLECTIONS, steps, turns, _counts(observations, "--observations"), _counts(trials, "--trials"), asks
        )
        note = speed.note(load_per_core())
        found: list[Race | Asks | Training] = []
        stopped = False
        try:
            with progress_bar("ranking", plan.measurements, quiet) as advance:
                for one in speed.measure(plan):
                    found.append(one)
                    advance(one.name if isinstance(one, speed.Race) else f"{one.collection}, {one.trials} trials")
            if full:
                found.append(_full(plan, quiet))
        except KeyboardInterrupt:
            stopped = True
        grids = speed.grids(found)
        if out is not None:
            write(out, page_markdown("What the ranking surrogate costs", note, grids, command_line(), _PACKAGES))
        from pellucid_lab.tables.output import show_grids

        show_grids(grids, as_json, quiet)
        if stopped:
            say(f"Stopped after {len(found)} of {plan.measurements + full} measurements.")
            raise typer.Exit(STOPPED)


def _full(plan: Plan, quiet: bool) -> Training:
    from pellucid.surrogates.ranking.training import Recipe
    from pellucid_lab.costs.ranking import full_training

    recipe = Recipe()
    with progress_bar("meta-training", recipe.steps, quiet) as advance:
        return full_training(plan, recipe, lambda _: advance(""))


def _counts(text: str, option: str) -> tuple[int, ...]:
    """Fine-tuning begins with the ninth observation."""
    found = integers(text, option)
    if min(found) < 9:
        raise Mistake(f"{option} lists numbers of at least 9, where fine-tuning begins; got {min(found)}.")
    return found
