"""Figures for a page: titles become text, and what all figures share is stored once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from pellucid.answers import drawing as drawings
from pellucid.answers.base import Overview
from pellucid.answers.finding import Finding, NotKnown, attempt
from pellucid.answers.pieces import Drawing
from pellucid.surfaces.page.markup import Markup, prose, tag
from pellucid.surfaces.page.sections import figures_of


@dataclass
class PageFigures:
    """The figures of a page by name."""

    by_name: dict[str, Any] = field(default_factory=dict)

    def put(self, drawing: Drawing) -> Markup:
        """The place for a figure in the page, with its finding as a heading and its doubts. Without a figure if drawing
        it fails."""
        record, top = drawing.record, drawings.TOP if drawing.top is None else drawing.top
        stored = attempt(lambda: drawings.stored(drawings.bare(record, drawing.what)))
        if isinstance(stored, NotKnown):
            return tag("div", tag("h3", prose(record.sentence)), tag("p", prose(stored.reason), class_="soft"))
        layout = stored["layout"]
        meta = layout.pop("meta")
        finding = unescape(meta["finding"])
        height = layout["height"] - layout["margin"]["t"] + top
        for part in ("template", "title", "width"):
            layout.pop(part, None)
        layout["margin"]["t"] = top
        layout["height"] = height
        self.by_name[drawing.name] = stored
        place = tag("div", data_figure=drawing.name, role="img", aria_label=finding, style=f"height:{height:.0f}px")
        doubts = [text for text in map(unescape, meta["doubts"]) if text not in drawing.said]
        heading = [tag("h3", prose(finding)), *(tag("p", prose(doubt), class_="doubt") for doubt in doubts)]
        shown = tag("div", place, class_="figure")
        return tag("div", *heading, shown, class_="finding")

    def keep(self, name: str, record: Finding) -> str | None:
        """Store a figure that the page shows on demand. None if drawing it fails."""
        self.put(Drawing(name, record))
        return name if name in self.by_name else None


def key_figures(overview: Overview) -> Iterator[tuple[str, Any]]:
    """The figures that answer the questions, by name, if there is an answer."""
    for drawing in figures_of(overview):
        figure = attempt(drawing.record.plot)
        if not isinstance(figure, NotKnown):
            yield drawing.name, figure
