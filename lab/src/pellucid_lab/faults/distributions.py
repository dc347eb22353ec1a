"""Odd distributions: values that floats can hardly tell apart, integers that they cannot hold, choices that are equal,
and ranges that change during the study."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Say, attempted
from pellucid_lab.faults.homes import empty_folder
from pellucid_lab.faults.studies import check_goes_on

if TYPE_CHECKING:
    from optuna.trial import Trial

TRIALS = 14
Suggest = Callable[["Trial"], Any]

ODD: dict[str, Suggest] = {
    "one value": lambda t: t.suggest_float("x", 0.5, 0.5),
    "one integer": lambda t: t.suggest_int("x", 7, 7),
    "one choice": lambda t: t.suggest_categorical("x", ["only"]),
    "steps that do not divide the range": lambda t: t.suggest_float("x", 0.0, 1.0, step=0.3),
    "integers that do not divide the range": lambda t: t.suggest_int("x", 1, 100, step=7),
    "a step larger than the range": lambda t: t.suggest_float("x", 0.0, 1.0, step=5.0),
    "tiny steps": lambda t: t.suggest_float("x", 0.0, 1.0, step=1e-9),
    "integers beyond floats": lambda t: t.suggest_int("x", 2**53, 2**53 + 1000),
    "integers as large as storages take": lambda t: t.suggest_int("x", -(2**62), 2**62),
    "integers on a logarithmic scale": lambda t: t.suggest_int("x", 1, 2**62, log=True),
    "300 decades": lambda t: t.suggest_float("x", 1e-150, 1e150, log=True),
    "600 decades": lambda t: t.suggest_float("x", 1e-300, 1e300, log=True),
    "subnormal numbers": lambda t: t.suggest_float("x", 0.0, 1e-310),
    "two neighbours": lambda t: t.suggest_float("x", 1.0, 1.0 + 2**-52),
    "neighbours of a large number": lambda t: t.suggest_float("x", 1e16, 1e16 + 4),
    "the largest numbers": lambda t: t.suggest_float("x", -1e308, 1e308),
    "almost all floats": lambda t: t.suggest_float("x", -8.9e307, 8.9e307),
    "500 choices": lambda t: t.suggest_categorical("x", [f"c{i}" for i in range(500)]),
    "choices of all types": lambda t: t.suggest_categorical("x", [None, True, False, 0.5, "a", 3]),
    "equal choices of other types": lambda t: t.suggest_categorical("x", [True, 1, 1.0, "1"]),
    "nested choices": lambda t: t.suggest_categorical("x", [(1, 2), (3, (4, 5)), "z"]),  # type: ignore[list-item]
    "choices that are no numbers": lambda t: t.suggest_categorical("x", [float("nan"), float("inf"), 1.0]),
    "no parameters": lambda t: 0.0,
    "a parameter that appears once": lambda t: t.suggest_float("once", 0.0, 1.0) if t.number == 3 else 0.0,
    "a parameter that appears at the end": lambda t: t.suggest_float("late", 0.0, 1.0) if t.number > 9 else 0.0,
    "another parameter in every trial": lambda t: t.suggest_float(f"x{t.number}", 0.0, 1.0),
    "a range that grows": lambda t: t.suggest_float("x", 0.0, 1.0 + t.number),
    "a range that moves away": lambda t: t.suggest_float("x", 10.0 * t.number, 10.0 * t.number + 1.0),
    "a range that shrinks to a value": lambda t: t.suggest_float("x", 0.0, max(0.0, 1.0 - 0.1 * t.number)),
    "a scale that changes": lambda t: t.suggest_float("x", 1e-3, 1.0, log=t.number % 2 == 0),
    "a step that comes and goes": lambda t: t.suggest_float("x", 0.0, 1.0, step=0.1 if t.number % 2 else None),
    "a type that changes": lambda t: t.suggest_int("x", 0, 5) if t.number % 2 else t.suggest_float("x", 0.0, 5.0),
    "a number that becomes a choice": lambda t: (
        t.suggest_float("x", 0.0, 1.0) if t.number < 7 else t.suggest_categorical("x", ["a", "b"])
    ),
    "fifty parameters": lambda t: sum(t.suggest_float(f"x{i}", 0.0, 1.0) for i in range(50)),
}


def run_distributions(task: FaultTask) -> Tally:
    """`size` of them, from number `chunk` on, each alone and beside an ordinary parameter."""
    tally = Tally()
    for name in list(ODD)[task.chunk : task.chunk + task.size]:
        for beside in (False, True):
            tally.tried += 1
            with empty_folder() as folder:
                try_distribution(tally, name, ODD[name], beside, folder)
    return tally


def try_distribution(tally: Tally, name: str, suggest: Suggest, beside: bool, folder: Path) -> None:
    ended = attempted(tally, lambda say: _check(suggest, beside, folder, say))
    if not ended.fine:
        tally.unusable += 1
        tally.note(f"{name}, beside another: {beside}")
    elif ended.value is None:
        tally.count("distributions that Optuna refused")
    elif ended.value:
        tally.unusable += 1
        tally.note(f"{name}: " + "; ".join(ended.value))


def _check(suggest: Suggest, beside: bool, folder: Path, say: Say) -> list[str] | None:
    import optuna

    import pellucid

    def objective(trial: Trial) -> float:
        value = (trial.suggest_float("other", -1.0, 1.0) - 0.3) ** 2 if beside else 0.0
        chosen = suggest(trial)
        noise = random.Random(f"{trial.number}").random()
        return value + 0.1 * noise + (0.0 if not isinstance(chosen, (int, float)) else float(chosen > 0.5))

    plain = optuna.create_study(storage=f"sqlite:///{folder}/plain.db", sampler=optuna.samplers.RandomSampler(seed=0))
    try:
        plain.optimize(objective, n_trials=TRIALS)
    except Exception:  # Optuna itself does not take it.
        return None
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6)
    study = optuna.create_study(storage=f"sqlite:///{folder}/study.db", sampler=sampler)
    study.optimize(objective, n_trials=TRIALS)
    say("trials")
    return check_goes_on(study, folder, say, objective)
