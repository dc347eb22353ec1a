"""One page from all answers: the answers first, the evidence below, nothing loaded from elsewhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pellucid import plots
from pellucid.explain.text import value_text, with_error
from pellucid.records import (
    OBJECTIVE,
    Calibration,
    ExpectedOutcome,
    Front,
    History,
    Importance,
    NotKnown,
    ParameterRanges,
    PartialDependence,
    ProfileEffect,
    PruningRecord,
    RegretHistory,
    Tradeoff,
    plain,
)
from pellucid.reporting.answers import answers, chance_text, parameter
from pellucid.reporting.figures import PageFigures
from pellucid.reporting.gather import ObjectiveAnswers, StudyAnswers
from pellucid.reporting.markup import Markup, joined, prose, tag

# A page stays small with many trials, and with many parameters too.
_MOST_PICKED, _MOST_VALUES = 1000, 20_000
# Configurations of the front, and their parameters, in a table.
_MOST_ROWS, _MOST_COLUMNS = 60, 12


def page(study: StudyAnswers) -> str:
    figures = PageFigures()
    sections = [(name, title, list(content)) for name, title, content in _sections(study, figures)]
    shown = [(name, title, content) for name, title, content in sections if content]
    picked = _picked(study, figures) if study.trials else {}
    links = [tag("a", title, href=f"#{name}") for name, title, _ in shown]
    counts = ", ".join(f"{n} {state}" for state, n in study.counts.most_common())
    header = tag(
        "header",
        tag("a", "Skip to the answers", href="#answers", class_="skip"),
        tag("h1", study.name),
        tag("span", f"{len(study.trials)} trials ({counts or 'none'}), to {_aims(study)}", class_="soft"),
        tag("button", "Light or dark", id="theme", type="button"),
        tag("nav", *links, aria_label="Sections"),
    )
    created = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    footer = tag("footer", f"pellucid {version('pellucid')}, {created}. This page needs no network.")
    parts = [tag("section", tag("h2", title), *content, id=name) for name, title, content in shown]
    data = {"figures": figures.by_name, "template": plots.template(), "picked": picked}
    return _document(study.name, joined(header, tag("main", answers(study), *parts), footer), data)


def _document(title: str, body: Markup, data: dict[str, Any]) -> str:
    assets = files("pellucid.reporting") / "assets"
    css, script = ((assets / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    scripts = (plots.script(), script)
    # Only these two scripts may run, and nothing is fetched or sent, so markup that slipped through would do nothing.
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # The only character that the parser acts on inside a script element.
    stored = json.dumps(plain(data), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    head = joined(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", f"{title}: pellucid report"),
        tag("style", Markup(css)),
    )
    parts = (
        body,
        tag("script", Markup(stored), type="application/json", id="data"),
        *(tag("script", Markup(text)) for text in scripts),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{joined(*parts)}</body></html>\n'


# ---------------------------------------------------------------------- sections


def _sections(study: StudyAnswers, figures: PageFigures) -> Iterator[tuple[str, str, Iterator[Markup]]]:
    """Name, title and content of every section; one without content is left out."""
    yield "trials", "Trials", _trials(study, figures)
    if study.several:
        yield "front", "The front", _front(study, figures)
        yield "tradeoff", "Trade-off", _tradeoff(study, figures)
    yield "stop", "Can you stop", _stop(study, figures)
    yield "curves", "Learning curves", _learning(study, figures)
    if study.several:
        for i, each in enumerate(study.each):
            yield f"objective-{i}", each.name, _objective(each, f"objective-{i}-", figures)
    else:
        (only,) = study.each
        yield "true", "Were predictions true", _true(only, "", figures)
        yield "matters", "What matters", _matters(only, "", figures)
        yield "effects", "Effects", _effects(only, "", figures)
        yield "ranges", "Ranges", _ranges(study, figures)
    yield "constraints", "Constraints", _constraints(study, figures)
    yield "failures", "Failures", _failures(study, figures)
    yield "why", "Why this trial", _why(study, figures)


def _aims(study: StudyAnswers) -> str:
    """ "minimize", or "maximize accuracy and minimize latency" """
    history = study.history
    directions = (history.direction,) if isinstance(history, History) else history.directions
    named = zip(directions, (each.name for each in study.each), strict=True)
    return " and ".join(direction if name == OBJECTIVE else f"{direction} {name}" for direction, name in named)


def _not_known(answer: object) -> Markup:
    return tag("p", prose(str(answer)), class_="soft")


def _trials(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if any(value is not None for value in study.history.values):
        yield figures.put("history", study.history)
    else:
        yield _not_known(study.history.sentence)


def _front(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    """The front, and the configurations on it."""
    use = study.recommendation
    if not isinstance(use, Front):
        yield _not_known(use)
        return
    yield figures.put("front", use, wide=True)
    params = list(dict.fromkeys(name for member in use.members for name in member.params))[:_MOST_COLUMNS]
    titles = ("trial", *use.objectives, "on the front", *(["feasible"] if use.members[0].feasible is not None else []))
    head = tag("tr", *(tag("th", title) for title in titles), *(tag("th", parameter(name)) for name in params))
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
    yield tag("div", tag("table", head, *rows, class_="members"), class_="figure")


def _with_interval(outcome: ExpectedOutcome) -> str:
    if outcome.low is None or outcome.high is None:
        return value_text(outcome.expected)
    return with_error(outcome.expected, 0.5 * (outcome.high - outcome.low))


def _tradeoff(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    for i, tradeoff in enumerate(study.tradeoffs):
        if isinstance(tradeoff, Tradeoff):
            yield figures.put(f"tradeoff-{i}", tradeoff, wide=True)
        else:
            yield _not_known(tradeoff)


def _stop(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(study.regret, RegretHistory) and study.regret.after:
        yield figures.put("course", study.regret)
    else:
        yield _not_known(str(study.regret))


_STOPPED = (
    "The stopped trials with the largest chance of having been the best: what they reported, and what was expected of "
    "them when they were stopped."
)


def _learning(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if study.curves is None:
        return
    record, stopped = study.curves.record, study.curves.stopped
    if not isinstance(record, PruningRecord):
        yield _not_known(record)
    elif record.rows or record.bins:
        yield figures.put("pruning", record, wide=True)
    yield figures.put("curves", study.curves.curves)
    if stopped:
        yield tag("p", _STOPPED, class_="soft")
    for explanation in stopped:
        yield figures.put(f"stopped-{explanation.trial}", explanation)


def _objective(each: ObjectiveAnswers, prefix: str, figures: PageFigures) -> Iterator[Markup]:
    """All about one of several objectives. `prefix`: of the names of its figures."""
    yield from _matters(each, prefix, figures)
    yield from _effects(each, prefix, figures)
    yield from _true(each, prefix, figures)


def _true(each: ObjectiveAnswers, prefix: str, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(each.calibration, Calibration):
        yield figures.put(f"{prefix}calibration", each.calibration, wide=True)
    else:
        yield _not_known(each.calibration)


def _matters(each: ObjectiveAnswers, prefix: str, figures: PageFigures) -> Iterator[Markup]:
    if not isinstance(each.importance, Importance):
        yield _not_known(each.importance)
        return
    yield figures.put(f"{prefix}importance", each.importance, top=60)
    if each.importance.pairs:
        yield figures.put(f"{prefix}pairs", each.importance, what="pairs")


_PROFILES = (
    "What can be reached at each value of a parameter if everything else is set as well as possible, with 95% bands."
)
_AVERAGES = (
    "The same parameters on average over all other settings, good and bad, with 95% bands. A parameter can matter for "
    "what can be reached although its average effect is not known."
)


def _effects(each: ObjectiveAnswers, prefix: str, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(each.effects, NotKnown) and isinstance(each.profiles, NotKnown):
        yield _not_known(each.effects)
        return
    said: list[str] = []
    if not isinstance(each.profiles, NotKnown):
        yield tag("p", _PROFILES, class_="soft")
        yield from _curves(f"{prefix}profile", each.profiles, figures, said)
    if not isinstance(each.effects, NotKnown):
        yield tag("h3", "On average over all other settings")
        yield tag("p", _AVERAGES, class_="soft")
        yield from _curves(f"{prefix}effect", each.effects, figures, said)
        if each.joint is not None:
            yield figures.put(f"{prefix}joint", each.joint, wide=True, top=50, shown_before=said)


def _curves(
    name: str, curves: Sequence[ProfileEffect | PartialDependence], figures: PageFigures, said: list[str]
) -> Iterator[Markup]:
    """One figure per parameter; doubts that all of them share stand once, before the first. `said`: those so far."""
    shared = [note for note in curves[0].notes if all(note in curve.notes for curve in curves)]
    for note in shared:
        if note not in said:
            yield tag("p", prose(note), class_="doubt")
    said += shared
    for i, curve in enumerate(curves):
        yield figures.put(f"{name}-{i}", curve, shown_before=said)


def _ranges(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if not isinstance(study.ranges, ParameterRanges):
        yield _not_known(study.ranges)
        return
    yield figures.put("ranges", study.ranges, wide=True)
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
    if isinstance(study.failures, NotKnown):
        yield _not_known(study.failures)
    elif study.failures is not None:
        yield figures.put("failures", study.failures, what="indices")
        if study.failures.impactful:
            yield figures.put("failed-values", study.failures, what="values", wide=True, top=60)


def _why(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if not study.trials:
        return
    picks = _picks(study)
    explained = {explanation.trial for explanation in study.explanations}
    first = study.explanations[0].trial if study.explanations else study.trials[picks[-1]].number
    options = []
    for i in picks:
        trial = study.trials[i]
        value = study.history.values[i]
        text = f"trial {trial.number}: {study.history.states[i] if value is None else _values(study, value)}"
        if study.history.feasible and study.history.feasible[i] is False:
            text += ", not feasible"
        label = f"{text}, explained" if trial.number in explained else text
        options.append(tag("option", label, value=str(trial.number), selected=trial.number == first))
    yield tag(
        "div",
        tag("label", "Why this trial? ", for_="trial"),
        tag("button", "◀", type="button", id="before", aria_label="trial before"),
        tag("select", *options, id="trial"),
        tag("button", "▶", type="button", id="after", aria_label="trial after"),
        class_="picker",
    )
    if len(picks) < len(study.trials):
        yield tag(
            "p", f"{len(picks)} of {len(study.trials)} trials: explained ones and an even selection.", class_="soft"
        )
    yield tag("div", id="trial-words", aria_live="polite")
    yield tag("div", tag("div", id="trial-figure", role="img", aria_label="contributions"), class_="figure")
    yield tag("table", id="trial-params")
    paths = study.paths
    if paths is not None:
        yield tag("h3", "Contributions over the run")
        yield figures.put("paths", paths, titled=False, wide=True, top=60)


def _values(study: StudyAnswers, value: float | tuple[float, ...]) -> str:
    """What a trial returned; with several objectives, by their names."""
    if not isinstance(value, tuple):
        return value_text(value)
    return ", ".join(f"{each.name} {value_text(one)}" for each, one in zip(study.each, value, strict=True))


# ---------------------------------------------------------------------- why this trial


def _picks(study: StudyAnswers) -> list[int]:
    """Positions of the trials that can be picked: all, or the explained ones and an even selection."""
    n = len(study.trials)
    most = min(_MOST_PICKED, _MOST_VALUES // max(1, *(len(trial.params) for trial in study.trials)))
    if n <= most:
        return list(range(n))
    explained = {explanation.trial for explanation in study.explanations}
    even = {round(i * (n - 1) / (most - 1)) for i in range(most)}
    return sorted(even | {i for i, trial in enumerate(study.trials) if trial.number in explained})


def _picked(study: StudyAnswers, figures: PageFigures) -> dict[str, Any]:
    """What the page says about each trial that can be picked. Names of parameters are stored once."""
    explained = {explanation.trial: explanation for explanation in study.explanations}
    names = list(dict.fromkeys(name for trial in study.trials for name in trial.params))
    place = {name: i for i, name in enumerate(names)}
    trials = []
    for i in _picks(study):
        trial, receipt = study.trials[i], study.receipts[i]
        why = explained.get(trial.number)
        reason = study.unexplained.get(trial.number)
        # The reason begins with the words of the receipt if the trial was sampled.
        said = receipt if receipt is not None and receipt.proposed else None
        words = [str(text) for text in (why, said, reason) if text is not None]
        figure = None if why is None else figures.keep(f"trial-{trial.number}", why)
        values = [[place[name], value_text(value)] for name, value in trial.params.items()]
        picked = {"number": trial.number, "words": words, "params": values, "figure": figure}
        trials.append({**picked, "explicable": reason is None})
    return {"names": names, "trials": trials}
