"""Proposing in parallel: a receipt is stored at once, and replaced if another worker has the same configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.provenance import Receipt
from pellucid.search import others
from pellucid.study.receipts import own_receipt
from pellucid.study.storage import read_again, write_receipt
from pellucid.study.trials import UNFINISHED, pending
from pellucid.study.view import StudyView

# Attempts before two workers may run the same configuration: each costs a proposal, and fails only if another worker
# has proposed the same configuration yet again.
_MOST_ATTEMPTS = 5

Proposal = tuple[dict[str, Any], Receipt]


class SeenSpace(dict[str, BaseDistribution]):
    """All parameters that vary, with the view of the study that they are from.

    Optuna hands the space that a sampler infers straight back to it, so that the study need not be read again for the
    proposal. Choices that are tuples come back from most storages as lists, which Optuna does not take for the same:
    such a parameter is sampled on its own.
    """

    def __init__(self, view: StudyView) -> None:
        super().__init__({name: space for name, space in view.varying.items() if not _has_lists(space)})
        self._view: StudyView | None = view

    def take_view(self) -> StudyView | None:
        """The view, once: a trial keeps its space as long as it runs, but need not keep all others."""
        view, self._view = self._view, None
        return view


def _has_lists(distribution: BaseDistribution) -> bool:
    choices = distribution.choices if isinstance(distribution, CategoricalDistribution) else ()
    return any(isinstance(choice, list) for choice in choices)


def _settled(trial: FrozenTrial) -> bool:
    """Whether a trial has begun with what it was proposed: whoever saw it knows its whole configuration. Without a
    receipt, it may be about to choose more parameters."""
    return bool(trial.params) and own_receipt(trial) is not None


def publish(
    study: Study,
    trial: FrozenTrial,
    space: Mapping[str, BaseDistribution],
    view: Callable[[Study], StudyView],
    propose: Callable[[StudyView], Proposal],
) -> dict[str, Any]:
    """Parameters for the trial, with their receipt in the storage. `view`: of the study as it is now; `space`: that of
    the trial, which may have seen the study."""
    parts = 0
    seen = space.take_view() if isinstance(space, SeenSpace) else None
    for attempt in range(_MOST_ATTEMPTS):
        before = seen if seen is not None and attempt == 0 else view(study)
        going_on = {other.number for other in before.trials if other.state in UNFINISHED}
        params, receipt = propose(before)
        parts = write_receipt(study, trial, receipt, at_least=parts)
        unsettled = {number for number in going_on - {trial.number} if not _settled(before.by_number[number])}
        after = replace(before, trials=read_again(study, before.trials, unsettled))
        running = pending(after.trials, trial.number)
        # From the second attempt on, a younger trial counts only once it has begun: while both are still proposing the
        # younger one steps aside, because two that both keep stepping aside would collide again.
        rivals = {
            number: other
            for number, other in running.items()
            if attempt == 0 or number < trial.number or after.by_number[number].params
        }
        # A short trial may have begun and finished in the meantime.
        for number in going_on | (after.by_number.keys() - before.by_number.keys()):
            if after.by_number[number].state.is_finished():
                rivals[number] = after.by_number[number].params
        if not receipt.params or not others.taken(receipt.params, rivals):
            break
    return params
