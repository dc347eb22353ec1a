"""Our sampler with its defaults, and the effects that a user would see while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pellucid.beliefs import Fits
from pellucid.models import GaussianProcess
from pellucid.models.averages.effects import Effects
from pellucid.models.averages.functionals import average
from pellucid.search.acquisition import EI, InformationGain
from pellucid.search.acquisition.interleave import Interleave
from pellucid.study.constraints import unconstrained
from pellucid.study.targets import Target
from pellucid_lab.base import stable_seed
from pellucid_lab.papers.bobax.experiment import (
    N_INIT,
    PER_DIMENSION,
    TOLERANCE,
    Z95,
    Array,
    EffectTask,
    mean_half_widths,
    rounded,
    sizes_of,
)
from pellucid_lab.problems.effects import KnownEffects, grid_of


def _sampler(method: str, seed: int, first: str) -> Any:
    from pellucid import BayesianSampler

    options: dict[str, dict[str, Any]] = {
        "ei": {"acquisition": EI()},
        "default": {},
        "bax-band": {"acquisition": InformationGain(first)},
        "bax-all": {"acquisition": InformationGain("all")},
        "bobax-2": {"acquisition": EI(), "interleave": Interleave(first)},
        "bobax-path": {"acquisition": EI(), "interleave": Interleave(first, target="path")},
        "bobax-all": {"acquisition": EI(), "interleave": Interleave("all")},
        "a-bobax": {"acquisition": EI(), "interleave": Interleave("all", until=TOLERANCE)},
        "a-bobax-first": {"acquisition": EI(), "interleave": Interleave("all", every=1, until=TOLERANCE)},
    }
    return BayesianSampler(seed=seed, n_startup_trials=N_INIT, **options[method])


def run_sampler(problem: KnownEffects, task: EffectTask) -> dict[str, Any]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = stable_seed(task.experiment, task.problem, task.seed)
    rng = np.random.default_rng(seed)
    d, budget = problem.dimension, PER_DIMENSION * problem.dimension
    X = problem.space.canonical(rng.random((N_INIT, d)))
    random_rows = problem.space.canonical(rng.random((budget, d)))
    y = problem.losses(X)
    distributions = {dimension.name: dimension.distribution for dimension in problem.space.dimensions}
    study = optuna.create_study()
    for row, loss in zip(X, y, strict=True):
        params = problem.space.decode(row[None])[0]
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=float(loss)))
    at_random = {"rs": 1, "ei-rs-2": 2}.get(task.method)
    if task.method != "rs":
        study.sampler = _sampler("ei" if at_random else task.method, seed, problem.space.names[0])
    sizes, history = sizes_of(problem), _EffectHistory(problem)
    reached: dict[str, int | None] = {"reached": None, "raw_reached": None}
    while True:
        if task.experiment == "fitted-lcbench" and None in reached.values():
            for name, width in history.mean_half_widths(X, y).items():
                if reached[name] is None and width <= TOLERANCE:
                    reached[name] = len(y)
        if len(y) in sizes:
            history.add(X, y)
        if len(y) == budget:
            break
        if at_random is not None and len(y) % at_random == 0:
            x = random_rows[len(y)][None]
            params = problem.space.decode(x)[0]
            loss = float(problem.losses(x)[0])
            study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=loss))
        else:
            trial = study.ask(distributions)
            x, _ = problem.space.encode([trial.params])
            loss = float(problem.losses(x)[0])
            study.tell(trial, loss)
        X, y = np.vstack([X, x]), np.append(y, loss)
    values: dict[str, Any] = {name: rounded(series) for name, series in history.series.items()}
    if task.seed == 0:
        values |= {"curves": tuple(history.curves), "truth": rounded(history.truths[0])}
    return {"sizes": sizes, **reached, "best": float(y.min()), **values}


class _EffectHistory:
    """The effects that a user would see at some moments of a run, compared with the true effects."""

    def __init__(self, problem: KnownEffects) -> None:
        self.problem = problem
        self.grids = [grid_of(problem.space, j) for j in range(problem.dimension)]
        self.truths = [problem.effect(j, grid) for j, grid in enumerate(self.grids)]
        names = ("d", "regret", "coverage", "raw_coverage", "coverage_first", "half_width", "raw_half_width")
        self.series: dict[str, list[float]] = {name: [] for name in names}
        self.curves: list[list[tuple[float, ...]]] = []
        self._last: Any = None
        self._learned_from = 0

    def add(self, X: Array, y: Array) -> None:

        gp = Fits(Target("objective")).effect_model(_arrays(self.problem, X, y))[0].gp
        phi = Effects(gp, [average(gp, j, grid, self.problem.space) for j, grid in enumerate(self.grids)])
        band, raw_mean, raw_sd = phi.band, phi.mean, np.sqrt(phi.variance)
        ends = np.cumsum([0, *map(len, self.grids)])
        parts = [slice(ends[j], ends[j + 1]) for j in range(len(self.grids))]
        means = [gp.losses(band.mean[part]) for part in parts]
        errors = [float(np.abs(mean - truth).mean()) for mean, truth in zip(means, self.truths, strict=True)]
        lcbench = self.problem.name.startswith("lcbench")
        scale = max(float(np.ptp(truth)) for truth in self.truths)
        calibrated = self._bands(gp, band.mean, band.sd, parts)
        raw = self._bands(gp, raw_mean, raw_sd, parts)
        first, sd = band.mean[parts[0]], band.sd[parts[0]]
        self.curves.append([rounded(gp.losses(first + z * sd)) for z in (0.0, -Z95, Z95)])
        for name, value in {
            "d": float(np.mean(errors)) if lcbench else errors[0],
            "regret": float(y.min() - self.problem.optimum),
            "coverage": float(np.mean([c for c, _ in calibrated])),
            "raw_coverage": float(np.mean([c for c, _ in raw])),
            "coverage_first": calibrated[0][0],
            "half_width": float(np.mean([w for _, w in calibrated])) / scale,
            "raw_half_width": float(np.mean([w for _, w in raw])) / scale,
        }.items():
            self.series[name].append(value)

    def _bands(self, gp: Any, mean: Array, sd: Array, parts: Sequence[slice]) -> list[tuple[float, float]]:
        """Coverage and mean half-width per variable."""
        out = []
        for part, truth in zip(parts, self.truths, strict=True):
            low, high = gp.losses(mean[part] - Z95 * sd[part]), gp.losses(mean[part] + Z95 * sd[part])
            out.append((float(((low <= truth) & (truth <= high)).mean()), 0.5 * float((high - low).mean())))
        return out

    def mean_half_widths(self, X: Array, y: Array) -> dict[str, float]:
        """With hyperparameters learned as the sampler does: again whenever the observations have grown by 4%."""
        if self._last is None or len(y) - self._learned_from > len(y) // 25:
            self._last = GaussianProcess().fit(X, y, start=None if self._last is None else self._last.hyperparameters)
            self._learned_from = len(y)
        else:
            self._last = GaussianProcess.from_hyperparameters(self._last.hyperparameters).condition(X, y)
        return mean_half_widths(self._last, self.problem.space)


def _arrays(problem: KnownEffects, X: Array, y: Array) -> Any:
    from pellucid.study.arrays import Arrays
    from pellucid.study.observations import Observations

    n = len(y)
    observations = Observations(
        tuple(range(n)), ({},) * n, y[:, None], (None,), (True,) * n, unconstrained(n), (False,) * n
    )
    return Arrays(problem.space, observations, X)
