"""Real trainings that take a fraction of a second, step by step: a network, boosting, and a schedule of rates.

Rows and seeds are fixed: a configuration always has the same curve. The value is the logarithmic loss on rows that are
not trained on, to be minimised. A training that diverges has the loss `WORST` from then on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from scipy.special import expit

from pellucid_lab.base import CurveProblem

# Larger losses say no more than that the training failed.
WORST = 10.0
# Training rows: few, so that the best models are found by tuning, not by size.
_DIGITS_ROWS = 500
_HASTIE_ROWS = 800
_SCALES_ROWS = 400
_SOURCE = "600 random configurations and 400 changes of the best"


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to measure the loss on."""

    train_inputs: NDArray[np.float64]
    train_targets: NDArray[np.float64]
    test_inputs: NDArray[np.float64]
    test_targets: NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """A model that is trained in steps; ``losses`` yields one after each step, and may end early if it diverges."""

    distributions: Mapping[str, BaseDistribution]
    steps: int
    losses: Callable[[Mapping[str, Any], int], Iterator[float]]
    best: Mapping[str, Any]
    optimum: float
    modules: tuple[str, ...] = ("sklearn",)
    packages: tuple[str, ...] = ("scikit-learn",)


# ------------------------------------------------------------------------------------------ data


@cache
def _digits() -> Split:
    """Handwritten digits, scaled by the training rows."""
    from sklearn.datasets import load_digits

    inputs, targets = load_digits(return_X_y=True)
    return _split(inputs, targets, _DIGITS_ROWS)


@cache
def _hastie() -> Split:
    """Two classes by the distance from the centre in ten dimensions (Hastie et al., example 10.2), 10% wrong."""
    from sklearn.datasets import make_hastie_10_2

    inputs, targets = make_hastie_10_2(2 * _HASTIE_ROWS, random_state=0)
    wrong = np.random.default_rng(1).random(len(targets)) < 0.1
    return _split(inputs, np.where((targets > 0) != wrong, 1.0, 0.0), _HASTIE_ROWS)


@cache
def _scales() -> Split:
    """Two classes by a sum of features whose scales go from 3 to 0.1, all of the same weight."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((_SCALES_ROWS + 1000, 20))
    chances = expit(0.5 * features @ np.where(np.arange(20) % 2 == 0, 1.0, -1.0))
    targets = (rng.random(len(features)) < chances).astype(float)
    inputs = features * np.geomspace(3.0, 0.1, 20)
    train, test = slice(None, _SCALES_ROWS), slice(_SCALES_ROWS, None)
    return Split(inputs[train], targets[train], inputs[test], targets[test])


def _split(inputs: NDArray[np.float64], targets: NDArray[np.float64], rows: int) -> Split:
    order = np.random.default_rng(0).permutation(len(targets))
    train, test = order[:rows], order[rows : rows + 800]
    centre, spread = inputs[train].mean(axis=0), inputs[train].std(axis=0)
    scaled = (inputs - centre) / np.where(spread > 0, spread, 1.0)
    return Split(scaled[train], targets[train], scaled[test], targets[test])


def _loss(model: Any, split: Split) -> float:
    """Mean of -log(probability of the right class)."""
    chances = model.predict_proba(split.test_inputs)
    right = chances[np.arange(len(chances)), split.test_targets.astype(int)]
    return float(-np.log(np.maximum(right, np.exp(-WORST))).mean())


# ------------------------------------------------------------------------------------------ trainings


def _network(params: Mapping[str, Any], steps: int) -> Iterator[float]:
    """A network with one hidden layer, an epoch of stochastic gradients at a time."""
    from sklearn.neural_network import MLPClassifier

    split = _digits()
    model = MLPClassifier(
        hidden_layer_sizes=(params["width"],),
        solver="sgd",
        learning_rate_init=params["rate"],
        momentum=params["momentum"],
        alpha=params["penalty"],
        batch_size=params["batch"],
        random_state=0,
    )
    classes = np.unique(split.train_targets)
    for _ in range(steps):
        model.partial_fit(split.train_inputs, split.train_targets, classes=classes)
        yield _loss(model, split)


def _boosting(params: Mapping[str, Any], steps: int) -> Iterator[float]:
    """LightGBM, a round at a time."""
    import lightgbm

    split = _hastie()
    settings = {
        "objective": "binary",
        "metric": "binary_logloss",
        "learning_rate": params["rate"],
        "num_leaves": params["leaves"],
        "min_data_in_leaf": params["leaf_rows"],
        "feature_fraction": params["features"],
        "lambda_l2": params["penalty"],
        "seed": 0,
        "num_threads": 1,
        "deterministic": True,
        "verbosity": -1,
    }
    train = lightgbm.Dataset(split.train_inputs, split.train_targets, params=settings)
    model = lightgbm.Booster(settings, train)
    model.add_valid(train.create_valid(split.test_inputs, split.test_targets), "test")
    for _ in range(steps):
        model.update()
        yield float(model.eval_valid()[0][2])


def _schedule(params: Mapping[str, Any], steps: int) -> Iterator[float]:
    """Logistic regression by stochastic gradients whose rate drops once. Features of small scale are learned only with
    a rate at which those of large scale make the loss jump about: the best trainings look bad until their rate drops.
    """
    split = _scales()
    rng = np.random.default_rng(0)
    signs = 2.0 * split.train_targets - 1.0
    weights = np.zeros(split.train_inputs.shape[1])
    change = np.zeros_like(weights)
    for step in range(steps):
        rate = params["rate"] * (params["drop_to"] if step >= params["drop_at"] * steps else 1.0)
        for rows in np.array_split(rng.permutation(len(signs)), len(signs) // params["batch"]):
            inputs, sign = split.train_inputs[rows], signs[rows]
            slope = (sign * expit(-sign * (inputs @ weights))) @ inputs / len(rows)
            change = params["momentum"] * change + rate * (slope - params["penalty"] * weights)
            weights = weights + change
        margins = (2.0 * split.test_targets - 1.0) * (split.test_inputs @ weights)
        yield float(np.minimum(np.logaddexp(0.0, -margins), WORST).mean())


TRAININGS = {
    "network-digits": Training(
        distributions={
            "width": IntDistribution(4, 64, log=True),
            "rate": FloatDistribution(1e-4, 1.0, log=True),
            "momentum": FloatDistribution(0.0, 0.99),
            "penalty": FloatDistribution(1e-6, 10.0, log=True),
            "batch": IntDistribution(32, 256, log=True),
        },
        steps=30,
        losses=_network,
        best={
            "width": 64,
            "rate": 0.4669389030489657,
            "momentum": 0.8728986096835518,
            "penalty": 0.10593505513337197,
            "batch": 47,
        },
        optimum=0.1410979267,
    ),
    "boosting-hastie": Training(
        distributions={
            "rate": FloatDistribution(0.005, 1.0, log=True),
            "leaves": IntDistribution(2, 64, log=True),
            "leaf_rows": IntDistribution(1, 100, log=True),
            "features": FloatDistribution(0.1, 1.0),
            "penalty": FloatDistribution(1e-3, 100.0, log=True),
        },
        steps=50,
        losses=_boosting,
        best={
            "rate": 0.6288472196442135,
            "leaves": 3,
            "leaf_rows": 10,
            "features": 0.8120776305436431,
            "penalty": 1.8630999327619329,
        },
        optimum=0.4861159891,
        modules=("sklearn", "lightgbm"),
        packages=("scikit-learn", "lightgbm"),
    ),
    "schedule-scales": Training(
        distributions={
            "rate": FloatDistribution(1e-3, 30.0, log=True),
            "drop_at": FloatDistribution(0.5, 0.95),
            "drop_to": FloatDistribution(1e-3, 1.0, log=True),
            "momentum": FloatDistribution(0.0, 0.5),
            "penalty": FloatDistribution(1e-6, 1e-1, log=True),
            "batch": IntDistribution(4, 16, log=True),
        },
        steps=40,
        losses=_schedule,
        best={
            "rate": 0.3087082273508587,
            "drop_at": 0.5702756297577183,
            "drop_to": 0.1518791309839462,
            "momentum": 0.38940899180856137,
            "penalty": 0.00020452393799811158,
            "batch": 4,
        },
        optimum=0.4573168494,
    ),
}


def training_problem(name: str) -> CurveProblem:
    """A problem of `TRAININGS`."""
    training = TRAININGS[name]
    return CurveProblem(
        name=name,
        direction="minimize",
        distributions=training.distributions,
        steps=training.steps,
        curve=lambda params: _curve(training, params),
        optimum=training.optimum,
        source=_SOURCE,
    )


def _curve(training: Training, params: Mapping[str, Any]) -> Iterator[float]:
    """``steps`` losses, at most `WORST`."""
    from sklearn import config_context

    losses = training.losses(params, training.steps)
    for _ in range(training.steps):
        with config_context(assume_finite=True), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # A training that diverges is part of the problem.
            try:
                loss = next(losses, WORST)
            except ValueError:  # scikit-learn: the weights are not finite. The generator has ended with it.
                loss = WORST
        yield min(loss, WORST) if np.isfinite(loss) else WORST
