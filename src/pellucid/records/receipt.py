"""Why a trial got its parameters, and enough to rebuild the model that chose them.

Units are given per field: *user* means the objective as the user returns it, *loss* means the same with a sign such
that smaller is better, *latent* means `(warp(loss) - y_mean) / y_scale`, the scale on which the surrogate is a plain
Gaussian process with zero prior mean.
"""

from __future__ import annotations

import json
import math
from copy import copy
from dataclasses import asdict, dataclass, field
from sys import intern
from typing import Any

from pellucid import notebook
from pellucid.models.states import Hyperparameters
from pellucid.records.rules import (
    is_acquisition,
    is_conditions,
    is_constraint,
    is_count,
    is_curves,
    is_finite_from,
    is_number,
    is_objective,
    is_pending,
    is_plain,
    is_policy,
    is_ranking,
    is_spans,
)
from pellucid.records.states import (
    AcquisitionState,
    ConstraintState,
    CurveState,
    ObjectiveState,
    PolicyState,
    RankingState,
)
from pellucid.words import RecordError, UnreadableRecordError, percent, printable, rounded

RECEIPT_VERSION = 1


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
    fitted_on       trials the model saw ('0-24,26'): finished ones, and running ones that `curves` names
    curves          what learning curves said about trials that were stopped early or still ran; None if nothing
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
    constraints     the models of the constraints, and what they predicted
    objectives      with several objectives, the model of each and what it predicted; the fields above that concern one
                    model are then empty: `about` fills them in
    front           with several objectives, trials whose outcomes the proposal was to improve on ('3,7-9')
    reference       the reference point of the volume that they dominate, on the latent scale
    tolerance       how much better than those outcomes one had to be to count, as a share of the length of the front
    width           how many of the sds of the models counted in what the proposal was expected to add
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
    curves: CurveState | None = None
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
    constraints: tuple[ConstraintState, ...] = ()
    objectives: tuple[ObjectiveState, ...] = ()
    front: str = ""
    reference: tuple[float, ...] = ()
    tolerance: float = 0.0
    width: float = 1.0
    ranking: RankingState | None = None
    version: int = RECEIPT_VERSION

    def __post_init__(self) -> None:
        if self.kind not in ("model", "ranking", "startup", "fallback"):
            raise RecordError(
                f"A receipt's kind is 'model', 'ranking', 'startup' or 'fallback', but got {self.kind!r}."
            )
        modelled = self.hyperparameters is not None or len(self.objectives) > 1
        if self.kind == "model" and (not modelled or self.acquisition is None):
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
            "curves": got["curves"] is None or is_curves(vars(got["curves"])),
            "believed": is_spans(got["believed"]),
            "pending": is_pending(got["pending"], len(space)),
            "ordinal": all(isinstance(name, str) for name in got["ordinal"]),
            "acquisition": got["acquisition"] is None or is_acquisition(vars(got["acquisition"])),
            "hyperparameters": h is None or (len(h.lengthscales) == len(space) and len(h.nominal) in (0, len(space))),
            "constraints": all(is_constraint(vars(state), len(space)) for state in got["constraints"]),
            "objectives": all(is_objective(vars(state), len(space)) for state in got["objectives"]),
            "front": is_spans(got["front"]),
            "reference": all(is_finite_from(value, -math.inf) for value in got["reference"]),
            "tolerance": is_finite_from(got["tolerance"], 0.0),
            "width": is_finite_from(got["width"], 0.0),
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

    def about(self, index: int) -> Receipt:
        """With what it says about one objective in the fields that concern one model; itself if there is only one."""
        if index >= len(self.objectives):
            return self
        own = dict(vars(self.objectives[index]))
        del own["name"], own["ceiling"]
        out = copy(self)  # Both have been checked, and proposals read many receipts: `replace` would check them again.
        vars(out).update(own)
        return out

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
            data["hyperparameters"] = _plain(self.hyperparameters)
        for part in ("constraints", "objectives"):
            data[part] = [{**vars(state), "hyperparameters": _plain(state.hyperparameters)} for state in data[part]]
        if self.acquisition is not None:
            data["acquisition"] = {k: v for k, v in vars(self.acquisition).items() if k != "learns_about" or v}
        if self.policy is not None:
            data["policy"] = vars(self.policy)
        if self.curves is not None:
            data["curves"] = vars(self.curves)
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
            raise UnreadableRecordError(f"This receipt is damaged and cannot be read ({error!s:.300}).") from error
        if version > RECEIPT_VERSION:
            raise UnreadableRecordError(
                f"This receipt has version {version}, but this pellucid reads up to version {RECEIPT_VERSION}: "
                "upgrade pellucid to read it."
            )
        try:
            _share_texts(data)
            if data.get("hyperparameters") is not None:
                data["hyperparameters"] = Hyperparameters.from_dict(data["hyperparameters"])
            if data.get("acquisition") is not None:
                data["acquisition"] = AcquisitionState(**data["acquisition"])
            if data.get("curves") is not None:
                data["curves"] = CurveState.from_dict(data["curves"])
            if data.get("ranking") is not None:
                data["ranking"] = RankingState(**data["ranking"])
            if data.get("policy") is not None:
                points = tuple(tuple(row) for row in data["policy"].pop("points", ()))
                data["policy"] = PolicyState(**data["policy"], points=points)
            data["constraints"] = tuple(ConstraintState.from_dict(state) for state in data.get("constraints", ()))
            data["objectives"] = tuple(ObjectiveState.from_dict(state) for state in data.get("objectives", ()))
            data["bounds"] = tuple(data.get("bounds", ()))
            data["reference"] = tuple(data.get("reference", ()))
            data["ordinal"] = tuple(data.get("ordinal", ()))
            data["curvature"] = tuple(data.get("curvature", ()))
            data["pending"] = {k: tuple(v) for k, v in data.get("pending", {}).items()}
            return Receipt(**data)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise UnreadableRecordError(f"This receipt is damaged and cannot be read ({error!s:.300}).") from error

    def __str__(self) -> str:
        return printable(" ".join(part for part in (self._what_happened(), self.phase, self.turn) if part))

    def __repr__(self) -> str:
        return printable(f"<Receipt: {self}>")

    def _repr_html_(self) -> str:
        """What a notebook shows: what happened, and the parameters."""
        columns = {"param": list(self.params), "value": list(self.params.values())}
        return notebook.document(str(self), columns, ())

    def _what_happened(self) -> str:
        if self.kind == "startup":
            return f"Trial {self.trial} was sampled to cover the space, not proposed by the model."
        if self.kind == "fallback":
            return f"Trial {self.trial} was sampled at random because {self.reason}."
        if self.kind == "ranking" and self.ranking is not None:
            return self._how_it_ranked(self.ranking)
        assert self.acquisition is not None
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
        """What the model expected; empty if it is not known."""
        if self.objectives:
            each = [f"{state.name} {_mean_and_sd(self.about(i))}" for i, state in enumerate(self.objectives)]
            return f"the model expected {', '.join(each[:-1])} and {each[-1]} there"
        if self.mean is None or self.expected_sd is None:
            return ""
        return f"the model expected {_mean_and_sd(self)} there"

    def _maximised(self) -> str:
        """The acquisition; with constraints, what was maximised among feasible configurations."""
        assert self.acquisition is not None
        if not self.constraints or "constraints" not in self.acquisition.settings:
            return self.acquisition.name
        base = self.acquisition.settings.get("base")
        return f"{base} among configurations that are likely feasible" if base else "the chance of being feasible"

    def _how_it_ranked(self, state: RankingState) -> str:
        by = {
            "transferred": f"a model of {state.studies} earlier studies",
            "tuned": f"a model of {state.studies} earlier studies, tuned to this one",
            "alone": "an ensemble trained on this study",
        }[state.turn]
        place = f"{state.rank:.3g} ± {state.sd:.2g} of {state.candidates}"
        return f"Trial {self.trial} was ranked {place} configurations by {by}."


def _mean_and_sd(about: Receipt) -> str:
    """What was expected, with the name of the field that has the sd."""
    mean, sd = about.mean, about.expected_sd
    assert mean is not None and sd is not None
    return f"{rounded(mean, sd)} ({'sd' if about.predictive_sd is None else 'predictive sd'} {sd:.2g})"


def _share_texts(data: dict[str, Any]) -> None:
    """Keep one copy of equal lists of trials. With several objectives, most models have seen the same trials: in large
    studies these texts are most of what a receipt takes in memory."""
    for state in (data, *data.get("objectives", ()), *data.get("constraints", ())):
        if isinstance(state.get("fitted_on"), str):
            state["fitted_on"] = intern(state["fitted_on"])


def _plain(hyperparameters: Hyperparameters) -> dict[str, Any]:
    """As JSON can carry them: `asdict`, without its copies."""
    warp = hyperparameters.warp
    return {**vars(hyperparameters), "warp": None if warp is None else vars(warp)}
