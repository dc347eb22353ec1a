"""What a report says about learning curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pellucid.answers.base import WHOLE, Overview
from pellucid.answers.pruning import curves
from pellucid.beliefs import Beliefs
from pellucid.explain.pruning.explanation import pruning_explanation_of
from pellucid.records import LearningCurves, NotKnown, PruningExplanation, PruningRecord, attempt

# Stopped trials that are explained.
_MOST_EXPLAINED = 3


@dataclass(frozen=True)
class CurveAnswers:
    """The answers about learning curves.

    stopped        the stopped trials with the largest chance of having been the best, the largest first
    extrapolated   whether other answers expect of stopped trials what their curves promise
    broken         explanations of stops that failed, by name
    """

    curves: LearningCurves
    record: PruningRecord | NotKnown
    stopped: tuple[PruningExplanation, ...]
    extrapolated: bool
    broken: Mapping[str, NotKnown] = field(default_factory=dict)


def curve_answers(beliefs: Beliefs, record: PruningRecord | NotKnown) -> CurveAnswers:
    """About a study with at least one curve. `record`: what its stops saved and cost."""
    view, asked = beliefs.view, _explained(beliefs, record)
    stopped = tuple(answer for answer in asked.values() if not isinstance(answer, NotKnown))
    broken = {what: answer for what, answer in asked.items() if isinstance(answer, NotKnown) and answer.failed}
    return CurveAnswers(curves(Overview(beliefs), WHOLE), record, stopped, view.extrapolation is not None, broken)


def _explained(beliefs: Beliefs, record: PruningRecord | NotKnown) -> dict[str, PruningExplanation | NotKnown]:
    """Why the stopped trials that were likeliest to become the best were stopped, by the name of the answer."""
    if isinstance(record, NotKnown):
        return {}
    likeliest = sorted(record.rows, key=lambda row: -row.chance)[:_MOST_EXPLAINED]
    return {
        f"why trial {row.trial} was stopped": attempt(lambda n=row.trial: pruning_explanation_of(beliefs, n))  # type: ignore[misc]
        for row in likeliest
    }
