"""Figures from records and plain data, and figures into files. Nothing is computed here; titles are findings.

Names of parameters and choices are the user's: they are escaped wherever Plotly would read markup.
"""

from __future__ import annotations

import plotly.graph_objects as go

from pellucid.plots.base import COLOURS, browser, save, say
from pellucid.plots.curves import Line, against_truth, boxes, curves, panels
from pellucid.plots.effects import effect, joint_effect
from pellucid.plots.importance import importance, interval
from pellucid.plots.proposals import comparison, contribution_paths, payout_paths, proposal
from pellucid.records import (
    Comparison,
    DesirabilityPaths,
    HsicImportance,
    IntervalReduction,
    PartialDependence,
    ProposalExplanation,
)

__all__ = ["COLOURS", "Line", "against_truth", "boxes", "browser", "curves", "draw", "panels", "save", "say"]


def draw(finding: object, what: str = "contributions") -> go.Figure:
    """The figure of a record; `what`: of desirability paths, "contributions" or "payouts"."""
    if isinstance(finding, PartialDependence):
        return effect(finding) if len(finding.params) == 1 else joint_effect(finding)
    if isinstance(finding, ProposalExplanation):
        return proposal(finding)
    if isinstance(finding, HsicImportance):
        return importance(finding)
    if isinstance(finding, IntervalReduction):
        return interval(finding)
    if isinstance(finding, Comparison):
        return comparison(finding)
    if isinstance(finding, DesirabilityPaths):
        if what not in ("contributions", "payouts"):
            raise ValueError(f"Desirability paths are drawn as 'contributions' or 'payouts', but got {what!r}.")
        return contribution_paths(finding) if what == "contributions" else payout_paths(finding)
    raise TypeError(f"There is no figure for {type(finding).__name__}.")
