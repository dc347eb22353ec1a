"""The data of every answer: frozen records, with sentences.

`finding`: the base of every answer. The answers: `recommendation`, `front` (several
objectives: the front, compromises, what trades), `calibration` (were predictions true), `course` (how the search went),
`curves` (what trials reported), `proposal` (why a trial was proposed), `shares` (which parameters matter), `importance`
(which matter for a goal), `effect` (what a parameter does), `ranges` (which ranges to change), `plan` (what a two-step
search does), `pruning` (why a trial was stopped, and what stops saved and cost).
"""

from pellucid.beliefs.expectation import ExpectedOutcome
from pellucid.beliefs.settings import FailingCondition, FailingSetting
from pellucid.provenance import Term
from pellucid.records.calibration import Calibration, CalibrationWindow, PredictedTrial
from pellucid.records.coordinates import Coordinate, ParallelCoordinates
from pellucid.records.course import FrontHistory, FrontVerdict, History, Hold, Phase, RegretHistory, StoppingVerdict
from pellucid.records.curves import LearningCurve, LearningCurves
from pellucid.records.effect import Cost, IndividualCurve, PartialDependence, ProfileEffect
from pellucid.records.failures import FailingSettings
from pellucid.records.finding import PENDING, Finding, NotKnown, attempt, plain
from pellucid.records.front import (
    Compromise,
    ExchangeRate,
    Front,
    FrontMember,
    KeptLimit,
    Knee,
    ParameterRole,
    Tradeoff,
)
from pellucid.records.importance import HsicImportance, PairImportance, ParameterImportance
from pellucid.records.plan import HeldParameter, TwoStepPlan
from pellucid.records.proposal import (
    PREDICTED,
    Attribution,
    Contribution,
    DesirabilityPaths,
    ExpectedValue,
    ImportanceComparison,
    ProposalExplanation,
    ProposalInteractions,
)
from pellucid.records.pruning import (
    ChanceBin,
    FanPoint,
    PruningExplanation,
    PruningRecord,
    StoppedTrial,
)
from pellucid.records.ranges import IntervalReduction, ParameterRanges, RangeAdvice, RangeAxis
from pellucid.records.recommendation import Recommendation
from pellucid.records.shares import Importance, PairShare, ParameterShare
from pellucid.records.timeline import Timeline

__all__ = [
    "PENDING",
    "PREDICTED",
    "Attribution",
    "Calibration",
    "CalibrationWindow",
    "ChanceBin",
    "Compromise",
    "Contribution",
    "Coordinate",
    "Cost",
    "DesirabilityPaths",
    "ExchangeRate",
    "ExpectedOutcome",
    "ExpectedValue",
    "FailingCondition",
    "FailingSetting",
    "FailingSettings",
    "FanPoint",
    "Finding",
    "Front",
    "FrontHistory",
    "FrontMember",
    "FrontVerdict",
    "HeldParameter",
    "History",
    "Hold",
    "HsicImportance",
    "Importance",
    "ImportanceComparison",
    "IndividualCurve",
    "IntervalReduction",
    "KeptLimit",
    "Knee",
    "LearningCurve",
    "LearningCurves",
    "NotKnown",
    "PairImportance",
    "PairShare",
    "ParallelCoordinates",
    "ParameterImportance",
    "ParameterRanges",
    "ParameterRole",
    "ParameterShare",
    "PartialDependence",
    "Phase",
    "PredictedTrial",
    "ProfileEffect",
    "ProposalExplanation",
    "ProposalInteractions",
    "PruningExplanation",
    "PruningRecord",
    "RangeAdvice",
    "RangeAxis",
    "Recommendation",
    "RegretHistory",
    "StoppedTrial",
    "StoppingVerdict",
    "Term",
    "Timeline",
    "Tradeoff",
    "TwoStepPlan",
    "attempt",
    "plain",
]
