"""The first screen: what to use, whether to stop, what matters, what to change, what to distrust."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.plots import parameter_colour
from pellucid.records import Front, History, NotKnown, ParameterRanges, Recommendation, RegretHistory, Tradeoff
from pellucid.reporting.agreement import advises_to_stop
from pellucid.reporting.doubts import MOST_SHOWN, doubts
from pellucid.reporting.gather import COMPUTING, ObjectiveAnswers, StudyAnswers
from pellucid.reporting.markup import Markup, joined, prose, tag
from pellucid.words import percent, prefix, short_percent, value_text, within_error

# Entries of a card; more would push the other answers off the first screen.
_MOST_PARAMETERS, _MOST_NAMES, _MOST_ADVICE, _MOST_MEMBERS = 8, 5, 4, 6


def answers(study: StudyAnswers) -> Markup:
    stopped = advises_to_stop(study)
    cards = (
        _card("Use one of these" if study.several else "Use this", _use(study)),
        _card("Can you stop?", _stop(study.regret)),
        _card("What matters?", joined(*(_matters(each, study) for each in study.each))),
        *([_card("What does one cost in the other?", _cost(study.tradeoffs))] if study.several else []),
        *([] if study.ranges is None else [_card("Which ranges to change?", _change(study.ranges, stopped))]),
        _card("What to distrust", _not_known(COMPUTING) if study.computing else _distrust(doubts(study))),
    )
    return tag("section", *cards, class_="answers", id="answers", aria_label="Answers")


def _card(title: str, content: Markup) -> Markup:
    return tag("div", tag("h2", title), content, class_="card")


def _not_known(answer: NotKnown) -> Markup:
    if answer is COMPUTING:
        return tag("p", "Computing ...", class_="big")
    if answer.final:
        return tag("p", prose(answer.reason))
    return joined(tag("p", "Not known yet.", class_="big"), tag("p", prose(answer.reason), class_="soft"))


def parameter(name: str, study: StudyAnswers) -> Markup:
    """A name with the parameter's colour, which the page changes if it is dark."""
    colour = parameter_colour(study.positions.get(name, 0))
    swatch = tag("span", class_="swatch", style=f"background:{colour}", data_ink=colour, aria_hidden="true")
    return joined(swatch, tag("code", name))


def copies(trial: int | None) -> Markup:
    """Buttons that copy the configuration of a trial; without a number, of the trial that is picked."""
    kinds = (("python", "Python"), ("json", "JSON"), ("flags", "command line"))
    number = {} if trial is None else {"data_trial": str(trial)}
    buttons = [tag("button", label, type="button", data_copy=kind, **number) for kind, label in kinds]
    return tag("p", "Copy as ", *buttons, tag("span", class_="copied soft", role="status"), class_="copies")


def _use(study: StudyAnswers) -> Markup:
    use, importance = study.recommendation, study.each[0].importance
    if isinstance(use, NotKnown):
        return _not_known(use)
    if isinstance(use, Front):
        return _front(use)
    order = [] if isinstance(importance, NotKnown) else [share.name for share in importance.parameters]
    names = [*(name for name in order if name in use.params), *(name for name in use.params if name not in order)]
    rows = [tag("tr", tag("th", parameter(name, study)), tag("td", value_text(use.params[name]))) for name in names]
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
        copies(use.trial),
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
    more = tag("p", f"{left} more that may be on ", tag("a", "the front", href="#front"), ".", class_="soft")
    return joined(
        tag("p", prose(front.sentence)),
        *(tag("p", prose(note), class_="doubt") for note in front.notes),
        tag("table", head, *rows, class_="members"),
        more if left > 0 else "",
    )


def chance_text(chance: float | None) -> str:
    """A chance in a table: ">99%"."""
    return "" if chance is None else short_percent(chance)


def _cost(tradeoffs: Sequence[Tradeoff | NotKnown]) -> Markup:
    known = [tradeoff for tradeoff in tradeoffs if not isinstance(tradeoff, NotKnown)]
    if not known:
        return joined(*(_not_known(tradeoff) for tradeoff in tradeoffs[:1] if isinstance(tradeoff, NotKnown)))
    notes = dict.fromkeys(note for tradeoff in known for note in tradeoff.notes)
    return joined(
        *(tag("p", prose(tradeoff.sentence)) for tradeoff in known[:_MOST_ADVICE]),
        *(tag("p", prose(note), class_="soft") for note in notes),
        *(_not_known(tradeoff) for tradeoff in tradeoffs if isinstance(tradeoff, NotKnown) and tradeoff.failed),
    )


def _number(value: float, use: Recommendation) -> str:
    """A value to the digits that the interval leaves meaningful."""
    if use.low is None or use.high is None:
        return value_text(value)
    return within_error(value, 0.5 * (use.high - use.low))


def _interval(use: Recommendation) -> str:
    observed = f"trial {use.trial} returned {_number(use.observed, use)}"
    if use.low is None or use.high is None:
        return f"There is no interval; {observed}."
    ends = f"{_number(use.low, use)} to {_number(use.high, use)}"
    return f"{100 * use.level:.0f}% interval {ends}; {observed}."


# How the best value compares with that of the recommended trial: with noise it may have been luck.
LUCK = "; the model expects no better from it than from this one."


def best_elsewhere(study: StudyAnswers, use: Recommendation) -> tuple[str, int] | None:
    """The best value in words, and its trial, if the recommended trial returned a worse one."""
    history = study.history
    assert isinstance(history, History)
    best = next((value for value in reversed(history.best) if value is not None), None)
    if best is None or history.best_trial is None or best == use.observed:
        return None
    kind = "feasible" if history.feasible else "observed"
    return f"The best {kind} value, {_number(best, use)}, was first returned by ", history.best_trial


def _best(study: StudyAnswers, use: Recommendation) -> Markup:
    other = best_elsewhere(study, use)
    if other is not None:
        words, trial = other
        return joined(words, tag("a", f"trial {trial}", href=f"#trial-{trial}"), LUCK)
    assert isinstance(study.history, History)
    if "history" in study.broken:
        return joined()
    kind = "feasible trial" if study.history.feasible else "trial"
    return joined(f"No other {kind} returned a better value." if len(study.trials) > 1 else "")


def _stop(regret: RegretHistory | NotKnown) -> Markup:
    if isinstance(regret, NotKnown):
        return _not_known(regret)
    verdict = regret.stopping
    word = tag("p", "Probably" if verdict.stop else "Not yet", class_=f"big {'stop' if verdict.stop else 'go'}")
    return joined(
        word,
        tag("p", prose(f"{verdict.reason[0].upper()}{verdict.reason[1:]}.")),
        *(tag("p", prose(note), class_="soft") for note in verdict.notes),
    )


def _matters(each: ObjectiveAnswers, study: StudyAnswers) -> Markup:
    """What matters for an objective; if there are several, after its name."""
    importance = each.importance
    title = f"{each.name}: " if study.several else ""
    if isinstance(importance, NotKnown):
        return joined(tag("p", title, class_="big"), _not_known(importance))
    names = [parameter(name, study) for name in importance.matters]
    first = joined(*(tag("span", name) for name in names[:_MOST_NAMES])) if names else joined("Not known yet")
    return joined(tag("p", title, first, class_="big"), tag("p", prose(importance.sentence)))


def _change(ranges: ParameterRanges | NotKnown, stopped: bool) -> Markup:
    if isinstance(ranges, NotKnown):
        return _not_known(ranges)
    if not ranges.advice:
        notes = (tag("p", prose(note), class_="soft") for note in ranges.notes[:_MOST_ADVICE])
        return joined(tag("p", "Keep them", class_="big"), tag("p", ranges.sentence), *notes)
    rows = [tag("li", prose(advice.sentence)) for advice in ranges.advice[:_MOST_ADVICE]]
    left = len(ranges.advice) - _MOST_ADVICE
    return joined(
        tag("p", "If you go on:") if stopped else "",
        tag("ul", *rows),
        tag("p", f"And {left} more, below.", class_="soft") if left > 0 else "",
    )


def _distrust(reasons: Sequence[str]) -> Markup:
    if not reasons:
        return tag("p", "Nothing stands out.")
    return tag("ul", *(tag("li", prose(reason)) for reason in reasons[:MOST_SHOWN]))
