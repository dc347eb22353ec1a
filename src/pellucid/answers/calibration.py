"""Were the predictions true? Receipts hold what the model expected before each trial ran.

Notation
    z_t   (value - mean) / sd of trial t, in the user's unit;  for leave-one-out on the latent scale, where the model is
          a plain Gaussian process: a monotone warp keeps which values are inside
    q     quantile of the standard normal distribution at the level: |z| <= q is inside
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState
from scipy.special import bdtr

from pellucid.answers.finding import Finding
from pellucid.beliefs import Beliefs
from pellucid.beliefs.of_study import curve_notes, opened
from pellucid.claims import SHIFTED, TOO_SURE
from pellucid.notebook import Rows
from pellucid.numerics import Array, check_level
from pellucid.study.observations import Observations
from pellucid.study.predictions import predictions
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.words import OBJECTIVE, NoAnswerYet, Note, about, counted, outside_note


@dataclass(frozen=True)
class PredictedTrial:
    """A trial with its prediction. `sd` is that of the value, noise included; z = (observed - predicted) / sd; for
    leave-one-out on the scale of the model, where its distribution is normal."""

    trial: int
    predicted: float
    sd: float
    observed: float
    z: float


@dataclass(frozen=True)
class CalibrationWindow:
    """Consecutive predictions: from trial `first` to trial `last`."""

    first: int
    last: int
    n: int
    coverage: float
    z_mean: float
    z_sd: float


@dataclass(frozen=True)
class Calibration(Finding):
    """Whether predictions were true.

    n              predictions that could be compared with a value
    coverage       the share of values inside their interval at `level`
    z_mean, z_sd   of z = (observed - predicted) / sd: 0 and 1 if the model is right; z_sd is None for one prediction
    source         'receipts' (predictions made before the trials ran) or 'leave-one-out' (made afterwards: each trial
                   predicted from all others)
    verdict        'trust', 'optimistic', 'pessimistic', 'too sure', 'too cautious' or 'too few'
    rows           every prediction;  windows  the first, middle and last third of them, if there are enough
    objective      its name, or that of a constraint
    """

    _rows: ClassVar[Rows] = "last"

    n: int
    coverage: float
    level: float
    z_mean: float
    z_sd: float | None
    source: str
    verdict: str
    rows: tuple[PredictedTrial, ...]
    windows: tuple[CalibrationWindow, ...]
    direction: str
    sentence: str
    notes: tuple[str, ...] = ()
    objective: str = OBJECTIVE

    @property
    def n_trials(self) -> int:
        """Trials with a prediction that could be compared."""
        return self.n

    @property
    def doubtful(self) -> bool:
        """Whether intervals of the model should not be taken at their word."""
        return self.verdict in ("optimistic", "pessimistic", "too sure")

    def _columns(self) -> Mapping[str, Any]:
        """One row per prediction."""
        names = ("trial", "predicted", "sd", "observed", "z")
        return {name: [getattr(row, name) for row in self.rows] for name in names}


# With fewer predictions a verdict would be luck: of 14, one outside more or less moves the coverage by 7 points. The
# same number decides between receipts and leave-one-out.
_FEWEST = 15
# A shift of the mean is clear from this many standard errors on.
_CLEAR = 2.5
# Leave-one-out costs the cube of the trials: of more trials than this, the newest are predicted.
_MOST_LEFT_OUT = 600
# The study is divided into this many windows.
_WINDOWS = 3
_AFTERWARDS = Note(
    "The predictions were made afterwards, each trial from the others; but the model's settings were fitted to all, so "
    "this check is slightly optimistic.",
    "scope",
)


def calibration(study: Study, *, objective: str | int | None = None, level: float = 0.95) -> Calibration:
    """Whether the model's predictions were true, and so whether its intervals can be trusted.

    Predictions that pellucid's receipts made before the trials ran are compared with what the trials returned. If there
    are too few (another sampler ran the study), every trial is predicted from all others instead.

    Args:
        study: any study.
        objective: the name or number of one of several objectives, or the name of a constraint, for an answer about
            that; default: the study's only objective.
        level: of the intervals.
    """
    check_level(level)
    with opened(study, "calibration", objective) as (beliefs, target):
        return calibration_of(beliefs, target, level)


def calibration_of(beliefs: Beliefs, target: Target, level: float = 0.95) -> Calibration:
    view, data = beliefs.view, beliefs.data(target)
    rows = [
        PredictedTrial(p.trial, p.mean, p.sd, p.value, p.z) for p in predictions(view, target) if math.isfinite(p.z)
    ]
    source, notes = "receipts", _left_out(view, view.observed(target))
    if len(rows) < _FEWEST:
        others = _after_the_fact(beliefs, target)
        if len(others) > len(rows):
            rows, source = others, "leave-one-out"
            notes += [_AFTERWARDS, *_not_predicted(len(view.observed(target)), len(data))]
    if not rows:
        raise NoAnswerYet(
            "There is no prediction to check yet: that needs one trial that a model proposed, or any 3 trials, with a "
            "finite value."
        )
    return _judged(rows, source, level, target, [*notes, *curve_notes(data)])


def _left_out(view: StudyView, observed: Observations) -> list[str]:
    """A note if trials have no value that a prediction could be compared with."""
    numbers = set(observed.numbers)
    pruned = sum(trial.state == TrialState.PRUNED for trial in view.trials if trial.number in numbers)
    infinite = sum(
        done and not math.isfinite(value) for done, value in zip(observed.complete, observed.returned, strict=True)
    )
    running = sum(trial.state == TrialState.RUNNING for trial in view.trials if trial.number in numbers)
    failed = sum(trial.state.is_finished() for trial in view.trials) - len(observed) + running
    counts = {"pruned": pruned, "infinite": infinite, "failed": failed}
    listed = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    unreadable = len(view.unreadable)
    texts = [f"Trials without a value to compare are left out ({listed})."] if listed else []
    if unreadable:
        texts.append(
            f"{counted(unreadable, 'receipt')} could not be read and {'is' if unreadable == 1 else 'are'} left out."
        )
    return [Note(text, "omission") for text in texts]


def _not_predicted(n: int, inside: int) -> list[str]:
    """Notes on trials that have a value, but no prediction from all others."""
    notes: list[str] = []
    if inside < n:
        notes.append(outside_note(n - inside, n))
    if inside > _MOST_LEFT_OUT:
        notes.append(Note(f"Only the newest {_MOST_LEFT_OUT} trials are predicted.", "omission"))
    return notes


def _after_the_fact(beliefs: Beliefs, target: Target) -> list[PredictedTrial]:
    """Every complete trial inside the present ranges (the newest of many), predicted from all others."""
    data, sign = beliefs.data(target), target.sign
    if len(data) < 3 or len(data.space) == 0:
        return []
    gp = beliefs.model(target).gp
    if len(data) > _MOST_LEFT_OUT:
        keep = slice(-_MOST_LEFT_OUT, None)
        noise = data.observations.noise_variance
        conditioned = type(gp).from_hyperparameters(gp.hyperparameters)
        gp = conditioned.condition(data.X[keep], data.losses[keep], None if noise is None else noise[keep])
    mean, sd = gp.leave_one_out()
    offset = len(data) - len(mean)
    predicted, spread = gp.from_latent(mean, sd)
    rows = []
    for i, z in enumerate((gp.data.z - mean) / sd):
        observed, complete = data.observations.returned[offset + i], data.observations.complete[offset + i]
        if complete and math.isfinite(observed) and math.isfinite(spread[i]):
            number = data.observations.numbers[offset + i]
            values = (sign * float(predicted[i]), float(spread[i]), sign * float(observed))
            rows.append(PredictedTrial(number, *values, sign * float(z)))
    return rows


# ---------------------------------------------------------------------- judgement


def _judged(
    rows: Sequence[PredictedTrial], source: str, level: float, target: Target, notes: Sequence[str]
) -> Calibration:
    z = np.array([row.z for row in rows])
    q = NormalDist().inv_cdf(0.5 + 0.5 * level)
    inside = np.abs(z) <= q
    verdict = _verdict(z * target.sign, int(inside.sum()), level)
    return Calibration(
        n=len(rows),
        coverage=float(inside.mean()),
        level=level,
        z_mean=float(z.mean()),
        z_sd=float(z.std(ddof=1)) if len(z) > 1 else None,
        source=source,
        verdict=verdict,
        rows=tuple(rows),
        windows=_windows(rows, q) if len(rows) >= _FEWEST else (),
        direction=target.direction,
        sentence=about(target.name, _sentence(verdict, len(rows), int(inside.sum()), level, z * target.sign)),
        notes=tuple(notes),
        objective=target.name,
    )


def _windows(rows: Sequence[PredictedTrial], q: float) -> tuple[CalibrationWindow, ...]:
    windows = []
    for part in np.array_split(np.arange(len(rows)), _WINDOWS):
        z = np.array([rows[i].z for i in part])
        inside = float((np.abs(z) <= q).mean())
        ends = rows[part[0]].trial, rows[part[-1]].trial
        windows.append(CalibrationWindow(*ends, len(part), inside, float(z.mean()), float(z.std(ddof=1))))
    return tuple(windows)


def _verdict(z: Array, inside: int, level: float) -> str:
    """By a binomial test of the coverage, then by the shift of the mean. z is positive where a value was worse."""
    n, mean, sd = len(z), float(np.mean(z)), float(np.std(z))
    if n < _FEWEST:
        return "too few"
    shifted = abs(mean) >= SHIFTED.threshold and abs(mean) >= _CLEAR * max(sd, 1e-9) / math.sqrt(n)
    if shifted:
        return "optimistic" if mean > 0 else "pessimistic"
    if bdtr(inside, n, level) < TOO_SURE.threshold:
        return "too sure"
    # Coverage above a high level cannot be told from it with few predictions; a spread of z that is half of 1 can.
    if sd < 0.5 and inside >= level * n:
        return "too cautious"
    return "trust"


def _sentence(verdict: str, n: int, inside: int, level: float, z: Array) -> str:
    held = f"{inside} of {counted(n, 'prediction')} ({100 * inside / n:.0f}%) held"
    promised = f"against the {100 * level:.4g}% promised"
    shift = f"{abs(float(np.mean(z))):.1f} sd on average"
    match verdict:
        case "too few":
            return f"{held}, {promised}: too few predictions to judge (at least {_FEWEST} are needed)."
        case "optimistic":
            return f"Predictions were too optimistic by {shift}: expect worse values than the model says. {held}."
        case "pessimistic":
            return f"Predictions were too pessimistic by {shift}: expect better values than the model says. {held}."
        case "too sure":
            return f"Predictions were too sure: {held}, {promised}. Read intervals as wider than they are."
        case "too cautious":
            return f"{held}, {promised}, most of them well inside: the intervals are wider than they need to be."
    return f"{held}, {promised}: trust the intervals."
