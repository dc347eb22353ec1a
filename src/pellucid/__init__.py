"""pellucid: hyperparameter optimisation you can see through, on top of Optuna."""

from pellucid import acquisition, surrogates
from pellucid.acquisition.interleave import Interleave
from pellucid.explain.compare import compare_importance
from pellucid.explain.dependence import partial_dependence
from pellucid.explain.evaluator import HsicImportanceEvaluator
from pellucid.explain.goals import above, below, best, failed, such_that, worst
from pellucid.explain.importance import hsic_importance
from pellucid.explain.model import Rebuilt, rebuild, recommend
from pellucid.explain.proposal import desirability_paths, explain_proposal, proposal_interactions
from pellucid.records import (
    Comparison,
    DesirabilityPaths,
    HsicImportance,
    PartialDependence,
    ProposalExplanation,
    Receipt,
    Recommendation,
    StoppingVerdict,
)
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.stopping import StopWhen, stopping_verdict
from pellucid.space.study_io import NOISE_ATTRIBUTE, receipts

__version__ = "0.1.0"

__all__ = [
    "NOISE_ATTRIBUTE",
    "BayesianSampler",
    "Comparison",
    "DesirabilityPaths",
    "HsicImportance",
    "HsicImportanceEvaluator",
    "Interleave",
    "PartialDependence",
    "ProposalExplanation",
    "Rebuilt",
    "Receipt",
    "Recommendation",
    "StopWhen",
    "StoppingVerdict",
    "above",
    "acquisition",
    "below",
    "best",
    "compare_importance",
    "desirability_paths",
    "explain_proposal",
    "failed",
    "hsic_importance",
    "partial_dependence",
    "proposal_interactions",
    "rebuild",
    "receipts",
    "recommend",
    "stopping_verdict",
    "such_that",
    "surrogates",
    "worst",
]
