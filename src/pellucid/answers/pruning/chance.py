"""The chance that a trial, judged by its curve so far, ends better than every trial before it.

Notation
    P      that the trial returns less than the best loss, minus the tolerance
    i      trials that have ended before it: one that is like them beats them all with the chance 1 / (i + 1)
    r      share of the steps that are left, 0 if that is less than a tenth
    keep   the chance of losing the winner that the user accepts
    c      how far below the limit trials are stopped: see `_SLACK`

A trial is stopped once P < c keep r / (i + 1): for its price, its chance is then so much smaller than that of a new
trial. If N trials are run, one that beats the i before it is the best of all with a chance of about (i + 1) / N. So
with c = 1 a stopped one is the winner with a chance of at most keep / N, and any of N stopped ones with a chance of at
most `keep`. That bound is far away: P falls in steps and r is below 1, so that c is larger.
The last tenth of a training is never saved: its value is worth more to every answer than a few steps.

Nor is a trial stopped while it is level with what the best trial had reported at that step. Where few trials learn at
all, and late, the model takes them for exceptions; but what the best one looked like then is no reason to stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.beliefs.feasibility import none_feasible
from pellucid.models.curves import FEWEST_COMPLETE, CurveModel, Forecast
from pellucid.models.curves.reports import Curves
from pellucid.numerics import Array, compress_integers
from pellucid.provenance import PruningDecision
from pellucid.space.encoding import Space
from pellucid.study.arrays import encoded_rows
from pellucid.study.curves import curves
from pellucid.study.extrapolation import Learned, learned_from, to_learn_from
from pellucid.study.kept import Kept
from pellucid.study.targets import single_objective
from pellucid.study.view import StudyView

# Of the interval that a decision states.
LEVEL = 0.95
# Relative difference up to which two values are equal.
_TIE = 1e-9
# c: on the design tasks (30 runs each of our sampler and of TPE), the trial that would have been the best was stopped
# in 1 of 60 runs with c keep = 0.25, the default, and in 10 of 60 with c keep = 1.
_SLACK = 5.0
# A report is level with another up to this share of what curves still change from its step on (root mean square).
_LEVEL_SHARE = 0.05
# Share of the steps that a stop has to save.
_LEAST_SAVING = 0.1
# See `to_learn_from`. On 30 studies of the design tasks, forecasts with 8 were a little worse, with 4 much: the newest
# trials are often those that are most alike.
_LEARN_SHARE = 16


@dataclass(frozen=True, eq=False)
class CurveEvidence:
    """What the finished trials of a study know about learning curves.

    learned        the model, and what it has learned from
    sign           loss = sign * value
    best           the least loss of a complete, feasible trial, of trial `best_trial`
    best_curve     its curve, as the model reads it; empty if it has none
    varied         whether complete trials returned different values: if not, nothing shows that a trial is worse
    ended          trials that have ended;  complete  those of them that returned a value and have a curve
    """

    learned: Learned
    sign: float
    best: float
    best_trial: int
    best_curve: Curves
    varied: bool
    ended: int
    complete: int

    @property
    def model(self) -> CurveModel:
        return self.learned.model

    @property
    def space(self) -> Space:
        return self.learned.space

    def curve(self, trial: FrozenTrial) -> Curves:
        """Empty if the trial has reported no number."""
        return curves([trial], self.sign)

    def row(self, trial: FrozenTrial) -> Array:
        """Its encoded parameters (1, d)."""
        return encoded_rows(self.space, [trial.params])

    def needed(self, keep: float, curve: Curves) -> float:
        """The chance below which a trial with this curve is stopped: see above."""
        first, last, horizon = int(curve.steps[0]), int(curve.last_steps[0]), self.model.horizon
        left = (horizon - last) / max(horizon - first + 1, 1)
        if not self.varied or left < _LEAST_SAVING:
            return 0.0
        return min(_SLACK * keep * min(left, 1.0) / (self.ended + 1), 1.0)

    def beats(self, forecast: Forecast, tolerance: float = 0.0) -> float:
        """The chance of ending better than the best; a tie is not better."""
        return float(forecast.better_than(self.to_beat(tolerance))[0])

    def to_beat(self, tolerance: float = 0.0) -> float:
        """The loss that a better trial is below."""
        return self.best - max(tolerance, _TIE * abs(self.best))

    def goes_on(self, trial: FrozenTrial, keep: float, tolerance: float) -> bool:
        """Whether a trial has the chance that it needs; also if it has reported no number."""
        curve = self.curve(trial)
        if not len(curve):
            return True
        needed = self.needed(keep, curve)
        if needed == 0.0 or self.level(curve, tolerance):
            return True
        return self.beats(self.model.forecast(curve, self.row(trial)), tolerance) >= needed

    def level(self, curve: Curves, tolerance: float = 0.0) -> bool:
        """Whether the last report of a curve is about as good as that of the best trial at the same step, or better by
        the tolerance."""
        if not len(self.best_curve):
            return False
        step = int(curve.last_steps[0])
        best = float(self.best_curve.at([step])[0, 0])
        now, end = self.learned.complete.at([step, self.model.horizon]).T
        scale = max(float(np.abs(end - now).max()), 1e-300)  # Squares of losses may overflow.
        change = scale * float(np.sqrt(np.mean(((end - now) / scale) ** 2)))
        own = curve.losses.min() if self.model.best_so_far else curve.losses[-1]
        return bool(own <= best - tolerance + _LEVEL_SHARE * change)


def curve_evidence(
    view: StudyView, horizon: int | None = None, known: CurveEvidence | None = None
) -> CurveEvidence | None:
    """None if too few trials with a curve are complete, or no complete trial is feasible. `known`: earlier evidence for
    the same horizon, whose model is used again if a new one would be the same."""
    complete = view.observations.of_complete_trials.of_feasible_trials
    if not len(complete):
        return None
    chosen = to_learn_from(view.trials, _LEARN_SHARE)
    if known is not None and known.learned.numbers == tuple([trial.number for trial in chosen]):
        learned: Learned | None = known.learned
    else:
        # The space, too, is that of the chosen trials: what the model says depends on nothing else.
        learned = learned_from(view, chosen, replace(view, trials=chosen).data.space, horizon)
    if learned is None:
        return None
    row = int(np.argmin(complete.losses))
    best_curve = curves([view.by_number[complete.numbers[row]]], view.objective.sign)
    return CurveEvidence(
        learned=learned,
        sign=view.objective.sign,
        best=float(complete.losses[row]),
        best_trial=complete.numbers[row],
        best_curve=best_curve.best_so_far() if learned.model.best_so_far else best_curve,
        varied=float(complete.losses.max()) > float(complete.losses[row]),
        ended=sum(trial.state.is_finished() for trial in view.trials),
        complete=sum(trial.state == TrialState.COMPLETE and bool(trial.intermediate_values) for trial in view.trials),
    )


def why_unknown(view: StudyView, there_are: str) -> str:
    """Why there is no evidence. `there_are`: what stands before the number of curves."""
    complete, returned = int(view.curves.complete.sum()), view.observations.of_complete_trials
    if complete >= FEWEST_COMPLETE and not returned.feasible.any():
        return none_feasible(returned)
    return (
        f"a model of curves needs at least {FEWEST_COMPLETE} complete trials that reported one "
        f"(`trial.report(value, step)`), and {there_are} {complete}."
    )


# The last evidence of a study, with the horizon and the number of finished trials that it is for: trials that have
# finished do not change.
_last: Kept[tuple[int | None, int, CurveEvidence | None]] = Kept()


def current_evidence(study: Study, horizon: int | None = None) -> CurveEvidence | None:
    """`curve_evidence` of a study as it is now, made again only if a trial has finished since."""
    trials = study.get_trials(deepcopy=False)
    finished = sum(trial.state.is_finished() for trial in trials)
    last_horizon, last_finished, known = _last.last(study) or (None, -1, None)
    if (last_horizon, last_finished) == (horizon, finished):
        return known
    view = StudyView((single_objective(study, "CurvePruner"),), trials, study)
    evidence = curve_evidence(view, horizon, known if last_horizon == horizon else None)
    _last.keep(study, (horizon, finished, evidence))
    return evidence


def decision(evidence: CurveEvidence, trial: FrozenTrial, keep: float, tolerance: float = 0.0) -> PruningDecision:
    """What is known of a trial by its curve so far, which has a report, and the chance that it needs to go on."""
    curve = evidence.curve(trial)
    forecast = evidence.model.forecast(curve, evidence.row(trial))
    low, high = (evidence.sign * float(end[0]) for end in forecast.interval(LEVEL))
    return PruningDecision(
        trial=trial.number,
        step=int(curve.last_steps[0]),
        horizon=evidence.model.horizon,
        chance=evidence.beats(forecast, tolerance),
        needed=evidence.needed(keep, curve),
        best=evidence.sign * evidence.best,
        best_trial=evidence.best_trial,
        expected=evidence.sign * float(forecast.median[0]),
        low=min(low, high),
        high=max(low, high),
        learned_from=compress_integers(evidence.learned.numbers),
        tolerance=tolerance,
    )
