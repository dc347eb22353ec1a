"""Whether a study can stop: a verdict from an upper bound of the regret, and how that bound came down.

The bound is the one that SAWEI watches (`acquisition.adaptive.upper_bound_regret`): how much better than the best
evaluated configuration anything in the space could still be, according to the surrogate. SAWEI's bounds widen with
the logarithm of the number of trials, which proofs need and a user's patience does not; here they are two standard
deviations wide, the usual 95 % interval.
"""

from __future__ import annotations

import numpy as np
from optuna.study import Study

from pellucid.acquisition.adaptive import upper_bound_regret
from pellucid.acquisition.base import explored_share
from pellucid.numerics import one_thread
from pellucid.records import Course, Hyperparameters, Receipt, StoppingVerdict
from pellucid.study import study_io
from pellucid.study.arrays import Arrays, arrays
from pellucid.surrogates import GaussianProcess

_WIDTH = 2.0
_N_BOUNDS, _MOST_CONDITIONED = 12, 1500


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
    check_stopping(regret_below, min_trials)
    with one_thread:
        return verdict_of(study, regret_below, min_trials, surrogate, None)[0]


def check_stopping(regret_below: float | None, min_trials: int) -> None:
    if regret_below is not None and not (np.isfinite(regret_below) and regret_below > 0.0):
        raise ValueError(
            f"`regret_below` must be a positive number in the unit of the objective, or None, but got {regret_below}."
        )
    if min_trials < 1:
        raise ValueError(f"`min_trials` must be at least 1, but got {min_trials}.")


def verdict_of(
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


# ---------------------------------------------------------------------- over the run


def search_course(study: Study, *, regret_below: float | None = None, min_trials: int = 20) -> Course:
    """How much there was left to find over the run, and what proposals were after; arguments as `stopping_verdict`."""
    study_io.require_single_objective(study, "search_course")
    check_stopping(regret_below, min_trials)
    with one_thread:
        stopping, h = verdict_of(study, regret_below, min_trials, None, None)
        after, bounds = (
            ((), ()) if h is None or stopping.bound is None else _bounds_over_the_run(study, h, stopping.bound)
        )
    found = study_io.trials(study)
    proposals = [
        (r, explored_share(r.acquisition))
        for r in study_io.model_receipts(found, len(found))
        if r.acquisition is not None
    ]
    return Course(
        stopping,
        after,
        bounds,
        tuple(r.trial for r, _ in proposals),
        tuple(_alpha(r) for r, _ in proposals),
        tuple(share for _, share in proposals),
    )


def _bounds_over_the_run(study: Study, h: Hyperparameters, now: float) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """After a few trials before the last; early ones are closer together, and cost less."""
    found = study_io.trials(study)
    space = {name: dist for name, (dist, _) in study_io.distributions(found).items() if not dist.single()}
    data = arrays(space, study_io.observations(found, study_io.sign(study)))
    noise, n = data.observations.noise_variance, len(data.losses)
    last = max(1, min(int(0.9 * n), _MOST_CONDITIONED))
    counts = np.unique(np.geomspace(min(last, 2 * len(data.space)), last, _N_BOUNDS).round().astype(int))
    bounds = []
    for k in counts:
        gp = GaussianProcess.from_hyperparameters(h)
        gp.condition(data.X[:k], data.losses[:k], None if noise is None else noise[:k])
        bounds.append(upper_bound_regret(gp, data.X[:k], data.space, width=_WIDTH)[0])
    numbers = data.observations.numbers
    return (*(numbers[k - 1] for k in counts), numbers[-1]), (*bounds, now)


def _alpha(receipt: Receipt) -> float | None:
    """The weight that a policy set, where the proposal was made with it: its guard may have put EI in its place."""
    assert receipt.acquisition is not None
    return (
        receipt.policy.numbers.get("alpha")
        if receipt.policy is not None and "alpha" in receipt.acquisition.settings
        else None
    )
