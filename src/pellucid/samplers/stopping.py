"""When to stop: an Optuna callback and a verdict, both from an upper bound of the regret.

The bound is the one that SAWEI watches (`acquisition.adaptive.upper_bound_regret`): how much better than the best
evaluated configuration anything in the space could still be, according to the surrogate. SAWEI's bounds widen with
the logarithm of the number of trials, which proofs need and a user's patience does not; here they are two standard
deviations wide, the usual 95 % interval.
"""

from __future__ import annotations

import logging

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.acquisition.adaptive import upper_bound_regret
from pellucid.numerics import one_thread
from pellucid.records import Hyperparameters, StoppingVerdict
from pellucid.space import study_io
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.from_study import Arrays, arrays

STOPPED_ATTRIBUTE = "pellucid:stopped"
_WIDTH = 2.0
_logger = logging.getLogger("pellucid")


def stopping_verdict(
    study: Study,
    *,
    regret_below: float | None = None,
    min_trials: int = 20,
    surrogate: GaussianProcess | None = None,
) -> StoppingVerdict:
    """Whether the study can stop, and why; for studies of any sampler.

    Args:
        regret_below: how much of the objective, in its own unit, you are ready to leave on the table. None: as much as
            the noise of one trial (its estimated standard deviation), below which differences cannot be seen anyway.
        min_trials: with fewer finished trials the verdict is always to go on.
        surrogate: whose kernel and warp are used; default `GaussianProcess(warp="auto")`.
    """
    study_io.require_single_objective(study, "stopping_verdict")
    _check(regret_below, min_trials)
    with one_thread:
        return _verdict(study, regret_below, min_trials, surrogate, None)[0]


class StopWhen:
    """An Optuna callback: `study.optimize(..., callbacks=[StopWhen(regret_below=0.002)])`.

    It stops the study when the bound of the regret has been below the tolerance after `patience` finished trials in a
    row, logs why, and stores the sentence as the study's user attribute `pellucid:stopped`.

    Args:
        regret_below: see `stopping_verdict`.
        patience: how many verdicts in a row must agree; surrogates change their mind.
        min_trials: never stop before that many finished trials.
        surrogate: see `stopping_verdict`.
    """

    def __init__(
        self,
        regret_below: float | None = None,
        *,
        patience: int = 5,
        min_trials: int = 20,
        surrogate: GaussianProcess | None = None,
    ) -> None:
        _check(regret_below, min_trials)
        if patience < 1:
            raise ValueError(f"`patience` counts verdicts and must be at least 1, but got {patience}.")
        self._regret_below, self._min_trials = regret_below, min_trials
        self._patience, self._surrogate = patience, surrogate
        self._agreed = 0
        # The last fit starts the next one: a matter of speed alone.
        self._last: Hyperparameters | None = None

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        study_io.require_single_objective(study, type(self).__name__)
        try:
            with one_thread:
                verdict, self._last = _verdict(study, self._regret_below, self._min_trials, self._surrogate, self._last)
        except Exception as error:  # A callback that raises would end the study: no verdict is the smaller evil.
            _logger.warning("No verdict on stopping after trial %d (%s).", trial.number, error, exc_info=True)
            self._agreed = 0
            return
        self._agreed = self._agreed + 1 if verdict.stop else 0
        if self._agreed >= self._patience:
            _logger.info("Stopped: %s", verdict)
            study_io.set_user_attribute(study, STOPPED_ATTRIBUTE, str(verdict))
            study.stop()


def _check(regret_below: float | None, min_trials: int) -> None:
    if regret_below is not None and not (np.isfinite(regret_below) and regret_below > 0.0):
        raise ValueError(
            f"`regret_below` must be a positive number in the unit of the objective, or None, but got {regret_below}."
        )
    if min_trials < 1:
        raise ValueError(f"`min_trials` must be at least 1, but got {min_trials}.")


def _verdict(
    study: Study,
    regret_below: float | None,
    min_trials: int,
    surrogate: GaussianProcess | None,
    start: Hyperparameters | None,
) -> tuple[StoppingVerdict, Hyperparameters | None]:
    loss_sign = study_io.sign(study)
    found = study_io.trials(study)
    seen = study_io.observations(found, loss_sign)
    complete = [i for i, done in enumerate(seen.complete) if done]
    n = len(complete)
    best = loss_sign * float(seen.losses[complete].min()) if n else None
    if n < max(min_trials, 2):
        why = f"{n} of the {max(min_trials, 2)} finished trials that a verdict needs"
        return StoppingVerdict(False, n, best, None, regret_below, None, why), start
    space = {name: dist for name, (dist, _) in study_io.distributions(found).items() if not dist.single()}
    data = arrays(space, seen) if space else None
    if data is None or len(data.losses) < 2 or np.ptp(data.losses) == 0.0:
        equal = "all finished trials returned the same value, which says nothing about the rest of the space"
        why = (
            equal if data is not None and len(data.losses) > 1 else "no parameter varies, so there is nothing to model"
        )
        return StoppingVerdict(False, n, best, None, regret_below, None, why), start
    gp = _fit(data, surrogate, start)
    bound = upper_bound_regret(gp, data.X, data.space, width=_WIDTH)[0]
    noise = _noise(gp, data)
    return StoppingVerdict.from_bound(n, best, bound, regret_below, noise), gp.hyperparameters


def _fit(data: Arrays, surrogate: GaussianProcess | None, start: Hyperparameters | None) -> GaussianProcess:
    template = surrogate if surrogate is not None else GaussianProcess(warp="auto")
    gp = template.unfitted(data.space.nominal)
    if start is not None and start.nominal not in ((), data.space.nominal):
        start = None
    return gp.fit(data.X, data.losses, data.observations.noise_variance, start=start, restart=start is not None)


def _noise(gp: GaussianProcess, data: Arrays) -> float:
    """Standard deviation of one trial's noise near the best trials, in the unit of the objective.

    The warp stretches the scale, so the noise of the latent scale is carried over where it matters: at the best.
    """
    latent = gp.latent_at_observed()
    best, sd = float(latent.min()), float(np.sqrt(gp.hyperparameters.noise))
    low, high = gp.losses(np.array([best - sd, best + sd]))
    return float(0.5 * (high - low))
