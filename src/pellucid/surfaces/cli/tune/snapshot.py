"""The state of a study while it is tuned, read from its storage for the table of `pellucid tune`."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from pellucid.surfaces.cli.storage.studies import trials_by_state

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from pellucid.study.view import StudyView

# Receipts and durations are read from this many of the newest trials: enough for an average, and a refresh of the table
# costs the same in a long study as in a short one.
_RECENT = 50
# Running trials whose curves the table shows: it has to fit on a small terminal.
_MOST_CURVES = 4
# Pause between two verdicts: at least `_EVERY_S` seconds, and at least `_PAUSE_FACTOR` times as long as the last one
# took, so that verdicts take at most a twentieth of one processor from the workers.
_EVERY_S, _PAUSE_FACTOR = 5.0, 20.0


@dataclass(frozen=True)
class BestTrial:
    value: float
    trial: int
    params: dict[str, Any]


@dataclass(frozen=True)
class TrialOfSeveral:
    """A complete trial of a study with several objectives. `values`: by the name of the objective."""

    trial: int
    values: dict[str, float]
    params: dict[str, Any]


@dataclass(frozen=True)
class RunningCurve:
    """What a running trial has reported, in the order of steps. `step`: of the last report."""

    trial: int
    step: int
    values: tuple[float, ...]


@dataclass(frozen=True)
class Snapshot:
    """A study at one moment.

    n_counted  trials that count towards the budget;  counts  trials by state
    objective  its name;  best  trial of a study with one
    latest     complete trial of a study with several objectives;  n_front  how many trials are on their front
    alpha      of the newest proposal whose policy has one
    proposal   the newest receipt, in words;  seconds  that recent trials took on average
    curves     of running trials that have reported values, the newest first, at most a few
    horizon    the step at which complete trials end; None if they report nothing
    saved      steps that trials did not take because they were stopped early
    """

    n_counted: int
    counts: dict[str, int]
    objective: str
    best: BestTrial | None
    latest: TrialOfSeveral | None
    n_front: int | None
    alpha: float | None
    proposal: str
    seconds: float | None
    curves: tuple[RunningCurve, ...]
    horizon: int | None
    saved: int


def snapshot_of(study: Study) -> Snapshot:
    from pellucid.provenance import ModelReceipt
    from pellucid.study.receipts import readable_receipt
    from pellucid.study.trials import ended
    from pellucid.study.view import StudyView

    view = StudyView.whole(study)
    newest_first = [readable_receipt(trial) for trial in reversed(view.trials[-_RECENT:])]
    receipts = [receipt for receipt in newest_first if receipt is not None]
    on_front = front_trials(view)
    modelled = [receipt for receipt in receipts if isinstance(receipt, ModelReceipt)]
    policies = [receipt.policy.numbers for receipt in modelled if receipt.policy is not None]
    return Snapshot(
        n_counted=len(ended(view.trials)),
        counts=trials_by_state(view.trials),
        objective=view.objectives[0].name,
        best=best_trial(view),
        latest=_latest_of_several(view),
        n_front=None if on_front is None else len(on_front),
        alpha=next((numbers["alpha"] for numbers in policies if "alpha" in numbers), None),
        proposal=str(receipts[0]) if receipts else "",
        seconds=_average_duration(view.trials[-_RECENT:]),
        curves=_running_curves(view),
        horizon=view.curves.horizon,
        saved=_saved_steps(view),
    )


def count_towards_budget(study: Study) -> int:
    """The number of trials that count towards `--trials`."""
    from pellucid.study.trials import ended
    from pellucid.study.view import StudyView

    return len(ended(StudyView.whole(study).trials))


def best_trial(view: StudyView) -> BestTrial | None:
    """The best complete trial that is known to be feasible. Optuna's own counts trials without constraints, too. With
    several objectives there is no single best one."""
    usable = view.observations.of_complete_trials.of_feasible_trials
    if not len(usable) or view.several:
        return None
    losses = usable.returned.tolist()
    best = losses.index(min(losses))
    return BestTrial(view.objective.sign * losses[best] + 0.0, usable.numbers[best], dict(usable.configurations[best]))


def front_trials(view: StudyView) -> list[TrialOfSeveral] | None:
    """The complete, feasible trials of a study with several objectives that no other one dominates; None if there is
    one objective, or more than fronts are computed for."""
    import numpy as np

    from pellucid.pareto import MOST_OBJECTIVES, front

    if not view.several or len(view.objectives) > MOST_OBJECTIVES:
        return None
    usable = view.observations.of_complete_trials.of_feasible_trials
    return [_of_several(view, usable.numbers[row]) for row in np.flatnonzero(front(usable.raw))] if len(usable) else []


def _latest_of_several(view: StudyView) -> TrialOfSeveral | None:
    complete = view.observations.of_complete_trials.numbers
    return _of_several(view, complete[-1]) if view.several and complete else None


def _of_several(view: StudyView, number: int) -> TrialOfSeveral:
    trial = view.trial(number)
    names = [objective.name for objective in view.objectives]
    return TrialOfSeveral(number, dict(zip(names, trial.values, strict=True)), dict(trial.params))


def _running_curves(view: StudyView) -> tuple[RunningCurve, ...]:
    """Reports that are no numbers stay: a user wants to see them at once."""
    from optuna.trial import TrialState

    reporting = (trial for trial in reversed(view.trials) if trial.state == TrialState.RUNNING)
    newest = islice((trial for trial in reporting if trial.intermediate_values), _MOST_CURVES)
    curves = [(trial.number, sorted(trial.intermediate_values.items())) for trial in newest]
    return tuple(RunningCurve(number, reports[-1][0], tuple(v for _, v in reports)) for number, reports in curves)


def _saved_steps(view: StudyView) -> int:
    """As in `pellucid.pruning_record`, which also fits a model and is too slow for a table."""
    horizon = view.curves.horizon
    return 0 if horizon is None else int(view.stopped.steps_left(horizon).sum())


def _average_duration(trials: Sequence[FrozenTrial]) -> float | None:
    durations = [
        (trial.datetime_complete - trial.datetime_start).total_seconds()
        for trial in trials
        if trial.datetime_complete is not None and trial.datetime_start is not None
    ]
    return sum(durations) / len(durations) if durations else None


class RegretBound:
    """The bound of `stopping_verdict`: the same number as in the answers. It is computed now and then in a thread, so
    that the main loop does not wait for it."""

    def __init__(self) -> None:
        self.value: float | None = None
        self._thread: threading.Thread | None = None
        self._not_before = 0.0

    def refresh(self, study: Study) -> None:
        """Start a computation, unless one is running or the last one was a moment ago."""
        if (self._thread is None or not self._thread.is_alive()) and time.monotonic() >= self._not_before:
            self._thread = threading.Thread(target=self._compute, args=(study,), daemon=True)
            self._thread.start()

    def finish(self, study: Study) -> None:
        """The bound after the last trial."""
        if self._thread is not None:
            self._thread.join()
        self._compute(study)

    def _compute(self, study: Study) -> None:
        from pellucid import stopping_verdict

        start = time.monotonic()
        try:
            self.value = stopping_verdict(study).bound
        except Exception:  # A missing number in a table must not interrupt the run.
            self.value = None
        duration = time.monotonic() - start
        self._not_before = time.monotonic() + max(_EVERY_S, _PAUSE_FACTOR * duration)
