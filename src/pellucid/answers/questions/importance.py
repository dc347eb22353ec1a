"""What matters: for an objective, for a constraint, or for being among some trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pellucid.answers.base import GoalName, Metrics, Overview, Subject, TextTable
from pellucid.answers.catalogue import CONSTRAINTS, FAILING, IMPORTANCE
from pellucid.answers.finding import NotKnown
from pellucid.answers.pieces import Drawing, Heading, Names, Piece, Unknown, Verbatim, text, unknown
from pellucid.words import number_text

if TYPE_CHECKING:
    from pellucid.answers.importance.goals import HsicImportance
    from pellucid.answers.importance.records import Importance
    from pellucid.study.goals import Goal

# Parameters that a card names.
_MOST_NAMES = 5
# Share of the variance from which an interaction is worth a figure.
_TOGETHER = 0.03
# Importances among the metrics of a tracker: those of four objectives fit into one request of MLflow.
_MOST_SHARES = 100


def importance(overview: Overview, subject: Subject) -> Importance:
    from pellucid.answers.importance.shares import shares_of

    return shares_of(overview.beliefs, overview.target(subject))


def for_goal(overview: Overview, subject: Subject) -> HsicImportance:
    from pellucid.answers.importance.analysis import importance_for

    assert subject.goal is not None
    return importance_for(overview.beliefs, overview.target(subject), _goal(subject.goal))


def for_failing(overview: Overview, subject: Subject) -> HsicImportance:
    """Without pairs, which take long."""
    from pellucid.answers.importance.analysis import importance_for
    from pellucid.study.goals import failed

    return importance_for(overview.beliefs, overview.target(subject), failed(), pairs=False)


def _goal(name: GoalName) -> Goal:
    from pellucid.study.goals import best, failed, on_the_front, worst

    match name:
        case GoalName.BEST:
            return best()
        case GoalName.WORST:
            return worst()
        case GoalName.FRONT:
            return on_the_front()
        case GoalName.FAILED:
            return failed()


def indices(importance: HsicImportance) -> TextTable:
    rows = [
        (
            parameter.name,
            number_text(parameter.index, ".3g"),
            f"{parameter.stderr:.2g}",
            f"{parameter.p_adjusted:.2g}",
            parameter.verdict,
        )
        for parameter in importance.parameters
    ]
    return TextTable(("parameter", "HSIC", "error", "p", "verdict"), tuple(rows))


# ---------------------------------------------------------------------- on a page


def card(overview: Overview) -> Iterator[Piece]:
    """What matters for every objective; if there are several, after its name."""
    for question in overview.shown(IMPORTANCE):
        known = question.answered()
        title = Verbatim(f"{question.label}: " if question.label else "")
        if isinstance(known, NotKnown):
            yield text(title, kind="big")
            yield Unknown(known)
        else:
            yield Names(title, known.matters[:_MOST_NAMES])
            yield text(known.sentence)


def section(overview: Overview, part: Subject) -> Iterator[Piece]:
    known = overview.ask(IMPORTANCE, part)
    if isinstance(known, NotKnown):
        yield unknown(known)
        return
    yield Drawing(f"{part.prefix}importance", known, top=60, on="both")
    if any(pair.index >= _TOGETHER for pair in known.pairs):
        yield Drawing(f"{part.prefix}pairs", known, what="pairs")


def constraints(overview: Overview, _: Subject) -> Iterator[Piece]:
    questions = overview.shown(CONSTRAINTS)
    if questions:
        yield text("Which parameters decide whether a trial is feasible, constraint by constraint.", kind="soft")
    for i, question in enumerate(questions):
        assert question.subject.constraint is not None
        yield Heading(question.subject.constraint)
        known = question.answered()
        yield unknown(known) if isinstance(known, NotKnown) else Drawing(f"constraint-{i}", known, top=60)


def failing(overview: Overview, _: Subject) -> Iterator[Piece]:
    """Which parameters matter for failing. The dashboard has one figure, the page the same in two."""
    known = overview.ask(FAILING)
    if isinstance(known, NotKnown):
        yield unknown(known)
        return
    yield Drawing("failures", known, what="indices")
    yield Drawing("failures", known, on="dashboard")
    if known.impactful:
        yield Drawing("failed-values", known, what="values", top=60)


# ---------------------------------------------------------------------- for trackers


def metrics(importance: Importance) -> Metrics:
    """Total indices. A parameter of several branches has a share in each: the first is the largest."""
    shares = {share.name: share.total for share in reversed(importance.parameters[:_MOST_SHARES])}
    return {("importance", name): total for name, total in reversed(shares.items())}
