"""Acquisitions: named terms times weights, always maximised; and policies, which choose one for every proposal."""

from __future__ import annotations

# Receipts refer to acquisitions by class name, so every class must be defined before a receipt is read.
from pellucid.search.acquisition import ehvi, feasible, interleave  # noqa: F401
from pellucid.search.acquisition.adaptive import SAWEI, Portfolio, Pulse, Steps, Switch
from pellucid.search.acquisition.alternation import Alternation
from pellucid.search.acquisition.base import Acquisition, PointwiseAcquisition
from pellucid.search.acquisition.bounds import LCB, PosteriorVariance
from pellucid.search.acquisition.improvement import EI, PI, WEI
from pellucid.search.acquisition.information import InformationGain

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
