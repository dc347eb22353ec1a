"""Rules between answers of a page. Where two differ, both keep their numbers, and one line says so."""

from __future__ import annotations

from pellucid.records import NotKnown, Recommendation, RegretHistory
from pellucid.reporting.gather import StudyAnswers
from pellucid.words import rounded, spoken

# Parameters that a line names.
_MOST_NAMES = 3


def advises_to_stop(study: StudyAnswers) -> bool:
    return isinstance(study.regret, RegretHistory) and study.regret.stopping.stop


def beyond_the_verdict(study: StudyAnswers) -> str:
    """A line if bands of profiles reach further than the recommendation and the verdict on a stop allow; else empty.

    Further than the better end of the recommendation's interval, improved by all that the verdict sees left, by more
    than the verdict's tolerance: a smaller difference changes nothing. Bands never end sharply, so nearly all reach
    further by about half of the default tolerance.
    """
    use, profiles = study.recommendation, study.each[0].profiles
    if not (isinstance(use, Recommendation) and isinstance(study.regret, RegretHistory)) or isinstance(
        profiles, NotKnown
    ):
        return ""
    verdict = study.regret.stopping
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
