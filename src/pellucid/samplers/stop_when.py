"""When to stop: an Optuna callback that asks `stopping_verdict` after every trial."""

from __future__ import annotations

import logging

from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.answers.stop.blocks import MIN_TRIALS
from pellucid.answers.stop.one import check_stopping, stopping_verdict
from pellucid.answers.stop.records import StoppingVerdict
from pellucid.answers.stop.several import check_share
from pellucid.models import GaussianProcess
from pellucid.models.gp import check_template
from pellucid.numerics import is_whole_number
from pellucid.pareto import check_number
from pellucid.study.storage import set_user_attribute
from pellucid.words import printable, printable_error

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

    Attributes:
        verdict: what `stopping_verdict` said after the last trial; None before the first trial, and if it failed.
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
        check_template(surrogate)
        if not is_whole_number(patience) or patience < 1:
            raise ValueError(
                f"`patience` counts verdicts and must be a whole number of at least 1, but got {patience!r}."
            )
        self._regret_below, self._min_trials = regret_below, min_trials
        self._patience, self._surrogate = patience, surrogate
        self._agreed = 0
        self.verdict: StoppingVerdict | None = None

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        advice = "ask `pellucid.stopping_verdict` about each of them"
        check_number(len(study.directions), "StopWhen works on", advice)
        if len(study.directions) > 1:
            check_share(self._regret_below)
        self.verdict = None
        try:
            verdict = stopping_verdict(
                study, regret_below=self._regret_below, min_trials=self._min_trials, surrogate=self._surrogate
            )
        except Exception as error:  # A callback that raises would end the study, so it goes on without a verdict.
            _logger.warning(
                "No verdict on stopping after trial %d (%s).",
                trial.number,
                printable(str(error)),
                exc_info=printable_error(error),
            )
            self._agreed = 0
            return
        self.verdict = verdict
        self._agreed = self._agreed + 1 if verdict.stop else 0
        if self._agreed >= self._patience:
            _logger.info("%s", printable(verdict.sentence))
            set_user_attribute(study, STOPPED_ATTRIBUTE, verdict.sentence)
            study.stop()
