"""What trials that were stopped early, or still run, would return: observations with an error, for every other model.

A model of curves learns from finished trials alone. Their curves do not change any more, so that a receipt that names
them is enough to make the same extrapolation again. A running trial is extrapolated once it has all its parameters, but
teaches nothing yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.models.curves.model import CurveModel, curve_model
from pellucid.models.curves.reports import Curves
from pellucid.numerics import Array, compress_integers, expand_integers, first_integers
from pellucid.provenance import CurveState
from pellucid.space.encoding import Space
from pellucid.study.arrays import encoded_rows
from pellucid.study.curves import Extrapolation, curves
from pellucid.study.kept import Kept
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer

# The sd that a Gaussian process is told is half the width of the central interval of this probability: the tails of a
# forecast are heavy, and its sd would say more about them than about the middle.
_MIDDLE = 0.6827
# Larger ones are cut, so that their squares stay finite.
_LARGEST_SD = 1e150
# See `to_learn_from`: for the values of stopped trials, what is newest matters less than for a decision.
_LEARN_SHARE = 8

Value = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Learned:
    """A model of curves, the space of its parameters, and the trials that it learned from.

    complete  the complete ones of their curves, as the model reads them
    stopped   extrapolated values of stopped trials by number, as far as they have been asked for
    """

    model: CurveModel
    space: Space
    numbers: tuple[int, ...]
    complete: Curves
    stopped: dict[int, Value] = field(default_factory=dict)

    def values(self, trials: Sequence[FrozenTrial], sign: float) -> dict[int, Value]:
        """Loss and variance of trials that were stopped or run, by number; none for those that reported no number."""
        new = [trial for trial in trials if trial.number not in self.stopped]
        found = self._extrapolated(new, sign) if new else {}
        self.stopped.update({t.number: found[t.number] for t in new if t.number in found and t.state.is_finished()})
        return {**{t.number: self.stopped[t.number] for t in trials if t.number in self.stopped}, **found}

    def _extrapolated(self, trials: Sequence[FrozenTrial], sign: float) -> dict[int, Value]:
        reported = curves(trials, sign)
        if not len(reported):
            return {}
        forecast = self.model.forecast(reported, _rows(trials, reported.numbers.tolist(), self.space))
        low, high = forecast.interval(_MIDDLE)
        sds = np.minimum(0.5 * (high - low), _LARGEST_SD)
        pairs = zip(map(_rounded, forecast.median.tolist()), map(_rounded, (sds**2).tolist()), strict=True)
        return dict(zip(reported.numbers.tolist(), pairs, strict=True))


def _rounded(value: float) -> float:
    """Without the last digits, which depend on how many trials are asked about at once: a kept value is a fresh one."""
    return float(f"{value:.12g}")


def extrapolated(view: StudyView, space: Space | None = None) -> StudyView:
    """The view with values for trials that were stopped early or still run; the same view if there are none, or if too
    few curves are complete. `space`: of the parameters that the model knows; default: those that vary."""
    if view.several or view.extrapolation is not None:
        return view
    ahead = [trial for trial in view.trials if trial.state in _UNKNOWN and trial.intermediate_values]
    if not ahead:
        return view
    learned = _last_learned(view, view.data.space if space is None else space)
    if learned is None:
        return view
    values = learned.values([trial for trial in ahead if _has_parameters(trial, learned.space)], view.objective.sign)
    return replace(view, extrapolation=Extrapolation(values, learned.numbers, learned.model.horizon))


def _has_parameters(trial: FrozenTrial, space: Space) -> bool:
    """Whether a trial has ended, or has every parameter that it will ask for: a running one may ask for more."""
    if trial.state.is_finished():
        return True
    X, fits = space.encode([trial.params])
    return bool(fits[0]) and all(
        name in trial.params for name, active in zip(space.names, space.active(X)[0], strict=True) if active
    )


_UNKNOWN = (TrialState.PRUNED, TrialState.RUNNING)
# The last model of every study: what it says does not depend on whether it was kept.
_kept: Kept[Learned] = Kept()


def _last_learned(view: StudyView, space: Space) -> Learned | None:
    chosen = to_learn_from(view.trials, _LEARN_SHARE)
    numbers = tuple([trial.number for trial in chosen])
    kept = _kept.last(view.study)
    if kept is not None and kept.numbers == numbers and kept.space == space:
        return kept
    learned = learned_from(view, chosen, space)
    if learned is not None:
        _kept.keep(view.study, learned)
    return learned


def to_learn_from(trials: Sequence[FrozenTrial], share: int) -> list[FrozenTrial]:
    """The first of the finished trials with a curve, so many that a model need not learn after every trial, but has
    learned again before their number has grown by 1 / share: learning is most of what curves cost."""
    finished = [trial for trial in trials if trial.state.is_finished() and trial.intermediate_values]
    every = 2 ** max((len(finished) // share).bit_length() - 1, 0)
    return finished[: len(finished) - len(finished) % every]


def learned_from(
    view: StudyView, trials: Sequence[FrozenTrial], space: Space, horizon: int | None = None
) -> Learned | None:
    """The model of the curves of these finished trials; None if too few are complete."""
    reported = curves(trials, view.objective.sign)
    rows = _rows(trials, reported.numbers.tolist(), space)
    model = curve_model(reported, rows, space.nominal, horizon)
    if model is None:
        return None
    complete = reported.select(np.flatnonzero(reported.complete))
    complete = complete.best_so_far() if model.best_so_far else complete
    return Learned(model, space, tuple([trial.number for trial in trials]), complete)


def curve_state(view: StudyView, numbers: Sequence[int]) -> CurveState | None:
    """What a receipt records of the extrapolation behind a model of these trials; None if there was none."""
    ahead = view.extrapolation
    if ahead is None:
        return None
    used = [number for number in numbers if number in ahead.values]
    running = [number for number in used if view.by_number[number].state == TrialState.RUNNING]
    return CurveState(
        horizon=ahead.horizon,
        learned_from=compress_integers(ahead.learned_from),
        stopped=compress_integers([number for number in used if number not in running]),
        running={str(number): ahead.values[number] for number in running},
    )


def as_recorded(view: StudyView, state: CurveState | None, space: Space) -> StudyView:
    """The view with the extrapolation that a receipt records. Raises ValueError if trials are missing."""
    if state is None:
        return replace(view, extrapolation=None)
    numbers, stopped = expand_integers(state.learned_from), expand_integers(state.stopped)
    missing = sorted({*numbers, *stopped} - view.by_number.keys())
    if missing:
        gone = first_integers(missing)
        raise NoAnswer(f"The storage no longer has trials {gone}, whose learning curves a model had learned from.")
    learned = learned_from(view, [view.by_number[number] for number in numbers], space, state.horizon)
    values = {int(number): value for number, value in state.running.items()}
    if learned is not None:
        values.update(learned.values([view.by_number[number] for number in stopped], view.objective.sign))
    return replace(view, extrapolation=Extrapolation(values, tuple(numbers), state.horizon))


def _rows(trials: Sequence[FrozenTrial], numbers: Sequence[int], space: Space) -> Array:
    """Encoded parameters of the trials with these numbers."""
    params = {trial.number: trial.params for trial in trials}
    return encoded_rows(space, [params[number] for number in numbers])
