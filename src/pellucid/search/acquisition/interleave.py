"""Taking turns between searching and learning about effects (BOBAX), until these are known well enough (a-BOBAX).

Everything is decided from the trial's number, the seed and the model: workers that share a study, and a study that is
resumed, take the same turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import ndtri

from pellucid.models import GaussianProcess
from pellucid.numerics import Array, is_number, stream
from pellucid.provenance import Term
from pellucid.search.acquisition.base import (
    Acquisition,
    AcquisitionFunction,
    PointwiseAcquisition,
    Pool,
    Situation,
    from_name,
)
from pellucid.search.acquisition.information import InformationGain, Params, Target, stacked
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.space.encoding import Space
from pellucid.words import printable

Mode = Literal["every", "probability", "multiply"]
# Level of the bands that `until` refers to, and grid points of an effect at which their widths are averaged.
_LEVEL, _GRID = 0.95, 20
# The least informative candidates get this share of the largest information: the logarithm of zero is infinite.
_LOWEST_SHARE = 1e-6


@dataclass(frozen=True)
class Interleave:
    """Spend some proposals on learning the partial dependence of `params` instead of improving the objective.

    Args:
        params: "all", one name, or a list of names; a pair of names stands for their joint (2-d) effect.
        every: with mode "every", each trial whose number is a multiple of this is for learning. With `every=1`, every
            proposal learns until the bands are narrow enough (see `until`); then the search begins.
        until: the half-width of a 95% band, in the objective's unit, that is narrow enough: effects that have reached
            it are dropped, and once the mean over all effects has, every proposal is for the objective. None: learning
            never stops. Bands of `partial_dependence` also include what is not known about the model, and may be
            about twice as wide.
        target: see `InformationGain`.
        mode: "every"; "probability" (each proposal is for learning with `probability`, which `decay` multiplies at
            every trial); "multiply" (every proposal maximises EI times information to the power `beta` / trials).
    """

    params: Params = "all"
    every: int = 2
    until: float | None = None
    target: Target = "band"
    mode: Mode = "every"
    probability: float = 0.5
    decay: float = 1.0
    beta: float = 20.0

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise ValueError(printable(f"`mode` is one of {', '.join(get_args(Mode))}, but got {self.mode!r}."))
        if not (is_number(self.every, 1) and self.every % 1 == 0):
            raise ValueError(f"`every` must be a whole number of at least 1, but got {self.every!r}.")
        if self.until is not None and not (is_number(self.until) and self.until > 0.0):
            raise ValueError(f"`until` is a half-width in the objective's unit, above 0, but got {self.until!r}.")
        shares = is_number(self.probability, 0.0, 1.0) and is_number(self.decay, 0.0, 1.0) and self.decay > 0.0
        if not (shares and is_number(self.beta, 0.0) and self.beta < np.inf):
            raise ValueError(
                "`probability` must be a number in [0, 1], `decay` in (0, 1] and `beta` at least 0, "
                f"but got {self.probability!r}, {self.decay!r} and {self.beta!r}."
            )
        _ = self.gain  # Creating it checks the names and the target.

    @property
    def gain(self) -> InformationGain:
        return InformationGain(self.params, self.target)

    def turn(self, number: int, seed: int) -> bool:
        """Whether trial `number` is for learning (with mode 'multiply', every trial is in part)."""
        if self.mode == "every":
            return number % self.every == 0
        if self.mode == "probability":
            return float(stream(seed, "interleave", number).random()) < self.probability * self.decay**number
        return True

    def widths(self, model: GaussianProcess, space: Space) -> dict[tuple[str, ...], float]:
        """Mean half-width of the calibrated 95% band of every effect, in the objective's unit."""
        return half_widths(model, space, self.gain.effects(space))

    def still_wide(self, model: GaussianProcess, space: Space) -> tuple[InformationGain | None, dict[str, float]]:
        """What is left to learn (None: nothing), and the half-widths that decided this, by effect."""
        if self.until is None:
            return self.gain, {}
        widths = self.widths(model, space)
        wide = [effect for effect, width in widths.items() if width > self.until]
        if not widths or sum(widths.values()) <= self.until * len(widths):
            wide = []
        numbers = {" × ".join(effect): width for effect, width in widths.items()}
        return (replace(self.gain, params=wide) if wide else None), numbers


def half_widths(
    model: GaussianProcess, space: Space, effects: Sequence[tuple[str, ...]], level: float = _LEVEL
) -> dict[tuple[str, ...], float]:
    """Mean half-width of the calibrated band of every effect, in the unit of y; for a model without a warp."""
    if not effects:
        return {}
    phi = stacked(model, space, effects, [_GRID if len(effect) == 1 else _GRID // 2 for effect in effects])
    half = float(ndtri(0.5 + 0.5 * level)) * model.hyperparameters.y_scale * phi.band.sd
    ends = np.cumsum([0, *(effect.size for effect in phi.effects)])
    return {effect: float(half[ends[i] : ends[i + 1]].mean()) for i, effect in enumerate(effects)}


@dataclass(frozen=True)
class Multiplied(Acquisition):
    """Improvement times information to a power; `low` and `high`: the range in which information is scaled to 0..1."""

    base: PointwiseAcquisition
    gain: InformationGain
    exponent: float
    low: float
    high: float

    @staticmethod
    def over(
        base: Acquisition,
        gain: InformationGain,
        exponent: float,
        bound: Callable[[Acquisition], AcquisitionFunction],
        pool: Pool,
    ) -> Multiplied:
        """Scaled over a pool of candidates."""
        information = np.exp(bound(gain).screen_pool(pool))
        low, high = float(information.min()), float(information.max())
        return Multiplied(_factor(base), gain, exponent, low, high if high > low else low + 1.0)

    def words(self) -> dict[str, Term]:
        return {
            "improvement": Term("improvement", "likely improvement", "prediction"),
            "information": Term("information", "to learn about effects", "information"),
        }

    def unit(self, scale: LatentScale) -> Unit:
        return Unit("log", 1.0)

    def settings(self) -> dict[str, Any]:
        own = {"base": self.base.name, "exponent": self.exponent, "low": self.low, "high": self.high}
        return {**own, **self.base.settings(), **self.gain.settings()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Multiplied:
        own, gain = ("exponent", "low", "high"), ("params", "target", "tolerance")
        base = {name: value for name, value in settings.items() if name not in ("base", *own, *gain)}
        return cls(
            _factor(from_name(settings["base"], base)),
            InformationGain(**{name: settings[name] for name in gain}),
            *(float(settings[name]) for name in own),
        )

    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> AcquisitionFunction:
        parts = (self.base.bind(model, situation, space), self.gain.bind(model, situation, space))
        return _MultipliedFunction(self, model, situation, *parts)


def _factor(acquisition: Acquisition) -> PointwiseAcquisition:
    """An acquisition that can be multiplied: its score is a logarithm."""
    if not isinstance(acquisition, PointwiseAcquisition) or not acquisition.log_score:
        raise ValueError(
            f"Only an acquisition whose score is a logarithm can be multiplied by information, but got {acquisition!r}."
        )
    return acquisition


@dataclass(frozen=True)
class _MultipliedFunction(AcquisitionFunction):
    """Additive in logarithms, so that it splits into terms like everything else."""

    acquisition: Multiplied
    model: GaussianProcess
    situation: Situation
    improvement: AcquisitionFunction
    information: AcquisitionFunction

    def weights(self) -> dict[str, float]:
        return {"improvement": 1.0, "information": self.acquisition.exponent}

    def terms(self, X: Array) -> dict[str, Array]:
        return {"improvement": self.improvement.score(X), "information": self._share(self.information.score(X))[0]}

    def _share(self, log_information: Array) -> tuple[Array, Array]:
        """log of the scaled information, and its derivative with respect to log information."""
        value, width = np.exp(log_information), self.acquisition.high - self.acquisition.low
        share = (value - self.acquisition.low) / width
        inside = share > _LOWEST_SHARE
        return np.log(np.maximum(share, _LOWEST_SHARE)), np.where(
            inside, value / np.where(inside, share, 1.0), 0
        ) / width

    def score(self, X: Array) -> Array:
        return self(X)

    def screen_pool(self, pool: Pool) -> Array:
        information = self._share(self.information.screen_pool(pool))[0]
        return self.improvement.screen_pool(pool) + self.acquisition.exponent * information

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        improvement, slope = self.improvement.score_with_gradient(X)
        information, information_slope = self.information.score_with_gradient(X)
        share, by_information = self._share(information)
        total = slope + self.acquisition.exponent * by_information[:, None] * information_slope
        return improvement + self.acquisition.exponent * share, total
