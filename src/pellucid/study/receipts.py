"""Receipts as they are stored with trials: JSON cut into parts that every relational storage accepts.

A trial's system attributes hold the parts under `pellucid:receipt:0`, `pellucid:receipt:1`, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from optuna.trial import FrozenTrial

from pellucid.provenance import ModelReceipt, ModelState, Receipt
from pellucid.words import RecordError, UnreadableRecordError

RECEIPT_KEY = "pellucid:receipt"
# Optuna's relational storages keep an attribute in a column of 2048 characters.
PART_LENGTH = 2045


def receipt_parts(receipt: Receipt, at_least: int = 0) -> dict[str, str]:
    """The attributes that store a receipt. `at_least`: parts of an earlier receipt of the trial; those that are no
    longer needed are emptied."""
    parts = split(receipt.to_json())
    parts += [""] * (at_least - len(parts))
    return {_key(i): part for i, part in enumerate(parts)}


@lru_cache(maxsize=64)
def _key(part: int) -> str:
    """The attribute of a part: a text that is built once is found faster in a dictionary."""
    return f"{RECEIPT_KEY}:{part}"


def split(text: str) -> list[str]:
    return [text[i : i + PART_LENGTH] for i in range(0, len(text), PART_LENGTH)]


def read_receipt(trial: FrozenTrial) -> Receipt | None:
    """The receipt of a trial, or None. Raises UnreadableRecordError if it is damaged or written by a newer version."""
    attributes = trial.system_attrs
    if not attributes:  # Most trials of a large study that was begun elsewhere.
        return None
    if _key(0) not in attributes:
        if has_receipt(trial):
            raise UnreadableRecordError(f"The receipt of trial {trial.number} is damaged: its first part is missing.")
        return None
    parts: list[Any] = []
    while _key(len(parts)) in attributes:
        parts.append(attributes[_key(len(parts))])
    if not all(isinstance(part, str) for part in parts):
        raise UnreadableRecordError(f"The receipt of trial {trial.number} is damaged: its parts must be text.")
    return _parsed(tuple(parts))


def has_receipt(trial: FrozenTrial) -> bool:
    """Whether a trial has a receipt, readable or not."""
    return any(key.startswith(f"{RECEIPT_KEY}:") for key in trial.system_attrs)


def readable_receipt(trial: FrozenTrial) -> Receipt | None:
    """The receipt of a trial; None if it has none that can be read."""
    try:
        return read_receipt(trial)
    except RecordError:
        return None


def own_receipt(trial: FrozenTrial) -> Receipt | None:
    """The readable receipt that was written for this trial. A copied one refers to trials by the numbers that they had
    elsewhere."""
    receipt = readable_receipt(trial)
    return receipt if receipt is not None and receipt.trial == trial.number else None


# Parsed receipts that are kept, for studies of 20,000 trials and more: policies at every proposal, and several answers,
# read all receipts in order, so that a smaller cache would have forgotten each of them before it is read again. Then
# reading took 10 s of a report on 20,000 proposals, and answers held copies of the same receipts.
_MOST_PARSED = 32_768


@lru_cache(maxsize=_MOST_PARSED)
def _parsed(parts: tuple[str, ...]) -> Receipt:
    """Receipts are found by their parts: texts that a storage keeps need not be joined and hashed again."""
    return Receipt.from_json("".join(parts))


def newest_model_receipts(trials: Sequence[FrozenTrial], before: int) -> Iterator[ModelReceipt]:
    """Own receipts of kind 'model' of the trials before number `before`, the newest first."""
    for trial in reversed(trials):
        receipt = own_receipt(trial) if trial.number < before else None
        if isinstance(receipt, ModelReceipt):
            yield receipt


def model_receipts(trials: Sequence[FrozenTrial], before: int) -> tuple[ModelReceipt, ...]:
    """All of them, by trial number."""
    return tuple(newest_model_receipts(trials, before))[::-1]


def last_model_receipt(
    trials: Sequence[FrozenTrial], kernel: str, *, warped: bool = True, index: int = 0
) -> tuple[ModelReceipt, ModelState] | None:
    """The newest own receipt of a model of the objective with this index that has this kernel, and that model.

    `warped`: of a model that was free to choose an output warp. Models that learn about effects were not, so they
    continue each other (`warped=False`), or any other model without a warp.
    """
    for trial in reversed(trials):
        receipt = own_receipt(trial)
        if not isinstance(receipt, ModelReceipt):
            continue
        model = receipt.model(index)
        if model is None or model.hyperparameters.kernel != kernel:
            continue
        learns = bool(receipt.acquisition.learns_about)
        if (not learns) if warped else (learns or model.hyperparameters.warp is None):
            return receipt, model
    return None
