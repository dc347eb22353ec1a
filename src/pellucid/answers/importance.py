"""What matters: for an objective, for a constraint, or for being among some trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import GoalName, Overview, Subject, TextTable
from pellucid.words import number_text

if TYPE_CHECKING:
    from pellucid.goals import Goal
    from pellucid.records import HsicImportance, Importance


def importance(overview: Overview, subject: Subject) -> Importance:
    from pellucid.explain.importance.shares import shares_of

    return shares_of(overview.beliefs, overview.target(subject))


def for_goal(overview: Overview, subject: Subject) -> HsicImportance:
    from pellucid.explain.importance.analysis import importance_for

    assert subject.goal is not None
    return importance_for(overview.beliefs, overview.target(subject), _goal(subject.goal))


def for_failing(overview: Overview, subject: Subject) -> HsicImportance:
    """Without pairs, which take long."""
    from pellucid.explain.importance.analysis import importance_for
    from pellucid.goals import failed

    return importance_for(overview.beliefs, overview.target(subject), failed(), pairs=False)


def _goal(name: GoalName) -> Goal:
    from pellucid.goals import best, failed, on_the_front, worst

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
