"""Decisions to stop a trial, as they are stored with it: JSON in system attributes, the reason in a user attribute."""

from __future__ import annotations

from optuna.trial import FrozenTrial

from pellucid.provenance import PruningDecision
from pellucid.words import RecordError

DECISION_KEY = "pellucid:pruning"
REASON_ATTRIBUTE = "pellucid:pruned"


def read_decision(trial: FrozenTrial) -> PruningDecision | None:
    """The decision to stop this trial; None if it has none, none that can be read, or one of another trial."""
    parts: list[str] = []
    while isinstance(part := trial.system_attrs.get(f"{DECISION_KEY}:{len(parts)}"), str):
        parts.append(part)
    if not parts:
        return None
    try:
        decision = PruningDecision.from_json("".join(parts))
    except RecordError:
        return None
    return decision if decision.trial == trial.number else None
