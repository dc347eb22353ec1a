"""Study <-> records: the only file that touches Optuna's private names, and the only one that writes to a storage.

Receipts live in the trial's system attributes under `pellucid:receipt:0`, `pellucid:receipt:1`, ...: JSON cut into
chunks that every relational storage accepts.
"""

from __future__ import annotations

import base64
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from pellucid.numerics import Array
from pellucid.records import Receipt, RecordError

RECEIPT_KEY = "pellucid:receipt"
MODEL_KEY = "pellucid:ranker"
NOISE_ATTRIBUTE = "pellucid:noise_variance"
INTERRUPTED_ATTRIBUTE = "pellucid:interrupted"
CHUNK = 2045
_LARGEST_LOSS = 1e306
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
    """What a surrogate can learn from: finished trials with a value, as losses (smaller is better).

    A pruned trial counts by its last intermediate value, but never as better than the median complete trial; an
    infinite value counts as the worst (or best) finite one. Both depend on which trials are in the selection, so
    `losses` is derived from the `raw` ones and a selection derives its own: what is rebuilt is what was fitted.
    """

    numbers: tuple[int, ...]
    configurations: tuple[Mapping[str, Any], ...]
    raw: Array
    noise_variance: Array | None
    complete: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def losses(self) -> Array:
        done = np.array(self.complete, dtype=bool)
        raw = np.clip(self.raw, -_LARGEST_LOSS, _LARGEST_LOSS) if len(self) else self.raw
        finite = np.isfinite(self.raw)
        if finite.any() and not finite.all():
            raw = np.clip(raw, raw[finite].min(), raw[finite].max())
        if done.any() and not done.all():
            raw = np.where(done, raw, np.maximum(raw, np.median(raw[done])))
        return raw

    def select(self, keep: Sequence[int]) -> Observations:
        return Observations(
            tuple(self.numbers[i] for i in keep),
            tuple(self.configurations[i] for i in keep),
            self.raw[list(keep)],
            None if self.noise_variance is None else self.noise_variance[list(keep)],
            tuple(self.complete[i] for i in keep),
        )


def observations(found: Sequence[FrozenTrial], loss_sign: float) -> Observations:
    """Complete trials and pruned trials that reported a value; trials without a number are left out."""
    usable = []
    for trial in found:
        value: float | None = None
        if trial.state == TrialState.COMPLETE:
            values = trial.values  # A property that builds a list: asked for once.
            value = None if values is None else values[0]
        elif trial.state == TrialState.PRUNED and trial.intermediate_values:
            value = trial.intermediate_values[max(trial.intermediate_values)]
        if value is not None and not math.isnan(value):
            usable.append((trial, loss_sign * value))
    given = [trial.user_attrs.get(NOISE_ATTRIBUTE) for trial, _ in usable]
    noise = None if given.count(None) == len(given) else np.array([_noise_variance(one) for one in given], dtype=float)
    return Observations(
        tuple(trial.number for trial, _ in usable),
        tuple(trial.params for trial, _ in usable),
        np.array([loss for _, loss in usable], dtype=float),
        None if noise is None or np.isnan(noise).all() else noise,
        tuple(trial.state == TrialState.COMPLETE for trial, _ in usable),
    )


def _noise_variance(given: object) -> float:
    """The user's own estimate of the variance of a trial's value, NaN when there is none (or it makes no sense)."""
    if isinstance(given, (int, float)) and not isinstance(given, bool) and math.isfinite(given) and given >= 0:
        return float(given)
    return math.nan


def distributions(
    found: Sequence[FrozenTrial], states: Sequence[TrialState] = (TrialState.COMPLETE, TrialState.PRUNED)
) -> dict[str, tuple[BaseDistribution, int]]:
    """Every parameter that finished trials had, with its newest distribution and the trial that had it."""
    out: dict[str, tuple[BaseDistribution, int]] = {}
    for trial in reversed(found):
        if trial.state not in states:
            continue
        if trial.distributions.keys() <= out.keys():
            continue
        for name, distribution in trial.distributions.items():
            out.setdefault(name, (distribution, trial.number))
    return dict(sorted(out.items()))


def pending(found: Sequence[FrozenTrial], but: int) -> dict[int, dict[str, Any]]:
    """Configurations of running trials other than `but`: what they asked for, completed by what they were offered."""
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


def source(found: Sequence[FrozenTrial], name: str, distribution: BaseDistribution) -> int | str:
    """The newest trial that has exactly this distribution for a parameter, or Optuna's JSON when none has."""
    for trial in reversed(found):
        if trial.distributions.get(name) == distribution:
            return trial.number
    return distribution_to_json(distribution)


def distribution_of(found: Mapping[int, FrozenTrial], name: str, where: int | str) -> BaseDistribution:
    """Inverse of `source`."""
    return json_to_distribution(where) if isinstance(where, str) else found[where].distributions[name]


def same_distributions(
    found: Sequence[FrozenTrial], where: Mapping[str, int | str], expected: Sequence[BaseDistribution]
) -> bool:
    """Whether the sources in a receipt still stand for these distributions."""
    by_number = {trial.number: trial for trial in found}
    return all(
        (isinstance(place, str) or place in by_number) and distribution_of(by_number, name, place) == distribution
        for (name, place), distribution in zip(where.items(), expected, strict=True)
    )


def failed(found: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Trials that ended without a value the surrogate could use; an interruption says nothing about a trial."""
    return [
        t
        for t in found
        if (t.state == TrialState.FAIL and not interrupted(t))
        or (t.state == TrialState.PRUNED and not t.intermediate_values)
    ]


def interrupted(trial: FrozenTrial) -> bool:
    """Whether it was the user who ended the trial."""
    return INTERRUPTED_ATTRIBUTE in trial.user_attrs


def write_receipt(study: Study, trial: FrozenTrial, receipt: Receipt, at_least: int = 0) -> int:
    """Store a receipt and say in how many parts. A storage that refuses it costs the explanation, not the trial.

    `at_least`: parts of an earlier receipt of this trial; those that are no longer needed are emptied.
    """
    text = receipt.to_json()
    parts = [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)]
    parts += [""] * (at_least - len(parts))
    storage = study._storage
    try:
        for i, part in enumerate(parts):
            storage.set_trial_system_attr(trial._trial_id, f"{RECEIPT_KEY}:{i}", part)
    except Exception as error:  # Any storage backend, any of its errors: the study must go on.
        _logger.warning("The receipt of trial %d could not be stored (%s); the trial goes on.", trial.number, error)
    return len(parts)


def set_user_attribute(study: Study, name: str, value: str) -> None:
    """Store a sentence on the study; a storage that refuses costs the sentence, not the study."""
    try:
        study.set_user_attr(name, value[:CHUNK])
    except Exception as error:  # Any storage backend, any of its errors: the study must go on.
        _logger.warning("`%s` could not be stored (%s).", name, error)


def keep_model(study: Study, name: str, data: bytes) -> str:
    """Store a model with the study, in as many parts as its storage needs, so that what it chose can be explained from
    the storage alone. Nothing happens when it is there. A storage that refuses costs the explanation, not the study:
    says why it did."""
    text = base64.b85encode(data).decode("ascii")
    parts = [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)]
    storage, key = study._storage, f"{MODEL_KEY}:{name}"
    try:
        # The number of parts comes last: a model that was cut off counts as absent.
        if storage.get_study_system_attrs(study._study_id).get(key) == len(parts):
            return ""
        for i, part in enumerate(parts):
            storage.set_study_system_attr(study._study_id, f"{key}:{i}", part)
        storage.set_study_system_attr(study._study_id, key, len(parts))
    except Exception as error:  # Any storage backend, any of its errors: the study must go on.
        return str(error) or type(error).__name__
    return ""


def kept_model(study: Study, name: str) -> bytes:
    """What `keep_model` stored; RecordError when it is not there or damaged."""
    attributes, key = study._storage.get_study_system_attrs(study._study_id), f"{MODEL_KEY}:{name}"
    count = attributes.get(key)
    parts = [attributes.get(f"{key}:{i}") for i in range(count)] if isinstance(count, int) else [None]
    if not all(isinstance(part, str) for part in parts):
        raise RecordError(f"The study does not have the ranking model `{name}` that its receipts name.")
    try:
        return base64.b85decode("".join(map(str, parts)))
    except ValueError as error:
        raise RecordError(f"The ranking model `{name}` of the study is damaged ({error}).") from error


def fail_running(study: Study, number: int, *, interrupted: bool) -> bool:
    """Tell a trial whose process is gone as failed; False when it had ended by itself.

    `interrupted`: by the user, which says nothing about its configuration.
    """
    trial = next((one for one in trials(study) if one.number == number), None)
    if trial is None or trial.state != TrialState.RUNNING:
        return False
    if interrupted:
        study._storage.set_trial_user_attr(trial._trial_id, INTERRUPTED_ATTRIBUTE, True)
    study.tell(number, state=TrialState.FAIL)
    return True


def ended(found: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Trials that count towards a budget: all that have ended, except those that the user interrupted."""
    return [t for t in found if t.state.is_finished() and not interrupted(t)]


def read_receipt(trial: FrozenTrial) -> Receipt | None:
    """The receipt of a trial; None when it has none; RecordError when it is damaged or too new."""
    attributes = trial.system_attrs
    if f"{RECEIPT_KEY}:0" not in attributes:
        if any(key.startswith(f"{RECEIPT_KEY}:") for key in attributes):
            raise RecordError(f"The receipt of trial {trial.number} is damaged: its first part is missing.")
        return None
    chunks: list[Any] = []
    while f"{RECEIPT_KEY}:{len(chunks)}" in attributes:
        chunks.append(attributes[f"{RECEIPT_KEY}:{len(chunks)}"])
    if not all(isinstance(chunk, str) for chunk in chunks):
        raise RecordError(f"The receipt of trial {trial.number} is damaged: its parts must be text.")
    return _parsed("".join(chunks))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Receipt:
    """Policies read every receipt at every proposal: a text that was parsed once is not parsed again."""
    return Receipt.from_json(text)


def receipts(study: Study) -> list[Receipt]:
    """Every readable receipt of the study, by trial number. Damaged and too new ones are reported and skipped."""
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


def model_receipts(found: Sequence[FrozenTrial], before: int) -> tuple[Receipt, ...]:
    """Readable receipts of kind 'model' of the trials before number `before`; damaged ones are passed over."""
    out = []
    for trial in found:
        if trial.number >= before:
            continue
        try:
            receipt = read_receipt(trial)
        except RecordError:
            continue
        if receipt is not None and receipt.kind == "model":
            out.append(receipt)
    return tuple(out)


def last_model_receipt(found: Sequence[FrozenTrial], kernel: str, *, warped: bool = True) -> Receipt | None:
    """The newest readable receipt of a model with this kernel; damaged ones are passed over.

    `warped`: of a model that was free to choose an output warp. Models that learn about effects are not: they continue
    each other (`warped=False`, or whatever else went without a warp).
    """
    for trial in reversed(found):
        try:
            receipt = read_receipt(trial)
        except RecordError:
            continue
        if receipt is None or receipt.kind != "model" or receipt.acquisition is None or receipt.hyperparameters is None:
            continue
        if receipt.hyperparameters.kernel != kernel:
            continue
        effects = receipt.acquisition.name == "InformationGain"
        if (not effects) if warped else (effects or receipt.hyperparameters.warp is None):
            return receipt
    return None


def plain(value: Any) -> Any:
    """A parameter value as a receipt carries it: Optuna's kinds of choices as they are, anything else as its text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
