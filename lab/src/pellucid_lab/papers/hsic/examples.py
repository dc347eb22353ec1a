"""The paper's three examples (its Tables 1 to 3 and figure 7), and the cost of an analysis of ten thousand trials."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, create_trial
from scipy.stats import truncnorm

from pellucid.answers.importance.analysis import hsic_importance
from pellucid.answers.importance.hsic import hsic_index, permutation_pvalue, shared_bandwidth
from pellucid_lab.base import suggest_all
from pellucid_lab.tables.grids import Grid

# Shares of the draws in which x3 does not exist (example 3).
SHARES = (0.125, 0.25, 0.5, 0.75, 0.9)
# Trials of the analysis whose cost is measured.
N_COST = 10_000


def normalisation(seed: int = 0) -> Grid:
    """Example 1: two parameters with the same effect, drawn from different distributions."""
    rng = np.random.default_rng(seed)
    n, sd = 10_000, np.sqrt(0.1)
    normal = truncnorm(-1.0 / sd, 1.0 / sd, loc=1.0, scale=sd)
    x1, x2 = normal.rvs(n, random_state=rng), 2.0 * rng.random(n)
    in_goal = (x1 <= 1.0) & (x2 <= 1.0)
    claims = {
        "as drawn (/2)": (x1 / 2.0, x2 / 2.0, "1.17 ± 0.05", "1.55 ± 0.05"),
        "by its distribution function": (normal.cdf(x1), x2 / 2.0, "1.54 ± 0.05", "1.55 ± 0.05"),
    }
    rows = []
    for name, (first, second, claim, other) in claims.items():
        indices = [hsic_index(u, in_goal, "max") for u in (first, second)]
        rows.append((name, *(f"{100 * s:.2f} ± {100 * e:.2f}" for s, e in indices), claim, other))
    columns = ("u", "x1 (truncated normal)", "x2 (uniform)", "the source: x1", "x2")
    return Grid("Example 1, index × 100, n = 10,000 (Tables 1 and 2)", columns, tuple(rows))


def interaction(seed: int = 0) -> Grid:
    """Example 2: two parameters that matter only together, beside two without effect."""
    x = np.random.default_rng(seed).random((2000, 5))
    in_goal = (x[:, 0] <= 0.5) & ((x[:, 1] > 0.5) != (x[:, 2] > 0.5))
    h = shared_bandwidth(x, in_goal)
    claims = {(0,): "1.51e-02", (1,): "6.26e-06", (2,): "1.64e-05", (1, 2): "3.47e-03", (3, 4): "3.70e-06"}
    rows = []
    for columns, claim in claims.items():
        index, stderr = hsic_index(x[:, columns], in_goal, h)
        p = permutation_pvalue(x[:, columns], in_goal, h)
        name = ", ".join(f"x{j + 1}" for j in columns)
        rows.append((name, f"{index:.2e}", f"{stderr:.1e}", f"{p:.3f}", claim))
    title = f"Example 2, n = 2000, bandwidth {h:.2f} for all (Table 3)"
    return Grid(title, ("parameters", "index", "standard error", "p", "the source"), tuple(rows))


@dataclass(frozen=True)
class Conditional:
    """Indices with standard errors of x1 and x3, among all draws and among the n draws that have x3."""

    n: int
    whole: tuple[tuple[float, float], ...]
    group: tuple[tuple[float, float], ...]


def conditional_indices(share: float) -> Conditional:
    """Example 3 for one t: x3 exists in all but this share of 2000 draws."""
    rng = np.random.default_rng(round(1000 * share))
    x = rng.random((2000, 3))
    active, coin = x[:, 1] > share, rng.random(2000) < 0.5
    in_goal = (x[:, 0] <= 0.5) & np.where(active, x[:, 2] <= 0.5, coin)
    return Conditional(
        int(active.sum()),
        tuple(hsic_index(x[:, j], in_goal, "median") for j in (0, 2)),
        tuple(hsic_index(x[active, j], in_goal[active], "median") for j in (0, 2)),
    )


def conditional() -> Grid:
    """Example 3: a parameter that exists only in a share of the draws, analysed in all draws and in those draws."""
    rows = []
    for t in SHARES:
        indices = conditional_indices(t)
        cells = (f"{100 * s:.2f} ± {100 * e:.2f}" for s, e in (*indices.whole, *indices.group))
        rows.append((f"{2 * t:g}", str(indices.n), *cells))
    columns = ("t", "draws with x3", "x1, all draws", "x3, all draws", "x1, its group", "x3, its group")
    return Grid("Example 3, index × 100, n = 2000 (figure 7)", columns, tuple(rows))


def cost(seed: int = 0) -> Grid:
    """One analysis, pairs included, of ten thousand random trials of fourteen parameters."""
    space: dict[str, BaseDistribution] = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(12)}
    space |= {"kind": CategoricalDistribution(["a", "b", "c", "d"]), "units": IntDistribution(1, 512, log=True)}
    random_study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    trials: list[FrozenTrial] = []
    for _ in range(N_COST):
        trial = random_study.ask(space)
        p = suggest_all(trial, space)
        value = p["x0"] ** 2 + 0.5 * p["x1"] + 0.3 * ((p["x2"] > 0.5) != (p["x3"] > 0.5))
        trials.append(create_trial(params=dict(p), distributions=space, value=value))
    study = optuna.create_study()
    study.add_trials(trials)
    started = time.perf_counter()
    importance = hsic_importance(study)
    seconds = time.perf_counter() - started
    # The peak of the whole process, in kilobytes on Linux and in bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    row = (
        f"{len(importance.parameters)}",
        f"{len(importance.pairs)}",
        "999 or more",
        f"{seconds:.1f} s",
        f"{peak:.0f} MB",
    )
    columns = ("parameters", "pairs", "permutations each", "time", "peak memory of the process")
    return Grid(f"Cost of one analysis, {N_COST} trials", columns, (row,))
