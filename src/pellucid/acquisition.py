"""The documented path of acquisitions and policies. They live in `pellucid.search.acquisition`."""

from pellucid.search.acquisition import (
    EI,
    LCB,
    PI,
    SAWEI,
    WEI,
    Acquisition,
    Alternation,
    InformationGain,
    PointwiseAcquisition,
    Portfolio,
    PosteriorVariance,
    Pulse,
    Steps,
    Switch,
)

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
