"""Improvement over the best: EI, PI and the weighted EI.

Notation: z = (best - xi - m) / s;  h(z) = phi(z) + z Phi(z);  EI = s h(z) = exploit + explore with
exploit = z s Phi(z) and explore = s phi(z);  WEI(alpha) = alpha exploit + (1 - alpha) explore, so EI = 2 WEI(1/2).
Scores are logarithms where the value is positive, so that they stay finite and informative for |z| up to 1e99.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.numerics import LOG_SQRT_2PI, Array, is_number, log_improvement, log_normal_cdf, normal_cdf, normal_pdf
from pellucid.provenance import AcquisitionState, Term
from pellucid.search.acquisition.base import PointwiseAcquisition, Situation
from pellucid.search.acquisition.units import LatentScale, Unit

# Below this z, z^2 and the logarithms that grow with it are too large to be subtracted without losing all digits, so
# ratios are replaced by their asymptotes.
_FAR = -1e4
# Above this z nothing cancels, so the definition of EI is as accurate as its logarithm and half as expensive.
_NEAR = -6.0
# What WEI's guard subtracts from log EI: more than the logarithms of positive values can differ by.
_BELOW = 1e4


def log_expected_improvement(m: Array, s: Array, best: float) -> Array:
    """log EI of minimising below `best`, stable in both tails."""
    return np.asarray(np.log(s) + log_improvement((best - np.asarray(m)) / s))


def expected_improvement(m: Array, s: Array, best: float) -> Array:
    return np.asarray(np.exp(log_expected_improvement(m, s, best)))


def _exploit_explore(z: Array, s: Array) -> dict[str, Array]:
    with np.errstate(over="ignore", invalid="ignore"):
        cdf = normal_cdf(z)
        exploit = np.where(cdf > 0.0, z * s * cdf, 0.0)
    return {"exploit": exploit, "explore": s * normal_pdf(z)}


def _log_density(z: Array) -> Array:
    return np.asarray(-0.5 * z * z - LOG_SQRT_2PI)


def _ratio(difference: Array, far: Array | float, z: Array) -> Array:
    """exp(difference of two logarithms), replaced by its asymptote where they are too large to be subtracted."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(z < _FAR, far, np.exp(np.minimum(difference, 700.0)))


def _check_margin(xi: float) -> None:
    if not is_number(xi):
        raise ValueError(f"`xi` must be a number, the least improvement in latent units, but got {xi!r}.")


class _Improvement(PointwiseAcquisition):
    """Acquisitions that weigh the exploit part of EI against its explore part."""

    def words(self) -> dict[str, Term]:
        return {
            "exploit": Term("exploit: predicted improvement", "{better} predicted {objective}", "prediction"),
            "explore": Term("explore: room for improvement", "room for improvement", "room"),
        }

    def unit(self, scale: LatentScale) -> Unit:
        return scale.at_best

    @classmethod
    def explored_share(cls, state: AcquisitionState) -> float | None:
        if state.terms.keys() != {"exploit", "explore"}:
            return None
        parts = {name: max(state.weights.get(name, 1.0) * term, 0.0) for name, term in state.terms.items()}
        total = sum(parts.values())
        return parts["explore"] / total if total > 0.0 else None


@dataclass(frozen=True)
class EI(_Improvement):
    """Expected improvement; `xi` (latent units) asks for an improvement of at least that much."""

    xi: float = 0.0
    log_score = True

    def __post_init__(self) -> None:
        _check_margin(self.xi)

    def weights(self, situation: Situation) -> dict[str, float]:
        return {"exploit": 1.0, "explore": 1.0}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return _exploit_explore((situation.best - self.xi - m) / s, s)

    def score(self, m: Array, s: Array, situation: Situation) -> Array:
        return log_expected_improvement(m, s, situation.best - self.xi)

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        z = (situation.best - self.xi - m) / s
        if z.min() > _NEAR:
            # Refinement spends its time here.
            pdf, cdf = normal_pdf(z), normal_cdf(z)
            h = pdf + z * cdf
            return np.log(s * h), -cdf / (s * h), pdf / (s * h)
        log_h = log_improvement(z)
        # Phi/h and phi/h, each by its own logarithm: neither overflows where h underflows.
        by_m, by_s = _ratio(log_normal_cdf(z) - log_h, -z, z), _ratio(_log_density(z) - log_h, z * z, z)
        return np.log(s) + log_h, -by_m / s, by_s / s


@dataclass(frozen=True)
class PI(PointwiseAcquisition):
    """Probability of an improvement of at least `xi` (latent units)."""

    xi: float = 0.0
    log_score = True

    def __post_init__(self) -> None:
        _check_margin(self.xi)

    def words(self) -> dict[str, Term]:
        return {"probability": Term("probability of improvement", "likely improvement", "prediction")}

    def unit(self, scale: LatentScale) -> Unit:
        return Unit("probability", 1.0)

    def weights(self, situation: Situation) -> dict[str, float]:
        return {"probability": 1.0}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return {"probability": normal_cdf((situation.best - self.xi - m) / s)}

    def score(self, m: Array, s: Array, situation: Situation) -> Array:
        return log_normal_cdf((situation.best - self.xi - m) / s)

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        z = (situation.best - self.xi - m) / s
        log_p = log_normal_cdf(z)
        hazard = _ratio(_log_density(z) - log_p, -z, z)
        return log_p, -hazard / s, -z * hazard / s


@dataclass(frozen=True)
class WEI(_Improvement):
    """Weighted expected improvement: alpha = 1 only exploits, alpha = 0 only explores, 1/2 is EI.

    `guard`: above alpha = 1/2 the value can be negative everywhere, and its maximiser is then far from everything
    promising; with the guard such points are ranked by EI, below all points with a positive value.
    """

    alpha: float = 0.5
    guard: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.alpha, 0.0, 1.0):
            raise ValueError(f"`alpha` must be a number between 0 and 1, but got {self.alpha!r}.")

    def settings(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "guard": float(self.guard)}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> WEI:
        return cls(**{**settings, "guard": bool(settings.get("guard", False))})

    def maximised_at(self, m: Array, s: Array, situation: Situation) -> PointwiseAcquisition:
        """EI if the guard had to rank the proposal."""
        if not self.guard:
            return self
        weights = self.weights(situation)
        terms = self.terms(m, s, situation)
        value = sum(weights[name] * float(term[0]) for name, term in terms.items())
        return EI() if value <= 0.0 else self

    def weights(self, situation: Situation) -> dict[str, float]:
        return {"exploit": self.alpha, "explore": 1.0 - self.alpha}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return _exploit_explore((situation.best - m) / s, s)

    def score(self, m: Array, s: Array, situation: Situation) -> Array:
        return self.score_slopes(m, s, situation)[0]

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        """Up to alpha = 1/2 the value is positive and its logarithm is used; above, the value itself.

        With the guard: the logarithm where the value is positive, elsewhere log EI moved below every such logarithm.
        """
        z = (situation.best - m) / s
        if self.alpha <= 0.5:
            return self._log_slopes(z, s)
        value, by_m, by_s = self._value_slopes(z, s)
        if not self.guard:
            return value, by_m, by_s
        good = value > 0.0
        safe = np.where(good, value, 1.0)
        fallback = EI().score_slopes(m, s, situation)
        return (
            np.where(good, np.log(safe), fallback[0] - _BELOW),
            np.where(good, by_m / safe, fallback[1]),
            np.where(good, by_s / safe, fallback[2]),
        )

    def _value_slopes(self, z: Array, s: Array) -> tuple[Array, Array, Array]:
        """The value and its slopes in m and s."""
        a, b = self.alpha, 1.0 - self.alpha
        terms = _exploit_explore(z, s)
        pdf, cdf = normal_pdf(z), normal_cdf(z)
        # d(s z Phi)/dm = -Phi - z phi, d(s phi)/dm = z phi; d/ds: -z^2 phi and phi (1 + z^2).
        with np.errstate(over="ignore", invalid="ignore"):
            zp = np.where(pdf > 0.0, z * pdf, 0.0)
            zzp = np.where(pdf > 0.0, z * z * pdf, 0.0)
        value = a * terms["exploit"] + b * terms["explore"]
        return value, a * (-cdf - zp) + b * zp, -a * zzp + b * (pdf + zzp)

    def _log_slopes(self, z: Array, s: Array) -> tuple[Array, Array, Array]:
        """The logarithm of the value, which is positive for alpha <= 1/2, and its slopes in m and s."""
        a = self.alpha
        # a h + (1 - 2a) phi: both summands positive, added in log space.
        log_h, log_pdf = log_improvement(z), _log_density(z)
        with np.errstate(divide="ignore"):
            log_value = np.logaddexp(np.log(a) + log_h, np.log(1.0 - 2.0 * a) + log_pdf)
        # q tends to (1 - 2a) phi, or to phi / (2 z^2) for a = 1/2, which is what the far asymptotes below divide by.
        thin = a == 0.5
        far_cdf = -2.0 * z if thin else -1.0 / ((1.0 - 2.0 * a) * np.minimum(z, _FAR))
        far_pdf = 2.0 * z * z if thin else np.full_like(z, 1.0 / (1.0 - 2.0 * a))
        share_cdf, share_pdf = (
            a * _ratio(log_normal_cdf(z) - log_value, far_cdf, z),
            _ratio(log_pdf - log_value, far_pdf, z),
        )
        # value = s q(z), q' = a Phi - (1 - 2a) z phi, q - z q' = (a + (1 - 2a)(1 + z^2)) phi
        slope = share_cdf - (1.0 - 2.0 * a) * z * share_pdf
        by_s = (a + (1.0 - 2.0 * a) * (1.0 + z * z)) * share_pdf / s
        return np.log(s) + log_value, -slope / s, by_s
