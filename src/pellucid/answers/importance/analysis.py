"""Which parameters matter for a goal: HSIC of a study's trials, with tests, groups and pairs.

The index compares how a parameter is distributed among the trials that reach a goal with how it was drawn. So it needs
trials that were drawn at random; for trials that an optimiser chose, it measures the optimiser's preferences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from optuna.study import Study

from pellucid.answers.importance.choices import choice_index, choice_test
from pellucid.answers.importance.draws import FEWEST, Sample, Source, Subject, check_random, opened_for, sample_of
from pellucid.answers.importance.goals import HsicImportance, PairImportance, ParameterImportance
from pellucid.answers.importance.hsic import (
    PermutationTest,
    chosen_bandwidth,
    holm,
    hsic_index,
    negligible,
    permutation_test,
    shared_bandwidth,
)
from pellucid.answers.importance.of_model import importance_of_model
from pellucid.answers.importance.words import bins, importance_sentence, where
from pellucid.beliefs import Beliefs
from pellucid.claims import GOAL_IMPACTFUL
from pellucid.numerics import Array
from pellucid.study.goals import Goal
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.words import printable

# Pairs are tested among this many parameters at most: their number grows with the square.
_MOST_PAIRED = 10
# Permutations per test that is corrected for: enough for the smallest p-value to survive the correction.
_PER_TEST = 25


@dataclass(frozen=True)
class PermutationSettings:
    """How parameters are tested: the kernel's bandwidth, and the permutations of the test."""

    bandwidth: Literal["median", "max"] | float = "median"
    n_permutations: int = 999
    seed: int = 0


def hsic_importance(
    study: Study,
    goal: Goal | Callable[[float], bool] | None = None,
    *,
    objective: str | int | None = None,
    pairs: bool = True,
    source: Source = "random",
    bandwidth: Literal["median", "max"] | float = "median",
    n_permutations: int = 999,
    seed: int = 0,
) -> HsicImportance:
    """What matters for reaching a goal, with errors, p-values and a verdict per parameter.

    It needs trials that were drawn at random. What matters for the objective, whoever chose the trials, is the answer
    of `importance`.

    Args:
        study: any study.
        goal: `pellucid.best(0.1)` (default), `pellucid.failed()`, another one of `pellucid.goals`, or a predicate. With
            several objectives the default is `pellucid.on_the_front(0.1)`, about all of them.
        objective: the one that the goal is about, by name or number, or a constraint by its name.
        pairs: look for interactions among the (at most ten) parameters that are not impactful alone. Choices are taken
            in the order of their declaration there; alone, their order does not count.
        source: "random" uses the trials that were drawn at random (start-up trials, if receipts show which); "all"
            uses all; "surrogate" asks a model fitted to all trials, on fresh configurations and draws of its posterior:
            an effect counts if the draws agree about it (p is then the probability that it is negligible; no pairs).
        bandwidth: of the kernel, one for all parameters. "median" does not look at the goal, "max" takes the bandwidth
            at which the largest index is largest (p-values are then a little too small).
        n_permutations, seed: of the tests.
    """
    if source not in get_args(Source):
        raise ValueError(printable(f"`source` is one of {', '.join(get_args(Source))}, but got {source!r}."))
    with opened_for(study, "hsic_importance", goal, objective) as (beliefs, target, checked):
        return importance_for(
            beliefs, target, checked, pairs, source, PermutationSettings(bandwidth, n_permutations, seed)
        )


DEFAULT_SETTINGS = PermutationSettings()


def importance_for(
    beliefs: Beliefs,
    target: Target,
    goal: Goal,
    pairs: bool = True,
    source: Source = "random",
    settings: PermutationSettings = DEFAULT_SETTINGS,
) -> HsicImportance:
    """`target`: of a goal that is not about whole trials."""
    view, goal = beliefs.view, goal.about(target.name)
    if source == "surrogate":
        return _placed(importance_of_model(beliefs, target, goal, settings.seed), view)
    if source == "random":
        check_random(view.trials, goal)
    sample, notes, random = sample_of(view.trials, goal, Subject.of(view, goal, target), source)
    found = importance_of(sample, goal, notes, random=random, pairs=pairs, source=source, settings=settings)
    return _placed(found, view)


def _placed(found: HsicImportance, view: StudyView) -> HsicImportance:
    """With the place of every parameter in the study's order."""
    return replace(found, parameters=tuple(replace(p, position=view.positions[p.name]) for p in found.parameters))


def importance_of(
    sample: Sample,
    goal: Goal,
    notes: Sequence[str],
    *,
    random: bool = True,
    pairs: bool = True,
    source: Source = "random",
    settings: PermutationSettings = DEFAULT_SETTINGS,
) -> HsicImportance:
    """The importance in a sample. `random`: it was drawn at random, as far as is known."""
    always = [j for j in range(len(sample.space)) if sample.present[:, j].all()]
    if settings.bandwidth == "max":
        h = shared_bandwidth(sample.u[:, always] if always else sample.u, sample.in_goal)
    else:
        h = chosen_bandwidth(settings.bandwidth)
    tested = [_tested(sample, j, h, settings) for j in range(len(sample.space))]
    adjusted = holm(np.array([parameter.p for parameter in tested]))
    judged = [
        _judged(replace(parameter, p_adjusted=float(p)), random) for parameter, p in zip(tested, adjusted, strict=True)
    ]
    parameters = tuple(sorted(judged, key=lambda parameter: -parameter.index))
    candidates = [p.name for p in parameters if p.verdict != "impactful" and not p.group][:_MOST_PAIRED]
    tested_pairs = _pairs(sample, candidates, h, settings) if pairs else ()
    n = len(sample.in_goal)
    return HsicImportance(
        goal=goal.words,
        parameters=parameters,
        pairs=tested_pairs,
        n_trials=n,
        n_goal=int(sample.in_goal.sum()),
        bandwidth=float(h),
        source=source,
        sentence=importance_sentence(goal.words, parameters, tested_pairs, n, source),
        notes=tuple(notes),
    )


def _tested(sample: Sample, j: int, h: float, settings: PermutationSettings) -> ParameterImportance:
    """One parameter among the draws that have it. The verdict 'impactful' comes later, when all p-values are known."""
    rows = sample.present[:, j]
    u, z = sample.u[rows, j], sample.in_goal[rows]
    dimension = sample.space.dimensions[j]
    index, stderr, outcome, verdict = 0.0, 0.0, PermutationTest(1.0, 0.0, 0.0), "cannot tell"
    if len(z) >= FEWEST and 0 < z.sum() < len(z):
        n_permutations = max(settings.n_permutations, _PER_TEST * len(sample.space))
        if dimension.nominal:
            codes = dimension.code(u)
            index, stderr = choice_index(codes, z, dimension.cells, h)
            outcome = choice_test(codes, z, dimension.cells, h, n_permutations, settings.seed)
        else:
            index, stderr = hsic_index(u, z, h)
            outcome = permutation_test(u, z, h, n_permutations, settings.seed)
        # An effect in a small part of the range has a small index, so a small p-value overrules a small index.
        if outcome.p > GOAL_IMPACTFUL.threshold and negligible(index, stderr, outcome, z, h):
            verdict = "no effect"
    shown, ranges = bins(dimension, u, z)
    return ParameterImportance(
        name=dimension.name,
        index=index,
        stderr=stderr,
        null=outcome.null,
        p=outcome.p,
        p_adjusted=1.0,
        verdict=verdict,
        group="" if rows.all() else where(sample.space, dimension.name),
        n_trials=len(z),
        n_goal=int(z.sum()),
        bins=shown,
        ranges=ranges,
    )


def _judged(parameter: ParameterImportance, random: bool) -> ParameterImportance:
    """With the verdict that the adjusted p-value allows."""
    if parameter.p_adjusted <= GOAL_IMPACTFUL.threshold:
        return replace(parameter, verdict="impactful")
    return parameter if random else replace(parameter, verdict="cannot tell")


def _pairs(sample: Sample, names: Sequence[str], h: float, settings: PermutationSettings) -> tuple[PairImportance, ...]:
    """Joint indices of parameters that are not impactful alone: next to an impactful one, any other would look
    important."""
    n_tests = len(names) * (len(names) - 1) // 2
    pairs = []
    for a, b in combinations(names, 2):
        u: Array = sample.u[:, [sample.space.index[a], sample.space.index[b]]]
        index, stderr = hsic_index(u, sample.in_goal, h)
        n_permutations = max(settings.n_permutations, _PER_TEST * n_tests)
        outcome = permutation_test(u, sample.in_goal, h, n_permutations, settings.seed)
        pairs.append(PairImportance((a, b), index, stderr, outcome.null, outcome.p, 1.0))
    if not pairs:
        return ()
    adjusted = holm(np.array([pair.p for pair in pairs]))
    judged = [replace(pair, p_adjusted=float(p)) for pair, p in zip(pairs, adjusted, strict=True)]
    return tuple(sorted(judged, key=lambda pair: -pair.index))
