"""Models that leave out parameters: as many as the likelihood says, and without any effect of what they leave out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import Trial

from pellucid.explain.evidence import evidence, parameter_sets
from pellucid.explain.fronts.answer import modelled
from pellucid.explain.fronts.membership import Tried
from pellucid.explain.model import fitted_model
from pellucid.explain.parts import drawn_models, everywhere
from pellucid.explain.sparse import sparse_models
from pellucid.study.view import StudyView


def viewed(function: Callable[[float, float, float], float], n: int = 30) -> StudyView:
    """Random trials of three parameters, with noise of a tenth of the range."""
    rng = np.random.default_rng(0)

    def objective(trial: Trial) -> float:
        a, b, c = (trial.suggest_float(name, 0.0, 1.0) for name in "abc")
        return function(a, b, c) + 0.1 * float(rng.standard_normal())

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=n)
    return StudyView.of(study, "test")


@pytest.mark.parametrize(("function", "k"), [(lambda a, b, c: b, 1), (lambda a, b, c: a + b + c, 3)])
def test_the_likeliest_set_has_the_parameters_with_an_effect(function: Callable[..., float], k: int) -> None:
    view = viewed(function)
    gp = fitted_model(view, view.data)
    order, chances = parameter_sets(gp)
    assert chances.sum() == pytest.approx(1.0)
    assert int(np.argmax(chances)) == k
    assert order[0] == np.argmax(evidence(gp)) or k > 1


def test_what_is_left_out_changes_nothing_and_what_matters_stays() -> None:
    view = viewed(lambda a, b, c: b)
    gp = fitted_model(view, view.data)
    models = sparse_models(gp, view.data)
    assert models is sparse_models(gp, view.data), "made once"
    Z = everywhere(view.data.space, 20)
    Z[:, 1] = 0.5
    spreads = np.array([np.ptp(model.losses(model.latent_mean(Z))) for model in models])
    assert (spreads < 1e-6).sum() >= len(models) // 2
    Z[0, 1] = 0.0
    assert all(np.ptp(model.losses(model.latent_mean(Z))) > 0.3 for model in models)


def test_models_of_parameters_that_all_matter_are_the_plausible_ones() -> None:
    view = viewed(lambda a, b, c: 3.0 * (a + b + c))
    gp = fitted_model(view, view.data)
    assert set(sparse_models(gp, view.data)) == set(drawn_models(gp, view.data))


def test_trials_that_speak_for_no_effect_do_not_say_which_parameters_have_none() -> None:
    view = viewed(lambda a, b, c: 0.0)
    gp = fitted_model(view, view.data)
    assert int(np.argmax(parameter_sets(gp)[1])) == 0
    assert len(set(sparse_models(gp, view.data)) & set(drawn_models(gp, view.data))) >= 6


def test_trials_that_tie_in_one_objective_are_on_the_front_only_if_good_in_the_other() -> None:
    """Latency depends on `size` alone, and half of the trials have the same size; latency and error are noisy."""
    rng = np.random.default_rng(1)
    study = optuna.create_study(directions=["minimize", "minimize"])
    space = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in ("size", "a", "b", "c")}
    X = rng.random((40, 4)) * np.c_[np.arange(40) % 2, np.ones((40, 3))]
    waste = X[:, 1:].sum(axis=1)
    Y = np.c_[X[:, 0], 1.0 - X[:, 0] + waste] + 0.05 * rng.standard_normal((40, 2))
    for x, values in zip(X.tolist(), Y.tolist(), strict=True):
        params = dict(zip(space, x, strict=True))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, values=values))
    view = StudyView.whole(study)
    data, _ = modelled(view)
    assert data is not None
    chances = Tried.of(view, data).chances()
    tied = X[:, 0] == 0.0
    wasteful = tied & (waste > waste[tied].min() + 0.3)
    assert wasteful.sum() >= 10
    # Some models let other parameters change the latency a little: a wasteful trial is on the front of some draws.
    assert chances[wasteful].max() < 0.1
    assert chances[tied & ~wasteful].max() > 0.9
