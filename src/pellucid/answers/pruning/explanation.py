"""Why a trial was stopped early, or what the curve of any trial promised at a step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers.pruning.chance import LEVEL, CurveEvidence, curve_evidence, why_unknown
from pellucid.answers.pruning.records import FanPoint, PruningExplanation
from pellucid.beliefs import Beliefs
from pellucid.models.curves.reports import Curves, check_horizon
from pellucid.numerics import Array, check_level, expand_integers, is_whole_number, one_thread
from pellucid.provenance import PruningDecision
from pellucid.study.pruning import read_decision
from pellucid.study.trials import ended_before, state_word
from pellucid.study.view import StudyView
from pellucid.words import (
    NoAnswer,
    NoAnswerYet,
    Note,
    Unanswered,
    by_text,
    chance_text,
    counted,
    number_text,
    prefix,
    printable,
)

# With fewer complete curves than this, the answer says so.
_FEW = 10
# Reports of a curve at which the chance is looked at.
_MOST_LOOKS = 100


def explain_pruning(
    study: Study, trial: int, *, step: int | None = None, horizon: int | None = None, level: float = LEVEL
) -> PruningExplanation:
    """Why a trial was stopped early: its curve, what was expected of it, and its chance of becoming the best.

    Works for studies of any pruner, or of none. A stop of `pellucid.CurvePruner` is explained with the numbers that it
    recorded; any other trial with the model that the trials before it would have given.

    Args:
        study: a study with one objective whose trials report intermediate values.
        trial: number of the trial.
        step: explain what its curve promised after the report at this step; default: where it was stopped, and for a
            complete trial the report after which its chance was the smallest.
        horizon: the step of a complete trial's last report; default: the one that most of them have.
        level: of the interval.
    """
    check_level(level)
    check_horizon(horizon)
    with one_thread:
        return pruning_explanation_of(Beliefs(StudyView.of(study, "explain_pruning")), trial, step, horizon, level)


def pruning_explanation_of(
    beliefs: Beliefs, number: int, step: int | None = None, horizon: int | None = None, level: float = LEVEL
) -> PruningExplanation:
    view = beliefs.view
    trial = view.trial(number)
    whole = _curve(view, number, step)
    decision = _decision(view, trial)
    recorded = decision if step is None and horizon is None and level == LEVEL else None
    before = trials_before(view, trial) if recorded is None else _rested_on(view, recorded)
    evidence = curve_evidence(before, horizon if recorded is None else recorded.horizon)
    if evidence is None:
        there_were = "when it began there were" if trial.state.is_finished() else "so far there are"
        why = why_unknown(before, there_were)
        raise _unanswered(trial)(f"What the curve of trial {number} promised is not known: {why}")
    at = _subject(evidence, trial, whole, step) if recorded is None else recorded.step
    curve, row = whole.until(at), evidence.row(trial)
    fan = _fan(view.objective.sign, evidence, curve, row, level)
    later = whole.steps > at
    explanation = PruningExplanation(
        trial=number,
        steps=tuple(curve.steps.tolist()),
        values=tuple((view.objective.sign * curve.losses).tolist()),
        later_steps=tuple(whole.steps[later].tolist()),
        later_values=tuple((view.objective.sign * whole.losses[later]).tolist()),
        step=at,
        horizon=evidence.model.horizon,
        chance=evidence.beats(evidence.model.forecast(curve, row)),
        needed=None,
        best=view.objective.sign * evidence.best,
        best_trial=evidence.best_trial,
        expected=fan[-1].median,
        low=fan[-1].low,
        high=fan[-1].high,
        level=level,
        fan=fan,
        source="reconstructed",
        state=state_word(trial),
        returned=trial.value if trial.state == TrialState.COMPLETE else None,
        direction=view.objective.direction,
        sentence="",
        notes=tuple(_notes(before, evidence, trial, decision, recorded)),
        objective=view.objective.name,
        n_trials=evidence.complete,
    )
    if recorded is not None:
        same = ("chance", "needed", "best", "best_trial", "expected", "low", "high", "tolerance")
        explanation = replace(explanation, source="recorded", **{name: getattr(recorded, name) for name in same})
    return replace(explanation, sentence=_sentence(explanation, asked=step is not None))


# ------------------------------------------------------------------------------------------ what was known


def trials_before(view: StudyView, trial: FrozenTrial) -> StudyView:
    """The study when a trial began, for a trial that has not ended as it is now."""
    others = [other for other in view.trials if other.state.is_finished() and other.number != trial.number]
    if trial.state.is_finished():
        others = [other for other in others if ended_before(other, trial)]
    return replace(view, trials=others)


def _decision(view: StudyView, trial: FrozenTrial) -> PruningDecision | None:
    """The recorded decision to stop a trial; None if it went on all the same, or if the decision is of another study,
    from which the trial was copied."""
    decision = read_decision(trial) if trial.state == TrialState.PRUNED else None
    if decision is None or decision.best_trial not in view.by_number:
        return None
    known = set(expand_integers(decision.learned_from)) <= view.by_number.keys()
    return decision if known and view.by_number[decision.best_trial].values == [decision.best] else None


def _rested_on(view: StudyView, recorded: PruningDecision) -> StudyView:
    """The study with the trials alone that a decision rested on."""
    # If the best trial is none of those that the model had learned from, it is newer: the model leaves it out again.
    numbers = {*expand_integers(recorded.learned_from), recorded.best_trial}
    return replace(view, trials=[other for other in view.trials if other.number in numbers])


def _curve(view: StudyView, number: int, step: int | None) -> Curves:
    """The whole curve of a trial. Raises Unanswered if there is none, ValueError if there is none up to the step."""
    rows = np.flatnonzero(view.curves.numbers == number)
    if not len(rows):
        raise _unanswered(view.by_number[number])(
            f"Trial {number} reported no intermediate values (`trial.report(value, step)`), so there is no curve to "
            "judge."
        )
    curve = view.curves.select(rows)
    first = int(curve.steps[0])
    if step is not None and (not is_whole_number(step) or step < first):
        raise ValueError(
            printable(
                f"`step` must be a whole number from the first report of trial {number} on, which was at step {first}, "
                f"but got {step!r}."
            )
        )
    return curve


def _unanswered(trial: FrozenTrial) -> type[Unanswered]:
    """Why there is no answer about a trial: once it has ended, nothing more will be known of the time before."""
    return NoAnswer if trial.state.is_finished() else NoAnswerYet


def _subject(evidence: CurveEvidence, trial: FrozenTrial, curve: Curves, step: int | None) -> int:
    """The report that the answer is about: see `explain_pruning`."""
    last = int(curve.last_steps[0])
    if step is not None:
        return int(curve.until(step).last_steps[0])
    if trial.state != TrialState.COMPLETE or len(curve.steps) == 1:
        return last
    looks = np.unique(np.linspace(0, len(curve.steps) - 2, _MOST_LOOKS).round().astype(int))
    steps, row = curve.steps[looks].tolist(), evidence.row(trial)
    chances = [evidence.beats(evidence.model.forecast(curve.until(look), row)) for look in steps]
    return int(steps[int(np.argmin(chances))])


# ------------------------------------------------------------------------------------------ words


def _fan(sign: float, evidence: CurveEvidence, curve: Curves, row: Array, level: float) -> tuple[FanPoint, ...]:
    """What is expected at the positions ahead, and of the value."""
    positions, reports, value = evidence.model.fan(curve, row)
    steps = [*positions.tolist(), evidence.model.horizon]
    medians = sign * np.concatenate([reports.median, value.median])
    ends = [np.concatenate(pair) for pair in zip(reports.interval(level), value.interval(level), strict=True)]
    low, high = np.sort(sign * np.stack(ends), axis=0)
    return tuple(
        FanPoint(step, *numbers)
        for step, numbers in zip(steps, np.column_stack([medians, low, high]).tolist(), strict=True)
    )


def _sentence(found: PruningExplanation, *, asked: bool) -> str:
    of = f"step {found.step} of {found.horizon}"
    name = prefix(found.objective)
    beating = f"{name}{number_text(found.best)} (trial {found.best_trial}){by_text(found.tolerance)}"
    chance = f"a chance of {chance_text(found.chance)} of beating {beating}"
    ends = f"{number_text(found.low)} to {number_text(found.high)}"
    verb = "is" if found.state == "running" and found.source != "recorded" else "was"
    expected = f"{number_text(found.expected)} {verb} expected ({100 * found.level:g}% interval {ends})"
    returned = "" if found.returned is None else f" It returned {number_text(found.returned)}."
    if found.source == "recorded":
        needed = chance_text(found.needed or 0.0)
        return f"Trial {found.trial} was stopped at {of}: it had {chance}, and {needed} was needed; {expected}."
    if found.state == "running":
        return f"Trial {found.trial} is running: at {of} it has {chance}; {expected}."
    if found.state == "stopped" and not asked:
        return f"Trial {found.trial} was stopped at {of}. By its curve it had {chance}; {expected}."
    if found.state == "complete" and not asked and found.later_steps:
        return f"Trial {found.trial} ran to its end. At {of} it looked worst: it had {chance}; {expected}.{returned}"
    return f"At {of}, trial {found.trial} had {chance}; {expected}.{returned}"


def _notes(
    before: StudyView,
    evidence: CurveEvidence,
    trial: FrozenTrial,
    decision: PruningDecision | None,
    recorded: PruningDecision | None,
) -> list[str]:
    notes: list[str] = []
    if recorded is None:
        ended = counted(len(before.trials), "trial")
        when = "had ended when it began" if trial.state.is_finished() else "have ended so far"
        why = "no reason was recorded" if decision is None else "the recorded reason answers another question"
        notes.append(Note(f"Computed from the {ended} that {when}: {why}.", "scope"))
    if evidence.model.complete < _FEW:
        few = counted(evidence.model.complete, "complete curve")
        notes.append(Note(f"At that time, the model of curves had only {few}.", "size"))
    notes += horizon_notes(before, evidence.model.horizon)
    return notes


def horizon_notes(view: StudyView, horizon: int) -> list[str]:
    """A note if complete trials do not all end at the step that is predicted."""
    ends = view.curves.last_steps[view.curves.complete]
    others = int((ends != horizon).sum())
    if not others:
        return []
    taken = "which is taken for the last one; set `horizon` to choose another"
    return [Note(f"{others} of {len(ends)} complete trials ended at another step than {horizon}, {taken}.", "scope")]
