"""What must hold of a study that several workers have shared, whatever connects them."""

from __future__ import annotations

import json
from datetime import timedelta

from optuna.study import Study
from optuna.trial import TrialState
from tests.helpers import kinds, model_receipts, states

STARTUP = 5  # Trials before the model takes over, in studies of workers.
# A worker notes when a trial ends before it writes so: others may read it this much later.
WRITTEN_AFTER = timedelta(seconds=0.5)
# MySQL keeps whole seconds: an end and a beginning that look a second apart may have been at the same moment.
WHOLE_SECOND = timedelta(seconds=1)


def assert_nothing_is_lost(study: Study, n: int) -> None:
    assert [trial.number for trial in study.trials] == list(range(n))
    assert states(study) == [TrialState.COMPLETE] * n


def assert_no_configuration_is_repeated(study: Study) -> None:
    """A trial whose worker died at once has no configuration."""
    seen: dict[str, int] = {}
    repeated = []
    for trial in (trial for trial in study.trials if trial.params):
        first = seen.setdefault(json.dumps(trial.params, sort_keys=True), trial.number)
        if first != trial.number:
            repeated.append((first, trial.number, trial.params))
    assert repeated == []


def assert_receipts_where_expected(study: Study) -> None:
    """A receipt for every trial; by the model whenever enough trials had finished before the trial began."""
    kind_by_trial = kinds(study)
    assert sorted(kind_by_trial) == list(range(len(study.trials)))
    assert "fallback" not in kind_by_trial.values()
    ended = [trial.datetime_complete for trial in study.trials]
    rounded = all(end is None or end.microsecond == 0 for end in ended)
    seen_after = WRITTEN_AFTER + (WHOLE_SECOND if rounded else timedelta(0))
    for trial in study.trials:
        began = trial.datetime_start
        assert began is not None
        if sum(end is not None and end + seen_after < began for end in ended) >= STARTUP:
            assert kind_by_trial[trial.number] == "model", f"trial {trial.number}"


def assert_workers_overlapped(study: Study, n_workers: int) -> None:
    """Without this the other assertions would not test parallel work."""
    assert len({trial.user_attrs["worker"] for trial in study.trials}) == n_workers
    assert sum(bool(receipt.pending) for receipt in model_receipts(study)) >= 10
