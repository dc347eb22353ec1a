"""Ablation, local importance, Friedman's H and permutation importance against values computed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import Trial

import pellucid
from pellucid.answers.compare import ablation_path, friedman_h, local_importance, permutation_importance
from pellucid.answers.proposals.cases import case_of
from pellucid.numerics import Array
from pellucid.study.view import StudyView

GRID = np.linspace(0, 1, 101)


def example(X: Array) -> Array:
    return np.asarray(-(X[:, 0] + X[:, 1] * X[:, 2]))


def test_an_ablation_gives_interacting_parameters_unequal_shares() -> None:
    """The source's Table 2 without its forest: the second of two partners is left with nothing."""
    path = ablation_path(example, np.full(3, 0.5), np.zeros(3))
    np.testing.assert_allclose(path.first_round, [0.5, 0.25, 0.25])
    assert path.order[0] == 0
    np.testing.assert_allclose(sorted(path.gains), [0.0, 0.25, 0.5])
    assert path.gains.sum() == pytest.approx(example(np.zeros((1, 3)))[0] - example(np.full((1, 3), 0.5))[0])
    np.testing.assert_allclose(np.diff(path.values), path.gains[list(path.order)])


def test_an_ablation_takes_the_best_flip_at_every_step() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))

    def fn(X: Array) -> Array:
        return np.asarray(np.einsum("ni,ij,nj->n", X, A, X))

    source, target = rng.random(4), rng.random(4)
    path = ablation_path(fn, source, target)
    x = source.copy()
    left = set(range(4))
    for j in path.order:
        gains = {}
        for k in left:
            flipped = x.copy()
            flipped[k] = target[k]
            gains[k] = float(fn(flipped[None])[0] - fn(x[None])[0])
        assert gains[j] == max(gains.values())
        x[j] = target[j]
        left.remove(j)
    with pytest.raises(ValueError, match="two points"):
        ablation_path(fn, np.zeros(4), np.zeros(3))


def test_local_importance_is_the_variance_along_the_axes() -> None:
    shares = local_importance(lambda X: X[:, 0] + 3 * X[:, 1] + 0 * X[:, 2], np.full(3, 0.2), [GRID] * 3)
    np.testing.assert_allclose(shares, [0.1, 0.9, 0.0], atol=1e-12)
    np.testing.assert_array_equal(local_importance(lambda X: np.ones(len(X)), np.zeros(2), [GRID] * 2), 0.0)


def test_friedmans_h() -> None:
    Z = np.random.default_rng(0).uniform(-1, 1, (80, 4))
    Z -= Z.mean(axis=0)
    # Column means are zero but the product's is not: H is 1 only for a product whose margins vanish on the sample.
    statistics = friedman_h(lambda X: X[:, 0] + X[:, 1] + 0.0 * X[:, 2], Z)
    assert statistics[0, 1] == pytest.approx(0.0, abs=1e-9)
    assert statistics[2, 3] == 0.0
    product = friedman_h(lambda X: X[:, 0] * X[:, 1], Z, [(0, 1)])
    assert product[0, 1] == pytest.approx(1.0, abs=1e-9)
    # By the formula, by hand.
    fn = lambda X: np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 0] ** 2 + X[:, 2]  # noqa: E731

    def dependence(columns: list[int]) -> Array:
        out = []
        for row in Z:
            moved = Z.copy()
            moved[:, columns] = row[columns]
            out.append(fn(moved).mean())
        return np.array(out) - np.mean(out)

    joint, first, second = dependence([0, 1]), dependence([0]), dependence([1])
    expected = np.sqrt(((joint - first - second) ** 2).sum() / (joint**2).sum())
    assert friedman_h(fn, Z, [(0, 1)])[0, 1] == pytest.approx(expected, rel=1e-12)
    assert 0.05 < expected < 0.95
    with pytest.raises(ValueError, match="two different columns between 0 and 3"):
        friedman_h(fn, Z, [(1, 1)])


def test_permutation_importance() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((4000, 3))
    y = 2 * X[:, 0] + X[:, 1]
    importance = permutation_importance(lambda R: 2 * R[:, 0] + R[:, 1], X, y, n_repeats=5)
    # E (f(x) - f(x'))^2 = 2 w^2 Var(x) for independent x, x'.
    np.testing.assert_allclose(importance, [2 * 4 / 12, 2 / 12, 0.0], rtol=0.05, atol=1e-12)


def test_side_by_side_of_a_trial() -> None:
    def objective(trial: Trial) -> float:
        a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
        return 4 * (a - 0.3) ** 2 + b * c

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=40)
    best = study.best_trial.number
    comparison = pellucid.compare_importance(study, max(best, 10))
    for method in comparison.METHODS:
        assert sum(abs(share) for share in getattr(comparison, method)) == pytest.approx(1.0)
    assert set(comparison.interactions) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert max(comparison.interactions, key=lambda pair: comparison.interactions[pair]) == ("b", "c")
    assert "`b` and `c` interact most" in str(comparison)
    assert list(comparison.to_frame().columns) == ["param", *comparison.METHODS]
    json.dumps(comparison.to_dict())
    assert len(comparison.plot().data) == 4
    with pytest.raises(ValueError, match="no trials yet"):
        pellucid.compare_importance(optuna.create_study(), 0)


def test_contributions_against_a_trial_are_negative() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=3))
    study.optimize(lambda t: 3 * t.suggest_float("x", -1, 1) + t.suggest_float("y", -1, 1), n_trials=25)
    for number in (14, 15, 23):
        shares = dict(
            zip(*(getattr(pellucid.compare_importance(study, number), n) for n in ("params", "shapley")), strict=True)
        )
        for name, share in shares.items():
            # The objective is minimised and grows with both.
            if abs(study.trials[number].params[name]) > 0.1:
                assert np.sign(share) == -np.sign(study.trials[number].params[name])
        assert max(map(abs, shares.values())) <= 1.0


def test_a_constant_objective_makes_nothing_important() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: 0.0 * t.suggest_float("x", 0, 1) + 0.0 * t.suggest_float("y", 0, 1), n_trials=12)
    assert str(pellucid.compare_importance(study, 11)) == (
        "The model of trial 11 predicts the same everywhere, so no parameter matters to it."
    )


def test_exact_interactions_are_those_of_a_large_sample() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("a", 0, 1) * t.suggest_float("b", 0, 1) ** 2, n_trials=30)
    strength = pellucid.compare_importance(study, 29).interactions["a", "b"]
    case = case_of(StudyView.of(study, "test"), 29)
    rows = np.random.default_rng(0).random((300, 2))
    assert strength == pytest.approx(friedman_h(lambda X: -case.game.gp.latent_mean(X), rows)[0, 1], abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman_h(example, np.zeros((1, 3))), "at least two rows"),
        (lambda: permutation_importance(example, np.zeros((4, 3)), np.zeros((4, 1))), "one value per row"),
        (lambda: permutation_importance(example, np.zeros((4, 3)), np.zeros(4), n_repeats=0), "at least 1"),
        (lambda: local_importance(example, np.zeros(3), [GRID] * 4), "different columns between 0 and 2"),
        (lambda: local_importance(example, np.zeros(3), [GRID, GRID[:0], GRID]), "at least one value"),
        (lambda: ablation_path(example, np.zeros(3), np.ones(3), players=[5]), "different columns between 0 and 2"),
        (lambda: ablation_path(lambda X: X, np.zeros(3), np.ones(3)), "one number per row"),
    ],
)
def test_wrong_input_is_explained(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_huge_values() -> None:
    Z = np.random.default_rng(0).random((20, 3))
    for scale in (1e200, 1e-200):
        fn = lambda X, s=scale: s * example(X)  # noqa: E731
        np.testing.assert_allclose(
            local_importance(fn, np.full(3, 0.5), [GRID] * 3), local_importance(example, np.full(3, 0.5), [GRID] * 3)
        )
        assert friedman_h(fn, Z)[1, 2] == pytest.approx(friedman_h(example, Z)[1, 2])
