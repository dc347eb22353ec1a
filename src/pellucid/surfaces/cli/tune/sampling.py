"""The samplers that `pellucid tune` offers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.extras import require_ranking

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

# A two-step search: the fewest random trials that `TwoStepSampler` accepts, and the fewest trials in all, which leave a
# few for each step.
_FEWEST_RANDOM, _FEWEST_IN_STEPS = 21, 30


class SamplerName(str, Enum):
    BAYESIAN = "bayesian"
    SAWEI = "sawei"
    TWO_STEP = "two-step"
    TPE = "tpe"
    RANDOM = "random"
    OPTUNA_GP = "optuna-gp"


# The samplers that can follow a ranking model.
_FALLBACKS = (SamplerName.BAYESIAN.value, SamplerName.SAWEI.value)


def check_sampler(name: SamplerName, n_trials: int) -> None:
    """Raise Mistake or Unavailable if the sampler cannot run."""
    if name is SamplerName.OPTUNA_GP and find_spec("torch") is None:
        raise Unavailable("Optuna's GP sampler needs torch: install it with `pip install torch`, or use `bayesian`.")
    if name is SamplerName.TWO_STEP and n_trials < _FEWEST_IN_STEPS:
        raise Mistake(
            f"A search in two steps needs --trials of at least {_FEWEST_IN_STEPS}, of which the first {_FEWEST_RANDOM} "
            f"are random; got {n_trials}. Ask for more, or use `bayesian`."
        )


def check_model(model: Path, name: SamplerName) -> None:
    """Raise Mistake or Unavailable if the model cannot propose trials."""
    if name.value not in _FALLBACKS:
        raise Mistake(
            f"With --model, the model proposes the first trials and --sampler {' or '.join(_FALLBACKS)} the later "
            f"ones; got `{name.value}`: leave one of the two out."
        )
    require_ranking("--model")
    from pellucid.models.ranking.files import ModelFileError, load

    try:
        load(model)
    except ModelFileError as error:
        raise Mistake(str(error)) from None


def check_objectives(name: SamplerName, model: Path | None, n_objectives: int) -> None:
    """Raise Mistake if the sampler cannot run a study with so many objectives."""
    if n_objectives == 1:
        return
    from pellucid.pareto import MOST_OBJECTIVES

    if model is not None:
        raise Mistake(f"A model for --model knows one objective; the study has {n_objectives}: leave --model out.")
    if name in (SamplerName.SAWEI, SamplerName.TWO_STEP):
        raise Mistake(
            f"The sampler `{name.value}` works on one objective; the study has {n_objectives}: use `bayesian`."
        )
    if name is SamplerName.BAYESIAN and n_objectives > MOST_OBJECTIVES:
        raise Mistake(
            f"The sampler `bayesian` works on up to {MOST_OBJECTIVES} objectives; the study has {n_objectives}: use "
            "`tpe`."
        )


def make_sampler(
    name: SamplerName, seed: int | None, n_trials: int, seed_key: Sequence[int], model: str | None = None
) -> BaseSampler:
    """The sampler of one worker.

    `seed_key` differs between workers and continued runs. Optuna's samplers draw one sequence per process, so workers
    with the same seed would repeat each other; pellucid's draw one per trial. `model`: the file of a ranking model that
    proposes the first trials.
    """
    import optuna

    from pellucid import BayesianSampler, RankingSampler, TwoStepSampler
    from pellucid.search.acquisition import SAWEI

    if model is not None:
        fallback = make_sampler(name, seed, n_trials, seed_key)
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
            return optuna.samplers.TPESampler(seed=_own_seed(seed, seed_key))
        case SamplerName.RANDOM:
            return optuna.samplers.RandomSampler(seed=_own_seed(seed, seed_key))
        case SamplerName.OPTUNA_GP:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return optuna.samplers.GPSampler(seed=_own_seed(seed, seed_key))


def _own_seed(seed: int | None, seed_key: Sequence[int]) -> int | None:
    if seed is None:
        return None
    import numpy as np

    return int(np.random.SeedSequence([seed, *seed_key]).generate_state(1)[0])
