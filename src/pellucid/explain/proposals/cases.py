"""What there is to explain: a proposal, with the model and the acquisition that speak about it.

A proposal of pellucid is spoken about by what chose it, rebuilt from its receipt; a trial of another sampler by
pellucid's default model, given the trials that had finished when it began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from optuna.trial import FrozenTrial, TrialState

from pellucid.acquisition.base import Acquisition, Situation, from_state
from pellucid.acquisition.bounds import LCB
from pellucid.explain.proposals.games import Game
from pellucid.explain.rebuild import rebuilt_from, require_model
from pellucid.numerics import expand_integers, is_whole_number
from pellucid.records import Receipt, RecordError
from pellucid.study import study_io
from pellucid.study.arrays import arrays
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

_FEWEST = 3
_DEFAULT = LCB(2.0)


@dataclass(frozen=True)
class Case:
    """A proposal, and the model and acquisition that speak about it.

    best        the latent value to beat;  incumbent  the trial of which the model expected most
    n_seen      finished trials that the model was fitted on
    """

    trial: int
    game: Game
    acquisition: Acquisition
    best: float
    incumbent: int
    proposed: bool
    loss_sign: float
    n_seen: int
    notes: tuple[str, ...]


def case_of(view: StudyView, number: int) -> Case:
    if not view.trials:
        raise ValueError("The study has no trials yet, so there is nothing to explain.")
    if not is_whole_number(number):
        raise ValueError(f"A trial is named by its number, but got {number!r}.")
    trial = view.trial(number)
    receipt = view.receipt(number)
    if receipt is None:
        return _hypothetical(view, trial)
    require_model(receipt, number, "choice of the model to explain")
    return _receipted(view, trial, receipt)


def _receipted(view: StudyView, trial: FrozenTrial, receipt: Receipt) -> Case:
    assert receipt.acquisition is not None
    rebuilt = rebuilt_from(receipt, view)
    X, fits = rebuilt.space.encode([receipt.params])
    if not fits[0]:
        raise RecordError(f"The receipt of trial {trial.number} is damaged: its parameters are outside their ranges.")
    x = rebuilt.space.canonical(X)[0]
    players = _players(rebuilt.space.active(x[None])[0])
    game = Game(rebuilt.acquisition, rebuilt.surrogate, rebuilt.space, x, players)
    fitted_on = expand_integers(receipt.fitted_on)
    best, acquisition = receipt.acquisition.best, from_state(receipt.acquisition)
    notes = (*fate(trial), *([receipt.phase] if receipt.phase else []), *changes(trial, receipt))
    return Case(
        trial=trial.number,
        game=game,
        acquisition=acquisition,
        best=best,
        incumbent=_best(rebuilt.surrogate, fitted_on),
        proposed=True,
        loss_sign=view.sign,
        n_seen=len(fitted_on),
        notes=notes,
    )


def _hypothetical(view: StudyView, trial: FrozenTrial) -> Case:
    """The default model, fitted to what had finished when the trial began."""
    number = trial.number
    if not trial.params:
        raise ValueError(f"Trial {number} has no parameters{_so_far(trial)}, so there is nothing to explain.")
    before = [t for t in view.trials if t.number < number and _ended_before(t, trial)]
    seen = study_io.observations(before, view.sign)
    if len(seen) < _FEWEST:
        raise ValueError(
            f"Trial {number} was not proposed by pellucid, and a model needs at least {_FEWEST} trials that had "
            f"finished with a value when it began, but there were {len(seen)}."
        )
    known = {name: distribution for name, (distribution, _) in study_io.distributions(before).items()}
    new = [name for name in trial.params if name not in known]
    # Ranges as the trial had them; what earlier trials had outside of them is left out, as the sampler would.
    known.update({name: d for name, d in trial.distributions.items() if name in known})
    data = arrays({name: d for name, d in known.items() if not d.single()}, seen)
    if len(data.space) == 0:
        raise ValueError(f"No parameter of trial {number} varies, so there is nothing to explain.")
    if len(data.losses) < _FEWEST:
        raise ValueError(
            f"When trial {number} began, {len(data.losses)} of {len(seen)} finished trials lay inside its ranges: a "
            f"model needs at least {_FEWEST} to say anything about it."
        )
    gp = GaussianProcess(warp="auto").unfitted(data.space.nominal)
    gp.fit(data.X, data.losses, data.observations.noise_variance)
    x = data.space.canonical(data.space.encode([trial.params])[0])[0]
    has = np.array([name in trial.params for name in data.space.names]) & data.space.active(x[None])[0]
    if not has.any():
        raise ValueError(f"No finished trial before trial {number} had any of its parameters, so there is no model.")
    best = float(gp.latent_at_observed().min())
    function = _DEFAULT.bind(gp, Situation(best, gp.n_observed, len(data.space)), data.space)
    notes = fate(trial)
    if new:
        listed = ", ".join(f"`{name}`" for name in new)
        notes = (*notes, f"No finished trial had had {listed} before, so the model knew nothing about it.")
    game = Game(function, gp, data.space, x, _players(has))
    return Case(
        trial=number,
        game=game,
        acquisition=_DEFAULT,
        best=best,
        incumbent=_best(gp, data.observations.numbers),
        proposed=False,
        loss_sign=view.sign,
        n_seen=len(data.losses),
        notes=notes,
    )


def _best(gp: GaussianProcess, numbers: Sequence[int]) -> int:
    """The trial of which the model expected most, among those it was fitted on."""
    return numbers[int(np.argmin(gp.latent_at_observed()[: len(numbers)]))]


def _players(active: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(j) for j in np.flatnonzero(active))


def _ended_before(other: FrozenTrial, trial: FrozenTrial) -> bool:
    if other.datetime_complete is None or trial.datetime_start is None:
        return other.state.is_finished()
    return other.datetime_complete <= trial.datetime_start


def _so_far(trial: FrozenTrial) -> str:
    return " yet" if trial.state in (TrialState.RUNNING, TrialState.WAITING) else ""


def fate(trial: FrozenTrial) -> tuple[str, ...]:
    """What became of the proposal, where that is not a value."""
    if trial.state == TrialState.FAIL:
        return ("The trial failed afterwards.",)
    if trial.state == TrialState.RUNNING:
        return ("The trial is still running.",)
    return ()


def changes(trial: FrozenTrial, receipt: Receipt) -> tuple[str, ...]:
    """Whether the trial is what was proposed."""
    # By their text: NaN is a choice like any other.
    other = [
        name
        for name, value in receipt.params.items()
        if name in trial.params and repr(study_io.plain(trial.params[name])) != repr(value)
    ]
    if not other:
        return ()
    listed = ", ".join(f"`{name}` = {trial.params[name]!r}" for name in other)
    return (f"The trial ran with other values than were proposed ({listed}): it was enqueued or changed.",)
