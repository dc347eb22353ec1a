"""The experiments of BOBAX: how well a search learns effects, and what that costs it, on problems with known effects.

    source          the paper's own protocol on five functions: squared exponential kernel with hyperparameters fixed
                    per function, 1500 random candidates per proposal, effect of the first variable
    source-lcbench  the same on fifteen tuned networks: effects of all five parameters, a-BOBAX with a tolerance
    fitted          the five functions with our sampler and its defaults (learned hyperparameters, refined candidates)
    fitted-lcbench  the networks with our sampler
Effects are compared on a grid of 20 values; `d` is the mean absolute difference to the true effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.models import GaussianProcess
from pellucid.search.acquisition.information import stacked
from pellucid.space.encoding import Space
from pellucid_lab.problems.effects import GRID_SIZE, KnownEffects
from pellucid_lab.runs.files import RunFile

Array = NDArray[np.float64]

# The paper's protocol: shares of the budget after which results are reported, random evaluations at the start, all
# evaluations per dimension, candidates per proposal, size of the sample over which its effects are averaged, and the
# mean half-width (of 1 - balanced accuracy) that a-BOBAX aims for.
QUARTERS = (0.25, 0.5, 0.75, 1.0)
N_INIT = 5
PER_DIMENSION = 30
N_CANDIDATES = 1500
N_SAMPLE = 100
TOLERANCE = 0.015
# Lower bound of the nugget (noise variance divided by signal variance).
SMALLEST_NUGGET = 1e-10
# The 97.5% quantile of the normal distribution.
Z95 = 1.959963984540054

SOURCE_METHODS = (
    *("rs", "ei", "pvar", "lcb-1", "lcb-2", "lcb-5", "ei-rs-2", "ei-rs-5", "ei-rs-10"),
    *("bax-band", "bax-output", "bax-path", "bax-all", "bobax-2", "bobax-5", "bobax-10", "bobax-output", "bobax-path"),
    *("bobax-all", "bobax-prob", "bobax-anneal", "eibax-20", "eibax-50", "eibax-100"),
)
FITTED_METHODS = ("rs", "ei", "default", "ei-rs-2", "bax-band", "bobax-2", "bobax-path", "bobax-all")
LCBENCH_METHODS = ("rs", "ei", "bax-all", "a-bobax", "a-bobax-first")
METHODS = {
    "source": SOURCE_METHODS,
    "source-lcbench": LCBENCH_METHODS,
    "fitted": FITTED_METHODS,
    "fitted-lcbench": LCBENCH_METHODS,
}


@dataclass(frozen=True)
class EffectTask:
    experiment: str
    problem: str
    method: str
    seed: int
    data: str | None = None
    command: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.experiment, self.problem, self.method, self.seed)

    @property
    def label(self) -> str:
        return f"{self.problem} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class EffectRun:
    """One run, evaluated after each of ``sizes`` evaluations; tuples have one entry per size.

    d, d_sample            distance to the true effect of the first variable (lcbench: mean over all): with exact
                           integrals, and with estimate and truth averaged over the same random sample
    regret                 best loss so far minus the optimum
    coverage, raw_coverage share of the grid values of all variables at which the 95% band contains the true effect:
                           of the calibrated band, and of the posterior alone; ``..._first``: of the first variable
    half_width, raw_...    mean half-widths of these bands over all variables, as a share of the range of the effects
    reached, raw_reached   evaluations after which the mean half-width of all effects was within the tolerance
    curves                 for figures, with seed 0 only: mean, low, high of the first effect, per size
    truth                  the true effect, for the same figures
    """

    experiment: str
    problem: str
    method: str
    seed: int
    sizes: tuple[int, ...]
    d: tuple[float, ...]
    regret: tuple[float, ...]
    d_sample: tuple[float, ...] = ()
    coverage: tuple[float, ...] = ()
    raw_coverage: tuple[float, ...] = ()
    coverage_first: tuple[float, ...] = ()
    half_width: tuple[float, ...] = ()
    raw_half_width: tuple[float, ...] = ()
    reached: int | None = None
    raw_reached: int | None = None
    curves: tuple[Any, ...] = ()
    truth: tuple[float, ...] = ()
    best: float = math.nan
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.experiment, self.problem, self.method, self.seed)


def sizes_of(problem: KnownEffects) -> tuple[int, ...]:
    """Quarters of the budget, and 20 evaluations per dimension."""
    budget = PER_DIMENSION * problem.dimension
    return tuple(sorted({*(math.ceil(q * budget) for q in QUARTERS), 20 * problem.dimension}))


def rounded(values: Sequence[float] | Array) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)


def mean_half_widths(gp: GaussianProcess, space: Space) -> dict[str, float]:
    """Mean half-width over all effects of the calibrated 95% bands, and of the bands of the posterior alone."""
    phi = stacked(gp, space, [(name,) for name in space.names], [GRID_SIZE] * len(space))
    unit = Z95 * gp.hyperparameters.y_scale
    ends = np.cumsum([0, *(effect.size for effect in phi.effects)])[:-1]
    sizes = np.diff([*ends, len(phi.mean)])
    means = [np.add.reduceat(sd, ends) / sizes for sd in (phi.band.sd, np.sqrt(phi.variance))]
    return {name: unit * float(mean.mean()) for name, mean in zip(("reached", "raw_reached"), means, strict=True)}


def effect_file(path: Path) -> RunFile[EffectRun]:
    return RunFile(path, EffectRun)
