"""What happened in a study, trial by trial, from the storage alone."""

from __future__ import annotations

from collections.abc import Sequence

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.explain.effects.words import value_text
from pellucid.records import History, Receipt, RecordError, Stretch
from pellucid.study import study_io

_STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}
_KINDS = {"startup": "start-up", "model": "model", "ranking": "earlier studies", "fallback": "random"}
_OTHERS = "another sampler"


def history(study: Study) -> History:
    """Every trial with what it returned and what was expected of it, and who chose it."""
    study_io.require_single_objective(study, "history")
    found, loss_sign = study_io.trials(study), study_io.sign(study)
    observed = study_io.observations(found, loss_sign)
    value_of = dict(zip(observed.numbers, (loss_sign * observed.raw).tolist(), strict=True))
    complete = {n for n, done in zip(observed.numbers, observed.complete, strict=True) if done}
    receipts = [receipt_of(trial) for trial in found]
    best: list[float | None] = []
    best_trial: int | None = None
    for trial in found:
        if trial.number in complete and (
            best_trial is None or loss_sign * value_of[trial.number] < loss_sign * value_of[best_trial]
        ):
            best_trial = trial.number
        best.append(None if best_trial is None else value_of[best_trial])
    return History(
        numbers=tuple(trial.number for trial in found),
        states=tuple("interrupted" if study_io.interrupted(trial) else _STATES[trial.state] for trial in found),
        values=tuple(value_of.get(trial.number) for trial in found),
        best=tuple(best),
        expected=tuple(None if one is None else one.mean for one in receipts),
        sd=tuple(None if one is None else one.sd for one in receipts),
        stretches=_stretches(found, receipts),
        direction="maximize" if loss_sign < 0 else "minimize",
        verdict=_verdict(found, value_of, best_trial),
    )


def receipt_of(trial: FrozenTrial) -> Receipt | None:
    """The receipt of a trial, None where it has none that can be read, or one of the trial that it repeats."""
    try:
        receipt = study_io.read_receipt(trial)
    except RecordError:
        return None
    return receipt if receipt is not None and receipt.trial == trial.number else None


def _stretches(found: Sequence[FrozenTrial], receipts: Sequence[Receipt | None]) -> tuple[Stretch, ...]:
    out: list[Stretch] = []
    for trial, receipt in zip(found, receipts, strict=True):
        label = _OTHERS if receipt is None else _label(receipt)
        if out and out[-1].label == label:
            out[-1] = Stretch(out[-1].first, trial.number, label)
        else:
            out.append(Stretch(trial.number, trial.number, label))
    return tuple(out)


def _label(receipt: Receipt) -> str:
    """A search in steps says its step first."""
    for step in ("Step 1", "Step 2"):
        if receipt.phase.startswith(step):
            return step.lower()
    return _KINDS[receipt.kind]


def _verdict(found: Sequence[FrozenTrial], value_of: dict[int, float], best_trial: int | None) -> str:
    if not found:
        return "The study has no trials yet."
    if best_trial is None:
        return f"None of the {len(found)} trials has finished with a value yet."
    after = sum(number > best_trial for number in value_of)
    best = f"The best trial is number {best_trial} with {value_text(value_of[best_trial])}"
    if after == 0:
        return f"{best}, the last one with a value."
    return (
        f"{best}; {after} {'trial' if after == 1 else 'trials'} after it {'was' if after == 1 else 'were'} no better."
    )
