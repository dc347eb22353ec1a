"""The sections of a page, in the order in which a reader decides: what to set, what matters, which ranges to change,
when to stop; then the evidence: were predictions true, the trials themselves, and why each was proposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pellucid.records import (
    Calibration,
    ExpectedOutcome,
    FailingSettings,
    Front,
    Importance,
    NotKnown,
    ParallelCoordinates,
    ParameterRanges,
    PartialDependence,
    ProfileEffect,
    PruningRecord,
    RegretHistory,
    Timeline,
    Tradeoff,
)
from pellucid.reporting.agreement import advises_to_stop, beyond_the_verdict
from pellucid.reporting.answers import chance_text, parameter
from pellucid.reporting.doubts import others
from pellucid.reporting.figures import PageFigures
from pellucid.reporting.gather import ObjectiveAnswers, StudyAnswers
from pellucid.reporting.markup import Markup, prose, tag
from pellucid.reporting.picker import picker, picks
from pellucid.reporting.trial_table import listed
from pellucid.words import spoken, value_text, with_error

# Configurations of the front, and their parameters, in a table.
_MOST_ROWS, _MOST_COLUMNS = 60, 12
# Share of the variance from which an interaction is worth a figure.
_TOGETHER = 0.03


def sections_of(study: StudyAnswers, figures: PageFigures) -> Iterator[tuple[str, str, Iterator[Markup]]]:
    """Name, title and content of every section; one without content is left out."""
    if study.several:
        yield "front", "Best configurations", _front(study, figures)
        yield "tradeoff", "Trade-off", _tradeoff(study, figures)
        for i, each in enumerate(study.each):
            yield f"objective-{i}", each.name, _objective(each, f"objective-{i}-", figures)
    else:
        (only,) = study.each
        # After the advice to stop, it is a reason to distrust that, and stands there.
        differs = "" if advises_to_stop(study) else beyond_the_verdict(study)
        yield "effects", "What to set", _effects(only, "", figures, differs)
        yield "matters", "What matters", _matters(only, "", figures)
        yield "ranges", "Ranges", _ranges(study, figures)
    yield "stop", "How much is left", _stop(study, figures)
    yield "curves", "Learning curves", _learning(study, figures)
    yield "constraints", "Constraints", _constraints(study, figures)
    yield "failures", "Failures", _failures(study, figures)
    if not study.several:
        yield "true", "Were predictions true", _true(study.each[0], "", figures)
    yield "trials", "Trials", _trials(study, figures)
    yield "why", "Why this trial", _why(study, figures)


def _not_known(answer: object) -> Markup:
    return tag("p", prose(str(answer)), class_="soft")


_FILTER = "Words, or comparisons such as “depth > 5”"


def _trials(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    """The course of the study, its times, what the best trials share, and all trials as a table."""
    if any(value is not None for value in study.history.values):
        yield figures.put("history", study.history)
    else:
        yield _not_known(study.history.sentence)
    if isinstance(study.coordinates, ParallelCoordinates):
        yield figures.put("coordinates", study.coordinates)
    if isinstance(study.timeline, Timeline):
        yield figures.put("timeline", study.timeline)
    if not study.trials:
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
    rows, n = len(listed(study, picks(study))), len(study.trials)
    selected = f"{rows:,} of {n:,} trials are listed: the explained and the recommended ones, and an even selection."
    some = [tag("p", selected, class_="soft")] if rows < n else []
    yield tag("div", tag("h3", "All trials"), *some, search, scrolled, class_="screen")


_EXPECTED = (
    "What is expected of each trial if it is run again and again, not what it returned. ± is half of the 95% interval, "
    "which allows for luck and for what the model does not know."
)


def _front(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    """The front, and the configurations on it."""
    use = study.recommendation
    if not isinstance(use, Front):
        yield _not_known(use)
        return
    yield figures.put("front", use)
    yield tag("p", _EXPECTED, class_="soft")
    params = list(dict.fromkeys(name for member in use.members for name in member.params))[:_MOST_COLUMNS]
    titles = ("trial", *use.objectives, "on the front", *(["feasible"] if use.members[0].feasible is not None else []))
    head = tag("tr", *(tag("th", title) for title in titles), *(tag("th", parameter(name, study)) for name in params))
    rows = []
    for member in use.members[:_MOST_ROWS]:
        chances = [member.probability, *([] if member.feasible is None else [member.feasible])]
        texts = [
            *(_with_interval(outcome) for outcome in member.outcomes),
            *map(chance_text, chances),
            *(value_text(member.params[name]) if name in member.params else "" for name in params),
        ]
        number = tag("a", str(member.trial), href=f"#trial-{member.trial}")
        rows.append(tag("tr", tag("td", number), *(tag("td", text) for text in texts)))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="members")
    yield tag("div", table, class_="table", tabindex="0", role="region", aria_label="The front")


def _with_interval(outcome: ExpectedOutcome) -> str:
    if outcome.low is None or outcome.high is None:
        return value_text(outcome.expected)
    return with_error(outcome.expected, 0.5 * (outcome.high - outcome.low))


def _tradeoff(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    for i, tradeoff in enumerate(study.tradeoffs):
        if isinstance(tradeoff, Tradeoff):
            yield figures.put(f"tradeoff-{i}", tradeoff)
        else:
            yield _not_known(tradeoff)


_ROOM = (
    "The room is a bound, not a prediction, and may be more than the objective can reach: the model does not know its "
    "limits."
)


def _stop(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(study.regret, RegretHistory) and study.regret.after:
        yield figures.put("course", study.regret)
        yield tag("p", _ROOM, class_="soft")
    else:
        yield _not_known(str(study.regret))


_STOPPED = (
    "The stopped trials that were likeliest to become the best, as the model of all trials sees it now: what they "
    "reported, what was expected of them, and their chance when they were stopped."
)


def _learning(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if study.curves is None:
        return
    record, stopped = study.curves.record, study.curves.stopped
    if not isinstance(record, PruningRecord):
        yield _not_known(record)
    elif record.rows or record.bins:
        yield figures.put("pruning", record)
    yield figures.put("curves", study.curves.curves)
    if stopped:
        yield tag("p", _STOPPED, class_="soft")
    for explanation in stopped:
        yield figures.put(f"stopped-{explanation.trial}", explanation)


def _objective(each: ObjectiveAnswers, prefix: str, figures: PageFigures) -> Iterator[Markup]:
    """All about one of several objectives. `prefix`: of the names of its figures."""
    yield from _effects(each, prefix, figures)
    yield from _matters(each, prefix, figures)
    yield from _true(each, prefix, figures)


def _true(each: ObjectiveAnswers, prefix: str, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(each.calibration, Calibration):
        yield figures.put(f"{prefix}calibration", each.calibration)
    else:
        yield _not_known(each.calibration)


def _matters(each: ObjectiveAnswers, prefix: str, figures: PageFigures) -> Iterator[Markup]:
    if not isinstance(each.importance, Importance):
        yield _not_known(each.importance)
        return
    yield figures.put(f"{prefix}importance", each.importance, top=60)
    if any(pair.index >= _TOGETHER for pair in each.importance.pairs):
        yield figures.put(f"{prefix}pairs", each.importance, what="pairs")


_PROFILES = (
    "What can be reached at each value of a parameter if everything else is set as well as possible, tried or not, "
    "with 95% bands. They may reach values that the objective cannot have: the model does not know its limits. Each "
    "parameter is worked out by itself, so two profiles may differ a little about the same settings. "
)
_OF_ONE = (
    "Bands also cover what is not known about the best trial itself, so they may be wider than the room to improve. "
    "The trial to use was picked, so what to expect of it allows for luck; profiles do not."
)
_OF_SEVERAL = (
    "Intervals of trials on the front also allow for luck, and held the truth more often than they promise in our "
    "tests: they may be wider than these bands."
)
_AVERAGED = "On average over all other settings"
_AVERAGES = (
    "The same parameters on average over all other settings, good and bad, with 95% bands. A parameter can matter "
    "although it is not known which of its values is better on average, and a difference can be known although its "
    "share of the variance is not. Most settings were never tried, so these bands are often wider than those of the "
    "best, and may reach beyond them."
)


def _alone(each: ObjectiveAnswers) -> str:
    """What is to be said of parameters with a profile and without an average."""
    if isinstance(each.effects, NotKnown) or isinstance(each.profiles, NotKnown):
        return ""
    averaged = {name for effect in each.effects for name in effect.params}
    alone = [f"`{profile.param}`" for profile in each.profiles if profile.param not in averaged]
    if not alone:
        return ""
    return f" {spoken(alone)} {'is' if len(alone) == 1 else 'are'} alone in a branch: there is nothing to average over."


def _effects(each: ObjectiveAnswers, prefix: str, figures: PageFigures, differs: str = "") -> Iterator[Markup]:
    """What can be reached at each value first; averages, which mix in bad settings, on demand. `differs`: a line if
    other answers say something else."""
    if isinstance(each.effects, NotKnown) and isinstance(each.profiles, NotKnown):
        yield _not_known(each.effects)
        return
    said: list[str] = []
    if not isinstance(each.profiles, NotKnown):
        known = len(each.importance.parameters) if isinstance(each.importance, Importance) else 0
        shown = len(each.profiles)
        left = f" Shown are {shown} of {known} parameters, those of the best trial first." if known > shown else ""
        yield tag("p", f"{_PROFILES}{_OF_SEVERAL if prefix else _OF_ONE}{left}", class_="soft")
        if differs:
            yield tag("p", prose(differs), class_="doubt")
        yield from _curves(f"{prefix}profile", each.profiles, figures, said)
    if not isinstance(each.effects, NotKnown):
        alone = f"{_AVERAGES}{_alone(each)}"
        averages = [tag("p", prose(alone), class_="soft"), *_curves(f"{prefix}effect", each.effects, figures, said)]
        if each.joint is not None:
            averages.append(figures.put(f"{prefix}joint", each.joint, top=50, shown_before=said))
        yield tag("details", tag("summary", _AVERAGED), *averages, id=f"{prefix}averages")


def _curves(
    name: str, curves: Sequence[ProfileEffect | PartialDependence], figures: PageFigures, said: list[str]
) -> Iterator[Markup]:
    """A figure per parameter, two in a row; doubts that all of them share stand once, above. `said`: those so far."""
    everywhere = set(curves[0].notes).intersection(*(curve.notes for curve in curves))
    shared = [note for note in curves[0].notes if note in everywhere]
    for note in shared:
        if note not in said:
            yield tag("p", prose(note), class_="doubt")
    said += shared
    placed = [figures.put(f"{name}-{i}", curve, shown_before=said) for i, curve in enumerate(curves)]
    yield tag("div", *placed, class_="pairs")


def _ranges(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if not isinstance(study.ranges, ParameterRanges):
        yield _not_known(study.ranges)
        return
    yield figures.put("ranges", study.ranges)
    if study.ranges.advice:
        yield tag("ul", *(tag("li", prose(advice.sentence)) for advice in study.ranges.advice))


def _constraints(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if study.constraints:
        yield tag("p", "Which parameters decide whether a trial is feasible, constraint by constraint.", class_="soft")
    for i, (name, importance) in enumerate(study.constraints.items()):
        yield tag("h3", tag("code", name))
        if isinstance(importance, NotKnown):
            yield _not_known(importance)
        else:
            yield figures.put(f"constraint-{i}", importance, top=60)


def _failures(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(study.failing, FailingSettings):
        known = bool(study.failing.settings)
        yield figures.put("failing", study.failing, top=20) if known else _not_known(study.failing)
    if isinstance(study.failures, NotKnown):
        yield _not_known(study.failures)
    elif study.failures is not None:
        yield figures.put("failures", study.failures, what="indices")
        if study.failures.impactful:
            yield figures.put("failed-values", study.failures, what="values", top=60)


def _why(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if not study.trials:
        return
    for reason in others(study):
        yield tag("p", prose(reason), class_="soft")
    yield from picker(study)
    paths = study.paths
    if paths is not None:
        yield figures.put("paths", paths, top=60)
