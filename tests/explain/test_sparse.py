"""Models that leave out parameters: as many as the likelihood says, and without any effect of what they leave out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import Trial

from pellucid.answers.fronts.answer import modelled
from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.evidence import evidence, parameter_sets
from pellucid.beliefs.front_members import Tried
from pellucid.space.branches import everywhere
from pellucid.study.view import StudyView


def modelled_trials(function: Callable[[float, float, float], float], n: int = 30) -> Model:
    """The model of random trials of three parameters, with noise of a tenth of the range."""
    rng = np.random.default_rng(0)

    def objective(trial: Trial) -> float:
        a, b, c = (trial.suggest_float(name, 0.0, 1.0) for name in "abc")
        return function(a, b, c) + 0.1 * float(rng.standard_normal())

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=n)
    view = StudyView.of(study, "test")
    return Beliefs(view).model(view.objective)


@pytest.mark.parametrize(("function", "k"), [(lambda a, b, c: b, 1), (lambda a, b, c: a + b + c, 3)])
def test_the_likeliest_set_has_the_parameters_with_an_effect(function: Callable[..., float], k: int) -> None:
    model = modelled_trials(function)
    order, chances = parameter_sets(model.gp)
    assert chances.sum() == pytest.approx(1.0)
    assert int(np.argmax(chances)) == k
    assert order[0] == np.argmax(evidence(model.gp)) or k > 1


def test_what_is_left_out_changes_nothing_and_what_matters_stays() -> None:
    model = modelled_trials(lambda a, b, c: b)
    models = model.sparse
    assert models is model.sparse, "made once"
    Z = everywhere(model.data.space, 20)
    Z[:, 1] = 0.5
    spreads = np.array([np.ptp(gp.losses(gp.latent_mean(Z))) for gp in models])
    assert (spreads < 1e-6).sum() >= len(models) // 2
    Z[0, 1] = 0.0
    assert all(np.ptp(gp.losses(gp.latent_mean(Z))) > 0.3 for gp in models)


def test_models_of_parameters_that_all_matter_are_the_plausible_ones() -> None:
    model = modelled_trials(lambda a, b, c: 3.0 * (a + b + c))
    assert set(model.sparse) == set(model.drawn)


def test_trials_that_speak_for_no_effect_do_not_say_which_parameters_have_none() -> None:
    model = modelled_trials(lambda a, b, c: 0.0)
    assert int(np.argmax(parameter_sets(model.gp)[1])) == 0
    assert len(set(model.sparse) & set(model.drawn)) >= 6


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
    chances = Tried.of(Beliefs(view), data).chances()
    tied = X[:, 0] == 0.0
    wasteful = tied & (waste > waste[tied].min() + 0.3)
    assert wasteful.sum() >= 10
    # Some models let other parameters change the latency a little: a wasteful trial is on the front of some draws.
    assert chances[wasteful].max() < 0.1
    assert chances[tied & ~wasteful].max() > 0.9
