"""pellucid: hyperparameter optimisation you can see through, on top of Optuna."""

from typing import TYPE_CHECKING, Any

from pellucid import acquisition, surrogates
from pellucid.acquisition.interleave import Interleave
from pellucid.explain.compare import compare_importance
from pellucid.explain.dependence import partial_dependence
from pellucid.explain.goals import above, below, best, failed, such_that, worst
from pellucid.explain.importance import hsic_importance
from pellucid.explain.model import Rebuilt, rebuild, recommend
from pellucid.explain.proposal import desirability_paths, explain_proposal, proposal_interactions
from pellucid.explain.ranges import interval_reduction, range_advice
from pellucid.records import (
    Comparison,
    DesirabilityPaths,
    HsicImportance,
    IntervalReduction,
    PartialDependence,
    ProposalExplanation,
    RangeAdvice,
    Receipt,
    Recommendation,
    StoppingVerdict,
    TwoStepPlan,
)
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.stopping import StopWhen, stopping_verdict
from pellucid.samplers.two_step import TwoStepSampler
from pellucid.space.study_io import NOISE_ATTRIBUTE, receipts

if TYPE_CHECKING:
    from pellucid.explain.evaluator import HsicImportanceEvaluator

__version__ = "0.1.0"

__all__ = [
    "NOISE_ATTRIBUTE",
    "BayesianSampler",
    "Comparison",
    "DesirabilityPaths",
    "HsicImportance",
    "HsicImportanceEvaluator",
    "Interleave",
    "IntervalReduction",
    "PartialDependence",
    "ProposalExplanation",
    "RangeAdvice",
    "Rebuilt",
    "Receipt",
    "Recommendation",
    "StopWhen",
    "StoppingVerdict",
    "TwoStepPlan",
    "TwoStepSampler",
    "above",
    "acquisition",
    "below",
    "best",
    "compare_importance",
    "desirability_paths",
    "explain_proposal",
    "failed",
    "hsic_importance",
    "interval_reduction",
    "partial_dependence",
    "proposal_interactions",
    "range_advice",
    "rebuild",
    "receipts",
    "recommend",
    "stopping_verdict",
    "such_that",
    "surrogates",
    "worst",
]


def __getattr__(name: str) -> Any:
    """Optuna's room for importance imports heavy packages: ours that plugs into it is loaded when somebody asks."""
    if name == "HsicImportanceEvaluator":
        from pellucid.explain.evaluator import HsicImportanceEvaluator

        return HsicImportanceEvaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
