# Written by `python tools/api.py`.
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
from pellucid.provenance.kinds import Receipt
from pellucid.records.calibration import Calibration
from pellucid.records.coordinates import ParallelCoordinates
from pellucid.records.course import FrontHistory, FrontVerdict, History, RegretHistory, StoppingVerdict
from pellucid.records.effect import PartialDependence, ProfileEffect
from pellucid.records.failures import FailingSettings
from pellucid.records.finding import Finding, NotKnown
from pellucid.records.front import Compromise, Front, Tradeoff
from pellucid.records.importance import HsicImportance
from pellucid.records.plan import TwoStepPlan
from pellucid.records.proposal import DesirabilityPaths, ImportanceComparison, ProposalExplanation, ProposalInteractions
from pellucid.records.pruning import PruningExplanation, PruningRecord
from pellucid.records.ranges import IntervalReduction, ParameterRanges, RangeAdvice
from pellucid.records.recommendation import Recommendation
from pellucid.records.shares import Importance
from pellucid.records.timeline import Timeline
from pellucid.reporting import report
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.curve_pruner import CurvePruner
from pellucid.samplers.ranking import RankingSampler
from pellucid.samplers.stop_when import StopWhen
from pellucid.samplers.two_step.sampler import TwoStepSampler
from pellucid.study.observations import report_noise
from pellucid.study.view import receipt, receipts
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
