"""One page from all findings: answers first, evidence below, nothing loaded from anywhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime, timezone
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pellucid import plots
from pellucid.explain.effects.words import value_text
from pellucid.records import Course, HsicImportance, ParameterRanges
from pellucid.records.views import plain
from pellucid.reporting.answers import answers
from pellucid.reporting.figures import Shelf
from pellucid.reporting.gather import Findings
from pellucid.reporting.markup import Markup, joined, prose, tag

# A page stays small with many trials, and with many parameters too.
_MOST_PICKED, _MOST_VALUES = 1000, 20_000
_SECTIONS = (("trials", "Trials"), ("stop", "Can you stop"), ("matters", "What matters"), ("effects", "Effects"),
             ("ranges", "Ranges"), ("failures", "Failures"), ("why", "Why this trial"))  # fmt: skip


def page(found: Findings) -> str:
    shelf = Shelf()
    sections = {name: _section(name, title, found, shelf) for name, title in _SECTIONS}
    picked = _picked(found, shelf) if sections["why"] else {}
    shown = {name: one for name, one in sections.items() if one}
    links = [tag("a", title, href=f"#{name}") for name, title in _SECTIONS if name in shown]
    counts = ", ".join(f"{n} {state}" for state, n in found.counts.most_common())
    header = tag(
        "header",
        tag("a", "Skip to the answers", href="#answers", class_="skip"),
        tag("h1", found.name),
        tag("span", f"{len(found.trials)} trials ({counts or 'none'}), to {found.history.direction}", class_="soft"),
        tag("button", "Light or dark", id="theme", type="button"),
        tag("nav", *links, aria_label="Sections"),
    )
    made = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    footer = tag("footer", f"pellucid {version('pellucid')}, {made}. This page needs no network.")
    data = {"figures": shelf.figures, "template": plots.template(), "picked": picked}
    return _document(found.name, joined(header, tag("main", answers(found), *shown.values()), footer), data)


def _document(title: str, body: Markup, data: dict[str, Any]) -> str:
    assets = files("pellucid.reporting") / "assets"
    css, script = ((assets / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    scripts = (plots.script(), script)
    # Only these two scripts may run, and nothing may be fetched: should markup ever slip through, it stays dead.
    hashes = " ".join(f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
    # In a script element only this sequence of characters means anything to the parser.
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
        *(tag("script", Markup(one)) for one in scripts),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{joined(*parts)}</body></html>\n'


# ---------------------------------------------------------------------- sections


def _section(name: str, title: str, found: Findings, shelf: Shelf) -> Markup | None:
    content = list(_CONTENT[name](found, shelf))
    return tag("section", tag("h2", title), *content, id=name) if content else None


def _unknown(why: str) -> Markup:
    return tag("p", prose(why), class_="soft")


def _trials(found: Findings, shelf: Shelf) -> Iterator[Markup]:
    if any(value is not None for value in found.history.values):
        yield shelf.put("history", found.history.plot())
    else:
        yield _unknown(found.history.verdict)


def _stop(found: Findings, shelf: Shelf) -> Iterator[Markup]:
    if isinstance(found.course, Course) and found.course.after:
        yield shelf.put("course", found.course.plot())
    else:
        yield _unknown(str(found.course))


def _matters(found: Findings, shelf: Shelf) -> Iterator[Markup]:
    if not isinstance(found.importance, HsicImportance):
        yield _unknown(found.importance)
        return
    yield shelf.put("importance", found.importance.plot("indices"))
    yield tag("p", prose(found.importance.verdict), class_="soft")
    yield shelf.put("values", found.importance.plot("values"), wide=True, top=60)
    if found.importance.pairs:
        yield shelf.put("pairs", found.importance.plot("pairs"))


_AVERAGES = (
    "Averages over the whole space, with 95 % bands. They are harder to know than what the best trials have in common: "
    "a parameter can matter for being among the best although its average effect cannot be told."
)


def _effects(found: Findings, shelf: Shelf) -> Iterator[Markup]:
    if isinstance(found.effects, str):
        yield _unknown(found.effects)
        return
    yield tag("p", _AVERAGES, class_="soft")
    everywhere = [alarm for alarm in found.effects[0].alarms if all(alarm in one.alarms for one in found.effects)]
    for alarm in everywhere:
        yield tag("p", prose(alarm), class_="doubt")
    for i, one in enumerate(found.effects):
        yield shelf.put(f"effect-{i}", one.plot(), said=everywhere)
    if found.joint is not None:
        yield shelf.put("joint", found.joint.plot(), wide=True, top=50, said=everywhere)


def _ranges(found: Findings, shelf: Shelf) -> Iterator[Markup]:
    if not isinstance(found.ranges, ParameterRanges):
        yield _unknown(found.ranges)
        return
    yield shelf.put("ranges", found.ranges.plot(), wide=True)
    if found.ranges.advice:
        yield tag("ul", *(tag("li", prose(one.sentence)) for one in found.ranges.advice))


def _failures(found: Findings, shelf: Shelf) -> Iterator[Markup]:
    if isinstance(found.failures, str):
        yield _unknown(found.failures)
    elif found.failures is not None:
        yield shelf.put("failures", found.failures.plot("indices"))
        if found.failures.impactful:
            yield shelf.put("failed-values", found.failures.plot("values"), wide=True, top=60)


def _why(found: Findings, shelf: Shelf) -> Iterator[Markup]:
    if not found.trials:
        return
    picks = _picks(found)
    explained = {one.trial for one in found.explanations}
    first = found.explanations[0].trial if found.explanations else found.trials[picks[-1]].number
    options = []
    for i in picks:
        trial = found.trials[i]
        value = found.history.values[i]
        text = f"trial {trial.number}: {found.history.states[i] if value is None else value_text(value)}"
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
    if len(picks) < len(found.trials):
        yield tag(
            "p", f"{len(picks)} of {len(found.trials)} trials: explained ones and an even selection.", class_="soft"
        )
    yield tag("div", id="trial-words", aria_live="polite")
    yield tag("div", tag("div", id="trial-figure", role="img", aria_label="contributions"), class_="figure")
    yield tag("table", id="trial-params")
    paths = found.paths
    if paths is not None:
        yield tag("h3", "Contributions over the run")
        yield shelf.put("paths", paths.plot(), titled=False, wide=True, top=60)


_CONTENT = {
    "trials": _trials,
    "stop": _stop,
    "matters": _matters,
    "effects": _effects,
    "ranges": _ranges,
    "failures": _failures,
    "why": _why,
}


# ---------------------------------------------------------------------- why this trial


def _picks(found: Findings) -> list[int]:
    """Trials that can be picked, by position: all, or the explained ones and others evenly."""
    n = len(found.trials)
    most = min(_MOST_PICKED, _MOST_VALUES // max(1, *(len(trial.params) for trial in found.trials)))
    if n <= most:
        return list(range(n))
    explained = {one.trial for one in found.explanations}
    even = {round(i * (n - 1) / (most - 1)) for i in range(most)}
    return sorted(even | {i for i, trial in enumerate(found.trials) if trial.number in explained})


def _picked(found: Findings, shelf: Shelf) -> dict[str, Any]:
    """What the page says about each trial that can be picked; names of parameters are stored once."""
    explained = {one.trial: one for one in found.explanations}
    names = list(dict.fromkeys(name for trial in found.trials for name in trial.params))
    place = {name: i for i, name in enumerate(names)}
    trials = []
    for i in _picks(found):
        trial, receipt = found.trials[i], found.receipts[i]
        why = explained.get(trial.number)
        words = [str(one) for one in (why, receipt, found.unexplained.get(trial.number)) if one is not None]
        figure = None if why is None else shelf.keep(f"trial-{trial.number}", plots.draw(why))
        values = [[place[name], value_text(value)] for name, value in trial.params.items()]
        trials.append({"number": trial.number, "words": words, "params": values, "figure": figure})
    return {"names": names, "trials": trials}
