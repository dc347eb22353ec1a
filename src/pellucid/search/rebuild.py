"""The model behind a proposal, exactly as it was when it proposed the trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel
from pellucid.notebook import document
from pellucid.numerics import Array, expand_integers, first_integers, one_thread
from pellucid.provenance import ConstraintState, CurveState, ModelReceipt, ModelState, ProposedReceipt, Receipt
from pellucid.search.acquisition.base import AcquisitionFunction, Outcomes, Situation, from_state, latent_rows
from pellucid.space.encoding import Condition, Space
from pellucid.study.arrays import Arrays, encoded
from pellucid.study.constraint_data import ConstraintData
from pellucid.study.extrapolation import as_recorded, extrapolated
from pellucid.study.targets import Target, named
from pellucid.study.trials import distribution_from, repeated
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer, NoAnswerYet, Unanswered, UnreadableRecordError, cause_of, printable

WHERE_TO_LOOK = "`pellucid.receipts(study)` lists the trials that a model proposed (kind 'model')."


@dataclass(frozen=True)
class RebuiltProposal:
    """A past decision: the space, the surrogate (conditioned on pending trials too), and the acquisition that chose the
    trial. With several objectives, `surrogate` and `predict` are about the one that was asked about, whose number is
    `objective`."""

    receipt: ModelReceipt
    space: Space
    surrogate: GaussianProcess
    acquisition: AcquisitionFunction
    objective: int = 0

    @property
    def constraints(self) -> tuple[ConstraintModel, ...]:
        """The surrogates of the constraints, if the study has any."""
        return self.acquisition.situation.constraints

    @property
    def surrogates(self) -> tuple[GaussianProcess, ...]:
        """One for every objective."""
        outcomes = self.acquisition.situation.outcomes
        return (self.surrogate,) if outcomes is None else outcomes.models

    def __repr__(self) -> str:
        return printable(f"<RebuiltProposal: {self}>")

    def __str__(self) -> str:
        return printable(f"The space, the surrogate and the acquisition behind a proposal. {self.receipt}")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        params = self.receipt.params
        return document(str(self), {"param": list(params), "value": list(params.values())}, ())

    def encode(self, configurations: Sequence[Mapping[str, Any]]) -> Array:
        return self.space.encode(configurations)[0]

    def predict(self, configurations: Sequence[Mapping[str, Any]]) -> tuple[Array, Array]:
        """Mean and sd, in the unit and direction of the objective."""
        mean, sd = self.surrogate.predict(self.encode(configurations))
        return (-mean if self.receipt.models[self.objective].direction == "maximize" else mean), sd


def rebuild(study: Study, trial: int, *, objective: str | int = 0) -> RebuiltProposal:
    """The surrogate and the acquisition exactly as they were when a trial was proposed.

    Args:
        study: any study.
        trial: number of the trial; a model must have proposed it.
        objective: name or number of the one whose surrogate predicts; every one is in `surrogates`.
    """
    with one_thread:
        view = extrapolated(StudyView.whole(study))
        target = view.target(objective)
        if target.is_constraint:
            raise ValueError(
                printable(
                    f"`objective` must be one of the objectives of this study ({named(view.objectives)}), but got the "
                    f"constraint {target.name!r}: its model is in `rebuild(study, trial).constraints`."
                )
            )
        if not view.trials:
            raise NoAnswerYet("The study has no trials yet, so there is nothing to rebuild.")
        asked = view.trial(trial)
        receipt = view.receipt(trial)
        if receipt is None:
            raise NoAnswer(
                f"Trial {trial} has no receipt: pellucid did not propose it, so there is nothing to rebuild. "
                f"{WHERE_TO_LOOK}"
            )
        return rebuilt_from(own_model_receipt(receipt, asked, "model to rebuild"), view, target)


def own_model_receipt(receipt: Receipt, trial: FrozenTrial, what: str) -> ModelReceipt:
    """The receipt. Raises NoAnswer if there is no model behind it, or if it was written for another trial."""
    if not isinstance(receipt, ModelReceipt):
        raise NoAnswer(f"There is no {what}. {receipt} {WHERE_TO_LOOK}")
    require_own(receipt, trial)
    return receipt


def require_own(receipt: Receipt, trial: FrozenTrial) -> None:
    """Raise NoAnswer if a receipt was written for another trial."""
    if receipt.trial == trial.number:
        return
    first = repeated(trial)
    if first is not None:
        raise NoAnswer(
            f"Trial {trial.number} repeats trial {first}, whose process had died. Ask about trial {first}: it has the "
            "same parameters, and the reason for them."
        )
    raise NoAnswer(
        f"The receipt of trial {trial.number} was written for trial {receipt.trial}: the trials were copied to other "
        "numbers, so it does not refer to the right ones. Ask the original study."
    )


def space_and_data(
    receipt: ProposedReceipt,
    view: StudyView,
    fitted_on: Sequence[int],
    curves: CurveState | None = None,
    also_needed: Sequence[int] = (),
) -> tuple[Space, Arrays]:
    """The space that a receipt names, and the observations that a model was fitted on, with what was taken from
    learning curves. Raises NoAnswer if trials are missing."""
    sources = [source for source in receipt.space.values() if isinstance(source, int)]
    missing = sorted({*sources, *fitted_on, *also_needed} - view.by_number.keys())
    if missing:
        raise NoAnswer(
            f"Trial {receipt.trial} cannot be rebuilt: the storage no longer has trials {first_integers(missing)}."
        )
    space = Space.of(
        {name: distribution_from(view.by_number, name, source) for name, source in receipt.space.items()},
        {child: Condition.from_list(rule) for child, rule in receipt.conditions.items()},
        receipt.ordinal,
    )
    return space, encoded(space, as_recorded(view, curves, space).observations_of(fitted_on))


def rebuilt_from(receipt: ModelReceipt, view: StudyView, objective: Target) -> RebuiltProposal:
    """`objective`: the one whose model is the `surrogate`.

    Raises UnreadableRecordError if what the receipt holds defines no model: its fields can be of the right form and not
    belong together.
    """
    try:
        return _rebuilt_from(receipt, view, objective)
    except Unanswered:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UnreadableRecordError(
            f"Nothing can be rebuilt from the receipt of trial {receipt.trial}: it was changed or damaged "
            f"({cause_of(error)}). If nobody has changed it, please report this."
        ) from error


def _rebuilt_from(receipt: ModelReceipt, view: StudyView, objective: Target) -> RebuiltProposal:
    own = receipt.models[objective.column]
    imputed = expand_integers(receipt.believed)
    fitted_on = [*(state.fitted_on for state in receipt.models), *(state.fitted_on for state in receipt.constraints)]
    also = [number for spans in (receipt.front, *fitted_on) for number in expand_integers(spans)]
    space, data = space_and_data(receipt, view, expand_integers(own.fitted_on), receipt.curves, [*imputed, *also])
    failed = [view.by_number[number].params for number in imputed]
    rows = np.vstack([space.encode(failed)[0], np.array(list(receipt.pending.values())).reshape(-1, len(space))])
    constraints = tuple(_rebuilt_constraint(state, view, data, rows) for state in receipt.constraints)
    outcomes = _rebuilt_outcomes(receipt, view, own, data, rows) if len(receipt.models) > 1 else None
    surrogate = _rebuilt_model(own, data).believe(rows) if outcomes is None else outcomes.models[objective.column]
    situation = Situation(receipt.acquisition.best, len(data), len(space), constraints, outcomes)
    first = surrogate if outcomes is None else outcomes.models[0]
    function = from_state(receipt.acquisition).bind(first, situation, space)
    return RebuiltProposal(receipt, space, surrogate, function, objective.column)


def _rebuilt_model(state: ModelState, data: Arrays) -> GaussianProcess:
    gp = GaussianProcess.from_hyperparameters(state.hyperparameters)
    return gp.condition(data.X, data.losses, data.observations.noise_variance)


def _rebuilt_outcomes(
    receipt: ModelReceipt, view: StudyView, own: ModelState, data: Arrays, imputed: Array
) -> Outcomes:
    """The models of several objectives, and the front that the proposal was to improve. `data`: of the model `own`."""
    models, space = [], data.space
    for objective, state in zip(view.objectives, receipt.models, strict=True):
        observed = data
        if state.fitted_on != own.fitted_on:
            observed = encoded(space, view.observations_of(expand_integers(state.fitted_on)))
        losses = observed.of(objective)
        models.append(_rebuilt_model(state, losses if state.ceiling is None else losses.below(state.ceiling)))
    front = space.encode([view.by_number[number].params for number in expand_integers(receipt.front)])[0]
    return Outcomes(
        tuple(model.believe(imputed) for model in models),
        latent_rows(models, front),
        np.array(receipt.reference),
        receipt.tolerance,
        receipt.width,
    )


def _rebuilt_constraint(state: ConstraintState, view: StudyView, known: Arrays, imputed: Array) -> ConstraintModel:
    """`known`: the data of the objectives, which are most often of the same trials."""
    numbers = expand_integers(state.fitted_on)
    fitted_on = known.observations if known.observations.numbers == tuple(numbers) else view.observations_of(numbers)
    if state.name not in fitted_on.constraints.names:
        raise NoAnswer(
            f"The model of the constraint `{state.name:.100}` cannot be rebuilt: no trial that it was fitted on has "
            "reported that constraint."
        )
    constraint = Target(state.name, kind="constraint")
    own = ConstraintData.again(state, encoded(known.space, fitted_on.of(constraint)))
    return own.restored(state.hyperparameters).believe(imputed)
