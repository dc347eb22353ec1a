"""A view of a study: the trials that existed when it was made, read once."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial
from tests.helpers import RECEIPT_KEY, bowl, conditional, new_study

import pellucid
from pellucid.study.observations import NOISE_ATTRIBUTE
from pellucid.study.view import StudyView
from pellucid.words import RecordError


@pytest.fixture(scope="module")
def study() -> Study:
    study = new_study(direction="maximize")
    study.optimize(conditional, n_trials=12)
    study.set_metric_names(["accuracy"])
    return study


def view_of(study: Study) -> StudyView:
    return StudyView.of(study, "test")


def test_a_view_holds_the_objective_with_its_name_direction_and_sign(study: Study) -> None:
    view = view_of(study)
    assert (view.objective.name, view.objective.direction, view.objective.sign) == ("accuracy", "maximize", -1.0)
    unnamed = view_of(optuna.create_study())
    assert (unnamed.objective.name, unnamed.objective.sign) == ("objective", 1.0)


def test_several_objectives_are_refused_with_the_name_of_the_caller() -> None:
    with pytest.raises(ValueError, match="test works on studies with one objective, but this study has 2"):
        view_of(optuna.create_study(directions=["minimize", "maximize"]))


def test_observations_are_losses_of_finished_trials(study: Study) -> None:
    view = view_of(study)
    assert view.observations.numbers == tuple(range(12))
    np.testing.assert_array_equal(view.observations.returned, [-trial.value for trial in study.trials])
    assert view.observations_of([3, 1]).numbers == (3, 1)


def test_a_view_does_not_change_when_the_study_does() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=4)
    view = view_of(study)
    study.optimize(bowl, n_trials=2)
    assert len(view.trials) == len(view.observations) == 4
    assert len(view_of(study).trials) == 6


def test_the_space_is_that_of_the_newest_trials_and_constants_do_not_vary() -> None:
    study = optuna.create_study()
    for high in (1.0, 2.0):
        ranges = {"x": FloatDistribution(0.0, high), "fixed": FloatDistribution(3.0, 3.0)}
        study.add_trial(create_trial(params={"x": 0.5, "fixed": 3.0}, distributions=ranges, value=high))
    view = view_of(study)
    assert view.distributions == {"fixed": FloatDistribution(3.0, 3.0), "x": FloatDistribution(0.0, 2.0)}
    assert list(view.varying) == ["x"]
    assert view.data.space.names == ("x",)


def test_a_missing_trial_is_named(study: Study) -> None:
    assert view_of(study).trial(3).number == 3
    with pytest.raises(ValueError, match="The study has no trial 99; its trials are 0 to 11"):
        view_of(study).trial(99)


def damaged(study: Study, number: int) -> Study:
    """A copy of the study in which one receipt is cut off."""
    copy = optuna.create_study(direction="maximize")
    for trial in study.get_trials():
        if trial.number == number:
            trial.system_attrs[f"{RECEIPT_KEY}:0"] = trial.system_attrs[f"{RECEIPT_KEY}:0"][:20]
        copy.add_trial(trial)
    return copy


def test_unreadable_receipts_are_left_out_of_a_view(study: Study) -> None:
    view = view_of(damaged(study, 7))
    assert sorted(view.receipts) == [n for n in range(12) if n != 7]
    assert view.proposed == [n for n in range(3, 12) if n != 7]
    with pytest.raises(RecordError):
        view.receipt(7)
    assert view.receipt(8) == view.receipts[8]


def test_receipts_of_copied_trials_are_not_their_own(study: Study) -> None:
    copy = optuna.create_study(direction="maximize")
    copy.add_trials(study.get_trials()[4:])
    view = view_of(copy)
    assert len(view.receipts) == 8
    assert view.own_receipts == {}


def test_the_receipt_of_one_trial(study: Study) -> None:
    assert pellucid.receipt(study, 5) == pellucid.receipts(study)[5]
    with pytest.raises(ValueError, match="The study has no trial 50; its trials are 0 to 11"):
        pellucid.receipt(study, 50)
    with pytest.raises(ValueError, match="it has no trials yet"):
        pellucid.receipt(optuna.create_study(), 0)
    other = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    other.optimize(bowl, n_trials=1)
    with pytest.raises(ValueError, match="Trial 0 has no receipt: pellucid did not propose it"):
        pellucid.receipt(other, 0)


@pytest.mark.parametrize("variance", [0.25, 1, 0, np.float64(0.5)])
def test_a_reported_noise_variance_reaches_the_observations(variance: float) -> None:
    def objective(trial: optuna.Trial) -> float:
        pellucid.report_noise(trial, variance)
        return trial.suggest_float("x", 0, 1)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=2)
    noise = view_of(study).observations.noise_variance
    assert noise is not None
    assert noise.tolist() == [variance, variance]


@pytest.mark.parametrize("variance", [-1.0, float("nan"), float("inf"), True, "0.1", None])
def test_a_noise_variance_that_makes_no_sense_is_refused(variance: object) -> None:
    trial = optuna.create_study().ask()
    with pytest.raises(ValueError, match=r"A noise variance must be a finite number of at least 0 .* but got"):
        pellucid.report_noise(trial, variance)  # type: ignore[arg-type]
    assert NOISE_ATTRIBUTE not in trial.user_attrs


def test_pruned_and_failed_trials_are_distinguished() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        if trial.number == 1:
            raise optuna.TrialPruned
        return x if trial.number != 2 else float("nan")

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=4)
    view = view_of(study)
    states: list[TrialState] = [trial.state for trial in view.trials]
    assert states == [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.COMPLETE]
    assert view.observations.numbers == (0, 1, 3)
    assert view.observations.complete == (True, False, True)
    assert view.observations.of_complete_trials.numbers == (0, 3)
    first: FrozenTrial = view.by_number[0]
    assert first is view.trials[0]


def test_objectives_of_the_same_name_are_told_apart() -> None:
    study = optuna.create_study(directions=["minimize", "maximize", "minimize"])
    study.set_metric_names(["loss", "loss", "size"])
    view = StudyView.whole(study)
    assert [objective.name for objective in view.objectives] == ["loss 0", "loss 1", "size"]
    assert view.target("loss 1").sign == -1.0


def test_a_pruned_trial_says_nothing_about_each_of_several_objectives() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    space = {"x": FloatDistribution(0, 1)}
    study.add_trial(create_trial(params={"x": 0.5}, distributions=space, values=[1.0, 2.0]))
    pruned = create_trial(
        params={"x": 0.1}, distributions=space, state=TrialState.PRUNED, intermediate_values={0: -5.0}
    )
    study.add_trial(pruned)
    assert StudyView.whole(study).observations.numbers == (0,)
