"""The information that an evaluation gives about partial dependences (BOBAX): closed forms, no sampled paths.

Notation (latent scale)
    phi (P,)       partial dependences, stacked over effects and grid points;  omega (P,) weights, each effect sums to 1
    c (P,)         Cov(f(x), phi | A) = s (k_phi(x) - K_phi C^-1 r(x));  v = s^2(x) + noise, variance of y at x
    band           sum_p omega_p (sd_p - sqrt(sd_p^2 - c_p^2 / v)): how much narrower the bands will be on average
    output         -1/2 log(1 - c' (Sigma_phi + delta I)^-1 c / v): information about phi, known up to sqrt(delta)
    path           1/2 log[(s^2(x|A) + noise) / (s^2(x|A + e) + noise)]: information about all of f on the execution
                   path e (grid x evenly spread rest); it depends on no function value, so nothing has to be sampled
    permutation    the same with e = the archive with one column shuffled at a time (permutation importance)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Average
from pellucid.models.averages.effects import Effects
from pellucid.models.averages.functionals import average, monte_carlo_rows
from pellucid.numerics import Array, is_number, stream
from pellucid.provenance import Term
from pellucid.search.acquisition.base import Acquisition, AcquisitionFunction, Pool, Situation, weighted_sum
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.space.encoding import Space
from pellucid.space.grids import effect_grid
from pellucid.threads import cached_property
from pellucid.words import printable

Target = Literal["band", "output", "path", "permutation"]
Params = str | Sequence[str | Sequence[str]]

# Grid points of an effect: of a single one, of each of several, and per axis of a pair. The cost of a proposal grows
# with their number, the curves between them are smooth.
_GRID_ALONE, _GRID_MANY, _GRID_PAIR = 20, 12, 8
# Rows of an execution path: conditioning on them costs the cube of their number.
_N_PATH = 300
# Smaller values are rounding error: of eigenvalues and variances as a share of the prior variance, and of information
# before its logarithm is taken.
_SMALLEST_EIGENVALUE, _SMALLEST_RELATIVE_VARIANCE, _SMALLEST = 1e-10, 1e-12, 1e-300


@dataclass(frozen=True)
class InformationGain(Acquisition):
    """Evaluate where most is learned about the partial dependence of `params`.

    Args:
        params: "all", one name, or a list of names; a pair of names stands for their joint (2-d) effect.
        target: "band" (expected shrinkage of the bands), "output" (information about the curves), "path" (information
            about every value the curves average over) or "permutation" (about what permutation importance looks at).
        tolerance: for "output": how exactly the curves need to be known, as a share of the prior's sd.
    """

    params: Params = "all"
    target: Target = "band"
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if self.target not in get_args(Target):
            raise ValueError(printable(f"`target` is one of {', '.join(get_args(Target))}, but got {self.target!r}."))
        if not is_number(self.tolerance, 0.0):
            raise ValueError(f"`tolerance` must be a number of at least 0, but got {self.tolerance!r}.")
        try:
            effects = [] if self.params == "all" else _as_effects(self.params)
        except TypeError:  # A number, or a list of numbers.
            effects = []
        names = [name for effect in effects for name in effect]
        if self.params != "all" and not (names and all(isinstance(name, str) for name in names)):
            raise ValueError(
                f"`params` is 'all', a name or a list of names and pairs of names, but got {self.params!r}."
            )
        for effect in effects:
            if not 1 <= len(set(effect)) == len(effect) <= 2:
                raise ValueError(f"An effect has one parameter or two different ones, but got {effect!r}.")

    def settings(self) -> dict[str, Any]:
        params: object = self.params
        if not isinstance(params, str):
            params = [effect if isinstance(effect, str) else list(effect) for effect in self.params]
        return {"params": params, "target": self.target, "tolerance": self.tolerance}

    def words(self) -> dict[str, Term]:
        return {"information": Term("information", "to learn about {subject}", "information")}

    def unit(self, scale: LatentScale) -> Unit:
        return scale.untransformed if self.target == "band" else Unit("nats", 1.0)

    def learns_about(self, space: Space) -> str:
        effects = [] if self.params == "all" else self.effects(space)
        if not effects:
            return "all effects"
        named = [" × ".join(f"`{name}`" for name in effect) for effect in effects]
        return f"the effect of {named[0]}" if len(named) == 1 else f"the effects of {', '.join(named)}"

    @property
    def named_params(self) -> tuple[str, ...]:
        return () if self.params == "all" else tuple(name for effect in _as_effects(self.params) for name in effect)

    def effects(self, space: Space) -> list[tuple[str, ...]]:
        """The requested effects whose parameters are in this space: no trial has had the others yet."""
        if self.params == "all":
            return [(name,) for name in space.names]
        return [effect for effect in _as_effects(self.params) if all(name in space.index for name in effect)]

    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> AcquisitionFunction:
        effects = self.effects(space) or [(name,) for name in space.names]
        if self.target in ("band", "output") and not model.kernel.radial:
            return _CurveInformation(self, model, situation, space, tuple(effects))
        if self.target == "permutation":
            path = _shuffled(model, [space.index[name] for effect in effects for name in effect])
        else:
            path = _path(model, space, effects)
        return _PathInformation(self, model, situation, model.believe(path))


def _as_effects(params: Params) -> list[tuple[str, ...]]:
    listed = [params] if isinstance(params, str) else params
    return [(effect,) if isinstance(effect, str) else tuple(effect) for effect in listed]


def _sizes(effects: Sequence[tuple[str, ...]]) -> list[int]:
    line = _GRID_ALONE if len(effects) == 1 else _GRID_MANY
    return [line if len(effect) == 1 else _GRID_PAIR for effect in effects]


def stacked(
    model: GaussianProcess, space: Space, effects: Sequence[tuple[str, ...]], sizes: Sequence[int] | None = None
) -> Effects:
    """The partial dependences of these effects on their grids."""
    columns = [[space.index[name] for name in effect] for effect in effects]
    sizes = _sizes(effects) if sizes is None else sizes
    grids = [effect_grid(space, where, size) for where, size in zip(columns, sizes, strict=True)]
    return Effects(
        model,
        [
            Average.of(space, {j: grid[:, i] for i, j in enumerate(where)})
            for where, grid in zip(columns, grids, strict=True)
        ],
    )


class _Information(AcquisitionFunction):
    """One term, whose logarithm is maximised."""

    acquisition: InformationGain

    def weights(self) -> dict[str, float]:
        return {"information": 1.0}

    def terms(self, X: Array) -> dict[str, Array]:
        return {"information": self.information(X)}

    @abstractmethod
    def information(self, X: Array) -> Array:
        """(n,), positive."""

    def score(self, X: Array) -> Array:
        return np.asarray(np.log(np.maximum(weighted_sum(self.weights(), self.terms(X)), _SMALLEST)))


class _CurveInformation(_Information):
    """Targets that look at the curves themselves."""

    model: GaussianProcess

    def __init__(
        self,
        gain: InformationGain,
        model: GaussianProcess,
        situation: Situation,
        space: Space,
        effects: tuple[tuple[str, ...], ...],
    ) -> None:
        self.acquisition, self.model, self.situation = gain, model, situation
        self.phi = stacked(model, space, effects)
        sizes = [effect.size for effect in self.phi.effects]
        h = model.hyperparameters
        self.noise, self.scale = h.noise, h.outputscale
        self.omega = np.concatenate([np.full(size, 1.0 / size) for size in sizes])
        self._floor = _SMALLEST_RELATIVE_VARIANCE * h.outputscale
        self._weights = self.omega[:, None]

    @cached_property
    def _variance(self) -> Array:
        """(P, 1), so that candidates broadcast."""
        return np.maximum(self.phi.variance, self._floor)[:, None]

    @cached_property
    def _sd(self) -> Array:
        return np.sqrt(self._variance)

    @cached_property
    def _whitener(self) -> Array:
        """M (P, q) with M M' = (Sigma_phi + delta I)^-1 on the directions of phi that are not known already."""
        sigma = self.phi.covariance
        values, vectors = np.linalg.eigh(sigma)
        delta = (self.acquisition.tolerance**2) * self.scale
        keep = values > max(_SMALLEST_EIGENVALUE * self.scale, 0.0)
        return np.asarray(vectors[:, keep] / np.sqrt(values[keep] + delta))

    def _value(self, c: Array, v: Array) -> tuple[Array, Array, Array]:
        """Information (m,), and what turns slopes of c and v into slopes of it: by_c (P, m), by_v (m,)."""
        if self.acquisition.target == "band":
            drop = c * c / v
            after = np.sqrt(np.maximum(self._variance - drop, self._floor))
            pull = self._weights / after
            return self.omega @ (self._sd - after), pull * c / v, -0.5 * (pull * drop).sum(axis=0) / v
        white = self._whitener.T @ c
        share = np.minimum((white * white).sum(axis=0) / v, 1.0 - 1e-12)
        by_share = 0.5 / (1.0 - share)
        return -0.5 * np.log1p(-share), (self._whitener @ white) * (2.0 * by_share / v), -by_share * share / v

    def information(self, X: Array) -> Array:
        data, l = self.model.data, np.array(self.model.hyperparameters.lengthscales)
        r = np.asarray(self.model.kernel.cross(self.model.kernel.columns(X, l), data.columns, l), dtype=float)
        half = data.factor.half_solve(r.T)
        variance = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), _SMALLEST_RELATIVE_VARIANCE)
        c = self.scale * (self.phi.cross(X) - self.phi.weights.T @ r.T)
        return self._value(c, self.scale * variance + self.noise)[0]

    def screen_pool(self, pool: Pool) -> Array:
        c = self.phi.cross(pool.X) - self.phi.weights.T.astype(np.float32) @ pool.correlations.T
        v = pool.sd**2 + self.noise
        if self.acquisition.target == "band":
            # To first order in the drop: good for ranking, and one pass over c.
            c *= c
            value = self.scale**2 * ((0.5 * self.omega / self._sd[:, 0]) @ c) / v
        else:
            value = self._value(self.scale * c, v)[0]
        return np.asarray(np.log(np.maximum(value, _SMALLEST)))

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        data, l = self.model.data, np.array(self.model.hyperparameters.lengthscales)
        r, slopes = self.model.kernel.cross_with_slopes(self.model.kernel.columns(X, l), data.columns, l)
        half = data.factor.half_solve(r.T)
        variance = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), _SMALLEST_RELATIVE_VARIANCE)
        solved = data.factor.half_solve_transposed(half).T
        cross, gradient = self.phi.cross_with_gradient(X)
        c = self.scale * (cross - self.phi.weights.T @ r.T)
        value, by_c, by_v = self._value(c, self.scale * variance + self.noise)
        # d c = s (d k_phi - weights' d r) and d v = -2 s solved' d r; d r = r * slopes.
        pull = by_c.T @ self.phi.weights.T + 2.0 * by_v[:, None] * solved
        pull *= r
        slope = gradient(by_c) - (pull[:, None, :] @ slopes.transpose(1, 2, 0))[:, 0]
        safe = np.maximum(value, _SMALLEST)
        return np.log(safe), self.scale * slope / safe[:, None]


class _PathInformation(_Information):
    """Targets that look at function values: the model before and after knowing them."""

    model: GaussianProcess

    def __init__(
        self, gain: InformationGain, model: GaussianProcess, situation: Situation, after: GaussianProcess
    ) -> None:
        self.acquisition, self.model, self.situation, self.after = gain, model, situation, after
        self.noise = model.hyperparameters.noise

    def information(self, X: Array) -> Array:
        before, after = self.model.latent(X)[1], self.after.latent(X)[1]
        return np.asarray(0.5 * (np.log(before**2 + self.noise) - np.log(after**2 + self.noise)))

    def screen_pool(self, pool: Pool) -> Array:
        after = self.after.screen(pool.X)[1]
        gain = 0.5 * (np.log(pool.sd**2 + self.noise) - np.log(after * after + self.noise))
        return np.log(np.maximum(gain, _SMALLEST))

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        _, s, _, ds = self.model.latent_with_gradient(X)
        _, t, _, dt = self.after.latent_with_gradient(X)
        value = np.maximum(0.5 * (np.log(s * s + self.noise) - np.log(t * t + self.noise)), _SMALLEST)
        slope = (s / (s * s + self.noise))[:, None] * ds - (t / (t * t + self.noise))[:, None] * dt
        return np.log(value), slope / value[:, None]


def _path(model: GaussianProcess, space: Space, effects: Sequence[tuple[str, ...]]) -> Array:
    """Grid points of every effect, each with evenly spread values of the rest; about `_N_PATH` rows in all."""
    rows = []
    for effect, size in zip(effects, _sizes(effects), strict=True):
        columns = [space.index[name] for name in effect]
        held = average(model, columns, effect_grid(space, columns, size), space)
        samples = max(2, round(_N_PATH / len(effects) / held.size))
        rows.append(monte_carlo_rows(held, samples).reshape(-1, len(space)))
    return np.unique(np.vstack(rows), axis=0)


def _shuffled(model: GaussianProcess, columns: Sequence[int]) -> Array:
    """The archive once per column with that column shuffled: what permutation importance evaluates."""
    X = model.data.X
    rows = []
    for j in columns:
        shuffled = X.copy()
        shuffled[:, j] = X[stream(0, "permutation", j, len(X)).permutation(len(X)), j]
        rows.append(shuffled)
    out = np.unique(np.vstack(rows), axis=0)
    # Configurations that were evaluated are known already, and an archive of thousands needs no more than a sample.
    known = {row.tobytes() for row in X}
    fresh = np.array([row for row in out if row.tobytes() not in known]).reshape(-1, X.shape[1])
    return fresh[stream(0, "path", len(fresh)).permutation(len(fresh))[:_N_PATH]]
