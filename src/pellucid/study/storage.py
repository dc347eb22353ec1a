"""Writing to a study's storage. This is the only module that uses private names of Optuna.

If a storage refuses a write, only the explanation is lost, never the trial or the study.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile

from optuna.storages import RDBStorage
from optuna.storages._cached_storage import _CachedStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.provenance import PruningDecision, Receipt
from pellucid.study.pruning import DECISION_KEY, REASON_ATTRIBUTE
from pellucid.study.receipts import PART_LENGTH, receipt_parts, split
from pellucid.study.trials import INTERRUPTED_ATTRIBUTE
from pellucid.words import NoAnswerYet, UnreadableRecordError, printable

MODEL_KEY = "pellucid:ranker"
# Where Optuna Dashboard stores figures: "dashboard:plot_data:ID:0", in parts.
_FIGURE_KEY = "dashboard:plot_data:"
_logger = logging.getLogger("pellucid")


def write_receipt(study: Study, trial: FrozenTrial, receipt: Receipt, at_least: int = 0) -> int:
    """Store a receipt and return its number of parts. `at_least`: parts of an earlier receipt of this trial."""
    parts = receipt_parts(receipt, at_least)
    try:
        for name, part in parts.items():
            study._storage.set_trial_system_attr(trial._trial_id, name, part)
    except Exception as error:  # Any storage backend, any of its errors: the study must go on.
        _logger.warning(
            "The receipt of trial %d could not be stored (%s); the trial goes on.", trial.number, printable(str(error))
        )
    return len(parts)


def read_again(study: Study, seen: Sequence[FrozenTrial], unsettled: Collection[int]) -> Sequence[FrozenTrial]:
    """The trials of a study that was read a moment ago: with those that are new, and those in `unsettled` as they are
    now. For a list of all, a relational storage would read every running trial again, with all its attributes."""
    storage = study._storage
    if not isinstance(storage, _CachedStorage):
        return study.get_trials(deepcopy=False)
    trials = storage._backend._get_trials(
        study._study_id,
        states=None,
        included_trial_ids={trial._trial_id for trial in seen if trial.number in unsettled},
        trial_id_greater_than=max(trial._trial_id for trial in seen),
    )
    now = {trial.number: trial for trial in trials}
    return [*(now.pop(trial.number, trial) for trial in seen), *(now[number] for number in sorted(now))]


def write_decision(study: Study, trial: FrozenTrial, decision: PruningDecision) -> None:
    """Store why a trial is stopped."""
    try:
        for i, part in enumerate(split(decision.to_json())):
            study._storage.set_trial_system_attr(trial._trial_id, f"{DECISION_KEY}:{i}", part)
        study._storage.set_trial_user_attr(trial._trial_id, REASON_ATTRIBUTE, decision.reason[:PART_LENGTH])
    except Exception as error:  # Any storage backend, any of its errors: the study must go on.
        _logger.warning("Why trial %d is stopped could not be stored (%s).", trial.number, printable(str(error)))


def set_user_attribute(study: Study, name: str, value: str) -> None:
    """Store a sentence on the study."""
    try:
        study.set_user_attr(name, value[:PART_LENGTH])
    except Exception as error:  # Any storage backend, any of its errors: the study must go on.
        _logger.warning("`%s` could not be stored (%s).", printable(name), printable(str(error)))


def dashboard_trials(study: Study) -> str:
    """The address of a trial of the study in Optuna Dashboard, without its number."""
    return f"/dashboard/studies/{study._study_id}/trials?numbers="


def dashboard_figures(study: Study, prefix: str) -> set[str]:
    """Ids of the figures in Optuna Dashboard that begin with a prefix."""
    keys = study._storage.get_study_system_attrs(study._study_id)
    start = f"{_FIGURE_KEY}{prefix}"
    return {key[len(_FIGURE_KEY) :].rpartition(":")[0] for key in keys if key.startswith(start)}


def remove_dashboard_figure(study: Study, name: str) -> bool:
    """Remove a figure from Optuna Dashboard. False if the storage cannot: Optuna has no call for it, so it is done in
    databases only."""
    storage = study._storage._backend if isinstance(study._storage, _CachedStorage) else study._storage
    if not isinstance(storage, RDBStorage):
        return False
    start = f"{_FIGURE_KEY}{name}:"
    keys = [key for key in storage.get_study_system_attrs(study._study_id) if key.startswith(start)]
    try:
        from optuna.storages._rdb.models import StudySystemAttributeModel as Attribute
        from optuna.storages._rdb.storage import _create_scoped_session

        with _create_scoped_session(storage.scoped_session) as session:
            rows = session.query(Attribute).filter(Attribute.study_id == study._study_id, Attribute.key.in_(keys))
            rows.delete(synchronize_session=False)
    except Exception as error:  # Any database, any of its errors, and any version of Optuna's tables.
        _logger.warning(
            "The figure `%s` could not be removed from the dashboard (%s).", printable(name), printable(str(error))
        )
        return False
    return True


def keep_model(study: Study, name: str, data: bytes) -> str:
    """Store a ranking model with the study, so that its proposals can be explained from the storage alone.

    Does nothing if the study already has the model. Returns why the storage refused it, or "".
    """
    parts = split(base64.b85encode(data).decode("ascii"))
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
    """The data that `keep_model` stored. Raises UnreadableRecordError if it is missing or damaged,
    and NoAnswerYet if the storage cannot be read."""
    key = f"{MODEL_KEY}:{name}"
    try:
        attributes = study._storage.get_study_system_attrs(study._study_id)
    except Exception as error:  # Any storage backend, any of its errors, whose texts may repeat a password.
        kind = type(error).__name__
        raise NoAnswerYet(
            f"The ranking model `{name}` could not be read from the storage ({kind}): ask again."
        ) from None
    count = attributes.get(key)
    if not isinstance(count, int):
        raise UnreadableRecordError(f"The study does not have the ranking model `{name}` that its receipts name.")
    # The count may be damaged too: nothing of its size is made.
    stored = (attributes.get(f"{key}:{i}") for i in range(count))
    parts = list(takewhile(lambda part: isinstance(part, str), stored))
    if len(parts) != count or not parts:
        raise UnreadableRecordError(
            f"The study does not have the ranking model `{name}` that its receipts name: part {len(parts)} of {count} "
            "is missing. A trial that the model proposes stores it again."
        )
    try:
        return base64.b85decode("".join(map(str, parts)))
    except ValueError as error:
        raise UnreadableRecordError(f"The ranking model `{name}` of the study is damaged ({error}).") from error


@dataclass(frozen=True)
class Heartbeats:
    """Signs of life of workers.

    ages    how long ago running trials gave the last one, by number; a trial that never did is not there
    limit   how long may pass between two of them; None if the storage was opened without an interval
    """

    ages: Mapping[int, timedelta]
    limit: timedelta | None


NO_HEARTBEATS = Heartbeats({}, None)


def heartbeats(study: Study) -> Heartbeats:
    """The heartbeats of running trials, which only relational storages keep. They are there whoever opens the storage,
    with an interval or without."""
    storage = study._storage
    backend = storage._backend if isinstance(storage, _CachedStorage) else storage
    if not isinstance(backend, RDBStorage):
        return NO_HEARTBEATS
    import sqlalchemy
    from optuna.storages._rdb.models import TrialHeartbeatModel, TrialModel

    rows = (
        sqlalchemy.select(TrialModel.number, TrialHeartbeatModel.heartbeat, sqlalchemy.func.now())
        .join(TrialHeartbeatModel, TrialHeartbeatModel.trial_id == TrialModel.trial_id)
        .where(TrialModel.study_id == study._study_id, TrialModel.state == TrialState.RUNNING)
    )
    with backend.engine.connect() as connection:
        # PostgreSQL says in which time zone it is now; heartbeats are in the same, but do not say so.
        ages = {number: now.replace(tzinfo=None) - beat for number, beat, now in connection.execute(rows)}
    interval = backend.get_heartbeat_interval()
    seconds = None if interval is None else backend.grace_period or 2 * interval
    return Heartbeats(ages, None if seconds is None else timedelta(seconds=seconds))


def fail_running(study: Study, number: int, *, interrupted: bool) -> bool:
    """Mark a trial whose process is gone as failed; returns False if it had already ended.

    `interrupted`: the user ended it, so it says nothing about its configuration.
    """
    trial = next((trial for trial in study.get_trials(deepcopy=False) if trial.number == number), None)
    if trial is None or trial.state != TrialState.RUNNING:
        return False
    if interrupted:
        study._storage.set_trial_user_attr(trial._trial_id, INTERRUPTED_ATTRIBUTE, True)
    study.tell(number, state=TrialState.FAIL)
    return True
