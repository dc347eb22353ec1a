"""Figures of records, and writing figures to files. Nothing is computed here; titles are findings.

Names of parameters and choices are the user's: they are escaped wherever Plotly would read markup. The catalogue of
answers says which function draws which record. Functions named `plot_*` take a study.
"""

from __future__ import annotations

from pellucid.answers.drawing.base import (
    DASHES,
    TOP,
    add_band,
    bare,
    browser,
    draw,
    save,
    say,
    script,
    show,
    stored,
    style,
    template,
)
from pellucid.answers.drawing.colours import CHOSEN, COLOURS, EXPLOIT, GREY, ON_DARK, parameter_colour
from pellucid.answers.drawing.curves import Line, panels
from pellucid.answers.drawing.of_study import (
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
    plot_pruning,
    plot_pruning_record,
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
    "ON_DARK",
    "TOP",
    "Line",
    "add_band",
    "bare",
    "browser",
    "draw",
    "panels",
    "parameter_colour",
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
    "plot_pruning",
    "plot_pruning_record",
    "plot_ranges",
    "plot_regret_history",
    "plot_values",
    "save",
    "say",
    "script",
    "show",
    "stored",
    "style",
    "template",
]
