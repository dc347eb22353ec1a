"""Optuna's own suites for samplers, for the ranking sampler with a model of the suites' own parameters; with a model of
other parameters and without one, the same spaces. In every case, neither the ranking nor the fallback may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase
from optuna.trial import Trial
from tests.conformance.spaces import (
    SINGLE,
    Objective,
    assert_values_are_valid,
    conditional,
    mixed,
    moving_range,
    sometimes_nan,
)
from tests.helpers import COMPLETE, FAIL, kinds, messages, params, random_model, states

from pellucid import BayesianSampler, RankingSampler
from pellucid.samplers import ranking

pytest.importorskip("torch")

OBJECTIVES: dict[str, Objective] = {
    **SINGLE,
    "mixed": mixed,
    "conditional": conditional,
    "moving range": moving_range,
    "sometimes NaN": sometimes_nan,
}


def ranking_sampler(model: Any) -> RankingSampler:
    """One finished trial is enough for the fallback's model: the studies are short."""
    return RankingSampler(model=model, fallback=BayesianSampler(n_startup_trials=1, seed=0), seed=0)


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question is whether proposals are valid, not whether they are good."""
    monkeypatch.setattr(ranking, "_FIRST_ROUND", (256, 64))
    monkeypatch.setattr(ranking, "_NEXT_ROUNDS", (0, 64))


@pytest.fixture(autouse=True)
def nothing_failed(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [message for message in messages(caplog) if "failed" in message] == []


# ------------------------------------------------------------------------------- a model of these parameters


def two_numbers(trial: Trial) -> float:
    return trial.suggest_float("x", -1, 1) ** 2 + trial.suggest_int("y", 1, 50, log=True)


@pytest.fixture(scope="module")
def model_of_these_parameters() -> Any:
    """A model that applies to suites whose parameters are numbers called `x` and `y`, with any ranges."""
    return random_model(two_numbers)


class TestRanking(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self, model_of_these_parameters: Any) -> Callable[[], BaseSampler]:
        return lambda: ranking_sampler(model_of_these_parameters)

    @pytest.mark.parametrize("y", [FloatDistribution(1e-7, 1.0, log=True), IntDistribution(3, 9, step=2)])
    def test_the_ranking_answers(self, sampler: Callable[[], BaseSampler], y: BaseDistribution) -> None:
        study = optuna.create_study(sampler=sampler())
        for _ in range(6):
            study.tell(study.ask({"x": FloatDistribution(-10, 10, step=0.5), "y": y}), 1.0)
        assert list(kinds(study).values()) == ["ranking"] * 5 + ["model"]


# --------------------------------------------------------------------------------------------- other models


def run(model: Any, objective: Objective, n_trials: int, n_jobs: int = 1) -> Study:
    study = optuna.create_study(sampler=ranking_sampler(model))
    study.optimize(objective, n_trials=n_trials, n_jobs=n_jobs)
    assert_values_are_valid(study)
    assert "fallback" not in kinds(study).values()
    bad = (2, 5) if objective is sometimes_nan else ()
    assert states(study) == [FAIL if number in bad else COMPLETE for number in range(n_trials)]
    return study


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_a_model_of_other_parameters_leaves_the_study_to_the_fallback(objective: Objective, ranker: Any) -> None:
    """It ranks the first trial, whose parameters show that the model does not apply."""
    study = run(ranker, objective, 9)
    assert set(list(kinds(study).values())[2:]) == {"model"}
    assert params(study) == params(run(ranker, objective, 9))


@pytest.fixture
def small_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model the ranking learns from the study alone: a small one that trains briefly."""
    from pellucid.models.ranking import ranker
    from pellucid.models.ranking.training import Recipe

    small = partial(ranker.RankingEnsemble, members=3, width=8, recipe=Recipe(scratch_epochs=10))
    monkeypatch.setattr(ranker, "RankingEnsemble", small)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
@pytest.mark.usefixtures("small_ranking")
def test_without_a_model_the_study_alone_teaches_the_ranking(objective: Objective) -> None:
    study = run(None, objective, 9)
    assert "ranking" in kinds(study).values()
    assert params(study) == params(run(None, objective, 9))


@pytest.mark.usefixtures("small_ranking")
def test_without_a_model_the_ranking_answers_from_the_third_trial_on() -> None:
    study = run(None, lambda trial: trial.suggest_float("x", 0, 1), 6)
    assert list(kinds(study).values()) == ["startup", "model"] + ["ranking"] * 4


@pytest.mark.parametrize("trained", [True, False], ids=["model of other parameters", "no model"])
@pytest.mark.usefixtures("small_ranking")
def test_two_threads_share_a_study(trained: bool, ranker: Any) -> None:
    run(ranker if trained else None, mixed, 8, n_jobs=2)


@pytest.mark.parametrize("trained", [True, False], ids=["model of other parameters", "no model"])
@pytest.mark.usefixtures("small_ranking")
def test_several_objectives_are_refused(trained: bool, ranker: Any) -> None:
    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=ranking_sampler(ranker if trained else None)
    )
    with pytest.raises(ValueError, match="one objective"):
        study.ask({"x": FloatDistribution(0, 1)})
