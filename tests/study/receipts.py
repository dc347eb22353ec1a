"""Studies whose receipts were edited, for tests of code that reads them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, create_trial
from tests.helpers import COMPLETE, RECEIPT_KEY, bowl, kinds, messages, new_study, states

import pellucid


@functools.cache
def healthy(objective: Callable[[Trial], float] = bowl) -> tuple[FrozenTrial, ...]:
    """Eight trials as the sampler leaves them: three to begin with, five by the model."""
    study = new_study()
    study.optimize(objective, n_trials=8)
    assert {i: kind for i, kind in kinds(study).items() if i >= 3} == dict.fromkeys(range(3, 8), "model")
    return tuple(study.trials)


def with_receipts(attributes: dict[int, dict[str, Any]], objective: Callable[[Trial], float] = bowl) -> Study:
    """A study of those eight trials, some with these attributes in place of their receipts."""
    study = new_study()
    for trial in healthy(objective):
        study.add_trial(
            create_trial(
                params=trial.params,
                distributions=trial.distributions,
                value=trial.value,
                system_attrs=attributes.get(trial.number, trial.system_attrs),
            )
        )
    return study


def receipt_of(number: int, objective: Callable[[Trial], float] = bowl) -> str:
    stored = healthy(objective)[number].system_attrs
    return "".join(stored[f"{RECEIPT_KEY}:{i}"] for i in range(len(stored)))


def chunked(text: str) -> dict[str, str]:
    return {f"{RECEIPT_KEY}:{i}": text[2045 * i : 2045 * (i + 1)] for i in range(len(text) // 2045 + 1)}


def edited(number: int, changes: dict[str, Any]) -> dict[str, str]:
    """The receipt of a trial with other fields; `...` takes a field out."""
    data = {**json.loads(receipt_of(number)), **changes}
    return chunked(json.dumps({k: v for k, v in data.items() if v is not ...}))


def assert_goes_on(study: Study, objective: Callable[[Trial], float] = bowl) -> None:
    """Four more trials, all by the model."""
    study.optimize(objective, n_trials=4)
    assert states(study) == [COMPLETE] * 12
    last = {receipt.trial: receipt.kind for receipt in pellucid.receipts(study)[-4:]}
    assert last == dict.fromkeys(range(8, 12), "model")


def assert_left_out(study: Study, unreadable: Iterable[int], caplog: pytest.LogCaptureFixture) -> None:
    """`receipts` warns of each of these trials and returns the receipts of all others."""
    caplog.clear()
    numbers = [receipt.trial for receipt in pellucid.receipts(study)]
    assert numbers == [trial.number for trial in study.trials if trial.number not in set(unreadable)]
    for number in unreadable:
        assert any(f"rial {number}" in message for message in messages(caplog))
