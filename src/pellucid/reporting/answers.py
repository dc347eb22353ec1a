"""The first screen: what to use, whether to stop, what matters, what to change, what to distrust."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from optuna.trial import TrialState

from pellucid.explain.text import value_text, with_error
from pellucid.plots import parameter_colour
from pellucid.records import (
    Calibration,
    Front,
    History,
    Importance,
    NotKnown,
    ParameterRanges,
    PruningRecord,
    Recommendation,
    RegretHistory,
    Tradeoff,
    percent,
    prefix,
)
from pellucid.reporting.gather import ObjectiveAnswers, StudyAnswers
from pellucid.reporting.markup import Markup, joined, prose, tag
from pellucid.study.trials import nobodys_choice, repeated

# Entries of a card; more would push the other answers off the first screen.
_MOST_PARAMETERS, _MOST_NAMES, _MOST_ADVICE, _MOST_DOUBTS, _MOST_MEMBERS = 8, 5, 4, 6, 6
# With fewer finished trials than this, the answers are called uncertain.
_FEW = 10
# The chance of having stopped the best trial above which that is a reason for doubt, and the chance of one of them
# from which it is worth running again.
_LOST, _WORTH_A_RUN = 0.1, 0.05


def answers(study: StudyAnswers) -> Markup:
    cards = (
        _card("Use one of these" if study.several else "Use this", _use(study)),
        _card("Can you stop?", _stop(study.regret)),
        _card("What matters?", joined(*(_matters(each, named=study.several) for each in study.each))),
        *([_card("What does one cost in the other?", _cost(study.tradeoffs))] if study.several else []),
        *([] if study.ranges is None else [_card("Which ranges to change?", _change(study.ranges))]),
        _card("What to distrust", _distrust(doubts(study))),
    )
    return tag("section", *cards, class_="answers", id="answers", aria_label="Answers")


def _card(title: str, content: Markup) -> Markup:
    return tag("div", tag("h2", title), content, class_="card")


def _not_known(answer: NotKnown) -> Markup:
    return joined(tag("p", "Not known yet.", class_="big"), tag("p", prose(answer.reason), class_="soft"))


def parameter(name: str) -> Markup:
    """A name with the parameter's colour."""
    swatch = tag("span", class_="swatch", style=f"background:{parameter_colour(name)}", aria_hidden="true")
    return joined(swatch, tag("code", name))


def _use(study: StudyAnswers) -> Markup:
    use, importance = study.recommendation, study.each[0].importance
    if isinstance(use, NotKnown):
        return _not_known(use)
    if isinstance(use, Front):
        return _front(use)
    order = [] if isinstance(importance, NotKnown) else [share.name for share in importance.parameters]
    names = [*(name for name in order if name in use.params), *(name for name in use.params if name not in order)]
    rows = [tag("tr", tag("th", parameter(name)), tag("td", value_text(use.params[name]))) for name in names]
    listed = tag("table", *rows[:_MOST_PARAMETERS])
    if len(rows) > _MOST_PARAMETERS:
        more = tag("summary", f"{len(rows) - _MOST_PARAMETERS} more parameters")
        listed = joined(listed, tag("details", more, tag("table", *rows[_MOST_PARAMETERS:])))
    return joined(
        tag("p", f"Expect {prefix(use.objective)}{_number(use.expected, use)}", class_="big"),
        tag("p", _interval(use), class_="soft"),
        *([] if use.feasible is None else [tag("p", f"Feasible with a chance of {percent(use.feasible)}.")]),
        *(tag("p", note, class_="doubt") for note in use.notes),
        listed,
        tag("p", _best(study, use), class_="soft"),
    )


def _front(front: Front) -> Markup:
    """The configurations that may be on the front, with what to expect of each: an even selection of many."""
    members, most = front.members, _MOST_MEMBERS
    if len(members) > most:
        members = tuple(members[round(i * (len(members) - 1) / (most - 1))] for i in range(most))
    left = len(front.members) - len(members)
    head = tag("tr", *(tag("th", text) for text in ("trial", *front.objectives, "chance")))
    rows = [
        tag(
            "tr",
            tag("td", tag("a", str(member.trial), href=f"#trial-{member.trial}")),
            *(tag("td", value_text(outcome.expected)) for outcome in member.outcomes),
            tag("td", chance_text(member.probability)),
        )
        for member in members
    ]
    return joined(
        tag("p", prose(front.sentence)),
        *(tag("p", prose(note), class_="doubt") for note in front.notes),
        tag("table", head, *rows, class_="members"),
        tag("p", f"{left} more in ", tag("a", "the front", href="#front"), ".", class_="soft") if left > 0 else "",
    )


def chance_text(chance: float | None) -> str:
    """A chance in a table: ">99%"."""
    return "" if chance is None else percent(chance).replace("more than ", ">").replace("less than ", "<")


def _cost(tradeoffs: Sequence[Tradeoff | NotKnown]) -> Markup:
    known = [tradeoff for tradeoff in tradeoffs if not isinstance(tradeoff, NotKnown)]
    if not known:
        return joined(*(_not_known(tradeoff) for tradeoff in tradeoffs[:1] if isinstance(tradeoff, NotKnown)))
    notes = dict.fromkeys(note for tradeoff in known for note in tradeoff.notes)
    return joined(
        *(tag("p", prose(tradeoff.sentence)) for tradeoff in known[:_MOST_ADVICE]),
        *(tag("p", prose(note), class_="soft") for note in notes),
    )


def _number(value: float, use: Recommendation) -> str:
    """A value to the digits that the interval leaves meaningful."""
    if use.low is None or use.high is None:
        return f"{value:.6g}"
    return with_error(value, 0.5 * (use.high - use.low)).partition(" ")[0]


def _interval(use: Recommendation) -> str:
    observed = f"trial {use.trial} returned {_number(use.observed, use)}"
    if use.low is None or use.high is None:
        return f"There is no interval; {observed}."
    ends = f"{_number(use.low, use)} to {_number(use.high, use)}"
    return f"{100 * use.level:.0f}% interval {ends}; {observed}."


def _best(study: StudyAnswers, use: Recommendation) -> Markup:
    """How the best value compares with the recommended trial: with noise it may have been luck."""
    history = study.history
    assert isinstance(history, History)
    best = next((value for value in reversed(history.best) if value is not None), None)
    trial = history.best_trial
    if best is None or trial is None or best == use.observed:
        kind = "feasible trial" if history.feasible else "trial"
        return joined(f"No other {kind} returned a better value.")
    return joined(
        f"The best observed value, {_number(best, use)}, is that of ",
        tag("a", f"trial {trial}", href=f"#trial-{trial}"),
        "; the model expects no more of it than of this one.",
    )


def _stop(regret: RegretHistory | NotKnown) -> Markup:
    if isinstance(regret, NotKnown):
        return _not_known(regret)
    verdict = regret.stopping
    word = tag("p", "Yes" if verdict.stop else "Not yet", class_=f"big {'stop' if verdict.stop else 'go'}")
    if verdict.bound is None:
        word = tag("p", "Not known yet.", class_="big")
    return joined(word, tag("p", prose(f"{verdict.reason[0].upper()}{verdict.reason[1:]}.")))


def _matters(each: ObjectiveAnswers, *, named: bool) -> Markup:
    """What matters for an objective; `named`: after its name."""
    importance = each.importance
    title = f"{each.name}: " if named else ""
    if isinstance(importance, NotKnown):
        return joined(tag("p", title, class_="big"), _not_known(importance))
    names = [parameter(name) for name in importance.matters]
    first = joined(*(tag("span", name) for name in names[:_MOST_NAMES])) if names else joined("Nothing measurably")
    return joined(tag("p", title, first, class_="big"), tag("p", prose(importance.sentence)))


def _change(ranges: ParameterRanges | NotKnown) -> Markup:
    if isinstance(ranges, NotKnown):
        return _not_known(ranges)
    if not ranges.advice:
        notes = (tag("p", prose(note), class_="soft") for note in ranges.notes[:_MOST_ADVICE])
        return joined(tag("p", "None", class_="big"), tag("p", ranges.sentence), *notes)
    rows = [tag("li", prose(advice.sentence)) for advice in ranges.advice[:_MOST_ADVICE]]
    left = len(ranges.advice) - _MOST_ADVICE
    return joined(tag("ul", *rows), tag("p", f"And {left} more, below.", class_="soft") if left > 0 else "")


def _distrust(reasons: Sequence[str]) -> Markup:
    if not reasons:
        return tag("p", "Nothing stands out.")
    return tag("ul", *(tag("li", prose(reason)) for reason in reasons[:_MOST_DOUBTS]))


def _others(study: StudyAnswers) -> list[str]:
    """Trials without a receipt of their own: repeated, enqueued by the user, or chosen by another sampler."""
    chosen = [(t, r) for t, r in zip(study.trials, study.receipts, strict=True) if not nobodys_choice(t)]
    begun = [(t, r) for t, r in chosen if t.state != TrialState.WAITING]
    without = [t for t, r in begun if r is None]
    again = sum(repeated(t) is not None for t in without)
    enqueued = sum(repeated(t) is None and "fixed_params" in t.system_attrs for t in without)
    foreign = len(without) - again - enqueued
    reasons = []
    if again:
        reasons.append(f"{again} of {len(begun)} trials repeat others whose processes had died.")
    if enqueued:
        reasons.append(f"{enqueued} of {len(begun)} trials were enqueued, not proposed.")
    if foreign == len(begun) and foreign:
        reasons.append("Another sampler ran this study, so “why this trial” is our reconstruction.")
    elif foreign:
        reasons.append(
            f"Another sampler chose {foreign} of {len(begun)} trials; “why this trial” is our reconstruction for those."
        )
    return reasons


def _running(study: StudyAnswers) -> list[str]:
    """Trials that have not ended, and whether their processes may be gone."""
    running = study.counts["running"]
    if not running:
        return []
    reasons = [f"{running} of {len(study.trials)} trials have not ended; answers do without their values."]
    return [*reasons, study.dead] if study.dead else reasons


def doubts(study: StudyAnswers) -> list[str]:
    """Reasons to distrust the answers, the broadest first."""
    n = len(study.trials)
    if n == 0:
        return ["The study has no trials yet, so nothing here is about your problem."]
    reasons = [*_unusual_trials(study), *_running(study), *_lost(study), *_others(study)]
    checked = [each.calibration for each in study.each if isinstance(each.calibration, Calibration)]
    reasons += [calibration.sentence for calibration in checked if calibration.doubtful]
    effects = [effect for each in study.each if not isinstance(each.effects, NotKnown) for effect in each.effects]
    notes = Counter(note for effect in effects for note in effect.notes)
    reasons += [note for note, _ in notes.most_common(3)]
    for each in study.each:
        if isinstance(each.importance, Importance):
            reasons += each.importance.notes
    # Two models may say the same with other numbers: one of the two is enough.
    return list({reason.split(":")[0]: reason for reason in reversed(reasons)}.values())[::-1]


def _lost(study: StudyAnswers) -> list[str]:
    """Whether a stopped trial may well have been the best, and what to do about it."""
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


def _unusual_trials(study: StudyAnswers) -> list[str]:
    """What is unusual about the trials: few, failed, pruned, infinite or random ones."""
    reasons = []
    counts, n, values = study.counts, len(study.trials), study.history.values
    finished = sum(value is not None for value in values)
    if finished < _FEW:
        reasons.append(
            f"Few finished trials ({finished}): intervals and verdicts rest more on assumptions than on data."
        )
    if counts["failed"]:
        reasons.append(f"{counts['failed']} of {n} trials failed; only the analysis of failures uses them.")
    # If learning curves say what stopped trials would have returned, notes of the answers say so.
    if counts["pruned"] and (study.curves is None or not study.curves.extrapolated):
        rule = "they count with the last value they reported, never as better than the median"
        reasons.append(f"{counts['pruned']} of {n} trials were pruned; {rule}.")
    returned = [value if isinstance(value, tuple) else (value,) for value in values if value is not None]
    infinite = sum(any(map(math.isinf, each)) for each in returned)
    if infinite:
        reasons.append(
            f"{infinite} of {n} trials returned an infinite value; it counts as the worst (or best) finite one."
        )
    fallbacks = sum(receipt is not None and receipt.kind == "fallback" for receipt in study.receipts)
    if fallbacks:
        reasons.append(f"{fallbacks} trials were sampled at random because the model could not be used.")
    return reasons
