"""Odd choices, hostile names and extreme ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import Trial
from tests.helpers import (
    COMPLETE,
    RECEIPT_KEY,
    assert_rebuilt_exactly,
    assert_went_on,
    bowl,
    distinct,
    last_receipt,
    new_study,
)

import pellucid
from pellucid.numerics import expand_integers

NAN, INF = math.nan, math.inf


# ----------------------------------------------------------------------- odd choices and hostile names


CHOICES: dict[str, tuple[Any, ...]] = {
    "None, True and text": (None, True, "True", 0.5),
    "three truths": (True, False, None),
    "1 is True": (1, True, 0, False),
    "numbers and their text": (1, 1.5, "1", "1.5"),
    "NaN and None": (NAN, None, "nan"),
    "NaN and numbers": (NAN, 0.0, 1.0),
    "infinities": (INF, -INF, 0.0),
    "blank": ("", " ", "\n"),
}


@pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES)
def test_a_study_goes_on_with_odd_choices(choices: tuple[Any, ...]) -> None:
    def objective(trial: Trial) -> float:
        choice = trial.suggest_categorical("c", choices)
        return bowl(trial) + 0.1 * len(repr(choice)) ** 0.5

    study = new_study()
    study.optimize(objective, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert expand_integers(last_receipt(study).fitted_on) == list(range(9))
    assert_rebuilt_exactly(study, 6)


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_a_study_goes_on_with_choices_that_a_storage_changes(tmp_path: Path) -> None:
    """Tuples come back as lists, with which Optuna would refuse the parameter."""

    def objective(trial: Trial) -> float:
        trial.suggest_categorical("layers", [(1, 2), (3, (4, 5)), "z"])  # type: ignore[list-item]
        return bowl(trial)

    study = new_study(storage=f"sqlite:///{tmp_path / 'study.db'}")
    study.optimize(objective, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert "layers" not in last_receipt(study).space


def test_choices_that_json_cannot_carry_are_proposed_and_rebuilt() -> None:
    """The receipt holds their text; the trial itself holds the choice."""
    choices = ((1, 2), frozenset({3}), bytes)

    def objective(trial: Trial) -> float:
        return bowl(trial) + choices.index(trial.suggest_categorical("c", choices))

    study = new_study()
    with pytest.warns(UserWarning, match="persistent storage"):
        study.optimize(objective, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert all(trial.params["c"] in choices for trial in study.trials)
    mean, sd = pellucid.rebuild(study, 9).predict([study.trials[9].params])
    assert mean[0] == pytest.approx(last_receipt(study).mean, rel=1e-9)
    assert sd[0] == pytest.approx(last_receipt(study).sd, rel=1e-9)


NAMES = {
    "unicode": "größe·學習率🚀",
    "right to left": "\u202eabc\u200b",
    "long": "p" * 200,
    "quotes": """it's "quoted" `and` \\ back""",
    "newlines": "a\nb\r\n\tc",
    "markup": "<script>alert(1)</script>",
    "sql": "x'); DROP TABLE trials;--",
    "empty": "",
    "format": "{0} %s %(name)s {x}",
    "like a receipt": f"{RECEIPT_KEY}:0",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_study_goes_on_with_hostile_parameter_names(name: str, tmp_path: Path) -> None:
    def objective(trial: Trial) -> float:
        return bowl(trial) + (trial.suggest_float(name, 0, 1) - 0.5) ** 2

    study = new_study(storage=f"sqlite:///{tmp_path / 'study.db'}")
    study.optimize(objective, n_trials=8)
    assert_went_on(study, [COMPLETE] * 8, n_model=5)
    assert name in last_receipt(study).space
    assert last_receipt(study).params == study.trials[-1].params
    assert name in pellucid.recommend(study).params
    assert_rebuilt_exactly(study, 5)


def test_hostile_names_and_many_parameters_fit_into_the_attributes_of_every_storage(tmp_path: Path) -> None:
    """Relational storages once limited an attribute to 2048 characters; no part of a receipt exceeds 2045."""

    def objective(trial: Trial) -> float:
        return sum(trial.suggest_float("🚀" * 100 + str(i), 0, 1) for i in range(12))

    study = new_study(storage=f"sqlite:///{tmp_path / 'study.db'}")
    study.optimize(objective, n_trials=6)
    assert_went_on(study, [COMPLETE] * 6, n_model=3)
    parts = [v for t in study.trials for k, v in t.system_attrs.items() if k.startswith(RECEIPT_KEY)]
    assert max(map(len, parts)) <= 2045
    assert len(parts) > 6
    assert_rebuilt_exactly(study, 3)


@pytest.mark.parametrize(
    "suggest",
    [
        lambda t: t.suggest_int("n", 0, 2**53) / 2**53,
        lambda t: t.suggest_int("n", 1, 10**12, log=True) / 10**12,
        lambda t: t.suggest_int("n", -(10**15), 10**15, step=7) / 10**15,
        lambda t: t.suggest_float("n", 1e-300, 1e300, log=True) / 1e300,
        lambda t: t.suggest_float("n", 5e-324, 1e-300, log=True) / 1e-300,
        lambda t: t.suggest_float("n", 0, 1e300) / 1e300,
        lambda t: t.suggest_float("n", 1.7e9, 1.7e9 + 1) - 1.7e9,
        lambda t: t.suggest_float("n", 0, 1, step=1e-9),
        lambda t: t.suggest_int("n", 0, 2**70) / 2**70,
        lambda t: t.suggest_int("n", 1, 2**70, log=True) / 2**70,
        lambda t: t.suggest_float("n", 0, 1e18, step=1e-3) / 1e18,
    ],
    ids=[
        "int53", "log int", "stepped int", "log float", "subnormal", "wide", "far from zero", "fine step", "int70",
        "log int70", "too many steps",
    ],
)  # fmt: skip
def test_a_study_goes_on_with_extreme_ranges(suggest: Callable[[Trial], float]) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) + suggest(trial), n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert distinct(study.trials) == 10
    assert expand_integers(last_receipt(study).fitted_on) == list(range(9))
    assert_rebuilt_exactly(study, 6)
