"""Figures for a page: titles become text, and what all figures share is stored once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from pellucid import plots
from pellucid.records import (
    Calibration,
    FailingSettings,
    Finding,
    Front,
    HsicImportance,
    Importance,
    NotKnown,
    ParameterRanges,
    PruningRecord,
    RegretHistory,
    Tradeoff,
    attempt,
)
from pellucid.reporting.gather import ObjectiveAnswers, StudyAnswers
from pellucid.reporting.markup import Markup, prose, tag

# Effects among the key figures.
_MOST_EFFECTS = 3


@dataclass
class PageFigures:
    """The figures of a page by name."""

    by_name: dict[str, Any] = field(default_factory=dict)

    def put(
        self,
        name: str,
        record: Finding,
        *,
        what: str | None = None,
        top: int = plots.TOP,
        shown_before: Collection[str] = (),
    ) -> Markup:
        """The place for the figure of a record in the page (the one called `what` if there are several), with its
        finding as a heading and its doubts, except those that the page has `shown_before`. Without a figure if drawing
        it fails."""
        stored = attempt(lambda: plots.stored(plots.bare(record, what)))
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
        self.by_name[name] = stored
        place = tag("div", data_figure=name, role="img", aria_label=finding, style=f"height:{height:.0f}px")
        doubts = [text for text in map(unescape, meta["doubts"]) if text not in shown_before]
        heading = [tag("h3", prose(finding)), *(tag("p", prose(doubt), class_="doubt") for doubt in doubts)]
        shown = tag("div", place, class_="figure")
        return tag("div", *heading, shown, class_="finding")

    def keep(self, name: str, record: Finding) -> str | None:
        """Store a figure that the page shows on demand. None if drawing it fails."""
        self.put(name, record)
        return name if name in self.by_name else None


def key_figures(study: StudyAnswers) -> Iterator[tuple[str, Any]]:
    """The figures that answer the questions, by name, if there is an answer: in the order in which a person asks."""
    for name, record in _key_answers(study):
        figure = attempt(record.plot)
        if not isinstance(figure, NotKnown):
            yield name, figure


def _key_answers(study: StudyAnswers) -> Iterator[tuple[str, Finding]]:
    if isinstance(study.recommendation, Front):
        yield "front", study.recommendation
    for i, tradeoff in enumerate(study.tradeoffs):
        if isinstance(tradeoff, Tradeoff):
            yield f"tradeoff-{i}", tradeoff
    if any(value is not None for value in study.history.values):
        yield "history", study.history
    if isinstance(study.regret, RegretHistory) and study.regret.after:
        yield "course", study.regret
    for i, each in enumerate(study.each):
        yield from _about(each, f"objective-{i}-" if study.several else "")
    if isinstance(study.ranges, ParameterRanges):
        yield "ranges", study.ranges
    if study.explanations:
        yield "why", max(study.explanations, key=lambda explanation: explanation.trial)
    for i, each in enumerate(study.each):
        if isinstance(each.calibration, Calibration):
            yield f"objective-{i}-calibration" if study.several else "calibration", each.calibration
    if study.curves is not None and isinstance(study.curves.record, PruningRecord) and study.curves.record.stopped:
        yield "pruning", study.curves.record
    if isinstance(study.failing, FailingSettings) and study.failing.settings:
        yield "failing", study.failing
    if isinstance(study.failures, HsicImportance):
        yield "failures", study.failures


def _about(each: ObjectiveAnswers, prefix: str) -> Iterator[tuple[str, Finding]]:
    """Those about one objective. `prefix`: of their names."""
    if isinstance(each.importance, Importance):
        yield f"{prefix}importance", each.importance
    if not isinstance(each.profiles, NotKnown):
        for i, profile in enumerate(each.profiles[:_MOST_EFFECTS]):
            yield f"{prefix}profile-{i}", profile
    if not isinstance(each.effects, NotKnown):
        for i, effect in enumerate(each.effects[:_MOST_EFFECTS]):
            yield f"{prefix}effect-{i}", effect
