"""Proposals that rest on learning curves: recorded, rebuilt exactly, and the same in every process."""

from __future__ import annotations

import math
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import PRUNED, STUDY, assert_rebuilt_exactly, bowl, file_storage, kinds, new_study
from tests.trainings import STEPS, curve, stopped_at_random

import pellucid


@pytest.fixture(scope="module")
def study() -> Study:
    study = new_study(n_startup_trials=6)
    study.optimize(stopped_at_random, n_trials=24)
    return study


def test_receipts_record_what_was_extrapolated(study: Study) -> None:
    last = pellucid.receipt(study, 23)
    assert last.curves is not None
    assert last.curves.horizon == STEPS
    assert last.curves.learned_from == "0-21"  # It does not learn again after every trial.
    assert last.curves.stopped == "2,5,8,11,14,17,20"
    assert last.curves.running == {}
    assert last.best_value == min(trial.value for trial in study.trials[:23] if trial.state != PRUNED)


def test_proposals_are_rebuilt_exactly(study: Study) -> None:
    assert_rebuilt_exactly(study, 18)


def test_a_stopped_trial_is_predicted_where_its_curve_would_have_ended(study: Study) -> None:
    """With its last report, the model would expect the values of trials that were stopped early to be much worse."""
    rebuilt = pellucid.rebuild(study, 23)
    stopped = study.trials[20].params
    mean, sd = rebuilt.predict([stopped])
    truth = (stopped["x"] - 0.3) ** 2 + (stopped["y"] + 0.2) ** 2
    assert abs(mean[0] - truth) <= 3 * sd[0] + 0.05


def test_a_running_trial_is_an_observation_once_it_has_reported() -> None:
    study = new_study(n_startup_trials=6)
    study.optimize(stopped_at_random, n_trials=15)
    trial = study.ask()
    end = bowl(trial)
    other = study.ask(study.trials[0].distributions)
    assert list(pellucid.receipt(study, other.number).pending) == [str(trial.number)]
    for step, loss in enumerate(curve(end)[:12], start=1):
        trial.report(loss, step)
    newest = study.ask(study.trials[0].distributions)
    receipt = pellucid.receipt(study, newest.number)
    assert receipt.curves is not None
    assert list(receipt.curves.running) == [str(trial.number)]
    assert list(receipt.pending) == [str(other.number)]
    study.tell(trial, 7.0)  # Whatever it returns later, the receipt knows what was expected of it.
    mean, sd = pellucid.rebuild(study, newest.number).predict([receipt.params])
    assert (mean[0], sd[0]) == pytest.approx((receipt.mean, receipt.sd), rel=1e-9)


def test_resuming_in_another_process_is_the_same_as_going_on(tmp_path: Path) -> None:
    def run(storage: JournalStorage, parts: list[int]) -> list[dict[str, float]]:
        for n in parts:
            sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6)
            study = optuna.create_study(study_name=STUDY, storage=storage, sampler=sampler, load_if_exists=True)
            study.optimize(stopped_at_random, n_trials=n)
        return [trial.params for trial in study.trials]

    assert run(file_storage(tmp_path / "one"), [20]) == run(file_storage(tmp_path / "parts"), [9, 4, 7])


@pytest.mark.parametrize(
    "odd",
    [
        lambda step, loss: math.nan if step == 5 else loss,
        lambda step, loss: math.inf if step < 3 else loss,
        lambda step, loss: 1.0,
        lambda step, loss: 1e300 * loss,
        lambda step, loss: loss if step % 2 else -loss,
    ],
    ids=["NaN", "infinite", "constant", "huge", "alternating"],
)
def test_odd_curves_do_not_stop_the_model(odd: object) -> None:
    def objective(trial: Trial) -> float:
        losses = [odd(step, loss) for step, loss in enumerate(curve(bowl(trial)), start=1)]  # type: ignore[operator]
        for step, loss in enumerate(losses[: 4 if trial.number % 2 else STEPS], start=1):
            trial.report(loss, step)
        if trial.number % 2:
            raise optuna.TrialPruned
        return float(losses[-1])

    study = new_study(n_startup_trials=4)
    study.optimize(objective, n_trials=16)
    assert "fallback" not in kinds(study).values()
    assert_rebuilt_exactly(study, 12)


# ------------------------------------------------------------------------------------------ answers


def test_every_answer_says_that_it_rests_on_learning_curves(study: Study) -> None:
    said = "8 of 24 trials have not run to their end"
    for answer in (
        pellucid.recommend(study),
        pellucid.importance(study),
        pellucid.profile_effect(study, "x"),
        pellucid.partial_dependence(study, "x"),
        pellucid.calibration(study),
    ):
        assert any(said in note for note in answer.notes), type(answer).__name__


def test_a_trial_that_did_not_run_to_its_end_is_never_recommended() -> None:
    study = new_study(n_startup_trials=6)
    study.optimize(stopped_at_random, n_trials=18)
    study.enqueue_trial({"x": 0.3, "y": -0.2})
    trial = study.ask()
    for step, loss in enumerate(curve(bowl(trial))[:18], start=1):
        trial.report(loss, step)
    recommendation = pellucid.recommend(study)
    assert recommendation.trial != trial.number
    assert study.trials[recommendation.trial].state != PRUNED


def test_a_study_without_curves_says_nothing_of_them() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=12)
    assert pellucid.receipt(study, 11).curves is None
    assert not any("curves" in note for note in pellucid.recommend(study).notes)
