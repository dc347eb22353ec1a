"""``pellucid reproduce shapley``: explanations of proposals, beside the paper's tables."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.surfaces.cli.terminal import STOPPED, say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import AsJson, Data, Figures, Jobs, Out, Quiet
from pellucid_lab.terminal import choose, command_line, integers, load_plots, progress_bar, save_figure, write

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid_lab.papers.shapley.source import EllipsoidRun
    from pellucid_lab.tables.grids import Grid

EXPERIMENTS = ("interaction", "ellipsoid", "forest")
# Trials whose explanation is timed.
COST_TRIALS = (105, 110, 115, 120, 125)
_PACKAGES = ("pellucid", "optuna", "numpy", "scipy", "scikit-learn")


def shapley(
    experiment: Annotated[str, typer.Option(help="interaction, ellipsoid, forest, or all of them.")] = "all",
    seeds: Annotated[str, typer.Option(help="Seeds of the ellipsoid's runs, for each λ.")] = "0-29",
    out: Out = Path("shapley"),
    data: Data = None,
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.tables.grids import show_grids

        grids: list[Grid] = []
        for name in choose(experiment, EXPERIMENTS, "--experiment"):
            if name == "interaction":
                grids += _interaction(out)
            elif name == "ellipsoid":
                grids += _ellipsoid(integers(seeds, "--seeds"), out, data, jobs, figures, quiet)
            else:
                grids += _forest(out, data, figures, quiet)
        show_grids(grids, as_json, quiet)


def _interaction(out: Path) -> list[Grid]:
    require_modules(("sklearn",), "the interaction example")
    from pellucid_lab.papers.shapley.forest import interaction_example
    from pellucid_lab.papers.shapley.report import interaction_tables
    from pellucid_lab.tables.grids import page, provenance_now

    grids = interaction_tables(interaction_example())
    note = (
        "The function is minimised; the ablation starts at (0.5, 0.5, 0.5). Shapley values of the function itself are "
        "exact: −1/2, −1/8, −1/8 of what is minimised. The forest is fitted to 10,000 noisy values, as in the source."
    )
    provenance = provenance_now(command_line(), _PACKAGES)
    write(out / "interaction.md", page("Shapley values of an interaction", [note], grids, provenance))
    return grids


def _ellipsoid(
    seeds: tuple[int, ...], out: Path, data: str | None, jobs: int, figures: bool, quiet: bool
) -> list[Grid]:
    from pellucid_lab.papers.shapley import tables
    from pellucid_lab.papers.shapley.source import EllipsoidRun, EllipsoidTask, run_ellipsoid_task
    from pellucid_lab.runs.files import RunFile
    from pellucid_lab.runs.runner import complete

    tables.the_source(1.0, data)  # Missing data is reported before anything slow starts.
    tasks = [EllipsoidTask(lam, seed, command_line()) for seed in seeds for lam in tables.LAMBDAS]
    file = RunFile(out / "ellipsoid.jsonl", EllipsoidRun)
    runs = complete("ellipsoid", run_ellipsoid_task, tasks, file, jobs, quiet)
    write(out / "ellipsoid.md", tables.markdown(runs, data))
    write(out / "ellipsoid.csv", tables.csv(runs))
    if figures:
        load_plots()
        save_figure(ellipsoid_figure(runs, data), out / "ellipsoid")
    return tables.tables(runs, data)


def _forest(out: Path, data: str | None, figures: bool, quiet: bool) -> list[Grid]:
    require_modules(("sklearn",), "the tuning example")
    import optuna

    from pellucid.answers.proposals.explanation import desirability_paths
    from pellucid_lab.papers.shapley import forest, report
    from pellucid_lab.tables.grids import page, provenance_now

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = _forest_study(out / "forest.db", data, quiet)
    started = time.perf_counter()
    paths = desirability_paths(study, progress=not quiet)
    seconds = time.perf_counter() - started
    costs = [forest.cost(study, trial) for trial in COST_TRIALS]
    grids = report.forest_tables(study, paths, costs, seconds)
    note = (
        f"The objective is the validation error (minimised) that a random forest predicts from 2000 networks; "
        f"{forest.N_INIT} trials cover the space, {len(paths.explanations)} are proposed by LCB with λ = 1. "
        f"Contributions are in units of the error, positive is attractive. {paths.sentence}"
    )
    provenance = provenance_now(command_line(), _PACKAGES)
    write(out / "forest.md", page("A tuned network, explained", [note], grids, provenance))
    if figures:
        load_plots()
        best = report.best_predicted(study)
        explanation = next(explanation for explanation in paths.explanations if explanation.trial == best)
        save_figure(explanation.plot(), out / "forest-proposal")
        save_figure(paths.plot(), out / "forest-paths")
        save_figure(paths.plot("payouts"), out / "forest-payouts")
    return grids


def _forest_study(file: Path, data: str | None, quiet: bool) -> Study:
    """The study with all its trials; a study that was stopped is continued."""
    from optuna.trial import TrialState

    from pellucid_lab.papers.shapley import forest

    objective = forest.objective(data)  # Missing data is reported before the study is created.
    study = forest.open_study(file)
    missing = forest.N_TRIALS - len(study.get_trials(states=(TrialState.COMPLETE,)))
    try:
        with progress_bar("trials", missing, quiet) as advance:
            if missing:
                study.optimize(objective, n_trials=missing, callbacks=[lambda _, trial: advance(f"{trial.value:.4f}")])
    except KeyboardInterrupt:
        say(f"Stopped: the finished trials are in {file}; repeat the command to continue.")
        raise typer.Exit(STOPPED) from None
    return study


def ellipsoid_figure(runs: list[EllipsoidRun], data: str | None) -> Any:
    """Desirability paths of mean and uncertainty: ours with a band of one sd, and the paper's."""
    from pellucid.answers import drawing as plots
    from pellucid_lab.papers.shapley.source import DIMENSION
    from pellucid_lab.papers.shapley.tables import LAMBDAS, Contributions, crossing, ours, the_source

    shown = {}
    for lam in LAMBDAS:
        contributions, theirs = ours(runs, lam), the_source(lam, data)
        x = list(range(1, len(contributions.mean) + 1))
        for j in range(DIMENSION):
            lines = []
            for k, what in enumerate(("mean", "se")):
                colour, name = plots.COLOURS[2 * k], ("mean", "uncertainty")[k]
                y, sd = getattr(contributions, what)[:, j], getattr(contributions, f"{what}_sd")[:, j]
                lines.append(plots.Line(name, x, -y, colour, -y - sd, -y + sd))
                source = getattr(theirs, what)[:, j]
                lines.append(plots.Line(f"{name}, the source", x, -source, colour, dash="dot", width=1.5))
            shown[f"λ = {lam:g}, θ{j + 1}"] = lines
    figure = plots.panels(
        shown, columns=DIMENSION, x_title="iteration", y_title="contribution<br>(positive: attractive)"
    )

    def crossings(contributions: Contributions) -> str:
        return ", ".join(f"{crossing(contributions, j) or 'never'} (θ{j + 1})" for j in (3, 2, 1, 0))

    text = (
        f"With λ = 10 prediction outweighs exploration from iteration {crossings(ours(runs, 10.0))} on; "
        f"in the source's runs from {crossings(the_source(10.0, data))} on"
    )
    top = plots.say(figure, text, [], width=112)
    figure.update_layout(height=figure.layout.height + top - 60, margin={"t": top + 24})
    return figure
