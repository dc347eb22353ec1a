"""Models of scikit-learn to be tuned within a memory limit: R^2 in cross-validation, and kilobytes of the fitted model.

Folds, rows and the seeds of models are fixed, as in `model_choices`: a configuration always has the same value.
Kilobytes are counted: 64 bytes for each node of a tree; the rows that a support vector machine keeps and their weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from pellucid_lab.base import ConstrainedProblem, Evaluation
from pellucid_lab.problems.model_choices import fold_score, load_data

MODULES, PACKAGES = ("sklearn",), ("scikit-learn",)
_NODE_BYTES = 64
_SOLVER_STEPS = 3000
_SOURCE = "the best feasible one of 4,000 random configurations and 3,000 changes of the best"


@dataclass(frozen=True)
class Training:
    """A model on a data set: the estimator of a configuration, its kilobytes once it is fitted, and their limit."""

    data: str
    distributions: Mapping[str, BaseDistribution]
    make: Callable[[Mapping[str, Any]], Any]
    kilobytes: Callable[[Any], float]
    limit: float
    best: Mapping[str, Any]
    optimum: float


def _tree_kilobytes(trees: Iterable[Any]) -> float:
    return float(sum(tree.tree_.node_count for tree in trees)) * _NODE_BYTES / 1024


def _forest(params: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(
        n_estimators=params["trees"],
        max_depth=params["depth"],
        max_features=params["features"],
        min_samples_leaf=params["leaf"],
        random_state=0,
        n_jobs=1,
    )


def _forest_kilobytes(model: Any) -> float:
    return _tree_kilobytes(model.estimators_)


def _boosting(params: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(
        n_estimators=params["trees"],
        learning_rate=params["rate"],
        max_depth=params["depth"],
        subsample=params["subsample"],
        random_state=0,
    )


def _boosting_kilobytes(model: Any) -> float:
    return _tree_kilobytes(model.estimators_.ravel())


def _svm(params: Mapping[str, Any]) -> Any:
    from sklearn.svm import SVR

    return SVR(C=params["C"], gamma=params["gamma"], epsilon=params["epsilon"], max_iter=_SOLVER_STEPS)


def _svm_kilobytes(model: Any) -> float:
    return float(model.support_vectors_.nbytes + model.dual_coef_.nbytes) / 1024


TRAININGS = {
    "forest-memory": Training(
        data="friedman1",
        distributions={
            "trees": IntDistribution(2, 40, log=True),
            "depth": IntDistribution(1, 16, log=True),
            "features": FloatDistribution(0.05, 1.0),
            "leaf": IntDistribution(1, 40, log=True),
        },
        make=_forest,
        kilobytes=_forest_kilobytes,
        limit=10.0,
        best={"trees": 5, "depth": 4, "features": 0.9379992402177929, "leaf": 1},
        optimum=0.5790201946,
    ),
    "boosting-memory": Training(
        data="friedman2",
        distributions={
            "trees": IntDistribution(5, 80, log=True),
            "rate": FloatDistribution(0.01, 1.0, log=True),
            "depth": IntDistribution(1, 8, log=True),
            "subsample": FloatDistribution(0.3, 1.0),
        },
        make=_boosting,
        kilobytes=_boosting_kilobytes,
        limit=6.0,
        best={"trees": 6, "rate": 0.42707253821860097, "depth": 3, "subsample": 0.542398278385472},
        optimum=0.8705259953,
    ),
    "svm-memory": Training(
        data="friedman3",
        distributions={
            "C": FloatDistribution(1e-2, 1e3, log=True),
            "gamma": FloatDistribution(1e-4, 10.0, log=True),
            "epsilon": FloatDistribution(1e-3, 1.0, log=True),
        },
        make=_svm,
        kilobytes=_svm_kilobytes,
        limit=1.5,
        best={"C": 1000.0, "gamma": 0.12315455501425449, "epsilon": 0.44706536535353625},
        optimum=0.7638584736,
    ),
}


def memory_problem(name: str) -> ConstrainedProblem:
    """A problem of `TRAININGS`."""
    training = TRAININGS[name]
    return ConstrainedProblem(
        name=name,
        direction="maximize",
        distributions=training.distributions,
        evaluate=lambda params: _evaluate(training, params),
        best=training.best,
        optimum=training.optimum,
        source=_SOURCE,
        active=("memory",),
    )


def _evaluate(training: Training, params: Mapping[str, Any]) -> Evaluation:
    """Means over the folds."""
    from sklearn import config_context

    data = load_data(training.data)
    scores, sizes = [], []
    with config_context(assume_finite=True, skip_parameter_validation=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Solvers that stop at their last step are part of the problem.
        for fold in data.folds:
            model = training.make(params)
            scores.append(fold_score(model, fold, data.regression))
            sizes.append(training.kilobytes(model))
    return Evaluation(fmean(scores), {"memory": fmean(sizes) - training.limit})
