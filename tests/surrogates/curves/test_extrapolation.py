"""Trials that were stopped early, or still run, as observations with an error."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState
from tests.helpers import bowl
from tests.trainings import STEPS, curve, stopped_at_random

from pellucid.study import extrapolation
from pellucid.study.extrapolation import as_recorded, curve_state, extrapolated, learned_from, to_learn_from
from pellucid.study.view import StudyView


@pytest.fixture
def study() -> Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(stopped_at_random, n_trials=30)
    return study


def running(study: Study, reports: int, x: float = 0.3, y: float = -0.2) -> int:
    """A trial that runs and has reported so many steps of its curve."""
    study.enqueue_trial({"x": x, "y": y})
    trial = study.ask()
    end = bowl(trial)
    for step, loss in enumerate(curve(end, 0.2 + 0.1 * x)[:reports], start=1):
        trial.report(loss, step)
    return trial.number


def test_a_stopped_trial_counts_with_what_its_curve_promises(study: Study) -> None:
    view = extrapolated(StudyView.whole(study))
    observed = view.observations
    plain = StudyView.whole(study).observations
    truth = np.array([(p["x"] - 0.3) ** 2 + (p["y"] + 0.2) ** 2 for p in observed.configurations])
    ahead = np.array(observed.extrapolated)
    assert ahead.sum() == 10
    assert observed.noise_variance is not None
    errors = np.abs(observed.losses - truth)[ahead]
    sds = np.sqrt(observed.noise_variance[ahead])
    assert np.mean(errors <= 2.5 * sds) >= 0.9
    assert errors.mean() < 0.25 * np.abs(plain.losses - truth)[ahead].mean()


def test_complete_trials_count_as_they_are(study: Study) -> None:
    observed = extrapolated(StudyView.whole(study)).observations
    plain = StudyView.whole(study).observations
    done = np.array(observed.complete)
    np.testing.assert_array_equal(observed.losses[done], plain.losses[done])
    assert observed.noise_variance is not None
    assert np.isnan(observed.noise_variance[done]).all()


def test_a_running_trial_counts_too_and_never_as_measured(study: Study) -> None:
    number = running(study, 15)
    observed = extrapolated(StudyView.whole(study)).observations
    row = observed.numbers.index(number)
    assert observed.extrapolated[row]
    assert not observed.complete[row]
    assert not observed.measured[row]
    assert observed.losses[row] == pytest.approx(0.0, abs=0.2)
    assert number not in StudyView.whole(study).observations.numbers


def test_a_failed_trial_has_no_value_whatever_it_reported(study: Study) -> None:
    number = running(study, 15)
    study.tell(number, state=TrialState.FAIL)
    assert number not in extrapolated(StudyView.whole(study)).observations.numbers


@pytest.mark.parametrize("n", [0, 1, 4])
def test_without_enough_complete_curves_nothing_is_extrapolated(n: int) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(stopped_at_random, n_trials=n)
    view = StudyView.whole(study)
    assert extrapolated(view) is view


def test_a_study_without_stopped_or_running_trials_is_left_alone() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: curve(bowl(trial))[-1], n_trials=6)
    view = StudyView.whole(study)
    assert extrapolated(view) is view


def test_a_recorded_extrapolation_is_made_again_exactly_after_the_study_went_on(study: Study) -> None:
    number = running(study, 9)
    view = extrapolated(StudyView.whole(study))
    space, numbers = view.data.space, view.observations.numbers
    state = curve_state(view, numbers)
    assert state is not None
    assert state.horizon == STEPS
    assert list(state.running) == [str(number)]
    study.tell(number, 0.5)
    study.optimize(stopped_at_random, n_trials=12)
    later = as_recorded(StudyView.whole(study), state, space).observations_of(numbers)
    np.testing.assert_array_equal(later.losses, view.observations.losses)
    np.testing.assert_array_equal(later.noise_variance, view.observations.noise_variance)


def test_without_a_record_nothing_is_extrapolated(study: Study) -> None:
    """Receipts of earlier versions counted stopped trials by their last report."""
    view = extrapolated(StudyView.whole(study))
    assert as_recorded(view, None, view.data.space).observations.losses.tolist() == (
        StudyView.whole(study).observations.losses.tolist()
    )


def test_a_recorded_extrapolation_needs_its_trials(study: Study) -> None:
    view = extrapolated(StudyView.whole(study))
    state = curve_state(view, view.observations.numbers)
    other = optuna.create_study()
    other.add_trials(study.trials[:20])
    with pytest.raises(ValueError, match=r"no longer has trials \[20, 21"):
        as_recorded(StudyView.whole(other), state, view.data.space)


# ------------------------------------------------------------------------------------------ one trial at a time


def odd_reports(study: Study) -> None:
    """Running and stopped trials with infinite reports."""
    for values in ([math.inf], [1.2, 0.9, math.inf], [math.inf, 1.0, 0.8], [-math.inf, 1.0]):
        trial = study.ask()
        bowl(trial)
        for step, value in enumerate(values, start=1):
            trial.report(value, step)
        if len(values) > 1:
            study.tell(trial, state=TrialState.PRUNED)


def test_what_is_said_of_a_trial_does_not_depend_on_the_others_or_on_what_was_kept(study: Study) -> None:
    odd_reports(study)
    kept = extrapolated(StudyView.whole(study)).extrapolation
    assert kept is not None
    odd_reports(study)
    study.optimize(stopped_at_random, n_trials=3)
    again = extrapolated(StudyView.whole(study)).extrapolation
    extrapolation._kept.forget()
    fresh = extrapolated(StudyView.whole(study)).extrapolation
    assert again is not None
    assert fresh == again
    view = StudyView.whole(study)
    learned = learned_from(view, [view.by_number[n] for n in kept.learned_from], view.data.space)
    assert learned is not None
    alone = {number: learned.values([view.by_number[number]], view.objective.sign)[number] for number in kept.values}
    assert alone == kept.values


def test_a_trial_that_reports_infinity_is_no_better_than_the_worst(study: Study) -> None:
    odd_reports(study)
    observed = extrapolated(StudyView.whole(study)).observations
    losses = dict(zip(observed.numbers, observed.losses.tolist(), strict=True))
    assert losses[30] >= np.median(observed.losses)
    assert losses[31] >= np.median(observed.losses)


def test_a_running_trial_that_may_ask_for_more_parameters_is_not_extrapolated(study: Study) -> None:
    trial = study.ask()
    trial.suggest_float("x", -1, 1)
    for step, loss in enumerate(curve(0.1)[:8], start=1):
        trial.report(loss, step)
    assert trial.number not in extrapolated(StudyView.whole(study)).observations.numbers
    trial.suggest_float("y", -1, 1)
    assert trial.number in extrapolated(StudyView.whole(study)).observations.numbers


@pytest.mark.parametrize("share", [8, 16])
def test_a_model_has_learned_again_before_there_are_many_more_curves(share: int, study: Study) -> None:
    trials = (study.trials * 20)[:500]
    counts = [len(to_learn_from(trials[:n], share)) for n in range(500)]
    assert counts[: 2 * share] == list(range(2 * share))
    assert all(n - n / share <= count <= n for n, count in enumerate(counts))
    assert len(set(counts[200:])) < 60
    # What it has chosen, it would choose again: a decision names the trials that it rests on.
    assert [len(to_learn_from(trials[:count], share)) for count in counts] == counts
