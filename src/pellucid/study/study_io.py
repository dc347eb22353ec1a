"""Functions that are being replaced by `StudyView`."""

from __future__ import annotations

from collections.abc import Sequence

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.records import Receipt
from pellucid.study import trials as _trials
from pellucid.study.observations import NOISE_ATTRIBUTE, Observations, observations
from pellucid.study.receipts import _parsed, last_model_receipt, model_receipts, read_receipt
from pellucid.study.storage import MODEL_KEY, fail_running, keep_model, kept_model, set_user_attribute, write_receipt
from pellucid.study.trials import (
    INTERRUPTED_ATTRIBUTE,
    distribution_from,
    ended,
    failed,
    interrupted,
    pending,
    plain,
    same_distributions,
    source,
)
from pellucid.study.view import receipts, single_objective

distribution_of = distribution_from
__all__ = [
    "INTERRUPTED_ATTRIBUTE", "MODEL_KEY", "NOISE_ATTRIBUTE", "Observations", "Receipt", "_parsed", "ended",
    "fail_running", "failed", "interrupted", "keep_model", "kept_model", "last_model_receipt", "model_receipts",
    "observations", "pending", "plain", "read_receipt", "receipts", "same_distributions", "set_user_attribute",
    "source", "write_receipt",
]  # fmt: skip


def require_single_objective(study: Study, who: str) -> None:
    single_objective(study, who)


def sign(study: Study) -> float:
    return -1.0 if single_objective(study, "This") == "maximize" else 1.0


def trials(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False)


def distributions(
    found: Sequence[FrozenTrial], states: Sequence[TrialState] = (TrialState.COMPLETE, TrialState.PRUNED)
) -> dict[str, tuple[BaseDistribution, int]]:
    return {name: (one, 0) for name, one in _trials.distributions(found, states).items()}
