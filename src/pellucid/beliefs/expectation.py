"""What to expect of a configuration that was chosen for looking good: the distribution of its true value.

Notation
    m, s     latent mean and sd of the function at the configuration;  b  bias of the choice;  n trials, d parameters
    w        widening: per model the loss is normal on the latent scale, mean m + b, variance (w s)^2 + b^2 / 3
    S        smoother of the model: the posterior mean at the data is S z
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Indices, stream
from pellucid.words import Note, counted, number_text

LEVEL = 0.95
# With fewer trials than this, or than twice the parameters, a recommendation is called provisional and has no interval.
_FEW = 10
# Points of the distribution of one model.
_NODES = ndtri((np.arange(64) + 0.5) / 64)
# The model's sd is widened by w = sqrt(1 + WIDENING d / n): chosen on the design problems of lab/results/truth, where
# it takes the coverage at 40 noisy random trials from 86% to 97%.
WIDENING = 20.0
# The bias is anything from nothing to twice what the bootstrap says: the sd of that, in units of it. It is not widened:
# in a converged search, whose best trials are close rivals, it is larger than the model's sd, and intervals that
# widened both were a third wider at 40 trials (2.1 times the ideal instead of 1.6) without covering more.
_BIAS_SD = 1.0 / math.sqrt(3.0)
# Bootstrap samples of the noise.
_N_BOOTSTRAP = 100


@dataclass(frozen=True)
class ExpectedOutcome:
    """What a configuration returns in one objective: expected, with an interval of the true value, and as observed.

    low, high   None if there is no evidence for an interval
    """

    objective: str
    expected: float
    low: float | None
    high: float | None
    observed: float

    @property
    def text(self) -> str:
        """ "latency 12.3, 95% interval [11.9, 12.8]" """
        if self.low is None or self.high is None:
            return f"{self.objective} {number_text(self.expected)}"
        ends = f"{number_text(self.low)}, {number_text(self.high)}"
        return f"{self.objective} {number_text(self.expected)}, 95% interval [{ends}]"


def too_few(n: int, d: int) -> bool:
    """Whether n trials of d parameters are too few for an interval."""
    return n < fewest(d)


def no_interval(n: int, d: int) -> Note:
    """The note on trials that are `too_few`."""
    trials = f"{counted(n, 'trial')} for {counted(d, 'parameter')} {'is' if n == 1 else 'are'}"
    few = f"{trials} too few to learn the noise, so there is no interval"
    return Note(f"Provisional: {few}. Run at least {fewest(d)}.", "size")


def fewest(d: int) -> int:
    """Trials of d parameters that an interval needs."""
    return max(2 * d, _FEW)


def possible_losses(gp: GaussianProcess, x: Array, bias: float, n: int) -> Array:
    """Points of equal weight of the true loss at x (1, d), according to one model of n trials."""
    (m,), (s,) = gp.latent(x)
    return losses_around(gp, m, s, bias, x.shape[1] / n)


def losses_around(gp: GaussianProcess, m: float, s: float, bias: float, parameters_per_trial: float) -> Array:
    """The same, from the latent mean and sd."""
    widening = math.sqrt(1.0 + WIDENING * parameters_per_trial)
    return gp.losses(m + bias + math.hypot(widening * s, _BIAS_SD * bias) * _NODES)


def median_and_interval(losses: list[Array]) -> tuple[float, float, float]:
    """Median, low and high of the losses of all models."""
    low, median, high = np.quantile(np.concatenate(losses), [0.5 - LEVEL / 2, 0.5, 0.5 + LEVEL / 2])
    return float(median), float(low), float(high)


def smoothed_values(gp: GaussianProcess, mean: Array, rows: Indices, about: tuple[str, ...]) -> Array:
    """Smoothed values (b, r) of observed rows if the noise of all trials were another: new noise on the model's own
    mean (n,) at them. `about`: samples of different subjects are independent of each other."""
    data, scale = gp.data, gp.hyperparameters.outputscale
    columns: Array = np.zeros((len(mean), len(rows)))
    columns[rows, np.arange(len(rows))] = 1.0
    smoother = columns - data.factor.solve(columns) * data.noise_ratio[rows]
    noise = stream(0, "noise", len(mean), *about).standard_normal((_N_BOOTSTRAP, len(mean)))
    return np.asarray((mean + noise * np.sqrt(scale * data.noise_ratio)) @ smoother)
