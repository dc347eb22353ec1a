"""What receipts predicted, beside what the trials returned.

Only predictions that can be compared count: made by a Gaussian process for this trial and the parameters it ran with,
of a value that is complete and finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.models import GaussianProcess
from pellucid.provenance import ModelReceipt, ModelState, Receipt
from pellucid.space.values import same
from pellucid.study.constraints import reported_constraints
from pellucid.study.receipts import readable_receipt
from pellucid.study.targets import Target
from pellucid.study.view import StudyView


@dataclass(frozen=True)
class Prediction:
    """A prediction made before its outcome, in the user's unit. `sd` is that of the value, noise included;
    `recalibration` the factor in it."""

    trial: int
    mean: float
    sd: float
    value: float
    recalibration: float

    @property
    def z(self) -> float:
        return (self.value - self.mean) / self.sd

    @property
    def unwidened_z(self) -> float:
        """z before the recalibration: what the next recalibration is computed from."""
        return self.recalibration * self.z


def predictions(view: StudyView, target: Target) -> list[Prediction]:
    """All that can be compared, in the order of the trials."""
    return list(_newest_first(view, target))[::-1]


def recent_predictions(view: StudyView, target: Target, most: int) -> list[Prediction]:
    """The last of them, without reading the receipts before: this runs at every proposal."""
    return list(islice(_newest_first(view, target), most))[::-1]


def _newest_first(view: StudyView, target: Target) -> Iterator[Prediction]:
    for trial in reversed(view.trials):
        if trial.state != TrialState.COMPLETE:
            continue
        receipt = readable_receipt(trial)
        if not isinstance(receipt, ModelReceipt):
            continue
        prediction = (
            _of_constraint(trial, receipt, target.name)
            if target.is_constraint
            else _of_objective(trial, receipt, target)
        )
        if prediction is not None:
            yield prediction


def _of_objective(trial: FrozenTrial, receipt: ModelReceipt, target: Target) -> Prediction | None:
    values, model = trial.values, receipt.model(target.column)
    if values is None or len(values) <= target.column or not math.isfinite(values[target.column]):
        return None
    if model is None or model.mean is None or model.direction != target.direction:
        return None
    sd = _predictive_sd(model)
    if sd is None or not applies(receipt, trial):
        return None
    return Prediction(trial.number, model.mean, sd, values[target.column], model.recalibration or 1.0)


def _of_constraint(trial: FrozenTrial, receipt: ModelReceipt, name: str) -> Prediction | None:
    """Predictions of constraints are not recalibrated."""
    predicted, value = predicted_constraint(receipt, name), reported_constraints(trial).get(name, math.inf)
    if predicted is None or not math.isfinite(value) or not applies(receipt, trial):
        return None
    mean, sd = predicted
    return Prediction(trial.number, mean, sd, value, 1.0) if sd > 0.0 else None


def predicted_constraint(receipt: ModelReceipt, name: str) -> tuple[float, float] | None:
    """Mean and sd of the value of a constraint, noise included. One that does not say by how much it is satisfied has
    no value to predict."""
    state = next((state for state in receipt.constraints if state.name == name), None)
    if state is None or state.zero:
        return None
    latent = (
        np.array([state.latent_mean]),
        np.array([math.hypot(state.latent_sd, math.sqrt(state.hyperparameters.noise))]),
    )
    mean, sd = GaussianProcess.from_hyperparameters(state.hyperparameters).from_latent(*latent)
    return float(mean[0]), float(sd[0])


def applies(receipt: Receipt, trial: FrozenTrial) -> bool:
    """Whether a receipt was written for this trial, and the trial ran as proposed."""
    if receipt.trial != trial.number:
        return False
    ran = trial.params
    return all(name not in ran or same(ran[name], value) for name, value in receipt.params.items())


def _predictive_sd(model: ModelState) -> float | None:
    """The sd of the next value, in receipts of earlier versions from the noise that the model had learned; None without
    a model's prediction."""
    sd, h = model.predictive_sd, model.hyperparameters
    if sd is None and model.latent_mean is not None and model.latent_sd is not None:
        latent = np.array([model.latent_mean]), np.array([math.sqrt(model.latent_sd**2 + h.noise)])
        sd = float(GaussianProcess.from_hyperparameters(h).from_latent(*latent)[1][0])
    usable = sd is not None and math.isfinite(sd) and sd > 0.0 and math.isfinite(model.mean or 0.0)
    return sd if usable else None
