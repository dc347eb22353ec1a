"""What stopping trials saved and may have cost."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import create_trial
from tests.helpers import COMPLETE, PRUNED, bowl, new_study
from tests.trainings import STEPS, complete, curve, pruned_study

import pellucid
from pellucid.study.pruning import read_decision


@pytest.fixture(scope="module")
def study() -> Study:
    return pruned_study(40)


def test_steps_are_counted(study: Study) -> None:
    record = pellucid.pruning_record(study)
    stopped = [trial for trial in study.trials if trial.state == PRUNED]
    assert record.stopped == len(stopped)
    assert record.complete == 40 - len(stopped)
    assert record.saved == sum(STEPS - max(trial.intermediate_values) for trial in stopped)
    assert record.steps == sum(len(trial.intermediate_values) for trial in study.trials)
    assert record.steps + record.saved == 40 * STEPS
    assert f"which saved {record.saved:,} steps ({record.share_saved:.0%})" in record.sentence


def test_steps_that_start_at_0_are_counted() -> None:
    study = optuna.create_study()
    for i in range(6):
        trial = complete(i / 6, curve(i / 6))
        trial.intermediate_values = {step - 1: value for step, value in trial.intermediate_values.items()}
        study.add_trial(trial)
    study.add_trial(create_trial(state=PRUNED, intermediate_values={0: 9.0, 1: 9.0}))
    record = pellucid.pruning_record(study)
    assert (record.steps, record.saved) == (6 * STEPS + 2, STEPS - 2)


def test_what_was_promised_is_the_sum_of_what_was_stated(study: Study) -> None:
    record = pellucid.pruning_record(study)
    stated = [decision.chance for trial in study.trials if (decision := read_decision(trial)) is not None]
    assert record.promised == pytest.approx(sum(stated))
    assert [row.stated for row in record.rows] == stated


def test_the_chance_of_having_lost_the_winner_is_that_of_any_stopped_trial(study: Study) -> None:
    record = pellucid.pruning_record(study)
    chances = np.array([row.chance for row in record.rows])
    assert record.lost == pytest.approx(1.0 - np.prod(1.0 - chances))
    assert record.likeliest == record.rows[int(np.argmax(chances))].trial
    assert record.best == study.best_value
    assert record.best_trial == study.best_trial.number


def test_a_stopped_trial_that_would_have_won_is_noticed() -> None:
    study = pruned_study(30)
    better = curve(-3.0)[:14]
    study.add_trial(
        create_trial(
            state=PRUNED,
            params={"x": 0.3, "y": -0.2},
            distributions=study.trials[0].distributions,
            intermediate_values=dict(enumerate(better, start=1)),
        )
    )
    record = pellucid.pruning_record(study)
    assert record.likeliest == 30
    assert record.lost > 0.9


def test_predictions_are_checked_on_trials_that_went_on() -> None:
    record = pellucid.pruning_record(pruned_study(40, pruner=optuna.pruners.NopPruner()))
    assert record.stopped == 0
    assert record.promised is None
    assert record.lost == 0.0
    assert record.sentence == "No trial was stopped early: 40 trials ran to their end."
    assert record.checked == 4 * 36
    assert sum(chances.n for chances in record.bins) == record.checked
    assert record.coverage is not None
    assert record.coverage >= 0.85
    surest = record.bins[0]
    assert surest.low == 0.0
    assert surest.true <= surest.stated + 0.1


def test_a_study_of_another_pruner_has_a_record_without_promises() -> None:
    record = pellucid.pruning_record(pruned_study(30, pruner=optuna.pruners.MedianPruner(n_warmup_steps=3)))
    assert record.stopped > 5
    assert record.promised is None
    assert all(row.stated is None for row in record.rows)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_values_are_in_the_users_direction(direction: str) -> None:
    record = pellucid.pruning_record(pruned_study(30, direction=direction))
    sign = 1 if direction == "minimize" else -1
    assert all(sign * row.expected > sign * record.best for row in record.rows if row.chance < 0.5)


def test_constant_curves_do_not_beat_each_other() -> None:
    study = optuna.create_study()
    for i in range(8):
        study.add_trial(complete(i / 8, [1.0] * STEPS))
    for _ in range(4):
        study.add_trial(create_trial(state=PRUNED, intermediate_values={1: 1.0, 2: 1.0}))
    assert pellucid.pruning_record(study).lost < 0.01


def test_diverged_trials_do_not_make_every_other_one_a_winner() -> None:
    study = optuna.create_study()
    for i in range(12):
        end = 1e9 if i % 3 == 2 else i / 12
        study.add_trial(complete(i / 12, curve(end)))
    for i in range(3):
        losses = dict(enumerate(curve(1.5 + i)[:8], start=1))
        study.add_trial(create_trial(state=PRUNED, intermediate_values=losses))
    record = pellucid.pruning_record(study)
    assert record.lost < 0.1
    assert all(0.0 < row.expected < 10.0 for row in record.rows)


def test_the_table_has_a_row_for_every_stop(study: Study) -> None:
    frame = pellucid.pruning_record(study).to_frame()
    assert list(frame.columns) == ["trial", "steps", "saved", "stated", "chance", "expected"]
    assert frame["trial"].tolist() == [trial.number for trial in study.trials if trial.state == PRUNED]


@pytest.mark.parametrize("n", [0, 2])
def test_without_enough_complete_curves_there_is_no_record(n: int) -> None:
    study = pruned_study(n) if n else new_study()
    with pytest.raises(ValueError, match=f"needs at least 4 complete trials .* and this study has {n}"):
        pellucid.pruning_record(study)


def test_a_study_without_reports_has_no_record() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=8)
    assert {trial.state for trial in study.trials} == {COMPLETE}
    with pytest.raises(ValueError, match="and this study has 0"):
        pellucid.pruning_record(study)


def test_non_finite_reports_do_not_matter() -> None:
    study = pruned_study(20)
    study.add_trial(create_trial(state=PRUNED, intermediate_values={1: math.nan}))
    study.add_trial(create_trial(state=PRUNED, intermediate_values={1: math.inf, 2: math.nan}))
    record = pellucid.pruning_record(study)
    assert math.isfinite(record.lost)
    assert 20 not in {row.trial for row in record.rows}


def test_steps_with_any_numbers_are_counted() -> None:
    study = optuna.create_study()
    for i in range(6):
        trial = complete(i / 6, curve(i / 6))
        trial.intermediate_values = {step - 30: value for step, value in trial.intermediate_values.items()}
        study.add_trial(trial)
    study.add_trial(create_trial(state=PRUNED, intermediate_values={-29: 9.0, -28: 9.0}))
    record = pellucid.pruning_record(study)
    assert (record.steps, record.saved) == (6 * STEPS + 2, STEPS - 2)
