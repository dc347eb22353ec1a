"""Study <-> records: the only file that touches Optuna's private names, and the only one that writes to a storage.

Receipts live in the trial's system attributes under `pellucid:receipt:0`, `pellucid:receipt:1`, ...: JSON cut into
chunks that every relational storage accepts.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from pellucid.numerics import Array
from pellucid.records import Receipt, RecordError

RECEIPT_KEY = "pellucid:receipt"
NOISE_ATTRIBUTE = "pellucid:noise_variance"
CHUNK = 2045
_logger = logging.getLogger("pellucid")


def require_single_objective(study: Study, who: str) -> None:
    if len(study.directions) != 1:
        raise ValueError(
            f"{who} works on studies with one objective, but this study has {len(study.directions)}. "
            "Use one of Optuna's multi-objective samplers for it."
        )


def sign(study: Study) -> float:
    """+1 when the study minimises, -1 when it maximises: loss = sign * value."""
    return -1.0 if study.directions[0] == StudyDirection.MAXIMIZE else 1.0


def trials(study: Study) -> list[FrozenTrial]:
    """All trials by number. They are the storage's own objects: read, never change."""
    return study.get_trials(deepcopy=False)


@dataclass(frozen=True)
class Observations:
    """What a surrogate can learn from: finished trials with a usable value, as losses (smaller is better)."""

    numbers: tuple[int, ...]
    configurations: tuple[Mapping[str, Any], ...]
    losses: Array
    noise_variance: Array | None
    complete: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def select(self, keep: Sequence[int]) -> Observations:
        return Observations(
            tuple(self.numbers[i] for i in keep),
            tuple(self.configurations[i] for i in keep),
            self.losses[list(keep)],
            None if self.noise_variance is None else self.noise_variance[list(keep)],
            tuple(self.complete[i] for i in keep),
        )


def observations(found: Sequence[FrozenTrial], loss_sign: float) -> Observations:
    """Complete trials, and pruned ones by their last intermediate value (never as better than the median complete trial).

    Infinite values count as the worst (or best) finite value seen; trials without a number are left out.
    """
    complete, pruned = [], []
    for trial in found:
        if trial.state == TrialState.COMPLETE:
            value = None if trial.values is None else trial.values[0]
            if value is not None and not math.isnan(value):
                complete.append((trial, loss_sign * value))
        elif trial.state == TrialState.PRUNED and trial.intermediate_values:
            value = trial.intermediate_values[max(trial.intermediate_values)]
            if not math.isnan(value):
                pruned.append((trial, loss_sign * value))
    if complete and pruned:
        floor = float(np.median([loss for _, loss in complete]))
        pruned = [(trial, max(loss, floor)) for trial, loss in pruned]
    usable = sorted(complete + pruned, key=lambda pair: pair[0].number) if pruned else complete
    losses = _finite(np.array([loss for _, loss in usable], dtype=float))
    noise = np.array([_noise_variance(trial) for trial, _ in usable], dtype=float)
    return Observations(
        tuple(trial.number for trial, _ in usable),
        tuple(trial.params for trial, _ in usable),
        losses,
        None if np.isnan(noise).all() else noise,
        tuple(trial.state == TrialState.COMPLETE for trial, _ in usable),
    )


def _finite(losses: Array) -> Array:
    finite = np.isfinite(losses)
    if finite.all():
        return losses
    low, high = (float(losses[finite].min()), float(losses[finite].max())) if finite.any() else (0.0, 0.0)
    return np.clip(losses, low, high)


def _noise_variance(trial: FrozenTrial) -> float:
    """The user's own estimate of the variance of this trial's value, NaN when there is none (or it makes no sense)."""
    given = trial.user_attrs.get(NOISE_ATTRIBUTE)
    if isinstance(given, (int, float)) and not isinstance(given, bool) and math.isfinite(given) and given >= 0:
        return float(given)
    return math.nan


def distributions(found: Sequence[FrozenTrial]) -> dict[str, tuple[BaseDistribution, int]]:
    """Every parameter that finished trials had, with its newest distribution and the trial that had it."""
    out: dict[str, tuple[BaseDistribution, int]] = {}
    for trial in reversed(found):
        if trial.state not in (TrialState.COMPLETE, TrialState.PRUNED):
            continue
        if trial.distributions.keys() <= out.keys():
            continue
        for name, distribution in trial.distributions.items():
            out.setdefault(name, (distribution, trial.number))
    return dict(sorted(out.items()))


def pending(found: Sequence[FrozenTrial], but: int) -> dict[int, dict[str, Any]]:
    """Configurations of running trials other than `but`: what they asked for so far, completed by what was proposed to them."""
    out: dict[int, dict[str, Any]] = {}
    for trial in found:
        if trial.state == TrialState.RUNNING and trial.number != but:
            try:
                receipt = read_receipt(trial)
            except RecordError:
                receipt = None
            proposed = receipt.params if receipt is not None else {}
            configuration = {**proposed, **trial.params}
            if configuration:
                out[trial.number] = configuration
    return out


def failed(found: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Trials that ended without a value the surrogate could use."""
    return [
        t
        for t in found
        if t.state == TrialState.FAIL or (t.state == TrialState.PRUNED and not t.intermediate_values)
    ]


def write_receipt(study: Study, trial: FrozenTrial, receipt: Receipt) -> None:
    """Store a receipt. A storage that refuses it costs the explanation, not the trial."""
    text = receipt.to_json()
    storage = study._storage
    try:
        for i in range(0, len(text), CHUNK):
            storage.set_trial_system_attr(trial._trial_id, f"{RECEIPT_KEY}:{i // CHUNK}", text[i : i + CHUNK])
    except Exception as error:  # Any storage backend, any of its errors: the study must go on.
        _logger.warning("The receipt of trial %d could not be stored (%s); the trial goes on.", trial.number, error)


def read_receipt(trial: FrozenTrial) -> Receipt | None:
    """The receipt of a trial; None when it has none; RecordError when it is damaged or too new."""
    attributes = trial.system_attrs
    if f"{RECEIPT_KEY}:0" not in attributes:
        return None
    chunks = []
    while f"{RECEIPT_KEY}:{len(chunks)}" in attributes:
        chunks.append(attributes[f"{RECEIPT_KEY}:{len(chunks)}"])
    if not all(isinstance(chunk, str) for chunk in chunks):
        raise RecordError(f"The receipt of trial {trial.number} is damaged: its parts must be text.")
    return Receipt.from_json("".join(chunks))


def receipts(study: Study) -> list[Receipt]:
    """Every readable receipt of the study, by trial number. Damaged ones and those of newer versions are reported and skipped."""
    out = []
    for trial in trials(study):
        try:
            receipt = read_receipt(trial)
        except RecordError as error:
            _logger.warning("Trial %d: %s It is left out.", trial.number, error)
            continue
        if receipt is not None:
            out.append(receipt)
    return out


def last_model_receipt(found: Sequence[FrozenTrial]) -> Receipt | None:
    """The newest readable receipt of kind 'model'; damaged ones are passed over."""
    for trial in reversed(found):
        try:
            receipt = read_receipt(trial)
        except RecordError:
            continue
        if receipt is not None and receipt.kind == "model":
            return receipt
    return None


def plain(value: Any) -> Any:
    """A parameter value as JSON can carry it (Optuna's choices already can; anything else becomes its text)."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)
    return value
