"""BOBAX again: how well effects are known, and what that costs the search, on problems whose effects are known.

Three experiments, each run by itself and written as one line of JSON:
    source   the source's own protocol: five functions, squared exponential kernel with hyperparameters fixed per
             function, 1500 random candidates per proposal, effect of the first variable
    fitted   the same functions with our sampler as users get it (hyperparameters learned, candidates refined)
    lcbench  fifteen tuned networks, effects of all five parameters, a-BOBAX with a tolerance
Effects are compared on a grid of 20 values; `d` is the mean absolute difference to the true effect.
"""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.bench.base import BenchError, stable_seed
from pellucid.bench.effects import FUNCTIONS, LCBENCH_TASKS, KnownEffects, grid_of, known_effects
from pellucid.bench.results import now, open_for_append, versions
from pellucid.bench.workers import run_all
from pellucid.records import Hyperparameters
from pellucid.surrogates import GaussianProcess

Array = NDArray[np.float64]

QUARTERS = (0.25, 0.5, 0.75, 1.0)
N_INIT = 5
PER_DIMENSION = 30
N_CANDIDATES = 1500
N_SAMPLE = 100
TOLERANCE = 0.015
SMALLEST_NUGGET = 1e-10
Z95 = 1.959963984540054

SOURCE_METHODS = (
    *("rs", "ei", "pvar", "lcb-1", "lcb-2", "lcb-5", "ei-rs-2", "ei-rs-5", "ei-rs-10"),
    *("bax-band", "bax-output", "bax-path", "bax-all", "bobax-2", "bobax-5", "bobax-10", "bobax-output", "bobax-path"),
    *("bobax-all", "bobax-prob", "bobax-anneal", "eibax-20", "eibax-50", "eibax-100"),
)
FITTED_METHODS = ("rs", "ei", "default", "ei-rs-2", "bax-band", "bobax-2", "bobax-path", "bobax-all")
LCBENCH_METHODS = ("rs", "ei", "bax-all", "a-bobax")


@dataclass(frozen=True)
class Task:
    experiment: str
    problem: str
    method: str
    seed: int
    data: str | None = None
    command: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.experiment, self.problem, self.method, self.seed)


@dataclass(frozen=True)
class EffectRun:
    """One run, looked at after ``sizes`` evaluations; lists have one entry per size.

    d, d_sample            distance to the true effect of the first variable (lcbench: mean over all): against the exact
                           integral, and with estimate and truth averaged over the same random sample
    regret                 best loss so far minus the optimum
    coverage, raw_coverage share of grid values, over all variables, where the 95 % band holds the true effect:
                           calibrated band, posterior alone; ``..._first``: of the first variable
    half_width, raw_...    mean half-widths of these bands over all variables, as a share of the range of the effects
    reached                evaluations after which the mean half-width of every effect was within the tolerance
    curves                 of seed 0 only, for figures: mean, low, high of the first effect, per size
    truth                  what these curves should be
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


def plan(experiment: str, seeds: Sequence[int], data: str | None, command: str) -> list[Task]:
    """All runs of an experiment; methods alternate, so that a file that is stopped early is still comparable."""
    problems = [f"lcbench-{task}" for task in LCBENCH_TASKS] if experiment == "lcbench" else list(FUNCTIONS)
    methods = {"source": SOURCE_METHODS, "fitted": FITTED_METHODS, "lcbench": LCBENCH_METHODS}[experiment]
    return [
        Task(experiment, problem, method, seed, data, command)
        for seed in seeds
        for problem in problems
        for method in methods
    ]


def run_task(task: Task) -> EffectRun:
    """Meant to be called inside a one-thread worker."""
    started = time.perf_counter()
    problem = known_effects(task.problem, task.data)
    measured = _source(problem, task) if task.experiment == "source" else _with_sampler(problem, task)
    return EffectRun(
        *task.key,
        **measured,
        seconds=round(time.perf_counter() - started, 3),
        versions=versions(("pellucid", "optuna", "numpy", "scipy")),
        machine=platform.platform(),
        date=now(),
        command=task.command,
    )


def sizes_of(problem: KnownEffects) -> tuple[int, ...]:
    """After quarters of the budget, and after 20 evaluations per dimension."""
    budget = PER_DIMENSION * problem.dimension
    return tuple(sorted({*(math.ceil(q * budget) for q in QUARTERS), 20 * problem.dimension}))


def _rounded(values: Sequence[float] | Array) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)


# ---------------------------------------------------------------------- the source's protocol


@cache
def fixed_hyperparameters(name: str) -> Hyperparameters:
    """Squared exponential with zero mean: lengthscales, variance and nugget most likely on 200 random points.

    The same for every method and seed. The best variance is known in closed form; the rest climbs from several starts.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    problem = known_effects(name)
    d, n = problem.dimension, 200
    X = np.random.default_rng(stable_seed("hyperparameters", name)).random((n, d))
    y = problem.losses(X)
    mean, sd = float(y.mean()), float(y.std())
    z, squares = (y - mean) / sd, (X[:, None, :] - X[None, :, :]) ** 2

    def unlikely(theta: Array) -> tuple[float, Array]:
        """Minus the log likelihood at the best variance, up to a constant, and its gradient in log l and log nugget."""
        scaled = squares / np.exp(2.0 * theta[:d])
        R = np.exp(-0.5 * scaled.sum(axis=2))
        try:
            factor = cho_factor(R + math.exp(theta[d]) * np.eye(n), lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros(d + 1)
        alpha, inverse = cho_solve(factor, z), cho_solve(factor, np.eye(n))
        scale = float(z @ alpha) / n
        W = inverse - np.outer(alpha, alpha) / scale
        slopes = 0.5 * np.einsum("ij,ijk->k", W * R, scaled)
        value = 0.5 * n * math.log(scale) + float(np.log(np.diagonal(factor[0])).sum())
        return value, np.append(slopes, 0.5 * math.exp(theta[d]) * float(np.trace(W)))

    bounds = [(math.log(0.03), math.log(20.0))] * d + [(math.log(SMALLEST_NUGGET), 0.0)]
    starts = [np.log(np.r_[np.full(d, l), nugget]) for l in (0.25, 0.5, 1.0, 2.0) for nugget in (1e-8, 1e-4, 1e-2)]
    found = [minimize(unlikely, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    theta = min(found, key=lambda one: float(one.fun)).x
    record = Hyperparameters("se", tuple(float(f"{l:.4g}") for l in np.exp(theta[:d])), 1.0, 1.0, mean, sd)
    nugget = float(f"{math.exp(theta[d]):.3g}")
    data = GaussianProcess.from_hyperparameters(replace(record, noise=nugget)).condition(X, y).data
    scale = float(f"{float(data.z @ data.alpha) / n:.4g}")
    return replace(record, outputscale=scale, noise=scale * nugget)


def _source(problem: KnownEffects, task: Task) -> dict[str, Any]:
    from pellucid.surrogates.functionals import partial_dependence

    rng = np.random.default_rng(stable_seed("source", task.problem, task.seed))
    d, budget = problem.dimension, PER_DIMENSION * problem.dimension
    X = rng.random((N_INIT, d))
    y = problem.losses(X)
    rest = rng.random((N_SAMPLE, d))
    grid = grid_of(problem.space, 0)
    sample = np.repeat(rest[None], len(grid), axis=0)
    sample[:, :, 0] = grid[:, None]
    sample = sample.reshape(-1, d)
    truth, truth_on_sample = problem.effect(0, grid), problem.losses(sample).reshape(len(grid), -1).mean(axis=1)
    proposals = np.random.default_rng(stable_seed("proposals", task.problem, task.seed, task.method))
    sizes = sizes_of(problem)
    out: dict[str, list[float]] = {name: [] for name in ("d", "d_sample", "regret")}
    while True:
        gp = GaussianProcess.from_hyperparameters(fixed_hyperparameters(task.problem)).condition(X, y)
        if len(y) in sizes:
            curve = partial_dependence(gp, 0, grid).mean
            on_sample = gp.predict(sample)[0].reshape(len(grid), -1).mean(axis=1)
            out["d"].append(float(np.abs(curve - truth).mean()))
            out["d_sample"].append(float(np.abs(on_sample - truth_on_sample).mean()))
            out["regret"].append(float(y.min() - problem.optimum))
        if len(y) == budget:
            return {"sizes": sizes, **{name: _rounded(values) for name, values in out.items()}}
        candidates = proposals.random((N_CANDIDATES, d))
        x = _choose(task.method, gp, problem, len(y), candidates, proposals)
        X, y = np.vstack([X, x]), np.append(y, problem.losses(x[None]))


def _choose(method: str, gp: Any, problem: KnownEffects, n: int, candidates: Array, rng: np.random.Generator) -> Array:
    """The best of the candidates under what the method does at its n-th evaluation."""
    from pellucid.acquisition import EI, LCB, InformationGain, Interleave, PosteriorVariance, Situation, bind

    situation = Situation(float(gp.latent_at_observed().min()), n, problem.dimension)
    kind, _, number = method.partition("-")
    first = InformationGain("x0")
    ei = EI()
    if kind == "rs":
        return np.asarray(candidates[0])
    if kind == "ei":
        every = int(number[3:]) if number else None
        if every is not None and n % every == 0:
            return np.asarray(candidates[0])
        chosen: Any = ei
    elif kind == "pvar":
        chosen = PosteriorVariance()
    elif kind == "lcb":
        chosen = LCB(float(number))
    elif kind == "eibax":
        power = float(number) / n
        information = bind(first, gp, situation, problem.space)(candidates)
        scaled = (information - information.min()) / max(float(np.ptp(information)), 1e-300)
        score = bind(ei, gp, situation, problem.space).score(candidates) + power * np.log(np.maximum(scaled, 1e-300))
        return np.asarray(candidates[int(np.argmax(score))])
    else:
        gain = {
            "all": InformationGain("all"),
            "output": InformationGain("x0", "output"),
            "path": InformationGain("x0", "path"),
        }.get(number, first)
        if kind == "bax":
            chosen = gain
        elif number in ("prob", "anneal"):
            decay = 0.98 if number == "anneal" else 1.0
            chosen = gain if rng.random() < 0.5 * decay**n else ei
        else:
            every = int(number) if number.isdecimal() else 2
            chosen = gain if Interleave(every=every).turn(n, 0) else ei
    return np.asarray(candidates[int(np.argmax(bind(chosen, gp, situation, problem.space).score(candidates)))])


# ---------------------------------------------------------------------- our sampler, as users get it


def _sampler(method: str, seed: int, first: str) -> Any:
    from pellucid import BayesianSampler, Interleave
    from pellucid.acquisition import EI, InformationGain

    options: dict[str, dict[str, Any]] = {
        "ei": {"acquisition": EI()},
        "default": {},
        "bax-band": {"acquisition": InformationGain(first)},
        "bax-all": {"acquisition": InformationGain("all")},
        "bobax-2": {"acquisition": EI(), "interleave": Interleave(first)},
        "bobax-path": {"acquisition": EI(), "interleave": Interleave(first, target="path")},
        "bobax-all": {"acquisition": EI(), "interleave": Interleave("all")},
        "a-bobax": {"acquisition": EI(), "interleave": Interleave("all", until=TOLERANCE)},
    }
    return BayesianSampler(seed=seed, n_startup_trials=N_INIT, **options[method])


def _with_sampler(problem: KnownEffects, task: Task) -> dict[str, Any]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = stable_seed(task.experiment, task.problem, task.seed)
    rng = np.random.default_rng(seed)
    d, budget = problem.dimension, PER_DIMENSION * problem.dimension
    X = problem.space.canonical(rng.random((N_INIT, d)))
    random_rows = problem.space.canonical(rng.random((budget, d)))
    y = problem.losses(X)
    kinds = {one.name: one.distribution for one in problem.space.dimensions}
    study = optuna.create_study()
    for row, loss in zip(X, y, strict=True):
        params = problem.space.decode(row[None])[0]
        study.add_trial(optuna.trial.create_trial(params=params, distributions=kinds, value=float(loss)))
    at_random = {"rs": 1, "ei-rs-2": 2}.get(task.method)
    if task.method != "rs":
        study.sampler = _sampler("ei" if at_random else task.method, seed, problem.space.names[0])
    sizes, looks, reached = sizes_of(problem), _Looks(problem), None
    while True:
        if task.experiment == "lcbench" and reached is None and looks.narrow(X, y):
            reached = len(y)
        if len(y) in sizes:
            looks.add(X, y)
        if len(y) == budget:
            break
        if at_random is not None and len(y) % at_random == 0:
            x = random_rows[len(y)][None]
            params = problem.space.decode(x)[0]
            loss = float(problem.losses(x)[0])
            study.add_trial(optuna.trial.create_trial(params=params, distributions=kinds, value=loss))
        else:
            trial = study.ask(kinds)
            x, _ = problem.space.encode([trial.params])
            loss = float(problem.losses(x)[0])
            study.tell(trial, loss)
        X, y = np.vstack([X, x]), np.append(y, loss)
    values: dict[str, Any] = {name: _rounded(series) for name, series in looks.series.items()}
    if task.seed == 0:
        values |= {"curves": tuple(looks.curves), "truth": _rounded(looks.truths[0])}
    return {"sizes": sizes, "reached": reached, "best": float(y.min()), **values}


class _Looks:
    """What a user would see at some moments of a run, beside the truth."""

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
        from pellucid.explain.model import explanation_model
        from pellucid.surrogates.effects import Effects
        from pellucid.surrogates.functionals import average

        found = explanation_model(_arrays(self.problem, X, y))
        gp = found.gp
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
        self.curves.append([_rounded(gp.losses(first + z * sd)) for z in (0.0, -Z95, Z95)])
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

    def narrow(self, X: Array, y: Array) -> bool:
        """Whether the mean half-width of every effect is within the tolerance; hyperparameters as the sampler does."""
        from pellucid.acquisition.interleave import half_widths

        if self._last is None or len(y) - self._learned_from > len(y) // 25:
            self._last = GaussianProcess().fit(X, y, start=None if self._last is None else self._last.hyperparameters)
            self._learned_from = len(y)
        else:
            self._last = GaussianProcess.from_hyperparameters(self._last.hyperparameters).condition(X, y)
        space = self.problem.space
        widths = half_widths(self._last, space, [(name,) for name in space.names])
        return max(widths.values()) <= TOLERANCE


def _arrays(problem: KnownEffects, X: Array, y: Array) -> Any:
    from pellucid.space.study_io import Observations
    from pellucid.surrogates.from_study import Arrays

    seen = Observations(tuple(range(len(y))), ({},) * len(y), y, None, (True,) * len(y))
    return Arrays(problem.space, seen, X)


# ---------------------------------------------------------------------- files


def read(path: Path) -> list[EffectRun]:
    """The finished runs of a file; of runs with the same key the last one counts."""
    runs: dict[tuple[str, str, str, int], EffectRun] = {}
    if path.exists():
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], start=1):
            try:
                record: dict[str, Any] = json.loads(line)
                lists: dict[str, Any] = {k: tuple(v) for k, v in record.items() if isinstance(v, list)}
                run = EffectRun(**{**record, **lists})
            except (ValueError, TypeError, AttributeError) as error:
                raise BenchError(
                    f"Every line of a results file is the JSON record of one run, but line {number} of {path} is "
                    f"not ({error}): remove that line or choose another file."
                ) from error
            runs[run.key] = run
    return list(runs.values())


def run_tasks(
    tasks: Sequence[Task], path: Path, processes: int, run: Callable[[Task], EffectRun] = run_task
) -> Iterator[EffectRun | str]:
    """Run what the file lacks; each record is in the file before it is yielded. A failure is yielded as a sentence."""
    done = {one.key for one in read(path)}
    open_for_append(path)
    for finished in run_all(run, [task for task in tasks if task.key not in done], processes):
        if finished.outcome.error is not None:
            yield f"{finished.task.problem} {finished.task.method} seed {finished.task.seed}: {finished.outcome.error}"
            continue
        record = finished.outcome.value
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record)) + "\n")
        yield record
