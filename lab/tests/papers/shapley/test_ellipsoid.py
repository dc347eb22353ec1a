"""The hyper-ellipsoid study and its tables: the source's optimiser rebuilt, crossings, gaps, the file layout."""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from pellucid.answers.proposals.games import Game, estimated
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.models import GaussianProcess
from pellucid.search.acquisition.base import PointwiseFunction, Situation
from pellucid.surfaces.cli.errors import Unavailable
from pellucid_lab.papers.shapley import forest as shapley_forest
from pellucid_lab.papers.shapley import source, tables
from pellucid_lab.papers.shapley.walks import single_walks


@pytest.fixture(scope="module")
def process() -> GaussianProcess:
    rng = np.random.default_rng(0)
    X = source.design(rng)
    return source.most_likely(X, source.ellipsoid(X) + source.NOISE_SD * rng.standard_normal(len(X)), rng)


def test_the_noise_is_five_per_cent_of_the_functions_spread() -> None:
    X = np.random.default_rng(0).random((200_000, 4))
    assert source.ellipsoid(X).std() == pytest.approx(source.SD, rel=0.01)
    assert source.ellipsoid(np.full((1, 4), 0.5))[0] == 0.0
    assert source.ellipsoid(np.ones((1, 4)))[0] == pytest.approx(10 * 5.12**2)


def test_the_design_is_a_latin_hypercube() -> None:
    X = source.design(np.random.default_rng(1))
    for j in range(4):
        assert sorted((X[:, j] * 16).astype(int)) == list(range(16))


def test_the_fit_is_a_maximum_of_the_likelihood(process: GaussianProcess) -> None:
    """No hyperparameter can be moved by a few per cent with profit (inside its bounds)."""
    h = process.hyperparameters
    X, y = process.data.X, process.losses(process.data.z)
    best = process.log_marginal_likelihood()
    for name, factor in itertools.product((0, 1, 2, 3, "noise", "outputscale"), (0.95, 1.05)):
        values = {"lengthscales": list(h.lengthscales), "noise": h.noise, "outputscale": h.outputscale}
        if isinstance(name, int):
            values["lengthscales"][name] = min(values["lengthscales"][name] * factor, 2.0)  # type: ignore[index, call-overload]
        else:
            values[name] *= factor  # type: ignore[operator]
        moved = type(h)(
            h.kernel, tuple(values["lengthscales"]), values["outputscale"], values["noise"], h.y_mean, h.y_scale  # type: ignore[arg-type]
        )  # fmt: skip
        assert GaussianProcess.from_hyperparameters(moved).condition(X, y).log_marginal_likelihood() <= best + 1e-3


def test_the_focus_search_beats_as_many_random_points(process: GaussianProcess) -> None:
    situation = Situation(0.0, process.n_observed, 4)
    function = PointwiseFunction(source.NoisyBound(1.0, process.hyperparameters.noise), process, situation)
    x = source.focus_search(function, np.random.default_rng(0))
    rivals = function.score(np.random.default_rng(1).random((15_000, 4)))
    assert float(function.score(x[None])[0]) > float(rivals.max())


def test_slopes_of_the_noisy_bound_are_its_derivatives() -> None:
    bound, situation = source.NoisyBound(3.0, 0.2), Situation(0.0, 5, 4)
    m, s = np.array([0.3, -1.0]), np.array([0.5, 1e-3])
    score, by_m, by_s = bound.score_slopes(m, s, situation)
    np.testing.assert_allclose(by_m, (bound.score(m + 1e-6, s, situation) - score) / 1e-6, rtol=1e-5)
    np.testing.assert_allclose(by_s, (bound.score(m, s + 1e-7, situation) - score) / 1e-7, rtol=1e-3, atol=1e-5)
    terms, weights = bound.terms(m, s, situation), bound.weights(situation)
    np.testing.assert_allclose(sum(weights[k] * terms[k] for k in terms), score)


def test_contributions_share_out_the_payouts(process: GaussianProcess) -> None:
    situation = Situation(0.0, process.n_observed, 4)
    function = PointwiseFunction(source.NoisyBound(10.0, process.hyperparameters.noise), process, situation)
    x = np.array([0.5, 0.4, 0.6, 0.5])
    explanation = source.explained(function, process, x)
    mean, average, se, average_se = explanation["levels"]
    assert sum(explanation["phi_mean"]) == pytest.approx(mean - average, abs=1e-9 * abs(average))
    assert sum(explanation["phi_se"]) == pytest.approx(-10.0 * (se - average_se), abs=1e-6 * average_se)
    Z = np.random.default_rng(0).random((20_000, 4))
    assert average == pytest.approx(process.predict(Z)[0].mean(), rel=0.01)
    assert se == pytest.approx(math.hypot(process.predict(x[None])[1][0], process.hyperparameters.y_scale
                                          * math.sqrt(process.hyperparameters.noise)))  # fmt: skip


def test_the_sources_estimator_is_unbiased(process: GaussianProcess) -> None:
    situation = Situation(0.0, process.n_observed, 4)
    function = PointwiseFunction(source.NoisyBound(1.0, process.hyperparameters.noise), process, situation)
    x = np.full(4, 0.5)
    game = Game(function, process, source.SPACE, x, (0, 1, 2, 3))
    exact = mean_shapley(process, x, source.SPACE, range(4))
    expected = estimated(game, [{}], 0.95, {0: (-exact.values, -exact.average)}).values[:, :2]
    for j, walks in enumerate(single_walks(game, 4000, np.random.default_rng(0))):
        error = walks.std(axis=0) / math.sqrt(len(walks))
        assert (np.abs(walks.mean(axis=0) - expected[j]) <= 4 * error).all()


# ---------------------------------------------------------------------- tables


HEADER = ("lambda", "iteration", "parameter", "phi_cb", "phi_cb_sd", "phi_mean", "phi_mean_sd", "phi_se", "phi_se_sd")


def made_up(lam: float, seed: int, n: int = source.N_STEPS) -> source.EllipsoidRun:
    """The mean of theta_j takes over at iteration 10 (4 - j)."""
    steps = np.arange(1, n + 1)[:, None]
    j = np.arange(4)
    phi_mean = np.where(steps >= 10 * (4 - j), -5.0 * (j + 1), 1.0) + 0.01 * seed
    phi_se = np.full((n, 4), -0.5)
    levels = np.stack([np.zeros(n), -phi_mean.sum(axis=1), np.zeros(n), phi_se.sum(axis=1) / lam], axis=1)
    return source.EllipsoidRun(
        lam=lam, seed=seed, x=tuple(map(tuple, np.zeros((n, 4)))), y=(0.5,) * n, phi_mean=tuple(map(tuple, phi_mean)),
        phi_se=tuple(map(tuple, phi_se)), levels=tuple(map(tuple, levels)), walk_sd=((1.0,) * 4, (2.0,) * 4),
        versions={"python": "3"}, machine="m", date="2026-01-01", command="pellucid reproduce shapley",
    )  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A file in the layout of the source's, with the contributions of one made-up run."""
    folder = tmp_path / "data" / "shapleymbo"
    folder.mkdir(parents=True)
    with (folder / "hyper_ellipsoid_contributions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "lambda",
                "iteration",
                "parameter",
                "phi_cb",
                "phi_cb_sd",
                "phi_mean",
                "phi_mean_sd",
                "phi_se",
                "phi_se_sd",
            ]
        )
        for lam in (1, 10):
            run = made_up(lam, 0)
            for i in range(source.N_STEPS):
                for j in range(4):
                    mean, se = run.phi_mean[i][j], -run.phi_se[i][j] / lam
                    writer.writerow((lam, i + 1, f"x{j + 1}", mean - lam * se, 1, mean, 1, se, 1))
    return str(tmp_path / "data")


def test_tables_beside_the_source(data: str) -> None:
    runs = [made_up(lam, seed) for lam in (1.0, 10.0) for seed in (0, 1)]
    contributions = tables.ours(runs, 10.0)
    assert [tables.crossing(contributions, j) for j in range(4)] == [40, 30, 20, 10]
    assert [tables.crossing(tables.the_source(10.0, data), j) for j in range(4)] == [40, 30, 20, 10]
    never = tables.Contributions(*(np.zeros((64, 4)) for _ in range(4)))
    assert tables.crossing(never, 0) is None
    text = tables.markdown(runs, data)
    assert "| λ = 10, φ(mean), θ4 | -19.99 (0.01) | -20.00 (1.00) | +0.01 | yes | 0.03 |" in text
    assert "| θ1 | 40 | 40 | about 25 |" in text
    assert "pellucid reproduce shapley" in text
    lines = tables.csv(runs).splitlines()
    assert len(lines) == 1 + 2 * 64 * 4
    assert lines[0] == "lambda,iteration,parameter,phi_mean,phi_mean_sd,phi_se,phi_se_sd"


def test_missing_data_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        Unavailable, match=r"needs shapleymbo/hyper_ellipsoid_contributions\.csv, but .* pass --data DIR"
    ):
        tables.the_source(1.0, str(tmp_path))


def test_the_interaction_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapley_forest, "N_TREES", 30)
    examples = shapley_forest.interaction_example()
    exact = examples["the function"]
    np.testing.assert_allclose(exact.exact_values, [0.5, 0.125, 0.125], atol=1e-12)
    np.testing.assert_allclose(exact.ablation, [2 / 3, 1 / 3, 0.0], atol=1e-12)
    forest = examples["a random forest"]
    # As in the source: an ablation leaves the second of two partners with next to nothing, Shapley values do not.
    assert min(forest.ablation[1:]) < 0.1 < 0.3 < max(forest.ablation[1:])
    assert abs(forest.shapley[1] - forest.shapley[2]) < 0.1
