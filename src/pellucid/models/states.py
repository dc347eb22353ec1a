"""What defines a fitted Gaussian process, apart from its data, and its output warp. Receipts store both."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from pellucid.words import RecordError, UnreadableRecordError


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
            raise UnreadableRecordError(
                f"These are not hyperparameters of a Gaussian process: {data!r:.200} ({error!s:.100})."
            ) from error
