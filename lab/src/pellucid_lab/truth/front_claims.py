"""Compromises, and what matters for being on the front: what is said of a study beside what is true.

Notation
    unit     the length of the front that was observed, in each objective: what the weights count in
    u        an outcome in that unit, from the best true value of each objective among feasible trials
    score    of a compromise by weights: the largest weighted u, the largest weight being 1; of one by a limit on the
             first objective: u of the second. Smaller is better
    behind   the score of a configuration less that of the best one: on the true front, or among the trials
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pellucid.answers.fronts.compromise import compromise_of
from pellucid.answers.fronts.wishes import Limit, limits_of, weights_of
from pellucid.answers.importance.hsic import MEDIAN, embeddings, largest_possible
from pellucid.beliefs import Beliefs
from pellucid.study.goals import Goal, on_the_front
from pellucid.study.view import StudyView
from pellucid_lab.base import stable_seed
from pellucid_lab.problems.several import several_problem
from pellucid_lab.truth.fronts import best_second, outcomes_at, true_front

if TYPE_CHECKING:
    from optuna.study import Study

# What is asked for: weights of both objectives, and limits on the first, as shares of the length of the front.
_WEIGHTS, _LIMITS = ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0)), (0.25, 0.5, 0.75)
# The chance with which limits have to be kept: the default of `recommend`.
FEASIBLE = 0.9
GOALS: dict[str, Goal] = {"the front": on_the_front(), "the nearest 10%": on_the_front(0.1)}
# Samples behind what truly matters, each of as many random configurations as the answer looks at.
_N_SAMPLES, _N_CONFIGURATIONS = 64, 1024

# kind, chance of keeping the limit that was said, whether it is truly kept, whether the intervals of both objectives
# cover their true values, and how far it is behind the best of the front and the best trial (None if no trial is good).
Asked = tuple[str, float, bool, tuple[bool, ...], float, float | None]


def compromises(
    study: Study, problem: str, exact: np.ndarray, feasible: np.ndarray, unit: np.ndarray
) -> tuple[Asked, ...]:
    """`exact` (n, 2), `feasible` (n,): the true outcomes of the trials; `unit` (2,)."""
    beliefs = Beliefs(StudyView.whole(study))
    view = beliefs.view
    names, ends = [objective.name for objective in view.objectives], true_front(problem)[:, 0]
    low = exact[feasible].min(axis=0)
    scaled, front = (exact - low) / unit, (true_front(problem) - low) / unit
    asked = []
    for pair in _WEIGHTS:
        weights = np.array(pair) / max(pair)
        scores, best = (weights * scaled).max(axis=1), float((weights * front).max(axis=1).min())
        prefer = weights_of(view, dict(zip(names, pair, strict=True)))
        asked.append(_asked(beliefs, "weights", prefer, (), exact, scores, best, feasible))
    for share in _LIMITS:
        level = float(ends.min() + share * np.ptp(ends))
        limits = limits_of(view, {names[0]: f"<= {level!r}"})
        best = (best_second(problem, level) - float(low[1])) / float(unit[1])
        good = feasible & (exact[:, 0] <= level)
        asked.append(_asked(beliefs, "limits", None, limits, exact, scaled[:, 1], best, good))
    return tuple(asked)


def _asked(
    beliefs: Beliefs,
    kind: str,
    weights: np.ndarray | None,
    limits: Sequence[Limit],
    exact: np.ndarray,
    scores: np.ndarray,
    best: float,
    good: np.ndarray,
) -> Asked:
    """`good` (n,): which trials truly keep everything."""
    answer = compromise_of(beliefs, weights, limits, FEASIBLE)
    truth = exact[answer.trial]
    covered = tuple(
        bool(outcome.low <= value <= outcome.high)
        for value, outcome in zip(truth, answer.outcomes, strict=True)
        if outcome.low is not None and outcome.high is not None
    )
    said = answer.limits[0].probability if answer.limits else 1.0
    score = float(scores[answer.trial])
    behind_trials = score - float(scores[good].min()) if good.any() else None
    return kind, said, bool(good[answer.trial]), covered, score - best, behind_trials


def importance_for_the_front(study: Study, problem: str) -> tuple[tuple[str, str, float], ...]:
    """Per goal and parameter, the one that is said to matter most first: the goal, the verdict, and the true share."""
    import pellucid

    rows = []
    for label, goal in GOALS.items():
        answer = pellucid.hsic_importance(study, goal, source="surrogate")
        shares = true_shares(problem, label)
        rows += [(label, parameter.verdict, shares[parameter.name]) for parameter in answer.parameters]
    return tuple(rows)


@cache
def true_shares(problem: str, label: str) -> dict[str, float]:
    """The index of every parameter for a goal of `GOALS`, as a share of the index of a parameter that alone decides:
    of random configurations, from the formulas. Products of different samples have no bias."""
    names, bounds = _box(problem)
    rng = np.random.default_rng(stable_seed("what matters", problem))
    goal, failed = GOALS[label], np.zeros(_N_CONFIGURATIONS, dtype=bool)
    samples, largest = [], []
    for _ in range(_N_SAMPLES):
        u = rng.random((_N_CONFIGURATIONS, len(names)))
        outcomes = outcomes_at(problem, bounds[0] + u * (bounds[1] - bounds[0]))
        reached = goal.reached(outcomes, failed, np.ones(2))
        samples.append([embeddings(column, reached[None].astype(float), MEDIAN)[:, 0] for column in u.T])
        largest.append(largest_possible(reached, MEDIAN))
    E = np.array(samples)
    squares = (E.sum(axis=0) ** 2).sum(axis=1) - (E**2).sum(axis=(0, 2))
    index = squares / (_N_SAMPLES * (_N_SAMPLES - 1))
    return {name: round(float(value / np.mean(largest)), 4) for name, value in zip(names, index, strict=True)}


def _box(problem: str) -> tuple[list[str], np.ndarray]:
    """Names and bounds (2, d) of the parameters."""
    import optuna

    trial = optuna.create_study(directions=["minimize", "minimize"]).ask()
    names = list(several_problem(problem).suggest(trial))
    ranges = [trial.distributions[name] for name in names]
    ends = [(d.low, d.high) for d in ranges if isinstance(d, optuna.distributions.FloatDistribution)]
    return names, np.array(ends).T
