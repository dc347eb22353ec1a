"""The words that answers claim something with, when they say them, and where their error rate is measured.

A claim is made where people may act on it: it has a rule, a threshold in a unit of its own, a confidence where the rule
needs one, and a section of `docs/trust.md` that says how often it was wrong. How an answer gets at its numbers, and how
it words them, is its own affair.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A word of an answer, and its rule.

    answer       the question that it answers, as a key of `explain --json`
    word         as it stands in the record
    rule         when it is said, where `threshold` and `confidence` are the numbers below
    threshold    in the unit that the rule names
    confidence   the chance, or the share of draws, that the rule asks for; 0: it asks for none
    measured     the section of `docs/trust.md` with its error rate; empty: that is not measured yet
    """

    answer: str
    word: str
    rule: str
    threshold: float
    confidence: float = 0.0
    measured: str = ""


# Nats from which the trials speak for an effect of a parameter, or against it (`evidence`). Chosen on the design
# problems of `pellucid bench truth`.
EVIDENCE = 3.0
# The largest p-value that shows something, after correction for how much was tested.
SIGNIFICANCE = 0.05

# ---------------------------------------------------------------------- importance: shares of the variance

# Chosen on the design problems of `pellucid bench truth`. With evidence for an effect, "no effect" asks for a smaller
# share, because a model may be wrong about trials that lie close together.
_VERDICTS = "“Matters” and “no effect”"
SHARE_MATTERS = Claim(
    "importance",
    "matters",
    "the total index is above the threshold with confidence, and the trials speak for an effect",
    threshold=0.02,
    confidence=0.95,
    measured=_VERDICTS,
)
SHARE_SMALL = Claim(
    "importance",
    "no effect",
    "the total index is below the threshold with confidence, and the trials do not speak for an effect",
    threshold=0.1,
    confidence=0.95,
    measured=_VERDICTS,
)
SHARE_SMALL_THOUGH_EVIDENT = Claim(
    "importance",
    "no effect",
    "the total index is below the threshold with confidence, although the trials speak for an effect",
    threshold=0.02,
    confidence=0.95,
    measured=_VERDICTS,
)

# ---------------------------------------------------------------------- importance: reaching a goal

GOAL_IMPACTFUL = Claim(
    "importance",
    "impactful",
    "the p-value of independence, adjusted for the number of tests, is at most the threshold; where a model draws the "
    "goals, the trials must also speak for an effect",
    threshold=SIGNIFICANCE,
)
GOAL_NO_EFFECT = Claim(
    "importance",
    "no effect",
    "the index is below the threshold, as a share of that of a parameter that alone decides, and independence is not "
    "ruled out",
    threshold=0.05,
)

# ---------------------------------------------------------------------- profile: the best at each value

# Differences are judged in units of the spread between a typical and the best value, or of the noise if that is more.
# A parameter that the trials speak for needs a smaller share of the draws: the far ends of its range, where a search
# has no trials, may always hold a surprise. On the design problems of the truth bench, 1 of 1200 parameters without an
# effect is said to matter, and 866 of 960 with a first-order index above 0.3; most others are in branches that had too
# few trials.
_COSTS = "What other values cost"
PROFILE_MATTERS = Claim(
    "profile",
    "matters",
    "one value is better than another by the threshold with confidence, and the trials do not speak against an effect",
    threshold=0.03,
    confidence=0.97,
    measured=_COSTS,
)
PROFILE_MATTERS_EVIDENTLY = Claim(
    "profile",
    "matters",
    "one value is better than another by the threshold with confidence, and the trials speak for an effect",
    threshold=0.03,
    confidence=0.93,
    measured=_COSTS,
)
PROFILE_NO_EFFECT = Claim(
    "profile",
    "no effect",
    "the whole profile differs by less than the threshold with confidence",
    threshold=0.05,
    confidence=0.97,
    measured=_COSTS,
)

# ---------------------------------------------------------------------- dependence: averages

# Two sd are enough although the largest of all pairs is looked at, because shrinkage more than makes up for that. On
# the design problems of the truth bench, no parameter without an effect was said to matter in 576 cases; of those with
# a first-order index above 0.3, 88% were at 60 trials and 93% at 150. At 3 it is 82% and 88%.
AVERAGE_MATTERS = Claim(
    "dependence",
    "matters",
    "the averages of two values differ by the threshold, in sd of their difference",
    threshold=2.0,
    measured="Bands of average effects",
)
AVERAGE_NO_EFFECT = Claim(
    "dependence",
    "no effect",
    "the whole band is narrower than the threshold, as a share of how much the objective varies over the space",
    threshold=0.05,
    measured="Bands of average effects",
)

# ---------------------------------------------------------------------- tradeoff: roles of parameters

# Less of the length of the front is neither a trade nor a waste; a role has to be as certain as the bands.
TRADES = Claim(
    "tradeoff",
    "trades",
    "one of its moves trades the threshold, as a share of the length of the front, with confidence",
    threshold=0.05,
    confidence=0.9,
    measured="Several objectives",
)
WASTES = Claim(
    "tradeoff",
    "wastes",
    "one of its moves wastes the threshold, as a share of the length of the front, with confidence",
    threshold=0.05,
    confidence=0.9,
    measured="Several objectives",
)

# ---------------------------------------------------------------------- proposal: what a parameter was chosen for

# Shares of the prediction's variance. Below the second, a contribution from uncertainty alone says only that few trials
# had such values, which is true of any dummy.
REASON = Claim(
    "proposal",
    "matters",
    "the total index in the model of the proposal is at least the threshold",
    threshold=0.2,
)
NO_REASON = Claim(
    "proposal",
    "no effect",
    "the total index in the model of the proposal is below the threshold: uncertainty about it is no reason",
    threshold=0.1,
)
# On the design problems of the truth bench 94% of the parameters with an effect that were named pass, and 35% of the
# dummies.
PREDICTED_REASON = Claim(
    "proposal",
    "predicted",
    "the value is predicted to differ from others by the threshold, in posterior sd",
    threshold=1.96,
)

# ---------------------------------------------------------------------- ranges

# Narrowing and dropping lose the optimum if they are wrong, widening costs a few trials. Without evidence for an
# effect, a stated chance of 13% of widening was wrong in 42% of 24 cases, with it in 13% of 15.
_ADVICE = "Advice about ranges"
WIDEN = Claim(
    "ranges",
    "widen",
    "the chance that the bound is no better than inside is at most the threshold",
    threshold=0.2,
    measured=_ADVICE,
)
NARROW_OR_DROP = Claim(
    "ranges",
    "narrow, drop",
    "the chance that the part holds anything as good as the best is at most the threshold",
    threshold=0.01,
    measured=_ADVICE,
)

# ---------------------------------------------------------------------- verdict

# The default tolerance, as a share of what tuning has gained so far; with noise, the noise decides.
STOP = Claim(
    "verdict",
    "stop",
    "the model sees with confidence no more left than the threshold, as a share of what tuning has gained, and nothing "
    "holds it back",
    threshold=0.03,
    confidence=0.95,
    measured="Stops",
)
# Of 270 verdicts on the design problems of `pellucid bench moo`, after 30 to 100 trials of 54 runs, the quantile of the
# draws alone was exceeded in 47%, mostly where objectives have kinks; doubled it was in 20%.
STOP_SEVERAL = Claim(
    "verdict",
    "stop",
    "twice the quantile, with confidence, of the growth of the front's volume is at most the threshold, and nothing "
    "holds it back",
    threshold=0.03,
    confidence=0.95,
    measured="Several objectives",
)

# ---------------------------------------------------------------------- recommendation, calibration

RECOMMENDED = Claim(
    "recommendation",
    "feasible",
    "the chance of being truly feasible is at least the threshold",
    threshold=0.9,
    measured="Constraints",
)
# Where so many compete that hardly any has this chance, as many are named as the front is expected to have.
ON_THE_FRONT = Claim(
    "recommendation",
    "on the front",
    "the chance of being on the true front is at least the threshold, or models do not rule out that it is an end",
    threshold=0.25,
    measured="Several objectives",
)
TOO_SURE = Claim(
    "calibration",
    "too sure",
    "so few values inside would be rarer than the threshold if the intervals were true",
    threshold=0.025,
    measured="The verdict of `calibration`",
)
# A shift must also be clear: this many standard errors.
SHIFTED = Claim(
    "calibration",
    "optimistic, pessimistic",
    "the mean of the values is off by the threshold, in sd of a prediction, and clearly so",
    threshold=0.4,
    measured="The verdict of `calibration`",
)

# ---------------------------------------------------------------------- failures

FAILS = Claim(
    "failures",
    "fails",
    "trials inside the setting fail more often than the others: the p-value, corrected for all settings that were "
    "tried, is at most the threshold",
    threshold=SIGNIFICANCE,
)

CLAIMS: tuple[Claim, ...] = (
    SHARE_MATTERS,
    SHARE_SMALL,
    SHARE_SMALL_THOUGH_EVIDENT,
    GOAL_IMPACTFUL,
    GOAL_NO_EFFECT,
    PROFILE_MATTERS,
    PROFILE_MATTERS_EVIDENTLY,
    PROFILE_NO_EFFECT,
    AVERAGE_MATTERS,
    AVERAGE_NO_EFFECT,
    TRADES,
    WASTES,
    REASON,
    NO_REASON,
    PREDICTED_REASON,
    WIDEN,
    NARROW_OR_DROP,
    STOP,
    STOP_SEVERAL,
    RECOMMENDED,
    ON_THE_FRONT,
    TOO_SURE,
    SHIFTED,
    FAILS,
)
