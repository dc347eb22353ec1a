"""What happened in a study, trial by trial."""

from __future__ import annotations

from optuna.study import Study
from optuna.trial import TrialState

from pellucid.explain.feasibility import none_feasible
from pellucid.explain.model import opened
from pellucid.explain.text import counted, value_text
from pellucid.records import History, Phase, Receipt
from pellucid.study.trials import interrupted
from pellucid.study.view import StudyView

_STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}
_KINDS = {"startup": "start-up", "model": "model", "ranking": "earlier studies", "fallback": "random"}
_ANOTHER_SAMPLER = "another sampler"


def history(study: Study) -> History:
    """Every trial with its value, what the model expected of it, and which sampler chose it.

    Args:
        study: any study with one objective.
    """
    with opened(study, "history") as view:
        return history_of(view)


def history_of(view: StudyView) -> History:
    observations = view.observations
    value_of = dict(zip(observations.numbers, (view.sign * observations.raw).tolist(), strict=True))
    feasible = dict(zip(observations.numbers, observations.feasible.tolist(), strict=True))
    complete = {n for n, done in zip(observations.numbers, observations.complete, strict=True) if done and feasible[n]}
    best: list[float | None] = []
    best_trial: int | None = None
    for trial in view.trials:
        if trial.number in complete and (
            best_trial is None or view.sign * value_of[trial.number] < view.sign * value_of[best_trial]
        ):
            best_trial = trial.number
        best.append(None if best_trial is None else value_of[best_trial])
    receipts = [view.own_receipts.get(trial.number) for trial in view.trials]
    return History(
        numbers=tuple(trial.number for trial in view.trials),
        states=tuple("interrupted" if interrupted(trial) else _STATES[trial.state] for trial in view.trials),
        values=tuple(value_of.get(trial.number) for trial in view.trials),
        best=tuple(best),
        expected=tuple(None if receipt is None else receipt.mean for receipt in receipts),
        sd=tuple(None if receipt is None else receipt.expected_sd for receipt in receipts),
        phases=_phases(view),
        direction=view.direction,
        sentence=_sentence(view, value_of, best_trial),
        feasible=tuple(feasible.get(trial.number) for trial in view.trials) if view.constrained else (),
    )


def _phases(view: StudyView) -> tuple[Phase, ...]:
    phases: list[Phase] = []
    for trial in view.trials:
        receipt = view.own_receipts.get(trial.number)
        label = _ANOTHER_SAMPLER if receipt is None else _label(receipt)
        if phases and phases[-1].label == label:
            phases[-1] = Phase(phases[-1].first, trial.number, label)
        else:
            phases.append(Phase(trial.number, trial.number, label))
    return tuple(phases)


def _label(receipt: Receipt) -> str:
    """The step of a search in steps, otherwise the kind of the receipt."""
    for step in ("Step 1", "Step 2"):
        if receipt.phase.startswith(step):
            return step.lower()
    return _KINDS[receipt.kind]


def _sentence(view: StudyView, value_of: dict[int, float], best_trial: int | None) -> str:
    if not view.trials:
        return "The study has no trials yet."
    if best_trial is None and value_of and view.constrained:
        return none_feasible(view.observations)
    if best_trial is None:
        return f"None of the {len(view.trials)} trials has finished with a value yet."
    later = sum(number > best_trial for number in value_of)
    kind = "best feasible" if view.constrained else "best"
    best = f"The {kind} trial is number {best_trial} with {value_text(value_of[best_trial])}"
    infeasible = f" {_infeasible(view)}" if view.constrained else ""
    if later == 0:
        return f"{best}, the last one with a value.{infeasible}"
    after = f"{counted(later, 'trial')} after it {'was' if later == 1 else 'were'}"
    return f"{best}; {after} no better{' or not feasible' if view.constrained else ''}.{infeasible}"


def _infeasible(view: StudyView) -> str:
    """How many trials were feasible: "31 of 40 trials were feasible."."""
    feasible = view.observations.feasible
    were = "was" if len(feasible) == 1 else "were"
    return f"{int(feasible.sum())} of {counted(len(feasible), 'trial')} {were} feasible."
