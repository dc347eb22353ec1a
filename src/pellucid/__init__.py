"""pellucid: hyperparameter optimisation you can see through, on top of Optuna.

Names are loaded when they are first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pellucid import acquisition, surrogates
    from pellucid.acquisition.interleave import Interleave
    from pellucid.explain.compare import compare_importance
    from pellucid.explain.effects.dependence import partial_dependence
    from pellucid.explain.history import history
    from pellucid.explain.importance.analysis import hsic_importance
    from pellucid.explain.importance.evaluator import HsicImportanceEvaluator
    from pellucid.explain.model import Rebuilt, rebuild, recommend
    from pellucid.explain.proposals.explanation import desirability_paths, explain_proposal, proposal_interactions
    from pellucid.explain.ranges import interval_reduction, parameter_ranges, range_advice
    from pellucid.explain.stopping import search_course, stopping_verdict
    from pellucid.goals import above, below, best, failed, such_that, worst
    from pellucid.records import (
        Comparison,
        Course,
        DesirabilityPaths,
        History,
        HsicImportance,
        IntervalReduction,
        ParameterRanges,
        PartialDependence,
        ProposalExplanation,
        RangeAdvice,
        Receipt,
        Recommendation,
        StoppingVerdict,
        TwoStepPlan,
    )
    from pellucid.reporting import report
    from pellucid.samplers.bayesian import BayesianSampler
    from pellucid.samplers.ranking import RankingSampler
    from pellucid.samplers.stop_when import StopWhen
    from pellucid.samplers.two_step.sampler import TwoStepSampler
    from pellucid.study.study_io import NOISE_ATTRIBUTE, receipts

__version__ = "0.1.0"

__all__ = [
    "NOISE_ATTRIBUTE",
    "BayesianSampler",
    "Comparison",
    "Course",
    "DesirabilityPaths",
    "History",
    "HsicImportance",
    "HsicImportanceEvaluator",
    "Interleave",
    "IntervalReduction",
    "ParameterRanges",
    "PartialDependence",
    "ProposalExplanation",
    "RangeAdvice",
    "RankingSampler",
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
    "history",
    "hsic_importance",
    "interval_reduction",
    "parameter_ranges",
    "partial_dependence",
    "proposal_interactions",
    "range_advice",
    "rebuild",
    "receipts",
    "recommend",
    "report",
    "search_course",
    "stopping_verdict",
    "such_that",
    "surrogates",
    "worst",
]

_PACKAGES = (
    "acquisition",
    "dashboard",
    "explain",
    "goals",
    "plots",
    "records",
    "reporting",
    "samplers",
    "study",
    "surrogates",
)
_HOMES = {
    "pellucid.acquisition.interleave": "Interleave",
    "pellucid.explain.compare": "compare_importance",
    "pellucid.explain.effects.dependence": "partial_dependence",
    "pellucid.explain.importance.evaluator": "HsicImportanceEvaluator",
    "pellucid.goals": "above below best failed such_that worst",
    "pellucid.explain.history": "history",
    "pellucid.explain.importance.analysis": "hsic_importance",
    "pellucid.explain.model": "Rebuilt rebuild recommend",
    "pellucid.explain.proposals.explanation": "desirability_paths explain_proposal proposal_interactions",
    "pellucid.explain.ranges": "interval_reduction parameter_ranges range_advice",
    "pellucid.explain.stopping": "search_course stopping_verdict",
    "pellucid.records": "Comparison Course DesirabilityPaths History HsicImportance IntervalReduction ParameterRanges "
    "PartialDependence "
    "ProposalExplanation RangeAdvice Receipt Recommendation StoppingVerdict TwoStepPlan",
    "pellucid.reporting": "report",
    "pellucid.samplers.bayesian": "BayesianSampler",
    "pellucid.samplers.ranking": "RankingSampler",
    "pellucid.samplers.stop_when": "StopWhen",
    "pellucid.samplers.two_step.sampler": "TwoStepSampler",
    "pellucid.study.study_io": "NOISE_ATTRIBUTE receipts",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # A type checker shall know every name, and that there are no others.

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
