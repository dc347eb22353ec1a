"""The model behind a study: rebuilt as it was when it proposed a trial, or fitted now to recommend a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.acquisition.base import AcquisitionFunction, Situation, from_state
from pellucid.numerics import Array, expand_integers, one_thread
from pellucid.records import Receipt, Recommendation
from pellucid.study import study_io
from pellucid.study.arrays import Arrays, arrays, encoded
from pellucid.study.encoding import Condition, Space
from pellucid.surrogates import GaussianProcess

_LEVEL = 0.95
_FEW = 10
# How much larger leave-one-out errors may be without a warp (root mean square, median) before the warp is needed.
_MUCH_WORSE = (2.5, 20.0)
WHERE_TO_LOOK = "`pellucid.receipts(study)` lists the trials that have a model behind them (kind 'model')."


@dataclass(frozen=True)
class Rebuilt:
    """A past decision, alive again: space, surrogate (with pending trials) and the acquisition that chose the trial."""

    receipt: Receipt
    space: Space
    surrogate: GaussianProcess
    acquisition: AcquisitionFunction

    def encode(self, configurations: Sequence[Mapping[str, Any]]) -> Array:
        return self.space.encode(configurations)[0]

    def predict(self, configurations: Sequence[Mapping[str, Any]]) -> tuple[Array, Array]:
        """Mean and sd in the user's units and direction."""
        mean, sd = self.surrogate.predict(self.encode(configurations))
        return (-mean if self.receipt.direction == "maximize" else mean), sd


def rebuild(study: Study, trial: int) -> Rebuilt:
    """The surrogate and acquisition exactly as they were when trial number `trial` was proposed."""
    study_io.require_single_objective(study, "rebuild")
    found = {t.number: t for t in study_io.trials(study)}
    if not found:
        raise ValueError("The study has no trials yet, so there is nothing to rebuild.")
    if trial not in found:
        raise ValueError(f"The study has no trial {trial}; its trials are 0 to {max(found)}.")
    receipt = study_io.read_receipt(found[trial])
    if receipt is None:
        raise ValueError(
            f"Trial {trial} has no receipt: it was not proposed by pellucid, so there is nothing to rebuild. "
            f"{WHERE_TO_LOOK}"
        )
    require_model(receipt, trial, "model to rebuild")
    with one_thread:
        return rebuild_from(receipt, found, study_io.sign(study))


def require_model(receipt: Receipt, trial: int, what: str) -> None:
    """Refuse receipts without a model, and those of trials that have another number now."""
    if receipt.kind != "model":
        raise ValueError(f"There is no {what}. {receipt} {WHERE_TO_LOOK}")
    require_own(receipt, trial)


def require_own(receipt: Receipt, trial: int) -> None:
    if receipt.trial != trial:
        raise ValueError(
            f"The receipt of trial {trial} was written for trial {receipt.trial}: the trials were copied to other "
            "numbers, and the ones it names are no longer the ones it meant. Ask the original study."
        )


def rebuild_from(receipt: Receipt, found: Mapping[int, FrozenTrial], loss_sign: float) -> Rebuilt:
    assert receipt.hyperparameters is not None and receipt.acquisition is not None
    sources = [number for number in receipt.space.values() if isinstance(number, int)]
    needed = [*sources, *expand_integers(receipt.fitted_on), *expand_integers(receipt.believed)]
    missing = sorted(set(needed) - set(found))
    if missing:
        raise ValueError(f"Trial {receipt.trial} cannot be rebuilt: the storage no longer has trials {missing}.")
    space = Space.of(
        {name: study_io.distribution_of(found, name, where) for name, where in receipt.space.items()},
        {child: Condition.from_list(rule) for child, rule in receipt.conditions.items()},
        receipt.ordinal,
    )
    seen = study_io.observations([found[i] for i in expand_integers(receipt.fitted_on)], loss_sign)
    data = encoded(space, seen)
    gp = GaussianProcess.from_hyperparameters(receipt.hyperparameters)
    gp.condition(data.X, data.losses, data.observations.noise_variance)
    silent = [found[i].params for i in expand_integers(receipt.believed)]
    rows = [space.encode(silent)[0], np.array(list(receipt.pending.values())).reshape(-1, len(space))]
    situation = Situation(receipt.acquisition.best, len(data.losses), len(space))
    surrogate = gp.believe(np.vstack(rows))
    function = from_state(receipt.acquisition).bind(surrogate, situation, space)
    return Rebuilt(receipt, space, surrogate, function)


@dataclass(frozen=True)
class Explanation:
    """The surrogate with which effects are explained. `typical`: it needed an output warp, so that curves mapped back
    to the objective's unit show typical values instead of averages."""

    gp: GaussianProcess
    typical: bool


def explanation_model(data: Arrays, surrogate: GaussianProcess | None = None) -> Explanation:
    """A surrogate without an output warp where that fits the data as well: its averages are those of the objective."""
    template = GaussianProcess(warp="auto") if surrogate is None else surrogate
    noise, nominal = data.observations.noise_variance, data.space.nominal
    plain = template.unwarped().unfitted(nominal).fit(data.X, data.losses, noise)
    if template.warp is None:
        return Explanation(plain, False)
    warped = template.unfitted(nominal).fit(data.X, data.losses, noise)
    if warped.hyperparameters.warp is None or warped.kernel.radial:
        return Explanation(plain, False)
    mine, theirs = (np.abs(gp.left_out() - data.losses) for gp in (plain, warped))
    scale = max(float(mine.max()), 1e-300)
    worse_overall = _root_mean_square(mine / scale) > _MUCH_WORSE[0] * _root_mean_square(theirs / scale)
    worse_as_a_rule = float(np.median(mine)) > _MUCH_WORSE[1] * float(np.median(theirs))
    return Explanation(warped, True) if worse_overall or worse_as_a_rule else Explanation(plain, False)


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def recommend(study: Study, *, surrogate: GaussianProcess | None = None) -> Recommendation:
    """The evaluated configuration with the best *expected* objective, and a 95 % interval of its true value.

    With noise this is not always the best trial: a lucky value is shrunk towards what its neighbours say.
    """
    study_io.require_single_objective(study, "recommend")
    with one_thread:
        return _recommend(study, surrogate)


def _recommend(study: Study, surrogate: GaussianProcess | None) -> Recommendation:
    loss_sign = study_io.sign(study)
    found = study_io.trials(study)
    seen = study_io.observations(found, loss_sign)
    complete = [i for i, done in enumerate(seen.complete) if done]
    if not complete:
        raise ValueError(
            "A recommendation needs at least one finished trial with a value; "
            f"this study has {len(found)} trials, none of them finished with one."
        )
    seen = seen.select(complete)
    space_now = {name: dist for name, (dist, _) in study_io.distributions(found).items() if not dist.single()}
    data = arrays(space_now, seen) if space_now else None
    if data is None or len(data.losses) == 0:
        best = int(np.argmin(seen.losses))
        value = loss_sign * float(seen.raw[best])
        return Recommendation(
            dict(seen.configurations[best]), seen.numbers[best], value, -np.inf, np.inf, _LEVEL, value, len(seen),
            "There is nothing to model (no parameter varies), so this is simply the best trial.",
        )  # fmt: skip
    template = surrogate if surrogate is not None else GaussianProcess(warp="auto")
    gp = template.unfitted(data.space.nominal)
    gp.fit(data.X, data.losses, data.observations.noise_variance)
    best = int(np.argmin(gp.latent_at_observed()))
    x = data.X[best : best + 1]
    ends = sorted(loss_sign * float(gp.quantile(x, p)[0]) for p in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2))
    few = max(2 * len(data.space), _FEW)
    return Recommendation(
        params=dict(data.observations.configurations[best]),
        trial=data.observations.numbers[best],
        expected=loss_sign * float(gp.predict(x)[0][0]),
        low=ends[0],
        high=ends[1],
        level=_LEVEL,
        observed=loss_sign * float(data.observations.raw[best]),
        n_trials=len(data.losses),
        note=f"Provisional: {_counted(len(data.losses), 'trial')} for {_counted(len(data.space), 'parameter')}."
        if len(data.losses) < few
        else "",
    )
