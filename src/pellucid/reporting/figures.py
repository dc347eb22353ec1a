"""Figures on their way into a page: titles become text, and what all share is stored once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from pellucid import plots
from pellucid.records import Course, HsicImportance, ParameterRanges
from pellucid.reporting.gather import Findings
from pellucid.reporting.markup import Markup, prose, tag

_TOP = 34
_MOST_EFFECTS = 3


@dataclass
class Shelf:
    """The figures of a page by name."""

    figures: dict[str, Any] = field(default_factory=dict)

    def put(
        self,
        name: str,
        figure: Any,
        *,
        titled: bool = True,
        wide: bool = False,
        top: int = _TOP,
        said: Collection[str] = (),
    ) -> Markup:
        """Where the page shows the figure, under its finding as a heading (unless it has one already) and with doubts
        (but those that were `said` before)."""
        stored = plots.stored(figure)
        layout = stored["layout"]
        meta = layout.pop("meta")
        finding = unescape(meta["finding"])
        height = layout["height"] - layout["margin"]["t"] + top
        for part in ("template", "title", "width"):
            layout.pop(part, None)
        layout["margin"]["t"] = top
        layout["height"] = height
        self.figures[name] = stored
        place = tag("div", data_figure=name, role="img", aria_label=finding, style=f"height:{height:.0f}px")
        doubts = [text for text in map(unescape, meta["doubts"]) if text not in said]
        heading = (
            [tag("h3", prose(finding)), *(tag("p", prose(one), class_="doubt") for one in doubts)] if titled else []
        )
        shown = tag("div", place, class_="figure wide" if wide else "figure")
        return tag("div", *heading, shown, class_="finding")

    def keep(self, name: str, figure: Any) -> str:
        """Store a figure that the page shows on demand."""
        self.put(name, figure)
        return name


def key_figures(found: Findings) -> Iterator[tuple[str, Any]]:
    """The figures that answer the questions, by name, where there is an answer."""
    if any(value is not None for value in found.history.values):
        yield "history", found.history.plot()
    if isinstance(found.course, Course) and found.course.after:
        yield "course", found.course.plot()
    if isinstance(found.importance, HsicImportance):
        yield "importance", found.importance.plot()
    if not isinstance(found.effects, str):
        for i, one in enumerate(found.effects[:_MOST_EFFECTS]):
            yield f"effect-{i}", one.plot()
    if isinstance(found.ranges, ParameterRanges):
        yield "ranges", found.ranges.plot()
    if isinstance(found.failures, HsicImportance):
        yield "failures", found.failures.plot()
    if found.explanations:
        yield "why", found.explanations[0].plot()
