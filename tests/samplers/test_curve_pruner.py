"""The pruner of learning curves: when it stops a trial, when never, and what it leaves behind."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import optuna
import pytest
from optuna.pruners import BasePruner
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.helpers import COMPLETE, PRUNED, STUDY, bowl, file_storage, messages, new_study, states
from tests.trainings import STEPS, complete, curve, pruned_study, training

import pellucid
from pellucid.answers.pruning.chance import current_evidence, curve_evidence, decision
from pellucid.study.pruning import DECISION_KEY, REASON_ATTRIBUTE, read_decision
from pellucid.study.view import StudyView


@pytest.fixture(scope="module")
def study() -> Study:
    return pruned_study(40)


def with_complete(n: int, *, direction: str = "minimize") -> Study:
    """Complete trials with values from 0 to 1, and `CurvePruner` as pruner."""
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(direction=direction, pruner=pellucid.CurvePruner(), sampler=RandomSampler(seed=0))
    for i in range(n):
        losses = curve(i / n, 0.2 + 0.05 * (i % 3))
        study.add_trial(complete(i / n, [sign * loss for loss in losses]))
    return study


def reported(study: Study, values: Sequence[float], steps: Sequence[int] | None = None) -> Trial:
    trial = study.ask()
    trial.suggest_float("x", 0.0, 1.0)
    for step, value in zip(range(1, len(values) + 1) if steps is None else steps, values, strict=True):
        trial.report(value, step)
    return trial


# ------------------------------------------------------------------------------------------ decisions


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1.0), ("maximize", -1.0)])
def test_a_hopeless_trial_is_stopped_and_a_promising_one_is_not(direction: str, sign: float) -> None:
    study = with_complete(12, direction=direction)
    assert reported(study, [sign * loss for loss in curve(30.0)[:8]]).should_prune()
    assert not reported(study, [sign * loss for loss in curve(-0.5)[:8]]).should_prune()


def test_most_steps_of_hopeless_trials_are_saved_and_the_best_trial_is_kept(study: Study) -> None:
    assert states(study).count(PRUNED) >= 15
    best = min(study.trials, key=lambda trial: (trial.params["x"] - 0.3) ** 2 + (trial.params["y"] + 0.2) ** 2)
    assert best.state == COMPLETE


def test_a_stop_leaves_its_reason_with_the_trial(study: Study) -> None:
    for trial in study.trials:
        stopped = read_decision(trial)
        assert (stopped is not None) == (trial.state == PRUNED)
        assert (REASON_ATTRIBUTE in trial.user_attrs) == (trial.state == PRUNED)
        if stopped is not None:
            assert stopped.step == max(trial.intermediate_values)
            assert stopped.horizon == STEPS
            assert stopped.chance < stopped.needed
            assert stopped.low <= stopped.expected <= stopped.high
            assert stopped.best == min(t.value for t in study.trials[: trial.number] if t.state == COMPLETE)
            assert study.trials[stopped.best_trial].value == stopped.best
            reason = trial.user_attrs[REASON_ATTRIBUTE]
            assert reason == stopped.reason
            assert reason.startswith(f"Stopped at step {stopped.step} of {STEPS}: ")


def test_a_higher_price_of_going_on_needs_a_higher_chance() -> None:
    view = StudyView.whole(with_complete(12))
    evidence = curve_evidence(view)
    assert evidence is not None
    study = with_complete(12)
    needed = []
    for reports in (1, 10, 19, 20):
        trial = reported(study, curve(0.5)[:reports])
        needed.append(decision(evidence, study.trials[trial.number], keep=0.05).needed)
    assert sorted(needed, reverse=True) == needed
    assert needed[-1] == 0.0


@pytest.mark.parametrize("n", [0, 1, 3])
def test_nothing_is_stopped_before_four_trials_are_complete(n: int) -> None:
    study = with_complete(n)
    assert not reported(study, curve(1e6)[:10]).should_prune()


def test_the_user_can_ask_for_more_complete_trials_before_the_first_stop() -> None:
    study = with_complete(12)
    study.pruner = pellucid.CurvePruner(n_startup_trials=13)
    assert not reported(study, curve(30.0)[:8]).should_prune()


def test_with_keep_0_nothing_is_stopped() -> None:
    study = with_complete(12)
    study.pruner = pellucid.CurvePruner(keep=0.0)
    assert not reported(study, curve(1e6)[:10]).should_prune()


def test_a_tolerance_stops_trials_that_could_only_be_a_little_better() -> None:
    study = with_complete(12)
    trial = reported(study, curve(-0.05)[:17])
    assert not trial.should_prune()
    study.pruner = pellucid.CurvePruner(tolerance=2.0)
    assert trial.should_prune()


def test_the_user_can_state_the_last_step() -> None:
    study = with_complete(12)
    study.pruner = pellucid.CurvePruner(horizon=10)
    trial = reported(study, curve(30.0)[:8])
    assert trial.should_prune()
    stored = read_decision(study.trials[trial.number])
    assert stored is not None
    assert stored.horizon == 10


def test_only_feasible_trials_set_the_value_to_beat() -> None:
    study = with_complete(8)
    for i, limit in enumerate((1.0, -1.0, -1.0, -1.0, -1.0, -1.0)):
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)
        end = 0.2 + 0.1 * i if limit < 0 else -50.0
        for step, loss in enumerate(curve(end), start=1):
            trial.report(loss, step)
        trial.set_constraint("memory", limit)
        study.tell(trial, end)
    evidence = curve_evidence(StudyView.whole(study))
    assert evidence is not None
    assert evidence.best == pytest.approx(0.3)


def test_a_tolerance_is_part_of_the_reason() -> None:
    study = with_complete(12)
    study.pruner = pellucid.CurvePruner(tolerance=2.0)
    trial = reported(study, curve(0.3)[:15])
    assert trial.should_prune()
    assert " (trial 0) by 2, and " in study.trials[trial.number].user_attrs[REASON_ATTRIBUTE]


def late(end: float) -> list[float]:
    """A curve that shows nothing before the sixth step."""
    return [
        1.0 + 1e-3 * math.sin(7 * step + end) - (1.0 - end) * min(max(step - 5, 0) / 10, 1.0) for step in range(STEPS)
    ]


def test_a_trial_that_looks_as_the_best_one_did_then_is_never_stopped() -> None:
    """Most trials never learn anything, and the few that do begin late."""
    study = optuna.create_study(pruner=pellucid.CurvePruner(keep=1.0), sampler=RandomSampler(seed=0))
    for i in range(20):
        study.add_trial(complete(i / 20, late(0.2 if i == 7 else 1.0)))
    trial = reported(study, late(0.2)[:4])
    assert not trial.should_prune()
    for step, loss in enumerate(late(1.0)[4:17], start=5):
        trial.report(loss, step)
    assert trial.should_prune()


@pytest.mark.parametrize(("shift", "factor"), [(100.0, 1.0), (-100.0, 1.0), (0.0, 1000.0), (3.0, -1.0)])
def test_reports_may_be_of_another_quantity_than_the_value(shift: float, factor: float) -> None:
    """Such as a training loss, when the trial returns an error rate."""

    def objective(trial: Trial) -> float:
        value = (trial.suggest_float("x", 0.0, 1.0) - 0.4) ** 2
        for step, loss in enumerate(curve(value), start=1):
            trial.report(shift + factor * loss, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study = optuna.create_study(pruner=pellucid.CurvePruner(), sampler=pellucid.BayesianSampler(seed=0))
    study.optimize(objective, n_trials=25)
    assert abs(study.best_params["x"] - 0.4) < 0.05
    recommendation = pellucid.recommend(study)
    assert abs(recommendation.expected - recommendation.observed) < 0.05
    record = pellucid.pruning_record(study)
    assert all(-0.2 < row.expected < 0.6 for row in record.rows)


# ------------------------------------------------------------------------------------------ no state


def test_two_pruners_in_two_processes_decide_alike(tmp_path: Path) -> None:
    study = with_complete(12)
    trial = reported(study, curve(30.0)[:8])
    copy = pickle.loads(pickle.dumps(study.pruner))  # noqa: S301 - as Optuna does with `n_jobs` and Dask.
    frozen = study.trials[trial.number]
    assert copy.prune(study, frozen) == study.pruner.prune(study, frozen) is True


def test_a_study_that_is_resumed_is_pruned_as_one_that_was_never_stopped(tmp_path: Path) -> None:
    def run(name: str, parts: list[int]) -> list[tuple[dict[str, float], TrialState, dict[int, float]]]:
        for n in parts:
            sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=5)
            study = optuna.create_study(
                study_name=STUDY,
                storage=file_storage(tmp_path / name),
                sampler=sampler,
                pruner=pellucid.CurvePruner(),
                load_if_exists=True,
            )
            study.optimize(training(), n_trials=n)
        return [(trial.params, trial.state, trial.intermediate_values) for trial in study.trials]

    assert run("one", [18]) == run("parts", [7, 6, 5])


def test_a_decision_does_not_depend_on_what_was_asked_before() -> None:
    """The model is kept between two reports: a new trial that ends must be seen all the same."""
    study = with_complete(12)
    trial = reported(study, curve(0.02)[:10])
    before = study.pruner.prune(study, study.trials[trial.number])
    for i in range(12):
        study.add_trial(complete(i / 12, curve(-3.0 + 0.1 * i)))
    assert not before
    assert study.pruner.prune(study, study.trials[trial.number])


# ------------------------------------------------------------------------------------------ odd input


@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        [math.nan],
        [1.0, math.nan, math.nan, 0.9],
        [math.inf, math.inf],
        [-math.inf, 1.0],
        [1.0] * 40,
        curve(0.5) + curve(0.6),
        curve(0.5)[::-1],
    ],
    ids=["one step", "NaN only", "NaN in the middle", "infinite", "minus infinity", "constant", "too long", "rising"],
)
def test_odd_curves_get_a_decision_without_a_warning(values: list[float], caplog: pytest.LogCaptureFixture) -> None:
    study = with_complete(12)
    assert reported(study, values).should_prune() in (True, False)
    assert messages(caplog) == []


def test_a_curve_that_has_reached_the_last_step_is_never_stopped() -> None:
    study = with_complete(12)
    assert not reported(study, curve(1e6)).should_prune()
    assert not reported(study, curve(1e6) + curve(1e6)).should_prune()


def test_reports_in_any_order_give_the_same_decision() -> None:
    study = with_complete(12)
    losses = curve(30.0)[:8]
    study.enqueue_trial({"x": 0.5})
    study.enqueue_trial({"x": 0.5})
    forwards = decision_of(study, reported(study, losses))
    backwards = decision_of(study, reported(study, losses[::-1], range(8, 0, -1)))
    assert backwards.chance == pytest.approx(forwards.chance, rel=1e-9)


def decision_of(study: Study, trial: Trial) -> pellucid.provenance.PruningDecision:
    evidence = curve_evidence(StudyView.whole(study))
    assert evidence is not None
    return decision(evidence, study.trials[trial.number], keep=0.05)


def test_ten_thousand_steps_are_judged() -> None:
    study = optuna.create_study(pruner=pellucid.CurvePruner(), sampler=RandomSampler(seed=0))
    for i in range(8):
        study.add_trial(complete(i / 8, curve(i / 8, 0.001, 10_000)))
    assert reported(study, curve(30.0, 0.001, 10_000)[:3000]).should_prune()


@pytest.mark.parametrize("end", [0.0, 1e300, -1e300])
def test_constant_curves_are_no_evidence(end: float) -> None:
    study = optuna.create_study(pruner=pellucid.CurvePruner(), sampler=RandomSampler(seed=0))
    for i in range(8):
        study.add_trial(complete(i / 8, [end] * STEPS))
    assert not reported(study, [end] * 5).should_prune()


def test_a_study_where_nothing_was_ever_completed_goes_on() -> None:
    def objective(trial: Trial) -> float:
        bowl(trial)
        trial.report(1.0, 1)
        assert not trial.should_prune()
        raise optuna.TrialPruned

    study = optuna.create_study(pruner=pellucid.CurvePruner(), sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=10)
    assert states(study) == [PRUNED] * 10


def test_parameters_that_the_model_does_not_know_do_not_matter() -> None:
    study = with_complete(12)
    trial = study.ask()
    trial.suggest_categorical("other", ["a", "b"])
    for step, loss in enumerate(curve(30.0)[:8], start=1):
        trial.report(loss, step)
    assert trial.should_prune()


def test_a_trial_that_has_reported_nothing_is_not_stopped() -> None:
    study = with_complete(12)
    assert not study.ask().should_prune()


def test_a_model_that_fails_stops_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_: object) -> None:
        raise FloatingPointError("no luck")

    monkeypatch.setattr("pellucid.samplers.curve_pruner.current_evidence", fails)
    study = with_complete(12)
    assert not reported(study, curve(30.0)[:8]).should_prune()
    assert any("goes on" in message and "no luck" in message for message in messages(caplog))


def test_a_damaged_decision_is_no_decision(study: Study) -> None:
    stopped = next(trial for trial in study.trials if trial.state == PRUNED)
    another = stopped.system_attrs[f"{DECISION_KEY}:0"]
    for damage in ("", "{", "[]", '{"version": 99}', '{"version": 1, "trial": 3}', another):
        other = optuna.trial.create_trial(value=1.0, system_attrs={f"{DECISION_KEY}:0": damage})
        other.number = 9999
        assert read_decision(other) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": 1.5}, "`keep` is a probability"),
        ({"keep": -0.1}, "`keep` is a probability"),
        ({"tolerance": -1.0}, "`tolerance` is a distance"),
        ({"tolerance": math.nan}, "`tolerance` is a distance"),
        ({"horizon": 2.5}, "`horizon` must be a whole number"),
        ({"n_startup_trials": 3}, "`n_startup_trials` must be a whole number of at least 4"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.CurvePruner(**options)


# ------------------------------------------------------------------------------------------ with Optuna


@pytest.mark.parametrize(
    "wrap",
    [
        lambda pruner: optuna.pruners.PatientPruner(pruner, patience=2),
        lambda pruner: pruner,
    ],
    ids=["in PatientPruner", "alone"],
)
@pytest.mark.parametrize("sampler", [optuna.samplers.TPESampler, optuna.samplers.GPSampler, pellucid.BayesianSampler])
def test_it_works_with_other_samplers_and_pruners(
    wrap: Callable[[BasePruner], BasePruner], sampler: Callable[..., optuna.samplers.BaseSampler]
) -> None:
    study = optuna.create_study(sampler=sampler(seed=0), pruner=wrap(pellucid.CurvePruner(keep=0.5)))
    study.optimize(training(), n_trials=14)
    assert len(study.trials) == 14
    assert study.best_value < 2.0


def test_it_does_not_disturb_threads() -> None:
    study = new_study(n_startup_trials=5)
    study.pruner = pellucid.CurvePruner()
    study.optimize(training(), n_trials=24, n_jobs=2)
    assert set(states(study)) <= {COMPLETE, PRUNED}
    assert len(study.trials) == 24


def test_evidence_that_was_kept_is_the_same_as_new_evidence() -> None:
    study = pruned_study(0)
    for _ in range(36):
        study.optimize(training(), n_trials=1)
        kept, new = current_evidence(study), curve_evidence(StudyView.whole(study))
        assert (kept is None) == (new is None)
        if kept is not None and new is not None:
            assert kept.learned.numbers == new.learned.numbers
            one = study.trials[0]
            forecasts = [e.model.forecast(e.curve(one).until(3), e.row(one)) for e in (kept, new)]
            assert forecasts[0].median == forecasts[1].median
            assert (kept.best, kept.best_trial, kept.ended) == (new.best, new.best_trial, new.ended)
