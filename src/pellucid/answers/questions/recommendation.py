"""What to use: one configuration, or the front of several objectives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pellucid.answers.base import Metrics, Overview, Subject
from pellucid.answers.catalogue import IMPORTANCE, RECOMMENDATION
from pellucid.answers.finding import NotKnown
from pellucid.answers.fronts.records import Front
from pellucid.answers.history import History
from pellucid.answers.on_pages import HISTORY
from pellucid.answers.pieces import (
    Copies,
    Drawing,
    Inline,
    Items,
    Parameter,
    Piece,
    Table,
    ToSection,
    Trial,
    Unknown,
    Values,
    Verbatim,
    doubtful,
    text,
    unknown,
)
from pellucid.answers.questions.trials import course
from pellucid.answers.recommend import Recommendation
from pellucid.beliefs.expectation import ExpectedOutcome
from pellucid.words import percent, prefix, short_percent, value_text, with_error, within_error

if TYPE_CHECKING:
    from pellucid.answers.fronts.records import FrontMember

# Parameters and configurations on a card, and rows of a note: more would push the other answers off the first screen.
_MOST_PARAMETERS, _MOST_MEMBERS, _MOST_NOTED = 8, 6, 12
# Configurations of the front, and their parameters, in a table.
_MOST_ROWS, _MOST_COLUMNS = 60, 12
# How the best value compares with that of the recommended trial: with noise it may have been luck.
_LUCK = "; the model expects no better from it than from this one."
_EXPECTED = (
    "What is expected of each trial if it is run again and again, not what it returned. ± is half of the 95% interval, "
    "which allows for luck and for what the model does not know."
)


def recommendation(overview: Overview, _: Subject) -> Recommendation | Front:
    if overview.view.several:
        from pellucid.answers.fronts.answer import front_of

        return front_of(overview.beliefs)
    from pellucid.answers.recommend import recommendation_of

    return recommendation_of(overview.beliefs, overview.view.objective)


def recommended(overview: Overview) -> list[int]:
    """Numbers of the trials to use."""
    use = overview.ask(RECOMMENDATION)
    if isinstance(use, NotKnown):
        return []
    return [member.trial for member in use.members] if isinstance(use, Front) else [use.trial]


# ---------------------------------------------------------------------- the card


def card(overview: Overview) -> Iterator[Piece]:
    use = overview.ask(RECOMMENDATION)
    if isinstance(use, NotKnown):
        yield Unknown(use)
    elif isinstance(use, Front):
        yield from _front_card(use)
    else:
        yield text(Verbatim(f"Expect {prefix(use.objective)}{_number(use.expected, use)}"), kind="big")
        yield text(_interval(use), kind="soft")
        if use.feasible is not None:
            yield text(f"Feasible with a chance of {percent(use.feasible)}.")
        yield from doubtful(use.notes)
        importance = overview.found(IMPORTANCE)
        order = (
            [] if importance is None else [share.name for share in importance.parameters if share.name in use.params]
        )
        values = {name: value_text(use.params[name]) for name in dict.fromkeys([*order, *use.params])}
        yield Values(values, _MOST_PARAMETERS)
        yield Copies(use.trial)
        yield text(*_best(overview, use), kind="soft")


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


def _best_elsewhere(overview: Overview, use: Recommendation) -> tuple[Inline, ...]:
    """The best value and its trial, if the recommended trial returned a worse one."""
    history = course(overview)
    assert isinstance(history, History)
    best = next((value for value in reversed(history.best) if value is not None), None)
    if best is None or history.best_trial is None or best == use.observed:
        return ()
    kind, number = "feasible" if history.feasible else "observed", history.best_trial
    lead = f"The best {kind} value, {_number(best, use)}, was first returned by "
    return lead, Trial(number, f"trial {number}"), _LUCK


def _best(overview: Overview, use: Recommendation) -> tuple[Inline, ...]:
    other = _best_elsewhere(overview, use)
    history = overview.found(HISTORY)
    if other or history is None:
        return other
    kind = "feasible trial" if history.feasible else "trial"
    return (f"No other {kind} returned a better value.",) if len(overview.view.trials) > 1 else ()


def _front_card(front: Front) -> Iterator[Piece]:
    """The configurations that may be on the front, with what to expect of each: an even selection of many."""
    members, most = front.members, _MOST_MEMBERS
    if len(members) > most:
        members = tuple(members[round(i * (len(members) - 1) / (most - 1))] for i in range(most))
    left = len(front.members) - len(members)
    yield text(front.sentence)
    yield from doubtful(front.notes)
    rows: list[tuple[str | Trial, ...]] = [
        (
            Trial(member.trial, str(member.trial)),
            *(value_text(outcome.expected) for outcome in member.outcomes),
            _chance(member.probability),
        )
        for member in members
    ]
    yield Table(("trial", *front.objectives, "chance"), tuple(rows))
    if left > 0:
        yield text(f"{left} more that may be on ", ToSection("front", "the front"), ".", kind="soft")


def _chance(chance: float | None) -> str:
    """A chance in a table: ">99%"."""
    return "" if chance is None else short_percent(chance)


# ---------------------------------------------------------------------- the section and the note


def section(overview: Overview, _: Subject) -> Iterator[Piece]:
    """The front, and the configurations on it. One configuration stands on its card alone."""
    use = overview.ask(RECOMMENDATION)
    if isinstance(use, Front):
        yield Drawing("front", use, on="both")
        yield text(_EXPECTED, kind="soft")
        yield _members(use)
    elif isinstance(use, NotKnown) and overview.view.several:
        yield unknown(use)


def _members(front: Front) -> Table:
    params = list(dict.fromkeys(name for member in front.members for name in member.params))[:_MOST_COLUMNS]
    feasible = ["feasible"] if front.members[0].feasible is not None else []
    titles: tuple[str | Parameter, ...] = (
        "trial",
        *front.objectives,
        "on the front",
        *feasible,
        *map(Parameter, params),
    )
    rows = [_row(member, params) for member in front.members[:_MOST_ROWS]]
    return Table(titles, tuple(rows), wide="The front")


def _row(member: FrontMember, params: list[str]) -> tuple[str | Trial, ...]:
    chances = [member.probability, *([] if member.feasible is None else [member.feasible])]
    return (
        Trial(member.trial, str(member.trial)),
        *map(_with_interval, member.outcomes),
        *map(_chance, chances),
        *(value_text(member.params[name]) if name in member.params else "" for name in params),
    )


def _with_interval(outcome: ExpectedOutcome) -> str:
    if outcome.low is None or outcome.high is None:
        return value_text(outcome.expected)
    return with_error(outcome.expected, 0.5 * (outcome.high - outcome.low))


def chapter(overview: Overview) -> Iterator[Piece]:
    use = overview.ask(RECOMMENDATION)
    if isinstance(use, NotKnown):
        yield Unknown(use)
        return
    yield text(use.sentence)
    if isinstance(use, Recommendation):
        yield Values({name: value_text(value) for name, value in use.params.items()}, _MOST_NOTED)
        yield text("It is ", Trial(use.trial, f"trial {use.trial}"), ".")
        if other := _best_elsewhere(overview, use):
            yield text(*other)
    else:
        yield text("Trials that may be on the front: ", *_named(use))
    yield Items(use.notes)


def _named(front: Front) -> Iterator[Inline]:
    left = len(front.members) - _MOST_NOTED
    for i, member in enumerate(front.members[:_MOST_NOTED]):
        if i:
            yield ", "
        yield Trial(member.trial, f"trial {member.trial}")
    yield f" and {left} more." if left > 0 else "."


# ---------------------------------------------------------------------- for trackers


def metrics(use: Recommendation | Front) -> Metrics:
    """What to expect stands beside what trials returned, under the name of the objective; the others also under the
    names of 1.0.0rc1."""
    from pellucid.answers.fronts.records import Front

    if isinstance(use, Front):
        members = float(len(use.members))
        return {("recommendation", "members"): members, ("front", "recommended"): members}
    expected: Metrics = {(use.objective, name): getattr(use, name) for name in ("expected", "low", "high", "observed")}
    figures = {"trial": float(use.trial), "feasible": use.feasible}
    folders = ("recommendation", "recommended")
    chosen: Metrics = {(folder, name): value for folder in folders for name, value in figures.items()}
    return {**expected, **chosen}
