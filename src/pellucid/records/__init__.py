"""The data that travels between rooms and into the storage: frozen, validated, JSON both ways.

Nothing here computes; nothing here knows Optuna. `receipt`: why a trial got its parameters; `findings`: what pellucid
tells a user about a study; `course`: how its search went; `attribution`: what contributed how much to a proposal;
`importance`: which parameters matter for a goal; `ranges`: which ranges to change; `plan`: what a two-step search does.
"""

from pellucid.records.course import Course, History, Stretch
from pellucid.records.finding import NotKnown
from pellucid.records.findings import IndividualCurve, PartialDependence, Recommendation, StoppingVerdict
from pellucid.records.importance import HsicImportance, PairImportance, ParameterImportance
from pellucid.records.plan import HeldParameter, TwoStepPlan
from pellucid.records.proposal import (
    OBJECTIVE,
    Attribution,
    Comparison,
    Contribution,
    DesirabilityPaths,
    ProposalExplanation,
    Term,
)
from pellucid.records.ranges import IntervalReduction, ParameterRanges, RangeAdvice, RangeAxis
from pellucid.records.receipt import (
    RECEIPT_VERSION,
    AcquisitionState,
    Hyperparameters,
    PolicyState,
    RankingState,
    Receipt,
    RecordError,
    Warp,
)

__all__ = [
    "OBJECTIVE",
    "RECEIPT_VERSION",
    "AcquisitionState",
    "Attribution",
    "Comparison",
    "Contribution",
    "Course",
    "DesirabilityPaths",
    "HeldParameter",
    "History",
    "HsicImportance",
    "Hyperparameters",
    "IndividualCurve",
    "IntervalReduction",
    "NotKnown",
    "PairImportance",
    "ParameterImportance",
    "ParameterRanges",
    "PartialDependence",
    "PolicyState",
    "ProposalExplanation",
    "RangeAdvice",
    "RangeAxis",
    "RankingState",
    "Receipt",
    "Recommendation",
    "RecordError",
    "StoppingVerdict",
    "Stretch",
    "Term",
    "TwoStepPlan",
    "Warp",
]
