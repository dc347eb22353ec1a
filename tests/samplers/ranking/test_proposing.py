"""Proposals of the ranking sampler from earlier studies, from the first trial on."""

from __future__ import annotations

import json

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import create_trial
from tests.helpers import (
    TASK,
    TASK_SPACE,
    MakeRankingSampler,
    distinct,
    kinds,
    messages,
    only_rankings,
    params,
    phases,
    ranking_receipts,
    run,
)

import pellucid

pytest.importorskip("torch")


def test_proposals_beat_random_ones_from_the_first_trial_on(sampler: MakeRankingSampler) -> None:
    random = run(optuna.samplers.RandomSampler(seed=5), 60)
    middle, tenth = np.quantile([t.value for t in random.trials], [0.5, 0.1])
    for seed in range(3):
        study = run(sampler(seed=seed), 8)
        values = [t.value for t in study.trials]
        assert values[0] < tenth
        assert np.mean(values) < 0.25 * middle
        assert only_rankings(study)


def test_the_first_trial_gets_values_of_the_model_although_the_study_has_no_parameters_yet(study: Study) -> None:
    first = pellucid.receipts(study)[0]
    assert first.params == study.trials[0].params
    assert first.ranking is not None
    assert first.ranking.rank < 0.05 * first.ranking.candidates
    assert first.fitted_on == ""
    assert first.best_value is None


def test_same_seed_same_proposals_and_another_seed_others(study: Study, sampler: MakeRankingSampler) -> None:
    assert params(run(sampler(hand_over=20), 24)) == params(study)
    assert params(run(sampler(seed=1), 5)) != params(study)[:5]


def test_no_seed_means_a_new_one(sampler: MakeRankingSampler) -> None:
    assert params(run(sampler(seed=None), 3)) != params(run(sampler(seed=None), 3))


def test_receipts_say_whether_the_transferred_or_the_tuned_ranking_proposed(sampler: MakeRankingSampler) -> None:
    study = run(sampler(), 20)
    rankings = {receipt.trial: receipt.ranking for receipt in ranking_receipts(study)}
    assert list(rankings) == list(range(20))
    assert [rankings[i].turn for i in range(9)] == ["transferred"] * 9
    assert all(ranking.turn == ("tuned" if i % 2 else "transferred") for i, ranking in rankings.items() if i >= 9)
    assert [rankings[i].epochs for i in (8, 9, 10, 19)] == [0, 1, 0, 11]
    assert {ranking.studies for ranking in rankings.values()} == {7}
    assert {ranking.model for ranking in rankings.values()} == {rankings[0].model}
    assert len(rankings[0].model) == 16
    texts = [str(receipt) for receipt in pellucid.receipts(study)]
    assert "by a model of 7 earlier studies." in texts[10]
    assert "by a model of 7 earlier studies, tuned to this one." in texts[19]


def test_conditional_parameters_are_proposed_with_their_parent(study: Study) -> None:
    rankings = [receipt for receipt in pellucid.receipts(study) if receipt.kind == "ranking"]
    assert len(rankings) >= 6
    for receipt in rankings:
        assert ("momentum" in receipt.params) == (receipt.params["opt"] == "sgd")
        assert receipt.conditions == {"momentum": ["opt", [1]]}
        assert receipt.params == study.trials[receipt.trial].params


def test_a_child_that_no_trial_has_had_gets_the_value_of_the_model(sampler: MakeRankingSampler) -> None:
    study = optuna.create_study(sampler=sampler())
    study.add_trial(create_trial(params={"lr": 0.01, "opt": "adam", "depth": 5}, distributions=TASK_SPACE, value=1.0))
    study.optimize(TASK, n_trials=1)
    [receipt] = pellucid.receipts(study)
    assert receipt.params["opt"] == "sgd"
    assert study.trials[1].params["momentum"] == receipt.params["momentum"]
    assert receipt.params["momentum"] > 0.5


# ------------------------------------------------------------------------------------- acquisitions, no model


def test_acquisitions_and_references_propose_differently_and_validly(sampler: MakeRankingSampler) -> None:
    done = run(optuna.samplers.RandomSampler(seed=2), 16)
    chosen = {}
    for acquisition in ("mean", "ucb", "ei"):
        for reference in ("incumbent", "last"):
            study = optuna.create_study(sampler=sampler(acquisition=acquisition, reference=reference))
            study.add_trials(done.trials)
            study.optimize(TASK, n_trials=4)
            assert set(kinds(study).values()) == {"ranking"}
            assert distinct(study.trials) == 20
            ranking = pellucid.receipts(study)[0].ranking
            assert ranking is not None
            assert (ranking.acquisition, ranking.reference) == (acquisition, reference)
            assert np.median([t.value for t in study.trials[16:]]) < np.median([t.value for t in done.trials])
            chosen[acquisition, reference] = json.dumps(params(study)[16:])
    assert chosen["mean", "incumbent"] == chosen["mean", "last"]
    assert chosen["ucb", "incumbent"] == chosen["ucb", "last"]
    different = {chosen[key] for key in [("mean", "last"), ("ucb", "last"), ("ei", "incumbent"), ("ei", "last")]}
    assert len(different) == 4


@pytest.mark.parametrize("acquisition", ["mean", "ucb", "ei"])
def test_every_acquisition_proposes_before_the_first_observation(sampler: MakeRankingSampler, acquisition: str) -> None:
    study = run(sampler(acquisition=acquisition), 2)
    assert only_rankings(study)
    assert study.best_value < 1.0


def test_without_a_model_the_study_alone_teaches_the_ranking(
    sampler: MakeRankingSampler, caplog: pytest.LogCaptureFixture
) -> None:
    fallback = pellucid.BayesianSampler(n_startup_trials=8, seed=0)
    study = run(sampler(model=None, fallback=fallback), 12)
    assert [kinds(study)[i] for i in range(1, 12)] == ["startup"] * 7 + ["ranking"] * 4
    assert "too few trials have a value yet" in phases(study)[3]
    last = pellucid.receipts(study)[-1]
    assert last.ranking is not None
    assert (last.ranking.turn, last.ranking.model, last.ranking.studies) == ("alone", "", 0)
    assert last.ranking.epochs > 0
    assert "by an ensemble trained on this study" in str(last)
    assert np.median([t.value for t in study.trials[9:]]) < 0.5 * np.median([t.value for t in study.trials[:8]])
    assert params(run(sampler(model=None, fallback=fallback), 9)) == params(study)[:9]
    assert messages(caplog) == []
