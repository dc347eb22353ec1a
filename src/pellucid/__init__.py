"""pellucid: hyperparameter optimisation you can see through, on top of Optuna.

Names are loaded when they are first used, so that `import pellucid` and the command line start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pellucid import threads as _threads

if TYPE_CHECKING:
    from pellucid import acquisition, goals, surrogates
    from pellucid.acquisition.interleave import Interleave
    from pellucid.explain.calibration import calibration
    from pellucid.explain.compare import compare_importance
    from pellucid.explain.coordinates import parallel_coordinates
    from pellucid.explain.effects.dependence import partial_dependence
    from pellucid.explain.effects.profile import profile_effect
    from pellucid.explain.failures import failing_settings
    from pellucid.explain.fronts.tradeoff import tradeoff
    from pellucid.explain.history import history
    from pellucid.explain.importance.analysis import hsic_importance
    from pellucid.explain.importance.evaluator import HsicImportanceEvaluator, ImportanceEvaluator
    from pellucid.explain.importance.shares import importance
    from pellucid.explain.intervals import interval_reduction
    from pellucid.explain.proposals.explanation import desirability_paths, explain_proposal, proposal_interactions
    from pellucid.explain.pruning.explanation import explain_pruning
    from pellucid.explain.pruning.record import pruning_record
    from pellucid.explain.ranges import parameter_ranges
    from pellucid.explain.rebuild import RebuiltProposal, rebuild
    from pellucid.explain.recommend import recommend
    from pellucid.explain.stopping import regret_history, stopping_verdict
    from pellucid.explain.timeline import timeline
    from pellucid.goals import best, failed, on_the_front
    from pellucid.provenance import Receipt
    from pellucid.records import (
        Calibration,
        Compromise,
        DesirabilityPaths,
        FailingSettings,
        Finding,
        Front,
        FrontHistory,
        FrontVerdict,
        History,
        HsicImportance,
        Importance,
        ImportanceComparison,
        IntervalReduction,
        NotKnown,
        ParallelCoordinates,
        ParameterRanges,
        PartialDependence,
        ProfileEffect,
        ProposalExplanation,
        ProposalInteractions,
        PruningExplanation,
        PruningRecord,
        RangeAdvice,
        Recommendation,
        RegretHistory,
        StoppingVerdict,
        Timeline,
        Tradeoff,
        TwoStepPlan,
    )
    from pellucid.reporting import report
    from pellucid.samplers.bayesian import BayesianSampler
    from pellucid.samplers.curve_pruner import CurvePruner
    from pellucid.samplers.ranking import RankingSampler
    from pellucid.samplers.stop_when import StopWhen
    from pellucid.samplers.two_step.sampler import TwoStepSampler
    from pellucid.study.observations import report_noise
    from pellucid.study.view import receipt, receipts
    from pellucid.words import NoAnswer, NoAnswerYet, Unanswered

__version__ = "1.0.0rc1"

__all__ = [
    "BayesianSampler",
    "Calibration",
    "Compromise",
    "CurvePruner",
    "DesirabilityPaths",
    "FailingSettings",
    "Finding",
    "Front",
    "FrontHistory",
    "FrontVerdict",
    "History",
    "HsicImportance",
    "HsicImportanceEvaluator",
    "Importance",
    "ImportanceComparison",
    "ImportanceEvaluator",
    "Interleave",
    "IntervalReduction",
    "NoAnswer",
    "NoAnswerYet",
    "NotKnown",
    "ParallelCoordinates",
    "ParameterRanges",
    "PartialDependence",
    "ProfileEffect",
    "ProposalExplanation",
    "ProposalInteractions",
    "PruningExplanation",
    "PruningRecord",
    "RangeAdvice",
    "RankingSampler",
    "RebuiltProposal",
    "Receipt",
    "Recommendation",
    "RegretHistory",
    "StopWhen",
    "StoppingVerdict",
    "Timeline",
    "Tradeoff",
    "TwoStepPlan",
    "TwoStepSampler",
    "Unanswered",
    "acquisition",
    "best",
    "calibration",
    "compare_importance",
    "desirability_paths",
    "explain_proposal",
    "explain_pruning",
    "failed",
    "failing_settings",
    "goals",
    "history",
    "hsic_importance",
    "importance",
    "interval_reduction",
    "on_the_front",
    "parallel_coordinates",
    "parameter_ranges",
    "partial_dependence",
    "profile_effect",
    "proposal_interactions",
    "pruning_record",
    "rebuild",
    "receipt",
    "receipts",
    "recommend",
    "regret_history",
    "report",
    "report_noise",
    "stopping_verdict",
    "surrogates",
    "timeline",
    "tradeoff",
]

_PACKAGES = (
    "acquisition",
    "dashboard",
    "explain",
    "goals",
    "integrations",
    "plots",
    "provenance",
    "records",
    "reporting",
    "samplers",
    "study",
    "surrogates",
)
_MODULES = {
    "pellucid.acquisition.interleave": "Interleave",
    "pellucid.explain.calibration": "calibration",
    "pellucid.explain.compare": "compare_importance",
    "pellucid.explain.coordinates": "parallel_coordinates",
    "pellucid.explain.effects.dependence": "partial_dependence",
    "pellucid.explain.effects.profile": "profile_effect",
    "pellucid.explain.failures": "failing_settings",
    "pellucid.explain.fronts.tradeoff": "tradeoff",
    "pellucid.explain.history": "history",
    "pellucid.explain.importance.analysis": "hsic_importance",
    "pellucid.explain.importance.evaluator": "HsicImportanceEvaluator ImportanceEvaluator",
    "pellucid.explain.importance.shares": "importance",
    "pellucid.explain.intervals": "interval_reduction",
    "pellucid.explain.proposals.explanation": "desirability_paths explain_proposal proposal_interactions",
    "pellucid.explain.pruning.explanation": "explain_pruning",
    "pellucid.explain.pruning.record": "pruning_record",
    "pellucid.explain.ranges": "parameter_ranges",
    "pellucid.explain.rebuild": "RebuiltProposal rebuild",
    "pellucid.explain.recommend": "recommend",
    "pellucid.explain.stopping": "regret_history stopping_verdict",
    "pellucid.explain.timeline": "timeline",
    "pellucid.goals": "best failed on_the_front",
    "pellucid.provenance": "Receipt",
    "pellucid.records": "Calibration Compromise DesirabilityPaths FailingSettings Finding Front FrontHistory "
    "FrontVerdict History HsicImportance Importance ImportanceComparison IntervalReduction "
    "NotKnown ParallelCoordinates ParameterRanges PartialDependence ProfileEffect "
    "ProposalExplanation ProposalInteractions PruningExplanation PruningRecord RangeAdvice "
    "Recommendation RegretHistory StoppingVerdict Timeline Tradeoff TwoStepPlan",
    "pellucid.reporting": "report",
    "pellucid.samplers.bayesian": "BayesianSampler",
    "pellucid.samplers.curve_pruner": "CurvePruner",
    "pellucid.samplers.ranking": "RankingSampler",
    "pellucid.samplers.stop_when": "StopWhen",
    "pellucid.samplers.two_step.sampler": "TwoStepSampler",
    "pellucid.study.observations": "report_noise",
    "pellucid.study.view": "receipt receipts",
    "pellucid.words": "NoAnswer NoAnswerYet Unanswered",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


if not TYPE_CHECKING:  # A type checker knows every name from the imports above, and that there are no others.

    def __getattr__(name: str) -> Any:
        # A process that is forked meanwhile would wait for ever for the thread that imports, which it does not have.
        with _threads.no_fork:
            if name in _PACKAGES:
                return import_module(f"{__name__}.{name}")
            if name not in _MODULE_OF:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
            return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
