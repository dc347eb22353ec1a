"""What a tracker's run holds about a study: the recommended configuration, key figures, sentences and files."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import TrialState

from pellucid.answers.base import Overview, Question
from pellucid.answers.catalogue import CALIBRATION, IMPORTANCE, RANGES, RECOMMENDATION, TRADEOFF, VERDICT
from pellucid.answers.trials import course
from pellucid.integrations.names import accepted, digest, distinct, writable
from pellucid.records import (
    Front,
    History,
    Importance,
    NotKnown,
    Recommendation,
    plain,
)
from pellucid.reporting.gather import gather
from pellucid.words import NoAnswerYet, printable

# Importances of an objective among the metrics: those of four fit into one request of MLflow. Files have all of them.
_MOST_SHARES = 100


@dataclass(frozen=True)
class RunContents:
    """All that is logged about a study.

    key          tells the study from others, and stays the same while trials are added and if its storage is copied
    n_trials     the step of the metrics
    params       the recommended configuration; empty with several objectives
    absent       other parameters of the study: an earlier recommendation may have had them
    directions   of the objectives, by name
    metrics      key figures, all of them finite
    description  the answers in sentences, as Markdown
    files        texts by file name
    """

    key: str
    name: str
    n_trials: int
    params: dict[str, Any]
    absent: tuple[str, ...]
    directions: dict[str, str]
    metrics: dict[str, float]
    description: str
    files: dict[str, str]


def missing(tracker: str, package: str) -> ImportError:
    """What to say without a package that `log` needs. `tracker`: also the name of the extra."""
    return ImportError(
        printable(
            f"`pellucid.integrations.{tracker}.log` needs the package {package}, which is not installed: run "
            f'`pip install "pellucid[{tracker}]"`.'
        )
    )


def run_contents(study: Study, tracker: str, *, progress: bool) -> RunContents:
    """What to log about a study; `tracker`: where. Raises NoAnswerYet if no trial is complete."""
    try:
        import pellucid.reporting.page  # noqa: F401
    except ImportError as error:
        raise missing(tracker, "plotly") from error
    return contents_of(gather(study, progress))


def contents_of(answers: Overview) -> RunContents:
    from pellucid.reporting.page import page

    key = _key(answers)
    use = answers.ask(RECOMMENDATION)
    params = use.params if isinstance(use, Recommendation) else {}
    known = dict.fromkeys(name for trial in answers.view.trials for name in trial.params)
    description = _description(answers)
    return RunContents(
        key=key,
        name=printable(answers.view.name),
        n_trials=len(answers.view.trials),
        params=distinct((accepted(name), _plain(value)) for name, value in params.items()),
        absent=tuple(accepted(name) for name in known if name not in params),
        directions=distinct((accepted(each.name), each.direction) for each in answers.view.objectives),
        metrics=distinct(_finite(_metrics(answers))),
        description=description,
        files={**_records(answers), "answers.md": description, "report.html": writable(page(answers))},
    )


def _plain(value: Any) -> Any:
    """A value of a parameter as JSON can carry it and a terminal can show it; `recommendation.json` has it as it is."""
    return printable(value) if isinstance(value, str) else plain(value)


def _key(answers: Overview) -> str:
    """A digest of the name and of the moment at which a trial was complete for the first time.

    The name alone would not tell a study from one that was deleted and started anew; numbers of a storage change if the
    study is copied.
    """
    ends = [trial.datetime_complete for trial in answers.view.trials if trial.state == TrialState.COMPLETE]
    times = [end for end in ends if end is not None]
    if not times:
        raise NoAnswerYet(
            f"A study is logged once a trial is complete, but none of the {len(answers.view.trials)} trials of "
            f"{answers.view.name!r} is: run more trials, then log it again."
        )
    return digest(f"{answers.view.name}\0{min(times).isoformat()}", length=16)


# ---------------------------------------------------------------------- key figures


def _finite(figures: Iterable[tuple[str, float | None]]) -> Iterator[tuple[str, float]]:
    return ((name, float(value)) for name, value in figures if value is not None and math.isfinite(value))


def _metrics(answers: Overview) -> Iterator[tuple[str, float | None]]:
    """Names and values; None if a value is not known."""
    yield from _values(answers)
    yield from ((f"trials/{state}", float(n)) for state, n in Counter(course(answers).states).items())
    yield "trials/all", float(len(answers.view.trials))
    verdict = answers.found(VERDICT)
    if verdict is not None:
        yield "stopping/stop", float(verdict.stop)
        yield "stopping/bound", verdict.bound
        yield "stopping/tolerance", verdict.tolerance
        yield "stopping/more_trials", verdict.more_trials
    for question in answers.shown(RANGES):
        ranges = answers.found(RANGES, question.subject)
        yield "ranges/advice", None if ranges is None else float(len(ranges.advice))
    for question in answers.shown(IMPORTANCE):
        yield from _of_objective(question, f"/{accepted(question.label)}" if question.label else "")


def _values(answers: Overview) -> Iterator[tuple[str, float | None]]:
    """What trials returned, and what to expect of the recommended one, under the names of the objectives."""
    history, use = course(answers), answers.ask(RECOMMENDATION)
    if isinstance(history, History):
        name = accepted(history.objective)
        yield f"{name}/best", history.best[-1]
        if isinstance(use, Recommendation):
            for field in ("expected", "low", "high", "observed"):
                yield f"{name}/{field}", getattr(use, field)
            yield "recommended/trial", float(use.trial)
            yield "recommended/feasible", use.feasible
        return
    rows = dict(zip(history.numbers, history.values, strict=True))
    front = [row for number in history.front if (row := rows[number]) is not None]
    for i, (name, direction) in enumerate(zip(history.objectives, history.directions, strict=True)):
        best = max if direction == "maximize" else min
        yield f"{accepted(name)}/best", best((row[i] for row in front), default=None)
    yield "front/trials", float(len(front))
    if isinstance(use, Front):
        yield "front/recommended", float(len(use.members))


def _of_objective(question: Question[Importance], folder: str) -> Iterator[tuple[str, float | None]]:
    """`folder`: of the objective, if there are several."""
    answers, subject = question.overview, question.subject
    importance, calibration = answers.found(IMPORTANCE, subject), answers.found(CALIBRATION, subject)
    if importance is not None:
        # A parameter of several branches has a share in each: the first is the largest.
        shares = {share.name: share.total for share in reversed(importance.parameters[:_MOST_SHARES])}
        yield from ((f"importance{folder}/{accepted(name)}", total) for name, total in reversed(shares.items()))
    if calibration is not None:
        for field in ("n", "coverage", "z_mean", "z_sd"):
            yield f"calibration{folder}/{field}", getattr(calibration, field)


# ---------------------------------------------------------------------- sentences and files


def _description(answers: Overview) -> str:
    from pellucid.answers.doubts import doubts
    from pellucid.reporting.note import prose

    verdict = answers.ask(VERDICT)
    sections: list[tuple[str, Sequence[object]]] = [
        (f"Best configuration{'s' if answers.view.several else ''}", [answers.ask(RECOMMENDATION)]),
        (
            "Can you stop",
            [verdict if isinstance(verdict, NotKnown) else " ".join((verdict.reply, *verdict.notes))],
        ),
        ("What matters", [question.answered() for question in answers.shown(IMPORTANCE)]),
        ("What one objective costs in another", [question.answered() for question in answers.shown(TRADEOFF)]),
        ("Which ranges to change", [question.answered() for question in answers.shown(RANGES)]),
        ("Were predictions true", [question.answered() for question in answers.shown(CALIBRATION)]),
        ("What to distrust", doubts(answers)),
    ]
    parts = [[f"## {title}", *(prose(str(answer)) for answer in said)] for title, said in sections if said]
    return "\n\n".join(line for part in parts for line in part) + "\n"


def _records(answers: Overview) -> dict[str, str]:
    """The answers as JSON, by file name."""
    names = [objective.name for objective in answers.view.objectives]
    ranges = [question.answered() for question in answers.shown(RANGES)]
    each = {
        f"{answer.key}.json": _json(
            {name: question.answered().to_dict() for name, question in zip(names, answers.shown(answer), strict=True)}
        )
        for answer in (IMPORTANCE, CALIBRATION)
    }
    return {
        "recommendation.json": _json(answers.ask(RECOMMENDATION).to_dict()),
        "stopping.json": _json(answers.ask(VERDICT).to_dict()),
        **({"ranges.json": _json(ranges[0].to_dict())} if ranges else {}),
        **each,
    }


def _json(record: dict[str, Any]) -> str:
    return json.dumps(plain(record), indent=1, allow_nan=False) + "\n"
