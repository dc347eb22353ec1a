"""Values, intervals and conditions as text."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.records import OBJECTIVE, decimals, number_text, significant
from pellucid.study.encoding import Condition, Dimension, Space

# How trials are chosen if an answer would take too long with all of them.
_SELECTED = "the best ones and an even selection."
_CHOSEN = "the newest, those near the best and some of every region."


def value_text(value: Any) -> str:
    """A number with four digits, a word unchanged. A word that looks like a number or a constant is quoted."""
    if isinstance(value, float):
        return number_text(value)
    return repr(value) if isinstance(value, str) and _looks_like_a_literal(value) else str(value)


def _looks_like_a_literal(text: str) -> bool:
    if text in ("None", "True", "False"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_share(text: str) -> float | None:
    """0.02 for "2%"; None if the text is no share."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*%\s*", text)
    return float(match.group(1)) / 100.0 if match else None


def share_text(share: float) -> str:
    """ "1.2%", "34%", "250%" """
    return f"{100.0 * share:.2g}%" if share < 0.995 else f"{100.0 * share:.0f}%"


def condition_text(space: Space, rule: Condition) -> str:
    """When a conditional parameter exists: "opt is sgd or rms", "depth is between 2 and 5"."""
    parent = space.dimensions[space.index[rule.parent]]
    if rule.codes is not None:
        allowed = [value_text(parent.decode(parent.midpoint(np.array([code])))[0]) for code in rule.codes]
        return f"{rule.parent} is {' or '.join(allowed)}"
    low, high = parent.decode(np.array([rule.low, rule.high]))
    return f"{rule.parent} is between {value_text(low)} and {value_text(high)}"


def value_range(dimension: Dimension) -> str:
    """What values a parameter has, as a clause: "it goes from 0.0001 to 1", "its choices are 'adam', 'sgd'"."""
    d = dimension.distribution
    if isinstance(d, (FloatDistribution, IntDistribution)):
        return f"it goes from {d.low:.12g} to {d.high:.12g}"
    assert isinstance(d, CategoricalDistribution)
    return f"its choices are {', '.join(map(repr, d.choices))}"


def with_error(value: float, half_width: float) -> str:
    """A value with its half-width, both to the digits that the half-width leaves meaningful."""
    if not (math.isfinite(half_width) and half_width > 0.0):
        return number_text(value)
    digits = decimals(value, half_width)
    if digits is None:
        return f"{number_text(value, f'.{significant(value, half_width, 4)}g')} ± {half_width:.2g}"
    return f"{number_text(value, f'.{digits}f')} ± {half_width:.{digits}f}"


def unknown_parameter(name: object, known: Collection[str]) -> str:
    """The message for a parameter that a study does not have."""
    close = get_close_matches(str(name), known, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    return f"The study has no parameter `{name}`; it has {', '.join(f'`{other}`' for other in known)}.{hint}"


def about(objective: str, sentence: str) -> str:
    """A sentence about an objective, with its name if it has one: "For accuracy, ..." """
    return sentence if objective == OBJECTIVE else f"For {objective}, {sentence[0].lower()}{sentence[1:]}"


def counted(count: int, noun: str) -> str:
    """ "1 trial", "2 trials" """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def selection_note(what: str, used: int, of: int) -> str:
    """A note of an answer that is computed from some of the trials."""
    return f"{what} uses {used} of {of} trials: {_SELECTED}"


def choice_note(used: int, of: int, model: str = "The model rests") -> list[str]:
    """A note of an answer whose model is conditioned on some of the trials; none if it is on all."""
    return [] if used == of else [f"{model} on {used:,} of {of:,} trials: {_CHOSEN}"]


def is_selection_note(note: str) -> bool:
    return note.endswith((_SELECTED, _CHOSEN))
