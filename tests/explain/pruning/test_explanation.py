"""Why a trial was stopped, by what its curve promised."""

from __future__ import annotations

from datetime import datetime

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.helpers import COMPLETE, PRUNED, bowl, new_study
from tests.trainings import STEPS, complete, curve, pruned_study, training

import pellucid
from pellucid.study.pruning import read_decision


@pytest.fixture(scope="module")
def study() -> Study:
    return pruned_study(30)


@pytest.fixture(scope="module")
def by_median() -> Study:
    return pruned_study(30, pruner=optuna.pruners.MedianPruner(n_warmup_steps=3))


def stopped(study: Study) -> list[int]:
    return [trial.number for trial in study.trials if trial.state == PRUNED]


def test_a_stop_is_explained_with_the_numbers_that_were_recorded(study: Study) -> None:
    number = stopped(study)[-1]
    recorded = read_decision(study.trials[number])
    assert recorded is not None
    found = pellucid.explain_pruning(study, number)
    assert found.source == "recorded"
    same = ("step", "horizon", "chance", "needed", "best", "best_trial", "expected", "low", "high")
    assert [getattr(found, name) for name in same] == [getattr(recorded, name) for name in same]
    assert found.sentence.startswith(
        f"Trial {number} was stopped at step {recorded.step} of {STEPS}: it had a chance of "
    )


def test_the_explanation_stays_the_same_when_the_study_goes_on(study: Study) -> None:
    other = pruned_study(20)
    number = stopped(other)[-1]
    before = pellucid.explain_pruning(other, number)
    other.optimize(training(), n_trials=10)
    assert pellucid.explain_pruning(other, number) == before


def test_the_model_that_is_rebuilt_expects_what_was_recorded(study: Study) -> None:
    """The fan is computed again from the trials that the decision names."""
    for number in stopped(study)[-5:]:
        found = pellucid.explain_pruning(study, number)
        assert found.fan[-1].median == pytest.approx(found.expected, rel=1e-9)
        assert found.fan[-1].low == pytest.approx(found.low, rel=1e-9)


def test_the_curve_and_the_fan_meet(study: Study) -> None:
    found = pellucid.explain_pruning(study, stopped(study)[-1])
    assert found.steps == tuple(range(1, found.step + 1))
    assert all(point.step > found.step for point in found.fan)
    assert found.fan[-1].step == STEPS
    assert all(point.low <= point.median <= point.high for point in found.fan)


def test_a_stop_by_another_pruner_is_explained_too(by_median: Study) -> None:
    number = stopped(by_median)[-1]
    found = pellucid.explain_pruning(by_median, number)
    assert found.source == "reconstructed"
    assert found.needed is None
    assert (
        f"Trial {number} was stopped at step {found.step} of {STEPS}. By its curve it had a chance of" in found.sentence
    )
    assert any("no reason was recorded" in note for note in found.notes)
    assert found.best == min(trial.value for trial in by_median.trials[:number] if trial.state == COMPLETE)


def test_later_trials_of_the_same_second_are_not_taken_for_earlier_ones(by_median: Study) -> None:
    """MySQL keeps whole seconds, and all of these trials fit into one."""
    copied, now = new_study(), datetime(2026, 1, 1)
    for trial in by_median.get_trials():
        trial.datetime_start = trial.datetime_complete = now
        copied.add_trial(trial)
    for number in (stopped(by_median)[0], stopped(by_median)[-1]):
        assert pellucid.explain_pruning(copied, number) == pellucid.explain_pruning(by_median, number)


def test_a_complete_trial_is_explained_where_it_looked_worst(study: Study) -> None:
    number = [trial.number for trial in study.trials if trial.state == COMPLETE][-1]
    found = pellucid.explain_pruning(study, number)
    assert "ran to its end" in found.sentence
    assert found.returned == study.trials[number].value
    for step in (1, 5, 10, 15):
        assert pellucid.explain_pruning(study, number, step=step).chance >= found.chance


def test_any_step_can_be_asked_about(study: Study) -> None:
    number = [trial.number for trial in study.trials if trial.state == COMPLETE][-1]
    found = pellucid.explain_pruning(study, number, step=7)
    assert found.step == 7
    assert found.later_steps == tuple(range(8, STEPS + 1))
    assert found.sentence.startswith(f"At step 7 of {STEPS}, trial {number} had a chance of ")
    assert found.sentence.endswith(f"It returned {study.trials[number].value:.4g}.")


def test_a_running_trial_is_explained_as_it_is_now() -> None:
    study = pruned_study(20)
    trial = study.ask()
    end = bowl(trial)
    for step, loss in enumerate(curve(end)[:6], start=1):
        trial.report(loss, step)
    found = pellucid.explain_pruning(study, trial.number)
    assert found.state == "running"
    assert f"Trial {trial.number} is running: at step 6 of {STEPS} it has a chance of " in found.sentence


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_values_are_in_the_users_direction(direction: str) -> None:
    study = pruned_study(20, direction=direction)
    found = pellucid.explain_pruning(study, stopped(study)[-1])
    sign = 1 if direction == "minimize" else -1
    reported = study.trials[found.trial].intermediate_values
    assert found.values == tuple(reported[step] for step in found.steps)
    assert sign * found.expected > sign * found.best
    assert found.low <= found.expected <= found.high


def test_the_metric_has_its_name() -> None:
    study = pruned_study(20)
    study.set_metric_names(["log loss"])
    assert "of beating log loss " in pellucid.explain_pruning(study, stopped(study)[-1]).sentence


def test_different_last_steps_are_named() -> None:
    study = optuna.create_study()
    for i in range(10):
        study.add_trial(complete(i / 10, curve(i / 10)[: 12 if i < 3 else STEPS]))
    found = pellucid.explain_pruning(study, 9, step=5)
    assert found.horizon == STEPS
    assert any("3 of 9 complete trials ended at another step than 20" in note for note in found.notes)
    assert pellucid.explain_pruning(study, 9, step=5, horizon=12).horizon == 12


def test_the_table_has_reports_and_what_was_expected(study: Study) -> None:
    found = pellucid.explain_pruning(study, stopped(study)[-1])
    frame = found.to_frame()
    assert len(frame) == len(found.steps) + len(found.fan)
    assert list(frame.columns) == ["step", "reported", "expected", "low", "high"]


# ------------------------------------------------------------------------------------------ no answer


def test_without_enough_complete_curves_there_is_no_answer() -> None:
    study = pruned_study(8)
    with pytest.raises(ValueError, match=r"needs at least 4 complete trials .*, and when it began there were 1\."):
        pellucid.explain_pruning(study, 1)


def test_a_trial_without_reports_has_no_curve() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=6)
    with pytest.raises(ValueError, match="Trial 3 reported no intermediate values"):
        pellucid.explain_pruning(study, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trial": 99}, "no trial 99"),
        ({"step": 0}, "from the first report of trial 20 on, which was at step 1, but got 0"),
        ({"step": 1.5}, "`step` must be a whole number"),
        ({"level": 1.5}, "`level` must be between 0 and 1"),
        ({"horizon": "x"}, "`horizon` must be a whole number"),
    ],
)
def test_questions_that_make_no_sense_are_refused(study: Study, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.explain_pruning(study, **{"trial": 20, **options})  # type: ignore[arg-type]


def test_a_study_with_several_objectives_has_no_curves() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    study.optimize(lambda trial: (bowl(trial), 1.0), n_trials=5)
    for ask in (lambda: pellucid.explain_pruning(study, 0), lambda: pellucid.pruning_record(study)):
        with pytest.raises(ValueError, match="works on studies with one objective"):
            ask()


def test_a_failed_trial_is_explained_by_the_curve_that_it_had() -> None:
    study = pruned_study(12)

    def objective(trial: Trial) -> float:
        trial.report(3.0 + bowl(trial), 1)
        raise RuntimeError("out of memory")

    study.optimize(objective, n_trials=1, catch=(RuntimeError,))
    assert study.trials[-1].state == TrialState.FAIL
    assert "At step 1 of 20, trial 12 had a chance of" in pellucid.explain_pruning(study, 12).sentence


# ------------------------------------------------------------------------------------------ decisions that do not hold


def test_a_trial_that_went_on_although_it_should_stop_was_not_stopped() -> None:
    """The objective may ask `should_prune` and not listen."""
    study = pruned_study(12)
    study.enqueue_trial({"x": 1.0, "y": 1.0})
    trial = study.ask()
    losses = curve(bowl(trial) + 20.0)
    for step, loss in enumerate(losses, start=1):
        trial.report(loss, step)
        trial.should_prune()
    study.tell(trial, losses[-1])
    assert read_decision(study.trials[trial.number]) is not None
    found = pellucid.explain_pruning(study, trial.number)
    assert found.source == "reconstructed"
    assert "ran to its end" in found.sentence


def test_a_decision_that_was_copied_from_another_study_is_not_believed(study: Study) -> None:
    number = stopped(study)[-1]
    other = optuna.create_study()
    first, *rest = study.trials[:number]
    other.add_trials([*rest, first, study.trials[number]])
    found = pellucid.explain_pruning(other, number)
    assert found.source == "reconstructed"
    assert other.trials[found.best_trial].value == found.best


def test_a_recorded_reason_that_answers_another_question_is_said_not_to_be_used(study: Study) -> None:
    found = pellucid.explain_pruning(study, stopped(study)[-1], level=0.5)
    assert found.source == "reconstructed"
    assert any("the recorded reason answers another question" in note for note in found.notes)


def test_a_study_without_a_feasible_trial_says_so() -> None:
    study = pruned_study(12, pruner=optuna.pruners.NopPruner())
    other = optuna.create_study()
    for trial in study.trials:
        trial.system_attrs["constraints"] = [1.0]
        other.add_trial(trial)
    with pytest.raises(ValueError, match="None of the 12 trials is feasible"):
        pellucid.pruning_record(other)


def test_a_decision_by_a_best_trial_that_the_model_had_not_learned_from_is_rebuilt() -> None:
    study = pruned_study(32, pruner=optuna.pruners.NopPruner())
    study.enqueue_trial({"x": 0.3, "y": -0.2})
    study.optimize(training(), n_trials=1)
    study.pruner = pellucid.CurvePruner()
    study.optimize(training(), n_trials=4)
    recorded = [decision for decision in map(read_decision, study.trials) if decision is not None]
    newest = [decision for decision in recorded if decision.learned_from == "0-31" and decision.best_trial == 32]
    assert newest
    for decision in newest:
        found = pellucid.explain_pruning(study, decision.trial)
        assert (found.source, found.best_trial) == ("recorded", 32)
        assert found.fan[-1].median == pytest.approx(decision.expected, rel=1e-9)
