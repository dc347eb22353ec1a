"""One page from all answers: the answers first, the evidence below, nothing loaded from elsewhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from datetime import datetime, timezone
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pellucid.answers import drawing
from pellucid.answers.base import Overview
from pellucid.answers.finding import plain
from pellucid.answers.questions.trials import course
from pellucid.study.view import StudyView
from pellucid.surfaces.page.answers import answers
from pellucid.surfaces.page.figures import PageFigures
from pellucid.surfaces.page.html import Writer
from pellucid.surfaces.page.markup import Markup, joined, tag
from pellucid.surfaces.page.packed import packed
from pellucid.surfaces.page.picker import picked, picks
from pellucid.surfaces.page.sections import sections_of
from pellucid.surfaces.page.trial_table import all_trials, table_of
from pellucid.words import OBJECTIVE, counted

# In the order in which the page runs them.
_SCRIPTS = ("figures.js", "trials.js", "report.js")
_OLD_BROWSER = "This browser is too old to draw the figures (it lacks DecompressionStream); the answers are complete."


def page(overview: Overview, *, live: int | None = None) -> str:
    """`live`: the version of a page that a server renews; None: of a file, which never changes."""
    view, figures = overview.view, PageFigures()
    writer = Writer(overview, figures)
    sections = [(key, title, writer.all(pieces)) for key, title, pieces in sections_of(overview)]
    shown = [
        (key, title, [*content, *(all_trials(overview, picks(overview)) if key == "trials" else ())])
        for key, title, content in sections
        if content
    ]
    data = {
        "figures": figures.by_name,
        "template": drawing.template(),
        "inks": drawing.ON_DARK,
        "picked": picked(overview, figures),
        "table": table_of(overview, picks(overview)),
    }
    links = [tag("a", title, href=f"#{key}") for key, title, _ in shown]
    counts = ", ".join(f"{n} {state}" for state, n in Counter(course(overview).states).most_common())
    header = tag(
        "header",
        tag("a", "Skip to the answers", href="#answers", class_="skip"),
        tag("h1", view.name),
        tag("span", f"{counted(len(view.trials), 'trial')} ({counts or 'none'}), to {_aims(view)}", class_="soft"),
        tag("button", "Light or dark", id="theme", type="button"),
        tag("nav", *links, aria_label="Sections"),
        tag("p", _OLD_BROWSER, id="old-browser", class_="doubt", hidden=True),
    )
    created = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    footer = tag("footer", f"pellucid {version('pellucid')}, {created}. This page needs no network.")
    parts = [tag("section", tag("h2", title), *content, id=key) for key, title, content in shown]
    return _document(view.name, joined(header, tag("main", answers(overview, writer), *parts), footer), data, live)


def _document(title: str, body: Markup, data: dict[str, Any], live: int | None) -> str:
    assets = files("pellucid.surfaces.page") / "assets"
    css, renewing = ((assets / name).read_text(encoding="utf-8") for name in ("report.css", "live.js"))
    scripts = [(assets / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    library = drawing.script()
    first = () if live is None else (renewing,)
    # Only these scripts may run, and nothing is fetched or sent, so markup that slipped through would do nothing.
    # Only a page that is served may ask its own server.
    hashed = (b64encode(sha256(text.encode()).digest()).decode() for text in (*first, library, *scripts))
    hashes = " ".join(f"'sha256-{digest}'" for digest in hashed)
    connect = "" if live is None else "connect-src 'self'; "
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        f"{connect}base-uri 'none'; form-action 'none'"
    )
    head = joined(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", f"{title}: pellucid report"),
        tag("style", Markup(css)),
        # Its script runs before the reader sees anything. The empty icon keeps browsers from asking for one.
        Markup("" if live is None else f'<meta name="version" content="{live}"><link rel="icon" href="data:,">'),
        *(tag("script", Markup(text)) for text in first),
    )
    stored = json.dumps(plain(data), separators=(",", ":"), allow_nan=False)
    parts = (
        body,
        packed("data", stored),
        _packed_library(),
        *(tag("script", Markup(text)) for text in scripts),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{joined(*parts)}</body></html>\n'


@cache
def _packed_library() -> Markup:
    """Compressing it takes longer than all the rest of a small page, and it is the same in every page."""
    return packed("plotly", drawing.script())


def _aims(view: StudyView) -> str:
    """ "minimize", or "maximize accuracy and minimize latency" """
    return " and ".join(
        objective.direction if objective.name == OBJECTIVE else f"{objective.direction} {objective.name}"
        for objective in view.objectives
    )
