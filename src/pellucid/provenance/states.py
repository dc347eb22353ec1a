"""What the models, acquisitions and policies behind a proposal were, as a receipt stores them.

Units are given per field: *user* means the objective as the user returns it, *loss* means the same with a sign such
that smaller is better, *latent* means `(warp(loss) - y_mean) / y_scale`, the scale on which the surrogate is a plain
Gaussian process with zero prior mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pellucid.models.states import Hyperparameters


@dataclass(frozen=True)
class AcquisitionState:
    """The acquisition of a proposal, with its settings and its values at the proposal (latent units).

    best           the value to improve on
    learns_about   what the proposal was to learn about, in words; empty if it was to improve the objective
    """

    name: str
    settings: dict[str, Any]
    weights: dict[str, float]
    terms: dict[str, float]
    score: float
    best: float
    learns_about: str = ""


@dataclass(frozen=True)
class PolicyState:
    """State of a policy at a decision: numbers by name (such as alpha), and encoded points that it needs later."""

    name: str
    numbers: dict[str, float]
    points: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class RankingState:
    """How a ranking surrogate came to a proposal.

    model           name of the meta-trained model, by which the study keeps it; empty if there was none
    turn            whose ranks counted: those of the model as it was ('transferred'), of the model fine-tuned to this
                    study ('tuned'), or of an ensemble that was trained on this study alone ('alone')
    epochs          of training on this study
    acquisition     'mean', 'ucb' or 'ei' of the rank;  reference  what EI compares with: 'incumbent' or 'last'
    rank, sd        of the proposal among `candidates` configurations spread over the space, mean and sd over members
    studies         earlier studies that the model learned from
    """

    model: str
    turn: str
    epochs: int
    acquisition: str
    reference: str
    rank: float
    sd: float
    candidates: int
    studies: int


@dataclass(frozen=True)
class CurveState:
    """What a proposal took from learning curves.

    horizon        the last step that values were extrapolated to
    learned_from   finished trials whose curves the model of curves had learned from ('0-24,26')
    stopped        trials that were stopped early and counted with an extrapolated value: the same model makes it again
    running        those that were still running, by trial number: loss, and the variance of its error
    """

    horizon: int
    learned_from: str
    stopped: str
    running: dict[str, tuple[float, float]]

    @staticmethod
    def from_dict(data: dict[str, Any]) -> CurveState:
        loss_and_variance = {number: (value[0], value[1]) for number, value in data["running"].items()}
        return CurveState(**{**data, "running": loss_and_variance})


@dataclass(frozen=True)
class ConstraintState:
    """The model of a constraint behind a proposal, and what it predicted there.

    limit             configurations count as feasible up to this value;  zero  what a value of 0 stands for: see
                      `models.constraint`
    fitted_on         trials that the model saw ('0-24,26');  learned_from, curvature  as of an objective
    mean, sd          of the constraint's true value at the proposal, in its own unit;  latent_mean/sd  where exact
    probability       that the proposal is feasible in this respect
    """

    name: str
    hyperparameters: Hyperparameters
    limit: float
    fitted_on: str
    learned_from: int
    mean: float
    sd: float
    latent_mean: float
    latent_sd: float
    probability: float
    zero: float = 0.0
    curvature: tuple[float, ...] = ()

    @staticmethod
    def from_dict(data: dict[str, Any]) -> ConstraintState:
        own = {**data, "hyperparameters": Hyperparameters.from_dict(data["hyperparameters"])}
        return ConstraintState(**{**own, "curvature": tuple(own.get("curvature", ()))})


@dataclass(frozen=True)
class ModelState:
    """The model of an objective behind a proposal, and what it predicted there.

    name              of the objective; empty if the study has only one
    fitted_on         trials that the model saw ('0-24,26')
    learned_from      how many observations the hyperparameters were learned from
    mean, sd          of the function at the proposal, in the user's units and direction; None if they were not stored
    predictive_sd     of the next value, with noise and recalibration: mean ± 1.96 predictive_sd is meant to hold 95% of
                      values; None in receipts of earlier versions
    recalibration     the factor, at least 1, by which predictive_sd was widened because earlier predictions were too
                      sure
    latent_mean/sd    the same on the latent scale, where rebuilding is exact
    best_value        the best value observed before the proposal, in the user's units and direction
    ceiling           the loss that worse ones counted as; None: they counted as they are
    curvature         inverse Hessian of the fit (packed, three digits): the next fit starts with it
    """

    name: str
    direction: str
    hyperparameters: Hyperparameters
    fitted_on: str
    learned_from: int
    mean: float | None
    sd: float | None
    predictive_sd: float | None
    recalibration: float | None
    latent_mean: float | None
    latent_sd: float | None
    best_value: float | None
    ceiling: float | None
    curvature: tuple[float, ...] = ()

    @property
    def expected_sd(self) -> float | None:
        """How far the value was expected to be from `mean`; in receipts of earlier versions, the function alone."""
        return self.sd if self.predictive_sd is None else self.predictive_sd

    @staticmethod
    def from_dict(data: dict[str, Any]) -> ModelState:
        own = {**data, "hyperparameters": Hyperparameters.from_dict(data["hyperparameters"])}
        return ModelState(**{**own, "curvature": tuple(own.get("curvature", ()))})
