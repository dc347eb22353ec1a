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
from pellucid.explain.text import value_text
from pellucid.records import (
    Calibration,
    Importance,
    NotKnown,
    ParameterRanges,
    PartialDependence,
    ProfileEffect,
    RegretHistory,
    plain,
)
from pellucid.reporting.answers import answers
from pellucid.reporting.figures import PageFigures
from pellucid.reporting.gather import StudyAnswers
from pellucid.reporting.markup import Markup, joined, prose, tag

# A page stays small with many trials, and with many parameters too.
_MOST_PICKED, _MOST_VALUES = 1000, 20_000
_SECTIONS = (("trials", "Trials"), ("stop", "Can you stop"),
             ("true", "Were predictions true"), ("matters", "What matters"), ("effects", "Effects"),
             ("ranges", "Ranges"), ("constraints", "Constraints"), ("failures", "Failures"),
             ("why", "Why this trial"))  # fmt: skip


def page(study: StudyAnswers) -> str:
    figures = PageFigures()
    sections = {name: _section(name, title, study, figures) for name, title in _SECTIONS}
    picked = _picked(study, figures) if sections["why"] else {}
    shown = {name: section for name, section in sections.items() if section}
    links = [tag("a", title, href=f"#{name}") for name, title in _SECTIONS if name in shown]
    counts = ", ".join(f"{n} {state}" for state, n in study.counts.most_common())
    header = tag(
        "header",
        tag("a", "Skip to the answers", href="#answers", class_="skip"),
        tag("h1", study.name),
        tag("span", f"{len(study.trials)} trials ({counts or 'none'}), to {study.history.direction}", class_="soft"),
        tag("button", "Light or dark", id="theme", type="button"),
        tag("nav", *links, aria_label="Sections"),
    )
    created = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    footer = tag("footer", f"pellucid {version('pellucid')}, {created}. This page needs no network.")
    data = {"figures": figures.by_name, "template": plots.template(), "picked": picked}
    return _document(study.name, joined(header, tag("main", answers(study), *shown.values()), footer), data)


def _document(title: str, body: Markup, data: dict[str, Any]) -> str:
    assets = files("pellucid.reporting") / "assets"
    css, script = ((assets / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    scripts = (plots.script(), script)
    # Only these two scripts may run, and nothing may be fetched, so markup that slipped through would do nothing.
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
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


def _section(name: str, title: str, study: StudyAnswers, figures: PageFigures) -> Markup | None:
    content = list(_CONTENT[name](study, figures))
    return tag("section", tag("h2", title), *content, id=name) if content else None


def _not_known(answer: object) -> Markup:
    return tag("p", prose(str(answer)), class_="soft")


def _trials(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if any(value is not None for value in study.history.values):
        yield figures.put("history", study.history)
    else:
        yield _not_known(study.history.sentence)


def _stop(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(study.regret, RegretHistory) and study.regret.after:
        yield figures.put("course", study.regret)
    else:
        yield _not_known(str(study.regret))


def _true(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(study.calibration, Calibration):
        yield figures.put("calibration", study.calibration, wide=True)
    else:
        yield _not_known(study.calibration)


def _matters(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if not isinstance(study.importance, Importance):
        yield _not_known(study.importance)
        return
    yield figures.put("importance", study.importance, top=60)
    if study.importance.pairs:
        yield figures.put("pairs", study.importance, what="pairs")


_PROFILES = (
    "What can be reached at each value of a parameter if everything else is set as well as possible, with 95% bands."
)
_AVERAGES = (
    "The same parameters on average over all other settings, good and bad, with 95% bands. A parameter can matter for "
    "what can be reached although its average effect is not known."
)


def _effects(study: StudyAnswers, figures: PageFigures) -> Iterator[Markup]:
    if isinstance(study.effects, NotKnown) and isinstance(study.profiles, NotKnown):
        yield _not_known(study.effects)
        return
    said: list[str] = []
    if not isinstance(study.profiles, NotKnown):
        yield tag("p", _PROFILES, class_="soft")
        yield from _curves("profile", study.profiles, figures, said)
    if not isinstance(study.effects, NotKnown):
        yield tag("h3", "On average over all other settings")
        yield tag("p", _AVERAGES, class_="soft")
        yield from _curves("effect", study.effects, figures, said)
        if study.joint is not None:
            yield figures.put("joint", study.joint, wide=True, top=50, shown_before=said)


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
        text = f"trial {trial.number}: {study.history.states[i] if value is None else value_text(value)}"
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


_CONTENT = {
    "trials": _trials,
    "stop": _stop,
    "true": _true,
    "matters": _matters,
    "effects": _effects,
    "ranges": _ranges,
    "constraints": _constraints,
    "failures": _failures,
    "why": _why,
}


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
