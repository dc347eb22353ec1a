"""Why a trial was stopped early, or what the curve of any trial promised at a step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.explain.pruning.chance import LEVEL, CurveEvidence, curve_evidence
from pellucid.explain.text import counted
from pellucid.numerics import check_level, expand_integers, is_whole_number, one_thread
from pellucid.records import FanPoint, PruningDecision, PruningExplanation, chance_text, prefix
from pellucid.study.curves import Curves, check_horizon
from pellucid.study.pruning import read_decision
from pellucid.study.view import StudyView
from pellucid.surrogates.curves import FEWEST_COMPLETE, Forecast

# With fewer complete curves than this, the answer says so.
_FEW = 10
# Reports of a curve at which the chance is looked at.
_MOST_LOOKS = 100
_STATES = {TrialState.PRUNED: "stopped", TrialState.COMPLETE: "complete", TrialState.FAIL: "failed"}


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
        horizon: the step of a complete trial's last report; default: the most common one.
        level: of the interval.
    """
    check_level(level)
    check_horizon(horizon)
    with one_thread:
        return pruning_explanation_of(StudyView.of(study, "explain_pruning"), trial, step, horizon, level)


def pruning_explanation_of(
    view: StudyView, number: int, step: int | None = None, horizon: int | None = None, level: float = LEVEL
) -> PruningExplanation:
    trial = view.trial(number)
    whole = _curve(view, number, step)
    recorded = read_decision(trial) if step is None and horizon is None and level == LEVEL else None
    before = _before(view, trial, recorded)
    evidence = curve_evidence(before, horizon if recorded is None else recorded.horizon)
    if evidence is None:
        raise ValueError(_no_evidence(before, trial))
    at = _subject(evidence, trial, whole, step) if recorded is None else recorded.step
    curve, row = whole.until(at), evidence.row(trial)
    steps, ahead = evidence.model.fan(curve, row)
    fan = _fan(view.sign, steps.tolist(), ahead, level)
    later = whole.steps > at
    explanation = PruningExplanation(
        trial=number,
        steps=tuple(curve.steps.tolist()),
        values=tuple((view.sign * curve.losses).tolist()),
        later_steps=tuple(whole.steps[later].tolist()),
        later_values=tuple((view.sign * whole.losses[later]).tolist()),
        step=at,
        horizon=evidence.model.horizon,
        chance=evidence.beats(evidence.model.forecast(curve, row)),
        needed=None,
        best=view.sign * evidence.best,
        best_trial=evidence.best_trial,
        expected=fan[-1].median,
        low=fan[-1].low,
        high=fan[-1].high,
        level=level,
        fan=fan,
        source="reconstructed",
        state=_STATES.get(trial.state, "running"),
        returned=trial.value if trial.state == TrialState.COMPLETE else None,
        direction=view.direction,
        sentence="",
        notes=tuple(_notes(before, evidence, recorded)),
        objective=view.objective.name,
    )
    if recorded is not None:
        same = ("chance", "needed", "best", "best_trial", "expected", "low", "high")
        explanation = replace(explanation, source="recorded", **{name: getattr(recorded, name) for name in same})
    return replace(explanation, sentence=_sentence(explanation, asked=step is not None))


# ------------------------------------------------------------------------------------------ what was known


def trials_before(view: StudyView, trial: FrozenTrial) -> StudyView:
    """The study when a trial began, for a trial that has not ended as it is now."""
    began = trial.datetime_start
    if not trial.state.is_finished() or began is None:
        ended = [other for other in view.trials if other.state.is_finished() and other.number != trial.number]
    else:
        ended = [
            other
            for other in view.trials
            if other.datetime_complete is not None and other.datetime_complete <= began and other.number != trial.number
        ]
    return replace(view, trials=ended)


def _before(view: StudyView, trial: FrozenTrial, recorded: PruningDecision | None) -> StudyView:
    """The trials that the decision rested on."""
    if recorded is None:
        return trials_before(view, trial)
    numbers = {*expand_integers(recorded.learned_from), recorded.best_trial}
    return replace(view, trials=[other for other in view.trials if other.number in numbers])


def _curve(view: StudyView, number: int, step: int | None) -> Curves:
    """The whole curve of a trial. Raises ValueError if there is none, or none up to the step."""
    rows = np.flatnonzero(view.curves.numbers == number)
    if not len(rows):
        raise ValueError(
            f"Trial {number} reported no intermediate values (`trial.report(value, step)`), so there is no curve to "
            "judge."
        )
    curve = view.curves.select(rows)
    first = int(curve.steps[0])
    if step is not None and (not is_whole_number(step) or step < first):
        raise ValueError(
            f"`step` must be a whole number from the first report of trial {number} on, which was at step {first}, but "
            f"got {step!r}."
        )
    return curve


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


def _no_evidence(before: StudyView, trial: FrozenTrial) -> str:
    complete = int(before.curves.complete.sum())
    when = "when it began" if trial.state.is_finished() else "so far"
    return (
        f"What the curve of trial {trial.number} promised is not known: a model of curves needs at least "
        f"{FEWEST_COMPLETE} complete trials that reported one, and {when} there {'was' if complete == 1 else 'were'} "
        f"{complete}."
    )


# ------------------------------------------------------------------------------------------ words


def _fan(sign: float, steps: list[int], ahead: Forecast, level: float) -> tuple[FanPoint, ...]:
    ends = np.sort(sign * np.stack(ahead.interval(level), axis=1), axis=1)
    medians = sign * ahead.median
    return tuple(
        FanPoint(step, *numbers) for step, numbers in zip(steps, np.column_stack([medians, ends]).tolist(), strict=True)
    )


def _sentence(found: PruningExplanation, *, asked: bool) -> str:
    of = f"step {found.step} of {found.horizon}"
    name = prefix(found.objective)
    chance = f"a chance of {chance_text(found.chance)} to beat {name}{found.best:.4g} (trial {found.best_trial})"
    expected = f"{found.expected:.4g} was expected ({found.low:.4g} to {found.high:.4g})"
    returned = "" if found.returned is None else f" It returned {found.returned:.4g}."
    if found.source == "recorded":
        needed = chance_text(found.needed or 0.0)
        return f"Trial {found.trial} was stopped at {of}: it had {chance}, and {needed} was needed; {expected}."
    if found.state == "running":
        expected = expected.replace("was expected", "is expected")
        return f"Trial {found.trial} is running: at {of} it has {chance}; {expected}."
    if found.state == "stopped" and not asked:
        return f"Trial {found.trial} was stopped at {of}. By its curve it had {chance}; {expected}."
    if found.state == "complete" and not asked and found.later_steps:
        return f"Trial {found.trial} ran to its end. At {of} it looked worst: it had {chance}; {expected}.{returned}"
    return f"At {of}, trial {found.trial} had {chance}; {expected}.{returned}"


def _notes(before: StudyView, evidence: CurveEvidence, recorded: PruningDecision | None) -> list[str]:
    notes = []
    if recorded is None:
        ended = counted(len(before.trials), "trial")
        notes.append(f"Reconstructed from the {ended} that had ended when it began: no reason was recorded.")
    if evidence.model.complete < _FEW:
        notes.append(f"The model of curves rests on only {counted(evidence.model.complete, 'complete curve')}.")
    notes += horizon_notes(before, evidence.model.horizon)
    return notes


def horizon_notes(view: StudyView, horizon: int) -> list[str]:
    """A note if complete trials do not all end at the step that is predicted."""
    ends = view.curves.last_steps[view.curves.complete]
    others = int((ends != horizon).sum())
    if not others:
        return []
    return [
        f"{others} of {len(ends)} complete trials ended at another step than {horizon}, which is taken for the last "
        "one; set `horizon` to choose another."
    ]
