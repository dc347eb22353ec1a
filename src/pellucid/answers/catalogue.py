"""The catalogue: every question that pellucid answers about a study, in the order in which a person asks them.

Everything that lists answers reads this tuple. An answer is added here, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.answers import descriptions
from pellucid.answers.base import Answer, ChosenBy, GoalName, Takes, as_it_is
from pellucid.answers.subjects import (
    all_at_once,
    as_named,
    each_constraint,
    each_objective,
    each_pair,
    few_objectives,
    of_no_part,
    one_objective,
    one_parameter,
    some_curves,
    some_failed,
    some_stopped,
    was_stopped,
    what_it_does,
    what_it_reaches,
    which_is_best,
    whole,
    why_the_last,
    why_this_one,
)

if TYPE_CHECKING:
    from pellucid.records import (
        Calibration,
        Compromise,
        DesirabilityPaths,
        FailingSettings,
        Front,
        FrontHistory,
        History,
        HsicImportance,
        Importance,
        ImportanceComparison,
        IntervalReduction,
        LearningCurves,
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

RECOMMENDATION: Answer[Recommendation | Front] = Answer(
    key="recommendation",
    title="Best configuration",
    wording=which_is_best,
    compute="pellucid.answers.recommendation:recommendation",
    records={
        "pellucid.records:Recommendation": {"": "pellucid.plots.recommendation:recommendation"},
        "pellucid.records:Front": {"": "pellucid.plots.front:front"},
    },
    function=("pellucid.explain.recommend:recommend",),
    parts=whole,
    applies=of_no_part,
    listed=as_it_is,
    shown=as_it_is,
    concludes=True,
    described=descriptions.RECOMMENDATION,
)
VERDICT: Answer[StoppingVerdict] = Answer(
    key="verdict",
    title="Can I stop",
    compute="pellucid.answers.verdict:verdict",
    records={
        "pellucid.records:StoppingVerdict": {"": "pellucid.plots.course:stopping"},
        "pellucid.records:FrontVerdict": {"": "pellucid.plots.course:stopping"},
    },
    function=("pellucid.explain.stopping:stopping_verdict",),
    parts=whole,
    applies=of_no_part,
    listed=as_it_is,
    concludes=True,
    described=descriptions.VERDICT,
)
IMPORTANCE: Answer[Importance] = Answer(
    key="importance",
    title="What matters",
    compute="pellucid.answers.importance:importance",
    records={
        "pellucid.records:Importance": {
            "importance": "pellucid.plots.shares:importance",
            "pairs": "pellucid.plots.shares:pairs",
        }
    },
    function=("pellucid.explain.importance.shares:importance",),
    parts=each_objective,
    listed=as_it_is,
    shown=as_it_is,
    described=descriptions.IMPORTANCE,
)
RANGES: Answer[ParameterRanges] = Answer(
    key="ranges",
    title="Which ranges to change",
    compute="pellucid.answers.ranges:ranges",
    records={"pellucid.records:ParameterRanges": {"": "pellucid.plots.ranges:ranges"}},
    function=("pellucid.explain.ranges:parameter_ranges",),
    parts=all_at_once,
    applies=one_objective,
    listed=as_it_is,
    shown=as_it_is,
    described=descriptions.RANGES,
)
TRADEOFF: Answer[Tradeoff] = Answer(
    key="tradeoff",
    title="What one costs in the other",
    compute="pellucid.answers.tradeoff:tradeoff",
    records={"pellucid.records:Tradeoff": {"": "pellucid.plots.front:tradeoff"}},
    function=("pellucid.explain.fronts.tradeoff:tradeoff",),
    parts=each_pair,
    applies=few_objectives,
    listed=as_it_is,
    shown=as_it_is,
    described=descriptions.TRADEOFF,
)
PRUNING: Answer[PruningRecord] = Answer(
    key="pruning",
    title="What stopping early saved",
    compute="pellucid.answers.pruning:pruning",
    records={"pellucid.records:PruningRecord": {"": "pellucid.plots.pruning:stops"}},
    function=("pellucid.explain.pruning.record:pruning_record",),
    parts=whole,
    applies=some_stopped,
    listed=as_it_is,
    shown=as_it_is,
    concludes=True,
    described=descriptions.PRUNING,
)
FAILURES: Answer[FailingSettings] = Answer(
    key="failures",
    title="Why trials fail",
    compute="pellucid.answers.failures:failures",
    records={"pellucid.records:FailingSettings": {"": "pellucid.plots.failures:failing"}},
    function=("pellucid.explain.failures:failing_settings",),
    parts=whole,
    applies=some_failed,
    listed=as_it_is,
    shown=as_it_is,
    needed=lambda _, __: False,
    with_goal=GoalName.FAILED,
    described=descriptions.FAILURES,
)
CALIBRATION: Answer[Calibration] = Answer(
    key="calibration",
    title="Were predictions true",
    compute="pellucid.answers.calibration:calibration",
    records={"pellucid.records:Calibration": {"": "pellucid.plots.calibration:calibration"}},
    function=("pellucid.explain.calibration:calibration",),
    parts=each_objective,
    listed=as_it_is,
    shown=as_it_is,
    described=descriptions.CALIBRATION,
)
PROPOSAL: Answer[ProposalExplanation] = Answer(
    key="proposal",
    title="Why this trial",
    wording=why_this_one,
    listing=why_the_last,
    compute="pellucid.answers.proposal:proposal",
    records={"pellucid.records:ProposalExplanation": {"": "pellucid.plots.proposals:proposal"}},
    function=("pellucid.explain.proposals.explanation:explain_proposal",),
    parts=as_named,
    takes=Takes.TRIAL,
    listed=ChosenBy("pellucid.answers.proposal:last"),
    shown=ChosenBy("pellucid.answers.proposal:over_the_run"),
    needed=lambda overview, subject: was_stopped(overview, subject) is not None,
    table="pellucid.answers.proposal:contributions",
    described=descriptions.PROPOSAL,
)
# Questions that nobody asks without naming something, or that a page alone answers.
STOP: Answer[PruningExplanation] = Answer(
    key="pruning",
    title="Why it was stopped",
    compute="pellucid.answers.pruning:stop",
    records={"pellucid.records:PruningExplanation": {"": "pellucid.plots.pruning:explanation"}},
    function=("pellucid.explain.pruning.explanation:explain_pruning",),
    parts=whole,
    takes=Takes.TRIAL,
    applies=was_stopped,
    shown=ChosenBy("pellucid.answers.pruning:likeliest"),
    needed=lambda _, __: False,
    described=descriptions.STOP,
)
PROFILE: Answer[ProfileEffect] = Answer(
    key="profile",
    title="What a parameter can reach",
    wording=what_it_reaches,
    compute="pellucid.answers.effects:profiles",
    records={"pellucid.records:ProfileEffect": {"": "pellucid.plots.effects:profile"}},
    function=("pellucid.explain.effects.profile:profile_effect",),
    parts=each_objective,
    takes=Takes.PARAMS,
    applies=one_parameter,
    shown=ChosenBy("pellucid.answers.effects:shown"),
    together=True,
    described=descriptions.PROFILE,
)
DEPENDENCE: Answer[PartialDependence] = Answer(
    key="dependence",
    title="What a parameter does on average",
    wording=what_it_does,
    compute="pellucid.answers.effects:dependences",
    records={"pellucid.records:PartialDependence": {"": "pellucid.plots.effects:effect"}},
    function=("pellucid.explain.effects.dependence:partial_dependence",),
    parts=each_objective,
    takes=Takes.PARAMS,
    shown=ChosenBy("pellucid.answers.effects:averaged"),
    together=True,
    described=descriptions.DEPENDENCE,
)
GOAL: Answer[HsicImportance] = Answer(
    key="importance",
    title="What matters",
    compute="pellucid.answers.importance:for_goal",
    records={
        "pellucid.records:HsicImportance": {
            "importance": "pellucid.plots.importance:importance",
            "indices": "pellucid.plots.importance:indices",
            "values": "pellucid.plots.importance:values",
            "pairs": "pellucid.plots.importance:pairs",
        }
    },
    function=("pellucid.explain.importance.analysis:hsic_importance",),
    parts=each_objective,
    takes=Takes.GOAL,
    table="pellucid.answers.importance:indices",
    described=descriptions.GOAL,
)
FAILING: Answer[HsicImportance] = Answer(
    key="importance",
    title="What matters for failing",
    compute="pellucid.answers.importance:for_failing",
    records=GOAL.records,
    function=GOAL.function,
    parts=whole,
    applies=some_failed,
    shown=as_it_is,
)
CONSTRAINTS: Answer[Importance] = Answer(
    key="importance",
    title="What matters for a constraint",
    compute=IMPORTANCE.compute,
    records=IMPORTANCE.records,
    function=IMPORTANCE.function,
    parts=each_constraint,
    applies=of_no_part,
    shown=as_it_is,
)
COURSE: Answer[RegretHistory] = Answer(
    key="course",
    title="How much is left",
    compute="pellucid.answers.verdict:course",
    records={"pellucid.records:RegretHistory": {"": "pellucid.plots.course:regret_history"}},
    function=("pellucid.explain.stopping:regret_history",),
    parts=whole,
    applies=of_no_part,
    shown=as_it_is,
    described=descriptions.COURSE,
)
CURVES: Answer[LearningCurves] = Answer(
    key="curves",
    title="What learning curves promise",
    compute="pellucid.answers.pruning:curves",
    records={"pellucid.records:LearningCurves": {"": "pellucid.plots.pruning:learning_curves"}},
    function=(),
    parts=whole,
    applies=some_curves,
    shown=as_it_is,
)
HISTORY: Answer[History | FrontHistory] = Answer(
    key="history",
    title="How the search went",
    compute="pellucid.answers.trials:history",
    records={
        "pellucid.records:History": {"": "pellucid.plots.course:history"},
        "pellucid.records:FrontHistory": {"": "pellucid.plots.course:front_history"},
    },
    function=("pellucid.explain.history:history",),
    parts=whole,
    applies=of_no_part,
    shown=as_it_is,
    described=descriptions.HISTORY,
)
COORDINATES: Answer[ParallelCoordinates] = Answer(
    key="coordinates",
    title="What the best trials share",
    compute="pellucid.answers.trials:coordinates",
    records={"pellucid.records:ParallelCoordinates": {"": "pellucid.plots.coordinates:coordinates"}},
    function=("pellucid.explain.coordinates:parallel_coordinates",),
    parts=whole,
    applies=of_no_part,
    shown=as_it_is,
)
TIMELINE: Answer[Timeline] = Answer(
    key="timeline",
    title="When trials ran",
    compute="pellucid.answers.trials:timeline",
    records={"pellucid.records:Timeline": {"": "pellucid.plots.timeline:timeline"}},
    function=("pellucid.explain.timeline:timeline",),
    parts=whole,
    applies=of_no_part,
    shown=as_it_is,
)
PATHS: Answer[DesirabilityPaths] = Answer(
    key="paths",
    title="Why trials were proposed over the run",
    compute="pellucid.answers.proposal:paths",
    records={
        "pellucid.records:DesirabilityPaths": {
            "contributions": "pellucid.plots.proposals:contribution_paths",
            "payouts": "pellucid.plots.proposals:payout_paths",
        }
    },
    function=("pellucid.explain.proposals.explanation:desirability_paths",),
    parts=whole,
    applies=of_no_part,
    shown=as_it_is,
    described=descriptions.PATHS,
)
# Questions that only a function in Python asks: they take more than a subject.
COMPROMISE: Answer[Compromise] = Answer(
    key="recommendation",
    title="Best compromise",
    records={"pellucid.records:Compromise": {"": "pellucid.plots.front:compromise"}},
    function=RECOMMENDATION.function,
    parts=whole,
)
ADVICE: Answer[RangeAdvice] = Answer(
    key="ranges",
    title="What to change about one range",
    records={"pellucid.records:RangeAdvice": {"": "pellucid.plots.ranges:advice"}},
    function=RANGES.function,
    parts=all_at_once,
)
INTERVAL: Answer[IntervalReduction] = Answer(
    key="interval",
    title="The cheapest value that costs nothing",
    records={"pellucid.records:IntervalReduction": {"": "pellucid.plots.importance:interval"}},
    function=("pellucid.explain.intervals:interval_reduction",),
    parts=all_at_once,
    takes=Takes.PARAMS,
    described=descriptions.INTERVAL,
)
PLAN: Answer[TwoStepPlan] = Answer(
    key="plan",
    title="What a search in two steps does",
    records={"pellucid.records:TwoStepPlan": {"": "pellucid.plots.plan:plan"}},
    function=("pellucid.samplers.two_step.sampler:TwoStepSampler.plan",),
    parts=whole,
)
INTERACTIONS: Answer[ProposalInteractions] = Answer(
    key="interactions",
    title="Which parameters were chosen together",
    records={"pellucid.records:ProposalInteractions": {"": "pellucid.plots.proposals:interactions"}},
    function=("pellucid.explain.proposals.explanation:proposal_interactions",),
    parts=all_at_once,
    takes=Takes.TRIAL,
)
COMPARISON: Answer[ImportanceComparison] = Answer(
    key="comparison",
    title="What other methods say about a trial",
    records={"pellucid.records:ImportanceComparison": {"": "pellucid.plots.proposals:comparison"}},
    function=("pellucid.explain.compare:compare_importance",),
    parts=all_at_once,
    takes=Takes.TRIAL,
)

CATALOGUE: tuple[Answer[Any], ...] = (
    RECOMMENDATION,
    VERDICT,
    IMPORTANCE,
    RANGES,
    TRADEOFF,
    PRUNING,
    FAILURES,
    CALIBRATION,
    PROPOSAL,
    STOP,
    PROFILE,
    DEPENDENCE,
    GOAL,
    FAILING,
    CONSTRAINTS,
    COURSE,
    CURVES,
    HISTORY,
    COORDINATES,
    TIMELINE,
    PATHS,
    COMPROMISE,
    ADVICE,
    INTERVAL,
    PLAN,
    INTERACTIONS,
    COMPARISON,
)
