"""Reasons to distrust the answers, each with what to do about it, the one that changes most first."""

from __future__ import annotations

import math
from collections.abc import Iterable

from optuna.trial import TrialState

from pellucid.records import (
    Calibration,
    FailingSettings,
    Front,
    FrontHistory,
    HsicImportance,
    Importance,
    NotKnown,
    PruningRecord,
    Tradeoff,
)
from pellucid.reporting.agreement import advises_to_stop, beyond_the_verdict
from pellucid.reporting.gather import StudyAnswers
from pellucid.study.trials import nobodys_choice, repeated
from pellucid.words import kind_of, percent, spoken, value_text

# Reasons that a page shows: more would hide the ones that matter.
MOST_SHOWN = 3
# Answers that failed, by name.
_MOST_BROKEN = 6
# With fewer finished trials than this, the answers are called uncertain.
_FEW = 10
# The chance of having stopped the best trial above which that is a reason for doubt, and the chance of one of them
# from which it is worth running again.
_LOST, _WORTH_A_RUN = 0.1, 0.05
# One answer about a front is much shorter than another if it spans less than this share of it. With noise the observed
# front is longer than the one that is named: by up to a fifth on dense fronts with noise of 5% of their length.
_MUCH_SHORTER = 0.5


def doubts(study: StudyAnswers) -> list[str]:
    """Reasons to distrust the answers, the most important first. Each ends in what to do about it."""
    if not study.trials:
        return [*_broken(study), "The study has no trials yet, so nothing here is about your problem: run some."]
    checked = [each.calibration for each in study.each if isinstance(each.calibration, Calibration)]
    reasons = [
        *_broken(study),
        *_few(study),
        *([study.dead] if study.dead else []),
        *([line] if advises_to_stop(study) and (line := beyond_the_verdict(study)) else []),
        *(calibration.sentence for calibration in checked if calibration.doubtful),
        *_lost(study),
        *_fronts(study),
        *_odd_values(study),
        *_running(study),
        *_notes(study),
        *others(study),
    ]
    return _each_once(reasons)


def _each_once(reasons: list[str]) -> list[str]:
    """Two models may say with other numbers that there are few trials for them: one of the two is enough."""
    said = {"size" if kind_of(reason) == "size" else reason: reason for reason in reversed(reasons)}
    return list(said.values())[::-1]


def _broken(study: StudyAnswers) -> list[str]:
    """The answers that failed, by name, with the cause of the first."""
    if not study.broken:
        return []
    names, (first, *_) = list(study.broken), study.broken.values()
    left = len(names) - _MOST_BROKEN
    listed = spoken([*names[:_MOST_BROKEN], *([f"{left} more"] if left > 0 else [])])
    return [f"Left out because of an error: {listed}. {first}"]


def _few(study: StudyAnswers) -> list[str]:
    finished = sum(value is not None for value in study.history.values)
    if finished >= _FEW:
        return []
    count = "No trial has" if finished == 0 else f"Only {finished} trial{' has' if finished == 1 else 's have'}"
    return [f"{count} finished, so the answers rest on assumptions more than on data: run at least {_FEW}."]


def _lost(study: StudyAnswers) -> list[str]:
    """Whether a stopped trial may well have been the best."""
    record = None if study.curves is None else study.curves.record
    if not isinstance(record, PruningRecord) or record.lost <= _LOST:
        return []
    chance = next(row.chance for row in record.rows if row.trial == record.likeliest)
    number = record.likeliest
    lost = f"A trial that was stopped early would have been the best with a chance of {percent(record.lost)}"
    if chance < _WORTH_A_RUN:
        most = percent(max(chance, 0.01))
        return [f"{lost}, none of them alone with more than {most}: let trials run longer next time."]
    return [f"{lost} (trial {number} alone: {percent(chance)}): run trial {number} again to its end."]


def _fronts(study: StudyAnswers) -> list[str]:
    """Whether the front that is named, the one that was observed and the trade-off reach as far as each other."""
    front, history = study.recommendation, study.history
    if not isinstance(front, Front) or not isinstance(history, FrontHistory) or not history.front:
        return []
    values = dict(zip(history.numbers, history.values, strict=True))
    returned = {number: outcomes for number in history.front if (outcomes := values[number]) is not None}
    named = {*front.thinned, *(member.trial for member in front.members)}
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
        for tradeoff in study.tradeoffs:
            if not isinstance(tradeoff, Tradeoff) or name not in tradeoff.objectives:
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


def _odd_values(study: StudyAnswers) -> list[str]:
    """Trials that failed, returned infinities, were pruned or sampled at random."""
    reasons = []
    counts, n, values = study.counts, len(study.trials), study.history.values
    if counts["failed"]:
        reasons.append(f"{counts['failed']} of {n} trials failed, so they have no value: {_against_failures(study)}.")
    returned = [value if isinstance(value, tuple) else (value,) for value in values if value is not None]
    infinite = sum(any(map(math.isinf, each)) for each in returned)
    if infinite:
        counted = "it counts as the worst (or best) finite one: return a number, or raise an error"
        reasons.append(f"{infinite} of {n} trials returned an infinite value; {counted}.")
    # If learning curves say what stopped trials would have returned, notes of the answers say so.
    if counts["pruned"] and (study.curves is None or not study.curves.extrapolated):
        rule = "the last value of each counts, never as better than the median: let some run to their end"
        reasons.append(f"{counts['pruned']} of {n} trials were pruned; {rule}.")
    fallbacks = sum(receipt is not None and receipt.kind == "fallback" for receipt in study.receipts)
    if fallbacks:
        why = "because the model could not be used: the log of that time says why"
        reasons.append(f"{fallbacks} trials were sampled at random {why}.")
    return reasons


def _against_failures(study: StudyAnswers) -> str:
    """What to do about trials that fail."""
    if isinstance(study.failing, FailingSettings) and study.failing.settings:
        return f"avoid {', and '.join(setting.words for setting in study.failing.settings)}, or mend what fails there"
    known = isinstance(study.failures, HsicImportance) and study.failures.impactful
    return "look at Failures for the parameters that matter for it" if known else "fix what makes them fail"


def _running(study: StudyAnswers) -> list[str]:
    running = study.counts["running"]
    if not running:
        return []
    later = "answers do without their values: ask again when they have ended"
    return [f"{running} of {len(study.trials)} trials have not ended; {later}."]


def _notes(study: StudyAnswers) -> list[str]:
    """What the answers themselves say about the whole study: what only one parameter's figure says stays there."""
    notes: list[str] = []
    for each in study.each:
        if isinstance(each.importance, Importance):
            notes += each.importance.notes
        if not isinstance(each.effects, NotKnown) and len(each.effects) > 1:
            shared = set(each.effects[0].notes).intersection(*(effect.notes for effect in each.effects))
            notes += [note for note in each.effects[0].notes if note in shared]
    use = study.recommendation
    said = () if isinstance(use, NotKnown) else use.notes
    return [note for note in notes if note not in said and kind_of(note) != "selection"]


def others(study: StudyAnswers) -> list[str]:
    """Trials without a receipt of their own: repeated, enqueued by the user, or chosen by another sampler."""
    chosen = [(t, r) for t, r in zip(study.trials, study.receipts, strict=True) if not nobodys_choice(t)]
    begun = [(t, r) for t, r in chosen if t.state != TrialState.WAITING]
    without = [t for t, r in begun if r is None]
    again = sum(repeated(t) is not None for t in without)
    enqueued = sum(repeated(t) is None and "fixed_params" in t.system_attrs for t in without)
    foreign = len(without) - again - enqueued
    reasons = []
    if foreign:
        who = "ran this study" if foreign == len(begun) else f"chose {foreign} of {len(begun)} trials"
        ours = "“why this trial” is our reconstruction" + ("" if foreign == len(begun) else " for those")
        use = "use `pellucid.BayesianSampler` to have reasons recorded"
        reasons.append(f"Another sampler {who}, so {ours}: {use}.")
    if enqueued:
        reasons.append(f"{enqueued} of {len(begun)} trials were enqueued: ask whoever chose them for the reasons.")
    if again:
        reasons.append(f"{again} of {len(begun)} trials repeat others whose processes had died: look at those for why.")
    return reasons
