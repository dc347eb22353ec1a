"""``pellucid reproduce hsic``: importance for a goal, and the search in two steps, beside the paper's tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.surfaces.cli.terminal import sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import AsJson, Figures, Jobs, Out, Quiet
from pellucid_lab.terminal import choose, command_line, load_plots, save_figure, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pellucid_lab.papers.hsic.searches import RandomNetwork, SearchRun
    from pellucid_lab.tables.grids import Grid

NETWORKS = ("runge", "bateman", "digits")
EXPERIMENTS = ("examples", *NETWORKS)
_TITLES = {"runge": "Runge's function", "bateman": "Bateman's equations", "digits": "Handwritten digits"}
_PACKAGES = ("pellucid", "optuna", "numpy", "scipy", "scikit-learn")


def hsic(
    experiment: Annotated[str, typer.Option(help="examples, runge, bateman, digits, or all of them.")] = "all",
    configurations: Annotated[
        int | None,
        typer.Option(min=1200, help="Networks of each random search; default: 2000 for runge, 1200 for others."),
    ] = None,
    repetitions: Annotated[int, typer.Option(min=2, help="Repetitions of every search.")] = 10,
    out: Out = Path("hsic"),
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.tables.grids import show_grids

        grids: list[Grid] = []
        for name in choose(experiment, EXPERIMENTS, "--experiment"):
            if name == "examples":
                grids += _examples(out, figures)
            else:
                n_random = configurations or (2000 if name == "runge" else 1200)
                grids += _network(name, n_random, repetitions, out, jobs, figures, quiet)
        show_grids(grids, as_json, quiet)


def _examples(out: Path, figures: bool) -> list[Grid]:
    import optuna

    from pellucid_lab.papers.hsic import examples as hsic_examples
    from pellucid_lab.tables.grids import page, provenance_now

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    grids = [
        hsic_examples.normalisation(),
        hsic_examples.interaction(),
        hsic_examples.conditional(),
        hsic_examples.cost(),
    ]
    note = (
        "The index of equation (9), with its standard error. Example 1: a parameter's own distribution must not "
        "count. Example 2: neither of two parameters matters alone. Example 3: x3 exists only if x2 > t."
    )
    provenance = provenance_now(command_line(), _PACKAGES)
    write(out / "examples.md", page("HSIC towards a goal: the source's examples", [note], grids, provenance))
    if figures:
        load_plots()
        save_figure(conditional_figure(), out / "examples-conditional")
    return grids


def _network(
    name: str, n_random: int, repetitions: int, out: Path, jobs: int, figures: bool, quiet: bool
) -> list[Grid]:
    require_modules(("torch", "sklearn"), "training networks")
    from pellucid_lab.papers.hsic import searches
    from pellucid_lab.runs.files import RunFile
    from pellucid_lab.runs.runner import complete

    random_file = RunFile(out / f"{name}-random.jsonl", searches.RandomNetwork)
    batches = searches.missing_batches(name, n_random, random_file)
    complete(f"{name}, random search", searches.train_batch, batches, random_file, jobs, quiet)
    tasks = [
        searches.SearchTask(name, method, repetition, str(random_file.path), n_random)
        for repetition in range(repetitions)
        for method in searches.METHODS
        # A random search takes (nearly) all of the networks, so its repetitions would be the same.
        if repetition == 0 or method != "random search"
    ]
    file = RunFile(out / f"{name}-searches.jsonl", searches.SearchRun)
    runs = complete(name, searches.run_search, tasks, file, jobs, quiet)
    return _network_page(name, searches.pool(str(random_file.path), n_random), runs, out, figures)


def _network_page(
    name: str, networks: Sequence[RandomNetwork], runs: Sequence[SearchRun], out: Path, figures: bool
) -> list[Grid]:
    import optuna

    from pellucid_lab.papers.hsic import report
    from pellucid_lab.papers.hsic.searches import study_of
    from pellucid_lab.problems.network_tasks import task
    from pellucid_lab.tables.grids import page, provenance_now

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = study_of(networks)
    towards_best, towards_worst, reductions = report.analyses(study)
    grids = [
        report.importance_grid(towards_best, towards_worst),
        *map(report.interval_grid, reductions),
        report.search_grid(runs, task(name).classes),
    ]
    diverged = sum(network.validation is None for network in networks)
    errors = sorted(network.validation for network in networks if network.validation is not None)
    best, fiftieth, tenth = (errors[math.ceil(share * len(errors)) - 1] for share in (1e-9, 0.02, 0.1))
    notes = (
        f"{len(networks)} networks with random settings, of which {diverged} diverged. The best has a validation error "
        f"of {best:.2g}, the best 2% at most {fiftieth:.2g}, the best 10% at most {tenth:.2g}. {towards_best} "
        f"{towards_worst}",
        "\n".join(f"- {sentence}" for sentence in report.sentences(study, reductions, runs)),
        report.bar_sentence(runs),
    )
    provenance = provenance_now(command_line(), (*_PACKAGES, "torch"))
    write(out / f"{name}.md", page(f"{_TITLES[name]}: networks", notes, grids, provenance))
    if figures:
        load_plots()
        save_figure(towards_best.plot(), out / f"{name}-importance")
        for reduction in reductions:
            save_figure(reduction.plot(), out / f"{name}-{reduction.param.replace('_', '-')}")
    return grids


def conditional_figure() -> Any:
    """The paper's figure 7: with groups, how often a conditional parameter exists does not change its index."""
    from pellucid.answers import drawing as plots
    from pellucid_lab.papers.hsic.examples import SHARES, conditional_indices

    indices = [conditional_indices(t) for t in SHARES]
    t = [2.0 * share for share in SHARES]
    shown = {}
    for where, key in (("among all draws", "whole"), ("among the draws that have x3", "group")):
        lines = []
        for k, parameter in enumerate(("x1", "x3")):
            index, stderr = ([getattr(at_t, key)[k][i] for at_t in indices] for i in (0, 1))
            low, high = ([s + way * e for s, e in zip(index, stderr, strict=True)] for way in (-1.0, 1.0))
            lines.append(plots.Line(parameter, t, index, plots.COLOURS[2 * k], low, high))
        shown[where] = lines
    figure = plots.panels(shown, columns=2, x_title="t: x3 exists if x2 > t", y_title="HSIC towards the goal")
    text = "Among the draws that have it, x3 matters as much as x1 for every t; among all draws its index shrinks"
    top = plots.say(figure, text, [], width=112)
    figure.update_layout(height=figure.layout.height + top - 60, margin={"t": top + 24})
    return figure
