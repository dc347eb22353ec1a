"""Expected hypervolume improvement: the volume that a candidate is expected to add to what a front dominates.

Notation
    m, s      (q, k)   mean and sd of the objectives of q candidates, independent and normal; every one is minimised
    l, u      (b, k)   ends of disjoint boxes that together are all outcomes below the reference that the front does
                       not dominate (`fronts.boxes`); l may be -inf
    h(z)               phi(z) + z Phi(z), so that E[(u - Y)_+] = s h((u - m) / s) for Y ~ N(m, s^2)

An outcome y dominates {x: x >= y}. Of a box it gains the part with max(l_i, y_i) <= x_i < u_i for all i, of volume
prod_i (u_i - max(l_i, y_i))_+. Boxes are disjoint and cover all there is to gain, so gains add up. Because
(u - max(l, y))_+ = (u - y)_+ - (l - y)_+ for l <= u, and because objectives are independent,

    EHVI = sum over boxes of prod_i s_i D_i,    D_i = h((u_i - m_i) / s_i) - h((l_i - m_i) / s_i),

and from d(s h)/dm = -Phi, d(s h)/ds = phi

    d(s_i D_i)/dm_i = -(Phi(z_u) - Phi(z_l)),   d(s_i D_i)/ds_i = phi(z_u) - phi(z_l).

Differences may cancel without harm: every outcome below the upper end of a box can be gained too, so EHVI is at least
prod_i s_i h(z_u) of any box, and the rounding error of D_i is tiny beside h(z_u). The same holds for slopes in m.

Sums of products are exact to 1e-11 down to 1e-55 of the largest possible, some 15 standard deviations from the front.
From there on everything is a logarithm: log D = log h(z_u) + log(1 - e), e = h(z_l) / h(z_u), and with g = h / phi

    log e = (z_u - z_l)(z_u + z_l) / 2 + log g(z_l) - log g(z_u)

loses nothing even where both log h are -1e15.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx

from pellucid.numerics import LOG_SQRT_2PI, Array, Mask, normal_cdf, normal_pdf
from pellucid.pareto import Axis, Boxes
from pellucid.words import printable

Slopes = tuple[Array, Array, Array]

_SQRT_HALF_PI = float(np.sqrt(np.pi / 2.0))
_INV_SQRT_2 = float(np.sqrt(0.5))
_SMALLEST, _LARGEST = float(np.finfo(float).tiny), float(np.finfo(float).max)
# An sd counts as at least this share of the largest end, so that a known outcome (an sd of zero) is no special case.
# Standardised ends stay within what can be squared.
_KNOWN, _LARGEST_Z = 1e-100, 1e150
# Sums of products take z below the first for the first, where h = 5e-74: products of four do not underflow, which would
# be slow. A sum is trusted above the second, relative to the largest there could be: beside it such an h is nothing.
_LAST_Z, _TRUSTED = -18.0, 1e-55
# The definition of h is used above the first; the expansion of g in 1/z^2 below the second, where ten terms are exact.
_NEAR, _FAR = -1.0, -20.0
_EXPANSION = np.cumprod(np.r_[1.0, -np.arange(3.0, 22.0, 2.0)])[::-1]
# Numbers per array: what fits into the cache of a processor, and bounds memory.
_CHUNK = 1 << 13


def log_ehvi(m: Array, s: Array, boxes: Boxes, enough: int | None = None) -> Array:
    """log EHVI (q,) of candidates with means m and sds s (q, k); finite however far they are from the front.

    An sd of zero is that of a known outcome. `enough`: for a choice among many candidates, those that are far from the
    front have -inf if at least so many others are not: theirs is less, and costs more time.
    """
    m, s = _checked(m, s, boxes)
    out = np.full(len(m), -np.inf)
    near = np.ones(len(m), dtype=bool)
    for part in _chunks(len(m), boxes):
        out[part], near[part] = _log_sum(m[part], s[part], boxes)
    if enough is not None and near.sum() >= enough:
        out[~near] = -np.inf
        return out
    far = np.flatnonzero(~near)
    for part in _chunks(len(far), boxes):
        out[far[part]] = _far_log_sum(m[far[part]], s[far[part]], boxes)[0]
    return out


def log_ehvi_at_most(m: Array, s: Array, boxes: Boxes) -> Array:
    """An upper bound (q,) of log EHVI that takes no longer far from the front, and is exact elsewhere."""
    m, s = _checked(m, s, boxes)
    out = np.full(len(m), -np.inf)
    for part in _chunks(len(m), boxes):
        out[part] = _log_sum(m[part], s[part], boxes)[0]
    return out


def log_ehvi_slopes(m: Array, s: Array, boxes: Boxes) -> Slopes:
    """log EHVI (q,) and its slopes in m and in s, (q, k) each."""
    m, s = _checked(m, s, boxes)
    out, by_m, by_s = np.full(len(m), -np.inf), np.zeros(m.shape), np.zeros(m.shape)
    for part in _chunks(len(m), boxes):
        out[part], by_m[part], by_s[part], trusted = _log_sum_slopes(m[part], s[part], boxes)
        if not trusted.all():
            far = np.arange(len(m))[part][~trusted]
            out[far], by_m[far], by_s[far] = _far_slopes(m[far], s[far], boxes)
    return out, np.clip(by_m, -_LARGEST, _LARGEST), np.clip(by_s, -_LARGEST, _LARGEST)


def _checked(m: Array, s: Array, boxes: Boxes) -> tuple[Array, Array]:
    m, s = np.asarray(m, dtype=float), np.asarray(s, dtype=float)
    if m.ndim != 2 or m.shape != s.shape or m.shape[1] != boxes.lower.shape[1]:
        raise ValueError(
            printable(
                "Means and sds must have one row per candidate and one column per objective, here "
                f"{boxes.lower.shape[1]}, but got shapes {m.shape} and {s.shape}."
            )
        )
    sizes = [np.abs(axis.ends[1:]).max(initial=0.0) or 1.0 for axis in boxes.axes]
    return m, np.maximum(s, [max(_KNOWN * size, _SMALLEST) for size in sizes])


def _chunks(q: int, boxes: Boxes) -> list[slice]:
    """Parts of the candidates; none if there is nothing to gain."""
    if len(boxes) == 0:
        return []
    size = max(1, _CHUNK // len(boxes))
    return [slice(start, start + size) for start in range(0, q, size)]


def _standardised(m: Array, s: Array, axis: Axis) -> Array:
    """z (p - 1, q) of the finite ends along one objective."""
    with np.errstate(over="ignore"):
        return np.clip((axis.ends[1:, None] - m) / s, -_LARGEST_Z, _LARGEST_Z)


def _with_infinity(values: Array) -> Array:
    """(p, q) from (p - 1, q): zeros for the end -inf, which comes first."""
    return np.concatenate([np.zeros((1, values.shape[1])), values])


# ------------------------------------------------------------------------------------------------- sums of products


def _normal_parts(m: Array, s: Array, axis: Axis) -> tuple[Array, Array, Array]:
    """h, Phi and phi (p, q) at the ends along one objective."""
    z = np.maximum(_standardised(m, s, axis), _LAST_Z)
    pdf, cdf = normal_pdf(z), normal_cdf(z)
    return _with_infinity(pdf + z * cdf), _with_infinity(cdf), _with_infinity(pdf)


def _log_sum(m: Array, s: Array, boxes: Boxes) -> tuple[Array, Mask]:
    """log EHVI (q,), and whether to trust it; an upper bound where it cannot be trusted."""
    products, most = np.ones((len(boxes), len(m))), np.ones(len(m))
    with np.errstate(over="ignore", invalid="ignore"):
        for i, axis in enumerate(boxes.axes):
            z = np.maximum(_standardised(m[:, i], s[:, i], axis), _LAST_Z)
            h = _with_infinity(normal_pdf(z) + z * normal_cdf(z))
            products *= axis.differences(h)
            most *= np.maximum(h[-1], 1.0)
        return _logarithm(products.sum(axis=0), most, s)


def _log_sum_slopes(m: Array, s: Array, boxes: Boxes) -> tuple[Array, Array, Array, Mask]:
    """`_log_sum` with the slopes in m and s before the last result."""
    gains, cdfs, pdfs, most = [], [], [], np.ones(len(m))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for i, axis in enumerate(boxes.axes):
            h, cdf, pdf = _normal_parts(m[:, i], s[:, i], axis)
            gains.append(axis.differences(h))
            cdfs.append(axis.differences(cdf))
            pdfs.append(axis.differences(pdf))
            most *= np.maximum(h[-1], 1.0)
        others = _products_of_others(gains)
        total = np.einsum("bq,bq->q", gains[0], others[0])
        by_m = np.stack([np.einsum("bq,bq->q", *pair) for pair in zip(cdfs, others, strict=True)], axis=1)
        by_s = np.stack([np.einsum("bq,bq->q", *pair) for pair in zip(pdfs, others, strict=True)], axis=1)
        value, trusted = _logarithm(total, most, s)
        return value, -by_m / total[:, None] / s, by_s / total[:, None] / s, trusted


def _logarithm(total: Array, most: Array, s: Array) -> tuple[Array, Mask]:
    trusted = np.asarray(total > _TRUSTED * most)
    return np.log(np.where(trusted, total, _TRUSTED * most)) + np.log(s).sum(axis=1), trusted


def _products_of_others(factors: list[Array]) -> list[Array]:
    """For each factor the product of the rest, without a division."""
    products = [np.ones_like(factors[0])]
    for factor in factors[:-1]:
        products.append(products[-1] * factor)
    after = np.ones_like(factors[0])
    for product, factor in zip(products[::-1], factors[::-1], strict=True):
        product *= after
        after *= factor
    return products


# ------------------------------------------------------------------------------------------------------- logarithms


@dataclass(frozen=True, eq=False)
class _Tail:
    """What the ends (p, q) along one objective contribute, in a form that neither underflows nor cancels."""

    z: Array
    log_h: Array
    log_g: Array  # log(h / phi); above z = -1 its value there
    cdf_share: Array  # Phi / h
    pdf_share: Array  # phi / h

    @staticmethod
    def of(m: Array, s: Array, axis: Axis) -> _Tail:
        z = _standardised(m, s, axis)
        near, up, down = z > _NEAR, np.maximum(z, _NEAR), np.minimum(z, _NEAR)
        pdf, cdf = normal_pdf(up), normal_cdf(up)
        h = pdf + up * cdf
        mills = _SQRT_HALF_PI * erfcx(-_INV_SQRT_2 * down)
        inverse_square = 1.0 / np.square(np.minimum(down, _FAR))
        g = np.where(down > _FAR, 1.0 + down * mills, np.polyval(_EXPANSION, inverse_square) * inverse_square)
        log_g = np.log(g)
        log_h = np.where(near, np.log(h), log_g - 0.5 * np.square(down) - LOG_SQRT_2PI)
        ends = (z, log_h, log_g, np.where(near, cdf / h, mills / g), np.where(near, pdf / h, 1.0 / g))
        return _Tail(*(_with_infinity(values) for values in ends))

    def log_decay(self, s: Array, axis: Axis) -> Array:
        """log e (b, q): how much smaller h is at the lower end of a box than at its upper end; never positive."""
        low, high = axis.lower, axis.upper
        z_high = self.z.take(high, axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # What is below an infinite end is replaced.
            width = (axis.ends[high] - axis.ends[low])[:, None] / s
            steep = 0.5 * width * (z_high + self.z.take(low, axis=0)) - axis.differences(self.log_g)
        decay = np.where(z_high <= _NEAR, steep, -axis.differences(self.log_h))
        decay[low == 0] = -np.inf
        return np.minimum(decay, 0.0)


def _far_log_sum(m: Array, s: Array, boxes: Boxes) -> tuple[Array, Array, list[_Tail], list[Array]]:
    """log EHVI (q,), the share of each box in it (b, q), and for each objective the tail and log e."""
    tails = [_Tail.of(m[:, i], s[:, i], axis) for i, axis in enumerate(boxes.axes)]
    decays = [tail.log_decay(s[:, i], axis) for i, (tail, axis) in enumerate(zip(tails, boxes.axes, strict=True))]
    logs = np.zeros((len(boxes), len(m)))
    with np.errstate(divide="ignore"):
        for axis, tail, decay in zip(boxes.axes, tails, decays, strict=True):
            logs += tail.log_h[axis.upper] + np.log(-np.expm1(decay))
    largest = logs.max(axis=0)
    shares = np.exp(logs - largest)
    total = shares.sum(axis=0)
    return largest + np.log(total) + np.log(s).sum(axis=1), shares / total, tails, decays


def _far_slopes(m: Array, s: Array, boxes: Boxes) -> Slopes:
    value, shares, tails, decays = _far_log_sum(m, s, boxes)
    by_m, by_s = np.empty(m.shape), np.empty(m.shape)
    for i, (axis, tail, decay) in enumerate(zip(boxes.axes, tails, decays, strict=True)):
        # (Phi(z_u) - Phi(z_l)) / D = (cdf_share(z_u) - e cdf_share(z_l)) / (1 - e), and phi likewise; where e = 1 the
        # share of the box is zero.
        e = np.exp(decay)
        weights = shares / np.where(decay < 0.0, -np.expm1(decay), 1.0)
        by_m[:, i] = -np.einsum("bq,bq->q", weights, tail.cdf_share[axis.upper] - e * tail.cdf_share[axis.lower])
        by_s[:, i] = np.einsum("bq,bq->q", weights, tail.pdf_share[axis.upper] - e * tail.pdf_share[axis.lower])
    with np.errstate(over="ignore"):
        return value, by_m / s, by_s / s
