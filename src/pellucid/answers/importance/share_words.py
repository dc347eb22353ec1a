"""What matters for the objective, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pellucid.answers.importance.records import PairShare, ParameterShare

# Trials (of a branch) below which no verdict is given.
FEWEST_TO_JUDGE = 8
# Names in one list, and the smallest share of an interaction that is worth a word.
_MOST_LISTED, _STRONG_PAIR = 4, 0.1
# An interval of a share that is longer says nothing.
_ANY = 0.9


def ranked(parameters: Sequence[ParameterShare], best: Sequence[str]) -> list[ParameterShare]:
    """With the rank of the first parameter that matters: of those that always exist, and of the branches of the best
    trial, which has the parameters `best`. The sentence says nothing of ranks in other branches."""
    told = dict.fromkeys(["", *(p.branch for p in parameters if p.name in best)])
    ranks: dict[int, str] = {}
    for branch in told:
        inside = [p for p in parameters if p.branch == branch]
        first = next((p for p in inside if p.verdict == "matters"), None)
        if first is not None:
            ranks[id(first)] = _rank(first, [p for p in inside if p is not first])
    return [replace(p, rank=ranks.get(id(p), "")) for p in parameters]


def _rank(first: ParameterShare, others: Sequence[ParameterShare]) -> str:
    """How sure it is that no other parameter of the branch has a larger share."""
    if others and all(first.low >= p.high for p in others):
        return "most"
    if others and all(first.total >= p.total and not says_nothing(p) for p in others):
        return "probably most"
    return ""


_VERBS = {"most": "matters most", "probably most": "probably matters most", "": "matters"}


def share_sentence(
    parameters: Sequence[ParameterShare], pairs: Sequence[PairShare], best: Sequence[str], n_trials: int, level: float
) -> str:
    """`best`: the parameters of the best trial, whose branch the sentence describes. `parameters`: as of `ranked`."""
    parts = _leaders([p for p in parameters if not p.branch], level)
    branches = dict.fromkeys(p.branch for p in parameters if p.branch and p.name in best)
    for branch in branches:
        inside = [p for p in parameters if p.branch == branch]
        count = max(p.n_trials for p in inside)
        parts += [f"{branch} ({count} trials), {text}" for text in _leaders(inside, level, " there")]
    elsewhere = [p for p in parameters if p.branch and p.branch not in branches and p.verdict == "matters"]
    if elsewhere:
        verb = "matters" if len(elsewhere) == 1 else "matter"
        place = "in other branches" if parts else "inside their branches"
        parts.append(f"{place}, {_listed([f'`{p.name}`' for p in elsewhere])} {verb}")
    parts = parts or [f"no parameter is known to matter yet ({n_trials} trials)"]
    matter = {p.name for p in parameters if p.verdict == "matters"}
    shown = [pair for pair in pairs if matter.issuperset(pair.params) and (not pair.branch or pair.branch in branches)]
    strong = [pair for pair in shown if pair.index >= _STRONG_PAIR]
    if strong:
        a, b = strong[0].params
        parts.append(f"`{a}` and `{b}` act together ({_percent(strong[0].index)})")
    if idle := [p for p in parameters if p.verdict == "no effect"]:
        listed = _listed([f"`{p.name}` (at most {max(math.ceil(100 * p.high), 1)}%)" for p in idle])
        parts.append(f"{listed} hardly {'matters' if len(idle) == 1 else 'matter'}")
    printed = [p.total for p in parameters if not p.branch and p.verdict == "matters"][: 1 + _MOST_LISTED]
    # Neither percentages that are rounded up nor a sum that is rounded down: the reader adds up what is printed.
    if min(sum(round(100 * total) for total in printed), round(100 * sum(printed))) > 100:
        parts.append("shares include interactions, so they add up to more than 100%")
    text = "; ".join([*parts, *_doubts([p for p in parameters if p.verdict == "cannot tell"])])
    return f"{text[0].upper()}{text[1:]}."


def _doubts(unclear: Sequence[ParameterShare]) -> list[str]:
    """Why there is no verdict: an interval that is too long, one that says nothing, or too few trials for any."""
    few = [f"`{p.name}`" for p in unclear if p.n_trials < FEWEST_TO_JUDGE]
    any_share = [f"`{p.name}`" for p in unclear if says_nothing(p) and p.n_trials >= FEWEST_TO_JUDGE]
    long = [f"`{p.name}` ({_percent(p.low)} to {_percent(p.high)})" for p in unclear if not says_nothing(p)]
    parts = [f"share still unclear: {_listed(long)}"] if long else []
    parts += [f"nothing is known about the share of {_listed(any_share)}"] if any_share else []
    return [*parts, f"too few trials to judge {_listed(few)}"] if few else parts


def _leaders(parameters: Sequence[ParameterShare], level: float, where: str = "") -> list[str]:
    """The parameters of one branch that matter, if there are any. `where`: what their variance belongs to."""
    known = [p for p in parameters if p.verdict == "matters"]
    if not known:
        return []
    first, *others = known
    share = (
        f"{_percent(first.total)} of the variance{where}, {100 * level:.3g}% interval {_percent(first.low)} to "
        f"{_percent(first.high)}"
    )
    text = f"`{first.name}` {_VERBS[first.rank]} ({share})"
    if others:
        text += f", then {_listed([f'`{p.name}` ({_percent(p.total)})' for p in others])}"
    return [text]


def says_nothing(share: ParameterShare) -> bool:
    """Whether nothing is known about a share: too few trials, or an interval that is next to everything."""
    return share.n_trials < FEWEST_TO_JUDGE or share.high - share.low > _ANY


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.005 or share == 0.0 else "<1%"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_LISTED])
    return f"{shown} and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else shown
