"""Choices between real models: their spaces, their data, and that a value depends on the configuration alone."""

import numpy as np
import optuna
import pytest

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.problems.model_choices import (
    DESIGN_DATA,
    DESIGN_NAMES,
    NAMES,
    REPORTED_DATA,
    REPORTED_NAMES,
    SPACES,
    load_data,
    ranking_accuracy,
)
from pellucid_lab.problems.suites import find_suite, is_conditional, load_problem, problem_names


@pytest.fixture(autouse=True)
def packages() -> None:
    pytest.importorskip("sklearn")
    try:
        import lightgbm  # noqa: F401
    except (ImportError, OSError) as reason:  # OSError: libgomp is missing.
        pytest.skip(str(reason))


def test_design_and_reported_problems_share_no_data() -> None:
    assert not set(DESIGN_DATA) & set(REPORTED_DATA)
    for names, data in ((DESIGN_NAMES, DESIGN_DATA), (REPORTED_NAMES, REPORTED_DATA)):
        assert {name.partition("-")[2] for name in names} == set(data)
        assert {name.partition("-")[0] for name in names} == set(SPACES)
        assert set(names) <= set(NAMES)
    assert problem_names(find_suite("models"), None, (), (), 2) == DESIGN_NAMES


@pytest.mark.parametrize("data", [*DESIGN_DATA, *REPORTED_DATA])
def test_data_are_small_finite_and_not_constant(data: str) -> None:
    loaded = load_data(data)
    assert 100 <= len(loaded.inputs) == len(loaded.targets) <= 300
    assert np.isfinite(loaded.inputs).all()
    assert np.isfinite(loaded.targets).all()
    if loaded.regression:
        assert (loaded.targets.mean(), loaded.targets.std()) == pytest.approx((0.0, 1.0), abs=1e-9)
    else:
        assert set(loaded.targets) == {0.0, 1.0}
        assert 0.3 <= loaded.targets.mean() <= 0.7


@pytest.mark.parametrize("name", ["six-circles", "six-friedman1"])
def test_every_branch_has_its_own_parameters_and_repeats_its_values(name: str) -> None:
    problem = load_problem("models", name)
    assert problem.conditional
    assert is_conditional("models", name)
    own: dict[str, set[str]] = {}
    for model in SPACES["six"]:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
        study.enqueue_trial({"model": model})
        study.optimize(problem.objective, n_trials=1)
        (trial,) = study.trials
        assert next(iter(trial.params)) == "model"
        assert all(key == "model" or key.startswith(f"{model}_") for key in trial.params)
        assert trial.value is not None
        assert np.isfinite(trial.value)
        assert load_problem("models", name).evaluate(trial.params) == trial.value
        own[model] = set(trial.params)
    assert len(own) == 6


def test_a_kernel_has_the_parameters_it_uses() -> None:
    suggest = load_problem("models", "five-circles").suggest
    for kernel, more in (("linear", set()), ("rbf", {"svm_gamma"}), ("poly", {"svm_gamma", "svm_degree"})):
        trial = optuna.trial.FixedTrial(
            {"model": "svm", "svm_kernel": kernel, "svm_C": 1.0, "svm_gamma": 0.1, "svm_degree": 2}
        )
        assert set(suggest(trial)) == {"model", "svm_kernel", "svm_C"} | more


@pytest.mark.parametrize("name", ["five-moons", "five-diabetes"])
def test_a_value_is_the_mean_of_cross_val_score(name: str) -> None:
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    data = load_data(name.partition("-")[2])
    model = (SVR if data.regression else SVC)(C=2.0, gamma=0.1, coef0=1.0)
    folds = (KFold if data.regression else StratifiedKFold)(3, shuffle=True, random_state=0)
    scores = cross_val_score(
        make_pipeline(StandardScaler(), model),
        data.inputs,
        data.targets,
        cv=folds,
        scoring="r2" if data.regression else "roc_auc",
    )
    params = {"model": "svm", "svm_kernel": "rbf", "svm_C": 2.0, "svm_gamma": 0.1}
    assert load_problem("models", name).evaluate(params) == pytest.approx(scores.mean(), abs=1e-9)


def test_equal_scores_count_half() -> None:
    labels = np.array([0.0, 1.0, 0.0, 1.0])
    assert ranking_accuracy(np.array([0.1, 0.2, 0.2, 0.9]), labels) == 3.5 / 4
    assert ranking_accuracy(np.zeros(4), labels) == 0.5


def test_an_unknown_model_choice_is_refused() -> None:
    with pytest.raises(Mistake, match=r"The problems of models are three-cancer, .*; got `seven-cancer`"):
        load_problem("models", "seven-cancer")
