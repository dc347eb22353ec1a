"""Figures of records, and writing figures to files. Nothing is computed here; titles are findings.

Names of parameters and choices are the user's: they are escaped wherever Plotly would read markup. A module registers
what it draws with `base.draws`. Functions named `plot_*` take a study.
"""

from __future__ import annotations

from pellucid.plots import (  # They register their figures.
    calibration,
    course,
    effects,
    importance,
    plan,
    proposals,
    ranges,
    recommendation,
    shares,
)
from pellucid.plots.base import (
    CHOSEN,
    COLOURS,
    DASHES,
    EXPLOIT,
    GREY,
    add_band,
    browser,
    draw,
    parameter_colour,
    save,
    say,
    script,
    stored,
    style,
    template,
)
from pellucid.plots.curves import Line, panels
from pellucid.plots.of_study import (
    plot_calibration,
    plot_desirability_paths,
    plot_failures,
    plot_history,
    plot_importance,
    plot_interval_reduction,
    plot_pairs,
    plot_partial_dependence,
    plot_profile_effect,
    plot_proposal,
    plot_ranges,
    plot_regret_history,
    plot_values,
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
    "calibration",
    "course",
    "draw",
    "effects",
    "importance",
    "panels",
    "parameter_colour",
    "plan",
    "plot_calibration",
    "plot_desirability_paths",
    "plot_failures",
    "plot_history",
    "plot_importance",
    "plot_interval_reduction",
    "plot_pairs",
    "plot_partial_dependence",
    "plot_profile_effect",
    "plot_proposal",
    "plot_ranges",
    "plot_regret_history",
    "plot_values",
    "proposals",
    "ranges",
    "recommendation",
    "save",
    "say",
    "script",
    "shares",
    "stored",
    "style",
    "template",
]
