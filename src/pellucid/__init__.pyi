# Written by `python tools/api.py`.
from pellucid import acquisition, goals, surrogates
from pellucid.answers.calibration import Calibration, calibration
from pellucid.answers.compare import compare_importance
from pellucid.answers.coordinates import ParallelCoordinates, parallel_coordinates
from pellucid.answers.effects.dependence import partial_dependence
from pellucid.answers.effects.profile import profile_effect
from pellucid.answers.effects.records import PartialDependence, ProfileEffect
from pellucid.answers.failures import FailingSettings, failing_settings
from pellucid.answers.finding import Finding, NotKnown
from pellucid.answers.fronts.records import Compromise, Front, Tradeoff
from pellucid.answers.fronts.tradeoff import tradeoff
from pellucid.answers.history import FrontHistory, History, history
from pellucid.answers.importance.analysis import hsic_importance
from pellucid.answers.importance.evaluator import HsicImportanceEvaluator, ImportanceEvaluator
from pellucid.answers.importance.goals import HsicImportance
from pellucid.answers.importance.records import Importance
from pellucid.answers.importance.shares import importance
from pellucid.answers.intervals import interval_reduction
from pellucid.answers.plan import TwoStepPlan
from pellucid.answers.proposals.explanation import desirability_paths, explain_proposal, proposal_interactions
from pellucid.answers.proposals.records import (
    DesirabilityPaths,
    ImportanceComparison,
    ProposalExplanation,
    ProposalInteractions,
)
from pellucid.answers.pruning.explanation import explain_pruning
from pellucid.answers.pruning.records import PruningExplanation, PruningRecord
from pellucid.answers.pruning.saved import pruning_record
from pellucid.answers.ranges.advice import parameter_ranges
from pellucid.answers.ranges.records import IntervalReduction, ParameterRanges, RangeAdvice
from pellucid.answers.recommend import Recommendation, recommend
from pellucid.answers.stop.one import regret_history, stopping_verdict
from pellucid.answers.stop.records import FrontVerdict, RegretHistory, StoppingVerdict
from pellucid.answers.timeline import Timeline, timeline
from pellucid.provenance.kinds import Receipt
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.curve_pruner import CurvePruner
from pellucid.samplers.ranking import RankingSampler
from pellucid.samplers.stop_when import StopWhen
from pellucid.samplers.two_step.sampler import TwoStepSampler
from pellucid.search.acquisition.interleave import Interleave
from pellucid.search.rebuild import RebuiltProposal, rebuild
from pellucid.study.goals import best, failed, on_the_front
from pellucid.study.observations import report_noise
from pellucid.study.view import receipt, receipts
from pellucid.surfaces.page import report
from pellucid.words import NoAnswer, NoAnswerYet, Unanswered

__version__: str
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
