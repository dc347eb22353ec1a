"""Everything that a report says, computed once from one view of the study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.explain.effects.dependence import effects_of
from pellucid.explain.effects.profile import profiles_of
from pellucid.explain.history import history_of
from pellucid.explain.importance.analysis import importance_for, importance_of_the_best
from pellucid.explain.model import opened
from pellucid.explain.progress import progress_bar
from pellucid.explain.proposals.explanation import explanation_of
from pellucid.explain.ranges import ranges_of
from pellucid.explain.recommend import recommendation_of
from pellucid.explain.stopping import regret_history_of
from pellucid.goals import failed
from pellucid.records import (
    DesirabilityPaths,
    History,
    HsicImportance,
    NotKnown,
    ParameterRanges,
    PartialDependence,
    ProfileEffect,
    ProposalExplanation,
    Receipt,
    Recommendation,
    RegretHistory,
    attempt,
)
from pellucid.study.view import StudyView

Answer = TypeVar("Answer")
# Effects that a report shows: each is a figure.
_MOST_EFFECTS = 6
# Explanations take longer with more trials and parameters, so the number of explained proposals shrinks with the
# product of both: together they take some seconds.
_MOST_EXPLAINED, _FEWEST_EXPLAINED, _WORK = 40, 4, 40_000


@dataclass(frozen=True)
class StudyAnswers:
    """The answers of a report, or why there is none yet.

    profiles      of the parameters that matter most, most important first: the best that can be reached
    effects       the same on average over all other settings;  joint  of the first two together
    failures      which parameters make trials fail; None if no trial failed
    explanations  of the recommended trial, the best, the last, and others spread evenly over the run
    unexplained   trials without an explanation, and why
    """

    name: str
    history: History
    trials: tuple[FrozenTrial, ...]
    receipts: tuple[Receipt | None, ...]
    recommendation: Recommendation | NotKnown
    regret: RegretHistory | NotKnown
    importance: HsicImportance | NotKnown
    ranges: ParameterRanges | NotKnown
    failures: HsicImportance | NotKnown | None
    profiles: tuple[ProfileEffect, ...] | NotKnown
    effects: tuple[PartialDependence, ...] | NotKnown
    joint: PartialDependence | None
    explanations: tuple[ProposalExplanation, ...]
    unexplained: dict[int, str]

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.history.states)

    @property
    def paths(self) -> DesirabilityPaths | None:
        """The explanations over the run, if there are enough for a line."""
        proposed = tuple(explanation for explanation in self.explanations if explanation.proposed) or self.explanations
        if len(proposed) < _FEWEST_EXPLAINED:
            return None
        return DesirabilityPaths(tuple(sorted(proposed, key=lambda explanation: explanation.trial)), {}, "")


def gather(study: Study, progress: bool) -> StudyAnswers:
    with opened(study, "report") as view:
        history = history_of(view)
        numbers = _trials_to_explain(view, history)
        with progress_bar("report", 7 + len(numbers), show=progress) as bar:

            def answered(what: str, ask: Callable[[], Answer]) -> Answer | NotKnown:
                bar.advance(f"report: {what}")
                return attempt(ask)

            recommendation = answered("recommendation", lambda: recommendation_of(view))
            regret = answered("can you stop", lambda: regret_history_of(view))
            importance = answered("what matters", lambda: importance_of_the_best(view))
            ranges = answered("ranges", lambda: ranges_of(view))
            failures = answered("failures", lambda: importance_for(view, failed(), pairs=False))
            profiles = answered("profiles", lambda: profiles_of(view, _shown(view, importance)))
            effects = answered("effects", lambda: _effects(view, importance))
            if isinstance(recommendation, Recommendation):
                numbers = list(dict.fromkeys([recommendation.trial, *numbers]))[: len(numbers)]
            explained = {
                number: answered(f"trial {number}", lambda n=number: explanation_of(view, n))  # type: ignore[misc]
                for number in numbers
            }
    joint = () if isinstance(effects, NotKnown) else tuple(effect for effect in effects if len(effect.params) == 2)
    return StudyAnswers(
        name=view.name,
        history=history,
        trials=tuple(view.trials),
        receipts=tuple(view.own_receipts.get(trial.number) for trial in view.trials),
        recommendation=recommendation,
        regret=regret,
        importance=importance,
        ranges=ranges,
        failures=failures if history.states.count("failed") else None,
        profiles=profiles,
        effects=effects if isinstance(effects, NotKnown) else tuple(e for e in effects if len(e.params) == 1),
        joint=joint[0] if joint else None,
        explanations=tuple(answer for answer in explained.values() if not isinstance(answer, NotKnown)),
        unexplained={n: answer.reason for n, answer in explained.items() if isinstance(answer, NotKnown)},
    )


def _shown(view: StudyView, importance: HsicImportance | NotKnown) -> list[str]:
    """The parameters that matter most, or the first ones if that is not known."""
    names = list(view.varying)
    if isinstance(importance, HsicImportance):
        order = sorted(importance.parameters, key=lambda parameter: parameter.verdict != "impactful")
        names = [parameter.name for parameter in order if parameter.name in names]
    if not names:
        raise ValueError("No parameter varies, so there are no effects to show.")
    return names[:_MOST_EFFECTS]


def _effects(view: StudyView, importance: HsicImportance | NotKnown) -> tuple[PartialDependence, ...]:
    """Average effects of the parameters that are shown, and of the first two together."""
    names = _shown(view, importance)
    subjects: list[tuple[str, ...]] = [(name,) for name in names]
    if len(names) > 1:
        subjects.append((names[0], names[1]))
    return effects_of(view, subjects)


def _trials_to_explain(view: StudyView, history: History) -> list[int]:
    """The best trial, the last proposal, and proposals spread evenly over the run; fewer if explanations cost more."""
    ended = [trial.number for trial in view.trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    if not ended:
        return []
    width = max(len(trial.params) for trial in view.trials)
    most = max(_FEWEST_EXPLAINED, min(_MOST_EXPLAINED, _WORK // max(len(ended) * width, 1)))
    proposed = [number for number, receipt in view.own_receipts.items() if receipt.proposed] or ended
    even = [proposed[round(i * (len(proposed) - 1) / max(most - 1, 1))] for i in range(most)]
    return list(dict.fromkeys([*_best(view, history), proposed[-1], *even]))[:most]


def _best(view: StudyView, history: History) -> list[int]:
    """The number of the best complete trial, if there is one."""
    rows = zip(history.numbers, history.values, history.states, strict=True)
    ranked = sorted((view.sign * value, n) for n, value, state in rows if value is not None and state == "complete")
    return [n for _, n in ranked[:1]]
