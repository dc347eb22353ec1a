"""Entries of the catalogue that only a function in Python asks: they take more than a subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers import descriptions
from pellucid.answers.base import Answer, Takes
from pellucid.answers.subjects import all_at_once, whole

if TYPE_CHECKING:
    from pellucid import records

COMPROMISE: Answer[records.Compromise] = Answer(
    key="recommendation",
    title="Best compromise",
    records={"pellucid.records:Compromise": {"": "pellucid.plots.front:compromise"}},
    function=("pellucid.explain.recommend:recommend",),
    parts=whole,
)
ADVICE: Answer[records.RangeAdvice] = Answer(
    key="ranges",
    title="What to change about one range",
    records={"pellucid.records:RangeAdvice": {"": "pellucid.plots.ranges:advice"}},
    function=("pellucid.explain.ranges:parameter_ranges",),
    parts=all_at_once,
)
INTERVAL: Answer[records.IntervalReduction] = Answer(
    key="interval",
    title="The cheapest value that costs nothing",
    records={"pellucid.records:IntervalReduction": {"": "pellucid.plots.importance:interval"}},
    function=("pellucid.explain.intervals:interval_reduction",),
    parts=all_at_once,
    takes=Takes.PARAMS,
    described=descriptions.INTERVAL,
)
PLAN: Answer[records.TwoStepPlan] = Answer(
    key="plan",
    title="What a search in two steps does",
    records={"pellucid.records:TwoStepPlan": {"": "pellucid.plots.plan:plan"}},
    function=("pellucid.samplers.two_step.sampler:TwoStepSampler.plan",),
    parts=whole,
)
INTERACTIONS: Answer[records.ProposalInteractions] = Answer(
    key="interactions",
    title="Which parameters were chosen together",
    records={"pellucid.records:ProposalInteractions": {"": "pellucid.plots.proposals:interactions"}},
    function=("pellucid.explain.proposals.explanation:proposal_interactions",),
    parts=all_at_once,
    takes=Takes.TRIAL,
)
COMPARISON: Answer[records.ImportanceComparison] = Answer(
    key="comparison",
    title="What other methods say about a trial",
    records={"pellucid.records:ImportanceComparison": {"": "pellucid.plots.proposals:comparison"}},
    function=("pellucid.explain.compare:compare_importance",),
    parts=all_at_once,
    takes=Takes.TRIAL,
)
