"""``pellucid tune``: run an objective until a study has as many trials as were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.options import DEFAULT_STORAGE, Storage, complete_study
from pellucid.cli.report import check_report
from pellucid.cli.storage.places import Place, place_of
from pellucid.cli.storage.studies import Direction
from pellucid.cli.terminal import say, sentences, shown
from pellucid.cli.tune.sampling import SamplerName, check_model, check_sampler
from pellucid.cli.tune.target import parse_target

if TYPE_CHECKING:
    from optuna.study import Study


def tune(
    target: Annotated[str, typer.Argument(metavar="SCRIPT.PY:FUNCTION", help="Or package.module:function.")],
    trials: Annotated[int, typer.Option(min=1, help="Finished trials that the study shall have in total.")],
    storage: Storage = DEFAULT_STORAGE,
    study: Annotated[
        str | None,
        typer.Option(autocompletion=complete_study, show_default=False, help="Its name; default: the script's."),
    ] = None,
    sampler: Annotated[SamplerName, typer.Option(help="What proposes trials.")] = SamplerName.BAYESIAN,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Of `pellucid meta-train`: proposes the first trials."),
    ] = None,
    direction: Annotated[
        Direction | None, typer.Option(show_default=False, help="Of a new study; default: minimize.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    report: Annotated[Path | None, typer.Option(show_default=False, help="Write a report to this file.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, show_default=False, help="Of the sampler.")] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0, show_default=False, help="Begin no trial after so many seconds.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no findings, only errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Tune an objective: run it in worker processes, on a study that keeps everything.

    The same command continues a study that was stopped. It runs your code: tune only what you trust.
    """
    with sentences():
        goal = parse_target(target)
        check_sampler(sampler, trials)
        if model is not None:
            check_model(model, sampler)
        if report is not None:
            check_report(report)
        place = place_of(storage)
        name = goal.module.rpartition(".")[2] if study is None else study

        from pellucid.cli.storage.studies import existing_study
        from pellucid.cli.tune.concluding import Output, conclude
        from pellucid.cli.tune.display import choose_display
        from pellucid.cli.tune.messages import Job
        from pellucid.cli.tune.running import Request, Run, count

        found = existing_study(place, name)
        counted = 0 if found is None else count(found)
        if found is not None:
            _check_direction(found, direction, name)
        output = Output(report, quiet, as_json)
        way = direction or Direction.MINIMIZE
        if not quiet:
            say(_opening(found is None, name, place, way.value, counted, trials))
            _mention_running(found)
        if counted >= trials and found is not None:
            conclude(found, place, trials, None, output)
            return
        work = [
            Job(target, place.address, name, sampler.value, trials, seed, (index, counted), _absolute(model))
            for index in range(min(jobs, trials - counted))
        ]
        request = Request(place, name, way, trials, timeout)
        ending = Run(request, work, found, choose_display(quiet))()
        conclude(ending.study, place, trials, ending, output)


def _absolute(path: Path | None) -> str | None:
    """The objective of a worker may change its folder before the model is read."""
    return None if path is None else str(path.absolute())


def _check_direction(study: Study, wanted: Direction | None, name: str) -> None:
    has = study.direction.name.lower()
    if wanted is not None and wanted.value != has:
        raise Mistake(
            f"A study keeps the direction it was made with: `{shown(name)}` has {has}, not {wanted.value}; leave "
            "--direction out, or choose another name with --study."
        )


def _mention_running(study: Study | None) -> None:
    """Trials that others run, or that a process left behind which was killed together with its parent."""
    from optuna.trial import TrialState

    running = 0 if study is None else len(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))
    if running:
        what = "1 trial is" if running == 1 else f"{running} trials are"
        say(f"{what} marked as running: by another process, or left by one that was killed. They do not count.")


def _opening(new: bool, name: str, place: Place, direction: str, counted: int, wanted: int) -> str:
    where = f"`{shown(name)}` in {place.shown}"
    if new:
        return f"New study {where}, to {direction}: {wanted} trials to go."
    if counted >= wanted:
        return f"All {wanted} trials of {where} are there ({counted}): nothing to do."
    return f"{counted} of {wanted} trials of {where} are there; {wanted - counted} to go."
