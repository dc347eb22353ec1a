"""``pellucid reproduce ranking``: what learning from earlier studies is worth, beside the source's findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.terminal import say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.terminal import AsJson, Figures, Jobs, Quiet, command_line, load_plots, save_figure, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pellucid_lab.papers.ranking.experiments import Found
    from pellucid_lab.tables.output import Grid

_OURS = (
    "`ranking` is pellucid's: ListNet, a context of nearness, transferred and fine-tuned scorers in turn, the best "
    "mean rank next; from {half} observations on every third proposal is made by a Gaussian process, from {all} on all "
    "are. "
    "`ranking only` never hands over. Every other name says in what a method differs from that one; `alone` is "
    "without earlier tasks (and without a context, if none is named). Samplers propose in the space itself, from the "
    "first trial on, and a step is a trial; their regret is relative to the best that is known of a task, of its table "
    "and of all these runs."
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
    seeds: Annotated[int, typer.Option(min=1, max=5, help="Starts of every task, and models.")] = 5,
    data: Annotated[str | None, typer.Option(help="Folder with yahpo/ and meta/; default $PELLUCID_DATA.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and figures.")] = Path("ranking"),
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Losses, weightings, contexts, fine-tuning, acquisitions and the comparison with other surrogates, on tables of
    tuned networks and of XGBoost. Uses a graphics card where there is one; without it all of it takes hours."""
    with sentences():
        require_modules(("torch", "onnxruntime"), "the ranking surrogate")
        from pellucid_lab.papers.ranking import experiments

        chosen = _chosen(experiment, tuple(experiments.EXPERIMENTS), "--experiment")
        grids: list[Grid] = []
        for name in _chosen(collection, experiments.COLLECTIONS, "--collection"):
            grids += _collection(name, chosen, seeds, data, out, jobs, figures, quiet)
        from pellucid_lab.tables.output import show_grids

        show_grids(grids, as_json, quiet)


def _chosen(wanted: str, known: Sequence[str], option: str) -> tuple[str, ...]:
    if wanted not in (*known, "all"):
        raise Mistake(f"{option} is one of {', '.join(known)} or all; got `{wanted}`.")
    return tuple(known) if wanted == "all" else (wanted,)


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
    from pellucid.samplers.ranking import HAND_OVER
    from pellucid_lab.papers.ranking import experiments
    from pellucid_lab.papers.ranking import report as transfer_report
    from pellucid_lab.problems.tabular import tabular
    from pellucid_lab.runs.resumable import read, run_with_bar
    from pellucid_lab.tables.output import page_markdown

    tasks = [task.name for task in tabular(name, data).test]
    planned = list(
        dict.fromkeys(
            experiments.Job(name, method, seed, data, draw)
            for one in chosen
            for draw in experiments.draws_of(one)
            for method in experiments.EXPERIMENTS[one]
            for seed in range(seeds)
        )
    )
    file = out / f"{name}.jsonl"
    done = {one.key for one in read(file, experiments.Found)}
    run_with_bar(name, experiments.run_job, planned, done, file, jobs, quiet)
    wanted = {job.key for job in planned}
    found = [one for one in read(file, experiments.Found) if one.key in wanted]
    grids: list[Grid] = []
    for one in chosen:
        regrets = experiments.regrets_of(name, one, found, tasks)
        shown = [_named(grid, f"{name}, {one}") for grid in transfer_report.experiment_grids(regrets)]
        grids += shown
        if one == "comparison":
            grids += [transfer_report.task_grid(regrets), _cost_grid(found, experiments.EXPERIMENTS[one])]
            grids.append(_models_grid(found))
        if one == "acquisitions":
            grids.append(_named(_reference_grid(name, data, quiet), f"{name}, {one}"))
        if figures:
            load_plots()
            ours = (experiments.OURS, experiments.NEVER_HANDS_OVER, "RankingSampler")
            for what, figure in transfer_report.figures(regrets, name, bold=ours).items():
                if one in ("comparison", "other-draws", experiments.IN_THE_SPACE) or what == "ranks":
                    save_figure(figure, out / f"{name}-{one}-{what}")
    packages = ("pellucid", "optuna", "numpy", "scipy", "torch", "onnxruntime")
    note = f"{transfer_report.NOTE} {_OURS.format(half=HAND_OVER // 2, all=HAND_OVER)}"
    write(out / f"{name}.md", page_markdown(_TITLES[name], note, grids, command_line(), packages))
    return grids


def _named(grid: Grid, prefix: str) -> Grid:
    from dataclasses import replace

    return replace(grid, title=f"{prefix}: {grid.title[0].lower()}{grid.title[1:]}")


def _reference_grid(name: str, data: str | None, quiet: bool) -> Grid:
    from pellucid_lab.papers.ranking.experiments import METHODS, NEVER_HANDS_OVER
    from pellucid_lab.papers.ranking.ranking import Ranking
    from pellucid_lab.papers.ranking.reference import reference_grid
    from pellucid_lab.problems.tabular import tabular

    if not quiet:
        say("What EI compares with: a model is trained and asked about its references.")
    collection = tabular(name, data)
    method = METHODS[NEVER_HANDS_OVER](collection, 0)
    assert isinstance(method, Ranking)
    return reference_grid(method, collection)


def _models_grid(found: Sequence[Found]) -> Grid:
    """Validation figures of the models that were trained, all seeds; variants that differ later have the same model."""
    from pellucid_lab.tables.output import Grid

    rows, shown = [], set()
    for method in dict.fromkeys(one.method for one in found if one.checks and one.draw == 0):
        mine = [one for one in found if one.method == method and one.checks and one.draw == 0]
        means = [
            sum(check[k] for one in mine for check in one.checks) / sum(len(one.checks) for one in mine)
            for k in range(3)
        ]
        figures = tuple(f"{mean:.3f}" for mean in means)
        if figures not in shown:
            shown.add(figures)
            rows.append((method, str(len(mine)), *figures))
    heads = ("model", "trained", "first", "best of 5", "best of 10")
    return Grid("Regret on validation tasks of a model that has seen nothing of them", heads, tuple(rows))


def _cost_grid(found: Sequence[Found], methods: Sequence[str]) -> Grid:
    from pellucid_lab.tables.output import Grid

    rows = []
    for method in methods:
        mine = [one for one in found if one.method == method and one.draw == 0]
        asks = sum(len(one.regret) * len(one.regret[0]) for one in mine)
        rows.append(
            (
                method,
                f"{sum(one.training_s for one in mine) / len(mine):.1f}",
                f"{1e3 * sum(one.search_s for one in mine) / asks:.0f}",
            )
        )
    heads = ("method", "meta-training, s", "an ask, ms (tasks side by side)")
    return Grid("What they cost", heads, tuple(rows))
