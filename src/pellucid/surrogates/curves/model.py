"""The distribution of the value that a trial returns, given its curve so far and its parameters.

Notation
    M            reports of the complete trial that has the most of them, up to the horizon
    positions    at most `_MOST_POSITIONS` of its steps, the same ratio apart as counted in reports, and the horizon
    w            log warp of losses, the same at all positions: w(y) = log((y - lowest) / reach + 1), see below
    V (n, K+1)   latent losses at the K positions, linear between reports, then the latent returned value
    F (n, q)     features of the encoded parameters: (x, x^2) made orthogonal, and one per category of a choice

The value that a trial returned is a position of its own. Whether it is the last report or something else is learned
like every other step of the chain (see `chain`). If trials return their best report, as after early stopping, curves
count with the best loss so far.

A diverged loss of 1e9 is a bad loss and not a scale for all others: losses far outside the others count as the nearest
of two `fences`. The warp is there because near the best loss curves differ by less than elsewhere: `lowest` is the
lowest loss kept, and `reach` is the way from there to the median value. Without it, chances of beating the best are too
high. Fences and warp move with the losses, so that predictions follow every linear change of their unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.numerics import Array, Integers
from pellucid.records import Warp
from pellucid.study.curves import LARGEST_STEP, Curves, check_horizon
from pellucid.surrogates.curves.chain import Between, Chain, fit_chain
from pellucid.surrogates.curves.forecast import Forecast
from pellucid.surrogates.warp import LARGEST_VALUE, forward

# Complete curves below which there is no model. With fewer, the prior alone would decide.
FEWEST_COMPLETE = 4
# Positions kept of a curve: fewer predict worse on the design tasks, more gain nothing. The first is at 1/256 of the
# curve.
_MOST_POSITIONS, _FIRST_SHARE = 12, 1.0 / 256.0
# Fences are as far from the median of all kept losses as this many times the distance of their 10% and 90% quantiles:
# far enough to leave the design tasks as they are. Much farther away, a few diverging trials would raise the chances of
# all others. If a fifth of the losses diverge, the 90% quantile is one of them: it counts as no farther from the median
# than this many times the distance of the 10% quantile.
_TAIL, _FENCE, _SKEW = 0.1, 3.0, 10.0
# The reach of the warp is at least this share of the way from the lowest loss to the 90% quantile of values.
_SMALLEST_REACH = 0.1
# Spread below which losses count as equal, relative to their size.
_SMALLEST_SPREAD = 1e-12
# Curves that the estimate of a bend's sd does without: one for the lead, two for the little that a few of them know.
# Within a cell a curve need not be a parabola, so intervals of long curves would be too narrow without the factor.
_LOST_CURVES, _BEND_FACTOR = 3, 2.0
# Degrees of freedom that a forecast has at most. The chain's own rise with the length of a curve, but curves cross more
# often than smooth starts suggest: on the design tasks, of the trials with a stated chance below 1% to become the best,
# eight times as many did, and 95% intervals held 92% of values. With 4, two and a half times as many, and 95%.
_MOST_FREEDOM = 4.0


@dataclass(frozen=True, eq=False)
class CurveModel:
    """A fitted chain and the scale it lives on.

    positions        steps (K,);  the last is the horizon
    lead, bend_sd    (K,) in the middle of the cell that ends at a position, a report has 1/2 + lead of the change
                     within the cell, and an error of this sd; latent
    ceilings         (K,) the largest latent loss that any curve had at a position: worse ones count as that, because a
                     curve that is far worse than all others would count as restless, and its end as unsure
    fences           losses outside count as the nearest of the two
    complete         curves that it learned from;  best_so_far  whether curves count with their best loss so far
    shift, unit      latent loss = (w(loss) - shift) / unit
    """

    chain: Chain
    positions: Integers
    lead: Array
    bend_sd: Array
    ceilings: Array
    fences: tuple[float, float]
    warp: Warp | None
    shift: float
    unit: float
    nominal: tuple[int, ...]
    complete: int
    best_so_far: bool

    @property
    def horizon(self) -> int:
        return int(self.positions[-1])

    def forecast(self, curves: Curves, X: Array) -> Forecast:
        """The values that these trials return, X (m, d) their encoded parameters, from what they reported so far.

        Values that trials have returned already are not looked at.
        """
        return self._forecast(*self.chain.ends(*self._known(curves, X)))

    def fan(self, curve: Curves, x: Array) -> tuple[Integers, Forecast]:
        """Steps after the last report of one curve, x (1, d) its encoded parameters, and the losses expected there; at
        the end twice: as a report, and as the value that the trial returns."""
        mean, scale, freedom = self.chain.paths(*self._known(curve, x))
        steps = np.append(self.positions, self.positions[-1])
        ahead = np.append(self.positions > curve.last_steps[0], True)
        count = int(ahead.sum())
        return steps[ahead], self._forecast(mean[0, ahead], scale[0, ahead], np.repeat(freedom, count))

    def _known(self, curves: Curves, X: Array) -> tuple[Array, Array, Between]:
        """What the chain is told of curves: positions reached, features, and reports between two positions."""
        if self.best_so_far:
            curves = curves.best_so_far()
        reported = np.minimum(self._latent(curves.at(self.positions)), self.ceilings)
        partial = np.where(self.positions <= curves.last_steps[:, None], reported, np.nan)
        V = np.column_stack([partial, np.full(len(curves), np.nan)])
        return V, features(X, self.nominal), self._between(curves)

    def _forecast(self, mean: Array, scale: Array, freedom: Array) -> Forecast:
        freedom = np.minimum(freedom, _MOST_FREEDOM)
        return Forecast(self.shift + self.unit * mean, self.unit * scale, freedom, self.warp)

    def _latent(self, losses: Array) -> Array:
        return (forward(self.warp, np.clip(losses, *self.fences)) - self.shift) / self.unit

    def _between(self, curves: Curves) -> Between:
        """The last reports that are inside a cell; positions are known by `at`."""
        last, count = curves.last_steps, len(self.positions)
        cell = np.searchsorted(self.positions, last, side="right")
        inside = (cell > 0) & (cell < count)
        cell = np.minimum(cell, count - 1)
        before, after = self.positions[np.maximum(cell - 1, 0)], self.positions[cell]
        share = np.where(inside, (last - before) / np.maximum(after - before, 1), 0.0)
        inside &= share > 0.0
        hump = 4.0 * share * (1.0 - share)
        ceiling = np.maximum(self.ceilings[np.maximum(cell - 1, 0)], self.ceilings[cell])
        reports = np.where(inside, np.minimum(self._latent(curves.losses[curves.starts[1:] - 1]), ceiling), np.nan)
        return Between(reports, share + hump * self.lead[cell], hump * self.bend_sd[cell] ** 2)


def curve_model(
    curves: Curves, X: Array, nominal: tuple[int, ...] = (), horizon: int | None = None
) -> CurveModel | None:
    """The model of these curves; None if fewer than `FEWEST_COMPLETE` of them are complete.

    X          (n, d) encoded parameters, as of `study.arrays.encoded_rows`; a row of NaN counts as average
    nominal    categories per column, as `Space.nominal`;  horizon  default: `Curves.horizon`
    """
    check_horizon(horizon)
    end = curves.horizon if horizon is None else max(-LARGEST_STEP, min(int(horizon), LARGEST_STEP))
    complete = int(curves.complete.sum())
    if end is None or complete < FEWEST_COMPLETE:
        return None
    best = curves.returns_best
    curves = curves.best_so_far() if best else curves
    positions = kept_positions(curves, end)
    losses = np.column_stack([curves.at(positions), curves.final])
    fences = _fences(losses)
    losses = np.clip(losses, *fences)
    warp = _warp(losses, losses[curves.complete, -1])
    latent = forward(warp, losses)
    shift, unit = _scale(latent)
    V = (latent - shift) / unit
    middle = (positions[:-1] + positions[1:]) // 2
    halfway = (forward(warp, np.clip(curves.at(middle), *fences)) - shift) / unit
    lead, bend_sd = _bends(V[curves.complete], halfway[curves.complete], positions)
    return CurveModel(
        chain=fit_chain(V, features(X, nominal)),
        positions=positions,
        lead=lead,
        bend_sd=bend_sd,
        ceilings=np.nanmax(V[:, :-1], axis=0),
        fences=fences,
        warp=warp,
        shift=shift,
        unit=unit,
        nominal=nominal,
        complete=complete,
        best_so_far=best,
    )


def kept_positions(curves: Curves, horizon: int) -> Integers:
    """Steps of the complete trial with the most reports up to the horizon, at equal ratios of their number."""
    counts = curves.reports_until(horizon)
    longest = int(np.argmax(np.where(curves.complete, counts, -1)))
    steps = curves.curve(longest)[0][: counts[longest]]
    if not len(steps):
        return np.array([horizon], dtype=np.int64)
    first = max(1.0, _FIRST_SHARE * len(steps))
    ranks = np.rint(np.geomspace(first, len(steps), _MOST_POSITIONS)).astype(np.intp)
    return np.unique(np.append(steps[ranks - 1], horizon))


def features(X: Array, nominal: tuple[int, ...] = ()) -> Array:
    """F (n, q): each with mean 0 and variance 1 for uniform parameters; 0 where X is NaN."""
    counts = np.array(nominal if nominal else (0,) * X.shape[1], dtype=int)
    x = X[:, counts == 0] - 0.5
    columns = [np.sqrt(12.0) * x, np.sqrt(180.0) * (x * x - 1.0 / 12.0)]
    for j in np.flatnonzero(counts > 1):
        count = counts[j]
        code = np.clip(np.floor(X[:, [j]] * count), 0, count - 1)
        columns.append(np.where(np.isnan(code), 0.0, (code == np.arange(count)) * count - 1.0) / np.sqrt(count - 1.0))
    return np.asarray(np.nan_to_num(np.hstack(columns)))


def _fences(losses: Array) -> tuple[float, float]:
    known = losses[~np.isnan(losses)]
    low, middle, high = np.quantile(0.5 * known, [_TAIL, 0.5, 1.0 - _TAIL])  # Halved, so that differences stay finite.
    if high <= low:
        return -LARGEST_VALUE, LARGEST_VALUE
    if middle > low:
        high = min(high, middle + _SKEW * (middle - low))
    width = min(_FENCE * float(high - low), LARGEST_VALUE / 4.0)
    return 2.0 * float(middle - width), 2.0 * float(middle + width)


def _warp(losses: Array, final: Array) -> Warp | None:
    """None if values and losses are too much alike to have a scale."""
    known = losses[~np.isnan(losses)]
    lowest, highest = float(known.min()), float(known.max())
    middle, upper = np.quantile(final, [0.5, 0.9])
    reach = float(max(middle - lowest, _SMALLEST_REACH * (upper - lowest)))
    if not _SMALLEST_SPREAD * max(abs(lowest), abs(float(middle)), 1e-300) < reach < np.inf:
        return None
    return Warp("log", lowest, reach, 1.0, lowest, highest)


def _scale(latent: Array) -> tuple[float, float]:
    """Median of all latent losses and sd of the latent values; if all values are equal, the sd of the losses."""
    known = latent[~np.isnan(latent)]
    shift = float(np.median(known))
    smallest = _SMALLEST_SPREAD * max(float(np.abs(known).max()), 1e-300)
    for losses in (latent[:, -1][~np.isnan(latent[:, -1])], known):
        unit = float(np.std(losses - shift))
        if unit > smallest:
            return shift, unit
    return shift, max(smallest, 1e-300)


def _bends(V: Array, halfway: Array, positions: Integers) -> tuple[Array, Array]:
    """Lead and sd in the middle of the cell that ends at each position (K,), by a regression through the origin."""
    width = positions[1:] - positions[:-1]
    share = (width // 2) / width
    hump = np.where(share > 0.0, 4.0 * share * (1.0 - share), np.inf)
    change = V[:, 1:-1] - V[:, :-2]
    bend = (halfway - V[:, :-2] - share * change) / hump
    lead = (bend * change).sum(axis=0) / np.maximum((change**2).sum(axis=0), 1e-300)
    square = _BEND_FACTOR * ((bend - lead * change) ** 2).sum(axis=0) / max(len(V) - _LOST_CURVES, 1)
    return np.append(0.0, lead), np.append(0.0, np.sqrt(square))
