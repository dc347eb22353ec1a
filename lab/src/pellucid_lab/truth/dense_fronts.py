"""How much of a dense front `recommend` names: fronts in closed form, exact and noisy, with and without trials behind.

Notation
    w (n, k)   shares that add up to 1; outcomes on the front are w^p, to be minimised: convex with p = 2, straight with
               p = 1, concave with p = 1/2
    behind     what is added to every outcome of a trial that is not on the front
    span       the length of the named trials' true outcomes in an objective, as a share of that of the true front of
               the trials
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from optuna.distributions import FloatDistribution
from scipy.stats import qmc

from pellucid.beliefs.front_members import behind_none
from pellucid_lab.base import stable_seed
from pellucid_lab.problems.several import several_problem
from pellucid_lab.tables.grids import Grid

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid import Front

POWERS = {"convex": 2.0, "linear": 1.0, "concave": 0.5}
OWN = "zdt1, our sampler"
OBJECTIVES, NOISES = (2, 3, 4), (0.0, 0.01, 0.05)
# Trials behind the front, and one trial more on it, are tried with at most so many trials.
_MOST_MIXED = 100


@dataclass(frozen=True)
class DenseTask:
    """`mixed`: half of the trials are behind the front. `noise`: sd as a share of the front's length."""

    shape: str
    objectives: int
    trials: int
    noise: float
    mixed: bool = False


@dataclass(frozen=True)
class DenseFront:
    """What is named. `true`, `observed`: trials on the true and on the observed front; `kept`: the least length of the
    named front after one more trial on the true front, as a share of its length before."""

    task: DenseTask
    true: int
    observed: int
    named: int
    thinned: int
    span: float
    kept: float | None


def dense_tasks(sizes: Sequence[int]) -> list[DenseTask]:
    tasks = [
        DenseTask(shape, k, n, noise, mixed)
        for mixed in (False, True)
        for shape in POWERS
        for k in OBJECTIVES
        for n in sizes
        for noise in NOISES
        if not mixed or n == _MOST_MIXED
    ]
    return [*tasks, DenseTask(OWN, 2, 100, 0.0)]


def dense_front(task: DenseTask) -> DenseFront:
    if task.shape == OWN:
        study, true = _own(task.trials)
        front = _asked(study)
        return DenseFront(task, *_counts(study, true, front), _span(true, front), None)
    rng = np.random.default_rng(stable_seed("dense", *map(str, vars(task).values())))
    X, true = _trials(task, rng)
    values = true + task.noise * rng.standard_normal(true.shape)
    study = _study(X, values)
    front = _asked(study)
    kept = None
    if task.trials <= _MOST_MIXED:
        x = np.r_[rng.random(task.objectives - 1), 0.0]
        more = np.vstack([true, _outcomes(task.shape, x[None])])
        new = more[-1] + task.noise * rng.standard_normal(task.objectives)
        again = _asked(_study(np.vstack([X, x]), np.vstack([values, new])))
        kept = float((_lengths(more, again) / _lengths(true, front)).min())
    return DenseFront(task, *_counts(study, true, front), _span(true, front), kept)


def _trials(task: DenseTask, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Configurations (n, k), the last parameter is how far behind they are, and their true outcomes; in random
    order."""
    ahead = task.trials // 2 if task.mixed else task.trials
    if task.objectives == 2:
        along = np.linspace(0.0, 1.0, ahead)[:, None]
    else:
        along = qmc.Halton(task.objectives - 1, seed=rng).random(ahead)
    others = np.c_[rng.random((task.trials - ahead, task.objectives - 1)), rng.uniform(0.1, 1.0, task.trials - ahead)]
    X = rng.permutation(np.vstack([np.c_[along, np.zeros(ahead)], others]))
    return X, _outcomes(task.shape, X)


def _outcomes(shape: str, X: np.ndarray) -> np.ndarray:
    """Every parameter but the last takes its share of what the ones before have left."""
    along, behind = X[:, :-1], X[:, -1:]
    left = np.cumprod(np.c_[np.ones(len(X)), 1.0 - along], axis=1)
    return np.asarray((left * np.c_[along, np.ones(len(X))]) ** POWERS[shape] + 0.5 * behind)


def _study(X: np.ndarray, values: np.ndarray) -> Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize"] * values.shape[1])
    space = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(X.shape[1])}
    for x, outcomes in zip(X.tolist(), values.tolist(), strict=True):
        params = dict(zip(space, x, strict=True))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=dict(space), values=outcomes))
    return study


def _own(n: int) -> tuple[Study, np.ndarray]:
    import optuna

    import pellucid

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = several_problem("zdt1")
    study = optuna.create_study(
        directions=list(problem.directions.values()),
        sampler=pellucid.BayesianSampler(seed=stable_seed("dense", "zdt1")),
    )
    study.optimize(lambda trial: tuple(problem.evaluate(problem.suggest(trial)).values.values()), n_trials=n)
    return study, np.array([trial.values for trial in study.trials])


def _asked(study: Study) -> Front:
    import pellucid

    front = pellucid.recommend(study)
    assert isinstance(front, pellucid.Front)
    return front


def _lengths(true: np.ndarray, front: Front) -> np.ndarray:
    return np.asarray(np.ptp(true[[member.trial for member in front.members]], axis=0))


def _span(true: np.ndarray, front: Front) -> float:
    """The least over objectives."""
    return float((_lengths(true, front) / np.ptp(true[behind_none(true)], axis=0)).min())


def _counts(study: Study, true: np.ndarray, front: Front) -> tuple[int, int, int, int]:
    thinned = len(front.thinned)
    return int(behind_none(true).sum()), len(study.best_trials), len(front.members) + thinned, thinned


def dense_grid(fronts: Sequence[DenseFront]) -> Grid:
    rows = []
    for front in fronts:
        task = front.task
        rows.append(
            (
                f"{task.shape}{', half of the trials behind it' if task.mixed else ''}",
                *map(str, (task.objectives, task.trials)),
                f"{task.noise:.0%}" if task.noise else "none",
                *map(str, (front.true, front.observed, front.named, front.thinned)),
                f"{front.span:.1%}",
                "–" if front.kept is None else f"{front.kept:.1%}",
            )
        )
    counts = ("truly on it", "observed on it", "named", "thinned", "least span", "after one more")
    return Grid("", ("front", "objectives", "trials", "noise", *counts), tuple(rows))


def dense_summary(fronts: Sequence[DenseFront]) -> str:
    """How many reach the bar."""
    parts = []
    for label, noisy in (("exact", False), ("noisy", True)):
        spans = [front.span for front in fronts if (front.task.noise > 0.0) == noisy]
        if spans:
            parts.append(f"{sum(span >= 0.95 for span in spans)} of {len(spans)} {label} ones (least {min(spans):.1%})")
    return f"At least 95% of the true front is spanned in every objective by {' and '.join(parts)}."
