"""``pellucid tune``: run an objective until its study has as many trials as were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.options import OUTPUT, RUNNING, SEARCH, STUDY, Quiet, Storage, StorageFile, complete_study
from pellucid.surfaces.cli.report import check_report
from pellucid.surfaces.cli.storage.naming import named_place
from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.cli.terminal import sentences
from pellucid.surfaces.cli.tune.pruning import PrunerName, check_pruned_objectives, check_pruner
from pellucid.surfaces.cli.tune.sampling import SamplerName, check_model, check_objectives, check_sampler
from pellucid.surfaces.cli.tune.target import parse_target
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.study.view import StudyView
    from pellucid.surfaces.cli.tune.display import Display


class DirectionName(str, Enum):
    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"


def tune(
    target: Annotated[str, typer.Argument(metavar="SCRIPT.PY:FUNCTION", help="Or package.module:function.")],
    trials: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", rich_help_panel=SEARCH, help="How many finished trials the study should have in total."
        ),
    ],
    storage: Storage = None,
    storage_file: StorageFile = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_study,
            show_default=False,
            rich_help_panel=STUDY,
            help="Name of the study; default: the name of the script.",
        ),
    ] = None,
    sampler: Annotated[
        SamplerName, typer.Option(rich_help_panel=SEARCH, help="The sampler that proposes trials.")
    ] = SamplerName.BAYESIAN,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=SEARCH,
            help="A model of `pellucid meta-train` that proposes the first trials.",
        ),
    ] = None,
    pruner: Annotated[
        PrunerName, typer.Option(rich_help_panel=SEARCH, help="The pruner that trials ask whether to stop early.")
    ] = PrunerName.MEDIAN,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            show_default=False,
            rich_help_panel=SEARCH,
            help="With --pruner curve: the accepted chance that the best trial is stopped; default: 0.05.",
        ),
    ] = None,
    direction: Annotated[
        list[DirectionName] | None,
        typer.Option(
            show_default=False,
            rich_help_panel=STUDY,
            help="Direction of a new study; default: minimize. Give it once for each value that the objective returns.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=STUDY,
            help="Name of a value that the objective returns. Give it once for each value, in their order.",
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, metavar="N", rich_help_panel=RUNNING, help="Number of worker processes.")
    ] = 1,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, rich_help_panel=OUTPUT, help="Write a report to this file."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", show_default=False, rich_help_panel=SEARCH, help="Seed of the sampler."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            show_default=False,
            rich_help_panel=RUNNING,
            help="Begin no new trial after this many seconds.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print the result as JSON on standard output.")
    ] = False,
) -> None:
    with sentences():
        Path.cwd()  # Raises FileNotFoundError if it was deleted: workers import from it.
        parsed = parse_target(target)
        check_sampler(sampler, trials)
        check_pruner(pruner, keep)
        if model is not None:
            check_model(model, sampler)
        if report is not None:
            check_report(report)
        place = named_place(storage, storage_file, quiet=quiet)
        name = parsed.module.rpartition(".")[2] if study is None else study

        from pellucid.surfaces.cli.tune.display import choose_display
        from pellucid.surfaces.cli.tune.messages import Job
        from pellucid.surfaces.cli.tune.run import Request, completed
        from pellucid.surfaces.cli.tune.summary import SummaryOptions, print_summary

        display = choose_display(quiet)
        metrics = tuple(metric or ())
        directions = _directions(direction or (), metrics)
        existing, n_counted = _existing(place, name, directions, metrics, trials, display)
        directions = directions or (DirectionName.MINIMIZE.value,) * max(len(metrics), 1)
        n_objectives = len(directions if existing is None else existing.directions)
        check_objectives(sampler, model, n_objectives)
        check_pruned_objectives(pruner, n_objectives)
        # The objective may change the working directory of a worker before the model is read.
        model_file = None if model is None else str(model.absolute())
        work = [
            Job(
                target=target,
                storage=place.address,
                study=name,
                sampler=sampler.value,
                pruner=pruner.value,
                n_trials=trials,
                seed=seed,
                seed_key=(index, n_counted),
                model=model_file,
                keep=keep,
            )
            for index in range(min(jobs, trials - n_counted))
        ]
        request = Request(place, name, directions, metrics, trials, timeout)
        outcome = completed(request, work, existing, display)
        print_summary(outcome, place, SummaryOptions(trials, report, quiet, as_json))


def _directions(given: Sequence[DirectionName], metrics: tuple[str, ...]) -> tuple[str, ...]:
    """The directions that were given. Raises Mistake unless there is one for each metric, or none at all."""
    repeated = next((name for name in metrics if metrics.count(name) > 1), None)
    if repeated is not None or not all(name.strip() for name in metrics):
        received = "an empty name" if repeated is None else f"`{printable(repeated)}` twice"
        raise Mistake(f"--metric gives each value that the objective returns a name of its own; got {received}.")
    if given and metrics and len(given) != len(metrics):
        raise Mistake(
            "--metric and --direction are given once for each value that the objective returns; got "
            f"{len(metrics)} and {len(given)} of them."
        )
    return tuple(each.value for each in given)


def _existing(
    place: Place,
    name: str,
    directions: tuple[str, ...],
    metrics: tuple[str, ...],
    n_trials: int,
    display: Display,
) -> tuple[Study | None, int]:
    """The study, if there is one, and how many of its trials count towards those requested. One whose values have no
    names yet gets them."""
    from pellucid.surfaces.cli.storage.studies import check_metrics, existing_study, name_metrics, storage_sentences

    study = existing_study(place, name)
    if study is None:
        return None, 0
    from pellucid.study.trials import ended
    from pellucid.study.view import StudyView

    view = StudyView.whole(study)
    _check_directions(view, directions)
    with storage_sentences(place):
        check_metrics(study, metrics)
        name_metrics(study, metrics)
    n_counted = len(ended(view.trials))
    _announce(view, place, n_counted, n_trials, display)
    return study, n_counted


def _check_directions(view: StudyView, requested: tuple[str, ...]) -> None:
    own = tuple(objective.direction for objective in view.objectives)
    if requested and requested != own:
        kept = "direction" if len(own) == 1 else "directions"
        raise Mistake(
            f"A study keeps the {kept} it was created with: `{view.name}` has {' and '.join(own)}, not "
            f"{' and '.join(requested)}; leave --direction out, or choose another name with --study."
        )


def _announce(view: StudyView, place: Place, n_counted: int, n_trials: int, display: Display) -> None:
    """Say how many trials an existing study has. Some may be marked as running although their process was killed."""
    from optuna.trial import TrialState

    name = f"`{printable(view.name)}` in {place.shown}"
    if n_counted >= n_trials:
        display.line(f"{name} already has {n_counted} trials, and {n_trials} were requested: nothing to do.")
    else:
        display.line(f"{name} has {n_counted} of {n_trials} trials; {n_trials - n_counted} to go.")
    running = sum(trial.state == TrialState.RUNNING for trial in view.trials)
    if running:
        subject, end = ("1 trial is", "it does") if running == 1 else (f"{running} trials are", "they do")
        display.line(f"{subject} marked as running, in another process or in one that was killed; {end} not count.")
