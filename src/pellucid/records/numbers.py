"""Numbers as text. Wherever a number may be negative, `number_text` formats it."""

from __future__ import annotations

import math

# With more digits after the point than this, or for values this large, significant digits are shown instead.
_MOST_DECIMALS, _LARGE = 6, 1e6
# Significant digits that a number of double precision has.
_ALL_DIGITS = 15


def number_text(value: float, form: str = ".4g") -> str:
    """A number in a format such as ".4g" or "+.2f". What rounds to zero has no minus: "-0.00" says nothing."""
    text = f"{value:{form}}"
    return f"{0.0:{form}}" if text == f"{-0.0:{form}}" else text


def decimals(value: float, error: float) -> int | None:
    """The digits after the point of a value that its error leaves meaningful; None if significant digits are better."""
    if not (math.isfinite(error) and error > 0.0) or abs(value) >= _LARGE:
        return None
    count = max(0, 1 - math.floor(math.log10(error)))
    return count if count <= _MOST_DECIMALS else None


def rounded(value: float, error: float) -> str:
    """A value to the digits that its error leaves meaningful."""
    count = decimals(value, error)
    return number_text(value, f".{significant(value, error, 6)}g" if count is None else f".{count}f")


def significant(value: float, error: float, fewest: int) -> int:
    """The significant digits of a value that its error leaves meaningful, at least `fewest` and at most all of them."""
    if value == 0.0 or not (math.isfinite(value) and math.isfinite(error) and error > 0.0):
        return fewest
    needed = math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2
    return min(max(needed, fewest), _ALL_DIGITS)


def percent(chance: float) -> str:
    """ "97%"; never 0% or 100%, because a model is never sure."""
    return "more than 99%" if chance > 0.99 else "less than 1%" if chance < 0.01 else f"{chance:.0%}"
