"""Which parameters matter for a goal: HSIC of a study's trials, with tests, groups and pairs.

The index compares how a parameter is distributed among the trials that reach a goal with how it was drawn. So it speaks
of trials that were drawn at random; where an optimiser has chosen them, the difference that it sees is of its making.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Literal, get_args

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.study import Study
from scipy.special import ndtr

from pellucid.explain.effects.words import condition_text, unexplored, value_text
from pellucid.explain.importance.choices import choice_index, choice_test, ranks
from pellucid.explain.importance.draws import (
    FEWEST,
    Mask,
    Sample,
    Source,
    encoded_trials,
    sample_of,
    spread_over_cells,
    trials_that_count,
)
from pellucid.explain.importance.hsic import (
    MEDIAN,
    PermutationTest,
    chosen_bandwidth,
    embeddings,
    holm,
    hsic_index,
    permutation_test,
    shared_bandwidth,
)
from pellucid.explain.proposals.background import rows_of
from pellucid.goals import Goal, as_goal, best
from pellucid.numerics import Array, one_thread, stream
from pellucid.records import HsicImportance, PairImportance, ParameterImportance
from pellucid.study import study_io
from pellucid.study.arrays import arrays
from pellucid.study.encoding import Dimension, Space
from pellucid.surrogates import GaussianProcess

LEVEL = 0.05
_MOST_LOW = 10
# An index below this share of that of a parameter which decides alone is no effect worth the name.
_NEGLIGIBLE = 0.05
_N_BINS, _FEW_CELLS, _MOST_CELLS = 10, 12, 100_000
_N_FRESH, _N_DRAWS = 1024, 48
# Permutations per test that is corrected for: enough for the smallest p-value to survive the correction.
_PER_TEST = 25
_SMALLEST_P = 1e-6
_ENOUGH_DRAWS = 60


def hsic_importance(
    study: Study,
    goal: Goal | Callable[[float], bool] | None = None,
    pairs: bool = True,
    *,
    source: Source = "random",
    bandwidth: Literal["median", "max"] | float = "median",
    n_permutations: int = 999,
    seed: int = 0,
) -> HsicImportance:
    """What matters for reaching a goal, with errors, p-values and a verdict per parameter.

    Args:
        study: any study with one objective.
        goal: `pellucid.best(0.1)` (default), `worst(0.1)`, `below(v)`, `above(v)`, `failed()`, or a predicate.
        pairs: look for interactions among the (at most ten) parameters that are not impactful alone; choices are taken
            in the order in which they are declared there (alone, their order does not count).
        source: "random" takes the trials that were drawn at random (start-up trials, where receipts tell); "all" takes
            all; "surrogate" asks a model fitted to all trials, on fresh configurations and draws of its posterior: an
            effect counts if the draws agree about it (p is then the chance that it is negligible; no pairs).
        bandwidth: of the kernel, one for all parameters; "median" does not look at the goal, "max" takes the one at
            which the largest index is largest (p-values are then a little too small).
        n_permutations, seed: of the tests.
    """
    study_io.require_single_objective(study, "hsic_importance")
    if source not in get_args(Source):
        raise ValueError(f"`source` is one of {', '.join(get_args(Source))}, but got {source!r}.")
    wanted = as_goal(goal)
    with one_thread:
        if source == "surrogate":
            return _by_model(study, wanted, seed)
        sample, notes, sure = sample_of(study_io.trials(study), wanted, study_io.sign(study), source)
        return importance_of(
            sample,
            wanted,
            notes,
            sure=sure,
            pairs=pairs,
            source=source,
            bandwidth=bandwidth,
            n_permutations=n_permutations,
            seed=seed,
        )


def importance_of_the_best(study: Study) -> HsicImportance:
    """Towards the best tenth: of the trials that were drawn at random where there are enough, of a model otherwise."""
    study_io.require_single_objective(study, "importance_of_the_best")
    sample, _, sure = sample_of(study_io.trials(study), best(), study_io.sign(study))
    if sure and len(sample.in_goal) >= _ENOUGH_DRAWS:
        return hsic_importance(study)
    return hsic_importance(study, source="surrogate")


# ---------------------------------------------------------------------- what a model says


def _by_model(study: Study, goal: Goal, seed: int) -> HsicImportance:
    """Indices of what draws of the posterior have in common, on fresh configurations.

    Every draw says which configurations reach the goal; the product of two draws' embeddings is the index of what they
    agree about. Wiggles that only one draw has cancel, as they should: a model of noise agrees about nothing.
    """
    if goal.failures:
        raise ValueError("source='surrogate' predicts objectives; it cannot say which configurations would fail.")
    loss_sign = study_io.sign(study)
    found, notes, _ = trials_that_count(study_io.trials(study), goal, "surrogate")
    space, _, _ = encoded_trials(found)
    data = arrays({d.name: d.distribution for d in space.dimensions}, study_io.observations(found, loss_sign))
    gp = GaussianProcess(warp="auto").unfitted(data.space.nominal)
    gp.fit(data.X, data.losses, data.observations.noise_variance)
    u = rows_of({}, data.space, 0, _N_FRESH, 0)
    X = data.space.canonical(u)
    values = loss_sign * gp.sample(X, _N_DRAWS, stream(seed, "posterior"))
    nothing = np.zeros(_N_FRESH, dtype=bool)
    goals = np.array([goal.reached(row, nothing, loss_sign) for row in values], dtype=float)
    goals = goals[(goals.sum(axis=1) > 0) & (goals.sum(axis=1) < _N_FRESH)]
    if len(goals) < _N_DRAWS // 2:
        raise ValueError(f"To the model, the goal ({goal.words}) is reached by no configuration, or by all.")
    spread, active = spread_over_cells(data.space, u, range(len(u))), data.space.active(X)
    found_out = [_agreed(data.space, j, spread, active[:, j], goals) for j in range(len(data.space))]
    adjusted = holm(np.array([one.p for one in found_out]))
    # A model that knows little agrees with itself about little: that is no sign of there being nothing.
    doubts = unexplored(gp, X)
    judged = [
        replace(one, p_adjusted=float(p), verdict=_by_agreement(one.verdict, float(p), bool(doubts)))
        for one, p in zip(found_out, adjusted, strict=True)
    ]
    parameters = tuple(sorted(judged, key=lambda one: -one.index))
    return HsicImportance(
        goal=goal.words,
        parameters=parameters,
        pairs=(),
        n=len(data.losses),
        n_goal=round(float(goals.mean()) * len(data.losses)),
        bandwidth=float(MEDIAN),
        source="surrogate",
        verdict=_sentence(goal.words, parameters, (), len(data.losses), "surrogate"),
        notes=(*notes, *doubts),
    )


def _by_agreement(verdict: str, p: float, unknown: bool) -> str:
    if p <= LEVEL:
        return "impactful"
    return "cannot tell" if unknown else verdict


def _agreed(space: Space, j: int, u: Array, rows: Mask, goals: Array) -> ParameterImportance:
    dimension = space.dimensions[j]
    inside = goals[:, rows]
    inside = inside[(inside.sum(axis=1) > 0) & (inside.sum(axis=1) < rows.sum())]
    index, stderr, p, whole, alone = 0.0, 0.0, 1.0, 0.0, 0.0
    R = len(inside)
    if R >= _N_DRAWS // 2:
        position = u[rows, j]
        if dimension.nominal:
            place = ranks(dimension.code(position), inside, dimension.cells)
            position = dimension.midpoint(place[dimension.code(position)])
        E = embeddings(position, inside, MEDIAN)
        others = (E.sum(axis=1, keepdims=True) - E) / (R - 1)
        agreement = (E * others).sum(axis=0)
        index, stderr = max(float(agreement.mean()), 0.0), 2.0 * float(agreement.std(ddof=1)) / np.sqrt(R)
        whole = float(np.mean([_largest_possible(one.astype(bool), MEDIAN) for one in inside[:8]]))
        alone = float((E * E).sum(axis=0).mean())
        p = max(float(ndtr(-(index - _NEGLIGIBLE * whole) / max(stderr, 1e-300))), _SMALLEST_P)
    # Draws that agree about nothing may each see an effect: then nobody can tell.
    low = max(index + 2.0 * stderr, alone) <= _NEGLIGIBLE * whole
    mean = goals[:, rows].mean(axis=0) > goals[:, rows].mean()
    return ParameterImportance(
        name=dimension.name,
        index=index,
        stderr=stderr,
        null=0.0,
        p=p,
        p_adjusted=p,
        verdict="no effect" if low and whole > 0.0 else "cannot tell",
        group="" if rows.all() else _where(space, dimension.name),
        n=int(rows.sum()),
        n_goal=int(mean.sum()),
        bins=_bins(dimension, u[rows, j], mean),
    )


# ---------------------------------------------------------------------- what matters


def importance_of(
    sample: Sample,
    goal: Goal,
    notes: Sequence[str],
    *,
    sure: bool = True,
    pairs: bool = True,
    source: Source = "random",
    bandwidth: Literal["median", "max"] | float = "median",
    n_permutations: int = 999,
    seed: int = 0,
) -> HsicImportance:
    """Of draws that are at hand; `sure`: they are draws, as far as one can tell."""
    always = [j for j in range(len(sample.space)) if sample.present[:, j].all()]
    if bandwidth == "max":
        h = shared_bandwidth(sample.u[:, always] if always else sample.u, sample.in_goal)
    else:
        h = chosen_bandwidth(bandwidth)
    tested = [_tested(sample, j, h, n_permutations, seed) for j in range(len(sample.space))]
    adjusted = holm(np.array([one.p for one in tested]))
    judged = [replace(one, p_adjusted=float(p)) for one, p in zip(tested, adjusted, strict=True)]
    parameters = tuple(sorted((_judged(one, sure) for one in judged), key=lambda one: -one.index))
    low = [one.name for one in parameters if one.verdict != "impactful" and not one.group][:_MOST_LOW]
    both = _pairs(sample, low, h, n_permutations, seed) if pairs else ()
    return HsicImportance(
        goal=goal.words,
        parameters=parameters,
        pairs=both,
        n=len(sample.in_goal),
        n_goal=int(sample.in_goal.sum()),
        bandwidth=float(h),
        source=source,
        verdict=_sentence(goal.words, parameters, both, len(sample.in_goal), source),
        notes=tuple(notes),
    )


def _tested(sample: Sample, j: int, h: float, n_permutations: int, seed: int) -> ParameterImportance:
    """One parameter among the draws that have it; the verdict comes later, when all are known."""
    rows = sample.present[:, j]
    u, z = sample.u[rows, j], sample.in_goal[rows]
    dimension = sample.space.dimensions[j]
    index, stderr, test, verdict = 0.0, 0.0, PermutationTest(1.0, 0.0, 0.0), "cannot tell"
    if len(z) >= FEWEST and 0 < z.sum() < len(z):
        enough = max(n_permutations, _PER_TEST * len(sample.space))
        if dimension.nominal:
            codes = dimension.code(u)
            index, stderr = choice_index(codes, z, dimension.cells, h)
            test = choice_test(codes, z, dimension.cells, h, enough, seed)
        else:
            index, stderr = hsic_index(u, z, h)
            test = permutation_test(u, z, h, enough, seed)
        # An effect in a small part of the range has a small index: where the test sees something, nobody denies it.
        if test.p > LEVEL and negligible(index, stderr, test, z, h):
            verdict = "no effect"
    return ParameterImportance(
        name=dimension.name,
        index=index,
        stderr=stderr,
        null=test.null,
        p=test.p,
        p_adjusted=1.0,
        verdict=verdict,
        group="" if rows.all() else _where(sample.space, dimension.name),
        n=len(z),
        n_goal=int(z.sum()),
        bins=_bins(dimension, u, z),
    )


def _largest_possible(in_goal: Mask, h: float) -> float:
    """The index of a parameter that alone decides, by being small: what others can be measured by."""
    n = len(in_goal)
    return hsic_index((np.arange(n) + 0.5) / n, np.arange(n) < in_goal.sum(), h)[0]


def negligible(index: float, stderr: float, test: PermutationTest, in_goal: Mask, h: float) -> bool:
    """Whether there is no effect worth the name, and one would have shown."""
    limit = _NEGLIGIBLE * _largest_possible(in_goal, h)
    return test.usual <= limit and index - test.null + 2.0 * stderr <= limit


def _judged(one: ParameterImportance, sure: bool) -> ParameterImportance:
    """With the verdict that all parameters together allow."""
    if one.p_adjusted <= LEVEL:
        return replace(one, verdict="impactful")
    return one if sure else replace(one, verdict="cannot tell")


def _pairs(
    sample: Sample, names: Sequence[str], h: float, n_permutations: int, seed: int
) -> tuple[PairImportance, ...]:
    """Joint indices of parameters that do nothing alone: next to an impactful one, any other would look important."""
    out = []
    for a, b in combinations(names, 2):
        u = sample.u[:, [sample.space.index[a], sample.space.index[b]]]
        index, stderr = hsic_index(u, sample.in_goal, h)
        tests = len(names) * (len(names) - 1) // 2
        test = permutation_test(u, sample.in_goal, h, max(n_permutations, _PER_TEST * tests), seed)
        out.append(PairImportance((a, b), index, stderr, test.null, test.p, 1.0))
    if not out:
        return ()
    adjusted = holm(np.array([one.p for one in out]))
    judged = [replace(one, p_adjusted=float(p)) for one, p in zip(out, adjusted, strict=True)]
    return tuple(sorted(judged, key=lambda one: -one.index))


# ---------------------------------------------------------------------- in words


def _where(space: Space, name: str) -> str:
    rule = space.conditions.get(name)
    return "where it exists" if rule is None else f"where {condition_text(space, rule)}"


def _bins(dimension: Dimension, u: Array, z: Mask) -> tuple[tuple[str, float, float], ...]:
    """Shares of values among all draws and among those in the goal: by choice, or by tenths of the range."""
    few = isinstance(dimension.distribution, CategoricalDistribution) or 0 < dimension.cells <= _FEW_CELLS
    if few:
        codes, count = dimension.code(u), dimension.cells
        values = dimension.decode(dimension.midpoint(np.arange(count)))
        labels = _different([value_text(v) for v in values], [repr(v) for v in values])
    elif 0 < dimension.cells <= _MOST_CELLS:
        # Whole numbers go together by tenths of the range; on a logarithmic one, the first may fill several alone.
        tenth = np.minimum((dimension.midpoint(np.arange(dimension.cells)) * _N_BINS).astype(int), _N_BINS - 1)
        kept, bin_of = np.unique(tenth, return_inverse=True)
        codes, count = bin_of[dimension.code(u)], len(kept)
        values = dimension.decode(dimension.midpoint(np.arange(dimension.cells)))
        members = [np.flatnonzero(bin_of == k) for k in range(count)]
        ends = [(values[mine[0]], values[mine[-1]]) for mine in members]
        labels = [value_text(a) if a == b else f"{value_text(a)} to {value_text(b)}" for a, b in ends]
    else:
        count = _N_BINS
        codes = np.minimum((u * count).astype(int), count - 1)
        borders = dimension.decode(np.linspace(0.0, 1.0, count + 1))
        texts = _different([value_text(v) for v in borders], [repr(v) for v in borders])
        labels = [f"{low} to {high}" for low, high in pairwise(texts)]
    everywhere = np.bincount(codes, minlength=count) / max(len(codes), 1)
    inside = np.bincount(codes[z], minlength=count) / max(int(z.sum()), 1)
    return tuple((label, float(a), float(b)) for label, a, b in zip(labels, everywhere, inside, strict=True))


def _different(short: list[str], exact: list[str]) -> list[str]:
    return short if len(set(short)) == len(short) else exact


def _sentence(
    goal: str, parameters: Sequence[ParameterImportance], pairs: Sequence[PairImportance], n: int, source: Source
) -> str:
    by = {verdict: [one for one in parameters if one.verdict == verdict] for verdict in _VERDICTS}
    told = f"a model of {n} trials" if source == "surrogate" else f"{n} trials"
    parts = []
    if by["impactful"]:
        listed = ", ".join(f"`{one.name}`{f' ({one.group})' if one.group else ''}" for one in by["impactful"])
        largest = max(one.p_adjusted for one in by["impactful"])
        verb = "matters" if len(by["impactful"]) == 1 else "matter"
        parts.append(f"For {goal}, {listed} {verb} (p ≤ {largest:.2g}, {told})")
    else:
        parts.append(f"For {goal}, no parameter can be said to matter ({told})")
    if by["impactful"]:
        first = by["impactful"][0]
        label, everywhere, inside = max(first.bins, key=lambda bar: bar[2] - bar[1])
        parts.append(
            f"those have `{first.name}` most often {'=' if ' to ' not in label else 'from'} {label} "
            f"({100 * inside:.0f} %, against {100 * everywhere:.0f} % of all)"
        )
    interacting = [one for one in pairs if one.interact]
    if interacting:
        listed = ", ".join(f"`{a}` with `{b}`" for a, b in (one.names for one in interacting[:3]))
        parts.append(f"together, {listed} matter{' too' if by['impactful'] else ''}")
    partners = {name for one in interacting for name in one.names}
    idle = [f"`{one.name}`" for one in by["no effect"] if one.name not in partners]
    unknown = [f"`{one.name}`" for one in by["cannot tell"] if one.name not in partners]
    if idle:
        parts.append("no effect on its own of " + ", ".join(idle))
    if unknown:
        parts.append("not enough trials to tell about " + ", ".join(unknown))
    return "; ".join(parts) + "."


_VERDICTS = ("impactful", "cannot tell", "no effect")
