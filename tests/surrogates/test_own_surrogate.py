"""A model that no receipt could rebuild is refused wherever `surrogate=` is taken, instead of being replaced."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from tests.helpers import bowl

import pellucid
from pellucid.models import GaussianProcess


class Mine(GaussianProcess):
    """It would have its own way to learn."""


STUDY = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
STUDY.optimize(bowl, n_trials=12)
TAKERS: dict[str, Callable[[Any], object]] = {
    "BayesianSampler": lambda surrogate: pellucid.BayesianSampler(surrogate=surrogate),
    "TwoStepSampler": lambda surrogate: pellucid.TwoStepSampler(surrogate=surrogate),
    "StopWhen": lambda surrogate: pellucid.StopWhen(surrogate=surrogate),
    "recommend": lambda surrogate: pellucid.recommend(STUDY, surrogate=surrogate),
    "stopping_verdict": lambda surrogate: pellucid.stopping_verdict(STUDY, surrogate=surrogate),
    "partial_dependence": lambda surrogate: pellucid.partial_dependence(STUDY, "x", surrogate=surrogate),
}
OTHERS = [Mine(), GaussianProcessRegressor(), GaussianProcess, "matern52", False]


def test_these_are_all_that_take_one() -> None:
    takers = []
    for name in pellucid.__all__:
        public = getattr(pellucid, name)
        error = isinstance(public, type) and issubclass(public, Exception)  # Those of Python have no signature.
        if callable(public) and not error and "surrogate" in inspect.signature(public).parameters:
            takers.append(name)
    assert set(takers) == {*TAKERS, "RebuiltProposal"}  # The last is a record that has one.


@pytest.mark.parametrize("surrogate", OTHERS, ids=["subclass", "sklearn", "class", "text", "false"])
@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_another_model_is_refused_when_it_is_given(take: Callable[[object], object], surrogate: object) -> None:
    words = r"must be a plain pellucid\.surrogates\.GaussianProcess, .* such as GaussianProcess\('matern52'"
    with pytest.raises(TypeError, match=words) as refused:
        take(surrogate)
    assert repr(surrogate) in str(refused.value)


@pytest.mark.parametrize("kernel", ["matern32", "matern52"])
def test_a_plain_process_is_used(kernel: str) -> None:
    surrogate = GaussianProcess(kernel, warp="auto")
    sampler = pellucid.BayesianSampler(surrogate=surrogate, n_startup_trials=3, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=4)
    hyperparameters = pellucid.receipt(study, 3).hyperparameters
    assert hyperparameters is not None
    assert hyperparameters.kernel == kernel
    assert pellucid.stopping_verdict(study, surrogate=surrogate).n_trials == 4
