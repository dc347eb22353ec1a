"""The distribution of the value that a trial returns, given its curve so far and its parameters.

Notation
    M            reports of the complete trial that has the most of them, up to the horizon
    positions    at most `_MOST_POSITIONS` of its steps, the same ratio apart as counted in reports, and the horizon
    V (n, K+1)   latent losses at the K positions (see `scale`), linear between reports, then the latent returned value
    F (n, q)     features of the encoded parameters: (x, x^2) made orthogonal, and one per category of a choice

The value that a trial returned is a position of its own. Whether it is the last report or something else is learned
like every other step of the chain (see `chain`); if it is another quantity, it has a scale of its own. If trials return
their best report, as after early stopping, curves count with the best loss so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.models.curves.chain import Between, Chain, fit_chain
from pellucid.models.curves.forecast import Forecast
from pellucid.models.curves.reports import LARGEST_STEP, Curves, check_horizon
from pellucid.models.curves.scale import Scale
from pellucid.numerics import Array, Integers

# Complete curves below which there is no model. With fewer, the prior alone would decide.
FEWEST_COMPLETE = 4
# Positions kept of a curve: fewer predict worse on the design tasks, more gain nothing. The first is at 1/256 of the
# curve.
_MOST_POSITIONS, _FIRST_SHARE = 12, 1.0 / 256.0
# Curves that the estimate of a bend's sd does without: one for the lead, two for the little that a few of them know.
# Within a cell a curve need not be a parabola, so intervals of long curves would be too narrow without the factor.
_LOST_CURVES, _BEND_FACTOR = 3, 2.0
# Values are those of the last reports if they differ by less than this share of how far either of them spread, in the
# median; otherwise they are another quantity.
_ALIKE = 0.5


@dataclass(frozen=True, eq=False)
class CurveModel:
    """A fitted chain and the scale it lives on.

    positions        steps (K,);  the last is the horizon
    lead, bend_sd    (K,) in the middle of the cell that ends at a position, a report has 1/2 + lead of the change
                     within the cell, and an error of this sd; latent
    ceilings         (K,) the largest latent loss that any curve had at a position: worse ones count as that, because a
                     curve that is far worse than all others would count as restless, and its end as unsure
    reports, values  latent scales of reports and of returned values, the same unless those are another quantity
    complete         curves that it learned from;  best_so_far  whether curves count with their best loss so far
    """

    chain: Chain
    positions: Integers
    lead: Array
    bend_sd: Array
    ceilings: Array
    reports: Scale
    values: Scale
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
        return self.values.forecast(*self.chain.ends(*self._known(curves, X)))

    def fan(self, curve: Curves, x: Array) -> tuple[Integers, Forecast, Forecast]:
        """Positions after the last report of one curve, x (1, d) its encoded parameters; the losses expected there; and
        the value that the trial returns."""
        mean, sd, freedom = self.chain.paths(*self._known(curve, x))
        ahead = np.flatnonzero(self.positions > curve.last_steps[0])
        reports = self.reports.forecast(mean[0, ahead], sd[0, ahead], np.repeat(freedom, len(ahead)))
        return self.positions[ahead], reports, self.values.forecast(mean[:, -1], sd[:, -1], freedom)

    def _known(self, curves: Curves, X: Array) -> tuple[Array, Array, Between]:
        """What the chain is told of curves: positions reached, features, and reports between two positions."""
        if self.best_so_far:
            curves = curves.best_so_far()
        reported = np.minimum(self.reports.latent(curves.at(self.positions)), self.ceilings)
        partial = np.where(self.positions <= curves.last_steps[:, None], reported, np.nan)
        V = np.column_stack([partial, np.full(len(curves), np.nan)])
        return V, features(X, self.nominal), self._between(curves)

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
        last_reports = self.reports.latent(curves.losses[curves.starts[1:] - 1])
        reports = np.where(inside, np.minimum(last_reports, ceiling), np.nan)
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
    returned = curves.final[curves.complete]
    if _alike(losses[curves.complete, -2], returned):
        reports = values = Scale.of(losses, returned)
    else:
        reports = Scale.of(losses[:, :-1], losses[curves.complete, -2])
        values = Scale.of(returned[:, None], returned)
    V = np.column_stack([reports.latent(losses[:, :-1]), values.latent(losses[:, -1])])
    middle = (positions[:-1] + positions[1:]) // 2
    lead, bend_sd = _bends(V[curves.complete], reports.latent(curves.at(middle))[curves.complete], positions)
    return CurveModel(
        chain=fit_chain(V, features(X, nominal)),
        positions=positions,
        lead=lead,
        bend_sd=bend_sd,
        ceilings=np.nanmax(V[:, :-1], axis=0),
        reports=reports,
        values=values,
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


def _alike(last: Array, values: Array) -> bool:
    """Whether complete trials return about what they reported last (n,)."""
    spread = max(float(np.diff(np.quantile(0.5 * losses, [0.1, 0.9]))[0]) for losses in (last, values))
    return float(np.median(np.abs(0.5 * values - 0.5 * last))) <= max(_ALIKE * spread, 0.0)


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
