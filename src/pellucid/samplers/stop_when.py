"""When to stop: an Optuna callback that asks for the verdict of `explain.stopping` after every trial."""

from __future__ import annotations

import logging

from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.acquisition.fronts import check_number
from pellucid.explain.blocks import MIN_TRIALS
from pellucid.explain.front_stopping import check_share, front_verdict_and_fits
from pellucid.explain.model import view_of
from pellucid.explain.stopping import check_stopping, verdict_and_fit
from pellucid.numerics import one_thread
from pellucid.records import Hyperparameters, StoppingVerdict
from pellucid.study.storage import set_user_attribute
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

STOPPED_ATTRIBUTE = "pellucid:stopped"
_logger = logging.getLogger("pellucid")


class StopWhen:
    """An Optuna callback: `study.optimize(..., callbacks=[StopWhen(regret_below=0.002)])`.

    It stops the study when `stopping_verdict` has said so after each of `patience` finished trials in a row, logs why,
    and stores the sentence as the study's user attribute `pellucid:stopped`.

    Args:
        regret_below: see `stopping_verdict`.
        patience: how many verdicts in a row must agree, because the next fit may change a verdict.
        min_trials: never stop before that many finished trials.
        surrogate: see `stopping_verdict`.
    """

    def __init__(
        self,
        regret_below: float | str | None = None,
        *,
        patience: int = 5,
        min_trials: int = MIN_TRIALS,
        surrogate: GaussianProcess | None = None,
    ) -> None:
        check_stopping(regret_below, min_trials)
        if patience < 1:
            raise ValueError(f"`patience` counts verdicts and must be at least 1, but got {patience}.")
        self._regret_below, self._min_trials = regret_below, min_trials
        self._patience, self._surrogate = patience, surrogate
        self._agreed = 0
        # The last fits, one of each objective, start the next ones, which only saves time.
        self._last: tuple[Hyperparameters, ...] = ()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        advice = "ask `pellucid.stopping_verdict` about each of them"
        check_number(len(study.directions), "StopWhen works on", advice)
        if len(study.directions) > 1:
            check_share(self._regret_below)
        try:
            with one_thread:
                verdict = self._verdict(view_of(study))
        except Exception as error:  # A callback that raises would end the study, so it goes on without a verdict.
            _logger.warning("No verdict on stopping after trial %d (%s).", trial.number, error, exc_info=True)
            self._agreed = 0
            return
        self._agreed = self._agreed + 1 if verdict.stop else 0
        if self._agreed >= self._patience:
            _logger.info("%s", verdict.sentence)
            set_user_attribute(study, STOPPED_ATTRIBUTE, verdict.sentence)
            study.stop()

    def _verdict(self, view: StudyView) -> StoppingVerdict:
        settings = self._regret_below, self._min_trials, self._surrogate
        if view.several:
            verdict, self._last = front_verdict_and_fits(view, *settings, self._last)
            return verdict
        single, last = verdict_and_fit(view, *settings, self._last[0] if self._last else None)
        self._last = () if last is None else (last,)
        return single
