"""The trials of a study: their distributions, and which of them failed, were interrupted or are still running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.trial import FrozenTrial, TrialState

from pellucid.numerics import is_whole_number
from pellucid.provenance import ModelReceipt
from pellucid.study.receipts import has_receipt, readable_receipt
from pellucid.words import UnreadableRecordError

INTERRUPTED_ATTRIBUTE = "pellucid:interrupted"


def failed(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Trials that ended without a value for the surrogate. An interruption does not count as a failure."""
    return [
        trial
        for trial in trials
        if (trial.state == TrialState.FAIL and not interrupted(trial))
        or (trial.state == TrialState.PRUNED and not trial.intermediate_values)
    ]


def interrupted(trial: FrozenTrial) -> bool:
    """Whether the user ended the trial."""
    return INTERRUPTED_ATTRIBUTE in trial.user_attrs


def ended(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Trials that count towards a budget: all that have ended, except those that the user interrupted."""
    return [trial for trial in trials if trial.state.is_finished() and not interrupted(trial)]


def pending(trials: Sequence[FrozenTrial], but: int) -> dict[int, dict[str, Any]]:
    """Configurations of running trials other than `but`: the parameters they have, completed by those proposed."""
    configurations: dict[int, dict[str, Any]] = {}
    for trial in trials:
        if trial.state == TrialState.RUNNING and trial.number != but:
            receipt = readable_receipt(trial)
            proposed = receipt.params if receipt is not None else {}
            configuration = {**proposed, **trial.params}
            if configuration:
                configurations[trial.number] = configuration
    return configurations


def nobodys_choice(trial: FrozenTrial) -> bool:
    """Whether a trial has no parameter and no receipt: it waits, or its process died before anything was chosen."""
    return not trial.params and not has_receipt(trial)


def repeated(trial: FrozenTrial) -> int | None:
    """The number of the trial that this one repeats because its process had died; None if it repeats none."""
    number = trial.system_attrs.get("failed_trial")  # Of Optuna's callback for heartbeats.
    return number if is_whole_number(number) else None


def ended_before(other: FrozenTrial, trial: FrozenTrial) -> bool:
    """Whether another trial had ended when this one began. MySQL keeps whole seconds: within one, numbers decide."""
    if other.datetime_complete is None or trial.datetime_start is None:
        return other.state.is_finished()
    return (other.datetime_complete, other.number) < (trial.datetime_start, trial.number)


def in_a_step(trial: FrozenTrial) -> bool:
    """Whether a search in steps proposed the trial, with some of its parameters held."""
    receipt = readable_receipt(trial)
    return isinstance(receipt, ModelReceipt) and receipt.step is not None


_WORDS = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "stopped", TrialState.FAIL: "failed"}


def state_word(trial: FrozenTrial) -> str:
    """ "complete", "stopped", "failed" or "running" """
    return _WORDS.get(trial.state, "running")


_NAMES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}


def state_of(trial: FrozenTrial) -> str:
    """ "complete", "pruned", "failed", "interrupted", "running" or "waiting" """
    return "interrupted" if interrupted(trial) else _NAMES[trial.state]


FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
UNFINISHED = (TrialState.RUNNING, TrialState.WAITING)


def distributions(
    trials: Sequence[FrozenTrial], states: Sequence[TrialState] = FINISHED
) -> dict[str, BaseDistribution]:
    """Every parameter of the trials in these states, sorted by name, each with its newest distribution."""
    newest: dict[str, BaseDistribution] = {}
    names: set[str] = set()
    for trial in reversed(trials):
        if trial.state not in states or names.issuperset(trial.distributions):
            continue
        for name, distribution in trial.distributions.items():
            newest.setdefault(name, distribution)
        names.update(newest)
    return dict(sorted(newest.items()))


def source(trials: Sequence[FrozenTrial], name: str, distribution: BaseDistribution) -> int | str:
    """The newest trial with exactly this distribution of a parameter, or Optuna's JSON if there is none."""
    for trial in reversed(trials):
        if trial.distributions.get(name) == distribution:
            return trial.number
    return distribution_to_json(distribution)


def distribution_from(trials: Mapping[int, FrozenTrial], name: str, source: int | str) -> BaseDistribution:
    """Inverse of `source`. Raises UnreadableRecordError if it stands for no distribution."""
    try:
        return json_to_distribution(source) if isinstance(source, str) else trials[source].distributions[name]
    except (KeyError, TypeError, ValueError) as error:
        where = "a text that is none" if isinstance(source, str) else f"trial {source}, which does not have it"
        raise UnreadableRecordError(f"A receipt is damaged: for the range of {name!r} it names {where}.") from error


def same_distributions(
    trials: Sequence[FrozenTrial], sources: Mapping[str, int | str], expected: Sequence[BaseDistribution]
) -> bool:
    """Whether the sources in a receipt still stand for these distributions."""
    by_number = {trial.number: trial for trial in trials}
    stands_for = [
        (source in by_number and name in by_number[source].distributions) or isinstance(source, str)
        for name, source in sources.items()
    ]
    return all(stands_for) and all(
        distribution_from(by_number, name, source) == distribution
        for (name, source), distribution in zip(sources.items(), expected, strict=True)
    )
