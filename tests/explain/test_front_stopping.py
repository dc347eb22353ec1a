"""Stopping with several objectives: by how much the volume of the front could still grow, and why a study goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.answers.stop.several import front_verdict_of
from pellucid.beliefs import Beliefs
from pellucid.beliefs.growth import _Counted, front_candidates, growth
from pellucid.models import GaussianProcess
from pellucid.numerics import low_discrepancy
from pellucid.pareto import front, reference_point, volume
from pellucid.samplers.stop_when import STOPPED_ATTRIBUTE
from pellucid.study.view import StudyView

Objective = Callable[[Trial], Sequence[float]]


def valleys(trial: Trial) -> tuple[float, float]:
    """Between x = 0 and x = 1, one objective is paid for with the other; y only wastes."""
    x, y = trial.suggest_float("x", -0.5, 1.5), trial.suggest_float("y", 0, 1)
    return x**2 + y, (x - 1.0) ** 2 + y


def study_of(
    objective: Objective, n: int, directions: Sequence[str] = ("minimize", "minimize"), seed: int = 0
) -> Study:
    study = optuna.create_study(directions=list(directions), sampler=RandomSampler(seed=seed))
    study.optimize(objective, n_trials=n)  # type: ignore[arg-type]
    return study


def truly_left(study: Study) -> float:
    """By what share the volume of `valleys` could still grow."""
    Y = np.array([trial.values for trial in study.trials])
    x = np.linspace(0.0, 1.0, 2001)
    everything = np.vstack([np.c_[x**2, (x - 1.0) ** 2], Y])
    reference = reference_point(Y)
    return volume(everything, reference) / volume(Y, reference) - 1.0


@pytest.fixture(scope="module")
def random_study() -> Study:
    return study_of(valleys, 40)


def test_it_stops_when_the_volume_can_hardly_grow_and_is_right() -> None:
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=8)
    )
    callback = pellucid.StopWhen(regret_below="5%", patience=2)
    study.optimize(valleys, n_trials=60, callbacks=[callback])  # type: ignore[arg-type]
    sentence = study.user_attrs[STOPPED_ATTRIBUTE]
    assert len(study.trials) < 60
    assert sentence.startswith(f"Stop: after {len(study.trials)} trials, the models see the volume that the front ")
    assert sentence.endswith(", within your tolerance of 5%.")
    assert truly_left(study) <= 0.05, "and it was right"


def test_the_bound_covers_what_is_left_and_no_bad_trial_hides_it(random_study: Study) -> None:
    verdict = pellucid.stopping_verdict(random_study)
    assert isinstance(verdict, pellucid.FrontVerdict)
    assert verdict.bound is not None
    assert verdict.tolerance == 0.03
    assert truly_left(random_study) <= verdict.bound <= 1.0
    Y = np.array([trial.values for trial in random_study.trials])
    assert verdict.n_front == front(Y).sum()
    np.testing.assert_allclose(verdict.reference, reference_point(Y))
    assert not verdict.stop
    assert (
        verdict.more_trials is None
        or f"roughly {verdict.more_trials} more trials to get below that." in verdict.sentence
    )
    assert verdict.to_frame()["n_front"].tolist() == [verdict.n_front]


def test_maximising_is_the_mirror_image(random_study: Study) -> None:
    def mirrored(trial: Trial) -> tuple[float, float]:
        a, b = valleys(trial)
        return a, -b

    up = pellucid.stopping_verdict(study_of(mirrored, 40, ("minimize", "maximize")))
    down = pellucid.stopping_verdict(random_study)
    assert (up.stop, up.reason) == (down.stop, down.reason)
    assert up.bound == pytest.approx(down.bound, rel=1e-9)


def test_over_the_run_the_bound_falls_to_that_of_the_verdict(random_study: Study) -> None:
    course = pellucid.regret_history(random_study)
    figures = course.stopping.plot(), course.plot()
    assert figures[0].layout.xaxis.title.text == figures[1].layout.yaxis.title.text == "growth of the volume"
    assert course.bounds[-1] == course.stopping.bound
    assert course.after[-1] == 39
    assert len(course.after) == len(course.bounds) > 5
    assert course.bounds[0] > course.bounds[-1]
    assert (np.array(course.bounds) >= 0.0).all()
    of_one = pellucid.regret_history(random_study, objective=1)
    assert of_one.stopping == pellucid.stopping_verdict(random_study, objective=1)
    assert not isinstance(of_one.stopping, pellucid.FrontVerdict)


def test_a_tolerance_is_a_share_of_the_volume(random_study: Study) -> None:
    rule = "must be a share of the volume that the front dominates, such as '2%'"
    with pytest.raises(ValueError, match=rule):
        pellucid.stopping_verdict(random_study, regret_below=0.01)
    with pytest.raises(ValueError, match=rule):
        pellucid.StopWhen(0.01)(random_study, random_study.trials[-1])
    with pytest.raises(ValueError, match="`regret_below` must be"):
        pellucid.stopping_verdict(random_study, regret_below="two percent")
    generous = pellucid.stopping_verdict(random_study, regret_below="400%")
    assert generous.stop
    assert "no trial has come near" in generous.notes[0]


def test_a_volume_that_has_only_just_grown_holds_a_stop_back() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    for i, x in enumerate(low_discrepancy(0, 40, np.zeros(1))[:, 0]):
        study.enqueue_trial({"x": 2.0 * float(x) - 0.5, "y": 0.9 if i < 26 else 0.0})
    study.optimize(valleys, n_trials=40)  # type: ignore[arg-type]
    verdict = pellucid.stopping_verdict(study, regret_below="10%")
    assert not verdict.stop
    assert "the last 13 trials made the volume grow by" in verdict.reason
    assert [hold.words for hold in verdict.held_by] == list(verdict.blocked)
    assert verdict.held_by[0].kind == "improvement"


def test_a_choice_that_was_hardly_tried_holds_a_stop_back() -> None:
    def with_choice(trial: Trial) -> Sequence[float]:
        trial.suggest_categorical("model", ["linear", "tree"])
        return valleys(trial)

    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=1))
    for i in range(40):
        study.enqueue_trial({"model": "tree" if i == 5 else "linear"})
    study.optimize(with_choice, n_trials=40)  # type: ignore[arg-type]
    verdict = pellucid.stopping_verdict(study, regret_below="60%")
    assert verdict.blocked == ("`model` = tree was tried 1 time, too few to rule it out",)
    assert [(hold.kind, hold.param) for hold in verdict.held_by] == [("choice", "model")]


def test_only_feasible_trials_count() -> None:
    def limited(trial: Trial) -> Sequence[float]:
        values = valleys(trial)
        trial.set_constraint("x", trial.params["x"] - 0.5)
        return values

    study = study_of(limited, 40)
    verdict = pellucid.stopping_verdict(study)
    assert verdict.n_front == front(np.array([t.values for t in study.trials if t.params["x"] <= 0.5])).sum()  # type: ignore[attr-defined]
    assert verdict.bound is not None
    everything = pellucid.stopping_verdict(study_of(valleys, 40))
    assert everything.bound is not None
    assert verdict.bound < everything.bound + 0.5, "what is not feasible is nothing to gain"

    def never(trial: Trial) -> Sequence[float]:
        trial.set_constraint("memory", 1.0)
        return valleys(trial)

    assert "there is nothing to use yet" in str(pellucid.stopping_verdict(study_of(never, 25)))
    assert pellucid.regret_history(study_of(never, 25)).bounds == ()


@pytest.mark.parametrize(
    ("objective", "n", "reason"),
    [
        (valleys, 1, "needs 20 complete trials, and this study has 1"),
        (lambda trial: (trial.suggest_float("x", 0, 1) * 0.0, 1.0), 25, "all finished trials returned the same values"),
        (lambda trial: (1.0, float(trial.number)), 25, "no parameter varies"),
        (lambda trial: (math.nan, trial.suggest_float("x", 0, 1)), 25, "and this study has 0"),
    ],
    ids=["one trial", "constant", "no parameter", "not a number"],
)
def test_without_enough_to_go_by_it_says_so(objective: Objective, n: int, reason: str) -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=n, catch=(Exception,))  # type: ignore[arg-type]
    verdict = pellucid.stopping_verdict(study)
    assert not verdict.stop
    assert verdict.bound is None
    assert reason in verdict.reason


@pytest.mark.parametrize(
    "objective",
    [
        lambda trial: (trial.suggest_float("x", 0, 1), 2.0),
        lambda trial: (valleys(trial)[0], valleys(trial)[0]),
        lambda trial: (valleys(trial)[0], math.inf if trial.number == 7 else valleys(trial)[1]),
        lambda trial: (valleys(trial)[0], -math.inf if trial.number == 7 else 1e300 * valleys(trial)[1]),
    ],
    ids=["one constant", "twice the same", "infinite", "huge"],
)
def test_odd_objectives_get_a_finite_bound(objective: Objective) -> None:
    verdict = pellucid.stopping_verdict(study_of(objective, 24))
    assert verdict.bound is not None
    assert math.isfinite(verdict.bound)


def test_of_three_and_four_objectives_but_not_of_five() -> None:
    def many(k: int) -> Objective:
        def objective(trial: Trial) -> Sequence[float]:
            x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(2)]
            return [(x[0] - i / k) ** 2 + (x[1] - i % 2) ** 2 for i in range(k)]

        return objective

    for k in (3, 4):
        verdict = front_verdict_of(Beliefs(StudyView.whole(study_of(many(k), 21, ["minimize"] * k))))
        assert verdict.bound is not None
        assert 0.0 < verdict.bound < 10.0
    with pytest.raises(ValueError, match="up to 4 objectives, but this study has 5"):
        pellucid.stopping_verdict(study_of(many(5), 21, ["minimize"] * 5))


def test_the_unit_of_an_objective_does_not_matter() -> None:
    def objective(trial: Trial, unit: float) -> list[float]:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(2)]
        return [unit * (x[0] ** 2 + x[1]), unit * ((x[0] - 1.0) ** 2 + x[1])]

    usual, tiny = (study_of(lambda trial, unit=unit: objective(trial, unit), 21) for unit in (1.0, 1e-200))  # type: ignore[misc]
    bound = pellucid.stopping_verdict(usual).bound
    assert bound is not None
    assert pellucid.stopping_verdict(tiny).bound == pytest.approx(bound, rel=1e-3)
    shares, small = (pellucid.history(study) for study in (usual, tiny))
    assert isinstance(shares, pellucid.FrontHistory)
    assert isinstance(small, pellucid.FrontHistory)
    assert small.volume == pytest.approx(shares.volume)
    assert small.grew == shares.grew


# ---------------------------------------------------------------------- what is behind the bound


def test_candidates_reach_the_true_front() -> None:
    study = study_of(valleys, 60, seed=3)
    view = StudyView.whole(study)
    models = [GaussianProcess(warp="auto").fit(view.data.X, view.data.of(each).losses) for each in view.objectives]
    Z = front_candidates(models, (), view.data.space, view.data.X)
    x, y = view.data.space.dimensions[0].decode(Z[:, 0]), view.data.space.dimensions[1].decode(Z[:, 1])
    outcomes = np.array([(a**2 + b, (a - 1.0) ** 2 + b) for a, b in zip(x, y, strict=True)])
    t = np.linspace(0.0, 1.0, 2001)
    best = volume(np.c_[t**2, (t - 1.0) ** 2], np.array([2.0, 2.0]))
    assert volume(outcomes, np.array([2.0, 2.0])) >= 0.99 * best


@pytest.mark.parametrize("k", [3, 4])
def test_counted_volumes_are_exact_to_a_percent(k: int) -> None:
    F = np.random.default_rng(0).random((2, 12, k))
    reference = np.full(k, 1.1)
    counted = _Counted(F, reference)
    for Y in F:
        assert counted(Y, reference) == pytest.approx(volume(Y, reference), rel=0.02)


def test_growth_is_that_of_the_volume() -> None:
    F = np.random.default_rng(1).random((5, 9, 2))
    reference = np.ones(2)
    expected = [volume(draw, reference) / volume(draw[:4], reference) - 1.0 for draw in F]
    np.testing.assert_allclose(growth(F[:, :4], F, reference), expected, rtol=1e-12)
