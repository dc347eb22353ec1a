"""The catalogue: every question that pellucid answers about a study, in the order in which a person asks them.

Everything that lists answers reads this tuple. An answer is added here, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.answers import descriptions, subjects
from pellucid.answers.base import Answer, ChosenBy, ChosenWords, GoalName, Takes, as_it_is
from pellucid.answers.in_python import ADVICE, COMPARISON, COMPROMISE, INTERACTIONS, INTERVAL, PLAN
from pellucid.answers.on_pages import COORDINATES, COURSE, CURVES, HISTORY, PATHS, TIMELINE
from pellucid.answers.places import Place

if TYPE_CHECKING:
    from pellucid.answers.calibration import Calibration
    from pellucid.answers.effects.records import PartialDependence, ProfileEffect
    from pellucid.answers.failures import FailingSettings
    from pellucid.answers.fronts.records import Front, Tradeoff
    from pellucid.answers.importance.goals import HsicImportance
    from pellucid.answers.importance.records import Importance
    from pellucid.answers.proposals.records import ProposalExplanation
    from pellucid.answers.pruning.records import PruningExplanation, PruningRecord
    from pellucid.answers.ranges.records import ParameterRanges
    from pellucid.answers.recommend import Recommendation
    from pellucid.answers.stop.records import StoppingVerdict

RECOMMENDATION: Answer[Recommendation | Front] = Answer(
    key="recommendation",
    title="Best configuration",
    wording=subjects.which_is_best,
    compute="pellucid.answers.questions.recommendation:recommendation",
    records={
        "pellucid.answers.recommend:Recommendation": {"": "pellucid.answers.drawing.recommendation:recommendation"},
        "pellucid.answers.fronts.records:Front": {"": "pellucid.answers.drawing.front:front"},
    },
    function=("pellucid.answers.recommend:recommend",),
    parts=subjects.whole,
    applies=subjects.of_no_part,
    listed=as_it_is,
    shown=as_it_is,
    steps=as_it_is,
    called="recommendation",
    card=Place(subjects.use_this, "pellucid.answers.questions.recommendation:card"),
    chapter=Place(subjects.which_to_use, "pellucid.answers.questions.recommendation:chapter"),
    section="front",
    content="pellucid.answers.questions.recommendation:section",
    concludes=True,
    metrics="pellucid.answers.questions.recommendation:metrics",
    described=descriptions.RECOMMENDATION,
)
VERDICT: Answer[StoppingVerdict] = Answer(
    key="verdict",
    title="Can I stop",
    compute="pellucid.answers.questions.verdict:verdict",
    records={
        "pellucid.answers.stop.records:StoppingVerdict": {"": "pellucid.answers.drawing.course:stopping"},
        "pellucid.answers.stop.records:FrontVerdict": {"": "pellucid.answers.drawing.course:stopping"},
    },
    function=("pellucid.answers.stop.one:stopping_verdict",),
    parts=subjects.whole,
    applies=subjects.of_no_part,
    listed=as_it_is,
    shown=as_it_is,
    steps=as_it_is,
    called="can you stop",
    card=Place("Can you stop?", "pellucid.answers.questions.verdict:card"),
    chapter=Place("Can I stop?", "pellucid.answers.questions.verdict:chapter"),
    concludes=True,
    metrics="pellucid.answers.questions.verdict:metrics",
    described=descriptions.VERDICT,
)
IMPORTANCE: Answer[Importance] = Answer(
    key="importance",
    title="What matters",
    compute="pellucid.answers.questions.importance:importance",
    records={
        "pellucid.answers.importance.records:Importance": {
            "importance": "pellucid.answers.drawing.shares:importance",
            "pairs": "pellucid.answers.drawing.shares:pairs",
        }
    },
    function=("pellucid.answers.importance.shares:importance",),
    parts=subjects.each_objective,
    listed=as_it_is,
    shown=as_it_is,
    steps=as_it_is,
    called="what matters",
    card=Place("What matters?", "pellucid.answers.questions.importance:card"),
    chapter=Place("What matters?"),
    section="matters",
    content="pellucid.answers.questions.importance:section",
    metrics="pellucid.answers.questions.importance:metrics",
    described=descriptions.IMPORTANCE,
)
RANGES: Answer[ParameterRanges] = Answer(
    key="ranges",
    title="Which ranges to change",
    compute="pellucid.answers.questions.ranges:ranges",
    records={"pellucid.answers.ranges.records:ParameterRanges": {"": "pellucid.answers.drawing.ranges:ranges"}},
    function=("pellucid.answers.ranges.advice:parameter_ranges",),
    parts=subjects.all_at_once,
    applies=subjects.one_objective,
    listed=as_it_is,
    shown=as_it_is,
    steps=as_it_is,
    called="ranges",
    card=Place("Which ranges to change?", "pellucid.answers.questions.ranges:card"),
    chapter=Place("Which ranges should I change?", "pellucid.answers.questions.ranges:chapter"),
    section="ranges",
    content="pellucid.answers.questions.ranges:section",
    metrics="pellucid.answers.questions.ranges:metrics",
    described=descriptions.RANGES,
)
TRADEOFF: Answer[Tradeoff] = Answer(
    key="tradeoff",
    title="What one costs in the other",
    compute="pellucid.answers.questions.tradeoff:tradeoff",
    records={"pellucid.answers.fronts.records:Tradeoff": {"": "pellucid.answers.drawing.front:tradeoff"}},
    function=("pellucid.answers.fronts.tradeoff:tradeoff",),
    parts=subjects.each_pair,
    applies=subjects.few_objectives,
    listed=as_it_is,
    shown=as_it_is,
    steps=as_it_is,
    called="trade-offs",
    card=Place("What does one cost in the other?", "pellucid.answers.questions.tradeoff:card"),
    chapter=Place("What does one cost in the other?"),
    section="tradeoff",
    content="pellucid.answers.questions.tradeoff:section",
    described=descriptions.TRADEOFF,
)
PRUNING: Answer[PruningRecord] = Answer(
    key="pruning",
    title="What stopping early saved",
    compute="pellucid.answers.questions.pruning:pruning",
    records={"pellucid.answers.pruning.records:PruningRecord": {"": "pellucid.answers.drawing.pruning:stops"}},
    function=("pellucid.answers.pruning.saved:pruning_record",),
    parts=subjects.whole,
    applies=subjects.some_stopped,
    listed=as_it_is,
    shown=as_it_is,
    shown_where=subjects.some_curves,
    steps=as_it_is,
    called="what stops saved",
    section="curves",
    content="pellucid.answers.questions.pruning:what_stops_saved",
    concludes=True,
    described=descriptions.PRUNING,
)
FAILURES: Answer[FailingSettings] = Answer(
    key="failures",
    title="Why trials fail",
    compute="pellucid.answers.questions.failures:failures",
    records={"pellucid.answers.failures:FailingSettings": {"": "pellucid.answers.drawing.failures:failing"}},
    function=("pellucid.answers.failures:failing_settings",),
    parts=subjects.whole,
    applies=subjects.some_failed,
    listed=as_it_is,
    shown=as_it_is,
    called="failing settings",
    chapter=Place("Why do trials fail?", "pellucid.answers.questions.failures:chapter"),
    section="failures",
    content="pellucid.answers.questions.failures:section",
    needed=lambda _, __: False,
    with_goal=GoalName.FAILED,
    described=descriptions.FAILURES,
)
CALIBRATION: Answer[Calibration] = Answer(
    key="calibration",
    title="Were predictions true",
    compute="pellucid.answers.questions.calibration:calibration",
    records={"pellucid.answers.calibration:Calibration": {"": "pellucid.answers.drawing.calibration:calibration"}},
    function=("pellucid.answers.calibration:calibration",),
    parts=subjects.each_objective,
    listed=as_it_is,
    shown=as_it_is,
    steps=as_it_is,
    called="were predictions true",
    section="true",
    metrics="pellucid.answers.questions.calibration:metrics",
    described=descriptions.CALIBRATION,
)
PROPOSAL: Answer[ProposalExplanation] = Answer(
    key="proposal",
    title="Why this trial",
    wording=subjects.why_this_one,
    listing=subjects.why_the_last,
    compute="pellucid.answers.questions.proposal:proposal",
    records={
        "pellucid.answers.proposals.records:ProposalExplanation": {"": "pellucid.answers.drawing.proposals:proposal"}
    },
    function=("pellucid.answers.proposals.explanation:explain_proposal",),
    parts=subjects.as_named,
    takes=Takes.TRIAL,
    listed=ChosenBy("pellucid.answers.questions.proposal:last"),
    shown=ChosenBy("pellucid.answers.questions.proposal:over_the_run"),
    steps=ChosenBy("pellucid.answers.questions.proposal:spread"),
    called="trial {trial}",
    chapter=Place(
        ChosenWords("pellucid.answers.questions.proposal:why_it_was_chosen"),
        "pellucid.answers.questions.proposal:chapter",
    ),
    section="why",
    content="pellucid.answers.questions.proposal:section",
    needed=lambda overview, subject: subjects.was_stopped(overview, subject) is not None,
    table="pellucid.answers.questions.proposal:contributions",
    described=descriptions.PROPOSAL,
)
# Questions that nobody asks without naming something, or that a page alone answers.
STOP: Answer[PruningExplanation] = Answer(
    key="pruning",
    title="Why it was stopped",
    compute="pellucid.answers.questions.pruning:stop",
    records={
        "pellucid.answers.pruning.records:PruningExplanation": {"": "pellucid.answers.drawing.pruning:explanation"}
    },
    function=("pellucid.answers.pruning.explanation:explain_pruning",),
    parts=subjects.whole,
    takes=Takes.TRIAL,
    applies=subjects.was_stopped,
    shown=ChosenBy("pellucid.answers.questions.pruning:likeliest"),
    shown_where=subjects.some_curves,
    called="why trial {trial} was stopped",
    section="curves",
    content="pellucid.answers.questions.pruning:why_stopped",
    needed=lambda _, __: False,
    described=descriptions.STOP,
)
PROFILE: Answer[ProfileEffect] = Answer(
    key="profile",
    title="What a parameter can reach",
    wording=subjects.what_it_reaches,
    compute="pellucid.answers.questions.effects:profiles",
    records={"pellucid.answers.effects.records:ProfileEffect": {"": "pellucid.answers.drawing.effects:profile"}},
    function=("pellucid.answers.effects.profile:profile_effect",),
    parts=subjects.each_objective,
    takes=Takes.PARAMS,
    applies=subjects.one_parameter,
    shown=ChosenBy("pellucid.answers.questions.effects:shown"),
    steps=as_it_is,
    called="profiles",
    section="effects",
    content="pellucid.answers.questions.effects:section",
    together=True,
    described=descriptions.PROFILE,
)
DEPENDENCE: Answer[PartialDependence] = Answer(
    key="dependence",
    title="What a parameter does on average",
    wording=subjects.what_it_does,
    compute="pellucid.answers.questions.effects:dependences",
    records={"pellucid.answers.effects.records:PartialDependence": {"": "pellucid.answers.drawing.effects:effect"}},
    function=("pellucid.answers.effects.dependence:partial_dependence",),
    parts=subjects.each_objective,
    takes=Takes.PARAMS,
    shown=ChosenBy("pellucid.answers.questions.effects:averaged"),
    steps=as_it_is,
    called="effects",
    together=True,
    described=descriptions.DEPENDENCE,
)
GOAL: Answer[HsicImportance] = Answer(
    key="importance",
    title="What matters",
    compute="pellucid.answers.questions.importance:for_goal",
    records={
        "pellucid.answers.importance.goals:HsicImportance": {
            "importance": "pellucid.answers.drawing.importance:importance",
            "indices": "pellucid.answers.drawing.importance:indices",
            "values": "pellucid.answers.drawing.importance:values",
            "pairs": "pellucid.answers.drawing.importance:pairs",
        }
    },
    function=("pellucid.answers.importance.analysis:hsic_importance",),
    parts=subjects.each_objective,
    takes=Takes.GOAL,
    table="pellucid.answers.questions.importance:indices",
    described=descriptions.GOAL,
)
FAILING: Answer[HsicImportance] = Answer(
    key="importance",
    title="What matters for failing",
    compute="pellucid.answers.questions.importance:for_failing",
    records=GOAL.records,
    function=GOAL.function,
    parts=subjects.whole,
    applies=subjects.some_failed,
    shown=as_it_is,
    steps=as_it_is,
    called="failures",
    section="failures",
    content="pellucid.answers.questions.importance:failing",
)
CONSTRAINTS: Answer[Importance] = Answer(
    key="importance",
    title="What matters for a constraint",
    compute=IMPORTANCE.compute,
    records=IMPORTANCE.records,
    function=IMPORTANCE.function,
    parts=subjects.each_constraint,
    applies=subjects.of_no_part,
    shown=as_it_is,
    called="what matters for {constraint}",
    section="constraints",
    content="pellucid.answers.questions.importance:constraints",
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
    PROFILE,
    DEPENDENCE,
    GOAL,
    FAILING,
    CONSTRAINTS,
    COURSE,
    CURVES,
    STOP,
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
