"""Everything that a report says, computed once from one view of the study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from typing import TypeVar

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.beliefs import Beliefs
from pellucid.explain.calibration import calibration_of
from pellucid.explain.coordinates import coordinates_of
from pellucid.explain.effects.dependence import effects_of
from pellucid.explain.effects.profile import profiles_of
from pellucid.explain.failures import failing_settings_of
from pellucid.explain.front_stopping import front_regret_history_of
from pellucid.explain.fronts.answer import front_of
from pellucid.explain.fronts.tradeoff import tradeoff_of
from pellucid.explain.history import front_history_of, history_of, plain_history
from pellucid.explain.importance.analysis import importance_for
from pellucid.explain.importance.shares import shares_of
from pellucid.explain.model import beliefs_for_all
from pellucid.explain.proposals.cases import without_proposal
from pellucid.explain.proposals.explanation import explanation_of
from pellucid.explain.pruning.record import pruning_record_of
from pellucid.explain.ranges import ranges_of
from pellucid.explain.recommend import recommendation_of
from pellucid.explain.stopping import regret_history_of
from pellucid.explain.timeline import timeline_of
from pellucid.goals import failed
from pellucid.numerics import low_discrepancy, one_thread
from pellucid.pareto import check_number
from pellucid.progress import Bar, progress_bar
from pellucid.provenance import Receipt
from pellucid.records import (
    Calibration,
    DesirabilityPaths,
    FailingSettings,
    Front,
    FrontHistory,
    History,
    HsicImportance,
    Importance,
    NotKnown,
    ParallelCoordinates,
    ParameterRanges,
    PartialDependence,
    ProfileEffect,
    ProposalExplanation,
    Recommendation,
    RegretHistory,
    Timeline,
    Tradeoff,
    attempt,
)
from pellucid.reporting.curves import CurveAnswers, curve_answers
from pellucid.space.branches import descends
from pellucid.space.encoding import Space
from pellucid.study.liveness import dead_trials
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer, NoAnswerYet

Answer = TypeVar("Answer")
# Answers about every study, and about each of its objectives: steps of the progress bar. There are ranges of one
# objective, or trade-offs of several, and explained trials and failures as well.
_N_SHARED, _N_EACH = 2, 4
# Effects and constraints that a report shows: each is a figure.
_MOST_EFFECTS, _MOST_CONSTRAINTS = 6, 6
# Explanations take longer with more trials and parameters, so the number of explained proposals shrinks with the
# product of both: together they take about a second. What a front gains takes ten times as long.
_MOST_EXPLAINED, _FEWEST_EXPLAINED, _WORK = 16, 1, 10_000
_MOST_OF_SEVERAL = 10
# Fewer explained proposals are no course of a run.
_FEWEST_ON_A_PATH = 4
_OVER_THE_RUN = "What each parameter contributed to the proposals over the run."
# Configurations that are looked at for other parameters that exist together with one.
_N_ROWS = 512
_NOT_ASKED = NotKnown("It was not asked.")
# In the place of every answer that takes long, on a page that comes before them.
COMPUTING = NotKnown("It is being computed.")
# Explanations by what they rest on besides what had been stored when the trial began.
Explained = dict[tuple[object, ...], ProposalExplanation]


@dataclass(frozen=True)
class ObjectiveAnswers:
    """The answers about one objective, or why there is none yet.

    profiles   of the parameters that are shown, in their order: the best that can be reached
    effects    the same on average over all other settings;  joint  of the first two together
    """

    name: str
    importance: Importance | NotKnown
    calibration: Calibration | NotKnown
    profiles: tuple[ProfileEffect, ...] | NotKnown
    effects: tuple[PartialDependence, ...] | NotKnown
    joint: PartialDependence | None


@dataclass(frozen=True)
class StudyAnswers:
    """The answers of a report, or why there is none yet.

    recommendation  what to use: with several objectives, the front
    tradeoffs       of every two objectives
    each            the answers about every objective
    ranges          None with several objectives: what to remove for one may be good for another
    failing         the settings at which trials fail;  failures  which parameters matter for that; None if none failed
    constraints     which parameters every constraint depends on, by its name
    explanations    of the recommended trial, the best, the last, and others spread evenly over the run
    unexplained     trials without an explanation, and why
    curves          what learning curves say; None if no trial reported one, or if there are several objectives
    dead            about running trials whose process may be gone; empty if there are none
    broken          answers that failed, each by its name and with the cause
    timeline        when trials ran;  coordinates  what the best of them share
    positions       of the parameters in the study's order, which decide their colours
    """

    name: str
    history: History | FrontHistory
    trials: tuple[FrozenTrial, ...]
    receipts: tuple[Receipt | None, ...]
    recommendation: Recommendation | Front | NotKnown
    tradeoffs: tuple[Tradeoff | NotKnown, ...]
    regret: RegretHistory | NotKnown
    each: tuple[ObjectiveAnswers, ...]
    ranges: ParameterRanges | NotKnown | None
    failing: FailingSettings | NotKnown | None
    failures: HsicImportance | NotKnown | None
    constraints: dict[str, Importance | NotKnown]
    explanations: tuple[ProposalExplanation, ...]
    unexplained: dict[int, str]
    curves: CurveAnswers | None = None
    dead: str = ""
    broken: Mapping[str, NotKnown] = field(default_factory=dict)
    timeline: Timeline | NotKnown = _NOT_ASKED
    coordinates: ParallelCoordinates | NotKnown = _NOT_ASKED
    positions: Mapping[str, int] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Whether the study has several objectives."""
        return len(self.each) > 1

    @property
    def computing(self) -> bool:
        """Whether the answers that take long are still to come."""
        return self.recommendation is COMPUTING

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.history.states)

    @property
    def paths(self) -> DesirabilityPaths | None:
        """The explanations over the run, if there are enough for a line."""
        proposed = tuple(explanation for explanation in self.explanations if explanation.proposed) or self.explanations
        if len(proposed) < _FEWEST_ON_A_PATH:
            return None
        return DesirabilityPaths(tuple(sorted(proposed, key=lambda explanation: explanation.trial)), {}, _OVER_THE_RUN)


def check_objectives(n: int) -> None:
    """Raise NoAnswer if a report cannot be about so many objectives."""
    advice = "ask about each of them, as in `pellucid.importance(study, objective=0)`"
    check_number(n, "A report is about", advice)


def gather_at_once(study: Study) -> StudyAnswers:
    """What the trials say without a model, in a moment; the other answers are being computed."""
    beliefs = Beliefs(StudyView.whole(study))  # Without what a model makes of learning curves.
    view = beliefs.view
    check_objectives(len(view.objectives))
    history, _ = _course(beliefs)
    later = COMPUTING if history.states.count("failed") else None
    return StudyAnswers(
        name=view.name,
        history=history,
        trials=tuple(view.trials),
        receipts=tuple(view.own_receipts.get(trial.number) for trial in view.trials),
        recommendation=COMPUTING,
        tradeoffs=(COMPUTING,) * len(_pairs(view)),
        regret=COMPUTING,
        each=tuple(
            ObjectiveAnswers(objective.name, COMPUTING, COMPUTING, COMPUTING, COMPUTING, None)
            for objective in view.objectives
        ),
        ranges=None if view.several else COMPUTING,
        failing=later,
        failures=later,
        constraints=dict.fromkeys(view.observations.constraints.names[:_MOST_CONSTRAINTS], COMPUTING),
        explanations=(),
        unexplained=_sampled(view),
        dead=dead_trials(view, datetime.now()).notice,
        timeline=attempt(lambda: timeline_of(beliefs)),
        coordinates=attempt(lambda: coordinates_of(beliefs)),
        positions=view.positions,
    )


def gather(study: Study, progress: bool, explained: Explained | None = None) -> StudyAnswers:
    """`explained`: explanations of an earlier call, which gets those that can serve a later one."""
    check_objectives(len(study.directions))
    beliefs, no_curves = beliefs_for_all(study)
    view = beliefs.view
    with one_thread:
        history, no_history = _course(beliefs)
        numbers = _trials_to_explain(view, history)
        asked = _N_SHARED + (len(_pairs(view)) or 1) + _N_EACH * len(view.objectives)
        steps = asked + len(numbers) + bool(len(view.curves)) + ("failed" in history.states)
        with progress_bar("report", steps, show=progress) as bar:
            failed = {"what learning curves promise": no_curves, "history": no_history}
            asking = _Asking(bar, {name: why for name, why in failed.items() if why is not None})
            return _answers(beliefs, history, numbers, asking, {} if explained is None else explained)


def _course(beliefs: Beliefs) -> tuple[History | FrontHistory, NotKnown | None]:
    """The course of the study. If that fails, what Optuna knows of the trials, and why."""
    view = beliefs.view
    course = attempt(lambda: front_history_of(beliefs) if view.several else history_of(beliefs, view.objective))
    return (plain_history(view, course.reason), course) if isinstance(course, NotKnown) else (course, None)


class _Asking:
    """Asks one question after the other, and keeps what failed by the name of the answer."""

    def __init__(self, bar: Bar, broken: Mapping[str, NotKnown]) -> None:
        self.broken, self._bar = dict(broken), bar

    def __call__(self, what: str, ask: Callable[[], Answer]) -> Answer | NotKnown:
        """An answer that takes a step of the progress bar."""
        self._bar.advance(f"report: {what}")
        return self.quickly(what, ask)

    def quickly(self, what: str, ask: Callable[[], Answer]) -> Answer | NotKnown:
        """An answer that takes next to no time."""
        answer = attempt(ask)
        if isinstance(answer, NotKnown) and answer.failed:
            self.broken[what] = answer
        return answer


def _answers(
    beliefs: Beliefs,
    history: History | FrontHistory,
    numbers: list[int],
    answered: _Asking,
    kept: Explained,
) -> StudyAnswers:
    """`numbers`: of the trials to explain; `kept`: explanations of earlier calls."""
    view, objectives = beliefs.view, beliefs.view.objectives
    recommendation = answered(
        "recommendation", lambda: front_of(beliefs) if view.several else recommendation_of(beliefs, view.objective)
    )
    regret = answered(
        "can you stop",
        lambda: front_regret_history_of(beliefs) if view.several else regret_history_of(beliefs, view.objective),
    )
    tradeoffs = tuple(
        answered("trade-offs", lambda pair=pair: tradeoff_of(beliefs, pair))  # type: ignore[misc]
        for pair in _pairs(view)
    )
    ranges = None if view.several else answered("ranges", lambda: ranges_of(beliefs, view.objective))
    each = tuple(_about(beliefs, objective, answered) for objective in objectives)
    curves = None
    if len(view.curves):
        record = answered("what stops saved", lambda: pruning_record_of(beliefs))
        found = answered.quickly("learning curves", lambda: curve_answers(beliefs, record))
        if isinstance(found, CurveAnswers):
            curves = found
            answered.broken.update(found.broken)
    failing = failures = None
    if "failed" in history.states:
        failing = answered.quickly("failing settings", lambda: failing_settings_of(beliefs))
        failures = answered("failures", lambda: importance_for(beliefs, objectives[0], failed(), pairs=False))
    if isinstance(recommendation, Recommendation):
        numbers = list(dict.fromkeys([recommendation.trial, *numbers]))[: len(numbers)]
    explained = {
        number: answered(f"trial {number}", lambda n=number: _explanation(beliefs, n, kept))  # type: ignore[misc]
        for number in numbers
    }
    unexplained = {n: answer.reason for n, answer in explained.items() if isinstance(answer, NotKnown)}
    return StudyAnswers(
        name=view.name,
        history=history,
        trials=tuple(view.trials),
        receipts=tuple(view.own_receipts.get(trial.number) for trial in view.trials),
        recommendation=recommendation,
        tradeoffs=tradeoffs,
        regret=regret,
        each=each,
        ranges=ranges,
        failing=failing,
        failures=failures,
        constraints=_constraints(beliefs, answered),
        explanations=tuple(answer for answer in explained.values() if not isinstance(answer, NotKnown)),
        unexplained={**_sampled(view), **unexplained},
        curves=curves,
        dead=dead_trials(view, datetime.now()).notice,
        timeline=answered.quickly("timeline", lambda: timeline_of(beliefs)),
        coordinates=answered.quickly("what the best trials share", lambda: coordinates_of(beliefs)),
        broken=answered.broken,
        positions=view.positions,
    )


def _explanation(beliefs: Beliefs, number: int, kept: Explained) -> ProposalExplanation:
    """Why this trial. That rests on what was known when it began, so that only the end of the trial changes it."""
    trial = beliefs.view.trial(number)
    if not trial.state.is_finished():
        return explanation_of(beliefs, number)
    key = (number, trial.state, beliefs.view.objectives)
    if key not in kept:
        kept[key] = explanation_of(beliefs, number)
    return kept[key]


def _pairs(view: StudyView) -> list[tuple[int, int]]:
    """Every two objectives."""
    return list(combinations(range(len(view.objectives)), 2))


def _constraints(beliefs: Beliefs, answered: _Asking) -> dict[str, Importance | NotKnown]:
    """What matters for every constraint."""
    return {
        constraint.name: answered.quickly(
            f"what matters for {constraint.name}",
            lambda constraint=constraint: shares_of(beliefs, constraint),  # type: ignore[misc]
        )
        for constraint in beliefs.view.constraints[:_MOST_CONSTRAINTS]
    }


def _about(beliefs: Beliefs, target: Target, answered: _Asking) -> ObjectiveAnswers:
    """The answers about an objective."""
    view = beliefs.view
    name = f" of {target.name}" if view.several else ""
    importance = answered(f"what matters{name}", lambda: shares_of(beliefs, target))
    calibration = answered(f"were predictions true{name}", lambda: calibration_of(beliefs, target))
    profiles = answered(f"profiles{name}", lambda: profiles_of(beliefs, target, _shown(beliefs, target, importance)))
    effects = answered(f"effects{name}", lambda: _effects(beliefs, target, importance))
    joint = () if isinstance(effects, NotKnown) else tuple(effect for effect in effects if len(effect.params) == 2)
    return ObjectiveAnswers(
        name=target.name,
        importance=importance,
        calibration=calibration,
        profiles=profiles,
        effects=effects if isinstance(effects, NotKnown) else tuple(e for e in effects if len(e.params) == 1),
        joint=joint[0] if joint else None,
    )


def _sampled(view: StudyView) -> dict[int, str]:
    """Trials that no model proposed, and the sentence that every answer gives about them."""
    return {n: without_proposal(receipt) for n, receipt in view.own_receipts.items() if not receipt.proposed}


def _by_importance(beliefs: Beliefs, target: Target, importance: Importance | NotKnown) -> list[tuple[str, str]]:
    """Names and branches of the parameters: those of the best trial first, and of these what is known to matter; those
    that always exist before those of a branch. In the study's order if that is not known."""
    view = beliefs.view
    if not view.varying:
        reason = "No parameter varies, so there are no effects to show."
        raise NoAnswer(reason) if len(view.observations) else NoAnswerYet(reason)
    if isinstance(importance, NotKnown):
        return [(name, "") for name in view.varying]
    data = beliefs.data(target)
    best = data.observations.configurations[int(np.argmin(data.losses))]
    order = sorted(
        importance.parameters,
        key=lambda share: (share.name not in best, share.verdict != "matters", bool(share.branch)),
    )
    return [(share.name, share.branch) for share in order]


def _shown(beliefs: Beliefs, target: Target, importance: Importance | NotKnown) -> list[str]:
    """The parameters whose effects are shown."""
    return [name for name, _ in _by_importance(beliefs, target, importance)[:_MOST_EFFECTS]]


def _effects(beliefs: Beliefs, target: Target, importance: Importance | NotKnown) -> tuple[PartialDependence, ...]:
    """Average effects of the parameters that are shown, and of the first two that exist together."""
    (first, branch), *others = _by_importance(beliefs, target, importance)
    subjects: list[tuple[str, ...]] = [
        (name,) for name in _shown(beliefs, target, importance) if not _alone(beliefs.data(target).space, name)
    ]
    second = next((name for name, other in others if other == branch), None)
    if second is not None:
        subjects.append((first, second))
    return effects_of(beliefs, target, subjects)


def _alone(space: Space, name: str) -> bool:
    """Whether a parameter is the only one of its branch, and of the study beside the choices that lead there: there is
    nothing to average over."""
    column = space.index[name]
    if name not in space.conditions:
        return False
    others = [j for j in range(len(space)) if j != column and not descends(space, column, j)]
    rows = space.canonical(low_discrepancy(1, _N_ROWS, np.zeros(len(space))))
    active = space.active(rows)
    return not active[active[:, column]][:, others].any()


def _trials_to_explain(view: StudyView, history: History | FrontHistory) -> list[int]:
    """The best trial, or the latest of the front, the last proposal, and proposals spread evenly over the run; fewer if
    explanations cost more."""
    ended = [trial.number for trial in view.trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    if not ended:
        return []
    width = max(len(trial.params) for trial in view.trials)
    limit = _MOST_OF_SEVERAL if view.several else _MOST_EXPLAINED
    most = max(_FEWEST_EXPLAINED, min(limit, _WORK // max(len(ended) * width, 1)))
    proposed = [number for number, receipt in view.own_receipts.items() if receipt.proposed] or ended
    even = [proposed[round(i * (len(proposed) - 1) / max(most - 1, 1))] for i in range(most)]
    return list(dict.fromkeys([*_best(history), proposed[-1], *even]))[:most]


def _best(history: History | FrontHistory) -> list[int]:
    """The number of the best complete, feasible trial, or of the latest on the front, if there is one."""
    best = history.best_trial if isinstance(history, History) else max(history.front, default=None)
    return [] if best is None else [best]
