"""Explanations of proposals in sentences. Nothing is computed that is not in the records already."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pellucid.explain.words import value_text
from pellucid.records import Contribution, ProposalExplanation

# Terms that stand for not knowing enough, and those that stand for what the model expects.
EXPLORING = ("uncertainty", "explore", "variance", "information")
_MAIN = 0.5
_LARGE = 0.25
_WORTH_SAYING = 0.05
_MOST_NAMED = 3


def verdict_of(
    trial: int,
    contributions: Sequence[Contribution],
    total: float,
    proposed: bool,
    direction: str,
    compared_with: str,
    whole_space: bool,
    learns: str,
) -> str:
    """One sentence: what made the proposal attractive, what was exploration, and what counted against it.

    Shares are of everything that counts in favour, and only contributions whose sign is sure are named.
    """
    for_it = sorted((c for c in contributions if c.sure and c.total > 0.0), key=lambda c: -c.total)
    against = sorted((c for c in contributions if c.sure and c.total < 0.0), key=lambda c: c.total)
    appeal = sum(c.total for c in for_it)
    start = f"Trial {trial} was proposed" if proposed else f"Pellucid did not propose trial {trial}; its model would"
    if not for_it or total <= 0.0:
        listed = _names(against) if against else "no single parameter"
        if proposed:
            return f"{start} although {listed} counted against it: to the model it was no better than {compared_with}."
        return f"{start} have rated it no better than {compared_with}: {listed} counted against it."
    if not whole_space:
        start = f"Compared with {compared_with}, {start[0].lower()}{start[1:]}"
    # The fewest that make up half of the appeal.
    before = np.cumsum([0.0, *(c.total for c in for_it[: _MOST_NAMED - 1])])
    main = [c for c, sum_before in zip(for_it, before, strict=False) if sum_before < _MAIN * appeal]
    shares = _listed([_share(c, i, main, appeal, direction, learns) for i, c in enumerate(main)])
    parts = [f"{start} mainly for {shares}" if proposed else f"{start} have liked it mainly for {shares}"]
    rest = [c for c in for_it if c not in main and c.total >= _WORTH_SAYING * appeal]
    exploring = [c for c in rest if _explores(c)] if not learns else []
    if exploring:
        parts.append(f"{_names(exploring)} {'was' if len(exploring) == 1 else 'were'} exploration")
    serious = [c for c in against if -c.total >= _WORTH_SAYING * appeal]
    if serious:
        parts.append(f"{_names(serious)} counted against it")
    return "; ".join(parts) + "."


def _explores(c: Contribution) -> bool:
    """Whether more of what counts for a parameter is uncertainty than expectation."""
    exploring = sum(value for term, value in c.terms.items() if term in EXPLORING)
    return exploring > sum(c.terms.values()) - exploring


def _reason(c: Contribution, direction: str, learns: str) -> str:
    if learns:
        return f"to learn about {learns}"
    if _explores(c):
        return "little was known there"
    return f"{'high' if direction == 'maximize' else 'low'} predicted objective"


def _share(c: Contribution, i: int, main: Sequence[Contribution], appeal: float, direction: str, learns: str) -> str:
    """A parameter with its share; the reason where it is not the one just given."""
    reason = _reason(c, direction, learns)
    said = "" if i and reason == _reason(main[i - 1], direction, learns) else f": {reason}"
    return f"{_setting(c)} ({100 * c.total / appeal:.0f} %{'' if i else ' of its appeal'}{said})"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _setting(c: Contribution) -> str:
    return f"`{c.name}` = {value_text(c.value)}"


def _names(contributions: Sequence[Contribution]) -> str:
    shown = [_setting(c) for c in contributions[:_MOST_NAMED]]
    return _listed([*shown, "others"] if len(contributions) > _MOST_NAMED else shown)


def unsettled(contributions: Sequence[Contribution]) -> tuple[str, ...]:
    """Which large contributions the sampling could not put in order; empty when it could."""
    order = sorted(contributions, key=lambda c: -c.total)
    largest = max((abs(c.total) for c in contributions), default=0.0)
    for above, below in pairwise(order):
        large = max(abs(above.total), abs(below.total)) > _LARGE * largest
        if large and above.low < above.high and above.low < below.high:
            return (f"Whether `{above.name}` or `{below.name}` contributed more is too close to call.",)
    return ()


def path_verdict(explanations: Sequence[ProposalExplanation]) -> str:
    """One sentence about a run: who drove it, and how much of it was exploration."""
    appeal: dict[str, float] = {}
    for one in explanations:
        whole = sum(max(c.total, 0.0) for c in one.contributions)
        for c in one.contributions:
            appeal[c.name] = appeal.get(c.name, 0.0) + (max(c.total, 0.0) / whole if whole > 0.0 else 0.0)
    total = sum(appeal.values())
    exploring = sum(explores(one) for one in explanations)
    first, last = explanations[0].trial, explanations[-1].trial
    span = f"trial {first}" if first == last else f"{len(explanations)} proposals (trials {first} to {last})"
    count = {0: "none of them was", 1: "one of them was"}.get(exploring, f"{exploring} of them were")
    mainly = f"{count} mainly exploration"
    if total <= 0.0:
        return f"Over {span}, no parameter made the proposals better than average; {mainly}."
    top = sorted(appeal, key=lambda name: -appeal[name])[:2]
    listed = " and ".join(f"`{name}` ({100 * appeal[name] / total:.0f} %)" for name in top)
    whose = "" if explanations[0].proposed else " to pellucid's model"
    return f"Over {span}, {listed} made up most of the appeal{whose}; {mainly}."


def explores(one: ProposalExplanation) -> bool:
    """Whether uncertainty counted for more than expectation in the whole payout."""
    exploring = sum(value for term, value in one.payouts.items() if term in EXPLORING)
    return exploring > one.total - exploring
