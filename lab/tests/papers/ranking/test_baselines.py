# ruff: noqa: E402
"""What a ranking surrogate is measured against: deep ensemble, deep-kernel process, ranking-weighted ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from pellucid.models.ranking.scaling import standardise
from pellucid.numerics import Array, stream
from pellucid.space.encoding import Space
from pellucid_lab.papers.ranking.surrogates.rgpe import RGPE, left_out_ranking_loss, ranking_loss, ranking_weights

torch = pytest.importorskip("torch")

from pellucid.models.ranking.devices import generators
from pellucid_lab.papers.ranking.baselines import (
    DeepEnsembleEI,
    DeepKernelEI,
    FewShotEI,
    RankWeightedEI,
)
from pellucid_lab.papers.ranking.surrogates import (
    deep_ensemble,
    deep_kernel,
)
from pellucid_lab.papers.ranking.surrogates.deep_ensemble import DeepEnsemble, EnsembleSettings
from pellucid_lab.papers.ranking.surrogates.deep_kernel import DeepKernelGP, KernelSettings, MetaSettings
from pellucid_lab.papers.ranking.transfer import TableRuns

SPACE = Space.of({"a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1)})
MIXED = Space.of({"a": FloatDistribution(0, 1), "c": CategoricalDistribution(["x", "y", "z"])})
QUICK_META = MetaSettings(steps=20, smallest=5, largest=10)
TORCH_MODES = ("no_grad", "inference_mode", "default dtype", "default device", "autocast")


@contextmanager
def torch_mode(name: str) -> Iterator[None]:
    """Settings of torch that a user's process may have changed before."""
    import torch

    contexts: dict[str, Any] = {
        "no_grad": torch.no_grad,
        "inference_mode": torch.inference_mode,
        "default dtype": nullcontext,
        # A device that nothing can be read from: anything created there by accident fails.
        "default device": lambda: torch.device("meta"),
        "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    }
    before = torch.get_default_dtype()
    try:
        if name == "default dtype":
            torch.set_default_dtype(torch.float64)
        with contexts[name]():
            yield
    finally:
        torch.set_default_dtype(before)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def family(shift: float, n: int, *labels: int | str) -> tuple[Array, Array]:
    """Waves along a diagonal; tasks differ in shape and unit."""
    X = stream(0, "family", *labels).random((n, 2))
    return X, (1.0 + 10.0 * shift) * (np.sin(6.0 * (X[:, 0] + X[:, 1])) + 0.3 * shift * np.cos(3.0 * X[:, 0]))


def problems(G: int, n: int, N: int) -> tuple[Array, Array, Array]:
    rng = stream(1, "problems")
    return rng.random((G, n, 3)), rng.standard_normal((G, n)), rng.random((G, N, 3))


# ---------------------------------------------------------------------- deep ensemble


def test_ensembles_side_by_side_learn_what_they_learn_alone():
    x, y, candidates = problems(3, 6, 4)
    settings = EnsembleSettings(epochs=30)
    together = deep_ensemble.trained_and_asked(x, y, candidates, settings, [5, 6, 7])
    for g, seed in enumerate((5, 6, 7)):
        part = slice(g, g + 1)
        alone = deep_ensemble.trained_and_asked(x[part], y[part], candidates[part], settings, [seed])
        np.testing.assert_allclose(alone[0][0], together[0][g], atol=1e-5)
        np.testing.assert_allclose(alone[1][0], together[1][g], atol=1e-5)


def test_the_ensemble_is_the_mixture_of_its_members():
    rng = stream(0, "mixture")
    mean, variance = rng.standard_normal((2, 5, 3)), rng.random((2, 5, 3)) + 0.1
    got_mean, got_variance = deep_ensemble.mixture(torch.tensor(mean), torch.tensor(variance))
    t = np.linspace(-12.0, 12.0, 20001)
    density = np.exp(-0.5 * (t - mean[..., None]) ** 2 / variance[..., None]) / np.sqrt(2 * np.pi * variance[..., None])
    density = density.mean(axis=1)
    first = (t * density).sum(axis=-1) * (t[1] - t[0])
    second = (t**2 * density).sum(axis=-1) * (t[1] - t[0])
    np.testing.assert_allclose(got_mean, first, atol=1e-8)
    np.testing.assert_allclose(got_variance, second - first**2, atol=1e-8)
    np.testing.assert_allclose(got_variance, (variance + mean**2).mean(axis=1) - mean.mean(axis=1) ** 2)


def test_its_loss_is_the_gaussian_one():
    mean, variance, y = torch.tensor([0.3]), torch.tensor([0.5]), torch.tensor([1.0])
    expected = -torch.distributions.Normal(mean, variance.sqrt()).log_prob(y) - 0.5 * np.log(2 * np.pi)
    torch.testing.assert_close(deep_ensemble.negative_log_likelihood(mean, variance, y), expected.float())


def test_an_ensemble_learns_a_slope():
    X = stream(0, "slope").random((20, 2))
    mean, sd = DeepEnsemble(SPACE, epochs=300).fit(X, 100.0 + 5.0 * X[:, 0]).predict(X)
    # On average: at a constant learning rate a single prediction keeps jumping by up to 1.3 after any number of epochs.
    assert np.abs(mean - (100.0 + 5.0 * X[:, 0])).mean() < 0.5
    assert sd.max() < 2.0


# ---------------------------------------------------------------------- deep kernel


def naive(weights: dict, x: Array, y: Array, candidates: Array) -> tuple[float, Array, Array]:
    """Log marginal likelihood and posterior of one process, entry by entry."""

    def network(rows: Array) -> Array:
        h = rows
        for k in range(4):
            W, b = (weights[f"scorer.{k}.{part}"][0, 0].numpy() for part in ("weight", "bias"))
            h = (h if k == 0 else np.maximum(h, 0.0)) @ W + b
        return h

    l, s, noise = (float(weights[name][0, 0].exp()) for name in ("lengthscale", "outputscale", "noise"))
    m, noise = float(weights["mean"][0, 0]), noise + 1e-4

    def k(a: Array, b: Array) -> float:
        r = np.sqrt(5.0) * np.linalg.norm(a - b) / l
        return s * (1.0 + r + r * r / 3.0) * np.exp(-r)

    h, other = network(x), network(candidates)
    K = np.array([[k(a, b) for b in h] for a in h]) + noise * np.eye(len(h))
    c = np.array([[k(a, b) for b in h] for a in other])
    solved = np.linalg.solve(K, y - m)
    likelihood = -0.5 * ((y - m) @ solved + np.linalg.slogdet(K)[1] + len(y) * np.log(2 * np.pi))
    variance = np.array([k(a, a) for a in other]) - np.einsum("ij,ji->i", c, np.linalg.solve(K, c.T))
    return likelihood, m + c @ solved, np.sqrt(variance)


def random_kernels(G: int) -> dict:
    weights = deep_kernel.initial_kernels(3, KernelSettings(), generators(range(G)))
    rng = stream(2, "kernels")
    for name in ("lengthscale", "outputscale", "noise", "mean"):
        weights[name] = torch.tensor(rng.normal(-1.0, 0.5, (G, 1)))
    return weights


def test_the_process_follows_the_formulas():
    x, y, candidates = problems(2, 7, 5)
    weights = random_kernels(2)
    X, Y, C = (torch.tensor(v)[:, None] for v in (x, y, candidates))
    loss = deep_kernel.negative_log_likelihood(weights, X, Y)
    mean, sd = deep_kernel.posterior(weights, X, Y, C)
    for g in range(2):
        own = {name: value[g : g + 1] for name, value in weights.items()}
        likelihood, expected_mean, expected_sd = naive(own, x[g], y[g], candidates[g])
        assert float(loss[g, 0]) * 7 == pytest.approx(-likelihood, abs=1e-8)
        np.testing.assert_allclose(mean[g, 0], expected_mean, atol=1e-6)
        np.testing.assert_allclose(sd[g, 0], expected_sd, atol=1e-5)


@pytest.mark.parametrize("name", ["mean", "noise", "lengthscale", "outputscale", "scorer.0.weight", "scorer.3.bias"])
def test_its_slopes_are_those_of_differences(name):
    x, y, _ = problems(1, 6, 1)
    weights = {k: v.requires_grad_() for k, v in random_kernels(1).items()}
    X, Y = torch.tensor(x)[:, None], torch.tensor(y)[:, None]
    deep_kernel.negative_log_likelihood(weights, X, Y).sum().backward()
    entry = (0,) * weights[name].dim()
    values = []
    for step in (1e-5, -1e-5):
        moved = {k: v.detach().clone() for k, v in weights.items()}
        moved[name][entry] += step
        values.append(float(deep_kernel.negative_log_likelihood(moved, X, Y).sum()))
    assert float(weights[name].grad[entry]) == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


def test_slopes_are_finite_where_configurations_repeat():
    x = torch.full((1, 1, 5, 3), 0.3, dtype=torch.float64)
    weights = {k: v.requires_grad_() for k, v in random_kernels(1).items()}
    deep_kernel.negative_log_likelihood(weights, x, torch.randn(1, 1, 5, dtype=torch.float64)).sum().backward()
    assert all(bool(torch.isfinite(v.grad).all()) for v in weights.values())


def test_a_factor_is_found_for_every_matrix():
    eye = torch.eye(3, dtype=torch.float64)
    K = torch.stack([eye, torch.ones_like(eye), -eye, torch.full_like(eye, float("nan"))])
    factor = deep_kernel.cholesky(K)
    assert bool(torch.isfinite(factor).all())
    torch.testing.assert_close(factor[0], eye)
    torch.testing.assert_close(factor[1] @ factor[1].T, K[1], atol=1e-5, rtol=0)


def test_processes_side_by_side_learn_what_they_learn_alone():
    x, y, candidates = problems(3, 6, 4)
    model = DeepKernelGP(SPACE, KernelSettings(epochs=20))
    together = model.trained_and_asked(x, y, candidates, [5, 6, 7])
    for g, seed in enumerate((5, 6, 7)):
        part = slice(g, g + 1)
        alone = model.trained_and_asked(x[part], y[part], candidates[part], [seed])
        np.testing.assert_allclose(alone[0][0], together[0][g], atol=1e-5)
        np.testing.assert_allclose(alone[1][0], together[1][g], atol=1e-5)


def test_meta_training_helps_on_its_family():
    tasks = [family(shift, 60, "task", i) for i, shift in enumerate(np.linspace(0.0, 1.0, 6))]
    meta = MetaSettings(steps=300, learning_rate=3e-3, largest=30)
    errors = {}
    for model in (DeepKernelGP.meta_train(SPACE, tasks, meta=meta), DeepKernelGP(SPACE)):
        relative_errors = []
        for i in range(10):
            X, y = family(0.1 + 0.08 * i, 200, "new", i)
            mean, _ = model.fit(X[:8], y[:8]).predict(X[8:])
            relative_errors.append(np.sqrt(np.mean((mean - y[8:]) ** 2)) / y.std())
        errors["scratch" if model.start is None else "few shot"] = float(np.mean(relative_errors))
    assert errors["few shot"] < 0.5 * errors["scratch"]


def test_meta_training_stops_where_validation_tasks_stop_improving():
    tasks = [family(0.2 * i, 40, "task", i) for i in range(3)]
    noise = [(X, stream(0, "noise", i).standard_normal(40)) for i, (X, _) in enumerate(tasks)]
    meta = MetaSettings(steps=200, smallest=10, largest=20, every=10, patience=50)
    stopped = DeepKernelGP.meta_train(SPACE, tasks, noise, meta=meta)
    went_on = DeepKernelGP.meta_train(SPACE, tasks, meta=meta)
    assert float((stopped.start["mean"] - went_on.start["mean"]).abs()) > 0.0
    with pytest.raises(ValueError, match="at least one task"):
        DeepKernelGP.meta_train(SPACE, [])


# ---------------------------------------------------------------------- ranking-weighted ensemble


def test_misordered_pairs_are_counted():
    rng = stream(0, "pairs")
    y, draws = rng.integers(0, 4, 6).astype(float), rng.integers(0, 4, (5, 6)).astype(float)
    for s in range(5):
        f = draws[s]
        pairs = [(j, k) for j in range(6) for k in range(6)]
        assert ranking_loss(draws, y)[s] == sum((f[j] < f[k]) != (y[j] < y[k]) for j, k in pairs)
        left_out = sum((f[j] < y[k]) != (y[j] < y[k]) for j, k in pairs if j != k)
        assert left_out_ranking_loss(draws, y)[s] == left_out


def test_the_smallest_loss_wins_a_draw_and_equals_share_it():
    losses = np.array([[1, 5, 2, 2], [3, 0, 2, 9], [4, 4, 2, 2]])
    np.testing.assert_allclose(
        ranking_weights(losses, None), [(1 + 1 / 3 + 1 / 2) / 4, (1 + 1 / 3) / 4, (1 / 3 + 1 / 2) / 4]
    )
    poor = np.vstack([np.r_[0.0, np.full(99, 9.0)], np.full(100, 5.0)])
    assert ranking_weights(poor, None)[0] == pytest.approx(0.01)
    assert ranking_weights(poor, 0.95)[0] == 0.0


def test_a_task_that_agrees_is_trusted_and_one_that_contradicts_is_not():
    X, y = family(0.3, 100, "base")
    model = RGPE(SPACE, [(X, y), (X, -y), (X, stream(0, "unrelated").random(100))])
    new, value = family(0.3, 8, "target")
    same, opposite, _, _ = model.fit(new, 7.0 * value + 3.0).weights
    assert same > 0.7
    assert opposite < 0.02
    assert model.weights.sum() == pytest.approx(1.0)
    queries, truth = family(0.3, 200, "asked")
    mean, sd = model.predict(queries)
    assert np.corrcoef(mean, truth)[0, 1] > 0.95
    assert (sd > 0).all()


def test_an_ensemble_of_no_tasks_is_the_own_process():
    X, y = family(0.3, 12, "alone")
    model = RGPE(SPACE, []).fit(X, y)
    _, centre, unit = standardise(y)
    np.testing.assert_allclose(model.weights, [1.0])
    np.testing.assert_allclose(model.predict(X)[0], centre + unit * model._own.predict(X)[0])


def test_predictions_of_earlier_tasks_are_remembered_by_content():
    model = RGPE(SPACE, [family(0.3, 30, "base")]).fit(*family(0.3, 6, "target"))
    queries = stream(0, "asked").random((10, 2))
    first = model.predict(queries)
    np.testing.assert_array_equal(model.predict(queries.copy()), first)
    queries[0] = 0.5
    assert model.predict(queries)[0][0] != first[0][0]


# ---------------------------------------------------------------------- all of them

TASKS = [family(0.2 * i, 20, "task", i) for i in range(3)]
MAKERS = {
    "deep ensemble": lambda space, tasks: DeepEnsemble(space, epochs=30),
    "deep kernel": lambda space, tasks: DeepKernelGP(space, KernelSettings(epochs=20)),
    "few shot": lambda space, tasks: DeepKernelGP.meta_train(space, tasks, meta=QUICK_META),
    "rank weighted": lambda space, tasks: RGPE(space, tasks, points_per_task=10, samples=50),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "y", [[3.0] * 5, [2.0], [1.0, 1.0, 2.0], [1e300, -1e300, 0.0], [1e-200, 2e-200, 3e-200]],
    ids=["constant", "one", "ties", "huge", "tiny"],
)  # fmt: skip
def test_little_data_gives_finite_answers(maker, y):
    X = np.full((len(y), 2), 0.25)
    mean, sd = MAKERS[maker](SPACE, TASKS).fit(X, np.array(y)).predict(np.vstack([X, [[0.9, 0.1]]]))
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()
    assert (sd > 0).all()


@pytest.mark.parametrize("maker", MAKERS)
def test_the_same_seed_gives_the_same_predictions_also_of_choices(maker):
    X = MIXED.canonical(stream(0, "mixed").random((12, 2)))
    y = X[:, 0] + (MIXED.dimensions[1].code(X[:, 1]) == 1)
    first, second = (MAKERS[maker](MIXED, [(X, y)]).fit(X[:6], y[:6]).predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("mode", TORCH_MODES)
def test_modes_and_defaults_of_the_user_change_nothing(maker, mode):
    X, y = TASKS[0]
    expected = MAKERS[maker](SPACE, TASKS).fit(X, y).predict(X)
    with torch_mode(mode):
        predicted = MAKERS[maker](SPACE, TASKS).fit(X, y).predict(X)
    np.testing.assert_array_equal(predicted, expected)


@pytest.mark.parametrize("maker", MAKERS)
def test_predicting_before_fitting_is_an_error(maker):
    with pytest.raises(ValueError, match="has not been fitted"):
        MAKERS[maker](SPACE, TASKS).predict(np.zeros((1, 2)))


METHODS = {
    "deep ensemble": lambda model: DeepEnsembleEI(epochs=30),
    "deep kernel": lambda model: DeepKernelEI(epochs=20),
    "few shot": FewShotEI,
    "rank weighted": RankWeightedEI,
}


@pytest.mark.parametrize("maker", MAKERS)
def test_methods_look_for_larger_values(maker):
    method = METHODS[maker](MAKERS[maker](SPACE, TASKS))
    X, loss = family(0.3, 40, "table")
    runs = TableRuns(SPACE, np.stack([X, X]), np.array([0, 1, 1]), (0, 0, 1))
    chosen = np.array([np.arange(10), np.arange(10), np.arange(5, 15)])
    utility = method(runs, chosen, -loss[chosen])
    assert utility.shape == (3, 40)
    assert np.isfinite(utility).all()
    np.testing.assert_array_equal(utility, method(runs, chosen, -loss[chosen]))
    if maker != "deep ensemble":  # which has not learned enough in 30 epochs for a stricter bound
        fresh = np.setdiff1d(np.arange(40), chosen[0])
        assert loss[fresh[utility[0, fresh].argmax()]] < np.median(loss)
