"""Acquisitions: named terms times weights, always maximised."""

from __future__ import annotations

from collections.abc import Callable

from pellucid.acquisition.adaptive import SAWEI, Policy, Portfolio, Pulse, Steps, Switch
from pellucid.acquisition.base import Acquisition, AcquisitionFunction, Situation
from pellucid.acquisition.bounds import LCB, PosteriorVariance
from pellucid.acquisition.improvement import EI, PI, WEI
from pellucid.records import AcquisitionState, RecordError

__all__ = [
    "EI",
    "LCB",
    "PI",
    "SAWEI",
    "WEI",
    "Acquisition",
    "AcquisitionFunction",
    "Policy",
    "Portfolio",
    "PosteriorVariance",
    "Pulse",
    "Situation",
    "Steps",
    "Switch",
    "from_state",
]

_KINDS: dict[str, Callable[..., Acquisition]] = {
    "EI": EI,
    "PI": PI,
    "WEI": lambda alpha, guard=0.0: WEI(alpha, bool(guard)),
    "LCB": LCB,
    "PosteriorVariance": PosteriorVariance,
}


def from_state(state: AcquisitionState) -> Acquisition:
    """The acquisition that a receipt describes."""
    try:
        return _KINDS[state.name](**state.settings)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(
            f"This pellucid does not know the acquisition {state.name!r} with settings {state.settings!r}."
        ) from error
