"""``pellucid reproduce shapley``: explanations of proposals, beside the source's tables."""

from __future__ import annotations

import time
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
    integers,
    load_plots,
    progress_bar,
    save_figure,
    write,
)

if TYPE_CHECKING:
    from pellucid_lab.papers.shapley.source import EllipsoidRun
    from pellucid_lab.tables.output import Grid

EXPERIMENTS = ("interaction", "ellipsoid", "forest")
COST_TRIALS = (105, 110, 115, 120, 125)


def shapley(
    experiment: Annotated[str, typer.Option(help="interaction, ellipsoid, forest, or all of them.")] = "all",
    seeds: Annotated[str, typer.Option(help="Of the ellipsoid's runs, for each λ.")] = "0-29",
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and figures.")] = Path("shapley"),
    data: Annotated[str | None, typer.Option(help="Folder with the source's data (shapleymbo/).")] = None,
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """The interaction example, the hyper-ellipsoid with λ = 1 and 10, and a tuned network (a forest stands for it)."""
    with sentences():
        if experiment not in (*EXPERIMENTS, "all"):
            raise Mistake(f"--experiment is one of {', '.join(EXPERIMENTS)} or all; got `{experiment}`.")
        chosen = EXPERIMENTS if experiment == "all" else (experiment,)
        grids: list[Grid] = []
        for name in chosen:
            if name == "interaction":
                grids += _interaction(out)
            elif name == "ellipsoid":
                grids += _ellipsoid(integers(seeds, "--seeds"), out, data, jobs, figures, quiet)
            else:
                grids += _forest(out, data, figures, quiet)
        from pellucid_lab.tables.output import show_grids

        show_grids(grids, as_json, quiet)


def _interaction(out: Path) -> list[Grid]:
    require_modules(("sklearn",), "the interaction example")
    from pellucid_lab.papers.shapley.forest import interaction_example
    from pellucid_lab.papers.shapley.report import interaction_tables
    from pellucid_lab.tables.output import page_markdown

    grids = interaction_tables(interaction_example())
    note = (
        "The function is minimised; the ablation starts at (0.5, 0.5, 0.5). Shapley values of the function itself are "
        "exact: −1/2, −1/8, −1/8 of what is minimised. The forest is fitted to 10,000 noisy values, as in the source."
    )
    write(out / "interaction.md", page_markdown("An interaction, shared out", note, grids, command_line()))
    return grids


def _ellipsoid(
    seeds: tuple[int, ...], out: Path, data: str | None, jobs: int, figures: bool, quiet: bool
) -> list[Grid]:
    from pellucid_lab.papers.shapley import tables as shapley_tables
    from pellucid_lab.papers.shapley.source import EllipsoidRun, Task, run_task
    from pellucid_lab.runs.resumable import read, run_with_bar

    shapley_tables.the_source(1.0, data)  # Before anything slow: the data must be there.
    file = out / "ellipsoid.jsonl"
    tasks = [Task(lam, seed, command_line()) for seed in seeds for lam in shapley_tables.LAMBDAS]
    run_with_bar("ellipsoid", run_task, tasks, {run.key for run in read(file, EllipsoidRun)}, file, jobs, quiet)
    wanted = {task.key for task in tasks}
    runs = [run for run in read(file, EllipsoidRun) if run.key in wanted]
    write(out / "ellipsoid.md", shapley_tables.markdown(runs, data))
    write(out / "ellipsoid.csv", shapley_tables.csv(runs))
    if figures:
        load_plots()
        save_figure(ellipsoid_figure(runs, data), out / "ellipsoid")
    return shapley_tables.tables(runs, data)


def _forest(out: Path, data: str | None, figures: bool, quiet: bool) -> list[Grid]:
    require_modules(("sklearn",), "the tuning example")
    import optuna

    from pellucid.explain.proposals.explanation import desirability_paths
    from pellucid_lab.papers.shapley import forest as shapley_forest
    from pellucid_lab.papers.shapley import report as shapley_report
    from pellucid_lab.papers.shapley.tables import source_file
    from pellucid_lab.tables.output import page_markdown

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    source_file("lcbench2000.csv", data)
    study = shapley_forest.open_study(out / "forest.db")
    left = shapley_forest.N_TRIALS - len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)))
    try:
        with progress_bar("trials", left, quiet) as advance:
            if left:
                study.optimize(
                    shapley_forest.objective(data),
                    n_trials=left,
                    callbacks=[lambda _, trial: advance(f"{trial.value:.4f}")],
                )
    except KeyboardInterrupt:
        say(f"Stopped: the finished trials are in {out / 'forest.db'}; the same command continues.")
        raise typer.Exit(STOPPED) from None
    started = time.perf_counter()
    paths = desirability_paths(study, progress=not quiet)
    seconds = time.perf_counter() - started
    costs = [shapley_forest.cost(study, trial) for trial in COST_TRIALS]
    grids = shapley_report.forest_tables(study, paths, costs, seconds)
    note = (
        f"A random forest on 2000 networks stands for the objective (validation error, minimised); "
        f"{shapley_forest.N_INIT} trials cover the space, {len(paths.explanations)} are proposed by LCB with λ = 1. "
        f"Contributions are in units of the error, positive is attractive. {paths.sentence}"
    )
    write(out / "forest.md", page_markdown("A tuned network, explained", note, grids, command_line()))
    if figures:
        load_plots()
        best = shapley_report.best_predicted(study)
        explained = next(one for one in paths.explanations if one.trial == best)
        save_figure(explained.plot(), out / "forest-proposal")
        save_figure(paths.plot(), out / "forest-paths")
        save_figure(paths.plot("payouts"), out / "forest-payouts")
    return grids


def ellipsoid_figure(runs: list[EllipsoidRun], data: str | None) -> Any:
    """Desirability paths of mean and uncertainty, ours with a band of one sd over the source's."""
    from pellucid import plots
    from pellucid_lab.papers.shapley.source import DIMENSION
    from pellucid_lab.papers.shapley.tables import LAMBDAS, Contributions, crossing, ours, the_source

    shown = {}
    for lam in LAMBDAS:
        mine, theirs = ours(runs, lam), the_source(lam, data)
        x = list(range(1, len(mine.mean) + 1))
        for j in range(DIMENSION):
            lines = []
            for k, what in enumerate(("mean", "se")):
                colour, name = plots.COLOURS[2 * k], ("mean", "uncertainty")[k]
                y, sd = getattr(mine, what)[:, j], getattr(mine, f"{what}_sd")[:, j]
                lines.append(plots.Line(name, x, -y, colour, -y - sd, -y + sd))
                source = getattr(theirs, what)[:, j]
                lines.append(plots.Line(f"{name}, the source", x, -source, colour, dash="dot", width=1.5))
            shown[f"λ = {lam:g}, θ{j + 1}"] = lines
    figure = plots.panels(
        shown, columns=DIMENSION, x_title="iteration", y_title="contribution<br>(positive: attractive)"
    )

    def said(found: Contributions) -> str:
        return ", ".join(f"{crossing(found, j) or 'never'} (θ{j + 1})" for j in (3, 2, 1, 0))

    text = (
        f"With λ = 10 exploration gives way to prediction: at iteration {said(ours(runs, 10.0))}; "
        f"in the source's runs at {said(the_source(10.0, data))}"
    )
    top = plots.say(figure, text, [], width=112)
    figure.update_layout(height=figure.layout.height + top - 60, margin={"t": top + 24})
    return figure
