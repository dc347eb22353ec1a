"""Rules between answers. None of them changes a number: where two differ, both stand, and one line says so."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pellucid.answers.base import Overview, Question
from pellucid.answers.catalogue import PROFILE, RANGES, RECOMMENDATION, TRADEOFF, VERDICT
from pellucid.answers.on_pages import HISTORY
from pellucid.words import rounded, spoken, value_text

IF_YOU_GO_ON = "If you go on:"
# Parameters that a line names.
_MOST_NAMES = 3
# One answer about a front is much shorter than another if it spans less than this share of it. With noise the observed
# front is longer than the one that is named: by up to a fifth on dense fronts with noise of 5% of their length.
_MUCH_SHORTER = 0.5


def lead(question: Question[Any]) -> str:
    """What stands before an answer because of others that were asked before it; mostly nothing."""
    if question.answer is not RANGES:
        return ""
    ranges = question.overview.known(RANGES, question.subject)
    return IF_YOU_GO_ON if advises_to_stop(question.overview) and ranges is not None and ranges.advice else ""


def advises_to_stop(overview: Overview) -> bool:
    """Whether the verdict has been asked for, and is a stop."""
    verdict = overview.known(VERDICT)
    return verdict is not None and verdict.stop


def beyond_the_verdict(overview: Overview) -> str:
    """A line if bands of profiles reach further than the recommendation and the verdict on a stop allow; else empty.

    Further than the better end of the recommendation's interval, improved by all that the verdict sees left, by more
    than the verdict's tolerance: a smaller difference changes nothing. Bands never end sharply, so nearly all reach
    further by about half of the default tolerance.
    """
    from pellucid.answers.recommend import Recommendation

    if overview.view.several:
        return ""
    use, verdict = overview.ask(RECOMMENDATION), overview.found(VERDICT)
    asked = [overview.found(PROFILE, question.subject) for question in overview.shown(PROFILE)]
    profiles = [profile for profile in asked if profile is not None]
    if not isinstance(use, Recommendation) or verdict is None or not profiles:
        return ""
    if use.low is None or use.high is None or verdict.bound is None or verdict.tolerance is None:
        return ""
    sign = 1.0 if use.direction == "minimize" else -1.0
    limit = min(sign * use.low, sign * use.high) - verdict.bound
    best = {profile.param: min(sign * end for end in (*profile.low, *profile.high)) for profile in profiles}
    names = sorted((name for name in best if limit - best[name] > verdict.tolerance), key=lambda name: best[name])
    if not names:
        return ""
    furthest, left = best[names[0]], len(names) - _MOST_NAMES
    listed = [*(f"`{name}`" for name in names[:_MOST_NAMES]), *([f"{left} more"] if left > 0 else [])]
    bands, rest = ("band", "it rests") if len(names) == 1 else ("bands", "they rest")
    reached = rounded(sign * furthest, limit - furthest)
    advice = "run some more trials before you stop" if verdict.stop else f"do not take {verdict.bound:.2g} for a limit"
    return (
        f"The {profiles[0].level:.0%} {bands} of {spoken(listed)} reach{'es' if len(names) == 1 else ''} {reached}, "
        f"although the verdict on a stop sees at most {verdict.bound:.2g} left to gain: {rest} on several models and "
        f"the verdict on one, so {advice}."
    )


def shorter_fronts(overview: Overview) -> list[str]:
    """Whether the front that is named, the one that was observed and the trade-off reach as far as each other."""
    from pellucid.answers.fronts.records import Front
    from pellucid.answers.history import FrontHistory

    front, history = overview.ask(RECOMMENDATION), overview.ask(HISTORY)
    if not isinstance(front, Front) or not isinstance(history, FrontHistory) or not history.front:
        return []
    values = dict(zip(history.numbers, history.values, strict=True))
    returned = {number: outcomes for number in history.front if (outcomes := values[number]) is not None}
    named = {*front.thinned, *(member.trial for member in front.members)}
    tradeoffs = [overview.found(TRADEOFF, question.subject) for question in overview.shown(TRADEOFF)]
    reasons = []
    for j, name in enumerate(front.objectives):
        expected = [member.outcomes[j].expected for member in front.members]
        observed = {number: outcomes[j] for number, outcomes in returned.items()}
        ends = min(observed, key=observed.__getitem__), max(observed, key=observed.__getitem__)
        if _shorter(expected, observed.values()):
            again = " and ".join(f"trial {number}" for number in ends if number not in named)
            reasons.append(
                f"The trials that no other beats returned {name} from {_ends(observed.values())}, but the named front "
                f"reaches only from {_ends(expected)}, because the models take the rest for luck: "
                f"run {again or 'its ends'} again."
            )
        for tradeoff in tradeoffs:
            if tradeoff is None or name not in tradeoff.objectives:
                continue
            reached = [point[tradeoff.objectives.index(name)] for point in tradeoff.curve]
            if _shorter(reached, expected):
                reasons.append(
                    f"The trade-off between {spoken(tradeoff.objectives)} is known for {name} from {_ends(reached)}, "
                    f"but the front reaches from {_ends(expected)}: look at its trials for the rest."
                )
    return reasons


def _shorter(some: Iterable[float], others: Iterable[float]) -> bool:
    """Whether some values span much less than others do, none of them infinite."""
    (low, high), (lowest, highest) = ((min(values), max(values)) for values in (list(some), list(others)))
    return math.isfinite(lowest) and math.isfinite(highest) and high - low < _MUCH_SHORTER * (highest - lowest)


def _ends(values: Iterable[float]) -> str:
    values = list(values)
    return f"{value_text(min(values))} to {value_text(max(values))}"
