"""Single parameter values: as numbers, as dictionary keys, and as a receipt carries them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pellucid.numerics import Array

# Larger numbers in damaged records count as missing.
_LARGEST_NUMBER = 1e308
# Rounding errors of a storage, or of a value that was encoded and decoded, are smaller; whole numbers that are not
# stored exactly are larger than the inverse.
_ROUNDING = 1e-12


def fraction(raw: Array, low: float | Array, high: float | Array) -> Array:
    """(raw - low) / (high - low) without overflow for the widest ranges; 1/2 if the range is a single value."""
    width = 0.5 * np.asarray(high) - 0.5 * np.asarray(low)
    return np.where(width > 0.0, (0.5 * raw - 0.5 * np.asarray(low)) / np.where(width > 0.0, width, 1.0), 0.5)


def numbers(values: Sequence[Any]) -> Array:
    """Values as floats; values of a damaged record that are not numbers become NaN, which is in no range."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return np.array(
            [v if isinstance(v, (int, float)) and abs(v) < _LARGEST_NUMBER else math.nan for v in values], dtype=float
        )


def is_plain(value: Any) -> bool:
    """Whether a value is of a type that Optuna allows for choices."""
    return value is None or isinstance(value, (bool, int, float, str))


def plain(value: Any) -> Any:
    """A parameter value as a receipt carries it: the types that Optuna allows for choices, otherwise its text."""
    return value if is_plain(value) else repr(value)


def same(ran: Any, proposed: Any) -> bool:
    """Whether a trial ran with what its receipt says: numbers that a storage has rounded are the same, and so is NaN,
    which is a choice like any other."""
    if type(ran) is type(proposed) and ran == proposed:
        return True
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (ran, proposed)):
        a, b = numbers([ran, proposed])
        return math.isclose(a, b, rel_tol=_ROUNDING) or (math.isnan(a) and math.isnan(b))
    return bool(key(plain(ran)) == key(proposed))


def key(choice: Any) -> Any:
    """Dictionary key of a choice: NaN equals NaN, True is not 1, and lists are compared by their text."""
    if isinstance(choice, float) and math.isnan(choice):
        return "nan", float
    try:
        hash(choice)
    except TypeError:
        return repr(choice), type(choice)
    return choice, isinstance(choice, bool)
