"""BoTorch and SMAC as Optuna samplers, each with its own recommended settings.

Both use every finished trial of the study, no matter which sampler proposed it, and support static spaces only.
Their packages are imported inside the functions that need them: they are optional and slow to load.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Space = dict[str, BaseDistribution]


def to_unit(value: float, distribution: BaseDistribution) -> float:
    """Position of a number in its range, on a log scale if it has one; integers are at the centres of their cells."""
    low, high, log = _edges(distribution)
    if low == high:
        return 0.5
    if log:
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return (value - low) / (high - low)


def from_unit(unit: float, distribution: BaseDistribution) -> float | int:
    """Inverse of :func:`to_unit`; integers and steps are rounded to the nearest allowed value."""
    low, high, log = _edges(distribution)
    unit = min(max(unit, 0.0), 1.0)
    if log:
        value = math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
    else:
        value = low + unit * (high - low)
    if isinstance(distribution, IntDistribution):
        steps = round((value - distribution.low) / distribution.step)
        last = (distribution.high - distribution.low) // distribution.step
        return distribution.low + distribution.step * min(max(steps, 0), last)
    if not isinstance(distribution, FloatDistribution):
        raise TypeError(f"Only numbers can be mapped to the unit interval; got {distribution!r}.")
    if distribution.step is not None:
        value = distribution.low + distribution.step * round((value - distribution.low) / distribution.step)
    return min(max(value, distribution.low), distribution.high)


def _edges(distribution: BaseDistribution) -> tuple[float, float, bool]:
    if isinstance(distribution, IntDistribution):
        half = 0.5 * distribution.step
        return distribution.low - half, distribution.high + half, distribution.log
    if isinstance(distribution, FloatDistribution):
        return distribution.low, distribution.high, distribution.log
    raise TypeError(f"Only numbers can be mapped to the unit interval; got {distribution!r}.")


def costs(study: Study, trials: list[FrozenTrial]) -> list[float]:
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    return [sign * trial.value for trial in trials if trial.value is not None]


class StaticSampler(BaseSampler):
    """Random until ``n_startup`` trials are complete, then ``_propose`` for the whole space at once."""

    def __init__(self, seed: int, n_startup: int) -> None:
        self._seed = seed
        self._n_startup = n_startup
        self._random = RandomSampler(seed=seed)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Space:
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return {key: value for key, value in intersection_search_space(trials).items() if not value.single()}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: Space) -> dict[str, Any]:
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if not search_space or len(trials) < self._n_startup:
            return {}
        return self._propose(study, trial, trials, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    @abstractmethod
    def _propose(self, study: Study, trial: FrozenTrial, trials: list[FrozenTrial], space: Space) -> dict[str, Any]:
        """The next configuration, from finished trials of a static space."""


class BoTorchSampler(StaticSampler):
    """SingleTaskGP and LogExpectedImprovement in double precision, 10 restarts from 512 raw samples.

    With categories, MixedSingleTaskGP and a search for each combination of them, as its documentation recommends.
    """

    def _propose(self, study: Study, trial: FrozenTrial, trials: list[FrozenTrial], space: Space) -> dict[str, Any]:
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.utils.sampling import manual_seed
        from gpytorch.mlls import ExactMarginalLogLikelihood

        rows = [[_number(finished.params[name], space[name]) for name in space] for finished in trials]
        inputs = torch.tensor(rows, dtype=torch.float64)
        gains = -torch.tensor(costs(study, trials), dtype=torch.float64).unsqueeze(-1)
        sizes = {
            column: len(distribution.choices)
            for column, distribution in enumerate(space.values())
            if isinstance(distribution, CategoricalDistribution)
        }
        with manual_seed(self._seed + trial.number):
            model = _botorch_model(inputs, gains, list(sizes))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            numbers = _best_candidate(LogExpectedImprovement(model, best_f=gains.max()), len(space), sizes)
        return {name: _value(number, space[name]) for name, number in zip(space, numbers, strict=True)}


class BoTorchFrontSampler(StaticSampler):
    """Several objectives: a model as in `BoTorchSampler` for each of them, and qLogNoisyExpectedHypervolumeImprovement.

    This is BoTorch's recommendation, also without noise; it infers the reference point. It does not read constraints.
    """

    def _propose(self, study: Study, trial: FrozenTrial, trials: list[FrozenTrial], space: Space) -> dict[str, Any]:
        import torch
        from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP
        from botorch.sampling import SobolQMCNormalSampler
        from botorch.utils.multi_objective import infer_reference_point, is_non_dominated
        from botorch.utils.sampling import manual_seed
        from gpytorch.mlls import SumMarginalLogLikelihood

        rows = [[_number(finished.params[name], space[name]) for name in space] for finished in trials]
        inputs = torch.tensor(rows, dtype=torch.float64)
        signs = torch.tensor([1.0 if way == StudyDirection.MAXIMIZE else -1.0 for way in study.directions])
        gains = signs.double() * torch.tensor([finished.values for finished in trials], dtype=torch.float64)
        with manual_seed(self._seed + trial.number):
            model = ModelListGP(*(_botorch_model(inputs, column.unsqueeze(-1), []) for column in gains.T))
            fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
            acquisition = qLogNoisyExpectedHypervolumeImprovement(
                model,
                ref_point=infer_reference_point(gains[is_non_dominated(gains)]),
                X_baseline=inputs,
                sampler=SobolQMCNormalSampler(torch.Size([128]), seed=self._seed),
                prune_baseline=True,
            )
            numbers = _best_candidate(acquisition, len(space), {})
        return {name: _value(number, space[name]) for name, number in zip(space, numbers, strict=True)}


def _botorch_model(inputs: Any, gains: Any, choices: list[int]) -> Any:
    from botorch.models import MixedSingleTaskGP, SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize

    dim = inputs.shape[1]
    if not choices:
        return SingleTaskGP(inputs, gains, input_transform=Normalize(d=dim), outcome_transform=Standardize(m=1))
    numbers = Normalize(d=dim, indices=[column for column in range(dim) if column not in choices])
    return MixedSingleTaskGP(
        inputs, gains, cat_dims=choices, input_transform=numbers, outcome_transform=Standardize(m=1)
    )


def _best_candidate(acquisition: Any, dim: int, sizes: dict[int, int]) -> list[float]:
    """``sizes``: columns of categories and their numbers of choices."""
    import torch
    from botorch.optim import optimize_acqf, optimize_acqf_mixed

    upper = [float(sizes.get(column, 2) - 1) for column in range(dim)]
    bounds = torch.tensor([[0.0] * dim, upper], dtype=torch.float64)
    if sizes:
        combinations = itertools.product(*(range(size) for size in sizes.values()))
        fixed = [dict(zip(sizes, map(float, values), strict=True)) for values in combinations]
        found, _ = optimize_acqf_mixed(acquisition, bounds, 1, 10, fixed, raw_samples=512)
    else:
        found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
    return [float(number) for number in found.squeeze(0).tolist()]


def _number(value: Any, distribution: BaseDistribution) -> float:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.to_internal_repr(value)
    return to_unit(value, distribution)


def _value(number: float, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[round(number)]
    return from_unit(number, distribution)


class SmacSampler(StaticSampler):
    """SMAC's BlackBoxFacade with ask and tell, without an initial design because the study already has one."""

    def __init__(self, seed: int, n_startup: int) -> None:
        super().__init__(seed, n_startup)
        self._folder = TemporaryDirectory(prefix="pellucid-smac-")
        self._facade: Any = None
        self._reported: set[int] = set()
        self._asked: dict[int, Any] = {}

    def _propose(self, study: Study, trial: FrozenTrial, trials: list[FrozenTrial], space: Space) -> dict[str, Any]:
        from ConfigSpace import Configuration
        from smac.runhistory import TrialInfo, TrialValue

        if self._facade is None:
            self._facade = self._make_facade(space)
        config_space = self._facade.scenario.configspace
        for finished, cost in zip(trials, costs(study, trials), strict=True):
            if finished.number in self._reported:
                continue
            values = {name: finished.params[name] for name in space}
            info = self._asked.pop(finished.number, None)
            if info is None:
                info = TrialInfo(Configuration(config_space, values=values), seed=0)
            self._facade.tell(info, TrialValue(cost), save=False)
            self._reported.add(finished.number)
        info = self._facade.ask()
        self._asked[trial.number] = info
        return {name: allowed(info.config[name], space[name]) for name in space}

    def _make_facade(self, space: Space) -> Any:
        from smac import BlackBoxFacade, Scenario

        scenario = Scenario(
            _config_space(space, self._seed),
            deterministic=True,
            n_trials=1_000_000,
            seed=self._seed,
            output_directory=Path(self._folder.name),
        )
        return BlackBoxFacade(
            scenario,
            initial_design=BlackBoxFacade.get_initial_design(scenario, n_configs=0),
            logging_level=False,
            overwrite=True,
        )


def _config_space(space: Mapping[str, BaseDistribution], seed: int) -> ConfigurationSpace:
    from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace
    from ConfigSpace import UniformFloatHyperparameter as Float
    from ConfigSpace import UniformIntegerHyperparameter as Integer

    config_space = ConfigurationSpace(seed=seed)
    for name, dist in space.items():
        if isinstance(dist, CategoricalDistribution):
            config_space.add(CategoricalHyperparameter(name, dist.choices))
        elif isinstance(dist, FloatDistribution) and dist.step is None:
            config_space.add(Float(name, dist.low, dist.high, log=dist.log))
        elif isinstance(dist, IntDistribution) and dist.step == 1:
            config_space.add(Integer(name, dist.low, dist.high, log=dist.log))
        else:
            raise TypeError(f"The smac peer takes floats, ints and categoricals without a step; got {dist!r}.")
    return config_space


def allowed(value: Any, distribution: BaseDistribution) -> Any:
    """The value within its range: SMAC's log transform may leave it by a rounding error, which Optuna rejects."""
    if isinstance(distribution, FloatDistribution):
        return min(max(float(value), distribution.low), distribution.high)
    return int(value) if isinstance(distribution, IntDistribution) else value
