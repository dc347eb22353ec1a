"""Acquisitions: named terms times weights, always maximised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.acquisition.adaptive import SAWEI, Policy, Portfolio, Pulse, Steps, Switch
from pellucid.acquisition.base import Acquisition, AcquisitionFunction, Scored, Situation
from pellucid.acquisition.bounds import LCB, PosteriorVariance
from pellucid.acquisition.improvement import EI, PI, WEI
from pellucid.acquisition.information import InformationGain
from pellucid.acquisition.interleave import Interleave, Multiplied
from pellucid.records import AcquisitionState, RecordError
from pellucid.space.encoding import Space
from pellucid.surrogates import GaussianProcess

__all__ = [
    "EI",
    "LCB",
    "PI",
    "SAWEI",
    "WEI",
    "Acquisition",
    "AcquisitionFunction",
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

_KINDS: dict[str, Callable[..., Acquisition | InformationGain | Multiplied]] = {
    "EI": EI,
    "PI": PI,
    "WEI": lambda alpha, guard=0.0: WEI(alpha, bool(guard)),
    "LCB": LCB,
    "PosteriorVariance": PosteriorVariance,
    "InformationGain": InformationGain,
    "Multiplied": lambda **settings: Multiplied.from_settings(settings),
}


def from_state(state: AcquisitionState) -> Acquisition | InformationGain | Multiplied:
    """The acquisition that a receipt describes."""
    settings: dict[str, Any] = state.settings
    try:
        return _KINDS[state.name](**settings)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(
            f"This pellucid does not know the acquisition {state.name!r} with settings {state.settings!r}."
        ) from error


def bind(
    acquisition: Acquisition | InformationGain | Multiplied, model: GaussianProcess, situation: Situation, space: Space
) -> Scored:
    """An acquisition applied to a model: what can be maximised."""
    if isinstance(acquisition, (InformationGain, Multiplied)):
        return acquisition.bind(model, situation, space)
    return AcquisitionFunction(acquisition, model, situation)
