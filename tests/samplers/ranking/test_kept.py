"""The record that a study keeps of the ranking that proposed its trials, and explanations of such a study."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from tests.helpers import TASK, MakeRankingSampler, kinds, messages, page_data, params, ranking_receipts, run

import pellucid
from pellucid.provenance import RankingReceipt, Receipt
from pellucid.study.storage import MODEL_KEY, kept_model
from pellucid.words import RecordError

pytest.importorskip("torch")


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_the_model_is_kept_with_the_study_once(
    ranker: Any, sampler: MakeRankingSampler, tmp_path: Path, kind: str,
    monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    storage: Any = {
        "memory": optuna.storages.InMemoryStorage,
        "sqlite": lambda: optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}"),
        "journal": lambda: optuna.storages.JournalStorage(
            optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
        ),
    }[kind]()
    written: list[str] = []
    write = type(storage).set_study_system_attr

    def watched(self: Any, study_id: int, key: str, value: Any) -> None:
        written.append(key)
        write(self, study_id, key, value)

    monkeypatch.setattr(type(storage), "set_study_system_attr", watched)
    for _ in range(2):
        study = optuna.create_study(study_name="s", storage=storage, sampler=sampler(), load_if_exists=True)
        study.optimize(TASK, n_trials=2)
    [name] = {receipt.ranking.model for receipt in ranking_receipts(study)}
    assert name == ranker.name
    assert kept_model(study, name) == ranker.data
    assert len(written) == len(set(written))
    assert max(len(str(v)) for v in storage.get_study_system_attrs(study._study_id).values()) <= 2045


def test_a_sampler_keeps_its_model_with_every_study_also_of_the_same_name(
    ranker: Any, sampler: MakeRankingSampler
) -> None:
    shared = sampler()
    for _ in range(2):
        study = optuna.create_study(study_name="s", sampler=shared)
        study.optimize(TASK, n_trials=1)
        assert kept_model(study, ranker.name) == ranker.data


def test_a_study_that_was_given_the_trials_of_another_one_keeps_the_model_itself(
    ranker: Any, study: Study, sampler: MakeRankingSampler
) -> None:
    other = optuna.create_study(sampler=sampler())
    other.add_trials(study.trials[:4])
    other.optimize(TASK, n_trials=1)
    assert params(other) == params(study)[:5]
    assert kept_model(other, ranker.name) == ranker.data
    assert pellucid.explain_proposal(other, 4).contributions == pellucid.explain_proposal(study, 4).contributions


class RefusesOnce(optuna.storages.InMemoryStorage):
    refused = False

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        if not self.refused:
            self.refused = True
            raise OSError("database is locked")
        super().set_study_system_attr(study_id, key, value)


def test_a_storage_that_did_not_take_the_model_at_first_is_asked_again(
    ranker: Any, sampler: MakeRankingSampler
) -> None:
    study = optuna.create_study(storage=RefusesOnce(), sampler=sampler())
    study.optimize(TASK, n_trials=2)
    assert kept_model(study, ranker.name) == ranker.data


class Refuses(optuna.storages.InMemoryStorage):
    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        raise OSError("the disk is full")


def test_a_storage_that_does_not_take_the_model_costs_nothing_but_a_warning(
    ranker: Any, study: Study, sampler: MakeRankingSampler, caplog: pytest.LogCaptureFixture
) -> None:
    refused = optuna.create_study(storage=Refuses(), sampler=sampler())
    refused.optimize(TASK, n_trials=4)
    assert params(refused) == params(study)[:4]
    assert messages(caplog) == [
        "The ranking model could not be stored with the study (the disk is full); the study goes on."
    ]
    with pytest.raises(RecordError, match="does not have the ranking model"):
        kept_model(refused, ranker.name)


def test_a_model_that_cannot_be_read_does_not_repeat_what_the_storage_says(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise RuntimeError("no connection to postgresql://me:secret@host/db")

    monkeypatch.setattr(study._storage, "get_study_system_attrs", refuse)
    with pytest.raises(pellucid.NoAnswerYet) as raised:
        kept_model(study, "abc")
    sentence = "The ranking model `abc` could not be read from the storage (RuntimeError): ask again."
    assert str(raised.value) == sentence
    assert raised.value.__suppress_context__


def test_no_model_is_kept_where_it_proposes_nothing(sampler: MakeRankingSampler) -> None:
    study = run(pellucid.RankingSampler(seed=0), 2)
    assert study._storage.get_study_system_attrs(study._study_id) == {}


@pytest.mark.parametrize("damage", ["gone", "number", "text", "none", "negative"])
def test_a_kept_model_that_was_damaged_is_refused(ranker: Any, sampler: MakeRankingSampler, damage: str) -> None:
    study = run(sampler(), 1)
    key = f"{MODEL_KEY}:{ranker.name}"
    change = {
        "gone": (key, None),
        "number": (f"{key}:0", 3),
        "text": (f"{key}:0", '"no base 85"'),
        "none": (key, 0),
        "negative": (key, -1),
    }[damage]
    study._storage.set_study_system_attr(study._study_id, *change)
    with pytest.raises(RecordError):
        kept_model(study, ranker.name)


def test_a_damaged_number_of_parts_takes_no_memory(ranker: Any, sampler: MakeRankingSampler) -> None:
    study = run(sampler(), 1)
    key = f"{MODEL_KEY}:{ranker.name}"
    n_parts = study._storage.get_study_system_attrs(study._study_id)[key]
    study._storage.set_study_system_attr(study._study_id, key, 10**7)
    tracemalloc.start()
    with pytest.raises(RecordError, match=f": part {n_parts} of 10000000 is missing. A trial .* stores it again.$"):
        kept_model(study, ranker.name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7, "fewer bytes than parts"
    study.sampler = sampler()
    study.optimize(TASK, n_trials=1)
    assert kept_model(study, ranker.name) == ranker.data


def ranked(study: Study) -> RankingReceipt:
    """A receipt of a ranking's proposal: whose turn each trial is depends on the values before it."""
    return ranking_receipts(study)[0]


def test_receipts_survive_json(study: Study) -> None:
    for receipt in pellucid.receipts(study):
        assert Receipt.from_json(receipt.to_json()) == receipt
        assert len(receipt.to_json()) < 4000


@pytest.mark.parametrize(
    "change",
    [
        {"turn": "guessed"}, {"turn": 3}, {"epochs": -1}, {"epochs": 1.5}, {"rank": "first"}, {"sd": None},
        {"candidates": True}, {"studies": "7"}, {"model": None}, {"acquisition": 1}, {"reference": []},
        {"more": 1}, {"turn": None}, {"rank": {}},
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_ranking_in_a_receipt_is_refused(study: Study, change: dict[str, Any]) -> None:
    data = json.loads(ranked(study).to_json())
    data["ranking"].update(change)
    with pytest.raises(RecordError):
        Receipt.from_json(json.dumps(data))


@pytest.mark.parametrize("ranking", [None, 3, "x", [], {}, {"model": "a"}])
def test_a_ranking_of_another_kind_is_refused(study: Study, ranking: Any) -> None:
    data = json.loads(ranked(study).to_json())
    with pytest.raises(RecordError):
        Receipt.from_json(json.dumps({**data, "ranking": ranking}))


def test_a_study_with_damaged_receipts_goes_on(sampler: MakeRankingSampler) -> None:
    study = run(sampler(), 3)
    for number, text in ((0, "{"), (1, '{"version": 99}'), (2, "[]")):
        study.get_trials(deepcopy=False)[number].system_attrs["pellucid:receipt:0"] = text
    study.optimize(TASK, n_trials=2)
    assert kinds(study) == {3: "ranking", 4: "ranking"}


# ------------------------------------------------------------------------------- explanations of such a study


def test_every_explanation_works_on_a_ranked_study(study: Study, tmp_path: Path) -> None:
    assert len(pellucid.receipts(study)) == 24
    history = pellucid.history(study)
    assert len(history.to_frame()) == 24
    assert str(history)
    assert str(pellucid.stopping_verdict(study))
    importance = pellucid.importance(study)
    assert set(importance.to_frame()["name"]) >= {"lr", "opt", "depth"}
    assert set(pellucid.recommend(study).params) >= {"lr", "opt", "depth"}
    assert str(pellucid.partial_dependence(study, "lr"))
    assert str(pellucid.explain_proposal(study, 22))
    pellucid.report(study, tmp_path / "report.html")
    assert "earlier studies" in json.dumps(page_data((tmp_path / "report.html").read_text()))


def test_a_study_of_rankings_alone_is_explained_too(sampler: MakeRankingSampler, tmp_path: Path) -> None:
    study = run(sampler(), 13)
    assert len(pellucid.history(study).to_frame()) == 13
    assert str(pellucid.stopping_verdict(study))
    assert str(pellucid.recommend(study))
    assert str(pellucid.partial_dependence(study, "lr"))
    pellucid.report(study, tmp_path / "report.html")
