"""When the fallback proposes: after enough trials, and where earlier studies mislead."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState
from tests.helpers import TASK, MakeRankingSampler, kinds, messages, only_rankings, phases, run, states, task

import pellucid

pytest.importorskip("torch")


def test_the_fallback_takes_over_after_the_set_number_of_trials_and_says_so(study: Study) -> None:
    turns = {11: "model", 14: "model", 17: "model", 20: "model", 21: "model", 22: "model", 23: "model"}
    assert kinds(study) == {number: turns.get(number, "ranking") for number in range(24)}
    assert set(phases(study)[20:]) == {"The fallback proposed it: the ranking hands over after 20 trials."}
    third = "The fallback proposed it: every third proposal from 10 trials on is the fallback's."
    assert [phases(study)[i] for i in (11, 14, 17)] == [third] * 3
    left = [receipt.ranking for receipt in pellucid.receipts(study)[10:20] if receipt.ranking]
    assert {ranking.turn for ranking in left} == {"transferred", "tuned"}
    assert str(pellucid.receipts(study)[-1]).endswith("the ranking hands over after 20 trials.")


def test_never_handing_over_goes_on_ranking(sampler: MakeRankingSampler) -> None:
    done = run(optuna.samplers.RandomSampler(seed=0), 40)
    for hand_over, kind in ((None, "ranking"), (30, "model"), (41, "ranking")):
        study = optuna.create_study(sampler=sampler(hand_over=hand_over))
        study.add_trials(done.trials)
        study.optimize(TASK, n_trials=1)
        assert kinds(study) == {40: kind}


def test_only_trials_with_a_value_count_for_the_hand_over(sampler: MakeRankingSampler) -> None:
    study = run(sampler(hand_over=4), 12, lambda trial: math.nan if TASK(trial) and trial.number % 2 else TASK(trial))
    # From two values on every third would be the fallback's, which needs more of them for a model.
    assert [kinds(study)[i] for i in range(12)] == ["ranking"] * 7 + ["startup"] * 5


def test_the_fallback_that_was_given_is_the_one_that_proposes(sampler: MakeRankingSampler) -> None:
    fallback = pellucid.BayesianSampler(seed=7, n_startup_trials=2, acquisition=pellucid.acquisition.EI())
    study = run(sampler(hand_over=3, fallback=fallback), 5)
    last = pellucid.receipts(study)[-1]
    assert last.acquisition is not None
    assert (last.kind, last.acquisition.name, last.seed) == ("model", "EI", 7)


# ------------------------------------------------------------------------------- earlier studies that mislead


def test_earlier_studies_that_mislead_are_noticed_and_named_in_the_receipt(sampler: MakeRankingSampler) -> None:
    noticed = 0
    for seed in range(5):
        study = run(sampler(seed=seed), 22, task(0.3, -1.0))
        words = [phase for phase in phases(study) if "earlier studies mislead here, because" in phase]
        noticed += bool(words)
        assert all("came out worse (Kendall's tau -0." in phase for phase in words)
        assert all(receipt.kind != "ranking" for receipt in pellucid.receipts(study) if receipt.phase)
        assert not phases(study)[9]
    assert noticed >= 4


@pytest.mark.parametrize(
    ("seeds", "mistakes"), [(range(5), 0), pytest.param(range(20), 1, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_earlier_studies_that_help_are_not_taken_for_misleading(
    sampler: MakeRankingSampler, seeds: range, mistakes: int
) -> None:
    studies = [run(sampler(seed=seed), 12, task(0.1 * (seed % 10) - 0.5)) for seed in seeds]
    assert sum(not only_rankings(study) for study in studies) <= mistakes


def test_random_trials_of_a_task_turned_round_are_enough_to_notice(sampler: MakeRankingSampler) -> None:
    study = run(optuna.samplers.RandomSampler(seed=1), 12, task(0.3, -1.0))
    study.sampler = sampler()
    study.optimize(task(0.3, -1.0), n_trials=1)
    assert "earlier studies mislead here" in phases(study)[0]
    helped = run(optuna.samplers.RandomSampler(seed=1), 12)
    helped.sampler = sampler()
    helped.optimize(TASK, n_trials=1)
    assert kinds(helped) == {12: "ranking"}


def test_a_model_that_did_not_help_on_held_out_studies_is_not_used(
    ranker: Any, sampler: MakeRankingSampler, caplog: pytest.LogCaptureFixture
) -> None:
    from pellucid.surrogates.ranking.ranker import Ranker

    card = ranker.model.card
    useless = replace(card, checks=tuple(replace(check, regret=(1.0, 1.0, 1.0)) for check in card.checks))
    assert useless.helps is False
    study = run(sampler(model=Ranker.of(replace(ranker.model, card=useless))), 3)
    assert "ranking" not in kinds(study).values()
    assert "its order was no better than a random one" in phases(study)[0]
    assert len([message for message in messages(caplog) if "no better than a random one" in message]) == 1
    untested = Ranker.of(replace(ranker.model, card=replace(card, checks=())))
    assert only_rankings(run(sampler(model=untested), 2))


def test_a_ranking_that_fails_is_logged_and_the_study_goes_on(
    sampler: MakeRankingSampler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pellucid.surrogates.ranking.ranker import StudyRanker

    def fails(*_: Any) -> None:
        raise ArithmeticError("on purpose")

    monkeypatch.setattr(StudyRanker, "fit", fails)
    study = run(sampler(), 3)
    assert states(study) == [TrialState.COMPLETE] * 3
    assert "the ranking failed: ArithmeticError: on purpose" in phases(study)[2]
    assert any("the ranking failed (on purpose)" in message for message in messages(caplog))
