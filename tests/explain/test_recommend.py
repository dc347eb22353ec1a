"""Which trial is recommended, and with which numbers, for any values."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import Trial, create_trial
from tests.helpers import COMPLETE, PRUNED, RECEIPT_KEY, assert_went_on, bowl, new_study, replacing
from tests.study.receipts import with_receipts

import pellucid
from pellucid.answers.recommend import Recommendation, choice_bias
from pellucid.models import GaussianProcess

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(("direction", "worst"), [("minimize", INF), ("maximize", -INF)])
def test_a_trial_with_the_worst_possible_value_is_not_recommended(direction: str, worst: float) -> None:
    study = new_study(direction=direction)
    study.optimize(replacing({2: worst, 5: worst}), n_trials=9)
    assert pellucid.recommend(study).trial not in (2, 5)


@pytest.mark.parametrize("value", [INF, -INF])
def test_a_recommendation_reports_the_value_that_the_trial_returned(value: float) -> None:
    study = new_study()
    study.optimize(replacing({2: value, 5: value}), n_trials=9)
    recommendation = pellucid.recommend(study)
    assert recommendation.observed == study.trials[recommendation.trial].value


def test_a_pruned_trial_is_never_recommended() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number in (3, 5):
            trial.report(-100.0, step=1)
            raise optuna.TrialPruned
        return value

    study = new_study()
    study.optimize(objective, n_trials=9)
    assert_went_on(study, [PRUNED if i in (3, 5) else COMPLETE for i in range(9)], n_model=3)
    assert pellucid.recommend(study).trial not in (3, 5)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e150, 1e-150])
def test_huge_and_tiny_values_have_a_finite_recommendation(scale: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * scale, n_trials=12)
    recommendation = pellucid.recommend(study)
    assert recommendation.low is not None
    assert recommendation.high is not None
    assert all(math.isfinite(v) for v in (recommendation.expected, recommendation.low, recommendation.high))
    assert recommendation.low <= recommendation.expected <= recommendation.high


def test_receipts_of_other_tools_and_versions_do_not_change_the_recommendation() -> None:
    expected = pellucid.recommend(with_receipts({}))
    damaged = with_receipts({i: {f"{RECEIPT_KEY}:0": '{"version": 2000}'} for i in range(8)})
    assert pellucid.recommend(damaged) == expected


def test_there_is_no_recommendation_in_an_empty_study() -> None:
    with pytest.raises(ValueError, match=r"at least one finished trial.*0 trials"):
        pellucid.recommend(new_study())


def test_there_is_no_recommendation_when_every_trial_failed() -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * NAN, n_trials=4)
    with pytest.raises(ValueError, match=r"at least one finished trial.*4 trials"):
        pellucid.recommend(study)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_a_few_trials_have_no_interval_and_the_sentence_does_not_show_one(n: int) -> None:
    study = new_study()
    study.optimize(bowl, n_trials=n)
    recommendation = pellucid.recommend(study)
    assert (recommendation.low, recommendation.high) == (None, None)
    assert "interval" not in recommendation.sentence
    assert "too few to learn the noise" in recommendation.notes[0]


def test_equal_values_have_no_interval() -> None:
    study = new_study()
    study.optimize(lambda trial: 0.0 * bowl(trial), n_trials=15)
    recommendation = pellucid.recommend(study)
    assert (recommendation.low, recommendation.high) == (None, None)


def noisy_values(n: int, seed: int, crowded: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in the unit square, a bowl there, and the bowl with noise. `crowded`: points close to its centre."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    X[n - crowded :] = 0.4 + 0.2 * (X[n - crowded :] - 0.5)
    truth = ((X - 0.4) ** 2).sum(axis=1)
    return X, truth, truth + 0.05 * rng.standard_normal(n)


def asked(X: np.ndarray, y: np.ndarray) -> Recommendation:
    space: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, 1.0) for name in ("a", "b")}
    study = new_study()
    for (a, b), value in zip(X, y, strict=True):
        study.add_trial(create_trial(params={"a": a, "b": b}, distributions=space, value=float(value)))
    return pellucid.recommend(study)


def test_the_bias_of_the_choice_is_that_of_repeated_experiments() -> None:
    X, _truth, y = noisy_values(40, 0)
    gp = GaussianProcess().fit(X, y)
    h = gp.hyperparameters
    rng = np.random.default_rng(1)
    errors = []
    mean = gp.latent_at_observed()
    for _ in range(400):
        again = GaussianProcess.from_hyperparameters(h)
        latent = mean + np.sqrt(h.noise) * rng.standard_normal(40)
        again.condition(X, h.y_mean + h.y_scale * latent)
        smoothed = again.latent_at_observed()
        errors.append(mean[np.argmin(smoothed)] - smoothed.min())
    assert choice_bias(gp) == pytest.approx(np.mean(errors), abs=4.0 * np.std(errors) / 10.0)
    assert choice_bias(gp) > 0.0


@pytest.mark.parametrize(("crowded", "least"), [(0, 0.85), (28, 0.95)])
def test_intervals_of_noisy_studies_cover_the_truth_of_what_was_chosen(crowded: int, least: float) -> None:
    covered = []
    for seed in range(20):
        X, truth, y = noisy_values(40, seed, crowded)
        use = asked(X, y)
        assert use.low is not None
        assert use.high is not None
        covered.append(use.low <= truth[use.trial] <= use.high)
    assert np.mean(covered) >= least


def test_close_rivals_do_not_make_the_interval_much_wider_than_its_errors() -> None:
    widths, errors = [], []
    for seed in range(20):
        X, truth, y = noisy_values(40, seed, crowded=28)
        use = asked(X, y)
        assert use.low is not None
        assert use.high is not None
        widths.append(use.high - use.low)
        errors.append(abs(use.expected - truth[use.trial]))
    assert np.median(widths) < 1.6 * 2.0 * np.quantile(errors, 0.95)


def test_trials_that_all_agree_have_no_interval_and_a_note_says_why() -> None:
    study = new_study(direction="maximize")
    study.optimize(lambda trial: 0.0 * trial.suggest_float("x", 0, 1), n_trials=12)
    recommendation = pellucid.recommend(study)
    assert recommendation.low is recommendation.high is None
    assert recommendation.notes == ("All 12 trials returned the same value, so there is no interval.",)
    assert "expect 0; it returned 0." in recommendation.sentence


def test_why_there_is_no_model_is_said() -> None:
    """The only feasible trial is outside the present range of its parameter."""
    study = optuna.create_study()
    for i, (x, high) in enumerate([(5.0, 6.0), (0.2, 1.0), (0.7, 1.0)]):
        trial = create_trial(
            params={"x": x},
            distributions={"x": FloatDistribution(0.0, high)},
            value=x,
            system_attrs={"constraints:memory": float(i)},
        )
        study.add_trial(trial)
    recommendation = pellucid.recommend(study)
    assert recommendation.trial == 0
    assert recommendation.notes == (
        "No feasible trial is inside the present ranges, so there is nothing to model: this is the best feasible "
        "trial.",
    )
