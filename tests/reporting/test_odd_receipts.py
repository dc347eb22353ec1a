"""A receipt that says something odd costs that receipt, never the report or the next proposal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial, create_trial
from tests.helpers import bowl, last_receipt

import pellucid
from pellucid.study.receipts import RECEIPT_KEY, split

Change = Callable[[dict[str, Any]], object]

ODD: dict[str, Change] = {
    "a mean that no float can hold": lambda data: data.update(mean=10**400),
    "an sd that no float can hold": lambda data: data.update(predictive_sd=10**400),
    "settings that the acquisition does not take": lambda data: data["acquisition"]["settings"].update(params=5),
    "a parameter that the named trial does not have": lambda data: data["space"].update(z=0),
    "a range that is no distribution": lambda data: data["space"].update(x="{}"),
    "a trial that does not exist": lambda data: data["space"].update(x=999),
    "a kernel that does not exist": lambda data: data["hyperparameters"].update(kernel="matern3<"),
    "categories of one parameter only": lambda data: data["hyperparameters"].update(nominal=[3]),
    "lengthscales of too many parameters": lambda data: data["hyperparameters"].update(lengthscales=[1.0] * 9),
}


@pytest.fixture(scope="module")
def trials() -> list[FrozenTrial]:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=6))
    study.optimize(bowl, n_trials=8 + len(ODD))
    return study.trials


def odd(trial: FrozenTrial, change: Change) -> FrozenTrial:
    """The trial with a change in its receipt."""
    parts = [text for key, text in sorted(trial.system_attrs.items()) if key.startswith(RECEIPT_KEY)]
    data = json.loads("".join(parts))
    change(data)
    attributes = {f"{RECEIPT_KEY}:{i}": part for i, part in enumerate(split(json.dumps(data)))}
    return create_trial(
        params=trial.params, distributions=trial.distributions, value=trial.value, system_attrs=attributes
    )


@pytest.fixture
def study(trials: list[FrozenTrial]) -> Study:
    """A study in which trials have an odd receipt each, from number 7 to the last but one."""
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=6))
    changed = [odd(trial, change) for trial, change in zip(trials[7:], ODD.values(), strict=False)]
    study.add_trials([*trials[:7], *changed, *trials[7 + len(changed) :]])
    return study


def test_odd_receipts_cost_no_report(study: Study, tmp_path: Path) -> None:
    pellucid.report(study, tmp_path / "report.html")
    assert '<section id="why">' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_odd_receipts_cost_no_proposal_and_no_other_answer(study: Study) -> None:
    study.optimize(bowl, n_trials=1)
    assert last_receipt(study).kind == "model"
    pellucid.calibration(study)
    pellucid.explain_proposal(study, 7 + len(ODD))


@pytest.mark.parametrize("number", range(7, 7 + len(ODD)), ids=ODD)
def test_an_odd_receipt_is_named_when_its_trial_is_asked_about(study: Study, number: int) -> None:
    for ask in (pellucid.explain_proposal, pellucid.rebuild):
        with pytest.raises(pellucid.Unanswered, match=r"receipt|rebuilt|does not take"):
            ask(study, number)
