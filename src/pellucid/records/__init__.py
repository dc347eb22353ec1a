"""The data that travels between packages and into the storage: frozen, validated, JSON both ways.

Nothing here knows Optuna. `receipt`: why a trial got its parameters; `states`: what chose them. `finding`: the base of
every answer. The answers: `recommendation`, `front` (several objectives: the front, compromises, what trades),
`calibration` (were predictions true), `course` (how the search went),
`proposal` (why a trial was proposed), `shares` (which parameters matter), `importance` (which matter for a goal),
`effect` (what a parameter does), `ranges` (which ranges to change), `plan` (what a two-step search does).
"""

from pellucid.records.calibration import Calibration, CalibrationWindow, PredictedTrial
from pellucid.records.course import FrontHistory, FrontVerdict, History, Phase, RegretHistory, StoppingVerdict
from pellucid.records.effect import IndividualCurve, PartialDependence, ProfileEffect
from pellucid.records.finding import OBJECTIVE, Finding, NotKnown, attempt, called, percent, plain, prefix
from pellucid.records.front import (
    Compromise,
    ExchangeRate,
    ExpectedOutcome,
    Front,
    FrontMember,
    KeptLimit,
    Knee,
    ParameterRole,
    Tradeoff,
    spoken,
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
    Term,
)
from pellucid.records.ranges import IntervalReduction, ParameterRanges, RangeAdvice, RangeAxis
from pellucid.records.receipt import RECEIPT_VERSION, Receipt
from pellucid.records.recommendation import Recommendation
from pellucid.records.shares import Importance, PairShare, ParameterShare
from pellucid.records.states import (
    AcquisitionState,
    ConstraintState,
    Hyperparameters,
    ObjectiveState,
    PolicyState,
    RankingState,
    RecordError,
    Warp,
)

__all__ = [
    "OBJECTIVE",
    "PREDICTED",
    "RECEIPT_VERSION",
    "AcquisitionState",
    "Attribution",
    "Calibration",
    "CalibrationWindow",
    "Compromise",
    "ConstraintState",
    "Contribution",
    "DesirabilityPaths",
    "ExchangeRate",
    "ExpectedOutcome",
    "ExpectedValue",
    "Finding",
    "Front",
    "FrontHistory",
    "FrontMember",
    "FrontVerdict",
    "HeldParameter",
    "History",
    "HsicImportance",
    "Hyperparameters",
    "Importance",
    "ImportanceComparison",
    "IndividualCurve",
    "IntervalReduction",
    "KeptLimit",
    "Knee",
    "NotKnown",
    "ObjectiveState",
    "PairImportance",
    "PairShare",
    "ParameterImportance",
    "ParameterRanges",
    "ParameterRole",
    "ParameterShare",
    "PartialDependence",
    "Phase",
    "PolicyState",
    "PredictedTrial",
    "ProfileEffect",
    "ProposalExplanation",
    "ProposalInteractions",
    "RangeAdvice",
    "RangeAxis",
    "RankingState",
    "Receipt",
    "Recommendation",
    "RecordError",
    "RegretHistory",
    "StoppingVerdict",
    "Term",
    "Tradeoff",
    "TwoStepPlan",
    "Warp",
    "attempt",
    "called",
    "percent",
    "plain",
    "prefix",
    "spoken",
]
