"""The tasks that networks learn, and the spaces in which they are tuned: Runge's function, Bateman's equations,
handwritten digits.

The spaces are the paper's (its appendix A) with fewer units, smaller batches and fewer repetitions, so that training
thousands of networks takes minutes on two cores.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from optuna.trial import BaseTrial

from pellucid.answers.intervals import Cheap
from pellucid.numerics import Array
from pellucid_lab.problems.networks import NetworkTask

NAMES = ("runge", "bateman", "digits")
# The cheap end of a parameter's range.
CHEAP: dict[str, Cheap] = {"n_layers": "low", "n_units": "low"}
# Bateman's equations of the paper: chemical species, reactions, Euler steps and the largest time.
_SPECIES = 11
# Reactants, products, rate constant; species by number.
_REACTIONS = (
    ((1, 2), (3, 4, 6, 7), 1.0),
    ((3, 4), (2, 8, 11), 5.0),
    ((2, 11), (3, 5, 9), 3.0),
    ((3, 11), (2, 5, 6, 10), 0.1),
)
_EULER_STEP = 1e-3
_HORIZON = 5.0
# The largest width of a layer.
_MOST_UNITS = {"runge": 128, "bateman": 256, "digits": 1024}


@cache
def task(name: str) -> NetworkTask:
    return {"runge": _runge, "bateman": _bateman, "digits": _digits}[name]()


def _runge() -> NetworkTask:
    """1 / (1 + 15 x²): 11 points for training, 200 random ones for validation, 1000 evenly spaced ones for tests."""
    x = (
        np.linspace(-1.0, 1.0, 11)[:, None],
        np.random.default_rng(0).uniform(-1.0, 1.0, (200, 1)),
        np.linspace(-1.0, 1.0, 1000)[:, None],
    )
    y = tuple(1.0 / (1.0 + 15.0 * part**2) for part in x)
    return NetworkTask("runge", x, (y[0], y[1], y[2]), classes=False, updates=300)


def _bateman() -> NetworkTask:
    """Maps eleven initial concentrations and a time to the concentrations at that time."""
    rng = np.random.default_rng(0)
    start, steps = rng.random((2400, _SPECIES)), rng.integers(0, int(_HORIZON / _EULER_STEP) + 1, 2400)
    x = np.hstack([2.0 * start - 1.0, 2.0 * steps[:, None] * _EULER_STEP / _HORIZON - 1.0])
    y = concentrations(start, steps)
    cuts = (0, 1000, 1400, 2400)
    xs, ys = ([rows[a:b] for a, b in pairwise(cuts)] for rows in (x, y))
    return NetworkTask("bateman", (xs[0], xs[1], xs[2]), (ys[0], ys[1], ys[2]), classes=False, updates=400)


def concentrations(start: Array, steps: npt.NDArray[np.int64]) -> Array:
    """Concentrations (n, 11) after each row's number of Euler steps."""
    now = start.copy()
    out = np.where((steps == 0)[:, None], now, 0.0)
    for k in range(1, int(steps.max()) + 1):
        change = np.zeros_like(now)
        for reactants, products, rate in _REACTIONS:
            speed = rate * now[:, reactants[0] - 1] * now[:, reactants[1] - 1]
            for species in reactants:
                change[:, species - 1] -= speed
            for species in products:
                change[:, species - 1] += speed
        now = now + _EULER_STEP * change
        out[steps == k] = now[steps == k]
    return out


def _digits() -> NetworkTask:
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x, y = data.data[order] / 16.0, np.eye(10)[data.target[order]]
    cuts = (0, 900, 1200, len(x))
    xs, ys = ([rows[a:b] for a, b in pairwise(cuts)] for rows in (x, y))
    return NetworkTask("digits", (xs[0], xs[1], xs[2]), (ys[0], ys[1], ys[2]), classes=True, updates=400)


def suggest(trial: BaseTrial, name: str) -> dict[str, Any]:
    """A configuration of the network for a task, with the paper's names."""
    out: dict[str, Any] = {
        "n_layers": trial.suggest_int("n_layers", 1, 10),
        "n_units": trial.suggest_int("n_units", 7, _MOST_UNITS[name]),
        "activation": trial.suggest_categorical("activation", ["elu", "relu", "tanh", "sigmoid"]),
        "dropout": trial.suggest_categorical("dropout", [True, False]),
        "batch_norm": trial.suggest_categorical("batch_norm", [True, False]),
        "batch_size": trial.suggest_int("batch_size", 1, 11 if name == "runge" else 64),
        "loss_function": trial.suggest_categorical(
            "loss_function", ["l2", "crossentropy" if name == "digits" else "l1"]
        ),
        "n_seeds": trial.suggest_int("n_seeds", 1, 4 if name == "runge" else 2),
    }
    for penalty in ("weights_reg_l1", "weights_reg_l2", "bias_reg_l1", "bias_reg_l2"):
        out[penalty] = trial.suggest_float(penalty, 1e-6, 0.1)
    if out["dropout"]:
        out["dropout_rate"] = trial.suggest_float("dropout_rate", 0.0, 1.0)
    optimizers = ["adam", "sgd", "rmsprop", "adagrad"]
    if name != "bateman":
        return out | {"optimizer": trial.suggest_categorical("optimizer", optimizers)}
    out["learning_rate"] = trial.suggest_float("learning_rate", 1e-6, 1e-2, log=True)
    out["optimizer"] = trial.suggest_categorical("optimizer", [*optimizers, "nadam"])
    if out["optimizer"] == "adam":
        out["amsgrad"] = trial.suggest_categorical("amsgrad", [True, False])
    if out["optimizer"] in ("adam", "nadam"):
        out |= {moment: trial.suggest_float(moment, 0.8, 1.0) for moment in ("beta_1", "beta_2")}
    if out["optimizer"] == "rmsprop":
        out["centered"] = trial.suggest_categorical("centered", [True, False])
    if out["optimizer"] == "sgd":
        out["nesterov"] = trial.suggest_categorical("nesterov", [True, False])
    if out["optimizer"] in ("sgd", "rmsprop"):
        out["momentum"] = trial.suggest_float("momentum", 0.5, 0.99)
    return out
