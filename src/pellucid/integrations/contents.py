"""What a tracker's run holds about a study: the recommended configuration, key figures, sentences and files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import TrialState

from pellucid.integrations.names import accepted, digest, distinct, writable
from pellucid.records import (
    Calibration,
    Front,
    History,
    Importance,
    NotKnown,
    ParameterRanges,
    Recommendation,
    RegretHistory,
    plain,
)
from pellucid.reporting.gather import ObjectiveAnswers, StudyAnswers, gather
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


def contents_of(answers: StudyAnswers) -> RunContents:
    from pellucid.reporting.page import page

    key = _key(answers)
    use = answers.recommendation
    params = use.params if isinstance(use, Recommendation) else {}
    known = dict.fromkeys(name for trial in answers.trials for name in trial.params)
    history = answers.history
    directions = (history.direction,) if isinstance(history, History) else history.directions
    description = _description(answers)
    return RunContents(
        key=key,
        name=printable(answers.name),
        n_trials=len(answers.trials),
        params=distinct((accepted(name), _plain(value)) for name, value in params.items()),
        absent=tuple(accepted(name) for name in known if name not in params),
        directions=distinct((accepted(each.name), d) for each, d in zip(answers.each, directions, strict=True)),
        metrics=distinct(_finite(_metrics(answers))),
        description=description,
        files={**_records(answers), "answers.md": description, "report.html": writable(page(answers))},
    )


def _plain(value: Any) -> Any:
    """A value of a parameter as JSON can carry it and a terminal can show it; `recommendation.json` has it as it is."""
    return printable(value) if isinstance(value, str) else plain(value)


def _key(answers: StudyAnswers) -> str:
    """A digest of the name and of the moment at which a trial was complete for the first time.

    The name alone would not tell a study from one that was deleted and started anew; numbers of a storage change if the
    study is copied.
    """
    ends = [trial.datetime_complete for trial in answers.trials if trial.state == TrialState.COMPLETE]
    times = [end for end in ends if end is not None]
    if not times:
        raise NoAnswerYet(
            f"A study is logged once a trial is complete, but none of the {len(answers.trials)} trials of "
            f"{answers.name!r} is: run more trials, then log it again."
        )
    return digest(f"{answers.name}\0{min(times).isoformat()}", length=16)


# ---------------------------------------------------------------------- key figures


def _finite(figures: Iterable[tuple[str, float | None]]) -> Iterator[tuple[str, float]]:
    return ((name, float(value)) for name, value in figures if value is not None and math.isfinite(value))


def _metrics(answers: StudyAnswers) -> Iterator[tuple[str, float | None]]:
    """Names and values; None if a value is not known."""
    yield from _values(answers)
    yield from ((f"trials/{state}", float(n)) for state, n in answers.counts.items())
    yield "trials/all", float(len(answers.trials))
    if isinstance(answers.regret, RegretHistory):
        verdict = answers.regret.stopping
        yield "stopping/stop", float(verdict.stop)
        yield "stopping/bound", verdict.bound
        yield "stopping/tolerance", verdict.tolerance
        yield "stopping/more_trials", verdict.more_trials
    if isinstance(answers.ranges, ParameterRanges):
        yield "ranges/advice", float(len(answers.ranges.advice))
    for each in answers.each:
        yield from _of_objective(each, f"/{accepted(each.name)}" if answers.several else "")


def _values(answers: StudyAnswers) -> Iterator[tuple[str, float | None]]:
    """What trials returned, and what to expect of the recommended one, under the names of the objectives."""
    history, use = answers.history, answers.recommendation
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


def _of_objective(each: ObjectiveAnswers, folder: str) -> Iterator[tuple[str, float | None]]:
    """`folder`: of the objective, if there are several."""
    if isinstance(each.importance, Importance):
        # A parameter of several branches has a share in each: the first is the largest.
        shares = {share.name: share.total for share in reversed(each.importance.parameters[:_MOST_SHARES])}
        yield from ((f"importance{folder}/{accepted(name)}", total) for name, total in reversed(shares.items()))
    if isinstance(each.calibration, Calibration):
        for field in ("n", "coverage", "z_mean", "z_sd"):
            yield f"calibration{folder}/{field}", getattr(each.calibration, field)


# ---------------------------------------------------------------------- sentences and files


def _description(answers: StudyAnswers) -> str:
    from pellucid.reporting.doubts import doubts
    from pellucid.reporting.note import prose

    regret = answers.regret
    sections: list[tuple[str, Sequence[object]]] = [
        (f"Best configuration{'s' if answers.several else ''}", [answers.recommendation]),
        (
            "Can you stop",
            [regret if isinstance(regret, NotKnown) else " ".join((regret.stopping.reply, *regret.notes))],
        ),
        ("What matters", [each.importance for each in answers.each]),
        ("What one objective costs in another", list(answers.tradeoffs)),
        ("Which ranges to change", [] if answers.ranges is None else [answers.ranges]),
        ("Were predictions true", [each.calibration for each in answers.each]),
        ("What to distrust", doubts(answers)),
    ]
    parts = [[f"## {title}", *(prose(str(answer)) for answer in said)] for title, said in sections if said]
    return "\n\n".join(line for part in parts for line in part) + "\n"


def _records(answers: StudyAnswers) -> dict[str, str]:
    """The answers as JSON, by file name."""
    regret = answers.regret
    return {
        "recommendation.json": _json(answers.recommendation.to_dict()),
        "stopping.json": _json((regret.stopping if isinstance(regret, RegretHistory) else regret).to_dict()),
        **({} if answers.ranges is None else {"ranges.json": _json(answers.ranges.to_dict())}),
        "importance.json": _json({each.name: each.importance.to_dict() for each in answers.each}),
        "calibration.json": _json({each.name: each.calibration.to_dict() for each in answers.each}),
    }


def _json(record: dict[str, Any]) -> str:
    return json.dumps(plain(record), indent=1, allow_nan=False) + "\n"
