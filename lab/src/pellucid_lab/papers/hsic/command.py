"""``pellucid reproduce hsic``: what matters for a goal, and searching in two steps, beside the source's tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.terminal import STOPPED, say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.terminal import (
    AsJson,
    Figures,
    Jobs,
    Quiet,
    command_line,
    load_plots,
    progress_bar,
    save_figure,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pellucid_lab.papers.hsic.searches import Drawn, Found
    from pellucid_lab.tables.output import Grid

NETWORKS = ("runge", "bateman", "digits")
EXPERIMENTS = ("examples", *NETWORKS)


def hsic(
    experiment: Annotated[str, typer.Option(help="examples, runge, bateman, digits, or all of them.")] = "all",
    configurations: Annotated[
        int | None, typer.Option(min=1200, help="Of each random search; 2000 for runge and 1200 for the others.")
    ] = None,
    repetitions: Annotated[int, typer.Option(min=2, help="Of every search.")] = 10,
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and figures.")] = Path("hsic"),
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """The source's three examples, and networks for Runge's function, Bateman's equations and handwritten digits."""
    with sentences():
        if experiment not in (*EXPERIMENTS, "all"):
            raise Mistake(f"--experiment is one of {', '.join(EXPERIMENTS)} or all; got `{experiment}`.")
        grids: list[Grid] = []
        for name in EXPERIMENTS if experiment == "all" else (experiment,):
            if name == "examples":
                grids += _examples(out, figures)
            else:
                drawn = configurations or (2000 if name == "runge" else 1200)
                grids += _network(name, drawn, repetitions, out, jobs, figures, quiet)
        from pellucid_lab.tables.output import show_grids

        show_grids(grids, as_json, quiet)


def _examples(out: Path, figures: bool) -> list[Grid]:
    import optuna

    from pellucid_lab.papers.hsic import examples as hsic_examples
    from pellucid_lab.tables.output import page_markdown

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    grids = [
        hsic_examples.normalisation(),
        hsic_examples.interaction(),
        hsic_examples.conditional(),
        hsic_examples.cost(),
    ]
    note = (
        "The index of equation (9), with its standard error. Example 1: a parameter's own distribution must not "
        "count. Example 2: neither of two parameters matters alone. Example 3: x3 exists where x2 > t only."
    )
    write(out / "examples.md", page_markdown("HSIC towards a goal: the source's examples", note, grids, command_line()))
    if figures:
        load_plots()
        save_figure(conditional_figure(), out / "examples-conditional")
    return grids


def _network(
    name: str, configurations: int, repetitions: int, out: Path, jobs: int, figures: bool, quiet: bool
) -> list[Grid]:
    require_modules(("torch", "sklearn"), "training networks")
    from pellucid_lab.papers.hsic import searches as hsic_networks
    from pellucid_lab.runs.resumable import read, run_with_bar

    drawn = out / f"{name}-random.jsonl"
    parts = hsic_networks.missing_parts(name, configurations, drawn)
    try:
        with progress_bar(f"{name}, random search", len(parts), quiet) as advance:
            for words in hsic_networks.random_search(parts, drawn, jobs):
                advance(words)
    except KeyboardInterrupt:
        say(f"Stopped: what was trained is in {drawn}; the same command continues.")
        raise typer.Exit(STOPPED) from None
    searches = [
        hsic_networks.Search(name, method, repetition, str(drawn), configurations)
        for repetition in range(repetitions)
        for method in hsic_networks.METHODS
        # Repetitions of a search that takes (nearly) all there is would be one and the same.
        if repetition == 0 or method != "random search"
    ]
    file = out / f"{name}-searches.jsonl"
    done = {one.key for one in read(file, hsic_networks.Found)}
    run_with_bar(name, hsic_networks.run_search, searches, done, file, jobs, quiet)
    wanted = {one.key for one in searches}
    found = [one for one in read(file, hsic_networks.Found) if one.key in wanted]
    return _network_page(name, hsic_networks.pool(str(drawn), configurations), found, out, figures)


def _network_page(name: str, drawn: Sequence[Drawn], found: Sequence[Found], out: Path, figures: bool) -> list[Grid]:
    import optuna

    from pellucid_lab.papers.hsic import report as hsic_report
    from pellucid_lab.papers.hsic import searches as hsic_networks
    from pellucid_lab.problems.network_tasks import task
    from pellucid_lab.tables.output import page_markdown

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = hsic_networks.study_of(drawn)
    good, bad, reductions = hsic_report.analyses(study)
    grids = [
        hsic_report.importance_grid(good, bad),
        *map(hsic_report.interval_grid, reductions),
        hsic_report.search_grid(found, task(name).classes),
    ]
    diverged = sum(one.validation is None for one in drawn)
    errors = sorted(one.validation for one in drawn if one.validation is not None)
    best, fiftieth, tenth = (errors[math.ceil(share * len(errors)) - 1] for share in (1e-9, 0.02, 0.1))
    note = "\n\n".join(
        (
            f"{len(drawn)} networks with random settings ({diverged} of them diverged to no number). The best has a "
            f"validation error of {best:.2g}, the best 2 % up to {fiftieth:.2g}, the best 10 % up to {tenth:.2g}. "
            f"{good} {bad}",
            "\n".join(f"- {one}" for one in hsic_report.sentences(study, reductions, found)),
            hsic_report.bar_sentence(found),
        )
    )
    title = {"runge": "Runge's function", "bateman": "Bateman's equations", "digits": "Handwritten digits"}[name]
    packages = ("pellucid", "optuna", "numpy", "scipy", "scikit-learn", "torch")
    write(out / f"{name}.md", page_markdown(f"{title}: networks", note, grids, command_line(), packages))
    if figures:
        load_plots()
        for figure, what in ((good.plot(), "importance"), *((one.plot(), one.param) for one in reductions)):
            save_figure(figure, out / f"{name}-{what.replace('_', '-')}")
    return grids


def conditional_figure() -> Any:
    """The source's figure 7: with groups, how often a conditional parameter exists does not change its index."""
    from pellucid import plots
    from pellucid_lab.papers.hsic.examples import SHARES, conditional_indices

    found = [conditional_indices(t) for t in SHARES]
    t = [2.0 * share for share in SHARES]
    shown = {}
    for where, key in (("among all draws", "whole"), ("among the draws that have x3", "group")):
        lines = []
        for k, parameter in enumerate(("x1", "x3")):
            index, stderr = ([getattr(one, key)[k][i] for one in found] for i in (0, 1))
            low, high = ([s + way * e for s, e in zip(index, stderr, strict=True)] for way in (-1.0, 1.0))
            lines.append(plots.Line(parameter, t, index, plots.COLOURS[2 * k], low, high))
        shown[where] = lines
    figure = plots.panels(shown, columns=2, x_title="t: x3 exists where x2 > t", y_title="HSIC towards the goal")
    text = "Among the draws that have it, x3 matters as much as x1 whatever t is; among all draws it fades"
    top = plots.say(figure, text, [], width=112)
    figure.update_layout(height=figure.layout.height + top - 60, margin={"t": top + 24})
    return figure
