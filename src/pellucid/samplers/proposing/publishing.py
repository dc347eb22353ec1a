"""Proposing while others propose: the receipt is published at once, and again if somebody else had the same idea."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.records import Receipt
from pellucid.samplers.proposing import others
from pellucid.study import study_io

_MAX_RACES = 5

Propose = Callable[[Sequence[FrozenTrial]], tuple[dict[str, Any], Receipt]]


def publish(study: Study, trial: FrozenTrial, propose: Propose) -> dict[str, Any]:
    """Parameters for the trial, with their receipt in the storage; `propose` is given all trials as they are now."""
    parts = 0
    for attempt in range(_MAX_RACES):
        found = study_io.trials(study)
        ended = {one.number for one in found if one.state.is_finished()}
        params, receipt = propose(found)
        parts = study_io.write_receipt(study, trial, receipt, at_least=parts)
        now = study_io.trials(study)
        waiting = study_io.pending(now, trial.number)
        # Once both have given way, the older trial stays: two that keep stepping aside would meet again.
        rivals = {number: one for number, one in waiting.items() if attempt == 0 or number < trial.number}
        # A quick trial may have come and gone meanwhile.
        rivals.update({one.number: one.params for one in now if one.state.is_finished() and one.number not in ended})
        if not receipt.params or not others.taken(receipt.params, rivals):
            break
    return params
