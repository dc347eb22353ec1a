"""Acquisitions: named terms times weights, always maximised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.acquisition.adaptive import SAWEI, Policy, Portfolio, Pulse, Steps, Switch
from pellucid.acquisition.base import Acquisition, AcquisitionFunction, Scored, Situation
from pellucid.acquisition.bounds import LCB, PosteriorVariance
from pellucid.acquisition.feasible import Feasible
from pellucid.acquisition.improvement import EI, PI, WEI
from pellucid.acquisition.information import InformationGain
from pellucid.acquisition.interleave import Interleave, Multiplied
from pellucid.records import AcquisitionState, RecordError
from pellucid.study.encoding import Space
from pellucid.surrogates import GaussianProcess

__all__ = [
    "EI",
    "LCB",
    "PI",
    "SAWEI",
    "WEI",
    "Acquisition",
    "AcquisitionFunction",
    "Composed",
    "Feasible",
    "InformationGain",
    "Interleave",
    "Multiplied",
    "Policy",
    "Portfolio",
    "PosteriorVariance",
    "Pulse",
    "Scored",
    "Situation",
    "Steps",
    "Switch",
    "bind",
    "from_state",
]

# Those that look at more than the posterior at a point, and are bound to a space too.
Composed = InformationGain | Multiplied | Feasible

_KINDS: dict[str, Callable[..., Acquisition | Composed]] = {
    "EI": EI,
    "PI": PI,
    "WEI": lambda alpha, guard=0.0: WEI(alpha, bool(guard)),
    "LCB": LCB,
    "PosteriorVariance": PosteriorVariance,
    "InformationGain": InformationGain,
    "Multiplied": lambda **settings: Multiplied.from_settings(settings),
    "Feasible": lambda **settings: _feasible(settings),
}


def _feasible(settings: dict[str, Any]) -> Feasible:
    own = ("base", "n_ok", "n_failed", "lengthscales")
    base = _KINDS[settings["base"]](**{name: value for name, value in settings.items() if name not in own})
    if isinstance(base, Composed):
        raise ValueError(f"{settings['base']} cannot be multiplied with a chance.")
    return Feasible.from_settings(settings, base)


def from_state(state: AcquisitionState) -> Acquisition | Composed:
    """The acquisition that a receipt describes."""
    settings: dict[str, Any] = state.settings
    try:
        return _KINDS[state.name](**settings)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(
            f"This pellucid does not know the acquisition {state.name!r} with settings {state.settings!r}."
        ) from error


def bind(acquisition: Acquisition | Composed, model: GaussianProcess, situation: Situation, space: Space) -> Scored:
    """An acquisition applied to a model: what can be maximised."""
    if isinstance(acquisition, Composed):
        return acquisition.bind(model, situation, space)
    return AcquisitionFunction(acquisition, model, situation)
