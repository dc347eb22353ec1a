"""Why a trial got its parameters, and enough to rebuild the model that chose them: a class for each kind of receipt.

Units are given per field, as in `states`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pellucid.models.states import Hyperparameters
from pellucid.notebook import document
from pellucid.provenance import version1
from pellucid.provenance.rules import (
    is_acquisition,
    is_conditions,
    is_constraint,
    is_count,
    is_curves,
    is_finite_from,
    is_model,
    is_number,
    is_pending,
    is_plain,
    is_policy,
    is_ranking,
    is_spans,
)
from pellucid.provenance.states import (
    AcquisitionState,
    ConstraintState,
    CurveState,
    ModelState,
    PolicyState,
    RankingState,
)
from pellucid.words import RecordError, UnreadableRecordError, percent, printable, rounded


@dataclass(frozen=True, repr=False)
class Receipt(ABC):
    """Why a trial got its parameters. Each kind of receipt has more fields, which other kinds do not have.

    kind      'model' (an acquisition was maximised), 'ranking' (a ranking surrogate chose it), 'startup' (sampled to
              cover the space), or 'fallback' (the model could not be used)
    params    the configuration proposed, in the user's units (inactive parameters absent)
    phase     why it was proposed in this way, in words, such as the step of a search in steps; may be empty
    version   of the JSON that the receipt was read from
    """

    kind: ClassVar[str]

    trial: int
    seed: int
    params: dict[str, Any]
    phase: str = field(default="", kw_only=True)
    version: int = field(default=version1.VERSION, kw_only=True)

    def __post_init__(self) -> None:
        for name, fine in self._rules(vars(self)).items():
            if not fine:
                raise RecordError(f"A receipt's `{name}` has the wrong form: {getattr(self, name)!r:.200}.")

    def _rules(self, got: dict[str, Any]) -> dict[str, bool]:
        """Whether each field has the right form."""
        return {
            "trial": is_count(got["trial"]),
            "seed": isinstance(got["seed"], int),
            "params": isinstance(got["params"], dict) and all(map(is_plain, got["params"].values())),
            "phase": isinstance(got["phase"], str),
        }

    @property
    def proposed(self) -> bool:
        """Whether a model chose the trial: an acquisition or a ranking. Other trials were sampled."""
        return False

    def model(self, objective: int = 0) -> ModelState | None:
        """The model of the objective with this number, and what it predicted; None if there was no such model."""
        return None

    @property
    def mean(self) -> float | None:
        """What the model of the only objective expected, in the user's units and direction; None without one."""
        return None

    @property
    def sd(self) -> float | None:
        """How sure the model of the only objective was of its mean."""
        return None

    @property
    def predictive_sd(self) -> float | None:
        """How far the next value was expected to be from the mean: see `ModelState`."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, with the fields of every kind: those that this kind does not have hold nothing."""
        return version1.plain(self.kind, vars(self))

    def to_json(self) -> str:
        """As it is stored."""
        return version1.written(self.kind, vars(self))

    @staticmethod
    def from_json(text: str) -> Receipt:
        """The receipt that was stored. Raises UnreadableRecordError if it is damaged or of a newer version."""
        data = version1.parsed(text)
        try:
            kind = _of_kind(data.pop("kind"))
            return kind(**version1.fields_of(data, kind.kind, kind.__dataclass_fields__.keys()))
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise UnreadableRecordError(f"This receipt is damaged and cannot be read ({error!s:.300}).") from error

    def __str__(self) -> str:
        return printable(" ".join(self._sentences()))

    def _sentences(self) -> list[str]:
        return [part for part in (self._what_happened(), self.phase) if part]

    @abstractmethod
    def _what_happened(self) -> str: ...

    def __repr__(self) -> str:
        return printable(f"<Receipt: {self}>")

    def _repr_html_(self) -> str:
        """What a notebook shows: what happened, and the parameters."""
        columns = {"param": list(self.params), "value": list(self.params.values())}
        return document(str(self), columns, ())


@dataclass(frozen=True, repr=False)
class StartupReceipt(Receipt):
    """The receipt of a trial that was sampled to cover the space."""

    kind: ClassVar[str] = "startup"

    def _what_happened(self) -> str:
        return f"Trial {self.trial} was sampled to cover the space, not proposed by the model."


@dataclass(frozen=True, repr=False)
class FallbackReceipt(Receipt):
    """The receipt of a trial that was sampled at random, because the model could not be used. `reason` says why."""

    kind: ClassVar[str] = "fallback"

    reason: str = ""

    def _rules(self, got: dict[str, Any]) -> dict[str, bool]:
        return {**super()._rules(got), "reason": isinstance(got["reason"], str)}

    def _what_happened(self) -> str:
        return f"Trial {self.trial} was sampled at random because {self.reason}."


@dataclass(frozen=True, repr=False, kw_only=True)
class ProposedReceipt(Receipt):
    """The receipt of a trial that a model chose, fitted on other trials.

    space       the parameters the model was fitted on, in order, each with the trial whose distribution it has
                (or, if no trial has it, Optuna's JSON of the distribution)
    conditions  child -> [parent, low, high] or [parent, [codes]]: when a conditional parameter is active
    ordinal     categorical parameters that were treated as ordered
    fitted_on   trials the model saw ('0-24,26'): finished ones, and running ones that `curves` names
    """

    space: dict[str, int | str] = field(default_factory=dict)
    conditions: dict[str, list[Any]] = field(default_factory=dict)
    ordinal: tuple[str, ...] = ()
    fitted_on: str = ""

    def _rules(self, got: dict[str, Any]) -> dict[str, bool]:
        space = got["space"]
        if not isinstance(space, dict):
            return {"space": False}
        return super()._rules(got) | {
            "space": all(is_count(where) or isinstance(where, str) for where in space.values()),
            "conditions": is_conditions(got["conditions"], space),
            "ordinal": all(isinstance(name, str) for name in got["ordinal"]),
            "fitted_on": is_spans(got["fitted_on"]),
        }

    @property
    def proposed(self) -> bool:
        return True


@dataclass(frozen=True, repr=False, kw_only=True)
class RankingReceipt(ProposedReceipt):
    """The receipt of a trial that a ranking surrogate chose.

    ranking      how it chose it
    best_value   the best value observed before the proposal, in the user's units and direction
    """

    kind: ClassVar[str] = "ranking"

    ranking: RankingState
    direction: str = "minimize"
    best_value: float | None = None

    def _rules(self, got: dict[str, Any]) -> dict[str, bool]:
        return super()._rules(got) | {
            "ranking": isinstance(got["ranking"], RankingState) and is_ranking(vars(got["ranking"])),
            "direction": got["direction"] in ("minimize", "maximize"),
            "best_value": got["best_value"] is None or is_number(got["best_value"]),
        }

    def _what_happened(self) -> str:
        state = self.ranking
        by = {
            "transferred": f"a model of {state.studies} earlier studies",
            "tuned": f"a model of {state.studies} earlier studies, tuned to this one",
            "alone": "an ensemble trained on this study",
        }[state.turn]
        place = f"{state.rank:.3g} ± {state.sd:.2g} of {state.candidates}"
        return f"Trial {self.trial} was ranked {place} configurations by {by}."


@dataclass(frozen=True, repr=False, kw_only=True)
class ModelReceipt(ProposedReceipt):
    """The receipt of a trial at which an acquisition was maximised.

    models        the model of each objective, and what it predicted. With one objective, the receipt has the fields of
                  its model too: `mean`, `sd`, `predictive_sd`, `hyperparameters` and so on
    constraints   the models of the constraints, and what they predicted
    curves        what learning curves said about trials that were stopped early or still ran; None if nothing
    believed      failed trials, imputed with the posterior mean
    pending       encoded configurations of trials that were running, by trial number, also imputed
    policy        the policy that chose the acquisition, and the state it decided with
    bounds        (upper bound of the regret, smallest upper bound of an evaluated configuration, smallest lower bound
                  anywhere), as losses in the user's unit; empty if the policy did not need them
    step          of a search in steps, 1 or 2, if some parameters were held meanwhile; otherwise None
    turn          why it was the turn of a choice that has had few trials, or of a look, in words; otherwise empty
    look          whether it was a look elsewhere: the acquisition is recorded, but was not maximised
    front         with several objectives, trials whose outcomes the proposal was to improve on ('3,7-9')
    reference     the reference point of the volume that they dominate, on the latent scale
    tolerance     how much better than those outcomes one had to be to count, as a share of the length of the front
    width         how many of the sds of the models counted in what the proposal was expected to add
    """

    kind: ClassVar[str] = "model"

    models: tuple[ModelState, ...]
    acquisition: AcquisitionState
    constraints: tuple[ConstraintState, ...] = ()
    curves: CurveState | None = None
    believed: str = ""
    pending: dict[str, tuple[float, ...]] = field(default_factory=dict)
    policy: PolicyState | None = None
    bounds: tuple[float, ...] = ()
    step: int | None = None
    turn: str = ""
    look: bool = False
    front: str = ""
    reference: tuple[float, ...] = ()
    tolerance: float = 0.0
    width: float = 1.0

    def _rules(self, got: dict[str, Any]) -> dict[str, bool]:
        rules = super()._rules(got)
        if not rules["space"]:
            return rules
        d, models, alone, checked = len(got["space"]), got["models"], len(got["models"]) == 1, got["fitted_on"]
        return rules | {
            "models": bool(models) and all(is_model(vars(state), d, checked, alone=alone) for state in models),
            "constraints": all(is_constraint(vars(state), d) for state in got["constraints"]),
            "acquisition": is_acquisition(vars(got["acquisition"])),
            "curves": got["curves"] is None or is_curves(vars(got["curves"])),
            "believed": is_spans(got["believed"]),
            "pending": is_pending(got["pending"], d),
            "policy": got["policy"] is None or is_policy(vars(got["policy"])),
            "bounds": len(got["bounds"]) in (0, 3) and all(map(is_number, got["bounds"])),
            "turn": isinstance(got["turn"], str),
            "look": isinstance(got["look"], bool),
            "front": is_spans(got["front"]),
            "reference": all(is_finite_from(value, -math.inf) for value in got["reference"]),
            "tolerance": is_finite_from(got["tolerance"], 0.0),
            "width": is_finite_from(got["width"], 0.0),
        }

    def model(self, objective: int = 0) -> ModelState | None:
        return self.models[objective] if objective < len(self.models) else None

    # ------------------------------------------------------------------ the model of the only objective

    @property
    def only(self) -> ModelState | None:
        """The model of the only objective; None if there are several."""
        return self.models[0] if len(self.models) == 1 else None

    @property
    def objectives(self) -> tuple[ModelState, ...]:
        """With several objectives, the model of each and what it predicted."""
        return self.models if len(self.models) > 1 else ()

    @property
    def direction(self) -> str:
        return "minimize" if self.only is None else self.only.direction

    @property
    def hyperparameters(self) -> Hyperparameters | None:
        return None if self.only is None else self.only.hyperparameters

    @property
    def mean(self) -> float | None:
        return None if self.only is None else self.only.mean

    @property
    def sd(self) -> float | None:
        return None if self.only is None else self.only.sd

    @property
    def predictive_sd(self) -> float | None:
        return None if self.only is None else self.only.predictive_sd

    @property
    def expected_sd(self) -> float | None:
        return None if self.only is None else self.only.expected_sd

    @property
    def recalibration(self) -> float | None:
        return None if self.only is None else self.only.recalibration

    @property
    def latent_mean(self) -> float | None:
        return None if self.only is None else self.only.latent_mean

    @property
    def latent_sd(self) -> float | None:
        return None if self.only is None else self.only.latent_sd

    @property
    def best_value(self) -> float | None:
        return None if self.only is None else self.only.best_value

    @property
    def learned_from(self) -> int:
        return 0 if self.only is None else self.only.learned_from

    @property
    def curvature(self) -> tuple[float, ...]:
        return () if self.only is None else self.only.curvature

    # ------------------------------------------------------------------ in words

    def _sentences(self) -> list[str]:
        return [*super()._sentences(), *([self.turn] if self.turn else [])]

    def _what_happened(self) -> str:
        text = f"Trial {self.trial} maximised {self._maximised()}"
        if self.acquisition.learns_about:
            purpose = f"to learn about {self.acquisition.learns_about}, not to improve the objective"
            text = f"Trial {self.trial} was chosen {purpose}"
        if self.look:
            text = f"Trial {self.trial} looked elsewhere"
        expected = self._expected()
        if not expected:
            return f"{text}."
        if not self.constraints:
            return f"{text}; {expected}."
        chance = math.prod(state.probability for state in self.constraints)
        return f"{text}; {expected}, feasible with a chance of {percent(chance)}."

    def _expected(self) -> str:
        """What the models expected; empty if it is not known."""
        each = [_mean_and_sd(state) for state in self.models]
        if not all(each):
            return ""
        if len(each) == 1:
            return f"the model expected {each[0]} there"
        *others, last = [f"{state.name} {text}" for state, text in zip(self.models, each, strict=True)]
        return f"the model expected {', '.join(others)} and {last} there"

    def _maximised(self) -> str:
        """The acquisition; with constraints, what was maximised among feasible configurations."""
        if not self.constraints or "constraints" not in self.acquisition.settings:
            return self.acquisition.name
        base = self.acquisition.settings.get("base")
        return f"{base} among configurations that are likely feasible" if base else "the chance of being feasible"


_KINDS: dict[str, type[Receipt]] = {
    each.kind: each for each in (ModelReceipt, RankingReceipt, StartupReceipt, FallbackReceipt)
}


def _of_kind(kind: Any) -> type[Receipt]:
    if not isinstance(kind, str) or kind not in _KINDS:
        raise RecordError(f"A receipt's kind is 'model', 'ranking', 'startup' or 'fallback', but got {kind!r}.")
    return _KINDS[kind]


def _mean_and_sd(state: ModelState) -> str:
    """What was expected, with the name of the field that has the sd; empty if it is not known."""
    if state.mean is None or state.expected_sd is None:
        return ""
    named = "sd" if state.predictive_sd is None else "predictive sd"
    return f"{rounded(state.mean, state.expected_sd)} ({named} {state.expected_sd:.2g})"
