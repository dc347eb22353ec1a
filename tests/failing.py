"""Answers that fail: faults in the place of the functions behind them, while all others answer as before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial

# Each may come from a defect. The last two are a ValueError, as errors about arguments are.
FAULTS: tuple[Exception, ...] = (
    KeyError("lr"),
    ZeroDivisionError("float division by zero"),
    np.linalg.LinAlgError("array must not contain infs or NaNs"),
    ValueError("operands could not be broadcast together with shapes (2,) (3,)"),
)


def cause(fault: Exception) -> str:
    return f"This answer failed; please report it ({type(fault).__name__}: {fault})."


class Functions:
    """Functions behind answers, by "module.name". What they return is computed once, because the tests that share them
    ask for it again and again; not of those that are `made` of others."""

    def __init__(self, names: Iterable[str], made: str = "") -> None:
        self._made = made
        self._known: dict[Any, Any] = {}
        self._real: dict[str, Callable[..., Any]] = {}
        for name in names:
            module, _, function = name.rpartition(".")
            self._real[name] = getattr(import_module(module), function)

    def answer(self, monkeypatch: pytest.MonkeyPatch, *, broken: str = "", fault: Exception | None = None) -> None:
        """Let them answer from memory; the `broken` one raises a fault."""
        for name in self._real:
            ask = self._real[name] if name == self._made else self._remembered(name)
            monkeypatch.setattr(name, _raising(fault) if name == broken else ask)

    def _remembered(self, name: str) -> Callable[..., Any]:
        def ask(beliefs: Any, *subject: Any, **options: Any) -> Any:
            key = (name, beliefs.view.name, repr(subject), repr(options))
            if key not in self._known:
                self._known[key] = self._real[name](beliefs, *subject, **options)
            return self._known[key]

        return ask


def _raising(fault: Exception | None) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        assert fault is not None
        raise type(fault)(*fault.args)

    return fail


def of_everything(trial: Trial) -> float:
    """Learning curves, a constraint, trials that fail and trials that are stopped."""
    x, kind = trial.suggest_float("x", 0, 1), trial.suggest_categorical("kind", ["a", "b", "c"])
    loss = (x - 0.3) ** 2 + 0.1 * (kind == "b")
    trial.set_user_attr("constraint", x - 0.9)
    if kind == "c" and trial.number > 2:
        raise RuntimeError
    for step in range(1, 6):
        trial.report(loss + 0.5**step, step)
        if trial.number > 8 and trial.number % 3 == 0 and step == 3:
            raise optuna.TrialPruned
    return loss


def study_of_everything(storage: optuna.storages.BaseStorage | None = None, name: str = "everything") -> Study:
    sampler = optuna.samplers.TPESampler(
        seed=0, constraints_func=lambda trial: (trial.user_attrs.get("constraint", 0.0),), n_startup_trials=60
    )
    study = optuna.create_study(study_name=name, storage=storage, sampler=sampler)
    study.optimize(of_everything, n_trials=60, catch=(RuntimeError,))
    return study


def of_two(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return x + 0.1 * y, (1 - x) ** 2 + y


def study_of_two(storage: optuna.storages.BaseStorage | None = None, name: str = "two") -> Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(study_name=name, storage=storage, sampler=sampler, directions=["minimize", "minimize"])
    study.optimize(of_two, n_trials=12)
    return study
