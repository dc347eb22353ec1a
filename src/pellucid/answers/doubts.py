"""Reasons to distrust the answers, each with what to do about it, the one that changes most first."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime

from pellucid.answers.agreement import advises_to_stop, beyond_the_verdict, shorter_fronts
from pellucid.answers.base import Overview
from pellucid.answers.catalogue import IMPORTANCE, RECOMMENDATION
from pellucid.answers.questions.calibration import doubts as untrue
from pellucid.answers.questions.effects import doubts as about_averages
from pellucid.answers.questions.failures import advice
from pellucid.answers.questions.proposal import without_reasons
from pellucid.answers.questions.pruning import lost
from pellucid.answers.questions.trials import course
from pellucid.study.liveness import dead_trials
from pellucid.words import kind_of, spoken

# Reasons that a page shows: more would hide the ones that matter.
MOST_SHOWN = 3
# Answers that failed, by name.
_MOST_BROKEN = 6
# With fewer finished trials than this, the answers are called uncertain.
_FEW = 10


def doubts(overview: Overview) -> list[str]:
    """Reasons to distrust the answers, the most important first. Each ends in what to do about it."""
    if not overview.view.trials:
        return [*_broken(overview), "The study has no trials yet, so nothing here is about your problem: run some."]
    differs = beyond_the_verdict(overview) if advises_to_stop(overview) else ""
    dead = dead_trials(overview.view, datetime.now()).notice
    reasons = [
        *_broken(overview),
        *_few(overview),
        *filter(None, [dead, differs]),
        *untrue(overview),
        *lost(overview),
        *shorter_fronts(overview),
        *_odd_values(overview),
        *_running(overview),
        *_notes(overview),
        *without_reasons(overview),
    ]
    return _each_once(reasons)


def _each_once(reasons: list[str]) -> list[str]:
    """Two models may say with other numbers that there are few trials for them: one of the two is enough."""
    said = {"size" if kind_of(reason) == "size" else reason: reason for reason in reversed(reasons)}
    return list(said.values())[::-1]


def _broken(overview: Overview) -> list[str]:
    """The answers that failed, by name, with the cause of the first."""
    if not overview.broken:
        return []
    names, (first, *_) = list(overview.broken), overview.broken.values()
    left = len(names) - _MOST_BROKEN
    listed = spoken([*names[:_MOST_BROKEN], *([f"{left} more"] if left > 0 else [])])
    return [f"Left out because of an error: {listed}. {first}"]


def _few(overview: Overview) -> list[str]:
    finished = sum(value is not None for value in course(overview).values)
    if finished >= _FEW:
        return []
    count = "No trial has" if finished == 0 else f"Only {finished} trial{' has' if finished == 1 else 's have'}"
    return [f"{count} finished, so the answers rest on assumptions more than on data: run at least {_FEW}."]


def _odd_values(overview: Overview) -> list[str]:
    """Trials that failed, returned infinities, were pruned or sampled at random."""
    reasons = []
    view, history = overview.view, course(overview)
    counts, n = Counter(history.states), len(view.trials)
    if counts["failed"]:
        reasons.append(f"{counts['failed']} of {n} trials failed, so they have no value: {advice(overview)}.")
    returned = [value if isinstance(value, tuple) else (value,) for value in history.values if value is not None]
    infinite = sum(any(map(math.isinf, each)) for each in returned)
    if infinite:
        counted = "it counts as the worst (or best) finite one: return a number, or raise an error"
        reasons.append(f"{infinite} of {n} trials returned an infinite value; {counted}.")
    # If learning curves say what stopped trials would have returned, notes of the answers say so.
    if counts["pruned"] and view.extrapolation is None:
        rule = "the last value of each counts, never as better than the median: let some run to their end"
        reasons.append(f"{counts['pruned']} of {n} trials were pruned; {rule}.")
    fallbacks = sum(receipt.kind == "fallback" for receipt in view.own_receipts.values())
    if fallbacks:
        why = "because the model could not be used: the log of that time says why"
        reasons.append(f"{fallbacks} trials were sampled at random {why}.")
    return reasons


def _running(overview: Overview) -> list[str]:
    running = course(overview).states.count("running")
    if not running:
        return []
    later = "answers do without their values: ask again when they have ended"
    return [f"{running} of {len(overview.view.trials)} trials have not ended; {later}."]


def _notes(overview: Overview) -> list[str]:
    """What the answers themselves say about the whole study, unless the card that says what to use has it."""
    notes: list[str] = []
    for question in overview.shown(IMPORTANCE):
        importance = overview.found(IMPORTANCE, question.subject)
        notes += [] if importance is None else importance.notes
        notes += about_averages(overview, question.subject)
    use = overview.found(RECOMMENDATION)
    said = () if use is None else use.notes
    return [note for note in notes if note not in said and kind_of(note) != "selection"]
