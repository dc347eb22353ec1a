"""The end of `pellucid tune`: how it went, what was found, and the exit code that stands for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pellucid.cli.answers import Unknown, answer
from pellucid.cli.errors import Mistake, Unavailable
from pellucid.cli.report import write_report
from pellucid.cli.storage.places import Place
from pellucid.cli.terminal import FAILED, STOPPED, WRONG, say, shown
from pellucid.cli.tune.running import Ending, How, count

if TYPE_CHECKING:
    from optuna.study import Study


@dataclass(frozen=True)
class Output:
    """What the user wants to have in the end."""

    report: Path | None
    quiet: bool
    as_json: bool


def conclude(
    study: Study | None,
    place: Place,
    wanted: int,
    ending: Ending | None,
    output: Output,
) -> None:
    """Say how it ended, what was found, and leave with the code that stands for it."""
    how = How.DONE if ending is None else ending.how
    if study is None:
        _leave_without_study(ending, wanted, place)
        return
    counted = count(study)
    code = 0
    if ending is not None:
        code = _say_ending(ending, counted, wanted, place, output.quiet)
    summary = _summary(study, place, wanted, counted, how.value)
    if how in (How.DONE, How.TIMEOUT, How.BY_OBJECTIVE):
        for name, found in _findings(study).items():
            known = not isinstance(found, Unknown)
            summary[name] = found.to_dict() if known else None
            if not (output.quiet or output.as_json):
                typer.echo(shown(str(found) if known else found.why))
        if output.report is not None:
            code = max(code, _report(study, output.report, output.quiet, summary))
    if output.as_json:
        from pellucid.cli.plain import json_text

        typer.echo(json_text(summary))
    if code:
        raise typer.Exit(code)


def _leave_without_study(ending: Ending | None, wanted: int, place: Place) -> None:
    if ending is not None and ending.how is How.UNUSABLE:
        raise Mistake(ending.text)
    if ending is not None and ending.how is How.LOST:
        say(f"All workers have ended before their first trial; the last: {ending.text}.")
        raise typer.Exit(FAILED)
    say(f"Stopped: 0 of {wanted} trials are in {place.shown}; the same command continues.")
    raise typer.Exit(STOPPED)


def _say_ending(ending: Ending, counted: int, wanted: int, place: Place, quiet: bool) -> int:
    there = f"{counted} of {wanted} trials are in {place.shown}; the same command continues."
    match ending.how:
        case How.UNUSABLE:
            say(f"Error: {ending.text}")
            return WRONG
        case How.INTERRUPTED:
            say(f"Stopped: {there}")
            return STOPPED
        case How.FAILING:
            say(
                f"The first {ending.n_ended} trials of this run all failed, so it was stopped; {ending.text}. Mend the "
                f"objective; {there}"
            )
            return FAILED
        case How.LOST:
            say(f"All workers have ended; the last: {ending.text}. {there}")
            return FAILED
        case _:
            if ending.n_ended and ending.n_ended == ending.n_failed:
                say(f"All {ending.n_ended} trials of this run failed; {ending.text}.".replace("; .", "."))
                return FAILED
            if ending.how is not How.DONE and not quiet:
                why = "Time is up" if ending.how is How.TIMEOUT else "The objective has stopped the study"
                say(f"{why}: {there}")
            return 0


def _summary(study: Study, place: Place, wanted: int, counted: int, ended: str) -> dict[str, Any]:
    from pellucid.cli.tune.watching import best_of, counts_of
    from pellucid.study import study_io

    best = best_of(study)
    return {
        "study": study.study_name,
        "storage": place.shown,
        "direction": study.direction.name.lower(),
        "ended": ended,
        "wanted": wanted,
        "n_trials": counted,
        "counts": counts_of(study_io.trials(study)),
        "best": None if best is None else asdict(best),
        "recommendation": None,
        "verdict": None,
        "report": None,
    }


def _findings(study: Study) -> dict[str, Any]:
    """What to use and whether to stop; `Unknown` where that cannot be told."""
    from pellucid import recommend, stopping_verdict

    return {
        "recommendation": answer(lambda: recommend(study)),
        "verdict": answer(lambda: stopping_verdict(study)),
    }


def _report(study: Study, path: Path, quiet: bool, summary: dict[str, Any]) -> int:
    """A report that cannot be written is a pity, but the study is there."""
    try:
        written = write_report(study, path, quiet)
    except (Mistake, Unavailable, OSError) as error:
        say(f"The report was not written: {error}")
        return FAILED
    summary["report"] = str(written)
    if not quiet:
        say(f"The report is in {shown(str(written))}.")
    return 0
