"""Studies of the ranking sampler go on without repeats, with any trials from any source."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import Trial, TrialState
from tests.helpers import (
    TASK,
    TASK_SPACE,
    MakeRankingSampler,
    distinct,
    kinds,
    messages,
    only_rankings,
    random_model,
    ranking_receipts,
    run,
    states,
)

import pellucid

pytest.importorskip("torch")


def objective_that(behaviour: str) -> Callable[[Trial], float]:
    def objective(trial: Trial) -> float:
        value = TASK(trial)
        if trial.number % 3 == 1:
            if behaviour == "nan":
                return math.nan
            if behaviour == "raises":
                raise ArithmeticError
            if behaviour in ("inf", "-inf"):
                return float(behaviour)
            if behaviour == "pruned early":
                raise optuna.TrialPruned
            if behaviour == "pruned late":
                trial.report(value, 1)
                raise optuna.TrialPruned
            if behaviour == "huge":
                return 1e308
        if behaviour == "all fail":
            return math.nan
        return {"constant": 3.0, "all inf": math.inf, "all huge": -1e308 * value}.get(behaviour, value)

    return objective


@pytest.mark.parametrize(
    "behaviour",
    ["nan", "raises", "inf", "-inf", "pruned early", "pruned late", "huge", "constant", "all fail", "all inf",
     "all huge"],
)  # fmt: skip
def test_studies_go_on_with_any_behaviour_of_the_trials(
    sampler: MakeRankingSampler, behaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    study = run(sampler(hand_over=50), 12, objective_that(behaviour), catch=ArithmeticError)
    assert len(study.trials) == 12
    assert distinct(study.trials) == 12
    assert set(kinds(study).values()) <= {"ranking", "startup", "model"}
    assert not [message for message in messages(caplog) if "ranking failed" in message or "model failed" in message]


def test_failures_in_other_ranges_do_not_repeat_at_the_same_place(sampler: MakeRankingSampler) -> None:
    def failing(trial: Trial) -> float:
        trial.suggest_float("lr", 2.0, 3.0)
        trial.suggest_int("depth", 20, 30)
        trial.suggest_categorical("opt", ["adam", "rms"])
        return math.nan

    assert distinct(run(sampler(), 6, failing).trials) == 6


def test_known_configurations_are_not_proposed_again(sampler: MakeRankingSampler) -> None:
    first = run(sampler(), 1)
    study = optuna.create_study(sampler=sampler())
    study.add_trials(first.trials * 12)
    study.optimize(TASK, n_trials=3)
    assert distinct(study.trials) == 4
    assert set(kinds(study).values()) == {"ranking"}


def grid(trial: Trial) -> float:
    return trial.suggest_int("a", 0, 2) + 0.1 * trial.suggest_categorical("b", ["p", "q"]).count("q")


def test_a_finite_space_is_exhausted_without_repeats_and_then_goes_on_with_the_best(
    sampler: MakeRankingSampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pellucid.models.ranking import ranker
    from pellucid.models.ranking.training import Recipe

    short = partial(ranker.RankingEnsemble, recipe=Recipe(scratch_epochs=60))
    monkeypatch.setattr(ranker, "RankingEnsemble", short)
    study = run(sampler(model=random_model(grid), hand_over=None), 9, grid)
    assert distinct(study.trials[:6]) == 6
    assert states(study) == [TrialState.COMPLETE] * 9
    alone = run(sampler(model=None, fallback=pellucid.BayesianSampler(n_startup_trials=2, seed=0)), 9, grid)
    assert distinct(alone.trials[:6]) == 6
    # If every configuration is known, the one that the ranking puts first is tried again.
    assert all(t.value < 1.0 for t in alone.trials[6:])


def test_one_parameter_alone_is_searched_by_the_ranking_to_the_end(sampler: MakeRankingSampler) -> None:
    def line(trial: Trial) -> float:
        return (trial.suggest_float("x", 0, 1) - 0.4) ** 2

    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.ranker import Ranker
    from pellucid.models.ranking.training import Recipe
    from pellucid.study.earlier_studies import EarlierStudies

    past = EarlierStudies.of([run(optuna.samplers.RandomSampler(seed=i), 30, line) for i in range(3)])
    ensemble = RankingEnsemble(past.space, members=3, width=8, recipe=Recipe(steps=150, lists=4))
    study = run(sampler(model=Ranker.of(ensemble.meta_trained(past.tasks))), 24, line)
    assert only_rankings(study)
    assert distinct(study.trials) == 24
    late = [r.ranking.rank / r.ranking.candidates for r in ranking_receipts(study) if r.trial >= 8]
    assert np.mean(late) < 0.3


def test_enqueued_trials_are_taken_and_learned_from(sampler: MakeRankingSampler) -> None:
    study = optuna.create_study(sampler=sampler())
    enqueued = {"lr": 0.5, "opt": "rms", "depth": 2}
    study.enqueue_trial(enqueued)
    study.enqueue_trial({"lr": 0.25})
    study.optimize(TASK, n_trials=4)
    assert study.trials[0].params == enqueued
    assert study.trials[1].params["lr"] == 0.25
    assert pellucid.receipts(study)[-1].fitted_on == "0-2"
    assert distinct(study.trials) == 4
    changed = "The trial ran with other values than were proposed (`lr` = 0.25): it was enqueued or changed."
    assert changed in pellucid.explain_proposal(study, 1).notes
    assert not any("other values" in note for note in pellucid.explain_proposal(study, 3).notes)


def test_parameters_fixed_by_another_sampler_keep_their_values(sampler: MakeRankingSampler) -> None:
    study = optuna.create_study(sampler=optuna.samplers.PartialFixedSampler({"lr": 0.3}, sampler()))
    study.optimize(TASK, n_trials=12)
    assert {trial.params["lr"] for trial in study.trials} == {0.3}
    # A ranking that took `lr` for its own would propose the same choice and depth again, with another `lr` that the
    # objective never uses.
    for receipt in pellucid.receipts(study)[1:]:
        assert "lr" not in receipt.params
        assert "`lr` is fixed outside this sampler" in receipt.phase


def test_ask_and_tell_with_a_space_that_is_given(sampler: MakeRankingSampler) -> None:
    study = optuna.create_study(sampler=sampler())
    space = {**TASK_SPACE, "momentum": FloatDistribution(0.0, 1.0)}
    trials = [study.ask(space) for _ in range(5)]
    assert distinct([study.trials[t.number] for t in trials]) == 5
    for trial in trials:
        study.tell(trial, float(trial.number))
    assert only_rankings(study)


def test_pruners_that_show_a_part_of_the_study(sampler: MakeRankingSampler) -> None:
    def reporting(trial: Trial) -> float:
        value = TASK(trial)
        for step in range(4):
            trial.report(value / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
    study = optuna.create_study(sampler=sampler(), pruner=pruner)
    study.optimize(reporting, n_trials=12)
    assert only_rankings(study)


def test_several_objectives_are_refused(sampler: MakeRankingSampler) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    with pytest.raises(ValueError, match="RankingSampler works on studies with one objective"):
        study.optimize(lambda trial: (TASK(trial), 0.0), n_trials=1)
