"""``pellucid reproduce bobax``: how well a search learns effects, beside the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.surfaces.cli.terminal import sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import AsJson, Data, Figures, Jobs, Out, Quiet
from pellucid_lab.terminal import choose, command_line, integers, load_plots, save_figure, write

if TYPE_CHECKING:
    from pellucid_lab.papers.bobax.experiment import EffectRun

EXPERIMENTS = ("source", "source-lcbench", "fitted", "fitted-lcbench")
# More seeds for experiments whose runs are short.
SEEDS = {"source": "0-19", "source-lcbench": "0-9", "fitted": "0-19", "fitted-lcbench": "0-9"}


def bobax(
    experiment: Annotated[
        str, typer.Option(help="source, source-lcbench, fitted, fitted-lcbench, or all of them.")
    ] = "all",
    seeds: Annotated[str, typer.Option(help="Like 0-19; default: 0-19, and 0-9 on lcbench.")] = "",
    out: Out = Path("bobax"),
    data: Data = None,
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.papers.bobax import tables
        from pellucid_lab.papers.bobax.experiment import effect_file
        from pellucid_lab.papers.bobax.runs import plan, run_effect_task
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import show_grids

        chosen = choose(experiment, EXPERIMENTS, "--experiment")
        if any(name.endswith("lcbench") for name in chosen):
            require_lcbench(data)
        grids = []
        for name in chosen:
            tasks = plan(name, integers(seeds or SEEDS[name], "--seeds"), data, command_line())
            runs = complete(name, run_effect_task, tasks, effect_file(out / f"{name}.jsonl"), jobs, quiet)
            grids += tables.tables_of(name, runs)
            write(out / f"{name}.md", tables.markdown(name, runs))
            write(out / f"{name}.csv", tables.csv(runs))
            if figures:
                _draw(name, runs, out)
        fitted = [run for name in ("fitted", "fitted-lcbench") for run in effect_file(out / f"{name}.jsonl").read()]
        if {run.experiment for run in fitted} == {"fitted", "fitted-lcbench"}:
            grids += tables.coverage_tables(fitted)
            write(out / "coverage.md", tables.coverage_markdown(fitted))
        show_grids(grids, as_json, quiet)


def require_lcbench(data: str | None) -> None:
    from pellucid_lab.problems.yahpo import LCBENCH, scenario_folder

    require_modules(("onnxruntime",), "an experiment on lcbench")
    scenario_folder(LCBENCH, data)


# ---------------------------------------------------------------------- figures


def _draw(name: str, runs: list[EffectRun], out: Path) -> None:
    load_plots()
    if name == "source":
        shown = {"source-errors": _errors_over_time(runs)}
    elif name == "fitted":
        shown = {f"effect-{problem}": _against_truth(runs, problem) for problem in FUNCTIONS_SHOWN}
    else:
        shown = {"effect-lcbench": _against_truth(runs, TASK_SHOWN)} if name == "fitted-lcbench" else {}
    for file, figure in shown.items():
        if figure is not None:
            save_figure(figure, out / file)


# What figures show.
FUNCTIONS_SHOWN = ("branin", "styblinski-tang", "hartmann6")
TASK_SHOWN = "lcbench-3945"
METHODS_SHOWN = ("rs", "ei", "bobax-2", "a-bobax")


def _errors_over_time(runs: list[EffectRun]) -> Any:
    from pellucid_lab.papers.bobax.tables import methods_in, relative
    from pellucid_lab.tables.figures import curves

    methods = [m for m in methods_in(runs) if m in ("rs", "ei", "pvar", "ei-rs-2", "bax-band", "bobax-2", "bobax-path")]
    series = {method: relative(runs, method, "rs", lambda run: run.d) for method in methods}
    end = series["bobax-2"][-1]
    return curves(
        series,
        title=f"While searching, bobax-2 learns effects with {-100 * end:.0f}% smaller errors than random search",
        x_title="quarters of the evaluations",
        y_title="error of the effect relative to random search",
        bold=("bobax-2",),
    )


def _against_truth(runs: list[EffectRun], problem: str) -> Any:
    """Estimated and true effect after more and more evaluations, one row per method; None without such runs."""
    from pellucid_lab.tables.figures import against_truth

    rows = {}
    for method in METHODS_SHOWN:
        shown = next((run for run in runs if run.key[1:] == (problem, method, 0) and run.curves), None)
        if shown is not None:
            rows[method] = {f"{n} evaluations": curve for n, curve in zip(shown.sizes, shown.curves, strict=True)}
            truth = shown.truth
    if not rows:
        return None
    last = {method: list(curves.values())[-1][0] for method, curves in rows.items()}
    errors = {m: sum(abs(a - b) for a, b in zip(curve, truth, strict=True)) / len(truth) for m, curve in last.items()}
    listed = ", ".join(f"{method} {error:.2g}" for method, error in errors.items())
    return against_truth(rows, truth, title=f"{problem}, one run: mean error of the first effect at the end: {listed}")
