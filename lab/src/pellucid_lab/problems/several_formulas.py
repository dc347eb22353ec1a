"""Problems with several objectives and a formula, as they were published; every objective is minimised.

Notation
    x     (n, d)  configurations in the units of the source
    k             number of objectives
    f     (n, k)  objectives
    g     (n,)    distance from the front, on which it has its least value
    a constraint (n,) is kept if it is at most 0

Sources: Zitzler, Deb and Thiele (2000) for ZDT; Deb, Thiele, Laumanns and Zitzler (2005) for DTLZ; Huband, Hingston,
Barone and While (2006) for WFG; Jain and Deb (2014) for C2-DTLZ2; Van Veldhuizen (1999) for VLMOP2; Tanaka (1995) for
TNK; Belakaria, Deshwal and Doppa (2019) for Branin and Currin together.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Objectives = Callable[[Array], Array]
Constraints = Callable[[Array], dict[str, Array]]
_PI = math.pi

# ------------------------------------------------------------------------------------------------ ZDT


def zdt1(x: Array) -> Array:
    """A convex front."""
    g = 1.0 + 9.0 * x[:, 1:].mean(axis=1)
    return np.column_stack([x[:, 0], g * (1.0 - np.sqrt(x[:, 0] / g))])


def zdt2(x: Array) -> Array:
    """A concave front."""
    g = 1.0 + 9.0 * x[:, 1:].mean(axis=1)
    return np.column_stack([x[:, 0], g * (1.0 - (x[:, 0] / g) ** 2)])


def zdt3(x: Array) -> Array:
    """A front in five pieces."""
    first, g = x[:, 0], 1.0 + 9.0 * x[:, 1:].mean(axis=1)
    return np.column_stack([first, g * (1.0 - np.sqrt(first / g) - first / g * np.sin(10.0 * _PI * first))])


def zdt4(x: Array) -> Array:
    """Many local fronts: the distance is Rastrigin's function."""
    rest = x[:, 1:]
    g = 1.0 + (10.0 + rest**2 - 10.0 * np.cos(4.0 * _PI * rest)).sum(axis=1)
    return np.column_stack([x[:, 0], g * (1.0 - np.sqrt(x[:, 0] / g))])


def zdt6(x: Array) -> Array:
    """A concave front that few configurations are near, more of them at one end."""
    first = 1.0 - np.exp(-4.0 * x[:, 0]) * np.sin(6.0 * _PI * x[:, 0]) ** 6
    g = 1.0 + 9.0 * x[:, 1:].mean(axis=1) ** 0.25
    return np.column_stack([first, g * (1.0 - (first / g) ** 2)])


def shifted_zdt1(x: Array) -> Array:
    """ZDT1 with its front inside the cube instead of on its surface."""
    return zdt1(np.column_stack([x[:, 0], np.abs(x[:, 1:] - 0.3) / 0.7]))


# ----------------------------------------------------------------------------------------------- DTLZ


def dtlz2(x: Array, k: int, centre: float = 0.5) -> Array:
    """A part of a sphere; ``centre`` is 0.5 in the source."""
    radius = 1.0 + ((x[:, k - 1 :] - centre) ** 2).sum(axis=1)
    return np.asarray(radius[:, None] * _sphere(x[:, : k - 1]))


def _sphere(u: Array) -> Array:
    """(n, k) on the unit sphere from angles (n, k - 1) in quarters of a turn."""
    n = len(u)
    cosines = np.column_stack([np.ones(n), np.cumprod(np.cos(0.5 * _PI * u), axis=1)])
    sines = np.column_stack([np.sin(0.5 * _PI * u), np.ones(n)])
    return np.asarray((cosines * sines)[:, ::-1])


def dtlz7(x: Array, k: int) -> Array:
    """A front in 2^(k-1) pieces."""
    first, g = x[:, : k - 1], 1.0 + 9.0 * x[:, k - 1 :].mean(axis=1)
    share = first / (1.0 + g)[:, None]
    return np.column_stack([first, (1.0 + g) * (k - (share * (1.0 + np.sin(3.0 * _PI * first))).sum(axis=1))])


def c2_dtlz2(x: Array, radius: float = 0.2, centre: float = 0.5) -> dict[str, Array]:
    """Two objectives: feasible near the ends of the front and near its middle."""
    f = dtlz2(x, 2, centre)
    ends = [((f - end) ** 2).sum(axis=1) for end in np.eye(2)]
    middle = ((f - math.sqrt(0.5)) ** 2).sum(axis=1)
    return {"islands": np.minimum.reduce([*ends, middle]) - radius**2}


# ------------------------------------------------------------------------------------------------ WFG


def wfg4(x: Array, k: int, positions: int, hills: float = 30.0, best: float = 0.35) -> Array:
    """Multimodal in every parameter, and a concave front with its own size in each objective.

    The first ``positions`` parameters, a multiple of k - 1, say where on the front; parameter j ranges to 2j. ``hills``
    and ``best`` have the values of the source.
    """
    bumpy = _multimodal(x / (2.0 * np.arange(1, x.shape[1] + 1)), hills, best)
    place = bumpy[:, :positions].reshape(len(x), k - 1, -1).mean(axis=2)
    distance = bumpy[:, positions:].mean(axis=1)
    # The shape of WFG has sines and cosines the other way round.
    return np.asarray(distance[:, None] + 2.0 * np.arange(1, k + 1) * _sphere(1.0 - place))


def _multimodal(y: Array, hills: float, best: float, size: float = 10.0) -> Array:
    """s_multi of the source, whose only zero is at ``best``."""
    from_best = np.abs(y - best) / (2.0 * (np.floor(best - y) + best))
    waves = np.cos((4.0 * hills + 2.0) * _PI * (0.5 - from_best))
    return np.asarray((1.0 + waves + 4.0 * size * from_best**2) / (size + 2.0))


# --------------------------------------------------------------------------------------------- others


def vlmop2(x: Array) -> Array:
    """Two bells; the front is concave, and both objectives are flat far from it."""
    centre = 1.0 / math.sqrt(x.shape[1])
    return np.column_stack([1.0 - np.exp(-((x - c) ** 2).sum(axis=1)) for c in (centre, -centre)])


def branin_currin(x: Array) -> Array:
    """Both functions on the unit square."""
    a, b = 15.0 * x[:, 0] - 5.0, 15.0 * x[:, 1]
    valley = b - 5.1 * a**2 / (4.0 * _PI**2) + 5.0 * a / _PI - 6.0
    branin = valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * _PI)) * np.cos(a) + 10.0
    u, v = x.T
    with np.errstate(divide="ignore"):
        decay = 1.0 - np.exp(-0.5 / v)
    ratio = (2300.0 * u**3 + 1900.0 * u**2 + 2092.0 * u + 60.0) / (100.0 * u**3 + 500.0 * u**2 + 4.0 * u + 20.0)
    return np.column_stack([branin, decay * ratio])


def tnk(x: Array) -> Array:
    """The parameters themselves: only the constraints make a problem of them."""
    return x


def tnk_constraints(x: Array) -> dict[str, Array]:
    """A wave that most of the front lies on, and a disk."""
    waves = 0.1 * np.cos(16.0 * np.arctan2(x[:, 0], x[:, 1]))
    return {"wave": 1.0 + waves - (x**2).sum(axis=1), "disk": ((x - 0.5) ** 2).sum(axis=1) - 0.5}
