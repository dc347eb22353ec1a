"""Entries of the catalogue that only a function in Python asks: they take more than a subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers import descriptions
from pellucid.answers.base import Answer, Takes
from pellucid.answers.subjects import all_at_once, whole

if TYPE_CHECKING:
    from pellucid.answers.fronts.records import Compromise
    from pellucid.answers.plan import TwoStepPlan
    from pellucid.answers.proposals.records import ImportanceComparison, ProposalInteractions
    from pellucid.answers.ranges.records import IntervalReduction, RangeAdvice

COMPROMISE: Answer[Compromise] = Answer(
    key="recommendation",
    title="Best compromise",
    records={"pellucid.answers.fronts.records:Compromise": {"": "pellucid.answers.drawing.front:compromise"}},
    function=("pellucid.answers.recommend:recommend",),
    parts=whole,
)
ADVICE: Answer[RangeAdvice] = Answer(
    key="ranges",
    title="What to change about one range",
    records={"pellucid.answers.ranges.records:RangeAdvice": {"": "pellucid.answers.drawing.ranges:advice"}},
    function=("pellucid.answers.ranges.advice:parameter_ranges",),
    parts=all_at_once,
)
INTERVAL: Answer[IntervalReduction] = Answer(
    key="interval",
    title="The cheapest value that costs nothing",
    records={"pellucid.answers.ranges.records:IntervalReduction": {"": "pellucid.answers.drawing.importance:interval"}},
    function=("pellucid.answers.intervals:interval_reduction",),
    parts=all_at_once,
    takes=Takes.PARAMS,
    described=descriptions.INTERVAL,
)
PLAN: Answer[TwoStepPlan] = Answer(
    key="plan",
    title="What a search in two steps does",
    records={"pellucid.answers.plan:TwoStepPlan": {"": "pellucid.answers.drawing.plan:plan"}},
    function=("pellucid.samplers.two_step.sampler:TwoStepSampler.plan",),
    parts=whole,
)
INTERACTIONS: Answer[ProposalInteractions] = Answer(
    key="interactions",
    title="Which parameters were chosen together",
    records={
        "pellucid.answers.proposals.records:ProposalInteractions": {
            "": "pellucid.answers.drawing.proposals:interactions"
        }
    },
    function=("pellucid.answers.proposals.explanation:proposal_interactions",),
    parts=all_at_once,
    takes=Takes.TRIAL,
)
COMPARISON: Answer[ImportanceComparison] = Answer(
    key="comparison",
    title="What other methods say about a trial",
    records={
        "pellucid.answers.proposals.records:ImportanceComparison": {"": "pellucid.answers.drawing.proposals:comparison"}
    },
    function=("pellucid.answers.compare:compare_importance",),
    parts=all_at_once,
    takes=Takes.TRIAL,
)
