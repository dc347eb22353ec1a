"""What stopping trials early saved in a study, and what it may have cost."""

from __future__ import annotations

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers.pruning.chance import LEVEL, CurveEvidence, curve_evidence, why_unknown
from pellucid.answers.pruning.explanation import horizon_notes, trials_before
from pellucid.answers.pruning.records import ChanceBin, PruningRecord, StoppedTrial
from pellucid.beliefs import Beliefs
from pellucid.models.curves.reports import Curves, check_horizon
from pellucid.numerics import Array, one_thread
from pellucid.study.arrays import encoded_rows
from pellucid.study.pruning import read_decision
from pellucid.study.view import StudyView
from pellucid.words import NoAnswerYet, Note

# Complete trials whose predictions are checked, and shares of their steps at which: each trial costs a model.
_MOST_CHECKED, _LOOKS = 100, (0.1, 0.25, 0.5, 0.75)
# In studies with more trials than this a model costs more, so that fewer are checked, but no fewer than these.
_MANY, _FEWEST_CHECKED = 2000, 10
_BINS = 10
_ENDED = (TrialState.COMPLETE, TrialState.PRUNED)


def pruning_record(study: Study, *, horizon: int | None = None) -> PruningRecord:
    """What stopping trials early saved, which of them might have been the best, and whether predictions came true.

    Works for studies of any pruner. Chances are those of a model of all learning curves of the study.

    Args:
        study: a study with one objective whose trials report intermediate values.
        horizon: the step of a complete trial's last report; default: the one that most of them have.
    """
    check_horizon(horizon)
    with one_thread:
        return pruning_record_of(Beliefs(StudyView.of(study, "pruning_record")), horizon)


def pruning_record_of(beliefs: Beliefs, horizon: int | None = None) -> PruningRecord:
    view = beliefs.view
    evidence = curve_evidence(view, horizon)
    if evidence is None:
        raise NoAnswerYet(f"What stopping trials saved and cost is not known: {why_unknown(view, 'this study has')}")
    curves = view.curves
    stopped = view.stopped
    chances, expected = _chances(view, evidence, stopped)
    decisions = [read_decision(view.by_number[number]) for number in stopped.numbers.tolist()]
    last = evidence.model.horizon
    saved = stopped.steps_left(last)
    taken = curves.last_steps - curves.steps[curves.starts[:-1]] + 1
    ended = [number in view.by_number and view.by_number[number].state in _ENDED for number in curves.numbers.tolist()]
    bins, checked, coverage = _checked(view, evidence.model.horizon)
    stated = [decision.chance for decision in decisions if decision is not None]
    return PruningRecord(
        complete=int(curves.complete.sum()),
        stopped=len(stopped),
        steps=int(taken[ended].sum()),
        saved=int(saved.sum()),
        horizon=last,
        promised=sum(stated) if stated else None,
        lost=float(-np.expm1(np.log1p(-np.minimum(chances, 1.0 - 1e-12)).sum())),
        likeliest=int(stopped.numbers[int(np.argmax(chances))]) if len(stopped) else None,
        best=view.objective.sign * evidence.best,
        best_trial=evidence.best_trial,
        rows=tuple(
            StoppedTrial(
                number,
                int(stopped.last_steps[i]),
                int(saved[i]),
                None if decision is None else decision.chance,
                float(chances[i]),
                view.objective.sign * float(expected[i]),
            )
            for i, (number, decision) in enumerate(zip(stopped.numbers.tolist(), decisions, strict=True))
        ),
        bins=bins,
        checked=checked,
        coverage=coverage,
        direction=view.objective.direction,
        notes=tuple(_notes(view, evidence, len(stopped), coverage, checked)),
        objective=view.objective.name,
    )


def _chances(view: StudyView, evidence: CurveEvidence, stopped: Curves) -> tuple[Array, Array]:
    """The chance of beating the best (m,) of every stopped trial, and its expected loss (m,)."""
    if not len(stopped):
        return np.empty(0), np.empty(0)
    X = encoded_rows(evidence.space, [view.by_number[number].params for number in stopped.numbers.tolist()])
    forecast = evidence.model.forecast(stopped, X)
    return forecast.better_than(evidence.to_beat()), forecast.median


def _checked(view: StudyView, horizon: int) -> tuple[tuple[ChanceBin, ...], int, float | None]:
    """Chances that complete trials beat the best before them, from what was known when they began, and what came true;
    how many predictions that are; and how many values were inside their intervals."""
    complete = view.curves.numbers[view.curves.complete].tolist()
    most = max(_FEWEST_CHECKED, min(_MOST_CHECKED, _MOST_CHECKED * _MANY // len(view.trials)))
    chosen = np.unique(np.linspace(0, len(complete) - 1, min(len(complete), most)).round().astype(int))
    rows: list[tuple[float, bool, bool]] = []
    for number in (complete[i] for i in chosen.tolist()):
        rows += _predictions(view, view.by_number[number], horizon)
    if not rows:
        return (), 0, None
    chances, beat, inside = (np.array(column) for column in zip(*rows, strict=True))
    where = np.minimum((chances * _BINS).astype(int), _BINS - 1)
    bins = [
        ChanceBin(
            b / _BINS, (b + 1) / _BINS, int((where == b).sum()), *(float(c[where == b].mean()) for c in (chances, beat))
        )
        for b in np.unique(where).tolist()
    ]
    return tuple(bins), len(rows), float(inside.mean())


def _predictions(view: StudyView, trial: FrozenTrial, horizon: int) -> list[tuple[float, bool, bool]]:
    """At some of its steps: the chance of beating the best before it, whether it did, and whether its value was inside
    the interval."""
    evidence = curve_evidence(trials_before(view, trial), horizon)
    if evidence is None:
        return []
    curve = view.curves.select(np.flatnonzero(view.curves.numbers == trial.number))
    row, count, loss = evidence.row(trial), len(curve.steps), float(curve.final[0])
    predictions = []
    for look in sorted({max(round(share * count), 1) for share in _LOOKS} - {count}):
        forecast = evidence.model.forecast(curve.until(int(curve.steps[look - 1])), row)
        low, high = (float(end[0]) for end in forecast.interval(LEVEL))
        predictions.append((evidence.beats(forecast), loss < evidence.best, low <= loss <= high))
    return predictions


def _notes(view: StudyView, evidence: CurveEvidence, stopped: int, coverage: float | None, checked: int) -> list[str]:
    notes = horizon_notes(view, evidence.model.horizon)
    if stopped and coverage is not None:
        held = f"{coverage:.0%} of {checked} values were inside their 95% intervals"
        notes.append(Note(f"Only predictions for trials that ran on can be checked: {held}.", "curves"))
    return notes
