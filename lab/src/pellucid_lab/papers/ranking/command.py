"""``pellucid reproduce ranking``: how much learning from earlier studies helps, beside the paper's findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.terminal import say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import AsJson, Data, Figures, Jobs, Out, Quiet
from pellucid_lab.terminal import choose, command_line, load_plots, save_figure, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pellucid_lab.papers.ranking.experiments import TransferRun
    from pellucid_lab.papers.ranking.report import Regrets
    from pellucid_lab.tables.grids import Grid

_OURS = (
    "`ranking` is pellucid's: ListNet, a context weighted by nearness, transferred and fine-tuned scorers in turn, and "
    "the configuration with the best mean rank is next; from {half} observations on, a Gaussian process makes every "
    "third proposal, from {all} on all of them. `ranking only` never hands over. Every other name says how a method "
    "differs from that one; `alone` is without earlier tasks (and without a context, unless one is named). Samplers "
    "propose in the space itself, from the first trial on, and a step is a trial; their regret is relative to the best "
    "known value of a task, in its table or in any of these runs. `RankingSampler` shares the turns "
    "of each study by what they gained, unless it has `hand_over=None`."
)
_TITLES = {"lcbench": "Tuning networks (lcbench)", "rbv2_xgboost": "Tuning XGBoost (rbv2_xgboost)"}


def ranking(
    experiment: Annotated[
        str,
        typer.Option(
            help="comparison, other-draws, losses, losses-alone, weightings, contexts, tuning, acquisitions, samplers, "
            "or all."
        ),
    ] = "all",
    collection: Annotated[str, typer.Option(help="lcbench, rbv2_xgboost, or all.")] = "all",
    seeds: Annotated[int, typer.Option(min=1, max=5, help="Number of starts of every task, and of models.")] = 5,
    data: Data = None,
    out: Out = Path("ranking"),
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        require_modules(("torch", "onnxruntime"), "the ranking surrogate")
        from pellucid_lab.papers.ranking import experiments
        from pellucid_lab.tables.grids import show_grids

        chosen = choose(experiment, tuple(experiments.EXPERIMENTS), "--experiment")
        grids: list[Grid] = []
        for name in choose(collection, experiments.COLLECTIONS, "--collection"):
            grids += _collection(name, chosen, seeds, data, out, jobs, figures, quiet)
        show_grids(grids, as_json, quiet)


def _collection(
    name: str,
    chosen: Sequence[str],
    seeds: int,
    data: str | None,
    out: Path,
    jobs: int,
    figures: bool,
    quiet: bool,
) -> list[Grid]:
    from pellucid_lab.papers.ranking import experiments, report
    from pellucid_lab.papers.ranking.samplers import TRIAL_MARKS
    from pellucid_lab.papers.ranking.transfer import HAND_OVER
    from pellucid_lab.problems.tabular import tabular
    from pellucid_lab.runs.files import RunFile
    from pellucid_lab.runs.runner import complete
    from pellucid_lab.tables.grids import page, provenance_now

    task_names = [task.name for task in tabular(name, data).test]
    tasks = list(
        dict.fromkeys(
            experiments.TransferTask(name, method, seed, data, draw)
            for experiment in chosen
            for draw in experiments.draws_of(experiment)
            for method in experiments.EXPERIMENTS[experiment]
            for seed in range(seeds)
        )
    )
    file = RunFile(out / f"{name}.jsonl", experiments.TransferRun)
    runs = complete(name, experiments.run_transfer_task, tasks, file, jobs, quiet)
    grids: list[Grid] = []
    for experiment in chosen:
        regrets = experiments.regrets_of(name, experiment, runs, task_names)
        grids += [_prefixed(grid, f"{name}, {experiment}") for grid in report.experiment_grids(regrets)]
        if experiment == experiments.IN_THE_SPACE:
            against = report.against_grid(regrets, "BayesianSampler", TRIAL_MARKS)
            grids.append(_prefixed(against, f"{name}, {experiment}"))
        if experiment == "comparison":
            grids += [report.task_grid(regrets), _cost_grid(runs, experiments.EXPERIMENTS[experiment])]
            grids.append(_models_grid(runs))
        if experiment == "acquisitions":
            grids.append(_prefixed(_reference_grid(name, data, quiet), f"{name}, {experiment}"))
        if figures:
            _draw(name, experiment, regrets, out)
    packages = ("pellucid", "optuna", "numpy", "scipy", "torch", "onnxruntime")
    note = f"{report.NOTE} {_OURS.format(half=HAND_OVER // 2, all=HAND_OVER)}"
    write(out / f"{name}.md", page(_TITLES[name], [note], grids, provenance_now(command_line(), packages)))
    return grids


def _draw(name: str, experiment: str, regrets: Regrets, out: Path) -> None:
    load_plots()
    from pellucid_lab.papers.ranking import experiments, report

    ours = (experiments.OURS, experiments.NEVER_HANDS_OVER, "RankingSampler")
    for what, figure in report.figures(regrets, name, bold=ours).items():
        if experiment in ("comparison", "other-draws", experiments.IN_THE_SPACE) or what == "ranks":
            save_figure(figure, out / f"{name}-{experiment}-{what}")


def _prefixed(grid: Grid, prefix: str) -> Grid:
    from dataclasses import replace

    return replace(grid, title=f"{prefix}: {grid.title[0].lower()}{grid.title[1:]}")


def _reference_grid(name: str, data: str | None, quiet: bool) -> Grid:
    from pellucid_lab.papers.ranking.experiments import METHODS, NEVER_HANDS_OVER
    from pellucid_lab.papers.ranking.ranking import Ranking
    from pellucid_lab.papers.ranking.reference import reference_grid
    from pellucid_lab.problems.tabular import tabular

    if not quiet:
        say("Training a model to see what EI compares with.")
    collection = tabular(name, data)
    method = METHODS[NEVER_HANDS_OVER](collection, 0)
    assert isinstance(method, Ranking)
    return reference_grid(method, collection)


def _models_grid(runs: Sequence[TransferRun]) -> Grid:
    """Validation regret of the trained models over all seeds; variants that differ only later share a model."""
    from pellucid_lab.tables.grids import Grid

    checked = [run for run in runs if run.checks and run.draw == 0]
    rows, shown = [], set()
    for method in dict.fromkeys(run.method for run in checked):
        of_method = [run for run in checked if run.method == method]
        means = [
            sum(check[k] for run in of_method for check in run.checks) / sum(len(run.checks) for run in of_method)
            for k in range(3)
        ]
        cells = tuple(f"{mean:.3f}" for mean in means)
        if cells not in shown:
            shown.add(cells)
            rows.append((method, str(len(of_method)), *cells))
    columns = ("model", "trained", "first", "best of 5", "best of 10")
    return Grid("Regret on validation tasks of a model that has seen nothing of them", columns, tuple(rows))


def _cost_grid(runs: Sequence[TransferRun], methods: Sequence[str]) -> Grid:
    from pellucid_lab.tables.grids import Grid

    rows = []
    for method in methods:
        of_method = [run for run in runs if run.method == method and run.draw == 0]
        asks = sum(len(run.regret) * len(run.regret[0]) for run in of_method)
        rows.append(
            (
                method,
                f"{sum(run.training_s for run in of_method) / len(of_method):.1f}",
                f"{1e3 * sum(run.search_s for run in of_method) / asks:.0f}",
            )
        )
    columns = ("method", "meta-training, s", "an ask, ms (tasks side by side)")
    return Grid("What they cost", columns, tuple(rows))
