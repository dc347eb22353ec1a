"""Why a trial got its parameters, and enough to rebuild the model that chose them.

Units are given per field: *user* means the objective as the user returns it, *loss* means the same with a sign such
that smaller is better, *latent* means `(warp(loss) - y_mean) / y_scale`, the scale on which the surrogate is a plain
Gaussian process with zero prior mean.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from pellucid.records.rules import (
    is_acquisition,
    is_conditions,
    is_count,
    is_finite_from,
    is_number,
    is_pending,
    is_plain,
    is_policy,
    is_ranking,
    is_spans,
)

RECEIPT_VERSION = 1


class RecordError(ValueError):
    """A stored record that cannot be read: damaged, or written by a newer version."""


@dataclass(frozen=True)
class Warp:
    """A monotone output warp: 'yeo-johnson' (shape = lambda in [0, 2]) or 'log' (shape = offset above the minimum).

    Both act on `t = (loss - centre) / spread` for losses in [low, high], the range they were chosen for, and go on as
    straight lines outside: a logarithm that fits the data says nothing about what is beyond it.
    """

    kind: str
    centre: float
    spread: float
    shape: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.kind not in ("yeo-johnson", "log"):
            raise RecordError(f"A warp is 'yeo-johnson' or 'log', but got {self.kind!r}.")
        numbers = (self.centre, self.spread, self.shape, self.low, self.high)
        if not (all(map(math.isfinite, numbers)) and self.spread > 0 and self.low < self.high):
            raise RecordError(f"A warp needs finite numbers, a positive spread and low < high, but got {self}.")
        if self.kind == "log" and not (self.shape > 0 and self.low >= self.centre):
            raise RecordError(f"A log warp needs a positive offset and low >= centre, but got {self}.")
        if self.kind == "yeo-johnson" and not 0.0 <= self.shape <= 2.0:
            raise RecordError(
                f"A Yeo-Johnson warp that maps onto the whole line needs 0 <= shape <= 2, but got {self.shape}."
            )


@dataclass(frozen=True)
class Hyperparameters:
    """Everything that defines a fitted Gaussian process, except its data.

    `outputscale` and `noise` are variances on the latent scale; `y_mean` and `y_scale` are on that of `warp(loss)`.
    A nominal parameter's entry in `lengthscales` is its Hamming length: two different categories correlate exp(-1/l).
    """

    kernel: str
    lengthscales: tuple[float, ...]
    outputscale: float
    noise: float
    y_mean: float
    y_scale: float
    warp: Warp | None = None
    nominal: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.nominal):
            raise RecordError(f"`nominal` counts categories, but got {self.nominal}.")
        numbers = (*self.lengthscales, self.outputscale, self.noise, self.y_scale)
        if not all(math.isfinite(v) and v > 0 for v in numbers) or not math.isfinite(self.y_mean):
            raise RecordError(
                f"Lengthscales, outputscale, noise and y_scale must be finite and positive, but got {self}."
            )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Hyperparameters:
        try:
            return Hyperparameters(
                kernel=str(data["kernel"]),
                lengthscales=tuple(float(v) for v in data["lengthscales"]),
                outputscale=float(data["outputscale"]),
                noise=float(data["noise"]),
                y_mean=float(data["y_mean"]),
                y_scale=float(data["y_scale"]),
                warp=None if data["warp"] is None else Warp(**data["warp"]),
                nominal=tuple(int(v) for v in data["nominal"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise RecordError(f"These are not hyperparameters of a Gaussian process: {data!r} ({error}).") from error


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
class Receipt:
    """Why a trial got its parameters, and enough to rebuild the model that chose them.

    kind            'model' (an acquisition was maximised), 'ranking' (a ranking surrogate chose it), 'startup' (sampled
                    to cover the space), or 'fallback' (the model could not be used; `reason` says why)
    params          the configuration proposed, in the user's units (inactive parameters absent)
    space           the parameters the model was fitted on, in order, each with the trial whose distribution it has
                    (or, if no trial has it, Optuna's JSON of the distribution)
    conditions      child -> [parent, low, high] or [parent, [codes]]: when a conditional parameter is active
    ordinal         categorical parameters that were treated as ordered
    fitted_on       finished trials the model saw ('0-24,26')
    believed        failed trials, imputed with the posterior mean
    pending         encoded configurations of trials that were running, by trial number, also imputed
    mean, sd        the model's prediction of the function at the proposal, in the user's units and direction
    predictive_sd   of the next value, with noise and recalibration: mean ± 1.96 predictive_sd is meant to hold 95% of
                    values; None in receipts of earlier versions
    recalibration   the factor, at least 1, by which predictive_sd was widened because earlier predictions were too sure
    latent_mean/sd  the same on the latent scale, where rebuilding is exact
    curvature       inverse Hessian of the fit (packed, three digits): the next fit starts with it
    learned_from    how many observations the hyperparameters were learned from (the model may be conditioned on more)
    best_value      the best value observed before the proposal, in the user's units and direction
    policy          the policy that chose the acquisition, and the state it decided with
    phase           the step of a search in steps that the trial belongs to, in words; otherwise empty
    turn            why it was the turn of a choice that has had few trials, or of a look, in words; otherwise empty
    look            whether it was a look elsewhere: the acquisition is recorded, but was not maximised
    ranking         how a ranking surrogate chose it, for receipts of that kind
    bounds          (upper bound of the regret, smallest upper bound of an evaluated configuration, smallest lower bound
                    anywhere), as losses in the user's unit; empty if the policy did not need them
    """

    trial: int
    kind: str
    seed: int
    params: dict[str, Any]
    reason: str = ""
    direction: str = "minimize"
    space: dict[str, int | str] = field(default_factory=dict)
    conditions: dict[str, list[Any]] = field(default_factory=dict)
    ordinal: tuple[str, ...] = ()
    fitted_on: str = ""
    believed: str = ""
    pending: dict[str, tuple[float, ...]] = field(default_factory=dict)
    hyperparameters: Hyperparameters | None = None
    acquisition: AcquisitionState | None = None
    mean: float | None = None
    sd: float | None = None
    predictive_sd: float | None = None
    recalibration: float | None = None
    latent_mean: float | None = None
    latent_sd: float | None = None
    curvature: tuple[float, ...] = ()
    learned_from: int = 0
    best_value: float | None = None
    policy: PolicyState | None = None
    bounds: tuple[float, ...] = ()
    phase: str = ""
    turn: str = ""
    look: bool = False
    ranking: RankingState | None = None
    version: int = RECEIPT_VERSION

    def __post_init__(self) -> None:
        if self.kind not in ("model", "ranking", "startup", "fallback"):
            raise RecordError(
                f"A receipt's kind is 'model', 'ranking', 'startup' or 'fallback', but got {self.kind!r}."
            )
        if self.kind == "model" and (self.hyperparameters is None or self.acquisition is None):
            raise RecordError("A receipt of kind 'model' needs hyperparameters and an acquisition.")
        if self.kind == "ranking" and self.ranking is None:
            raise RecordError("A receipt of kind 'ranking' needs a ranking.")
        for name, fine in self._rules().items():
            if not fine:
                raise RecordError(f"A receipt's `{name}` has the wrong form: {getattr(self, name)!r:.200}.")

    def _rules(self) -> dict[str, bool]:
        """Whether each field has the right form; only 'model' receipts carry a model."""
        got: dict[str, Any] = dict(vars(self))
        space, h = got["space"], got["hyperparameters"]
        if not isinstance(space, dict):
            return {"space": False}
        numbers = ("mean", "sd", "latent_mean", "latent_sd", "best_value")
        return {
            "trial": is_count(got["trial"]),
            "seed": isinstance(got["seed"], int),
            "params": isinstance(got["params"], dict) and all(map(is_plain, got["params"].values())),
            "reason": isinstance(got["reason"], str),
            "phase": isinstance(got["phase"], str),
            "turn": isinstance(got["turn"], str),
            "look": isinstance(got["look"], bool),
            "direction": got["direction"] in ("minimize", "maximize"),
            "space": all(is_count(where) or isinstance(where, str) for where in space.values()),
            "conditions": is_conditions(got["conditions"], space),
            "fitted_on": is_spans(got["fitted_on"]),
            "believed": is_spans(got["believed"]),
            "pending": is_pending(got["pending"], len(space)),
            "ordinal": all(isinstance(name, str) for name in got["ordinal"]),
            "acquisition": got["acquisition"] is None or is_acquisition(vars(got["acquisition"])),
            "hyperparameters": h is None or (len(h.lengthscales) == len(space) and len(h.nominal) in (0, len(space))),
            "learned_from": is_count(got["learned_from"]),
            "curvature": all(map(is_number, got["curvature"])),
            "policy": got["policy"] is None or is_policy(vars(got["policy"])),
            "ranking": got["ranking"] is None or is_ranking(vars(got["ranking"])),
            "bounds": len(got["bounds"]) in (0, 3) and all(map(is_number, got["bounds"])),
            **{name: got[name] is None or is_number(got[name]) for name in numbers},
            "predictive_sd": got["predictive_sd"] is None or is_finite_from(got["predictive_sd"], 0.0),
            "recalibration": got["recalibration"] is None or is_finite_from(got["recalibration"], 1.0),
        }

    @property
    def proposed(self) -> bool:
        """Whether a model chose the trial: an acquisition or a ranking. Other trials were sampled."""
        return self.kind in ("model", "ranking")

    @property
    def expected_sd(self) -> float | None:
        """How far the value was expected to be from `mean`; in receipts of earlier versions, the function alone."""
        return self.sd if self.predictive_sd is None else self.predictive_sd

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        """Compact JSON; fields that hold their default are left out."""
        data = dict(vars(self))
        if self.hyperparameters is not None:
            data["hyperparameters"] = dict(vars(self.hyperparameters))
            if self.hyperparameters.warp is not None:
                data["hyperparameters"]["warp"] = vars(self.hyperparameters.warp)
        if self.acquisition is not None:
            data["acquisition"] = {k: v for k, v in vars(self.acquisition).items() if k != "learns_about" or v}
        if self.policy is not None:
            data["policy"] = vars(self.policy)
        if self.ranking is not None:
            data["ranking"] = vars(self.ranking)
        always = ("trial", "kind", "seed", "params", "version")
        kept = {k: v for k, v in data.items() if k in always or v not in (None, "", {}, (), [])}
        return json.dumps(kept, separators=(",", ":"), allow_nan=True)

    @staticmethod
    def from_json(text: str) -> Receipt:
        try:
            data = json.loads(text)
            version = int(data["version"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise RecordError(f"This receipt is damaged and cannot be read ({error}).") from error
        if version > RECEIPT_VERSION:
            raise RecordError(
                f"This receipt has version {version}, but this pellucid reads up to version {RECEIPT_VERSION}: "
                "upgrade pellucid to read it."
            )
        try:
            if data.get("hyperparameters") is not None:
                data["hyperparameters"] = Hyperparameters.from_dict(data["hyperparameters"])
            if data.get("acquisition") is not None:
                data["acquisition"] = AcquisitionState(**data["acquisition"])
            if data.get("ranking") is not None:
                data["ranking"] = RankingState(**data["ranking"])
            if data.get("policy") is not None:
                points = tuple(tuple(row) for row in data["policy"].pop("points", ()))
                data["policy"] = PolicyState(**data["policy"], points=points)
            data["bounds"] = tuple(data.get("bounds", ()))
            data["ordinal"] = tuple(data.get("ordinal", ()))
            data["curvature"] = tuple(data.get("curvature", ()))
            data["pending"] = {k: tuple(v) for k, v in data.get("pending", {}).items()}
            return Receipt(**data)
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise RecordError(f"This receipt is damaged and cannot be read ({error}).") from error

    def __str__(self) -> str:
        return " ".join(part for part in (self._what_happened(), self.phase, self.turn) if part)

    def _what_happened(self) -> str:
        if self.kind == "startup":
            return f"Trial {self.trial} was sampled to cover the space, not proposed by the model."
        if self.kind == "fallback":
            return f"Trial {self.trial} was sampled at random because {self.reason}."
        if self.kind == "ranking" and self.ranking is not None:
            return self._how_it_ranked(self.ranking)
        assert self.acquisition is not None
        text = f"Trial {self.trial} maximised {self.acquisition.name}"
        if self.acquisition.learns_about:
            purpose = f"to learn about {self.acquisition.learns_about}, not to improve the objective"
            text = f"Trial {self.trial} was chosen {purpose}"
        if self.look:
            text = f"Trial {self.trial} was a look elsewhere"
        if self.mean is None or self.expected_sd is None:
            return f"{text}."
        return f"{text}; the model expected {self.mean:.6g} ± {self.expected_sd:.2g} there."

    def _how_it_ranked(self, state: RankingState) -> str:
        by = {
            "transferred": f"a model of {state.studies} earlier studies",
            "tuned": f"a model of {state.studies} earlier studies, tuned to this one",
            "alone": "an ensemble trained on this study",
        }[state.turn]
        place = f"{state.rank:.3g} ± {state.sd:.2g} of {state.candidates}"
        return f"Trial {self.trial} was ranked {place} configurations by {by}."
