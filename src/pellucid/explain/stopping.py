"""Whether a study can stop: an upper bound of the regret, and how it fell over the run.

The bound is the one that SAWEI watches (`acquisition.adaptive.upper_bound_regret`): how much better than the best
evaluated configuration any other could still be, according to the surrogate. SAWEI widens its bounds with the logarithm
of the number of trials, as proofs require; here they are two standard deviations wide, the usual 95% interval.
"""

from __future__ import annotations

import numpy as np
from optuna.study import Study

from pellucid.acquisition.adaptive import upper_bound_regret
from pellucid.acquisition.base import explored_share
from pellucid.explain.model import default_template, fitted_model, opened
from pellucid.records import Hyperparameters, Receipt, RegretHistory, StoppingVerdict
from pellucid.study.arrays import Arrays
from pellucid.study.receipts import model_receipts
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

# Fewer trials say too little about the rest of the space for a verdict to stop.
MIN_TRIALS = 20
# Half-width of the bounds, in standard deviations.
_WIDTH = 2.0
# Bounds over the run: each costs a Cholesky factor of the trials so far, so a dozen of them, and none beyond this many
# trials except the last.
_N_BOUNDS, _MOST_CONDITIONED = 12, 1500


def stopping_verdict(
    study: Study,
    *,
    regret_below: float | None = None,
    min_trials: int = MIN_TRIALS,
    surrogate: GaussianProcess | None = None,
) -> StoppingVerdict:
    """Whether the study can stop, and why. Works for studies of any sampler.

    Args:
        study: any study with one objective.
        regret_below: how much improvement, in the unit of the objective, you are ready to forgo. None: as much as the
            noise of one trial (its estimated standard deviation), because smaller differences cannot be seen anyway.
        min_trials: with fewer finished trials the verdict is always to continue.
        surrogate: kernel and warp of the model; default `GaussianProcess(warp="auto")`.
    """
    check_stopping(regret_below, min_trials)
    with opened(study, "stopping_verdict") as view:
        return stopping_verdict_of(view, regret_below, min_trials, surrogate)


def stopping_verdict_of(
    view: StudyView,
    regret_below: float | None = None,
    min_trials: int = MIN_TRIALS,
    surrogate: GaussianProcess | None = None,
) -> StoppingVerdict:
    return verdict_and_fit(view, regret_below, min_trials, surrogate, None)[0]


def check_stopping(regret_below: float | None, min_trials: int) -> None:
    """Raise ValueError if an argument of `stopping_verdict` is out of its range."""
    if regret_below is not None and not (np.isfinite(regret_below) and regret_below > 0.0):
        raise ValueError(
            f"`regret_below` must be a positive number in the unit of the objective, or None, but got {regret_below}."
        )
    if min_trials < 1:
        raise ValueError(f"`min_trials` must be at least 1, but got {min_trials}.")


def verdict_and_fit(
    view: StudyView,
    regret_below: float | None,
    min_trials: int,
    surrogate: GaussianProcess | None,
    start: Hyperparameters | None,
) -> tuple[StoppingVerdict, Hyperparameters | None]:
    """The verdict, and the hyperparameters behind it. `start`: those of an earlier verdict, to begin the fit with."""
    complete = [i for i, done in enumerate(view.observations.complete) if done]
    n = len(complete)
    best = view.sign * float(view.observations.losses[complete].min()) if n else None

    def no_verdict(reason: str) -> tuple[StoppingVerdict, Hyperparameters | None]:
        return StoppingVerdict(False, n, best, None, regret_below, None, reason), start

    if n < max(min_trials, 2):
        return no_verdict(f"a verdict needs {max(min_trials, 2)} finished trials, and this study has {n}")
    if not view.varying or len(view.data.losses) < 2:
        return no_verdict("no parameter varies, so there is nothing to model")
    if np.ptp(view.data.losses) == 0.0:
        return no_verdict("all finished trials returned the same value, which says nothing about the rest of the space")
    gp = _fitted(view, surrogate, start)
    bound = upper_bound_regret(gp, view.data.X, view.data.space, width=_WIDTH)[0]
    return StoppingVerdict.from_bound(n, best, bound, regret_below, _noise(gp)), gp.hyperparameters


def _fitted(view: StudyView, surrogate: GaussianProcess | None, start: Hyperparameters | None) -> GaussianProcess:
    data = view.data
    if start is None or start.nominal not in ((), data.space.nominal):
        return fitted_model(view, data, surrogate)
    template = default_template() if surrogate is None else surrogate
    gp = template.unfitted(data.space.nominal)
    return gp.fit(data.X, data.losses, data.observations.noise_variance, start=start, restart=True)


def _noise(gp: GaussianProcess) -> float:
    """Standard deviation of one trial's noise near the best trials, in the unit of the objective.

    The warp stretches the scale, so the latent noise is mapped back where it matters: at the best trial.
    """
    best, sd = float(gp.latent_at_observed().min()), float(np.sqrt(gp.hyperparameters.noise))
    low, high = gp.losses(np.array([best - sd, best + sd]))
    return float(0.5 * (high - low))


# ---------------------------------------------------------------------- over the run


def regret_history(study: Study, *, regret_below: float | None = None, min_trials: int = MIN_TRIALS) -> RegretHistory:
    """How much there was left to find over the run, and how much proposals explored.

    Args:
        study, regret_below, min_trials: as for `stopping_verdict`.
    """
    check_stopping(regret_below, min_trials)
    with opened(study, "regret_history") as view:
        return regret_history_of(view, regret_below, min_trials)


def regret_history_of(
    view: StudyView, regret_below: float | None = None, min_trials: int = MIN_TRIALS
) -> RegretHistory:
    stopping, hyperparameters = verdict_and_fit(view, regret_below, min_trials, None, None)
    after: tuple[int, ...] = ()
    bounds: tuple[float, ...] = ()
    if hyperparameters is not None and stopping.bound is not None:
        after, bounds = _bounds_over_the_run(view.data, hyperparameters, stopping.bound)
    proposals = model_receipts(view.trials, len(view.trials))
    acquisitions = [receipt.acquisition for receipt in proposals if receipt.acquisition is not None]
    return RegretHistory(
        stopping,
        after,
        bounds,
        tuple(receipt.trial for receipt in proposals),
        tuple(_alpha(receipt) for receipt in proposals),
        tuple(explored_share(acquisition) for acquisition in acquisitions),
    )


def _bounds_over_the_run(
    data: Arrays, hyperparameters: Hyperparameters, last_bound: float
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Trial numbers and the bound after each. Early ones are closer together, because the bound changes faster."""
    noise, n = data.observations.noise_variance, len(data.losses)
    last = max(1, min(int(0.9 * n), _MOST_CONDITIONED))
    counts = np.unique(np.geomspace(min(last, 2 * len(data.space)), last, _N_BOUNDS).round().astype(int))
    bounds = []
    for count in counts:
        gp = GaussianProcess.from_hyperparameters(hyperparameters)
        gp.condition(data.X[:count], data.losses[:count], None if noise is None else noise[:count])
        bounds.append(upper_bound_regret(gp, data.X[:count], data.space, width=_WIDTH)[0])
    numbers = data.observations.numbers
    return (*(numbers[count - 1] for count in counts), numbers[-1]), (*bounds, last_bound)


def _alpha(receipt: Receipt) -> float | None:
    """The weight that a policy set; None if the proposal was made without it: WEI's guard may have used EI instead."""
    assert receipt.acquisition is not None
    if receipt.policy is None or "alpha" not in receipt.acquisition.settings:
        return None
    return receipt.policy.numbers.get("alpha")
