"""Entries of the catalogue that a page answers and nobody asks for by name: the course of a study, and its trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers import descriptions, subjects
from pellucid.answers.base import Answer, as_it_is

if TYPE_CHECKING:
    from pellucid.answers.coordinates import ParallelCoordinates
    from pellucid.answers.history import FrontHistory, History
    from pellucid.answers.proposals.records import DesirabilityPaths
    from pellucid.answers.pruning.curves import LearningCurves
    from pellucid.answers.stop.records import RegretHistory
    from pellucid.answers.timeline import Timeline

COURSE: Answer[RegretHistory] = Answer(
    key="course",
    title="How much is left",
    compute="pellucid.answers.questions.verdict:course",
    records={"pellucid.answers.stop.records:RegretHistory": {"": "pellucid.answers.drawing.course:regret_history"}},
    function=("pellucid.answers.stop.one:regret_history",),
    parts=subjects.whole,
    applies=subjects.of_no_part,
    shown=as_it_is,
    called="how much is left",
    section="stop",
    content="pellucid.answers.questions.verdict:section",
    described=descriptions.COURSE,
)
CURVES: Answer[LearningCurves] = Answer(
    key="curves",
    title="What learning curves promise",
    compute="pellucid.answers.questions.pruning:curves",
    records={
        "pellucid.answers.pruning.curves:LearningCurves": {"": "pellucid.answers.drawing.pruning:learning_curves"}
    },
    function=(),
    parts=subjects.whole,
    applies=subjects.some_curves,
    shown=as_it_is,
    called="learning curves",
    section="curves",
    content="pellucid.answers.questions.pruning:all_curves",
)
HISTORY: Answer[History | FrontHistory] = Answer(
    key="history",
    title="How the search went",
    compute="pellucid.answers.questions.trials:history",
    records={
        "pellucid.answers.history:History": {"": "pellucid.answers.drawing.course:history"},
        "pellucid.answers.history:FrontHistory": {"": "pellucid.answers.drawing.course:front_history"},
    },
    function=("pellucid.answers.history:history",),
    parts=subjects.whole,
    applies=subjects.of_no_part,
    shown=as_it_is,
    at_once=True,
    called="history",
    section="trials",
    content="pellucid.answers.questions.trials:how_it_went",
    metrics="pellucid.answers.questions.trials:metrics",
    described=descriptions.HISTORY,
)
COORDINATES: Answer[ParallelCoordinates] = Answer(
    key="coordinates",
    title="What the best trials share",
    compute="pellucid.answers.questions.trials:coordinates",
    records={
        "pellucid.answers.coordinates:ParallelCoordinates": {"": "pellucid.answers.drawing.coordinates:coordinates"}
    },
    function=("pellucid.answers.coordinates:parallel_coordinates",),
    parts=subjects.whole,
    applies=subjects.of_no_part,
    shown=as_it_is,
    at_once=True,
    called="what the best trials share",
    section="trials",
    content="pellucid.answers.questions.trials:what_they_share",
)
TIMELINE: Answer[Timeline] = Answer(
    key="timeline",
    title="When trials ran",
    compute="pellucid.answers.questions.trials:timeline",
    records={"pellucid.answers.timeline:Timeline": {"": "pellucid.answers.drawing.timeline:timeline"}},
    function=("pellucid.answers.timeline:timeline",),
    parts=subjects.whole,
    applies=subjects.of_no_part,
    shown=as_it_is,
    at_once=True,
    called="timeline",
    section="trials",
    content="pellucid.answers.questions.trials:when_they_ran",
)
PATHS: Answer[DesirabilityPaths] = Answer(
    key="paths",
    title="Why trials were proposed over the run",
    compute="pellucid.answers.questions.proposal:paths",
    records={
        "pellucid.answers.proposals.records:DesirabilityPaths": {
            "contributions": "pellucid.answers.drawing.proposals:contribution_paths",
            "payouts": "pellucid.answers.drawing.proposals:payout_paths",
        }
    },
    function=("pellucid.answers.proposals.explanation:desirability_paths",),
    parts=subjects.whole,
    applies=subjects.of_no_part,
    shown=as_it_is,
    called="explanations over the run",
    section="why",
    content="pellucid.answers.questions.proposal:over_time",
    described=descriptions.PATHS,
)
