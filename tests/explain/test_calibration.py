"""Whether verdicts about predictions are right, for predictions whose calibration is known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import Trial, TrialState
from tests.helpers import RECEIPT_KEY, bowl, new_study
from tests.records.test_receipt import ACQUISITION

import pellucid
from pellucid.models import GaussianProcess
from pellucid.models.predictive import recalibration
from pellucid.models.states import Hyperparameters
from pellucid.provenance import ModelReceipt, ModelState
from pellucid.study.predictions import predictions
from pellucid.study.receipts import receipt_parts
from pellucid.study.view import StudyView

RANGE = FloatDistribution(0.0, 1.0)
LATENT = Hyperparameters("matern32", (1.0,), 1.0, 0.09, 0.0, 1.0)


def receipt(number: int, mean: float, sd: float | None, direction: str = "minimize") -> ModelReceipt:
    model = ModelState(
        name="", direction=direction, hyperparameters=LATENT, fitted_on="", learned_from=0, mean=mean, sd=0.4,
        predictive_sd=sd, recalibration=None, latent_mean=mean, latent_sd=0.4, best_value=None, ceiling=None,
    )  # fmt: skip
    return ModelReceipt(number, 0, {"x": 0.5}, space={"x": 0}, models=(model,), acquisition=ACQUISITION)


def told(z: Sequence[float], *, mean: float = 3.0, sd: float | None = 0.5, direction: str = "minimize") -> optuna.Study:
    """A study whose receipts predicted mean ± sd, and whose values were off by z of these sd."""
    study = optuna.create_study(direction=direction)
    for number, score in enumerate(z):
        study.add_trial(
            optuna.create_trial(
                params={"x": 0.5}, distributions={"x": RANGE}, value=mean + score * (0.5 if sd is None else sd),
                system_attrs=receipt_parts(receipt(number, mean, sd, direction)),
            )
        )  # fmt: skip
    return study


def normal(n: int, seed: int = 0) -> np.ndarray:
    """Quantiles of the standard normal distribution in random order: a perfect model."""
    from scipy.special import ndtri

    return np.random.default_rng(seed).permutation(ndtri((np.arange(n) + 0.5) / n))


def test_a_perfect_model_is_trusted() -> None:
    answer = pellucid.calibration(told(normal(62)))
    assert (answer.verdict, answer.source, answer.n, answer.level) == ("trust", "receipts", 62, 0.95)
    assert answer.coverage == pytest.approx(0.95, abs=0.02)
    assert (answer.z_mean, answer.z_sd) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1.0, abs=0.03))
    assert str(answer).startswith("58 of 62 predictions (94%) held, against the 95% promised: trust the intervals.")


@pytest.mark.parametrize(("direction", "shift"), [("minimize", 0.7), ("maximize", -0.7)])
def test_values_worse_than_predicted_are_called_optimism(direction: str, shift: float) -> None:
    answer = pellucid.calibration(told(normal(60) + shift, direction=direction))
    assert answer.verdict == "optimistic"
    assert answer.doubtful
    assert "too optimistic by 0.7 sd on average: expect worse values" in answer.sentence
    assert answer.z_mean == pytest.approx(shift)


def test_values_better_than_predicted_are_called_pessimism() -> None:
    assert pellucid.calibration(told(normal(60) - 0.7)).verdict == "pessimistic"


def test_intervals_that_are_too_narrow_are_called_too_sure() -> None:
    answer = pellucid.calibration(told(2.0 * normal(60)))
    assert answer.verdict == "too sure"
    assert answer.doubtful
    assert (answer.coverage or 1.0) < 0.8


def test_intervals_that_are_too_wide_are_no_reason_for_doubt() -> None:
    answer = pellucid.calibration(told(0.3 * normal(60)))
    assert answer.verdict == "too cautious"
    assert not answer.doubtful


def test_a_perfect_model_is_seldom_called_wrong() -> None:
    rng = np.random.default_rng(1)
    verdicts = [pellucid.calibration(told(rng.standard_normal(40))).doubtful for _ in range(60)]
    assert sum(verdicts) <= 6  # 5% of 60 is 3; more than 6 has a chance of 3%.


def test_few_predictions_are_not_judged() -> None:
    answer = pellucid.calibration(told(5.0 * normal(9)))
    assert answer.verdict == "too few"
    assert "too few predictions to judge" in answer.sentence
    assert answer.windows == ()


def test_the_windows_show_how_a_model_became_better() -> None:
    answer = pellucid.calibration(told([*(4.0 * normal(20)), *normal(20, 1), *normal(20, 2)]))
    assert [window.n for window in answer.windows] == [20, 20, 20]
    assert answer.windows[0].coverage < 0.5 < 0.9 <= answer.windows[2].coverage
    assert (answer.windows[0].first, answer.windows[2].last) == (0, 59)


def test_a_lower_level_has_narrower_intervals() -> None:
    answer = pellucid.calibration(told(normal(100)), level=0.5)
    assert answer.coverage == pytest.approx(0.5, abs=0.02)
    assert answer.verdict == "trust"


def test_receipts_of_earlier_versions_predict_with_the_noise_they_had_learned() -> None:
    answer = pellucid.calibration(told(normal(20), sd=None))
    assert answer.source == "receipts"
    assert answer.rows[0].sd == pytest.approx(math.sqrt(0.4**2 + 0.09))


def test_one_trial_has_no_prediction_to_check() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=1)
    with pytest.raises(ValueError, match="no prediction to check"):
        pellucid.calibration(study)
    with pytest.raises(ValueError, match="no prediction to check"):
        pellucid.calibration(optuna.create_study())


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, math.nan])
def test_an_impossible_level_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="`level` must be between 0 and 1"):
        pellucid.calibration(told([0.0]), level=level)


def test_the_objective_is_named_or_left_out() -> None:
    study = told(normal(20))
    assert pellucid.calibration(study, objective="objective") == pellucid.calibration(study, objective=0)
    with pytest.raises(ValueError, match="the objective or a constraint"):
        pellucid.calibration(study, objective="accuracy")


# ------------------------------------------------------------------------------------------ which predictions count


def test_trials_without_a_value_of_their_own_are_left_out_with_a_note() -> None:
    study = told([*normal(20), math.inf])
    study.add_trial(optuna.create_trial(state=TrialState.FAIL, params={}, distributions={}))
    pruned = optuna.create_trial(
        state=TrialState.PRUNED, params={"x": 0.5}, distributions={"x": RANGE}, intermediate_values={1: 9.0}
    )
    study.add_trial(pruned)
    answer = pellucid.calibration(study)
    assert answer.n == 20
    assert "left out (1 pruned, 1 infinite, 1 failed)" in answer.notes[0]


def test_damaged_receipts_are_left_out_with_a_note() -> None:
    study = told(normal(20))
    damaged = optuna.create_trial(
        params={"x": 0.5}, distributions={"x": RANGE}, value=1.0, system_attrs={f"{RECEIPT_KEY}:0": "{"}
    )
    study.add_trial(damaged)
    answer = pellucid.calibration(study)
    assert answer.n == 20
    assert any("1 receipt could not be read" in note for note in answer.notes)


def test_a_receipt_of_another_trial_or_of_other_parameters_does_not_count() -> None:
    study = optuna.create_study()
    for number, params in ((7, {"x": 0.5}), (1, {"x": 0.25}), (2, {"x": 0.5})):
        attributes = receipt_parts(receipt(number, 1.0, 0.5))
        study.add_trial(
            optuna.create_trial(params=params, distributions={"x": RANGE}, value=1.0, system_attrs=attributes)
        )
    view = StudyView.of(study, "test")
    assert [prediction.trial for prediction in predictions(view, view.objective)] == [2]


# ------------------------------------------------------------------------------------------ leave-one-out


def test_leave_one_out_is_what_a_model_without_the_trial_predicts() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 2)), rng.standard_normal(12)
    record = Hyperparameters("matern52", (0.7, 1.5), 1.3, 0.05, 0.2, 1.1)
    mean, sd = GaussianProcess.from_hyperparameters(record).condition(X, y).leave_one_out()
    for i in range(12):
        keep = np.arange(12) != i
        m, s = GaussianProcess.from_hyperparameters(record).condition(X[keep], y[keep]).latent(X[i : i + 1])
        assert mean[i] == pytest.approx(m[0], abs=1e-9)
        assert sd[i] == pytest.approx(math.sqrt(s[0] ** 2 + 0.05), abs=1e-9)


def drawn_from_the_prior(seed: int, n: int = 60) -> optuna.Study:
    """A study of another sampler whose values are a draw from a Gaussian process, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    gp = GaussianProcess.from_hyperparameters(Hyperparameters("matern32", (0.5, 0.8), 1.0, 0.04, 0.0, 1.0))
    C = gp.kernel.gram(gp.kernel.columns(X, np.array([0.5, 0.8])), np.array([0.5, 0.8])) + 0.04 * np.eye(n)
    values = np.linalg.cholesky(C) @ rng.standard_normal(n)
    study = optuna.create_study()
    for row, value in zip(X, values, strict=True):
        params = {"x": float(row[0]), "y": float(row[1])}
        study.add_trial(optuna.create_trial(params=params, distributions={"x": RANGE, "y": RANGE}, value=float(value)))
    return study


def test_leave_one_out_covers_what_it_promises_on_draws_from_the_prior() -> None:
    answers = [pellucid.calibration(drawn_from_the_prior(seed)) for seed in range(8)]
    assert {answer.source for answer in answers} == {"leave-one-out"}
    assert all("afterwards" in answer.notes[0] for answer in answers)
    assert np.mean([answer.coverage for answer in answers]) == pytest.approx(0.95, abs=0.03)  # 480 predictions
    assert sum(answer.doubtful for answer in answers) <= 1


def test_a_constant_objective_is_predicted_exactly() -> None:
    study = new_study()
    study.optimize(lambda trial: 0.0 * trial.suggest_float("x", 0, 1), n_trials=20)
    answer = pellucid.calibration(study)
    assert answer.coverage == 1.0
    assert all(math.isfinite(row.z) for row in answer.rows)


def test_notes_of_leave_one_out_say_which_trials_have_no_prediction() -> None:
    study = drawn_from_the_prior(0, n=20)
    params = {"x": 0.5, "y": 0.5}
    study.add_trial(optuna.create_trial(params=params, distributions={"x": RANGE, "y": RANGE}, value=math.inf))
    inside = pellucid.calibration(study)
    assert inside.n == 20
    assert not any("ranges" in note for note in inside.notes)
    narrower = {"x": FloatDistribution(0.4, 0.6), "y": RANGE}
    study.add_trial(optuna.create_trial(params=params, distributions=narrower, value=0.0))
    moved = pellucid.calibration(study)
    assert moved.n < 20
    assert any("of 22 trials lie outside the present ranges and are left out." in note for note in moved.notes)


# ------------------------------------------------------------------------------------------ receipts of the sampler


def noisy(trial: Trial) -> float:
    return bowl(trial) + 0.1 * float(np.random.default_rng(trial.number).standard_normal())


def test_the_sampler_predicts_values_with_noise_and_rebuilds_its_recalibration() -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=6))
    study.optimize(noisy, n_trials=30)
    view = StudyView.of(study, "test")
    made = predictions(view, view.objective)
    assert [prediction.trial for prediction in made] == list(range(6, 30))
    for i, prediction in enumerate(made):
        stored = view.receipts[prediction.trial]
        assert (stored.predictive_sd or 0.0) > (stored.sd or 0.0)
        assert stored.recalibration == pytest.approx(recalibration([p.unwidened_z for p in made[:i]]))
        assert f"(predictive sd {stored.predictive_sd:.2g}) there" in str(stored)
    assert pellucid.history(study).sd[-1] == made[-1].sd


def test_recalibration_widens_after_surprises_and_never_narrows() -> None:
    assert recalibration([]) == 1.0
    assert recalibration([0.1] * 30) == 1.0
    assert recalibration([2.0] * 30) == pytest.approx(math.sqrt((30 * 4 + 3) / 33))
    assert recalibration([math.inf]) == recalibration([5.0]) == recalibration([-1e300])
    assert recalibration([9.0] * 10 + [0.0] * 30) == 1.0  # Older predictions are forgotten.
