"""When the fallback proposes: by turns, after enough trials, and where earlier studies mislead."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.helpers import (
    TASK,
    MakeRankingSampler,
    assert_rebuilt_exactly,
    distinct,
    kinds,
    messages,
    only_rankings,
    phases,
    random_model,
    run,
    states,
    task,
)

import pellucid
from pellucid.provenance import RankingReceipt
from pellucid.search.turns import OPENING, next_turn
from pellucid.study.trials import in_a_step

pytest.importorskip("torch")


def test_the_turns_are_shared_and_then_handed_over_and_receipts_say_so(study: Study) -> None:
    proposers = [kinds(study)[number] for number in range(24)]
    assert proposers[:OPENING] == ["ranking"] * OPENING
    assert {"ranking", "model"} <= set(proposers[OPENING:20])
    assert proposers[20:] == ["model"] * 4
    assert set(phases(study)[20:]) == {"The fallback proposed it: the ranking hands over after 20 trials."}
    assert str(pellucid.receipts(study)[-1]).endswith("the ranking hands over after 20 trials.")
    for receipt in pellucid.receipts(study)[OPENING:20]:
        who = {"transferred": "The ranking of earlier studies", "tuned": "The ranking tuned to this study"}
        name = who[receipt.ranking.turn] if isinstance(receipt, RankingReceipt) else "The model of this study"
        assert receipt.phase.startswith(name)
        assert receipt.phase in str(receipt)


def test_in_a_conditional_space_the_model_makes_its_own_start_and_says_so(study: Study) -> None:
    starts = [receipt for receipt in pellucid.receipts(study) if receipt.kind == "startup"]
    assert {receipt.trial for receipt in starts} <= set(range(OPENING, 10))
    assert starts
    for receipt in starts:
        assert receipt.phase.endswith("did not improve. It starts with trials that cover the space.")


def test_receipts_of_shared_turns_follow_from_the_trials_before_them(study: Study) -> None:
    losses = [trial.value for trial in study.trials]
    names = [r.ranking.turn if isinstance(r, RankingReceipt) else r.kind for r in pellucid.receipts(study)]
    sources: list[Any] = [None if name == "startup" else name for name in names]
    for number in range(OPENING, 20):
        rankings = ("transferred",) if number < 9 else ("tuned", "transferred")
        turn = next_turn(sources[:number], losses[:number], rankings)
        assert (sources[number] or "model") == turn.proposer
        assert phases(study)[number].startswith(turn.words)


def test_model_receipts_of_shared_turns_are_rebuilt_exactly(study: Study) -> None:
    assert_rebuilt_exactly(study, 6)


def test_turns_of_the_fallback_are_not_taken_for_a_search_in_steps(study: Study) -> None:
    assert not any(in_a_step(trial) for trial in study.trials)


def test_a_ranking_that_does_not_improve_leaves_most_turns_to_the_model_of_the_study(
    sampler: MakeRankingSampler,
) -> None:
    study = run(sampler(hand_over=50), 20, lambda trial: TASK(trial) * 0.0 + (trial.number > 0))
    proposers = [kinds(study)[number] for number in range(20)]
    assert proposers[:OPENING] == ["ranking"] * OPENING
    assert proposers[OPENING:].count("ranking") <= 5
    assert distinct(study.trials) == 20


def test_a_finite_space_is_exhausted_by_turns_without_repeats(sampler: MakeRankingSampler) -> None:
    def grid(trial: Trial) -> float:
        return trial.suggest_int("a", 0, 6) + 0.1 * trial.suggest_categorical("b", ["p", "q"]).count("q")

    study = run(sampler(model=random_model(grid), hand_over=50), 14, grid)
    assert set(kinds(study).values()) == {"ranking", "model"}
    assert distinct(study.trials) == 14


def test_a_search_in_steps_as_the_fallback_has_no_turn_before_its_start_is_over(sampler: MakeRankingSampler) -> None:
    fallback = pellucid.TwoStepSampler(n_random=21, n_step1=2, seed=0)
    assert only_rankings(run(sampler(hand_over=50, fallback=fallback), 8))


def test_trials_of_others_count_for_the_hand_over_and_not_for_the_first_proposals(sampler: MakeRankingSampler) -> None:
    done = run(optuna.samplers.RandomSampler(seed=0), 40)
    for hand_over, kind in ((None, "ranking"), (30, "model"), (41, "ranking")):
        study = optuna.create_study(sampler=sampler(hand_over=hand_over))
        study.add_trials(done.trials)
        study.optimize(TASK, n_trials=1)
        assert kinds(study) == {40: kind}


def test_only_trials_with_a_value_count_for_the_hand_over(sampler: MakeRankingSampler) -> None:
    study = run(sampler(hand_over=3), 8, lambda trial: math.nan if TASK(trial) and trial.number % 2 else TASK(trial))
    # The fallback has no model of three trials when it makes all proposals; by turns it would have one.
    assert [kinds(study)[i] for i in range(8)] == ["ranking"] * 5 + ["startup"] * 3


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
    from pellucid.models.ranking.ranker import Ranker

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
    from pellucid.models.ranking.ranker import StudyRanker

    def fails(*_: Any) -> None:
        raise ArithmeticError("on purpose")

    monkeypatch.setattr(StudyRanker, "fit", fails)
    study = run(sampler(), 3)
    assert states(study) == [TrialState.COMPLETE] * 3
    assert "the ranking failed: ArithmeticError: on purpose" in phases(study)[2]
    assert any("the ranking failed (on purpose)" in message for message in messages(caplog))
