"""``pellucid reproduce bobax``: how well effects are known while searching, beside the source's tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.terminal import sentences
from pellucid_lab.base import require_modules
from pellucid_lab.terminal import AsJson, Figures, Jobs, Quiet, command_line, integers, load_plots, save_figure, write

if TYPE_CHECKING:
    from pellucid_lab.papers.bobax.experiment import EffectRun

EXPERIMENTS = ("source", "source-lcbench", "fitted", "fitted-lcbench")
SEEDS = {"source": "0-19", "source-lcbench": "0-9", "fitted": "0-19", "fitted-lcbench": "0-9"}


def bobax(
    experiment: Annotated[
        str, typer.Option(help="source, source-lcbench, fitted, fitted-lcbench, or all of them.")
    ] = "all",
    seeds: Annotated[str, typer.Option(help="Like 0-19; default 0-19, and 0-9 on lcbench.")] = "",
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and figures.")] = Path("bobax"),
    data: Annotated[str | None, typer.Option(help="Folder with the YAHPO data (lcbench).")] = None,
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Effects and regret of BOBAX, its variants and its baselines; coverage of the bands; a-BOBAX on tuned networks."""
    with sentences():
        if experiment not in (*EXPERIMENTS, "all"):
            raise Mistake(f"--experiment is one of {', '.join(EXPERIMENTS)} or all; got `{experiment}`.")
        from pellucid_lab.papers.bobax import tables as effect_tables
        from pellucid_lab.papers.bobax.experiment import read

        chosen = EXPERIMENTS if experiment == "all" else (experiment,)
        if any(name.endswith("lcbench") for name in chosen):
            require_lcbench(data)
        tables = []
        for name in chosen:
            file = out / f"{name}.jsonl"
            wanted = _run(name, integers(seeds or SEEDS[name], "--seeds"), file, data, jobs, quiet)
            runs = [run for run in read(file) if run.key in wanted]
            tables += effect_tables.tables_of(name, runs)
            write(out / f"{name}.md", effect_tables.markdown(name, runs))
            write(out / f"{name}.csv", effect_tables.csv(runs))
            if figures:
                _draw(name, runs, out)
        both = [run for name in ("fitted", "fitted-lcbench") for run in read(out / f"{name}.jsonl")]
        if {run.experiment for run in both} == {"fitted", "fitted-lcbench"}:
            tables += effect_tables.coverage_tables(both)
            write(out / "coverage.md", effect_tables.coverage_markdown(both))
        from pellucid_lab.tables.output import show_grids

        show_grids(tables, as_json, quiet)


def require_lcbench(data: str | None) -> None:
    from pellucid_lab.problems.yahpo import LCBENCH, scenario_folder

    require_modules(("onnxruntime",), "an experiment on lcbench")
    scenario_folder(LCBENCH, data)


def _run(
    name: str, seeds: tuple[int, ...], file: Path, data: str | None, jobs: int, quiet: bool
) -> set[tuple[str, str, str, int]]:
    """Run what the file lacks; returns the keys of the experiment."""
    from pellucid_lab.papers.bobax.experiment import read
    from pellucid_lab.papers.bobax.runs import plan, run_task
    from pellucid_lab.runs.resumable import run_with_bar

    planned = plan(name, seeds, data, command_line())
    wanted = {task.key for task in planned}
    run_with_bar(name, run_task, planned, {run.key for run in read(file)}, file, jobs, quiet)
    return wanted


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


FUNCTIONS_SHOWN = ("branin", "styblinski-tang", "hartmann6")
TASK_SHOWN = "lcbench-3945"
METHODS_SHOWN = ("rs", "ei", "bobax-2", "a-bobax")


def _errors_over_time(runs: list[EffectRun]) -> Any:
    from pellucid import plots
    from pellucid_lab.papers.bobax.tables import methods_in, relative

    here = methods_in(runs)
    wanted = [m for m in here if m in ("rs", "ei", "pvar", "ei-rs-2", "bax-band", "bobax-2", "bobax-path")]
    series = {method: relative(runs, method, "rs", lambda run: run.d) for method in wanted}
    end = series["bobax-2"][-1]
    return plots.curves(
        series,
        title=f"Errors of effects are {-100 * end:.0f} % smaller than by random search, while searching (bobax-2)",
        x_title="quarters of the evaluations",
        y_title="error of the effect relative to random search",
        bold=("bobax-2",),
    )


def _against_truth(runs: list[EffectRun], problem: str) -> Any:
    """Estimated and true effect after more and more evaluations, one row per method; None without such runs."""
    from pellucid import plots

    rows = {}
    for method in METHODS_SHOWN:
        mine = next((r for r in runs if (r.problem, r.method, r.seed) == (problem, method, 0) and r.curves), None)
        if mine is not None:
            rows[method] = {f"{n} evaluations": curve for n, curve in zip(mine.sizes, mine.curves, strict=True)}
            truth = mine.truth
    if not rows:
        return None
    last = {method: list(curves.values())[-1][0] for method, curves in rows.items()}
    errors = {m: sum(abs(a - b) for a, b in zip(curve, truth, strict=True)) / len(truth) for m, curve in last.items()}
    said = ", ".join(f"{method} {error:.2g}" for method, error in errors.items())
    return plots.against_truth(
        rows, truth, title=f"{problem}, one run: mean error of the first effect in the end: {said}"
    )
