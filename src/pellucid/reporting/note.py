"""The answers as Markdown, in the order in which a person asks, for the note of a study in Optuna Dashboard.

Names of parameters, choices and objectives are the user's: everything that Markdown would read as markup is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pellucid.records import Finding, Front, NotKnown, ParameterRanges, Recommendation
from pellucid.reporting.agreement import advises_to_stop
from pellucid.reporting.answers import LUCK, best_elsewhere
from pellucid.reporting.doubts import MOST_SHOWN, doubts
from pellucid.reporting.gather import StudyAnswers
from pellucid.words import parts_of, printable, value_text

# Entries of a list or a table: a note is a summary.
_MOST_ROWS = 12
# What begins markup, with `$` for formulae, and `@`, `://` and `www.` for addresses.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$!&@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKUP.sub(r"\\\1", printable(" ".join(text.split())))


def prose(text: str) -> str:
    """A sentence in which `names` are set as code."""
    out = []
    for part, name in parts_of(text):
        lead = part[: len(part) - len(part.lstrip())]
        tail = part[len(part.rstrip()) :] if part.strip() else ""
        out.append(f"`{printable(' '.join(part.split()))}`" if name else f"{lead}{escaped(part)}{tail}")
    return "".join(out)


def note(study: StudyAnswers, trials: str) -> str:
    """The answers of a study. `trials`: the address of a trial without its number."""
    parts = (
        (f"Which configuration{'s are' if study.several else ' is'} best?", _use(study, trials)),
        ("Can I stop?", _stop(study)),
        ("What matters?", (_said(each.importance) for each in study.each)),
        *([] if not study.several else [("What does one cost in the other?", map(_said, study.tradeoffs))]),
        *([] if study.ranges is None else [("Which ranges should I change?", _ranges(study))]),
        *([] if study.failures is None else [("Why do trials fail?", _failures(study))]),
        (_why_title(study), _why(study, trials)),
        ("What should I distrust?", [_listed(doubts(study)[:MOST_SHOWN]) or "Nothing stands out."]),
    )
    return "\n\n".join(f"## {title}\n\n" + "\n\n".join(filter(None, text)) for title, text in parts)


def _said(answer: Finding | NotKnown) -> str:
    if isinstance(answer, NotKnown):
        return prose(answer.reason) if answer.final else f"Not known yet. {prose(answer.reason)}"
    return prose(answer.sentence)


def _listed(texts: Iterable[str]) -> str:
    return "\n".join(f"- {prose(text)}" for text in texts)


def _trial(number: int, trials: str) -> str:
    return f"[trial {number}]({trials}{number})"


def _use(study: StudyAnswers, trials: str) -> Iterator[str]:
    use = study.recommendation
    yield _said(use)
    if isinstance(use, Recommendation):
        rows = [f"| {_cell(name)} | {_cell(value_text(value))} |" for name, value in use.params.items()]
        yield "\n".join(["| parameter | value |", "|---|---|", *rows[:_MOST_ROWS]])
        yield f"It is {_trial(use.trial, trials)}."
        if (other := best_elsewhere(study, use)) is not None:
            words, trial = other
            yield f"{words}{_trial(trial, trials)}{LUCK}"
    if isinstance(use, Front):
        left = len(use.members) - _MOST_ROWS
        named = ", ".join(_trial(member.trial, trials) for member in use.members[:_MOST_ROWS])
        yield f"Trials that may be on the front: {named}{f' and {left} more' if left > 0 else ''}."
    if not isinstance(use, NotKnown):
        yield _listed(use.notes)


def _cell(text: str) -> str:
    return escaped(text) or " "


def _stop(study: StudyAnswers) -> Iterator[str]:
    if isinstance(study.regret, NotKnown):
        yield _said(study.regret)
        return
    yield prose(study.regret.stopping.reply)
    yield _listed(study.regret.stopping.notes)


def _ranges(study: StudyAnswers) -> Iterator[str]:
    ranges = study.ranges
    assert ranges is not None
    if advises_to_stop(study) and isinstance(ranges, ParameterRanges) and ranges.advice:
        yield "If you go on:"
    yield _said(ranges)
    if isinstance(ranges, ParameterRanges):
        yield _listed([*(advice.sentence for advice in ranges.advice), *ranges.notes][:_MOST_ROWS])


def _failures(study: StudyAnswers) -> Iterator[str]:
    """The settings that fail, and which parameters matter for that; why neither is known is said once."""
    known = [answer for answer in (study.failing, study.failures) if isinstance(answer, Finding)]
    if not known and isinstance(study.failing, NotKnown):
        yield _said(study.failing)
    yield from map(_said, known)


def _why_title(study: StudyAnswers) -> str:
    """Of the last trial, or of the last one of a large study that is explained."""
    last = max((explanation.trial for explanation in study.explanations), default=None)
    newest = study.trials[-1].number if study.trials else None
    return "Why the last configuration?" if last in (None, newest) else "Why one of the last configurations?"


def _why(study: StudyAnswers, trials: str) -> Iterator[str]:
    last = max(study.explanations, key=lambda explanation: explanation.trial, default=None)
    if last is None:
        reason = study.unexplained[max(study.unexplained)] if study.unexplained else "No trial could be explained."
        yield prose(reason)
        return
    yield _said(last)
    yield f"See {_trial(last.trial, trials)}."
