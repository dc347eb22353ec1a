"""Cross-validated accuracy of scikit-learn models that train in a fraction of a second.

The folds and the seeds of the models are fixed: the same configuration always has the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from pellucid_lab.base import Params, Problem, suggest_all

if TYPE_CHECKING:
    from optuna.trial import Trial

MODEL_NAMES = ("forest-cancer", "mlp-digits", "svm-digits")
# Folds of the cross-validation, and rows of the data: few, so that an evaluation takes a fraction of a second.
_FOLDS = 3
_ROWS = 600


def _cross_validated(
    make_model: Callable[[Mapping[str, Any]], Any], digits: bool
) -> Callable[[Mapping[str, Any]], float]:
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    inputs, labels = load_digits(return_X_y=True) if digits else load_breast_cancer(return_X_y=True)
    inputs, labels = inputs[:_ROWS], labels[:_ROWS]
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)

    def evaluate(params: Mapping[str, Any]) -> float:
        return float(cross_val_score(make_model(params), inputs, labels, cv=folds, n_jobs=1).mean())

    return evaluate


def _static(
    name: str,
    distributions: Mapping[str, BaseDistribution],
    make_model: Callable[[Mapping[str, Any]], Any],
    digits: bool,
) -> Problem:
    return Problem(
        name=name,
        suite="sklearn",
        direction="maximize",
        suggest=partial(suggest_all, distributions=distributions),
        evaluate=_cross_validated(make_model, digits),
        distributions=distributions,
    )


def _forest_cancer() -> Problem:
    from sklearn.ensemble import RandomForestClassifier

    distributions: dict[str, BaseDistribution] = {
        "n_estimators": IntDistribution(5, 60, log=True),
        "max_depth": IntDistribution(1, 16),
        "max_features": FloatDistribution(0.05, 1.0),
        "min_samples_leaf": IntDistribution(1, 40, log=True),
    }
    return _static(
        "forest-cancer",
        distributions,
        lambda params: RandomForestClassifier(**params, random_state=0, n_jobs=1),
        digits=False,
    )


def _mlp_digits() -> Problem:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    distributions: dict[str, BaseDistribution] = {
        "width": IntDistribution(4, 64, log=True),
        "alpha": FloatDistribution(1e-6, 1.0, log=True),
        "learning_rate": FloatDistribution(1e-4, 0.3, log=True),
        "batch_size": IntDistribution(8, 128, log=True),
        "epochs": IntDistribution(2, 20),
    }

    def make_model(params: Mapping[str, Any]) -> Any:
        network = MLPClassifier(
            hidden_layer_sizes=(params["width"],),
            alpha=params["alpha"],
            learning_rate_init=params["learning_rate"],
            batch_size=params["batch_size"],
            max_iter=params["epochs"],
            random_state=0,
        )
        return make_pipeline(MinMaxScaler(), network)

    return _static("mlp-digits", distributions, make_model, digits=True)


def _svm_digits() -> Problem:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    def suggest(trial: Trial) -> Params:
        params: Params = {"kernel": trial.suggest_categorical("kernel", ["linear", "poly", "rbf"])}
        params["C"] = trial.suggest_float("C", 1e-3, 1e3, log=True)
        if params["kernel"] != "linear":
            params["gamma"] = trial.suggest_float("gamma", 1e-5, 1.0, log=True)
        if params["kernel"] == "poly":
            params["degree"] = trial.suggest_int("degree", 2, 5)
            params["coef0"] = trial.suggest_float("coef0", 0.0, 1.0)
        return params

    return Problem(
        name="svm-digits",
        suite="sklearn",
        direction="maximize",
        suggest=suggest,
        evaluate=_cross_validated(lambda params: make_pipeline(StandardScaler(), SVC(**params)), digits=True),
        distributions=None,
    )


def sklearn_model(name: str) -> Problem:
    return {"forest-cancer": _forest_cancer, "mlp-digits": _mlp_digits, "svm-digits": _svm_digits}[name]()
