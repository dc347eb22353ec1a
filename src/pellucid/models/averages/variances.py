"""How the variance of functions over a space divides between parameters: Sobol indices in closed form.

Notation
    f(x)        sum_i w_i k(x, t_i) over rows T (N, d), with weights W (N, D) for D functions at once
    u           set of columns;  x, x' two random configurations that share the columns in u and are independent else
    M_u (N, N)  E[k(x, t_i) k(x', t_k)];  Q_u = w' M_u w = E[f(x) f(x')];  V_u = Q_u - Q_{} the closed variance of u
    first_j     V_{j} / V;  total_j = (V - V_{all but j}) / V;  pair_jk = (V_{jk} - V_j - V_k) / V;  V = V_all
A product kernel makes M_u a product over trees of parameters that switch each other. A parameter that is shared has
the same value in x and x', if it is active in both; where it is inactive it has the value 1/2 and no effect.

The functions may be draws of a process at the rows T. What such a draw leaves open between the rows has the covariance
s (k(x, x') - k(x, T) K^-1 k(T, x')), which adds s (prior_u - tr(K^-1 M_u)) to the expectation of Q_u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from pellucid.models.averages.averages import Average, Factors
from pellucid.models.averages.products import interval_product_mean
from pellucid.numerics import Array

_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Functions:
    """D functions as expansions over rows T, and what they leave open: K^-1 (N, N) and s (D,), 0 if nothing."""

    T: Array
    W: Array
    inverse: Array
    scale: Array


@dataclass(frozen=True)
class Shares:
    """Variance (D,) of D functions, and of each of J columns its first-order and total index (J, D)."""

    variance: Array
    first: Array
    total: Array


class Variances:
    """The division of the variance of functions over a space (or the part of it that `average` covers)."""

    def __init__(self, average: Average, factors: Factors, functions: Functions) -> None:
        self.average, self.factors, self.functions = average, factors, functions
        self._root = {j: root for root in average.roots for j in average.tree(root)}
        self._below = {j: frozenset(average.tree(j)) for j in range(len(average.space))}
        self._products: dict[tuple[int, bool, int], Array] = {}
        self._crosses: dict[tuple[int, bool], Array] = {}
        self._doubles: dict[tuple[int, bool, int, bool, int], float] = {}
        self._priors: dict[tuple[int, frozenset[int]], float] = {}
        self._means = {root: self._cross(root, True) for root in average.roots}
        self._nothing = self._form(_NOTHING, np.ones(()), average.roots)

    def shares(self, columns: Sequence[int]) -> Shares:
        """Indices of parameters that are active in the whole space that is averaged over."""
        roots = self.average.roots
        everything = frozenset(range(len(self.average.space)))
        whole = [self._tree(root, True, True, everything) for root in roots]
        before, after = _running_products(whole), _running_products(whole[::-1])[::-1]
        variance = np.maximum(self._closed(everything, before[-1], []), 0.0)
        first, total = [], []
        for j in columns:
            place = roots.index(self._root[j])
            others = before[place] * after[place + 1]
            rest = everything - {j}
            tree = self._tree(roots[place], True, True, rest)
            first.append(self._alone(j))
            total.append(variance - self._closed(rest, others * tree, []))
        safe = np.where(variance > 0.0, variance, 1.0)
        return Shares(variance, *(np.clip(np.array(part) / safe, 0.0, 1.0) for part in (first, total)))

    def pair(self, j: int, k: int, variance: Array) -> Array:
        """The index (D,) of what two parameters do together beyond what each does alone."""
        shared = frozenset({j, k})
        touched = sorted({self._root[j], self._root[k]})
        trees = reduce(np.multiply, (self._tree(root, True, True, shared) for root in touched))
        together = self._closed(shared, trees, [root for root in self.average.roots if root not in touched])
        safe = np.where(variance > 0.0, variance, 1.0)
        return np.clip((together - self._alone(j) - self._alone(k)) / safe, 0.0, 1.0)

    def _alone(self, j: int) -> Array:
        root = self._root[j]
        tree = self._tree(root, True, True, frozenset({j}))
        return self._closed(frozenset({j}), tree, [other for other in self.average.roots if other != root])

    def _closed(self, shared: frozenset[int], trees: Array, apart: Sequence[int]) -> Array:
        return np.asarray(self._form(shared, trees, apart) - self._nothing)

    def _form(self, shared: frozenset[int], trees: Array, apart: Sequence[int]) -> Array:
        """Q_u (D,): `trees` is the product of the factors of some trees; nothing in the trees `apart` is shared."""
        functions = self.functions
        mean = reduce(np.multiply, (self._means[root] for root in apart), np.ones(len(functions.T)))
        weights = functions.W * mean[:, None]
        if trees.ndim == 0:
            out = weights.sum(axis=0) ** 2
        else:
            out = np.einsum("id,id->d", weights, trees @ weights)
        if functions.scale.any():
            left = self._prior(shared) - float(mean @ (functions.inverse * trees) @ mean)
            out = out + functions.scale * max(left, 0.0)
        return np.asarray(out)

    # ------------------------------------------------------------------ factors of trees of parameters

    def _tree(self, j: int, on: bool, other_on: bool, shared: frozenset[int]) -> Array:
        """Factor (N, N) of the tree under j in M_u; `on`, `other_on`: whether j is active in x and in x'."""
        if self._separate(j, on, other_on, shared):
            return np.outer(self._cross(j, on), self._cross(j, other_on))
        total: Array | float = 0.0
        if j in shared and on == other_on:
            for i, piece in enumerate(self.average.pieces(j, on)):
                total = total + self._with_children(self._product(j, on, i), j, piece.on, piece.on, shared)
            return np.asarray(total)
        for piece in self.average.pieces(j, on):
            mean = self.factors.mean(j, piece, self.functions.T[:, j])[0]
            for other in self.average.pieces(j, other_on):
                value = np.outer(mean, self.factors.mean(j, other, self.functions.T[:, j])[0])
                total = total + self._with_children(value, j, piece.on, other.on, shared)
        return np.asarray(total)

    def _separate(self, j: int, on: bool, other_on: bool, shared: frozenset[int]) -> bool:
        """Whether the factor of a tree is a product of one of x and one of x': nothing in it is shared, or all of it is
        inactive and so has a known value."""
        return not (on or other_on) or not self._below[j] & shared

    def _with_children(
        self, value: Array, j: int, on: Sequence[bool], other_on: Sequence[bool], shared: frozenset[int]
    ) -> Array:
        """`value` (N, N) times the factors of the trees under the children of j. Most children of a switch are
        inactive: their vectors are multiplied before they become a matrix."""
        children = tuple(zip(self.average.children[j], on, other_on, strict=True))
        if not children:
            return value
        left, right = np.ones(len(value)), np.ones(len(value))
        for child, a, b in children:
            if self._separate(child, a, b, shared):
                left, right = left * self._cross(child, a), right * self._cross(child, b)
            else:
                value = value * self._tree(child, a, b, shared)
        return np.asarray(value * left[:, None] * right)

    def _cross(self, j: int, on: bool) -> Array:
        """Average factor (N,) of the tree under j with the rows."""
        if (j, on) not in self._crosses:
            self._crosses[j, on] = self.average.tree_cross(self.factors, j, self.functions.T, on)[0]
        return self._crosses[j, on]

    def _product(self, j: int, on: bool, which: int) -> Array:
        """Average (N, N) over a piece of the product of column j's factors with two rows."""
        key = (j, on, which)
        if key not in self._products:
            t, axis = self.functions.T[:, j], self.average.pieces(j, on)[which].axis
            assert axis is not None
            distinct, place = np.unique(t, return_inverse=True)
            root = np.sqrt(axis.point_weights)[:, None] * self.factors.between(j, axis.points[:, None], distinct)
            table = root.T @ root
            for low, high, weight in axis.intervals:
                l = float(self.factors.lengthscales[j])
                table += weight * interval_product_mean(self.factors.kernel.name, distinct, low, high, l)
            self._products[key] = table[np.ix_(place, place)]
        return self._products[key]

    def _prior(self, shared: frozenset[int]) -> float:
        """E[k(x, x')]."""
        out = 1.0
        for root in self.average.roots:
            key = (root, shared & self._below[root])
            if key not in self._priors:
                self._priors[key] = self._tree_prior(root, True, True, shared)
            out *= self._priors[key]
        return out

    def _tree_prior(self, j: int, on: bool, other_on: bool, shared: frozenset[int]) -> float:
        total, children = 0.0, self.average.children[j]
        if j in shared and on == other_on:
            for piece in self.average.pieces(j, on):
                assert piece.axis is not None
                value = piece.axis.weight
                for child, active in zip(children, piece.on, strict=True):
                    value *= self._tree_prior(child, active, active, shared)
                total += value
            return total
        for i, piece in enumerate(self.average.pieces(j, on)):
            for k, other in enumerate(self.average.pieces(j, other_on)):
                key = (j, on, i, other_on, k)
                if key not in self._doubles:
                    self._doubles[key] = float(self.factors.double_mean(j, piece, other)[0, 0])
                value = self._doubles[key]
                for child, a, b in zip(children, piece.on, other.on, strict=True):
                    value *= self._tree_prior(child, a, b, shared)
                total += value
        return total


def _running_products(factors: Sequence[Array]) -> list[Array]:
    """1, the first factor, the product of the first two, and so on."""
    out = [np.ones(())]
    for factor in factors:
        out.append(out[-1] * factor)
    return out
