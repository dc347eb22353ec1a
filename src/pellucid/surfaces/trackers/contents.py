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

from pellucid.answers.agreement import lead
from pellucid.answers.base import Answer, Metrics, Overview, Question, Takes, resolve
from pellucid.answers.catalogue import CATALOGUE, RECOMMENDATION
from pellucid.answers.doubts import doubts
from pellucid.answers.finding import NotKnown, plain
from pellucid.answers.questions.trials import course
from pellucid.numerics import one_thread
from pellucid.study.view import StudyView
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.trackers.names import accepted, digest, distinct, writable
from pellucid.words import NoAnswerYet, printable

# What a run has as sentences and files: the answers for which nothing has to be named.
_LOGGED = [answer for answer in CATALOGUE if answer.listed is not None and answer.takes is Takes.NOTHING]


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
        import pellucid.surfaces.page.page  # noqa: F401
    except ImportError as error:
        raise missing(tracker, "plotly") from error
    return contents_of(gather(study, progress))


def contents_of(overview: Overview) -> RunContents:
    """What the catalogue has about a study, and its page."""
    from pellucid.surfaces.page.page import page

    view, key = overview.view, _key(overview.view)
    params: dict[str, Any] = getattr(overview.ask(RECOMMENDATION), "params", {})  # A front has none.
    known = dict.fromkeys(name for trial in view.trials for name in trial.params)
    with one_thread:
        metrics = distinct(_finite(_metrics(overview)))
        description = _description(overview)
        records = _records(overview)
    return RunContents(
        key=key,
        name=printable(view.name),
        n_trials=len(view.trials),
        params=distinct((accepted(name), _plain(value)) for name, value in params.items()),
        absent=tuple(accepted(name) for name in known if name not in params),
        directions=distinct((accepted(each.name), each.direction) for each in view.objectives),
        metrics=metrics,
        description=description,
        files={**records, "answers.md": description, "report.html": writable(page(overview))},
    )


def _plain(value: Any) -> Any:
    """A value of a parameter as JSON can carry it and a terminal can show it; `recommendation.json` has it as it is."""
    return printable(value) if isinstance(value, str) else plain(value)


def _key(view: StudyView) -> str:
    """A digest of the name and of the moment at which a trial was complete for the first time.

    The name alone would not tell a study from one that was deleted and started anew; numbers of a storage change if the
    study is copied.
    """
    ends = [trial.datetime_complete for trial in view.trials if trial.state == TrialState.COMPLETE]
    times = [end for end in ends if end is not None]
    if not times:
        raise NoAnswerYet(
            f"A study is logged once a trial is complete, but none of the {len(view.trials)} trials of "
            f"{view.name!r} is: run more trials, then log it again."
        )
    return digest(f"{view.name}\0{min(times).isoformat()}", length=16)


# ---------------------------------------------------------------------- key figures


def _finite(figures: Iterable[tuple[str, float | None]]) -> Iterator[tuple[str, float]]:
    return ((name, float(value)) for name, value in figures if value is not None and math.isfinite(value))


def _metrics(overview: Overview) -> Iterator[tuple[str, float | None]]:
    """Names and values; None if a value is not known."""
    yield from ((f"trials/{state}", float(n)) for state, n in Counter(course(overview).states).items())
    yield "trials/all", float(len(overview.view.trials))
    for answer in CATALOGUE:
        if answer.metrics:
            for question in overview.listed(answer) or overview.shown(answer):
                yield from _of_question(question)


def _of_question(question: Question[Any]) -> Iterator[tuple[str, float | None]]:
    """The figures of one answer. The name of one of several objectives comes after that of the answer."""
    record = question.answered()
    if isinstance(record, NotKnown):
        return
    metrics: Metrics = resolve(question.answer.metrics)(record)
    for (folder, *names), value in metrics.items():
        parts = [folder, question.label, *names] if question.label else [folder, *names]
        yield "/".join(map(accepted, parts)), value


# ---------------------------------------------------------------------- sentences and files


def _description(overview: Overview) -> str:
    from pellucid.surfaces.page.note import prose

    lines = []
    for answer in _LOGGED:
        questions = overview.listed(answer)
        if questions:
            lines += [f"## {questions[0].title}", *(prose(_said(question)) for question in questions)]
    distrusted = doubts(overview)
    if distrusted:
        lines += ["## What to distrust", *(prose(str(doubt)) for doubt in distrusted)]
    return "\n\n".join(lines) + "\n"


def _said(question: Question[Any]) -> str:
    answer = question.answered()
    said = str(answer) if isinstance(answer, NotKnown) else printable(" ".join((answer.reply, *answer.notes)))
    return " ".join(filter(None, (lead(question), said)))


def _records(overview: Overview) -> dict[str, str]:
    """The answers as JSON, by file name."""
    files = {}
    for answer in _LOGGED:
        questions = overview.listed(answer)
        if not questions:
            continue
        text = _json(_data(answer, questions))
        files[f"{answer.key}.json"] = text
        if answer.described.old_file:
            files[answer.described.old_file] = text
    return files


def _data(answer: Answer[Any], questions: Sequence[Question[Any]]) -> dict[str, Any]:
    """An answer; if it may be about several objectives, that about each by its name."""
    if not answer.parts.several:
        return questions[0].answered().to_dict()
    overview = questions[0].overview
    only = overview.view.objectives[0].name
    return {overview.label(question.subject) or only: question.answered().to_dict() for question in questions}


def _json(record: dict[str, Any]) -> str:
    return json.dumps(plain(record), indent=1, allow_nan=False) + "\n"
