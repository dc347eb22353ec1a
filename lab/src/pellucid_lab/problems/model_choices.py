"""Choices between real models, each with parameters of its own: cross-validated on small data, deterministic.

`five-digits` is the choice `five` on the data `digits`. Folds, rows and the seeds of models are fixed: the same
configuration always has the same value. Rules and defaults are chosen on `DESIGN_NAMES`; `REPORTED_NAMES` has other
data sets. Values to maximise: the area under the ROC curve (two classes) or R^2 (a number to predict); both are
fine-grained, so that few runs tie, and need no probabilities, which support vector machines do not give.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from pellucid_lab.base import Params, Problem

if TYPE_CHECKING:
    from optuna.trial import Trial

# Folds, rows, trees and epochs: few, so that an evaluation takes about 30 milliseconds.
_FOLDS = 3
_ROWS = 180
_TREES = 15
_ROUNDS = 40
_EPOCHS = 25
_SOLVER_STEPS = 3000


@dataclass(frozen=True)
class Fold:
    """Inputs scaled to mean 0 and standard deviation 1 in training."""

    train_inputs: NDArray[np.float64]
    train_targets: NDArray[np.float64]
    test_inputs: NDArray[np.float64]
    test_targets: NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    inputs: NDArray[np.float64]
    targets: NDArray[np.float64]
    regression: bool
    folds: tuple[Fold, ...]


@dataclass(frozen=True)
class Branch:
    """One model: its parameters, whose names start with its own, and the estimator they make."""

    suggest: Callable[[Trial], Params]
    make: Callable[[Mapping[str, Any], bool], Any]


# --------------------------------------------------------------------------------------------- models


def _linear_params(trial: Trial) -> Params:
    return {"linear_penalty": trial.suggest_float("linear_penalty", 1e-4, 1e5, log=True)}


def _linear(params: Mapping[str, Any], regression: bool) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    penalty = params["linear_penalty"]
    return Ridge(alpha=penalty) if regression else LogisticRegression(C=1.0 / penalty, max_iter=200)


def _svm_params(trial: Trial) -> Params:
    return {
        "svm_C": trial.suggest_float("svm_C", 1e-3, 1e3, log=True),
        "svm_gamma": trial.suggest_float("svm_gamma", 1e-5, 10.0, log=True),
    }


def _svm_params_with_kernel(trial: Trial) -> Params:
    params: Params = {"svm_kernel": trial.suggest_categorical("svm_kernel", ["linear", "poly", "rbf"])}
    params["svm_C"] = trial.suggest_float("svm_C", 1e-3, 1e3, log=True)
    if params["svm_kernel"] != "linear":
        params["svm_gamma"] = trial.suggest_float("svm_gamma", 1e-5, 10.0, log=True)
    if params["svm_kernel"] == "poly":
        params["svm_degree"] = trial.suggest_int("svm_degree", 2, 4)
    return params


def _svm(params: Mapping[str, Any], regression: bool) -> Any:
    from sklearn.svm import SVC, SVR

    settings = {name.removeprefix("svm_"): value for name, value in params.items()}
    return (SVR if regression else SVC)(**settings, coef0=1.0, max_iter=_SOLVER_STEPS)


def _knn_params(trial: Trial) -> Params:
    return {
        "knn_neighbours": trial.suggest_int("knn_neighbours", 1, 60, log=True),
        "knn_weights": trial.suggest_categorical("knn_weights", ["uniform", "distance"]),
        "knn_p": trial.suggest_float("knn_p", 1.0, 3.0),
    }


def _knn(params: Mapping[str, Any], regression: bool) -> Any:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    kind = KNeighborsRegressor if regression else KNeighborsClassifier
    return kind(n_neighbors=params["knn_neighbours"], weights=params["knn_weights"], p=params["knn_p"])


def _forest_params(trial: Trial) -> Params:
    return {
        "forest_depth": trial.suggest_int("forest_depth", 1, 16, log=True),
        "forest_features": trial.suggest_float("forest_features", 0.05, 1.0),
        "forest_leaf": trial.suggest_int("forest_leaf", 1, 40, log=True),
    }


def _forest(params: Mapping[str, Any], regression: bool) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    return (ExtraTreesRegressor if regression else ExtraTreesClassifier)(
        n_estimators=_TREES,
        max_depth=params["forest_depth"],
        max_features=params["forest_features"],
        min_samples_leaf=params["forest_leaf"],
        random_state=0,
        n_jobs=1,
    )


def _network_params(trial: Trial) -> Params:
    return {
        "network_width": trial.suggest_int("network_width", 2, 64, log=True),
        "network_rate": trial.suggest_float("network_rate", 1e-5, 0.3, log=True),
        "network_alpha": trial.suggest_float("network_alpha", 1e-6, 10.0, log=True),
    }


def _network(params: Mapping[str, Any], regression: bool) -> Any:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    return (MLPRegressor if regression else MLPClassifier)(
        hidden_layer_sizes=(params["network_width"],),
        learning_rate_init=params["network_rate"],
        alpha=params["network_alpha"],
        batch_size=40,
        max_iter=_EPOCHS,
        random_state=0,
    )


def _boosting_params(trial: Trial) -> Params:
    return {
        "boosting_rate": trial.suggest_float("boosting_rate", 1e-3, 1.0, log=True),
        "boosting_leaves": trial.suggest_int("boosting_leaves", 2, 64, log=True),
        "boosting_leaf": trial.suggest_int("boosting_leaf", 1, 60, log=True),
        "boosting_lambda": trial.suggest_float("boosting_lambda", 1e-6, 100.0, log=True),
    }


def _boosting(params: Mapping[str, Any], regression: bool) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if regression else LGBMClassifier)(
        n_estimators=_ROUNDS,
        learning_rate=params["boosting_rate"],
        num_leaves=params["boosting_leaves"],
        min_child_samples=params["boosting_leaf"],
        reg_lambda=params["boosting_lambda"],
        random_state=0,
        n_jobs=1,
        deterministic=True,
        force_row_wise=True,
        verbose=-1,
    )


_LINEAR = Branch(_linear_params, _linear)
_KNN = Branch(_knn_params, _knn)
_FOREST = Branch(_forest_params, _forest)
_NETWORK = Branch(_network_params, _network)
_BOOSTING = Branch(_boosting_params, _boosting)
_KERNELS = Branch(_svm_params_with_kernel, _svm)

SPACES: dict[str, dict[str, Branch]] = {
    "three": {"linear": _LINEAR, "svm": Branch(_svm_params, _svm), "forest": _FOREST},
    "five": {"linear": _LINEAR, "svm": _KERNELS, "knn": _KNN, "forest": _FOREST, "boosting": _BOOSTING},
    "six": {
        "linear": _LINEAR,
        "svm": _KERNELS,
        "knn": _KNN,
        "forest": _FOREST,
        "network": _NETWORK,
        "boosting": _BOOSTING,
    },
}

# ----------------------------------------------------------------------------------------------- data


def _measured(name: str) -> tuple[Any, Any, bool]:
    """Data that people measured; they come with scikit-learn."""
    from sklearn import datasets

    if name == "cancer":
        return *datasets.load_breast_cancer(return_X_y=True), False
    if name == "digits":  # Even or odd?
        inputs, labels = datasets.load_digits(return_X_y=True)
        return inputs, labels % 2, False
    if name == "diabetes":
        return *datasets.load_diabetes(return_X_y=True), True
    inputs, _ = datasets.load_wine(return_X_y=True)
    column = {"alcohol": 0, "proline": 12}[name]  # Predicted from the other measurements of a wine.
    return np.delete(inputs, column, axis=1), inputs[:, column], True


def _generated(name: str) -> tuple[Any, Any, bool]:
    from sklearn import datasets as d

    if name in ("friedman1", "friedman2", "friedman3"):
        make, noise = {
            "friedman1": (d.make_friedman1, 1.0),
            "friedman2": (d.make_friedman2, 100.0),
            "friedman3": (d.make_friedman3, 0.1),
        }[name]
        return *make(n_samples=_ROWS, noise=noise, random_state=1), True
    if name == "circles":
        return *d.make_circles(n_samples=_ROWS, noise=0.15, factor=0.6, random_state=2), False
    if name == "moons":
        return *d.make_moons(n_samples=_ROWS, noise=0.3, random_state=3), False
    if name == "clusters":
        inputs, labels = d.make_classification(
            n_samples=_ROWS, n_features=12, n_informative=5, n_clusters_per_class=3, flip_y=0.05, random_state=4
        )
        return inputs, labels, False
    if name == "quantiles":
        inputs, labels = d.make_gaussian_quantiles(n_samples=_ROWS, n_features=6, n_classes=2, random_state=5)
        return inputs, labels, False
    inputs, labels = d.make_classification(
        n_samples=_ROWS, n_features=30, n_informative=4, n_redundant=6, flip_y=0.1, class_sep=0.7, random_state=6
    )
    return inputs, labels, False


_MEASURED = ("cancer", "digits", "diabetes", "alcohol", "proline")
DESIGN_DATA = ("cancer", "friedman1", "circles", "proline", "clusters")
REPORTED_DATA = ("digits", "diabetes", "friedman2", "friedman3", "moons", "alcohol", "quantiles", "wide")
DESIGN_NAMES = ("three-cancer", "five-friedman1", "three-circles", "six-proline", "five-clusters", "six-cancer")
REPORTED_NAMES = (
    "three-digits",
    "five-diabetes",
    "six-friedman2",
    "three-friedman3",
    "five-moons",
    "six-alcohol",
    "five-quantiles",
    "six-wide",
)
NAMES = tuple(f"{space}-{data}" for space in SPACES for data in (*DESIGN_DATA, *REPORTED_DATA))


@cache
def load_data(name: str) -> Data:
    """At most `_ROWS` rows, drawn once; targets of a regression with mean 0 and standard deviation 1."""
    inputs, targets, regression = (_measured if name in _MEASURED else _generated)(name)
    rows = np.random.default_rng(0).permutation(len(inputs))[:_ROWS]
    inputs, targets = np.asarray(inputs, float)[rows], np.asarray(targets, float)[rows]
    if regression:
        targets = (targets - targets.mean()) / targets.std()
    return Data(inputs, targets, regression, _folds(inputs, targets, regression))


def _folds(inputs: NDArray[np.float64], targets: NDArray[np.float64], regression: bool) -> tuple[Fold, ...]:
    from sklearn.model_selection import KFold, StratifiedKFold

    split = (KFold if regression else StratifiedKFold)(_FOLDS, shuffle=True, random_state=0).split(inputs, targets)
    folds = []
    for train, test in split:
        mean, spread = inputs[train].mean(axis=0), inputs[train].std(axis=0)
        scaled = (inputs - mean) / np.where(spread > 0.0, spread, 1.0)
        folds.append(Fold(scaled[train], targets[train], scaled[test], targets[test]))
    return tuple(folds)


# ------------------------------------------------------------------------------------------- problems


def model_choice(name: str) -> Problem:
    """A problem of `NAMES`."""
    space, _, data_name = name.partition("-")
    branches, data = SPACES[space], load_data(data_name)

    def suggest(trial: Trial) -> Params:
        model = trial.suggest_categorical("model", list(branches))
        return {"model": model, **branches[model].suggest(trial)}

    def evaluate(params: Mapping[str, Any]) -> float:
        own = {key: value for key, value in params.items() if key != "model"}
        return _score(branches[params["model"]].make(own, data.regression), data)

    return Problem(
        name=name, suite="models", direction="maximize", suggest=suggest, evaluate=evaluate, distributions=None
    )


def _score(model: Any, data: Data) -> float:
    """Mean over the folds. `cross_val_score` gives the same numbers, but takes longer than most of the fits."""
    from sklearn import config_context

    with config_context(assume_finite=True, skip_parameter_validation=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Solvers that stop at their last step are part of the problem.
        return fmean(fold_score(model, fold, data.regression) for fold in data.folds)


def fold_score(model: Any, fold: Fold, regression: bool) -> float:
    """Fit the model to the fold, and score it on the rest."""
    model.fit(fold.train_inputs, fold.train_targets)
    if regression:
        residuals = fold.test_targets - model.predict(fold.test_inputs)
        return float(1.0 - np.sum(residuals**2) / np.sum((fold.test_targets - fold.test_targets.mean()) ** 2))
    if hasattr(model, "decision_function"):
        return ranking_accuracy(model.decision_function(fold.test_inputs), fold.test_targets)
    return ranking_accuracy(model.predict_proba(fold.test_inputs)[:, 1], fold.test_targets)


def ranking_accuracy(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
    """Area under the ROC curve: how often a 1 has a higher score than a 0; equal scores count half."""
    ones = labels == 1.0
    n_ones, n_zeros = int(ones.sum()), int((~ones).sum())
    return float((rankdata(scores)[ones].sum() - n_ones * (n_ones + 1) / 2) / (n_ones * n_zeros))
