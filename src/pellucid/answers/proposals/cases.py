"""A proposal to be explained, with the model and the acquisition that explain it.

A proposal of pellucid is explained by what chose it, rebuilt from its receipt; a trial of another sampler by pellucid's
default model, fitted to the trials that had finished when it began.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers import shapley
from pellucid.answers.attribution import Attribution
from pellucid.answers.proposals.background import Part, rows_of
from pellucid.answers.proposals.before import data_before, outcomes_before
from pellucid.answers.proposals.games import Game, estimated, known
from pellucid.answers.proposals.predicted import PredictedMean
from pellucid.answers.proposals.records import ExpectedValue
from pellucid.answers.proposals.relevance import Relevance, relevance
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.beliefs import Fits
from pellucid.beliefs.of_study import curve_note, curve_notes
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, expand_integers, is_whole_number
from pellucid.provenance import ModelReceipt, Receipt, Term
from pellucid.search.acquisition.base import Acquisition, AcquisitionFunction, Situation, from_state
from pellucid.search.acquisition.bounds import DEFAULT_ACQUISITION
from pellucid.search.acquisition.ehvi import EHVI
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.search.rebuild import RebuiltProposal, own_model_receipt, rebuilt_from
from pellucid.space.encoding import Dimension, Space
from pellucid.space.values import plain, same
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.words import OBJECTIVE, NoAnswer, NoAnswerYet, Note, UnreadableRecordError, choice_note, printable

# Smaller contributions, as a share of the numbers they are differences of, are rounding errors.
_ROUNDING = 1e-9
# Background rows for a radial kernel, whose average mean has no closed form.
_N_ROWS = 512
# A configuration that is expected to gain less for the front than this share of what others gain is hopeless, and
# counts as if it gained as much.
_HOPELESS = 1e-3


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
    objective    what `terms` and the unit of the objective are about; "" if that is several objectives
    expected     what the models expected of the trial, in the unit that the receipt of such a proposal has
    incumbent    the trial with the best posterior mean; None with several objectives
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
    objective: str
    expected: tuple[ExpectedValue, ...]
    incumbent: int | None
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
    """A proposal explained by Gaussian processes and an acquisition.

    best     the latent value to improve on
    models   behind the explanation, one for each objective that it is about, by what is good ("low latency")
    """

    game: Game
    models: Mapping[str, GaussianProcess]
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
        every = len(exact) == len(game.names)
        attribution = known(game, exact, level) if every else estimated(game, parts, level, exact)
        return self._shares(attribution, tuple(game.names[k] for k in exact), self.average_latent(parts))

    def against_row(self, z: Array, level: float) -> Shares:
        game = self.game
        attribution = shapley.shapley_values(
            game.outputs, game.x, z[None], "baseline", players=game.players, level=level
        )
        exact = game.names if attribution.method == "baseline" else ()
        return self._shares(attribution, exact, float(game.gp.latent(z[None])[0][0]))

    def relevance(self) -> dict[str, Relevance]:
        return relevance(self.models, self.space, self.x, self.players)

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
        raise NoAnswerYet("The study has no trials yet, so there is nothing to explain.")
    if not is_whole_number(number):
        raise ValueError(f"A trial is identified by its number, but got {number!r}.")
    return view.trial(number)


def case_of(view: StudyView, number: int, target: Target | None = None) -> ModelCase:
    """A trial that a Gaussian process explains. Raises Unanswered if there is no such model.

    `target`: what is explained is the prediction for it, in place of the acquisition.
    """
    trial = checked_trial(view, number)
    receipt = view.receipt(trial.number)
    if receipt is None:
        return _hypothetical(view, trial, target)
    if not receipt.proposed:
        raise NoAnswer(without_proposal(receipt))
    receipt = own_model_receipt(receipt, trial, "Gaussian process behind the proposal")
    return _receipted(view, trial, receipt, target)


def without_proposal(receipt: Receipt) -> str:
    """Why a trial that was sampled has no explanation: the answer of every function, command and page."""
    return f"{receipt} So no parameter was a reason for it."


def _receipted(view: StudyView, trial: FrozenTrial, receipt: ModelReceipt, target: Target | None) -> ModelCase:
    constraint = target is not None and target.is_constraint
    objective = view.objectives[0] if target is None or constraint else target
    rebuilt = rebuilt_from(receipt, view, objective)
    gp, fitted_on = rebuilt.surrogate, receipt.models[rebuilt.objective].fitted_on
    if target is not None and constraint:
        gp, fitted_on = _constraint(rebuilt, target.name)
    if not fitted_on:
        raise UnreadableRecordError(
            f"The receipt of trial {trial.number} is damaged: it names no trial that its model had seen."
        )
    X, fits = rebuilt.space.encode([receipt.params])
    if not fits[0]:
        raise UnreadableRecordError(
            f"The receipt of trial {trial.number} is damaged: its parameters are outside their ranges."
        )
    x = rebuilt.space.canonical(X)[0]
    players = np.flatnonzero(rebuilt.space.active(x[None])[0])
    reasons = tuple(Note(text, "receipt") for text in (receipt.phase, receipt.turn) if text)
    function = rebuilt.acquisition
    if target is not None:
        function = PredictedMean().bind(gp, function.situation, rebuilt.space)
    return _model_case(
        view,
        target,
        trial,
        Game(function, gp, rebuilt.space, x, tuple(map(int, players)), _reach(function, target)),
        from_state(receipt.acquisition) if target is None else PredictedMean(),
        receipt.acquisition.best,
        expand_integers(fitted_on),
        proposed=True,
        notes=(*outcome(trial), *reasons, *changes(trial, receipt), *_on_curves(receipt)),
    )


def _reach(function: AcquisitionFunction, target: Target | None) -> float:
    return inf if target is not None or function.situation.outcomes is None else -log(_HOPELESS)


def _constraint(rebuilt: RebuiltProposal, name: str) -> tuple[GaussianProcess, str]:
    """The model of a constraint, and the trials that it was fitted to. Raises NoAnswer if there was none yet."""
    models = {model.name: model.gp for model in rebuilt.constraints}
    if name not in models:
        raise NoAnswer(f"When trial {rebuilt.receipt.trial} was proposed, no trial had reported `{name}`.")
    (state,) = (state for state in rebuilt.receipt.constraints if state.name == name)
    return models[name], state.fitted_on


def _hypothetical(view: StudyView, trial: FrozenTrial, target: Target | None) -> ModelCase:
    """The default model, fitted to what had finished when the trial began."""
    data, n, unknown = data_before(view, trial, target)
    space = data.space
    # Every trial has a model of its own here, so keeping them with the view would only fill the memory.
    objective = view.objectives[0] if target is None else target
    gp = Fits(objective).model(data if target is not None else data.of(objective)).gp
    x = space.canonical(space.encode([trial.params])[0])[0]
    has = np.array([name in trial.params for name in space.names]) & space.active(x[None])[0]
    if not has.any():
        raise NoAnswer(
            f"No finished trial before trial {trial.number} had any of its parameters, so there is no model."
        )
    best = float(gp.latent_at_observed().min())
    several = len(view.objectives) > 1 and target is None
    outcomes = outcomes_before(view, data, gp) if several else None
    acquisition = PredictedMean() if target is not None else EHVI() if several else DEFAULT_ACQUISITION
    situation = Situation(best, gp.n_observed, len(space), outcomes=outcomes)
    function = acquisition.bind(gp if outcomes is None else outcomes.models[0], situation, space)
    notes = outcome(trial)
    if unknown:
        listed = ", ".join(f"`{name}`" for name in unknown)
        text = f"No finished trial had had {listed} before, so the model knew nothing about it."
        notes = (*notes, Note(text, "evidence"))
    notes = (*notes, *curve_notes(data), *choice_note(len(data), n))
    return _model_case(
        view,
        target,
        trial,
        Game(function, gp, space, x, tuple(map(int, np.flatnonzero(has))), _reach(function, target)),
        acquisition,
        best,
        data.observations.numbers,
        proposed=False,
        notes=notes,
    )


def _on_curves(receipt: ModelReceipt) -> list[str]:
    """A note if the model of a proposal rested on learning curves."""
    if receipt.curves is None:
        return []
    count = len(expand_integers(receipt.curves.stopped)) + len(receipt.curves.running)
    return curve_note(count, len(expand_integers(receipt.fitted_on)))


def _model_case(
    view: StudyView,
    target: Target | None,
    trial: FrozenTrial,
    game: Game,
    acquisition: Acquisition,
    best: float,
    fitted_on: Sequence[int],
    *,
    proposed: bool,
    notes: tuple[str, ...],
) -> ModelCase:
    objective = view.objectives[0] if target is None else target
    about = _about(view, objective, game, acquisition)
    subject = acquisition.learns_about(game.space)
    return ModelCase(
        trial=trial.number,
        space=game.space,
        x=game.x,
        players=game.players,
        params={name: json_value(value) for name, value in game.space.decode(game.x[None])[0].items()},
        acquisition=acquisition.name,
        terms={
            name: term.filled(objective=objective.name, direction=objective.direction, subject=subject)
            for name, term in _words(acquisition, game.names).items()
        },
        weights=game.function.weights(),
        objective=about[0][0].name if len(about) == 1 else "",
        expected=tuple(_expected(each, gp, game.x) for each, gp in about),
        incumbent=_incumbent(game.gp, fitted_on) if len(about) == 1 else None,
        proposed=proposed,
        n_trials=len(fitted_on),
        notes=notes,
        game=game,
        models={f"{'high' if each.direction == 'maximize' else 'low'} predicted {each.name}": gp for each, gp in about},
        chosen=acquisition,
        best=best,
    )


def _about(
    view: StudyView, target: Target, game: Game, acquisition: Acquisition
) -> list[tuple[Target, GaussianProcess]]:
    """What an explanation is about, with its models: several objectives, or one target."""
    outcomes = game.function.situation.outcomes
    if outcomes is None or isinstance(acquisition, PredictedMean):
        return [(target, game.gp)]
    return list(zip(view.objectives, outcomes.models, strict=True))


def _expected(target: Target, gp: GaussianProcess, x: Array) -> ExpectedValue:
    mean, sd = gp.predict(x[None])
    return ExpectedValue(target.name, target.direction, target.sign * float(mean[0]), float(sd[0]))


def _words(acquisition: Acquisition, names: Sequence[str]) -> dict[str, Term]:
    """The words for each term, in the order of the terms."""
    words = acquisition.words()
    missing = [name for name in names if name not in words]
    if missing:
        listed = ", ".join(map(repr, missing))
        raise ValueError(
            printable(f"`words()` must have words for every term of {acquisition.name}, but lacks {listed}.")
        )
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
        return (Note("The trial failed afterwards.", "outcome"),)
    if trial.state == TrialState.RUNNING:
        return (Note("The trial is still running.", "outcome"),)
    return ()


def changes(trial: FrozenTrial, receipt: Receipt) -> tuple[str, ...]:
    """A note if the trial ran with other parameters than were proposed."""
    proposed, ran = receipt.params, trial.params
    changed = [name for name, value in proposed.items() if name in ran and not same(ran[name], value)]
    if not changed:
        return ()
    outside = [
        name for name in changed if not Dimension(name, trial.distributions[name]).encode([proposed[name]])[1][0]
    ]
    listed = ", ".join(f"`{name}` = {ran[name]!r}" for name in changed)
    why = "it was enqueued or changed" if len(outside) < len(changed) else "its ranges do not have the proposed ones"
    return (Note(f"The trial ran with other values than were proposed ({listed}): {why}.", "outcome"),)
