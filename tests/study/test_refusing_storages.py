"""Storages that refuse to be written to, entirely or in part."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.study import Study
from tests.helpers import (
    COMPLETE,
    RECEIPT_KEY,
    STUDY,
    assert_rebuilt_exactly,
    bowl,
    kinds,
    messages,
    new_study,
    states,
    wide,
)

import pellucid


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A stored study of ten trials, opened so that nothing can be written."""
    path = tmp_path_factory.mktemp("read-only") / "study.db"
    new_study(storage=f"sqlite:///{path}").optimize(bowl, n_trials=10)
    return optuna.load_study(
        study_name=STUDY,
        storage=f"sqlite:///file:{path}?mode=ro&uri=true",
        sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=3),
    )


def test_receipts_of_a_read_only_storage_can_be_read(read_only: Study) -> None:
    assert kinds(read_only) == {i: "startup" if i < 3 else "model" for i in range(10)}


def test_proposals_of_a_read_only_storage_can_be_rebuilt(read_only: Study) -> None:
    assert_rebuilt_exactly(read_only, 7)


def test_a_read_only_storage_has_a_recommendation(read_only: Study) -> None:
    recommendation = pellucid.recommend(read_only)
    assert recommendation.params == read_only.trials[recommendation.trial].params
    assert recommendation.n_trials == 10


def test_optimising_a_read_only_storage_gives_optunas_error(read_only: Study) -> None:
    with pytest.raises(optuna.exceptions.StorageInternalError) as error:
        read_only.optimize(bowl, n_trials=1)
    assert "readonly" in str(error.value.__cause__)
    assert len(read_only.trials) == 10


class Refusing(InMemoryStorage):
    """Refuses every system attribute whose name ends like this."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        if key.startswith(RECEIPT_KEY) and key.endswith(self.ending):
            raise OSError("disk full")
        super().set_trial_system_attr(trial_id, key, value)


def test_a_storage_that_refuses_receipts_costs_the_receipts_and_not_the_trials(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = new_study(storage=Refusing(""))
    study.optimize(bowl, n_trials=8)
    assert states(study) == [COMPLETE] * 8
    assert pellucid.receipts(study) == []
    warned = [message for message in messages(caplog) if "disk full" in message]
    assert [i for i in range(8) if any(f"trial {i} " in message for message in warned)] == list(range(8))


def test_a_storage_that_refuses_receipts_still_gets_the_proposals_of_the_model() -> None:
    refused, stored = new_study(storage=Refusing("")), new_study()
    refused.optimize(bowl, n_trials=4)
    stored.optimize(bowl, n_trials=4)
    assert kinds(stored)[3] == "model"
    assert refused.trials[3].params == stored.trials[3].params


def test_a_study_goes_on_if_the_storage_refuses_one_part_of_a_receipt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = new_study(storage=Refusing(":1"))
    study.optimize(wide, n_trials=7)
    assert states(study) == [COMPLETE] * 7
    assert any("disk full" in message for message in messages(caplog))
    assert [m for m in messages(caplog) if "model failed" in m] == []
    assert set(kinds(study).values()) == {"startup"}
