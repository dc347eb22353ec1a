"""Models of large studies are conditioned on a choice of the trials, which every answer makes alike and says."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

import pellucid
from pellucid.answers.finding import Finding
from pellucid.beliefs import choice
from pellucid.beliefs.of_study import beliefs_of

N, MOST, ROWS = 260, 200, 60
DISTRIBUTIONS = {
    "x": FloatDistribution(0.0, 1.0),
    "y": FloatDistribution(0.0, 1.0),
    "kind": CategoricalDistribution(["a", "b"]),
}


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that small studies exceed."""
    monkeypatch.setattr(choice, "MOST_TRIALS", MOST)
    monkeypatch.setattr(choice, "MOST_ROWS", ROWS)


def a_study(
    n: int = N, n_objectives: int = 1, state: Callable[[int], TrialState] = lambda i: TrialState.COMPLETE
) -> Study:
    """Random trials with noise; the first one is the best by far, and the second the worst. They report a constraint
    that three of them violate."""
    rng = np.random.default_rng(0)
    study = optuna.create_study(directions=["minimize"] * n_objectives)
    for i in range(n):
        x, y = (0.3, 0.6) if i == 0 else rng.random(2).tolist()
        losses = [(x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.01 * float(rng.standard_normal()), abs(x - 0.8) + 0.1 * y]
        losses[0] += {0: -0.5, 1: 5.0}.get(i, 0.0)
        complete = state(i) == TrialState.COMPLETE
        trial = create_trial(
            state=state(i),
            params={"x": x, "y": y, "kind": "ab"[i % 2]},
            distributions=DISTRIBUTIONS,
            values=losses[:n_objectives] if complete else None,
            system_attrs={"constraints": [1.0 if i in (50, 51, 52) else -1.0 - x]},
        )
        study.add_trial(trial)
    return study


def chosen(study: Study) -> tuple[int, ...]:
    view = beliefs_of(study).view
    return view.chosen(view.data).observations.numbers


def test_a_study_that_is_not_large_has_no_choice(few_rows: None) -> None:
    view = beliefs_of(a_study(MOST)).view
    assert view.choice is None
    assert view.chosen(view.data) is view.data


def test_trials_outside_of_the_present_ranges_do_not_make_a_study_large(few_rows: None) -> None:
    study = a_study(MOST)
    wide = {**DISTRIBUTIONS, "x": FloatDistribution(0.0, 9.0)}
    outside = [create_trial(params={"x": 5.0, "y": 0.1, "kind": "a"}, distributions=wide, value=1.0) for _ in range(50)]
    large = optuna.create_study()
    large.add_trials([*outside, *study.trials])
    view = beliefs_of(large).view
    assert view.choice is not None
    assert view.chosen(view.data) is view.data


@pytest.mark.parametrize("n_objectives", [1, 2])
def test_the_newest_the_best_the_worst_and_rare_violations_are_chosen(few_rows: None, n_objectives: int) -> None:
    numbers = chosen(a_study(n_objectives=n_objectives))
    assert {0, 1, 50, 51, 52} <= set(numbers)
    assert set(range(N - ROWS // 3, N)) <= set(numbers)
    assert ROWS <= len(numbers) < N
    assert numbers == chosen(a_study(n_objectives=n_objectives)), "the same every time"


def test_every_view_of_a_study_rests_on_the_same_trials(few_rows: None) -> None:
    beliefs = beliefs_of(a_study(n_objectives=2))
    view = beliefs.view
    first, second = (beliefs.model(objective).data.observations.numbers for objective in view.objectives)
    assert first == second == view.chosen(view.data).observations.numbers
    (models,) = beliefs.constraint_models(view.data.space)
    assert models[0].gp.n_observed == len(view.chosen(view.data))


def test_the_front_by_the_values_is_chosen(few_rows: None) -> None:
    study = a_study(n_objectives=2)
    feasible = {t.number for t in study.best_trials}
    assert feasible
    assert feasible <= set(chosen(study))


def test_running_trials_with_a_value_are_chosen(few_rows: None) -> None:
    """A learning curve says what they will return."""
    rng = np.random.default_rng(1)
    study = optuna.create_study()
    running = []
    for i in range(N):
        x = float(rng.random())
        state = TrialState.RUNNING if i in (30, 31) else TrialState.COMPLETE
        reports = {step: x + math.exp(-0.5 * step) for step in range(1, 9)}
        trial = create_trial(
            state=state,
            params={"x": x},
            distributions={"x": FloatDistribution(0.0, 1.0)},
            value=x if state == TrialState.COMPLETE else None,
            intermediate_values=reports if state == TrialState.COMPLETE else {1: reports[1], 2: reports[2]},
        )
        study.add_trial(trial)
        running += [i] if state == TrialState.RUNNING else []
    assert set(running) <= set(chosen(study))


def test_the_recommended_trial_is_the_best_of_all_by_the_model(few_rows: None) -> None:
    study = a_study()
    beliefs = beliefs_of(study)
    view = beliefs.view
    gp = beliefs.model(view.objective).gp
    means = gp.latent_means(view.data.X)
    usable = view.data.observations.feasible
    best = view.data.observations.numbers[int(np.argmin(np.where(usable, means, np.inf)))]
    assert pellucid.recommend(study).trial == best


ANSWERS: dict[str, Callable[[Study], Finding]] = {
    "recommend": pellucid.recommend,
    "stopping_verdict": pellucid.stopping_verdict,
    "parameter_ranges": pellucid.parameter_ranges,
    "explain_proposal": lambda study: pellucid.explain_proposal(study, N - 1),
    "hsic_importance": lambda study: pellucid.hsic_importance(study, source="surrogate"),
}
OF_SEVERAL: dict[str, Callable[[Study], Finding]] = {
    "recommend": pellucid.recommend,
    "compromise": lambda study: pellucid.recommend(study, prefer={"objective 0": 1.0, "objective 1": 1.0}),
    "stopping_verdict": pellucid.stopping_verdict,
    "tradeoff": pellucid.tradeoff,
}


def rests_on(answer: Finding) -> str:
    (note,) = (note for note in answer.notes if "of every region" in note)
    return note


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_of_a_model_says_what_it_rests_on(few_rows: None, name: str) -> None:
    study = a_study()
    of = N - 1 if name == "explain_proposal" else N
    note = rests_on(ANSWERS[name](study))
    assert note.startswith("The model rests on ")
    assert note.endswith(f" of {of} trials: the newest, those near the best and some of every region.")
    if of == N:
        assert f"on {len(chosen(study))} of" in note


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_with_several_objectives_as_well(few_rows: None, name: str) -> None:
    study = a_study(n_objectives=2)
    answer = OF_SEVERAL[name](study)
    which = "the newest, those near the best and some of every region"
    assert rests_on(answer) == f"The models rest on {len(chosen(study))} of {N} trials: {which}."
    assert answer.n_trials == N


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_of_a_study_that_is_not_large_says_so(few_rows: None, name: str) -> None:
    study = a_study(MOST)
    answer = pellucid.explain_proposal(study, MOST - 1) if name == "explain_proposal" else ANSWERS[name](study)
    assert not [note for note in answer.notes if "of every region" in note]


def test_counts_are_those_of_all_trials(few_rows: None) -> None:
    """A choice that many trials had is not called untried because few of them were chosen."""
    study = a_study()
    assert pellucid.recommend(study).n_trials == N
    assert pellucid.stopping_verdict(study).n_trials == N
    assert pellucid.parameter_ranges(study).n_trials == N


def test_a_study_without_a_parameter_that_varies_has_an_answer(few_rows: None) -> None:
    study = optuna.create_study()
    one: FrozenTrial = create_trial(params={"x": 0.5}, distributions={"x": FloatDistribution(0.5, 0.5)}, value=1.0)
    study.add_trials([one] * N)
    assert pellucid.recommend(study).expected == 1.0


def test_a_large_study_of_equal_values_has_an_answer(few_rows: None) -> None:
    study = optuna.create_study()
    rng = np.random.default_rng(0)
    for _ in range(N):
        params = {"x": float(rng.random()), "y": float(rng.random()), "kind": "a"}
        study.add_trial(create_trial(params=params, distributions=DISTRIBUTIONS, value=1.0))
    assert pellucid.recommend(study).expected == pytest.approx(1.0)
