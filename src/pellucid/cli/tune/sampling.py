"""The samplers that `pellucid tune` offers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.errors import Mistake, Unavailable

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

_FEWEST_IN_STEPS = 30
_FEWEST_RANDOM = 21


class SamplerName(str, Enum):
    BAYESIAN = "bayesian"
    SAWEI = "sawei"
    TWO_STEP = "two-step"
    TPE = "tpe"
    RANDOM = "random"
    OPTUNA_GP = "optuna-gp"


# What a ranking model hands over to.
_FALLBACKS = (SamplerName.BAYESIAN.value, SamplerName.SAWEI.value)


def check_sampler(name: SamplerName, n_trials: int) -> None:
    """Refuse what cannot run before anything is made."""
    if name is SamplerName.OPTUNA_GP and find_spec("torch") is None:
        raise Unavailable("Optuna's GP sampler needs torch: install it with `pip install torch`, or use `bayesian`.")
    if name is SamplerName.TWO_STEP and n_trials < _FEWEST_IN_STEPS:
        raise Mistake(
            f"A search in two steps needs --trials of at least {_FEWEST_IN_STEPS}, the first {_FEWEST_RANDOM} of them "
            f"at random; got {n_trials}. Ask for more, or use `bayesian`."
        )


def require_ranking(what: str) -> None:
    missing = [package for package in ("torch", "safetensors") if find_spec(package) is None]
    if missing:
        raise Unavailable(f"{what} needs {' and '.join(missing)}, not installed: `pip install 'pellucid[ranking]'`.")


def check_model(model: Path, name: SamplerName) -> None:
    """Refuse a model that cannot propose, before anything is made."""
    if name.value not in _FALLBACKS:
        raise Mistake(
            f"With --model, trials come from the model at first and from --sampler {' or '.join(_FALLBACKS)} later; "
            f"got `{name.value}`: leave one of the two out."
        )
    require_ranking("--model")
    from pellucid.surrogates.ranking.files import ModelFileError, load

    try:
        load(model)
    except ModelFileError as error:
        raise Mistake(str(error)) from None


def make_sampler(
    name: SamplerName, seed: int | None, n_trials: int, share: Sequence[int], model: str | None = None
) -> BaseSampler:
    """`share`: of this worker in this run. Optuna's samplers count their random numbers by process, so workers with
    one seed would repeat each other; ours count them by trial. `model`: a file, whose ranking proposes first."""
    import optuna

    from pellucid import BayesianSampler, RankingSampler, TwoStepSampler
    from pellucid.acquisition import SAWEI

    if model is not None:
        fallback = make_sampler(name, seed, n_trials, share)
        assert isinstance(fallback, BayesianSampler)
        return RankingSampler(model=model, fallback=fallback, seed=seed)
    match name:
        case SamplerName.BAYESIAN:
            return BayesianSampler(seed=seed)
        case SamplerName.SAWEI:
            return BayesianSampler(seed=seed, acquisition=SAWEI())
        case SamplerName.TWO_STEP:
            n_random = max(_FEWEST_RANDOM, n_trials // 2)
            return TwoStepSampler(seed=seed, n_random=n_random, n_step1=max(1, (n_trials - n_random + 1) // 2))
        case SamplerName.TPE:
            return optuna.samplers.TPESampler(seed=_own_seed(seed, share))
        case SamplerName.RANDOM:
            return optuna.samplers.RandomSampler(seed=_own_seed(seed, share))
        case SamplerName.OPTUNA_GP:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return optuna.samplers.GPSampler(seed=_own_seed(seed, share))


def _own_seed(seed: int | None, share: Sequence[int]) -> int | None:
    if seed is None:
        return None
    import numpy as np

    return int(np.random.SeedSequence([seed, *share]).generate_state(1)[0])
