"""What a proposal is made with: the acquisition that was chosen, what it shall learn about, where it may look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pellucid.acquisition.base import Acquisition, AcquisitionFunction
from pellucid.acquisition.slices import Slice
from pellucid.records import PolicyState
from pellucid.surrogates import GaussianProcess


@dataclass(frozen=True)
class Choice:
    """The acquisition of one proposal, applied to its model, and why it was this one."""

    function: AcquisitionFunction
    model: GaussianProcess
    policy: PolicyState | None = None
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Part:
    """Of the space, where a proposal may come from (None: anywhere), and why, in words; `exact`: numbers that are held,
    which encoding would round."""

    slice: Slice | None
    words: str
    exact: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Lesson:
    """What a proposal shall learn about, the model that knows it, and how wide the bands were."""

    gain: Acquisition
    gp: GaussianProcess
    learned_from: int
    state: PolicyState | None = None
