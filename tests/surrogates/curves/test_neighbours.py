"""Complete curves of similar parameters: kriging against brute force, and what is learned about noise."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.models.curves import neighbours as module
from pellucid.models.curves.neighbours import Neighbours
from pellucid.numerics import Array


def correlation(a: Array, b: Array, noise: float) -> float:
    """Of the errors of two curves, written out."""
    r = np.sqrt(3.0) * np.sqrt(np.sum((a - b) ** 2) / (2 * len(a))) / module._LENGTH
    return float((1.0 - noise) * (1.0 + r) * np.exp(-r))


def some(count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Features, errors at 3 positions and terms."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.7, 1.7, (count, 2)), rng.normal(size=(count, 3)), rng.normal(size=(count, 3, 4))


def smooth(count: int, noise: float, seed: int = 0) -> tuple[Array, Array]:
    """Features, and errors at 6 positions that are smooth in them up to this share of their variance."""
    rng = np.random.default_rng(seed)
    F = rng.uniform(-1.7, 1.7, (count, 2))
    R = np.array([[correlation(a, b, noise) for b in F] for a in F])
    np.fill_diagonal(R, 1.0)
    return F, np.linalg.cholesky(R) @ rng.normal(size=(count, 6))


def test_corrections_are_the_conditional_distribution_of_a_gaussian() -> None:
    F, E, G = some(8)  # As many as there are neighbours.
    new = np.array([[0.3, -0.2], [5.0, 5.0]])
    errors, terms, left = Neighbours(F, E, G, 0.1).corrections(new)
    for row, f in enumerate(new):
        R = np.array([[correlation(a, b, 0.1) for b in F] for a in F])
        np.fill_diagonal(R, 1.0)
        r = np.array([correlation(f, a, 0.1) for a in F])
        w = np.linalg.solve(R, r)
        np.testing.assert_allclose(errors[row], w @ E, rtol=1e-9)
        np.testing.assert_allclose(terms[row], np.einsum("c,ckp->kp", w, G), rtol=1e-9)
        np.testing.assert_allclose(left[row], 1.0 - r @ w, rtol=1e-9)
    assert left[0] < 0.7
    assert left[1] > 0.99


def test_only_the_nearest_curves_count() -> None:
    F, E, G = some(200)
    f = np.array([[0.1, 0.4]])
    nearest = np.argsort(np.sum((F - f) ** 2, axis=1))[: module._NEAREST]
    all_of_them = Neighbours(F, E, G, 0.1).corrections(f)
    for found, expected in zip(
        all_of_them, Neighbours(F[nearest], E[nearest], G[nearest], 0.1).corrections(f), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_trial_that_was_run_before_is_expected_to_go_as_it_went() -> None:
    F, E, G = some(20)
    errors, terms, left = Neighbours(F, E, G, 0.0).corrections(F[:1])
    np.testing.assert_allclose(errors[0], E[0], atol=1e-9)
    np.testing.assert_allclose(terms[0], G[0], atol=1e-9)
    np.testing.assert_allclose(left, 0.0, atol=1e-9)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.02, 0.02, 0.1), (1.0, 0.6, 0.9)])
def test_noise_is_learned(noise: float, low: float, high: float) -> None:
    learned = []
    for seed in range(10):
        F, E = smooth(40, noise, seed)
        learned.append(Neighbours.of(F, E, np.zeros((40, 6, 1)), np.ones(6)).noise)
    assert low <= np.median(learned) <= high


def test_the_score_is_that_of_predicting_each_curve_from_the_others() -> None:
    F, E = smooth(12, 0.3)
    R = module._correlations(F, 0.3)
    score = 0.0
    for i in range(12):
        others = np.arange(12) != i
        w = np.linalg.solve(R[np.ix_(others, others)], R[others, i])
        variance = 1.0 - w @ R[others, i]
        score += np.sum(-2.5 * np.log1p((E[i] - w @ E[others]) ** 2 / (4.0 * variance)) - 0.5 * np.log(variance))
    assert module._left_out_score(R, E) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize(
    ("F", "E"),
    [
        (np.zeros((1, 2)), np.ones((1, 3))),  # One curve.
        (np.zeros((5, 2)), np.ones((5, 3))),  # The same trial again and again.
        (np.zeros((5, 0)), np.zeros((5, 3))),  # No parameters, and no errors.
        (np.tile([[1.0, 0.0]], (5, 1)), np.array([[1e9], [0.0], [0.0], [0.0], [0.0]])),  # One that diverged.
    ],
)
def test_whatever_the_curves_are_corrections_are_finite_and_none_is_surer_than_certain(F: Array, E: Array) -> None:
    neighbours = Neighbours.of(F, E, np.ones((*E.shape, 2)), np.ones(E.shape[1]))
    errors, terms, left = neighbours.corrections(np.vstack([F[:1], F[:1] + 0.5]))
    assert np.isfinite(errors).all()
    assert np.isfinite(terms).all()
    assert (np.abs(errors) <= module._LARGEST_ERROR + 1e-9).all()
    assert ((left >= 0.0) & (left <= 1.0)).all()


def test_one_curve_alone_is_taken_for_noise() -> None:
    assert Neighbours.of(np.zeros((1, 2)), np.ones((1, 3)), np.ones((1, 3, 1)), np.ones(3)).noise == max(module._NOISES)


def test_corrections_of_a_trial_do_not_depend_on_the_others_even_if_many_curves_are_equally_near() -> None:
    rng = np.random.default_rng(0)
    F = np.repeat(rng.uniform(-1.7, 1.7, (3, 7)), 30, axis=0)  # Three configurations, again and again.
    neighbours = Neighbours(F, rng.normal(size=(90, 4)), rng.normal(size=(90, 4, 3)), 0.3)
    new = np.vstack([F[::10], rng.uniform(-1.7, 1.7, (40, 7))])
    for row in range(len(new)):
        for alone, together in zip(neighbours.corrections(new[[row]]), neighbours.corrections(new), strict=True):
            np.testing.assert_allclose(alone[0], together[row], rtol=1e-9, atol=1e-12)


def test_distances_are_computed_in_batches_if_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    neighbours = Neighbours(*some(30), 0.1)
    new = some(17, seed=1)[0]
    together = neighbours.corrections(new)
    sizes: list[int] = []
    monkeypatch.setattr(module, "_MOST_DISTANCES", 100)
    distances = module._distances
    monkeypatch.setattr(module, "_distances", lambda A, B: (sizes.append(len(A)), distances(A, B))[1])
    for part, whole in zip(neighbours.corrections(new), together, strict=True):
        np.testing.assert_allclose(part, whole, rtol=1e-9, atol=1e-12)
    assert max(size for size in sizes if size != 8) <= 100 // 30
