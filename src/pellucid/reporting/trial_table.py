"""All trials of a study as columns, for the page's table, for copying a configuration, and for the picker.

Numbers are stored as they are; choices as positions in a list of texts and literals, because JSON has no difference
between 1 and 1.0, and a configuration must be copied as it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from pellucid.records import Front, NotKnown
from pellucid.reporting.gather import StudyAnswers
from pellucid.study.trials import distributions
from pellucid.words import value_text

# Significant digits of what a trial returned: parameters keep all of theirs.
_DIGITS = 8
# Cells of a table: with 20 columns those of 12,500 trials, which take about 2 megabytes of a page.
_MOST_CELLS = 250_000


def listed(study: StudyAnswers, needed: Collection[int]) -> list[int]:
    """Positions of the trials in the table: all, or an even selection with those that are `needed` (positions), the
    recommended ones and the newest."""
    n = len(study.trials)
    most = _MOST_CELLS // max(1, *(len(trial.params) for trial in study.trials)) if n else 0
    if n <= most:
        return list(range(n))
    best = set(_best(study))
    always = {*needed, n - 1, *(i for i, trial in enumerate(study.trials) if trial.number in best)}
    return sorted(always | {round(i * (n - 1) / (most - 1)) for i in range(most)} if most > 1 else always)


def table_of(study: StudyAnswers, needed: Collection[int]) -> dict[str, Any]:
    """The columns of the table. `kind` of a column: 'number', 'float' or 'int' (of a parameter), 'choice' or 'text'.
    `needed`: positions of trials that it must have."""
    rows = listed(study, needed)
    columns = [*_outcomes(study), *_parameters(study)]
    if len(rows) < len(study.trials):
        columns = [{**column, "values": [column["values"][i] for i in rows]} for column in columns]
    return {"numbers": [study.trials[i].number for i in rows], "columns": columns, "best": _best(study)}


def _best(study: StudyAnswers) -> list[int]:
    """The recommended trials."""
    use = study.recommendation
    if isinstance(use, NotKnown):
        return []
    return [member.trial for member in use.members] if isinstance(use, Front) else [use.trial]


def _outcomes(study: StudyAnswers) -> Iterable[dict[str, Any]]:
    history = study.history
    yield {"name": "state", "kind": "text", "values": list(history.states)}
    for i, each in enumerate(study.each):
        values = [returned(trial)[i] if returned(trial) else None for trial in study.trials]
        yield {"name": each.name, "kind": "number", "values": [_rounded(value) for value in values]}
    reports = [last_report(trial) for trial in study.trials]
    if any(report is not None for report in reports):
        values = [None if report is None else report[1] for report in reports]
        yield {"name": "last report", "kind": "number", "values": [_rounded(value) for value in values]}
    if history.feasible:
        words = {True: "yes", False: "no", None: None}
        yield {"name": "feasible", "kind": "text", "values": [words[fine] for fine in history.feasible]}
    took = [None if t.duration is None else max(t.duration.total_seconds(), 0.0) for t in study.trials]
    yield {"name": "seconds", "kind": "number", "values": [_rounded(seconds) for seconds in took]}


def returned(trial: FrozenTrial) -> Sequence[float]:
    """The values of a complete trial; of any other, none: what a model expects of it is no value."""
    return trial.values if trial.state == TrialState.COMPLETE else ()


def last_report(trial: FrozenTrial) -> tuple[int, float] | None:
    """The last step that a trial reported, and its value."""
    return max(trial.intermediate_values.items(), default=None)


def _rounded(value: float | None) -> float | str | None:
    """A number as JSON can carry it; infinities as text."""
    if value is None:
        return None
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else str(value)


def _parameters(study: StudyAnswers) -> Iterable[dict[str, Any]]:
    known = distributions(study.trials, tuple({trial.state for trial in study.trials}))
    configurations = [trial.params for trial in study.trials]
    names = dict.fromkeys(name for configuration in configurations for name in configuration)
    for name in names:
        kind = known[name]
        if isinstance(kind, CategoricalDistribution) or not all(map(_plain, _values(configurations, name))):
            yield _choices(name, configurations)
        else:
            yield {
                "name": name,
                "kind": "float" if isinstance(kind, FloatDistribution) else "int",
                "values": [configuration.get(name) for configuration in configurations],
                "parameter": True,
            }


def _values(configurations: Iterable[Mapping[str, Any]], name: str) -> Iterable[Any]:
    return (configuration[name] for configuration in configurations if name in configuration)


def _plain(value: Any) -> bool:
    """Whether the page can hold a number as it is: JavaScript has integers up to 2^53."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 2**53
    )


def _choices(name: str, configurations: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`choices`: text, literal of Python, literal of JSON and bare text of each; `values`: positions in that list."""
    places: dict[str, int] = {}
    choices: list[tuple[str, str, str, str]] = []
    values: list[int | None] = []
    for configuration in configurations:
        if name not in configuration:
            values.append(None)
            continue
        value = configuration[name]
        place = places.setdefault(repr(value), len(choices))
        if place == len(choices):
            choices.append((value_text(value), repr(value), _as_json(value), str(value)))
        values.append(place)
    return {"name": name, "kind": "choice", "values": values, "choices": choices, "parameter": True}


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(str(value))
