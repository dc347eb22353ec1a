"""Axes that a few values far away do not stretch: those lie on the edge, as triangles that point to them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10
from statistics import quantiles
from typing import Any

# Fewer values have no quantiles to speak of, so all of them are shown.
_FEWEST = 10
# Values beyond the middle 90% by more than this many times its width lie on the edge.
_FAR = 1.0
# Room between the values and the edge, as a share of the axis.
_MARGIN = 0.05
# Over more decades than this, a logarithmic axis has a tick per decade alone.
_MANY_DECADES = 3


def reach(values: Sequence[float], always: Sequence[float] = ()) -> list[float]:
    """The range of an axis for these values without those far away; `always`: values that are shown in any case.
    Infinite values are far away."""
    values, always = ([value for value in group if isfinite(value)] for group in (values, always))
    low, high = min((*values, *always), default=0.0), max((*values, *always), default=1.0)
    if len(values) >= _FEWEST:
        ends = quantiles(values, n=20)
        width = ends[-1] - ends[0]
        if width > 0.0:
            low = max(low, min((ends[0] - _FAR * width, *always)))
            high = min(high, max((ends[-1] + _FAR * width, *always)))
    margin = _MARGIN * (high - low) or max(abs(high), 1.0) * _MARGIN
    return [low - margin, high + margin]


def beyond(values: Sequence[float], shown: Sequence[float]) -> int:
    """How many values are outside the range of the axis."""
    return sum(not shown[0] <= value <= shown[1] for value in values)


def on_edge(values: Sequence[float], shown: Sequence[float]) -> list[float]:
    """Values as they are drawn: those outside the range on its edge."""
    inset = 0.012 * (shown[1] - shown[0])
    return [min(max(value, shown[0] + inset), shown[1] - inset) for value in values]


def symbols(values: Sequence[float], shown: Sequence[float], usual: str, *, sideways: bool = False) -> Any:
    """The symbol of every value: a triangle that points to those outside the range. One for all if none is outside."""
    if not beyond(values, shown):
        return usual
    below, above = ("triangle-left", "triangle-right") if sideways else ("triangle-down", "triangle-up")
    return [below if value < shown[0] else above if value > shown[1] else usual for value in values]


def point_symbols(
    x: Sequence[float], y: Sequence[float], across: Sequence[float], up: Sequence[float], usual: str
) -> Any:
    """The symbol of every point, with the range of either axis: a triangle points up or down to what is beyond the
    edge, else sideways."""
    if not beyond(x, across):
        return symbols(y, up, usual)
    sideways = symbols(x, across, usual, sideways=True)
    upright = symbols(y, up, usual) if beyond(y, up) else [usual] * len(y)
    return [s if u == usual else u for s, u in zip(sideways, upright, strict=True)]


def edge_name(name: str, count: int) -> str:
    """What a legend calls values of which so many are on the edge."""
    return f"{name} ({count} beyond the edge)" if count else name


def log_axis(values: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis for these values, with a tick per decade; over few decades 1, 2 and 5 of each."""
    low, high = min(values), max(values)
    first, last = floor(log10(low)), ceil(log10(high))
    steps = (1.0,) if last - first > _MANY_DECADES else (1.0, 2.0, 5.0)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    shown = [tick for tick in ticks if 0.999 * low <= tick <= 1.001 * high] or [low, high]
    return {"type": "log", "tickvals": shown, "ticktext": [f"{tick:g}" for tick in shown]}
