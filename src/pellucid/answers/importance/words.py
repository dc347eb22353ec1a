"""What matters for a goal, in sentences and bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pellucid.answers.importance.draws import Source
from pellucid.answers.importance.goals import VERDICTS, PairImportance, ParameterImportance
from pellucid.numerics import Array, Mask
from pellucid.space.encoding import Dimension, Space
from pellucid.space.text import condition_text
from pellucid.words import spoken, value_text

# Bars per parameter: one per value up to the second number, tenths of the range otherwise. Discrete parameters with
# more values than the last number are binned like continuous ones.
_N_BINS, _FEW_CELLS, _MOST_CELLS = 10, 12, 100_000
# Pairs that a sentence names.
_MOST_PAIRS = 3


def where(space: Space, name: str) -> str:
    """Where a conditional parameter exists."""
    rule = space.conditions.get(name)
    return "where it exists" if rule is None else f"where {condition_text(space, rule)}"


Bins = tuple[tuple[str, float, float], ...]


def bins(dimension: Dimension, u: Array, in_goal: Mask) -> tuple[Bins, tuple[bool, ...]]:
    """Label, share of all draws and share of those in the goal: by choice, or by tenths of the range. And which of them
    are ranges of values."""
    if dimension.categorical or 0 < dimension.cells <= _FEW_CELLS:
        codes, count = dimension.code(u), dimension.cells
        values = dimension.decode(dimension.midpoint(np.arange(count)))
        labels = _distinct([value_text(value) for value in values], [repr(value) for value in values])
        ranges = [False] * count
    elif 0 < dimension.cells <= _MOST_CELLS:
        # Whole numbers are grouped by tenths of the range; on a logarithmic one, the first may fill several alone.
        tenth = np.minimum((dimension.midpoint(np.arange(dimension.cells)) * _N_BINS).astype(int), _N_BINS - 1)
        kept, bin_of = np.unique(tenth, return_inverse=True)
        codes, count = bin_of[dimension.code(u)], len(kept)
        values = dimension.decode(dimension.midpoint(np.arange(dimension.cells)))
        members = [np.flatnonzero(bin_of == k) for k in range(count)]
        ends = [(values[member[0]], values[member[-1]]) for member in members]
        labels = [value_text(a) if a == b else f"{value_text(a)} to {value_text(b)}" for a, b in ends]
        ranges = [a != b for a, b in ends]
    else:
        count = _N_BINS
        codes = np.minimum((u * count).astype(int), count - 1)
        borders = dimension.decode(np.linspace(0.0, 1.0, count + 1))
        texts = _distinct([value_text(border) for border in borders], [repr(border) for border in borders])
        labels = [f"{low} to {high}" for low, high in pairwise(texts)]
        ranges = [True] * count
    overall = np.bincount(codes, minlength=count) / max(len(codes), 1)
    inside = np.bincount(codes[in_goal], minlength=count) / max(int(in_goal.sum()), 1)
    rows = tuple((label, float(a), float(b)) for label, a, b in zip(labels, overall, inside, strict=True))
    return rows, tuple(ranges)


def _distinct(short: list[str], exact: list[str]) -> list[str]:
    return short if len(set(short)) == len(short) else exact


def importance_sentence(
    goal: str,
    parameters: Sequence[ParameterImportance],
    pairs: Sequence[PairImportance],
    n_trials: int,
    source: Source,
) -> str:
    by_verdict = {
        verdict: [parameter for parameter in parameters if parameter.verdict == verdict] for verdict in VERDICTS
    }
    impactful = by_verdict["impactful"]
    basis = f"a model of {n_trials} trials" if source == "surrogate" else f"{n_trials} trials"
    parts = [_leaders(goal, impactful, basis)]
    if impactful:
        first = impactful[0]
        bar = max(range(len(first.bins)), key=lambda i: first.bins[i][2] - first.bins[i][1])
        label, overall, inside = first.bins[bar]
        among = f"{first.group}, " if first.group else ""
        parts.append(
            f"{among}{100 * inside:.0f}% of such trials have `{first.name}` {'from' if first.ranges[bar] else '='} "
            f"{label}, against {100 * overall:.0f}% of all"
        )
    interacting = [pair.params for pair in pairs if pair.interact]
    if interacting:
        listed = ", ".join(f"`{a}` with `{b}`" for a, b in interacting[:_MOST_PAIRS])
        parts.append(f"together, {listed} matter{' too' if impactful else ''}")
    partners = {name for pair in interacting for name in pair}
    idle, unclear = (
        [f"`{parameter.name}`" for parameter in by_verdict[verdict] if parameter.name not in partners]
        for verdict in ("no effect", "cannot tell")
    )
    if idle:
        alone = "has no effect on its own" if len(idle) == 1 else "have no effect on their own"
        parts.append(f"{spoken(idle)} {alone}")
    if unclear:
        parts.append(f"too few trials to judge {spoken(unclear)}")
    return "; ".join(parts) + "."


def _leaders(goal: str, impactful: Sequence[ParameterImportance], basis: str) -> str:
    if not impactful:
        return f"For {goal}, no parameter is known to matter ({basis})"
    listed = spoken([f"`{p.name}`{f' ({p.group})' if p.group else ''}" for p in impactful])
    largest = max(parameter.p_adjusted for parameter in impactful)
    verb = "matters" if len(impactful) == 1 else "matter"
    return f"For {goal}, {listed} {verb} (p ≤ {largest:.2g}, {basis})"
