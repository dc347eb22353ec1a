"""The model of learning curves: what it promises about studies, ordinary and odd ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from pellucid.models.curves import FEWEST_COMPLETE, CurveModel, Forecast, curve_model
from pellucid.models.curves.model import features, kept_positions
from pellucid.models.curves.reports import Curves
from pellucid.models.states import Warp
from pellucid.numerics import Array
from pellucid.study.arrays import encoded_rows
from pellucid.study.view import StudyView


def made(losses: Array, stops: Array | int, *, steps: Array | None = None, final: Array | None = None) -> Curves:
    """Curves from rows of losses (n, s), each with its first `stops` reports; complete with all of them."""
    n, s = losses.shape
    steps = np.arange(1, s + 1) if steps is None else steps
    lengths = np.broadcast_to(stops, n)
    done = lengths == s
    return Curves(
        np.arange(n),
        np.concatenate([steps[:length] for length in lengths]).astype(np.int64),
        np.concatenate([row[:length] for row, length in zip(losses, lengths, strict=True)]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp),
        done,
        np.zeros(n, dtype=bool),
        np.where(done, losses[:, -1] if final is None else final, np.nan),
    )


def learning(n: int, s: int = 40, seed: int = 0, noise: float = 0.0) -> tuple[Array, Array]:
    """Losses that fall to a level that depends on the first of two parameters, at a speed of their own."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    level, speed = 1.0 + X[:, [0]] + 0.2 * rng.normal(size=(n, 1)), np.exp(rng.normal(size=(n, 1)) - 1.5)
    clean = level + 2.0 * np.exp(-speed * np.arange(1, s + 1))
    return clean + noise * rng.normal(size=clean.shape), X


def fitted(curves: Curves, X: Array, horizon: int | None = None) -> CurveModel:
    model = curve_model(curves, X, horizon=horizon)
    assert model is not None
    return model


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("returned", [lambda losses: losses[:, -1], lambda losses: losses.min(axis=1)])
def test_intervals_cover_what_they_promise(noise: float, returned: Callable[[Array], Array]) -> None:
    covered, errors, flat = [], [], []
    for seed in range(8):
        losses, X = learning(130, seed=seed, noise=noise)
        stops = np.where(np.arange(30) % 3 == 0, 8, 40)
        model = fitted(made(losses[:30], stops, final=returned(losses[:30])), X[:30])
        truth = returned(losses[30:])
        for reports in (5, 9, 20):
            forecast = model.forecast(made(losses[30:], reports), X[30:])
            low, high = forecast.interval(0.95)
            covered.append((low <= truth) & (truth <= high))
            errors.append(np.abs(forecast.median - truth))
            flat.append(np.abs(np.median(truth) - truth))
    # 2,400 predictions from 8 studies of 30 curves, a third of them stopped.
    assert 0.92 <= np.mean(covered) <= 0.995
    assert np.mean(errors) < 0.5 * np.mean(flat)


def test_trials_that_return_their_best_report_are_predicted_by_their_best_so_far() -> None:
    losses, X = learning(60)
    overfit = losses + 0.03 * np.maximum(np.arange(40) - 10.0 - 20.0 * X[:, [1]], 0.0)
    best = overfit.min(axis=1)
    model = fitted(made(overfit[:40], 40, final=best[:40]), X[:40])
    assert model.best_so_far
    forecast = model.forecast(made(overfit[40:], 39), X[40:])
    np.testing.assert_allclose(forecast.median, best[40:], atol=0.05)
    assert not fitted(made(overfit, 40), X).best_so_far


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_study_is_read_modelled_and_predicted_in_either_direction(direction: str) -> None:
    losses, X = learning(25)
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(direction=direction)
    for number in range(25):
        length = 40 if number < 12 else 9
        study.add_trial(
            optuna.trial.create_trial(
                params={"a": X[number, 0], "b": X[number, 1]},
                distributions={"a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1)},
                intermediate_values={step: sign * losses[number, step] for step in range(length)},
                value=sign * losses[number, -1] if length == 40 else None,
                state=TrialState.COMPLETE if length == 40 else TrialState.PRUNED,
            )
        )
    view = StudyView.whole(study)
    rows = encoded_rows(view.data.space, [view.by_number[number].params for number in view.curves.numbers])
    forecast = fitted(view.curves, rows).forecast(view.curves.select(range(12, 25)), rows[12:])
    stops = np.where(np.arange(25) < 12, 40, 9)
    expected = fitted(made(losses, stops), X).forecast(made(losses[12:], 9), X[12:])
    np.testing.assert_allclose(forecast.mean, expected.mean, rtol=1e-8)
    np.testing.assert_allclose(forecast.sd, expected.sd, rtol=1e-6)


def test_predictions_follow_linear_changes_of_the_losses() -> None:
    losses, X = learning(30)
    stops = np.where(np.arange(30) % 3 == 0, 8, 40)
    forecasts = [
        fitted(made(a + b * losses, stops), X).forecast(made(a + b * losses, 11), X)
        for a, b in [(0.0, 1.0), (-7.0, 3.0)]
    ]
    first, second = forecasts
    np.testing.assert_allclose(second.mean, -7.0 + 3.0 * first.mean, rtol=1e-8)
    np.testing.assert_allclose(second.sd, 3.0 * first.sd, rtol=1e-6)
    np.testing.assert_allclose(second.better_than(-7.0 + 3.0 * 1.2), first.better_than(1.2), rtol=1e-6)


@pytest.mark.parametrize("steps", [np.arange(40), 100 * np.arange(1, 41), 2**30 + 7 * np.arange(40)])
def test_the_unit_and_the_start_of_steps_do_not_matter(steps: Array) -> None:
    losses, X = learning(20)
    plain = fitted(made(losses, 40), X).forecast(made(losses, 14), X)
    other = fitted(made(losses, 40, steps=steps), X).forecast(made(losses, 14, steps=steps), X)
    # The middle of a cell is rounded to a step, so that its bend is that of a neighbouring step.
    np.testing.assert_allclose(other.mean, plain.mean, rtol=0.02)


def test_the_order_of_trials_does_not_matter() -> None:
    losses, X = learning(24)
    order = np.random.default_rng(0).permutation(24)
    one = fitted(made(losses, 40), X).forecast(made(losses, 9), X)
    two = fitted(made(losses[order], 40), X[order]).forecast(made(losses, 9), X)
    np.testing.assert_allclose(two.mean, one.mean, rtol=1e-8)
    np.testing.assert_allclose(two.sd, one.sd, rtol=1e-6)


def test_longer_curves_are_predicted_more_surely() -> None:
    losses, X = learning(60)
    model = fitted(made(losses, 40), X)
    sds = [float(np.median(model.forecast(made(losses, reports), X).sd)) for reports in (1, 5, 15, 30, 39)]
    assert sds == sorted(sds, reverse=True)
    assert sds[-1] < 0.05 * sds[0]


@pytest.mark.parametrize("complete", range(FEWEST_COMPLETE))
def test_there_is_no_model_of_a_few_complete_curves(complete: int) -> None:
    losses, X = learning(20)
    stops = np.where(np.arange(20) < complete, 40, 7)
    assert curve_model(made(losses, stops), X) is None
    assert curve_model(made(losses, stops).select([]), X[:0]) is None


def test_a_model_of_the_fewest_curves_is_unsure() -> None:
    losses, X = learning(64)
    few = fitted(made(losses[:FEWEST_COMPLETE], 40), X[:FEWEST_COMPLETE])
    many = fitted(made(losses, 40), X)
    partial = made(losses[FEWEST_COMPLETE:], 6)
    assert np.median(few.forecast(partial, X[FEWEST_COMPLETE:]).sd) > np.median(
        many.forecast(partial, X[FEWEST_COMPLETE:]).sd
    )


def test_constant_curves_end_where_they_are() -> None:
    losses, X = np.full((6, 10), 3.0), np.random.default_rng(0).uniform(size=(6, 2))
    forecast = fitted(made(losses, 10), X).forecast(made(losses, 4), X)
    np.testing.assert_allclose(forecast.mean, 3.0, rtol=1e-6)
    assert np.all(forecast.sd < 1e-6)
    levels = 3.0 + np.arange(6.0)[:, None] * np.ones((6, 10))
    forecast = fitted(made(levels, 10), X).forecast(made(levels, 4), X)
    np.testing.assert_allclose(forecast.mean, levels[:, 0], atol=0.1)


def test_one_step_only() -> None:
    losses, X = learning(12, s=1)
    model = fitted(made(losses, 1, final=2.0 * losses[:, 0]), X)
    np.testing.assert_array_equal(model.positions, [1])
    forecast = model.forecast(made(losses, 1), X)
    np.testing.assert_allclose(forecast.median, 2.0 * losses[:, 0], atol=0.5)


def test_ten_thousand_steps_keep_a_dozen_positions() -> None:
    losses, X = learning(6, s=10_000)
    curves = made(losses, 10_000)
    positions = kept_positions(curves, 10_000)
    assert len(positions) == 12
    assert positions[0] == 39
    assert positions[-1] == 10_000
    forecast = fitted(curves, X).forecast(made(losses, np.array([1, 20, 100, 5_000, 9_999, 3])), X)
    assert np.isfinite(forecast.mean).all()
    assert forecast.sd[4] < forecast.sd[0]


def test_the_horizon_can_be_stated() -> None:
    losses, X = learning(12)
    curves = made(losses, 40)
    assert fitted(curves, X).horizon == 40
    for horizon in (20, 60, 0, -3, 2**40):
        model = fitted(curves, X, horizon)
        assert model.horizon == horizon
        assert np.isfinite(model.forecast(made(losses, 10), X).mean).all()


def test_a_horizon_beyond_all_steps_counts_as_the_largest() -> None:
    losses, X = learning(12)
    assert fitted(made(losses, 40), X, 2**80).horizon == 2**40


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e150, 1e300])
def test_losses_of_any_size(size: float) -> None:
    losses, X = learning(12)
    forecast = fitted(made(size * losses, 40), X).forecast(made(size * losses, 9), X)
    assert np.isfinite(forecast.mean).all()
    assert np.isfinite(forecast.sd).all()
    assert np.all(forecast.sd > 0.0)


def test_one_loss_that_exploded_leaves_the_others_alone() -> None:
    losses, X = learning(30)
    wild = losses.copy()
    wild[0, 20:] = 1e12
    clean = fitted(made(losses[1:], 40), X[1:]).forecast(made(losses, 9), X)
    spoilt = fitted(made(wild, 40), X).forecast(made(losses, 9), X)
    np.testing.assert_allclose(spoilt.median[1:], clean.median[1:], atol=0.5)


def test_a_trial_outside_the_space_counts_with_its_curve() -> None:
    losses, X = learning(12)
    X[3] = np.nan
    assert np.isfinite(fitted(made(losses, 40), X).forecast(made(losses, 9), X).mean).all()


def test_features_have_mean_0_and_variance_1_over_the_space() -> None:
    grid = (np.arange(300) + 0.5) / 300
    F = features(np.column_stack([grid, grid]), (0, 3))
    assert F.shape == (300, 5)
    np.testing.assert_allclose(F.mean(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(F.var(axis=0), 1.0, atol=1e-4)
    assert features(np.empty((4, 0))).shape == (4, 0)


def test_a_forecast_agrees_with_draws_of_it() -> None:
    warp = Warp("log", 0.0, 1.0, 1.0, 0.0, 5.0)
    forecast = Forecast(np.array([0.5, 1.0]), np.array([0.2, 0.3]), np.array([5.0, 12.0]), warp)
    latent = forecast.centre + forecast.scale * np.random.default_rng(0).standard_t(forecast.freedom, (400_000, 2))
    draws = np.exp(latent) - 1.0  # The warp is straight outside [0, 5], where about one draw in 200 is.
    np.testing.assert_allclose(forecast.better_than(1.0), (draws < 1.0).mean(axis=0), atol=0.003)
    np.testing.assert_allclose(forecast.quantile(0.9), np.quantile(draws, 0.9, axis=0), rtol=0.01)
    np.testing.assert_allclose(forecast.median, np.median(draws, axis=0), rtol=0.01)
    np.testing.assert_allclose(forecast.mean, draws.mean(axis=0), rtol=0.02)
    np.testing.assert_allclose(forecast.better_than(forecast.quantile(0.3)), 0.3, rtol=1e-9)


def test_a_certain_forecast_is_better_or_not() -> None:
    forecast = Forecast(np.array([1.0, 1.0]), np.zeros(2), np.full(2, 5.0), None)
    np.testing.assert_array_equal(forecast.better_than(np.array([1.5, 0.5])), [1.0, 0.0])
