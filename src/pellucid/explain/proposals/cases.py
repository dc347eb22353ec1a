"""A proposal to be explained, with the model and the acquisition that explain it.

A proposal of pellucid is explained by what chose it, rebuilt from its receipt; a trial of another sampler by pellucid's
default model, fitted to the trials that had finished when it began.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.acquisition.base import Acquisition, Situation, from_state
from pellucid.acquisition.bounds import DEFAULT_ACQUISITION
from pellucid.acquisition.units import LatentScale, Unit
from pellucid.explain import shapley
from pellucid.explain.model import fitted_model
from pellucid.explain.proposals.background import Part, rows_of
from pellucid.explain.proposals.games import Game, estimated
from pellucid.explain.proposals.relevance import Relevance, relevance
from pellucid.explain.proposals.shapley_mean import mean_shapley
from pellucid.explain.rebuild import rebuilt_from, require_model
from pellucid.numerics import Array, expand_integers, is_whole_number
from pellucid.records import OBJECTIVE, Attribution, Receipt, RecordError, Term
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.encoding import Space
from pellucid.study.observations import observations
from pellucid.study.trials import distributions
from pellucid.study.values import plain
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

# A model needs this many trials to say anything about a trial of another sampler.
_FEWEST = 3
# Smaller contributions, as a share of the numbers they are differences of, are rounding errors.
_ROUNDING = 1e-9
# Background rows for a radial kernel, whose average mean has no closed form.
_N_ROWS = 512


@dataclass(frozen=True)
class Shares:
    """Shapley values of a proposal against what it is compared with, in the unit of its explanation.

    values (p, t + 1)         by parameter: of every term (weights included), and of their sum
    intervals (p, t + 1, 2)   around the values;  payouts (t + 1,)  what the values sum to
    exact                     terms without sampling error;  n_samples  rows behind the other ones
    transformed               see `ProposalExplanation`;  rounding  smaller values are rounding errors
    """

    values: Array
    intervals: Array
    payouts: Array
    exact: tuple[str, ...]
    n_samples: int
    unit: str
    transformed: bool
    rounding: float


@dataclass(frozen=True, kw_only=True)
class Case(ABC):
    """A proposal, and what it needs to be explained.

    x (d,)       encoded;  players  columns of the parameters that it has
    params       of the proposal, as JSON carries them
    acquisition  its name;  terms  its words;  weights  of its terms
    mean, sd     what the model expected of the trial, in the unit that the receipt of such a proposal has
    incumbent    the trial with the best posterior mean
    n_trials     finished trials that the model was fitted to
    """

    trial: int
    space: Space
    x: Array
    players: tuple[int, ...]
    params: Mapping[str, Any]
    acquisition: str
    terms: dict[str, Term]
    weights: dict[str, float]
    mean: float
    sd: float
    incumbent: int
    proposed: bool
    n_trials: int
    notes: tuple[str, ...]

    @abstractmethod
    def against_background(self, parts: Sequence[Part], level: float) -> Shares:
        """Compared with the average over a background."""

    @abstractmethod
    def against_row(self, z: Array, level: float) -> Shares:
        """Compared with one encoded configuration (d,)."""

    def relevance(self) -> dict[str, Relevance]:
        """What the model knows about each parameter; empty if the model is not a Gaussian process."""
        return {}


@dataclass(frozen=True, kw_only=True)
class ModelCase(Case):
    """A proposal explained by a Gaussian process and an acquisition. `best`: the latent value to improve on."""

    game: Game
    chosen: Acquisition
    best: float

    def against_background(self, parts: Sequence[Part], level: float) -> Shares:
        game = self.game
        mean = game.function.mean_term
        exact: dict[int, tuple[Array, float]] = {}
        if mean is not None and not game.gp.kernel.radial:
            shares = [mean_shapley(game.gp, game.x, game.space, game.players, part) for part in parts]
            values = -np.mean([share.values for share in shares], axis=0)
            exact[game.names.index(mean)] = (values, -float(np.mean([share.average for share in shares])))
        attribution = estimated(game, parts, level, exact)
        return self._shares(attribution, tuple(game.names[k] for k in exact), self.average_latent(parts))

    def against_row(self, z: Array, level: float) -> Shares:
        game = self.game
        attribution = shapley.shapley_values(
            game.outputs, game.x, z[None], "baseline", players=game.players, level=level
        )
        exact = game.names if attribution.method == "baseline" else ()
        return self._shares(attribution, exact, float(game.gp.latent(z[None])[0][0]))

    def relevance(self) -> dict[str, Relevance]:
        return relevance(self.game.gp, self.space, self.x, self.players)

    def average_latent(self, parts: Sequence[Part]) -> float:
        """Average of the latent mean over a background."""
        gp, x, space = self.game.gp, self.game.x, self.game.space
        if not gp.kernel.radial:
            return float(np.mean([mean_shapley(gp, x, space, (), part).average for part in parts]))
        rows = [space.canonical(rows_of(part, space, 0, _N_ROWS, 0)) for part in parts]
        return float(np.mean([gp.latent_mean(X).mean() for X in rows]))

    def unit(self, background: float) -> Unit:
        """Unit of the contributions. `background`: average latent mean of what the proposal is compared with."""
        gp = self.game.gp
        proposal = float(gp.latent_mean(self.game.x[None])[0])
        return self.chosen.unit(LatentScale(gp, self.best, proposal, background))

    def _shares(self, attribution: Attribution, exact: tuple[str, ...], background: float) -> Shares:
        unit = self.unit(background)
        scale = unit.factor * np.append(self.game.weights, 1.0)
        payouts = np.atleast_1d(attribution.payout) * scale
        size = abs(float(payouts[-1])) + unit.factor * float(np.atleast_1d(np.abs(attribution.average))[-1])
        return Shares(
            values=attribution.values * scale,
            intervals=np.sort(attribution.intervals * scale[:, None], axis=-1),
            payouts=payouts,
            exact=exact,
            n_samples=0 if set(exact) == set(self.game.names) else attribution.n_samples,
            unit=unit.name,
            transformed=self.game.gp.hyperparameters.warp is not None and unit.name == OBJECTIVE,
            rounding=_ROUNDING * size,
        )


def checked_trial(view: StudyView, number: int) -> FrozenTrial:
    """The trial of this number. Raises ValueError if there is none."""
    if not view.trials:
        raise ValueError("The study has no trials yet, so there is nothing to explain.")
    if not is_whole_number(number):
        raise ValueError(f"A trial is identified by its number, but got {number!r}.")
    return view.trial(number)


def case_of(view: StudyView, number: int) -> ModelCase:
    """A trial that a Gaussian process explains. Raises ValueError if there is no such model."""
    trial = checked_trial(view, number)
    receipt = view.receipt(trial.number)
    if receipt is None:
        return _hypothetical(view, trial)
    if not receipt.proposed:
        raise ValueError(without_proposal(receipt))
    require_model(receipt, trial.number, "Gaussian process behind the proposal")
    return _receipted(view, trial, receipt)


def without_proposal(receipt: Receipt) -> str:
    """Why a trial that was sampled has no explanation: the answer of every function, command and page."""
    return f"{receipt} No model weighed its parameters, so none of them was a reason for it."


def _receipted(view: StudyView, trial: FrozenTrial, receipt: Receipt) -> ModelCase:
    assert receipt.acquisition is not None
    rebuilt = rebuilt_from(receipt, view)
    X, fits = rebuilt.space.encode([receipt.params])
    if not fits[0]:
        raise RecordError(f"The receipt of trial {trial.number} is damaged: its parameters are outside their ranges.")
    x = rebuilt.space.canonical(X)[0]
    players = np.flatnonzero(rebuilt.space.active(x[None])[0])
    reasons = tuple(text for text in (receipt.phase, receipt.turn) if text)
    return _model_case(
        view,
        trial,
        Game(rebuilt.acquisition, rebuilt.surrogate, rebuilt.space, x, tuple(map(int, players))),
        from_state(receipt.acquisition),
        receipt.acquisition.best,
        expand_integers(receipt.fitted_on),
        proposed=True,
        notes=(*outcome(trial), *reasons, *changes(trial, receipt)),
    )


def _hypothetical(view: StudyView, trial: FrozenTrial) -> ModelCase:
    """The default model, fitted to what had finished when the trial began."""
    data, unknown = _data_before(view, trial)
    space = data.space
    # Every trial has a model of its own here, so keeping them with the view would only fill the memory.
    gp = fitted_model(None, data)
    x = space.canonical(space.encode([trial.params])[0])[0]
    has = np.array([name in trial.params for name in space.names]) & space.active(x[None])[0]
    if not has.any():
        raise ValueError(
            f"No finished trial before trial {trial.number} had any of its parameters, so there is no model."
        )
    best = float(gp.latent_at_observed().min())
    function = DEFAULT_ACQUISITION.bind(gp, Situation(best, gp.n_observed, len(space)), space)
    notes = outcome(trial)
    if unknown:
        listed = ", ".join(f"`{name}`" for name in unknown)
        notes = (*notes, f"No finished trial had had {listed} before, so the model knew nothing about it.")
    return _model_case(
        view,
        trial,
        Game(function, gp, space, x, tuple(map(int, np.flatnonzero(has)))),
        DEFAULT_ACQUISITION,
        best,
        data.observations.numbers,
        proposed=False,
        notes=notes,
    )


def _data_before(view: StudyView, trial: FrozenTrial) -> tuple[Arrays, list[str]]:
    """The observations when a trial began, inside its ranges, and those of its parameters that no trial had had.

    Raises ValueError if they are too few for a model.
    """
    number = trial.number
    if not trial.params:
        so_far = " yet" if trial.state in (TrialState.RUNNING, TrialState.WAITING) else ""
        raise ValueError(f"Trial {number} has no parameters{so_far}, so there is nothing to explain.")
    before = [other for other in view.trials if other.number < number and _ended_before(other, trial)]
    observed = observations(before, view.sign)
    if len(observed) < _FEWEST:
        raise ValueError(
            f"Trial {number} was not proposed by pellucid, and a model needs at least {_FEWEST} trials that had "
            f"finished with a value when it began, but there were {len(observed)}."
        )
    known = distributions(before)
    unknown = [name for name in trial.params if name not in known]
    # Ranges as the trial had them. Earlier trials outside of them are left out, as the sampler would do.
    known.update({name: distribution for name, distribution in trial.distributions.items() if name in known})
    varying = {name: distribution for name, distribution in known.items() if not distribution.single()}
    data = arrays(varying, observed)
    if len(data.space) == 0:
        raise ValueError(f"No parameter of trial {number} varies, so there is nothing to explain.")
    if len(data.losses) < _FEWEST:
        raise ValueError(
            f"When trial {number} began, {len(data.losses)} of {len(observed)} finished trials lay inside its ranges: "
            f"a model needs at least {_FEWEST} to say anything about it."
        )
    return data, unknown


def _ended_before(other: FrozenTrial, trial: FrozenTrial) -> bool:
    if other.datetime_complete is None or trial.datetime_start is None:
        return other.state.is_finished()
    return other.datetime_complete <= trial.datetime_start


def _model_case(
    view: StudyView,
    trial: FrozenTrial,
    game: Game,
    acquisition: Acquisition,
    best: float,
    fitted_on: Sequence[int],
    *,
    proposed: bool,
    notes: tuple[str, ...],
) -> ModelCase:
    mean, sd = game.gp.predict(game.x[None])
    subject = acquisition.learns_about(game.space)
    return ModelCase(
        trial=trial.number,
        space=game.space,
        x=game.x,
        players=game.players,
        params={name: json_value(value) for name, value in game.space.decode(game.x[None])[0].items()},
        acquisition=acquisition.name,
        terms={
            name: term.filled(objective=view.objective.name, direction=view.direction, subject=subject)
            for name, term in _words(acquisition, game.names).items()
        },
        weights=game.function.weights(),
        mean=view.sign * float(mean[0]),
        sd=float(sd[0]),
        incumbent=_incumbent(game.gp, fitted_on),
        proposed=proposed,
        n_trials=len(fitted_on),
        notes=notes,
        game=game,
        chosen=acquisition,
        best=best,
    )


def _words(acquisition: Acquisition, names: Sequence[str]) -> dict[str, Term]:
    """The words for each term, in the order of the terms."""
    words = acquisition.words()
    missing = [name for name in names if name not in words]
    if missing:
        listed = ", ".join(map(repr, missing))
        raise ValueError(f"`words()` must have words for every term of {acquisition.name}, but lacks {listed}.")
    return {name: words[name] for name in names}


def _incumbent(gp: GaussianProcess, numbers: Sequence[int]) -> int:
    """The trial with the best posterior mean, among those that the model was fitted to."""
    return numbers[int(np.argmin(gp.latent_at_observed()[: len(numbers)]))]


def json_value(value: Any) -> Any:
    """A parameter's value as JSON can carry it."""
    carried = plain(value)
    return str(carried) if isinstance(carried, float) and not isfinite(carried) else carried


def outcome(trial: FrozenTrial) -> tuple[str, ...]:
    """What became of the trial, if it has no value."""
    if trial.state == TrialState.FAIL:
        return ("The trial failed afterwards.",)
    if trial.state == TrialState.RUNNING:
        return ("The trial is still running.",)
    return ()


def changes(trial: FrozenTrial, receipt: Receipt) -> tuple[str, ...]:
    """A note if the trial ran with other parameters than were proposed."""
    # Compared as text, because NaN is a choice like any other.
    changed = [
        name
        for name, value in receipt.params.items()
        if name in trial.params and repr(plain(trial.params[name])) != repr(value)
    ]
    if not changed:
        return ()
    listed = ", ".join(f"`{name}` = {trial.params[name]!r}" for name in changed)
    return (f"The trial ran with other values than were proposed ({listed}): it was enqueued or changed.",)
