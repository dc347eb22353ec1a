"""Figures from records and plain data, and figures into files. Nothing is computed here; titles are findings.

Names of parameters and choices are the user's: they are escaped wherever Plotly would read markup. Functions named
`plot_*` take a study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import plotly.graph_objects as go

from pellucid.plots.base import (
    CHOSEN,
    COLOURS,
    DASHES,
    EXPLOIT,
    GREY,
    add_band,
    browser,
    parameter_colour,
    save,
    say,
    script,
    stored,
    style,
    template,
)
from pellucid.plots.course import course, history
from pellucid.plots.curves import Line, panels
from pellucid.plots.effects import effect, joint_effect
from pellucid.plots.importance import importance, indices, interval, pairs, values
from pellucid.plots.of_study import (
    plot_course,
    plot_desirability_paths,
    plot_failures,
    plot_history,
    plot_importance,
    plot_interval_reduction,
    plot_pairs,
    plot_partial_dependence,
    plot_proposal,
    plot_ranges,
    plot_values,
)
from pellucid.plots.proposals import comparison, contribution_paths, payout_paths, proposal
from pellucid.plots.ranges import ranges
from pellucid.records import (
    Comparison,
    Course,
    DesirabilityPaths,
    History,
    HsicImportance,
    IntervalReduction,
    ParameterRanges,
    PartialDependence,
    ProposalExplanation,
)

__all__ = [
    "CHOSEN",
    "COLOURS",
    "DASHES",
    "EXPLOIT",
    "GREY",
    "Line",
    "add_band",
    "browser",
    "draw",
    "panels",
    "parameter_colour",
    "plot_course",
    "plot_desirability_paths",
    "plot_failures",
    "plot_history",
    "plot_importance",
    "plot_interval_reduction",
    "plot_pairs",
    "plot_partial_dependence",
    "plot_proposal",
    "plot_ranges",
    "plot_values",
    "save",
    "say",
    "script",
    "stored",
    "style",
    "template",
]


def _effects(found: PartialDependence) -> go.Figure:
    return effect(found) if len(found.params) == 1 else joint_effect(found)


# Per record what can be drawn of it; the first is drawn unless something else is asked for.
_DRAWN: Mapping[type, Mapping[str, Callable[[Any], go.Figure]]] = {
    Comparison: {"comparison": comparison},
    Course: {"course": course},
    DesirabilityPaths: {"contributions": contribution_paths, "payouts": payout_paths},
    History: {"history": history},
    HsicImportance: {"importance": importance, "indices": indices, "values": values, "pairs": pairs},
    IntervalReduction: {"interval": interval},
    ParameterRanges: {"ranges": ranges},
    PartialDependence: {"effect": _effects},
    ProposalExplanation: {"proposal": proposal},
}


def draw(finding: object, what: str | None = None) -> go.Figure:
    """The figure of a record; `what` of it, where there are several."""
    if type(finding) not in _DRAWN:
        raise TypeError(f"There is no figure for {type(finding).__name__}.")
    known = _DRAWN[type(finding)]
    if what is not None and what not in known:
        listed = " or ".join(repr(one) for one in known)
        raise ValueError(f"{type(finding).__name__} is drawn as {listed}, but got {what!r}.")
    return known[what or next(iter(known))](finding)
