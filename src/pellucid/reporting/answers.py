"""The first screen: what to use, whether to stop, what matters, what to change, what to distrust."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from optuna.trial import TrialState

from pellucid.explain.effects.words import value_text, with_error
from pellucid.plots import parameter_colour
from pellucid.records import Course, HsicImportance, ParameterRanges, Recommendation
from pellucid.reporting.gather import Findings
from pellucid.reporting.markup import Markup, joined, prose, tag

_MOST_PARAMETERS, _MOST_ADVICE, _MOST_DOUBTS, _FEW = 8, 4, 6, 10


def answers(found: Findings) -> Markup:
    cards = (
        _card("Use this", _use(found)),
        _card("Can you stop?", _stop(found.course)),
        _card("What matters?", _matters(found.importance)),
        _card("Which ranges to change?", _change(found.ranges)),
        _card("What to distrust", _distrust(doubts(found))),
    )
    return tag("section", *cards, class_="answers", id="answers", aria_label="Answers")


def _card(title: str, content: Markup) -> Markup:
    return tag("div", tag("h2", title), content, class_="card")


def _unknown(why: str) -> Markup:
    return joined(tag("p", "Not known yet.", class_="big"), tag("p", prose(why), class_="soft"))


def parameter(name: str) -> Markup:
    """A name with the parameter's colour."""
    swatch = tag("span", class_="swatch", style=f"background:{parameter_colour(name)}", aria_hidden="true")
    return joined(swatch, tag("code", name))


def _use(everything: Findings) -> Markup:
    found, importance = everything.recommendation, everything.importance
    if isinstance(found, str):
        return _unknown(found)
    order = [] if isinstance(importance, str) else [one.name for one in importance.parameters]
    names = [*(name for name in order if name in found.params), *(name for name in found.params if name not in order)]
    rows = [tag("tr", tag("th", parameter(name)), tag("td", value_text(found.params[name]))) for name in names]
    listed = tag("table", *rows[:_MOST_PARAMETERS])
    if len(rows) > _MOST_PARAMETERS:
        more = tag("summary", f"{len(rows) - _MOST_PARAMETERS} more parameters")
        listed = joined(listed, tag("details", more, tag("table", *rows[_MOST_PARAMETERS:])))
    return joined(
        tag("p", f"Expect {_number(found.expected, found)}", class_="big"),
        tag("p", _interval(found), class_="soft"),
        tag("p", found.note, class_="doubt") if found.note else "",
        listed,
        tag("p", _best(everything, found), class_="soft"),
    )


def _number(value: float, found: Recommendation) -> str:
    """To the digits that the interval leaves standing."""
    width = 0.5 * (found.high - found.low)
    return with_error(value, width).partition(" ")[0] if math.isfinite(width) else f"{value:.6g}"


def _interval(found: Recommendation) -> str:
    observed = f"trial {found.trial} returned {_number(found.observed, found)}"
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return f"No interval can be given; {observed}."
    ends = f"{_number(found.low, found)} to {_number(found.high, found)}"
    return f"{100 * found.level:.0f} % interval {ends}; {observed}."


def _best(everything: Findings, used: Recommendation) -> Markup:
    """How the best value relates to what is recommended: with noise it may have been luck."""
    told = everything.history
    best = next((b for b in reversed(told.best) if b is not None), None)
    if best is None or best == used.observed:
        return joined("No other trial returned a better value.")
    rows = zip(told.numbers, told.values, told.states, strict=True)
    trial = next(n for n, value, state in rows if value == best and state == "complete")
    return joined(
        f"The best value that was observed, {_number(best, used)}, is that of ",
        tag("a", f"trial {trial}", href=f"#trial-{trial}"),
        "; the model expects no more of it than of this one.",
    )


def _stop(found: Course | str) -> Markup:
    if isinstance(found, str):
        return _unknown(found)
    verdict = found.stopping
    word = tag("p", "Yes" if verdict.stop else "Not yet", class_=f"big {'stop' if verdict.stop else 'go'}")
    if verdict.bound is None:
        word = tag("p", "Not known yet.", class_="big")
    return joined(word, tag("p", f"{verdict.why[0].upper()}{verdict.why[1:]}."))


def _matters(found: HsicImportance | str) -> Markup:
    if isinstance(found, str):
        return _unknown(found)
    sure = [parameter(one.name) for one in found.parameters if one.verdict == "impactful"]
    first = joined(*(tag("span", one) for one in sure[:5])) if sure else joined("Nothing measurably")
    return joined(tag("p", first, class_="big"), tag("p", prose(found.headline)))


def _change(found: ParameterRanges | str) -> Markup:
    if isinstance(found, str):
        return _unknown(found)
    if not found.advice:
        return joined(tag("p", "None", class_="big"), tag("p", str(found)))
    rows = [tag("li", prose(one.sentence)) for one in found.advice[:_MOST_ADVICE]]
    left = len(found.advice) - _MOST_ADVICE
    return joined(tag("ul", *rows), tag("p", f"And {left} more, below.", class_="soft") if left > 0 else "")


def _distrust(found: Sequence[str]) -> Markup:
    if not found:
        return tag("p", "Nothing stands out.")
    return tag("ul", *(tag("li", prose(one)) for one in found[:_MOST_DOUBTS]))


def _others(found: Findings) -> list[str]:
    """Trials that begun without a receipt: enqueued by the user, or chosen by another sampler."""
    begun = [(t, r) for t, r in zip(found.trials, found.receipts, strict=True) if t.state != TrialState.WAITING]
    enqueued = sum(r is None and "fixed_params" in t.system_attrs for t, r in begun)
    foreign = sum(r is None for _, r in begun) - enqueued
    out = []
    if enqueued:
        out.append(f"{enqueued} of {len(begun)} trials were enqueued, not proposed.")
    if foreign:
        whose = "All" if foreign == len(begun) else f"{foreign} of {len(begun)}"
        out.append(f"{whose} trials were chosen by another sampler: why they were is what pellucid's model would say.")
    return out


def doubts(found: Findings) -> list[str]:
    """Reasons not to believe all of it, the broadest first."""
    out: list[str] = []
    counts, n = found.counts, len(found.trials)
    if n == 0:
        return ["The study has no trials yet: nothing here says anything about your problem."]
    finished = sum(value is not None for value in found.history.values)
    if finished < _FEW:
        out.append(f"Few finished trials ({finished}): intervals and verdicts rest on assumptions more than on data.")
    if counts["failed"]:
        out.append(f"{counts['failed']} of {n} trials failed; they count where failures are looked at, nowhere else.")
    if counts["pruned"]:
        said = "they count by the last value they reported, never as better than the median"
        out.append(f"{counts['pruned']} of {n} trials were pruned; {said}.")
    infinite = sum(value is not None and math.isinf(value) for value in found.history.values)
    if infinite:
        out.append(f"{infinite} of {n} trials returned an infinite value; it counts as the worst (or best) finite one.")
    fallbacks = sum(one is not None and one.kind == "fallback" for one in found.receipts)
    if fallbacks:
        out.append(f"{fallbacks} trials were sampled at random because the model could not be used.")
    out += _others(found)
    if not isinstance(found.effects, str):
        alarms = Counter(alarm for one in found.effects for alarm in one.alarms)
        out += [alarm for alarm, _ in alarms.most_common(3)]
    if isinstance(found.importance, HsicImportance):
        out += found.importance.notes
    # Two models may say the same with other numbers: once is enough.
    return list({one.split(":")[0]: one for one in reversed(out)}.values())[::-1]
