"""All trials of a study as columns, for the page's table, for copying a configuration, and for the picker.

Numbers are stored as they are; choices as positions in a list of texts and literals, because JSON has no difference
between 1 and 1.0, and a configuration must be copied as it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers.base import Overview
from pellucid.answers.questions.recommendation import recommended
from pellucid.answers.questions.trials import course
from pellucid.study.trials import distributions
from pellucid.surfaces.page.markup import Markup, tag
from pellucid.words import value_text

# Significant digits of what a trial returned: parameters keep all of theirs.
_DIGITS = 8
# Cells of a table: with 20 columns those of 12,500 trials, which take about 2 megabytes of a page.
_MOST_CELLS = 250_000


_FILTER = "Words, or comparisons such as “depth > 5”"


def all_trials(overview: Overview, needed: Collection[int]) -> Iterator[Markup]:
    """The place for the table, and a filter."""
    n = len(overview.view.trials)
    if not n:
        return
    search = tag(
        "div",
        tag("label", "Filter ", for_="filter"),
        tag("input", id="filter", type="search", placeholder=_FILTER, autocomplete="off", spellcheck="false"),
        tag("span", id="count", class_="soft", role="status"),
        class_="picker",
    )
    table = tag("table", tag("thead", tag("tr", id="titles")), tag("tbody", id="rows"))
    scrolled = tag("div", table, id="table", class_="table", tabindex="0", role="region", aria_label="All trials")
    rows = len(listed(overview, needed))
    selected = f"{rows:,} of {n:,} trials are listed: the explained and the recommended ones, and an even selection."
    some = [tag("p", selected, class_="soft")] if rows < n else []
    yield tag("div", tag("h3", "All trials"), *some, search, scrolled, class_="screen")


def listed(overview: Overview, needed: Collection[int]) -> list[int]:
    """Positions of the trials in the table: all, or an even selection with those that are `needed` (positions), the
    recommended ones and the newest."""
    n = len(overview.view.trials)
    most = _MOST_CELLS // max(1, *(len(trial.params) for trial in overview.view.trials)) if n else 0
    if n <= most:
        return list(range(n))
    best = set(recommended(overview))
    always = {*needed, n - 1, *(i for i, trial in enumerate(overview.view.trials) if trial.number in best)}
    return sorted(always | {round(i * (n - 1) / (most - 1)) for i in range(most)} if most > 1 else always)


def table_of(overview: Overview, needed: Collection[int]) -> dict[str, Any]:
    """The columns of the table. `kind` of a column: 'number', 'float' or 'int' (of a parameter), 'choice' or 'text'.
    `needed`: positions of trials that it must have."""
    rows, best = listed(overview, needed), recommended(overview)
    columns = [*_outcomes(overview), *_parameters(overview)]
    if len(rows) < len(overview.view.trials):
        columns = [{**column, "values": [column["values"][i] for i in rows]} for column in columns]
    return {"numbers": [overview.view.trials[i].number for i in rows], "columns": columns, "best": best}


def _outcomes(overview: Overview) -> Iterable[dict[str, Any]]:
    history = course(overview)
    yield {"name": "state", "kind": "text", "values": list(history.states)}
    for i, each in enumerate(overview.view.objectives):
        values = [returned(trial)[i] if returned(trial) else None for trial in overview.view.trials]
        yield {"name": each.name, "kind": "number", "values": [_rounded(value) for value in values]}
    reports = [last_report(trial) for trial in overview.view.trials]
    if any(report is not None for report in reports):
        values = [None if report is None else report[1] for report in reports]
        yield {"name": "last report", "kind": "number", "values": [_rounded(value) for value in values]}
    if history.feasible:
        words = {True: "yes", False: "no", None: None}
        yield {"name": "feasible", "kind": "text", "values": [words[fine] for fine in history.feasible]}
    took = [None if t.duration is None else max(t.duration.total_seconds(), 0.0) for t in overview.view.trials]
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


def _parameters(overview: Overview) -> Iterable[dict[str, Any]]:
    known = distributions(overview.view.trials, tuple({trial.state for trial in overview.view.trials}))
    configurations = [trial.params for trial in overview.view.trials]
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
