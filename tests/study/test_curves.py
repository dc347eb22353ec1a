"""Learning curves of a study, read once: whatever trials report, curves are finite losses at rising steps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from pellucid.models.curves.reports import Curves, check_horizon
from pellucid.study.curves import curves
from pellucid.study.view import StudyView

COMPLETE, PRUNED, RUNNING, FAIL = TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING, TrialState.FAIL


def trial(
    reports: Mapping[int, float], state: TrialState = COMPLETE, value: float | None = None, number: int = 0
) -> FrozenTrial:
    if state == COMPLETE and value is None:
        value = 0.0
    made = create_trial(state=state, value=value, intermediate_values=dict(reports))
    made.number = number
    return made


def of(*trials: FrozenTrial, sign: float = 1.0) -> Curves:
    for number, each in enumerate(trials):
        each.number = number
    return curves(trials, sign)


def test_curves_are_losses_of_every_trial_that_reported() -> None:
    read = of(
        trial({1: 0.5, 2: 0.7}, value=0.8),
        trial({}, value=0.9),
        trial({1: 0.4}, PRUNED),
        trial({1: 0.1, 2: 0.2}, RUNNING),
        trial({1: 0.3}, FAIL),
        sign=-1.0,
    )
    np.testing.assert_array_equal(read.numbers, [0, 2, 3, 4])
    np.testing.assert_array_equal(read.lengths, [2, 1, 2, 1])
    np.testing.assert_array_equal(read.losses, [-0.5, -0.7, -0.4, -0.1, -0.2, -0.3])
    np.testing.assert_array_equal(read.complete, [True, False, False, False])
    np.testing.assert_array_equal(read.running, [False, False, True, False])
    np.testing.assert_array_equal(read.final, [-0.8, np.nan, np.nan, np.nan])


def test_reports_out_of_order_and_reports_that_are_no_numbers() -> None:
    read = of(
        trial({5: 1.0, 1: 3.0, 3: math.nan, 2: 2.0}),
        trial({1: math.nan, 2: math.nan}, PRUNED),
        trial({0: math.inf, 1: 7.0, 2: -math.inf}, PRUNED),
        trial({1: 4.0, 2: math.nan}, RUNNING),
    )
    np.testing.assert_array_equal(read.numbers, [0, 2, 3])
    steps, losses = read.curve(0)
    np.testing.assert_array_equal(steps, [1, 2, 5])
    np.testing.assert_array_equal(losses, [3.0, 2.0, 1.0])
    np.testing.assert_array_equal(read.curve(1)[1], [1e306, 7.0, -1e306])  # Not by what other trials reported.
    np.testing.assert_array_equal(read.last_steps, [5, 2, 1])


def test_an_infinite_value_is_the_worst_loss() -> None:
    read = of(trial({1: 1.0, 2: 5.0}, value=math.inf), trial({1: 2.0}, value=2.0))
    np.testing.assert_array_equal(read.final, [5.0, 2.0])
    assert np.isfinite(of(trial({1: math.inf}, PRUNED)).losses).all()


def test_losses_between_before_and_after_the_reports() -> None:
    read = of(trial({2: 4.0, 6: 8.0}), trial({2: 1.0, 3: 2.0}, PRUNED), trial({100: 3.0}, RUNNING))
    nan = np.nan
    expected = [[4.0, 4.0, 5.0, 8.0, 8.0], [1.0, 1.0, 2.0, nan, nan], [3.0, 3.0, 3.0, 3.0, nan]]
    np.testing.assert_array_equal(read.at([0, 2, 3, 6, 101]), expected)
    np.testing.assert_array_equal(read.reports_until(3), [1, 2, 0])


def test_losses_between_reports_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    made = [trial({int(s): float(rng.normal()) for s in rng.permutation(60)[:20] - 10}) for _ in range(12)]
    read, wanted = of(*made), np.arange(-15, 60)
    for row in range(12):
        np.testing.assert_allclose(read.at(wanted)[row], np.interp(wanted, *read.curve(row)), rtol=1e-12)


@pytest.mark.parametrize(
    ("ends", "horizon"),
    [([5, 5, 9], 5), ([5, 9], 9), ([9, 5, 5, 7, 11], 11), ([0], 0), ([], None)],
)
def test_the_horizon_is_the_last_step_of_half_of_the_complete_trials_or_the_largest(
    ends: list[int], horizon: int | None
) -> None:
    made = [trial({0: 1.0, end: 1.0}) for end in ends] + [trial(dict.fromkeys(range(40), 1.0), PRUNED)] * 3
    assert of(*made).horizon == horizon


def test_a_selection_has_the_same_curves() -> None:
    read = of(trial({1: 1.0, 2: 2.0}), trial({1: 3.0}, PRUNED), trial({4: 5.0, 5: 6.0, 6: 7.0}, RUNNING))
    chosen = read.select([2, 0])
    np.testing.assert_array_equal(chosen.numbers, [2, 0])
    for row, source in enumerate([2, 0]):
        np.testing.assert_array_equal(chosen.curve(row), read.curve(source))
    assert len(read.select([])) == 0


def test_trials_that_return_their_best_report_are_noticed() -> None:
    back, best = {1: 3.0, 2: 1.0, 3: 2.0}, {1: 2.0, 2: 1.0}
    assert of(trial(back, value=1.0), trial(best, value=1.0)).returns_best
    assert not of(trial(back, value=2.0), trial(best, value=1.0)).returns_best
    assert not of(trial(best, value=1.0), trial(back, PRUNED)).returns_best  # Last and best are the same report.
    assert not of().returns_best
    assert of(trial({1: 3.0, 2: 5.0, 3: 4.0}, value=5.0), sign=-1.0).returns_best
    read = of(trial(back), trial({1: 5.0, 2: 6.0}, RUNNING)).best_so_far()
    np.testing.assert_array_equal(read.losses, [3.0, 1.0, 1.0, 5.0, 5.0])
    assert len(of().best_so_far()) == 0


def test_hostile_steps_and_ten_thousand_of_them() -> None:
    read = of(trial({-(2**70): 1.0, 2**70: 2.0}), trial({s: 1.0 / (s + 1) for s in range(10_000)}))
    assert np.isfinite(read.at([-(2**80), 0, 2**80])).all()
    assert read.at([9_999])[1, 0] == 1e-4


def test_a_study_without_reports_has_no_curves() -> None:
    read = of(trial({}), trial({}, RUNNING))
    assert len(read) == 0
    assert read.horizon is None
    assert read.at([1, 2]).shape == (0, 2)


def test_a_view_has_the_curves_of_its_objective() -> None:
    study = optuna.create_study(direction="maximize")
    study.add_trial(trial({1: 0.5}, value=0.6))
    np.testing.assert_array_equal(StudyView.whole(study).curves.final, [-0.6])
    assert len(StudyView.whole(optuna.create_study(directions=["minimize"] * 2)).curves) == 0


def test_a_stated_horizon_is_a_whole_number() -> None:
    check_horizon(None)
    check_horizon(52)
    for wrong in (1.5, True, "52"):
        with pytest.raises(ValueError, match="`horizon` must be a whole number"):
            check_horizon(wrong)  # type: ignore[arg-type]
