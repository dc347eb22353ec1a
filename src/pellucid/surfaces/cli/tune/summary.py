"""The end of `pellucid tune`: how the run ended, what to use, and the exit code."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pellucid.answers.catalogue import CATALOGUE
from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.questions import conclusions, objectives_data
from pellucid.surfaces.cli.report import write_report
from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.cli.storage.studies import trials_by_state
from pellucid.surfaces.cli.terminal import FAILED, STOPPED, WRONG, print_json, print_lines, say
from pellucid.surfaces.cli.tune.run import EndReason, Outcome
from pellucid.surfaces.cli.tune.snapshot import best_trial, front_trials

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.study.view import StudyView


@dataclass(frozen=True)
class SummaryOptions:
    """What the user wants at the end. `n_trials`: how many trials were asked for."""

    n_trials: int
    report: Path | None
    quiet: bool
    as_json: bool


def print_summary(outcome: Outcome, place: Place, options: SummaryOptions) -> None:
    """Print how the run ended and what was found, and raise the exit code if it is not 0."""
    if outcome.study is None:
        _exit_without_study(outcome, place, options)
    else:
        _summarise(outcome.study, outcome, place, options)


def _exit_without_study(outcome: Outcome, place: Place, options: SummaryOptions) -> None:
    """The run ended before its study was created."""
    if outcome.reason is EndReason.UNUSABLE:
        raise Mistake(outcome.error)
    if outcome.reason is EndReason.LOST:
        say(f"All workers ended before their first trial; the last: {outcome.error}.", *_last_output(outcome))
        raise typer.Exit(FAILED)
    say(f"Stopped: 0 of {options.n_trials} trials are in {place.shown}; the same command continues the study.")
    raise typer.Exit(STOPPED)


def _last_output(outcome: Outcome) -> list[str]:
    """The last lines that the last worker printed: they most often name the cause of its end."""
    return ["The last lines that it printed:", *(f"  {line}" for line in outcome.output)] if outcome.output else []


def _summarise(study: Study, outcome: Outcome, place: Place, options: SummaryOptions) -> None:
    from pellucid.answers.finding import NotKnown
    from pellucid.answers.opening import beliefs_for_all
    from pellucid.numerics import one_thread
    from pellucid.study.trials import ended

    beliefs, _ = beliefs_for_all(study)
    view = beliefs.view
    with one_thread:
        n_counted = len(ended(view.trials))
        code = _say_outcome(outcome, n_counted, place, options)
        summary = _summary(view, outcome, place, options, n_counted)
        if outcome.reason.regular:
            for question in conclusions(beliefs):
                answer = question.answered()
                summary[question.key] = None if isinstance(answer, NotKnown) else answer.to_dict()
                if not (options.quiet or options.as_json):
                    print_lines(str(answer))
    if outcome.reason.regular and options.report is not None:
        code = max(code, _report(study, options.report, options.quiet, summary))
    if options.as_json:
        print_json(summary)
    if code:
        raise typer.Exit(code)


def _say_outcome(outcome: Outcome, n_counted: int, place: Place, options: SummaryOptions) -> int:
    """Say how the run ended, unless it ended as expected. Returns the exit code."""
    kept = f"{n_counted} of {options.n_trials} trials are in {place.shown}; the same command continues the study."
    match outcome.reason:
        case EndReason.UNUSABLE:
            say(f"Error: {outcome.error}")
            return WRONG
        case EndReason.INTERRUPTED:
            say(f"Stopped: {kept}")
            return STOPPED
        case EndReason.FAILING:
            say(
                f"The run was stopped because its first {outcome.n_ended} trials all failed; {outcome.error}. Fix the "
                f"objective; {kept}"
            )
            return FAILED
        case EndReason.LOST:
            say(f"All workers have ended; the last: {outcome.error}. {kept}", *_last_output(outcome))
            return FAILED
        case _:
            if outcome.n_ended and outcome.n_ended == outcome.n_failed:
                why = f"; {outcome.error}" if outcome.error else ""
                say(f"All {outcome.n_ended} trials of this run failed{why}.")
                return FAILED
            if outcome.reason is not EndReason.DONE and not options.quiet:
                timed_out = outcome.reason is EndReason.TIMEOUT
                say(f"{'Time is up' if timed_out else 'The objective has stopped the study'}: {kept}")
            return 0


def _summary(
    view: StudyView, outcome: Outcome, place: Place, options: SummaryOptions, n_counted: int
) -> dict[str, Any]:
    best, on_front = best_trial(view), front_trials(view)
    return {
        "study": view.name,
        "storage": place.shown,
        **objectives_data(view),
        "ended": outcome.reason.value,
        "wanted": options.n_trials,
        "n_trials": n_counted,
        "counts": trials_by_state(view.trials),
        "best": None if best is None else asdict(best),
        **({} if on_front is None else {"front": [asdict(trial) for trial in on_front]}),
        **{answer.key: None for answer in CATALOGUE if answer.concludes},
        "report": None,
    }


def _report(study: Study, path: Path, quiet: bool, summary: dict[str, Any]) -> int:
    """Write the report. If that fails, the study is kept, so only the exit code says so."""
    try:
        written = write_report(study, path, quiet)
    except (Mistake, Unavailable, OSError) as error:
        say(f"The report was not written: {error}")
        return FAILED
    summary["report"] = str(written)
    if not quiet:
        say(f"The report is in {written}.")
    return 0
