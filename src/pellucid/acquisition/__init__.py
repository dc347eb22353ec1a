"""Acquisitions: named terms times weights, always maximised; and policies, which choose one for every proposal."""

from __future__ import annotations

# Receipts refer to acquisitions by class name, so every class must be defined before a receipt is read.
from pellucid.acquisition import ehvi, feasible, interleave  # noqa: F401
from pellucid.acquisition.adaptive import SAWEI, Portfolio, Pulse, Steps, Switch
from pellucid.acquisition.alternation import Alternation
from pellucid.acquisition.base import Acquisition, PointwiseAcquisition
from pellucid.acquisition.bounds import LCB, PosteriorVariance
from pellucid.acquisition.improvement import EI, PI, WEI
from pellucid.acquisition.information import InformationGain

__all__ = [
    "EI",
    "LCB",
    "PI",
    "SAWEI",
    "WEI",
    "Acquisition",
    "Alternation",
    "InformationGain",
    "PointwiseAcquisition",
    "Portfolio",
    "PosteriorVariance",
    "Pulse",
    "Steps",
    "Switch",
]
