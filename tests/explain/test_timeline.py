"""When trials ran: durations, lanes and words."""

from __future__ import annotations

from datetime import datetime, timedelta

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState

import pellucid
from pellucid.answers.timeline import seconds_text

NOON = datetime(2026, 11, 18, 12)


def ran(number: int, start: float, seconds: float | None, state: TrialState = TrialState.COMPLETE) -> FrozenTrial:
    return FrozenTrial(
        number=number, state=state, value=0.5 if state == TrialState.COMPLETE else None, trial_id=number,
        datetime_start=NOON + timedelta(seconds=start),
        datetime_complete=None if seconds is None else NOON + timedelta(seconds=start + seconds),
        params={"x": 0.5}, distributions={"x": FloatDistribution(0, 1)}, user_attrs={}, system_attrs={},
        intermediate_values={},
    )  # fmt: skip


def study_of(*trials: FrozenTrial) -> optuna.Study:
    study = optuna.create_study()
    for trial in trials:
        study.add_trial(trial)
    return study


def test_a_clock_in_the_first_or_last_year_is_a_time_like_any_other() -> None:
    first, last = ran(0, 0, 10), ran(1, 0, 10)
    first.datetime_start, last.datetime_complete = datetime.min, datetime.max
    found = pellucid.timeline(study_of(first, last))
    assert found.numbers == (0, 1)
    assert found.starts[0] == 0.0
    assert found.starts[1] == pytest.approx((NOON - datetime.min).total_seconds(), abs=86400.0)


def test_trials_that_overlap_have_lanes_of_their_own() -> None:
    found = pellucid.timeline(study_of(ran(0, 0, 10), ran(1, 2, 3), ran(2, 6, 2), ran(3, 12, 1)))
    assert found.starts == (0.0, 2.0, 6.0, 12.0)
    assert found.durations == (10.0, 3.0, 2.0, 1.0)
    assert found.lanes == (0, 1, 1, 0)
    assert found.n_lanes == 2
    assert found.sentence == (
        "4 trials took 13 s from first to last: half of them took 2.5 s or less, the longest, trial 0, 10 s; "
        "up to 2 ran at once."
    )
    assert len(found.plot().data) == 2


def test_trials_one_after_the_other_share_a_lane() -> None:
    found = pellucid.timeline(study_of(*(ran(i, 2.0 * i, 1.0 + i / 10) for i in range(5))))
    assert set(found.lanes) == {0}
    assert found.sentence.endswith("one ran at a time.")
    assert len(found.plot().data) == 1


def test_running_trials_have_no_duration_and_keep_their_lane() -> None:
    found = pellucid.timeline(study_of(ran(0, 0, None, TrialState.RUNNING), ran(1, 5, 2), ran(2, 8, 2)))
    assert found.durations == (None, 2.0, 2.0)
    assert found.lanes == (0, 1, 1)
    assert found.states[0] == "running"
    assert {trace.name for trace in found.plot().data} == {"running", "complete"}
    none = pellucid.timeline(study_of(ran(0, 0, None, TrialState.RUNNING)))
    assert none.sentence == "1 trial started; none has ended yet."
    assert none.plot().layout.title.text


def test_a_clock_that_jumps_back_and_a_study_without_trials() -> None:
    found = pellucid.timeline(study_of(ran(0, 10, -4), ran(1, 3, 1)))
    assert found.numbers == (1, 0)
    assert found.durations == (1.0, 0.0)
    with pytest.raises(ValueError, match="No trial has started yet"):
        pellucid.timeline(optuna.create_study())


def test_one_trial_that_took_very_long_lies_on_the_edge() -> None:
    found = pellucid.timeline(study_of(*(ran(i, 10.0 * i, 1.0 + i / 100) for i in range(30)), ran(30, 400, 5000)))
    figure = found.plot()
    assert figure.data[0].name == "complete (1 beyond the edge)"
    assert figure.layout.yaxis.title.text == "minutes per trial"
    assert list(found.to_frame().columns) == ["trial", "state", "start", "duration", "lane"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (7.3e-4, "0.73 ms"),
        (0.834, "0.83 s"),
        (12.4, "12 s"),
        (119, "119 s"),
        (210, "3.5 min"),
        (9000, "2.5 h"),
        (400_000, "4.6 days"),
    ],
)
def test_times_have_a_unit_that_suits_them(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text
