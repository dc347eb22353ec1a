"""Which trials are named as the front: it spans what was observed, whatever the order and the direction, and adding a
trial to it never makes it shorter."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as tables
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.study import Study

import pellucid
from pellucid.answers.fronts import answer
from pellucid.answers.fronts.tradeoff import tradeoff_of
from pellucid.beliefs import Beliefs
from pellucid.beliefs import front_members as membership
from pellucid.beliefs.front_members import TOLERANCE, behind_none, distinct, near_front, on_front, spread_of
from pellucid.beliefs.growth import foremost
from pellucid.numerics import Array
from pellucid.study.view import StudyView

INF = np.inf
# Outcomes on a coarse grid have ties in one objective, in all of them, and long fronts.
OUTCOMES = tables(float, st.tuples(st.integers(1, 25), st.integers(2, 4)), elements=st.integers(0, 6).map(float))


def studied(X: Array, Y: Array, directions: tuple[str, ...] = ()) -> Study:
    """A study with these configurations (n, d) in the unit cube and outcomes (n, k)."""
    study = optuna.create_study(directions=list(directions) or ["minimize"] * Y.shape[1])
    space: dict[str, BaseDistribution] = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(X.shape[1])}
    for x, values in zip(X.tolist(), Y.tolist(), strict=True):
        params = dict(zip(space, x, strict=True))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, values=values))
    return study


def curve(x: Array, power: float) -> Array:
    """A front of two objectives: convex with power 2, straight with 1, concave with 1/2."""
    return np.asarray(np.c_[x, 1.0 - x] ** power)


def asked(study: Study) -> pellucid.Front:
    front = pellucid.recommend(study)
    assert isinstance(front, pellucid.Front)
    return front


def named(front: pellucid.Front) -> set[int]:
    return {member.trial for member in front.members} | set(front.thinned)


def observed(front: pellucid.Front) -> Array:
    return np.array([[outcome.observed for outcome in member.outcomes] for member in front.members])


# ---------------------------------------------------------------------- the parts


@pytest.mark.parametrize("k", [2, 3])
def test_a_configuration_is_on_the_front_of_a_draw_if_none_is_as_good_and_better(k: int) -> None:
    F = np.random.default_rng(0).integers(0, 5, (6, 15, k)).astype(float)
    for draw, mask in zip(F, on_front(F), strict=True):
        for y, on in zip(draw, mask, strict=True):
            assert on == (not ((draw <= y).all(axis=1) & (draw < y).any(axis=1)).any())


def test_infeasible_configurations_are_never_on_the_front() -> None:
    F = np.array([[[0.0, 1.0], [INF, INF], [1.0, 0.0]], [[INF, INF]] * 3])
    assert on_front(F).tolist() == [[True, False, True], [False] * 3]


@given(OUTCOMES)
def test_the_front_of_many_outcomes_is_that_of_one_draw(Y: Array) -> None:
    np.testing.assert_array_equal(behind_none(Y), on_front(Y[None])[0])


@given(OUTCOMES, st.integers(0, 2), st.integers(1, 30), st.randoms(use_true_random=False))
def test_thinning_keeps_the_ends_and_something_near_all_that_it_leaves_out(
    Y: Array, tolerance: int, most: int, random: np.random.Generator
) -> None:
    within, chances = np.full(Y.shape[1], float(tolerance)), np.ones(len(Y))
    everything = distinct(Y, chances, within, len(Y))
    few = distinct(Y, chances, within, most)
    for rows in (everything, few):
        assert Y[rows].min(axis=0).tolist() == Y.min(axis=0).tolist()
        assert Y[rows].max(axis=0).tolist() == Y.max(axis=0).tolist()
    assert len(few) <= most + 2 * Y.shape[1]
    assert (np.abs(Y[:, None] - Y[everything]) <= within).all(axis=2).any(axis=1).all()
    order = list(range(len(Y)))
    random.shuffle(order)
    again = distinct(Y[order], chances, within, len(Y))
    assert sorted(Y[order][again].tolist()) == sorted(Y[everything].tolist())


def test_of_nearly_equal_trials_the_likeliest_stays() -> None:
    Y = np.array([[0.0, 1.0], [0.5, 0.5], [0.505, 0.495], [1.0, 0.0]])
    assert distinct(Y, np.array([1.0, 0.3, 0.9, 1.0]), np.full(2, 0.01), 10).tolist() == [0, 2, 3]
    assert distinct(Y, np.array([1.0, 0.9, 0.3, 1.0]), np.full(2, 0.01), 10).tolist() == [0, 1, 3]


@given(tables(float, st.tuples(st.integers(2, 25), st.integers(2, 4)), elements=st.integers(0, 6).map(float)))
def test_the_named_front_never_gets_shorter_by_a_trial_that_is_neither_better_nor_worse_than_another(Y: Array) -> None:
    new, Y = Y[0], Y[1:]
    before = Y[behind_none(Y)]
    ranked = (before <= new).all(axis=1) | (before >= new).all(axis=1)
    if ranked.any():
        return
    after = np.vstack([before, new])
    assert behind_none(after).all()
    spans = []
    for front in (before, after):
        rows = distinct(front, np.ones(len(front)), TOLERANCE * spread_of(front), 5)
        spans.append(np.ptp(front[rows], axis=0))
    assert (spans[1] >= spans[0]).all()


# ---------------------------------------------------------------------- what is named


@pytest.mark.parametrize(
    ("n", "power"), [(20, 2.0), (20, 1.0), (20, 0.5), (50, 2.0), (100, 2.0), (100, 1.0), (100, 0.5), (200, 2.0)]
)
def test_without_noise_the_front_is_what_was_observed_however_dense_it_is(n: int, power: float) -> None:
    x = np.linspace(0.0, 1.0, n)
    front = asked(studied(x[:, None], curve(x, power)))
    assert named(front) == set(range(n))
    assert np.ptp(observed(front), axis=0).tolist() == [1.0, 1.0]
    assert (np.array(front.within) == TOLERANCE).all()


@pytest.mark.parametrize(("n", "most"), [(50, 20), pytest.param(600, 250, marks=pytest.mark.slow)])
def test_of_very_many_members_those_are_listed_that_are_far_from_each_other(
    n: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A front of four objectives, on which hardly any two trials are nearly equal."""
    monkeypatch.setattr(answer, "_MOST_MEMBERS", most)
    X = np.random.default_rng(0).random((n, 3))
    W = np.cumprod(np.c_[np.ones(n), 1.0 - X], axis=1) * np.c_[X, np.ones(n)]
    front = asked(studied(X, W))
    assert named(front) == set(range(n))
    assert most <= len(front.members) <= most + 8
    # With 50 trials the models allow for some noise, so that means count, which differ from outcomes a little.
    np.testing.assert_allclose(np.ptp(observed(front), axis=0), np.ptp(W, axis=0), rtol=1e-3)
    assert min(front.within) > TOLERANCE
    assert front.sentence.startswith(f"{n} of {n} tried configurations are on the true front of objective 0, ")
    assert front.sentence.endswith(f" {len(front.thinned)} of them are nearly equal to others and left out.")
    shown = {member.trial: W[member.trial] for member in front.members}
    for number in front.thinned:
        assert (np.abs(np.array(list(shown.values())) - W[number]) <= 1.01 * np.array(front.within)).all(1).any()


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_dominated_trials_and_noise_do_not_make_a_dense_front_shorter(noise: float) -> None:
    rng = np.random.default_rng(5)
    X = np.vstack([np.c_[np.linspace(0, 1, 40), np.zeros(40)], rng.random((40, 2))])
    true = curve(X[:, 0], 1.0) + X[:, 1:]
    front = asked(studied(X, true + noise * rng.standard_normal(true.shape)))
    numbers = [member.trial for member in front.members]
    assert (np.ptp(true[numbers], axis=0) >= 0.95).all()
    assert sum(number < 40 for number in numbers) >= 0.9 * len(numbers)


def test_an_end_that_noise_hides_is_named_unless_it_is_ruled_out() -> None:
    """At the ends of a convex front one objective hardly changes, so that noise of 5% hides which trial is the last."""
    x, rng = np.linspace(0.0, 1.0, 60), np.random.default_rng(9)
    front = asked(studied(x[:, None], curve(x, 2.0) + 0.05 * rng.standard_normal((60, 2))))
    numbers = [member.trial for member in front.members]
    assert (np.ptp(curve(x[numbers], 2.0), axis=0) >= 0.95).all()
    assert all((member.probability or 0.0) >= 0.05 for member in front.members)
    ends = [member for member in front.members if (member.probability or 0.0) < front.threshold]
    assert len(ends) <= 2
    assert ("at its ends" in front.sentence) == bool(ends)


def test_the_order_of_trials_does_not_matter_without_noise() -> None:
    x = np.linspace(0.0, 1.0, 40)
    order = np.random.default_rng(0).permutation(40)
    first, second = (asked(studied(rows[:, None], curve(rows, 2.0))) for rows in (x, x[order]))
    assert {int(order[member.trial]) for member in second.members} == {member.trial for member in first.members}


def test_a_maximised_objective_is_a_minimised_one_with_the_other_sign() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((30, 2))
    Y = curve(X[:, 0], 2.0) + X[:, 1:] + 0.02 * rng.standard_normal((30, 2))
    first, second = asked(studied(X, Y)), asked(studied(X, Y * [1.0, -1.0], ("minimize", "maximize")))
    assert [member.trial for member in first.members] == [member.trial for member in second.members]
    assert [member.probability for member in first.members] == [member.probability for member in second.members]


def test_equal_outcomes_are_named_once_and_failed_and_running_trials_never() -> None:
    x = np.repeat(np.linspace(0.0, 1.0, 12), 2)
    study = studied(x[:, None], curve(x, 1.0))
    space: dict[str, BaseDistribution] = {"x0": FloatDistribution(0.0, 1.0)}
    for state in (optuna.trial.TrialState.FAIL, optuna.trial.TrialState.RUNNING):
        study.add_trial(optuna.trial.create_trial(state=state, params={"x0": 0.5}, distributions=space))
    front = asked(study)
    assert len(front.members) == len(front.thinned) == 12
    assert named(front) == set(range(24))


def test_a_front_over_branches_with_a_constraint_spans_what_is_feasible() -> None:
    """Two choices with parameters of their own hold a half of the front each; a constraint forbids its last tenth."""
    study = optuna.create_study(directions=["minimize", "maximize"])
    unit = FloatDistribution(0.0, 1.0)
    for i, share in enumerate(np.linspace(0.0, 1.0, 60).tolist()):
        kind, own = ("small", "a") if share < 0.5 else ("large", "b")
        waste = 0.0 if i % 4 else 0.5
        trial = optuna.trial.create_trial(
            params={"kind": kind, own: 2.0 * share % 1.0, "waste": waste},
            distributions={"kind": CategoricalDistribution(["small", "large"]), own: unit, "waste": unit},
            values=[share + waste, share**0.5 - waste],
            system_attrs={"constraints:memory": share - 0.9},
        )
        study.add_trial(trial)
    front = asked(study)
    best = {trial.number for trial in study.best_trials}
    Y = observed(front)
    returned = np.array([study.trials[number].values for number in best])
    assert (np.ptp(Y, axis=0) >= 0.95 * np.ptp(returned, axis=0)).all()
    assert named(front) <= best


# ---------------------------------------------------------------------- what else reads the front


def test_the_rows_that_are_drawn_span_a_front_that_is_larger() -> None:
    """Trials in the order of the front: the first ones by number are one of its ends."""
    x = np.linspace(0.0, 1.0, 200)
    beliefs = Beliefs(StudyView.whole(studied(x[:, None], curve(x, 1.0))))
    view = beliefs.view
    models = tuple(model.gp for model in beliefs.objective_models(view.data))
    for rows in (near_front(models, view.data.X, np.ones(200, dtype=bool), 30), foremost(models, view.data.X)):
        assert 30 <= len(rows) <= 34 or len(rows) == 160
        assert {0, 199} <= set(rows.tolist())
        assert np.diff(np.sort(rows)).max() <= 2 * 200 / len(rows) + 1


def test_trials_that_are_too_many_to_compare_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "MOST_DRAWN", 20)
    x, rng = np.linspace(0.0, 1.0, 60), np.random.default_rng(0)
    front = asked(studied(x[:, None], curve(x, 1.0) + 0.02 * rng.standard_normal((60, 2))))
    assert len(named(front)) <= 24
    assert (np.ptp(curve(x[[member.trial for member in front.members]], 1.0), axis=0) >= 0.95).all()
    (note,) = front.notes
    assert int(note.split()[0]) >= 30
    assert note.split(" ", 1)[1].startswith("more trials may be on the front: only")


def test_the_trade_off_spans_the_front_that_is_named() -> None:
    x = np.linspace(0.0, 1.0, 150)
    curve_of = np.array(tradeoff_of(Beliefs(StudyView.whole(studied(x[:, None], curve(x, 2.0))))).curve)
    assert (np.ptp(curve_of[:, :2], axis=0) > 0.95).all()
