"""Policies: acquisitions that change while a study runs, as pure functions of the receipts so far.

Notation
    alpha        weight of exploitation in WEI: 1/2 is EI, 1 only exploits, 0 only explores
    m, s, z      posterior mean, sd and (best - m) / s at a proposal, as its own model saw them (latent scale)
    UBR          upper bound of the regret: min of m + w s over the better evaluated configurations, minus the min of
                 m - w s over the whole space, w = sqrt(2 log(d t^2)); both mapped back to losses before subtracting
    attitude     whether the last proposals explored or exploited

A policy has no state of its own, so workers that share a study, and a study that is resumed, get the same alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel
from pellucid.numerics import Array, is_number, is_whole_number, normal_cdf, normal_pdf, stream
from pellucid.provenance import ModelReceipt, PolicyState
from pellucid.search.acquisition.base import Acquisition, Effort, PointwiseFunction, Pool, Situation
from pellucid.search.acquisition.bounds import LCB, confidence_width
from pellucid.search.acquisition.constrained import Constrained
from pellucid.search.acquisition.improvement import EI, PI, WEI
from pellucid.search.acquisition.optimize import maximum, screen
from pellucid.search.acquisition.policy import Decision, Evidence
from pellucid.space.encoding import Space
from pellucid.words import printable

# Evaluated configurations whose upper bounds are computed at once. Few are needed: they are tried best first.
_BATCH = 16
# Evaluated configurations around which candidates for the lower bound are drawn.
_N_INCUMBENTS = 5
# A configuration is ruled out as infeasible if its chance of being feasible is smaller than this.
_RULED_OUT = 1e-3
# Where constraints meet, what is possible lies on narrow ridges: the bound needs more starts and longer climbs there.
_RIDGE_STARTS, _RIDGE_CLIMB = 24, Effort(150, 1e-6)
# Improvements below this share of the best value are rounding errors, and no reason to reset a policy.
_SMALLEST_PROGRESS = 1e-12


# ---------------------------------------------------------------------- the bound of the regret, and when it levels off


def upper_bound_regret(
    model: GaussianProcess,
    X_observed: Array,
    space: Space,
    top_p: float = 0.5,
    pool: Pool | None = None,
    width: float | None = None,
    constraints: tuple[ConstraintModel, ...] = (),
) -> tuple[float, float, float]:
    """(UBR, smallest upper bound of an evaluated configuration, smallest lower bound anywhere), as losses.

    Args:
        model: fitted to the evaluated configurations.
        X_observed: these configurations (n, d), encoded.
        space: over which the lower bound is minimised.
        top_p: the share of the evaluated configurations, best first, whose upper bounds count.
        pool: candidates that the model has screened already; by default they are drawn here.
        width: of the bounds in standard deviations; default sqrt(2 log(d t^2)).
        constraints: models of the constraints; what they rule out is left out of the lower bound.
    """
    X = np.atleast_2d(np.asarray(X_observed, dtype=float))
    n, d = X.shape
    if n == 0 or d != len(space) or not 0.0 < top_p <= 1.0:
        raise ValueError(
            printable(
                f"The bound needs at least one configuration of {len(space)} columns and 0 < top_p <= 1, but got an "
                f"array of shape {X.shape} and top_p = {top_p}."
            )
        )
    width = confidence_width(d, n) if width is None else width
    mean = _mean_at(model, X)
    order = np.argsort(mean, kind="stable")[: int(np.ceil(top_p * n))]
    if pool is None:
        pool = screen(model, space, X[order[:_N_INCUMBENTS]], stream(0, "upper bound of the regret", n))
    upper = lower = np.inf
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        if mean[batch[0]] > upper:
            break  # An upper bound is above its mean, and the means only grow from here.
        m, s = model.latent(X[batch])
        upper = min(upper, float((m + width * s).min()))
        lower = min(lower, float((m - width * s).min()))
    situation = Situation(float(mean.min()), n, d, constraints)
    rng = stream(0, "lower bound", n)
    if constraints:
        names = tuple(constraint.name for constraint in constraints)
        ridge = Constrained(LCB(width), names, weight=1.0, enough=_RULED_OUT).bind(model, situation, space)
        highest = maximum(ridge, space, pool, rng, _RIDGE_STARTS, _RIDGE_CLIMB)
    else:
        highest = maximum(PointwiseFunction(LCB(width), model, situation), space, pool, rng)
    lower = min(lower, -highest)
    min_ucb, min_lcb = (float(v) for v in model.losses(np.array([upper, lower])))
    return min_ucb - min_lcb, min_ucb, min_lcb


def _mean_at(model: GaussianProcess, X: Array) -> Array:
    """Latent means, without another kernel evaluation if X is what the model was conditioned on."""
    if len(X) <= model.n_observed and np.array_equal(model.data.X[: len(X)], X):
        return model.latent_at_observed()[: len(X)]
    return model.latent(X)[0]


def moving_iqm(ubr: Sequence[float] | Array, window: int = 7) -> Array:
    """Mean of the middle half of the last `window` values at every step; the series is padded with its first value.

    For the middle half, a quarter of the window, rounded down, is cut off at each end.
    """
    if window < 1:
        raise ValueError(printable(f"`window` must be at least 1, but got {window}."))
    values = np.asarray(ubr, dtype=float)
    if len(values) == 0:
        return values
    padded = np.concatenate([np.full(window - 1, values[0]), values])
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(padded, window), axis=1)
    cut = window // 4
    return np.asarray(windows[:, cut : window - cut].mean(axis=1))


def adjust_now(
    ubr: Sequence[float] | Array, window: int = 7, epsilon: float = 0.1, memory: int | None = None
) -> npt.NDArray[np.bool_]:
    """At every step, whether the smoothed UBR has levelled off, judged by what was known at that step.

    It has if the last slope of the smoothed series is at most `epsilon` times the largest slope so far (or of the last
    `memory` steps); slopes are central differences, one-sided at both ends. The first `window` steps never count,
    because the window is not full yet.
    """
    smooth = moving_iqm(ubr, window)
    n = len(smooth)
    if n < 2:
        return np.zeros(n, dtype=bool)
    last = np.abs(np.diff(smooth))
    central = np.abs(smooth[2:] - smooth[:-2]) / 2.0
    # At step t the series up to t has the slopes: first one-sided, central ones 1 .. t - 1, last one-sided.
    inner = np.concatenate([last[:1], central])
    if memory is None:
        largest = np.maximum.accumulate(inner)
    else:
        padded = np.concatenate([np.full(memory - 1, 0.0), inner])
        largest = np.lib.stride_tricks.sliding_window_view(padded, memory).max(axis=1)
    at_rest = np.concatenate([[False], last <= epsilon * np.maximum(largest, last)])
    at_rest[:window] = False
    return np.asarray(at_rest)


# ---------------------------------------------------------------------- schedules


def _progress(evidence: Evidence, budget: int) -> float:
    """Used share of the budget of proposals, in [0, 1)."""
    return min(len(evidence.past) / budget, 1.0 - 1e-9)


def _weighted(name: str, alpha: float, guard: bool) -> Decision:
    return Decision(WEI(alpha, guard), PolicyState(name, {"alpha": alpha}))


def _check_budget(budget: int) -> None:
    if not (is_whole_number(budget) and budget >= 1):
        raise ValueError(
            "`budget` counts the proposals of the whole study and must be a whole number of at least 1, but got "
            f"{budget!r}."
        )


@dataclass(frozen=True)
class Steps:
    """WEI whose alpha goes from `start` to `end` in `steps` equal steps over `budget` proposals."""

    budget: int
    start: float = 0.5
    end: float = 1.0
    steps: int = 5
    guard: bool = True
    wants_bounds = False

    def __post_init__(self) -> None:
        _check_budget(self.budget)
        weights = is_number(self.start, 0.0, 1.0) and is_number(self.end, 0.0, 1.0)
        if not (weights and is_whole_number(self.steps) and self.steps >= 2):
            raise ValueError(printable(f"Steps needs at least two steps and weights between 0 and 1, but got {self}."))

    def decide(self, evidence: Evidence) -> Decision:
        step = int(self.steps * _progress(evidence, self.budget))
        return _weighted("Steps", self.start + (self.end - self.start) * step / (self.steps - 1), self.guard)


@dataclass(frozen=True)
class Switch:
    """EI first, PI after the share `after` of `budget` proposals."""

    budget: int
    after: float = 0.5
    wants_bounds = False

    def __post_init__(self) -> None:
        _check_budget(self.budget)
        if not is_number(self.after, 0.0, 1.0):
            raise ValueError(f"`after` is a share of the budget, a number between 0 and 1, but got {self.after!r}.")

    def decide(self, evidence: Evidence) -> Decision:
        late = len(evidence.past) >= self.after * self.budget
        return Decision(PI() if late else EI(), PolicyState("Switch", {"alpha": 1.0 if late else 0.5}))


@dataclass(frozen=True)
class Pulse:
    """WEI that cycles through `alphas`, one per proposal."""

    alphas: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    guard: bool = True
    wants_bounds = False

    def __post_init__(self) -> None:
        given: object = self.alphas
        if not (isinstance(given, (tuple, list)) and given and all(is_number(alpha, 0.0, 1.0) for alpha in given)):
            raise ValueError(f"`alphas` is a tuple of weights between 0 and 1, but got {self.alphas!r}.")

    def decide(self, evidence: Evidence) -> Decision:
        return _weighted("Pulse", self.alphas[len(evidence.past) % len(self.alphas)], self.guard)


@dataclass(frozen=True)
class Portfolio:
    """GP-Hedge: nine acquisitions each nominate a configuration, and one of them is drawn at random.

    The odds of an acquisition grow with how good its earlier nominees look to the current model.

    EI and PI with xi = 0.01, 0.1 and 1 (latent units), LCB with sqrt(0.1), sqrt(0.2) and 1 times the schedule's width.
    """

    rate: float = 1.0
    name = "Portfolio"
    wants_bounds = False

    def __post_init__(self) -> None:
        if not (is_number(self.rate) and self.rate > 0.0):
            raise ValueError(f"`rate` must be a positive number, but got {self.rate!r}.")

    def members(self, situation: Situation) -> tuple[Acquisition, ...]:
        width = confidence_width(situation.dimension, situation.n_observed)
        margins = (0.01, 0.1, 1.0)
        return (
            *(EI(xi) for xi in margins),
            *(PI(xi) for xi in margins),
            *(LCB(float(np.sqrt(share)) * width) for share in (0.1, 0.2, 1.0)),
        )

    def decide(self, evidence: Evidence) -> Decision:
        members = self.members(evidence.situation)
        gains = self._gains(evidence, len(members))
        odds = np.exp(self.rate * (gains - gains.max()))
        chosen = int(evidence.rng.choice(len(members), p=odds / odds.sum()))
        nominees = np.array([evidence.best_under(member) for member in members])
        state = PolicyState(
            self.name,
            {"chosen": float(chosen), **{f"gain {i}": float(gain) for i, gain in enumerate(gains)}},
            tuple(tuple(float(v) for v in row) for row in nominees),
        )
        return Decision(members[chosen], state, nominees[chosen])

    def _gains(self, evidence: Evidence, count: int) -> Array:
        """Sums of rewards; the reward of a nominee is minus its latent mean in the model of the next proposal."""
        states = [receipt.policy for receipt in evidence.past if receipt.policy is not None]
        own = [state for state in states if state.name == self.name]
        if not own:
            return np.zeros(count)
        last, X = own[-1], np.array(own[-1].points)
        gains = np.array([last.numbers.get(f"gain {i}", 0.0) for i in range(count)])
        if X.shape != (count, evidence.situation.dimension):
            return gains  # The space has changed since, so the earlier nominees cannot be compared.
        return gains - evidence.model.latent(X)[0]


# ---------------------------------------------------------------------- self-adjustment


@dataclass(frozen=True)
class SAWEI:
    """Weighted EI that adjusts its own weight against the current attitude whenever the UBR levels off.

    Args:
        alpha: the weight to start with.
        delta: how much an adjustment changes it.
        epsilon, window, memory: when the UBR counts as level, see `adjust_now`.
        track: which proposals define the attitude: the 'last', all 'until_incumbent_change' or 'until_last_adjust'.
        raw_units: compare s phi(z), in the objective's unit, with Phi(z), as the source does; otherwise phi(z) with
            Phi(z), which does not depend on the unit.
        guard: if no configuration has a positive WEI (common for alpha > 1/2), maximise EI instead.
        reset: an improvement of the best value by more than this share of the UBR sets alpha back; None never does.
    """

    alpha: float = 0.5
    delta: float = 0.1
    epsilon: float = 0.1
    window: int = 7
    track: Literal["last", "until_incumbent_change", "until_last_adjust"] = "last"
    raw_units: bool = False
    memory: int | None = 20
    guard: bool = True
    reset: float | None = None
    wants_bounds = True

    def __post_init__(self) -> None:
        steps = is_number(self.delta, 0.0) and is_number(self.epsilon, 0.0)
        if not (is_number(self.alpha, 0.0, 1.0) and steps and is_whole_number(self.window) and self.window >= 1):
            raise ValueError(
                printable(
                    "SAWEI needs numbers: alpha in [0, 1], delta and epsilon of at least 0 and a whole window of at "
                    f"least 1, but got {self}."
                )
            )
        if self.track not in ("last", "until_incumbent_change", "until_last_adjust"):
            raise ValueError(
                f"`track` is 'last', 'until_incumbent_change' or 'until_last_adjust', but got {self.track!r}."
            )
        if self.memory is not None and not (is_whole_number(self.memory) and self.memory >= 1):
            raise ValueError(f"`memory` must be None or a whole number of at least 1, but got {self.memory!r}.")
        if self.reset is not None and not is_number(self.reset, 0.0):
            raise ValueError(f"`reset` must be None or a share of the UBR of at least 0, but got {self.reset!r}.")

    @staticmethod
    def paper() -> SAWEI:
        """The rule exactly as in the source: raw units, a trigger with unlimited memory, no guard and no reset."""
        return SAWEI(raw_units=True, memory=None, guard=False, reset=None)

    def decide(self, evidence: Evidence) -> Decision:
        assert evidence.bounds is not None
        alpha = self.alphas(evidence.past, evidence.bounds[0], evidence.best)[-1]
        return Decision(WEI(alpha, self.guard), PolicyState("SAWEI", {"alpha": alpha}))

    def alphas(self, past: Sequence[ModelReceipt], ubr: float, best: float) -> list[float]:
        """The weight at every past proposal that has a UBR, and the weight of the next proposal.

        `ubr`, `best`: of the current model and observations, as losses.
        """
        steps = [receipt for receipt in past if receipt.bounds]
        series = [receipt.bounds[0] for receipt in steps] + [ubr]
        bests = [_best_loss(receipt) for receipt in steps] + [best]
        rests = adjust_now(series, self.window, self.epsilon, self.memory)
        alpha, out = self.alpha, [self.alpha]
        explore = exploit = 0.0
        for k in range(1, len(series)):
            terms = self._terms(steps[k - 1])
            improved = bests[k - 1] - bests[k]
            if self.track == "last" or (self.track == "until_incumbent_change" and improved > 0.0):
                explore = exploit = 0.0
            explore, exploit = explore + terms[0], exploit + terms[1]
            if self.reset is not None and improved > max(self.reset * series[k - 1], _SMALLEST_PROGRESS * abs(best)):
                alpha = self.alpha
            elif rests[k]:
                moved = alpha + (self.delta if explore >= exploit else -self.delta)
                alpha = min(max(round(moved, 9), 0.0), 1.0)  # Rounded, so that a step up and a step down cancel.
                if self.track == "until_last_adjust":
                    explore = exploit = 0.0
            out.append(alpha)
        return out

    def _terms(self, receipt: ModelReceipt) -> tuple[float, float]:
        """How much a proposal explored and exploited."""
        state = receipt.acquisition
        if receipt.latent_mean is None or receipt.latent_sd is None or receipt.sd is None:
            return 0.0, 0.0
        z = np.array((state.best - receipt.latent_mean) / receipt.latent_sd)
        scale = receipt.sd if self.raw_units else 1.0
        return scale * float(normal_pdf(z)), float(normal_cdf(z))


def _best_loss(receipt: ModelReceipt) -> float:
    value = receipt.best_value if receipt.best_value is not None else np.nan
    return -value if receipt.direction == "maximize" else value
