"""Constraints in the search: feasible proposals, receipts that rebuild, and whatever trials report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial
from tests.helpers import model_receipts

import pellucid
from pellucid import BayesianSampler
from pellucid.provenance import Receipt
from pellucid.search.acquisition import EI, SAWEI
from pellucid.search.rebuild import rebuilt_from
from pellucid.study.view import StudyView

Reports = Callable[[Trial, float, float], None]


def memory(trial: Trial, x: float, y: float) -> None:
    trial.set_constraint("memory", 100.0 * (x * y + 0.5 * x - 0.4))


def objective(reports: Reports = memory) -> Callable[[Trial], float]:
    """Best at x = y = 1, which is far outside of what is feasible."""

    def run(trial: Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        reports(trial, x, y)
        return (1.0 - x) ** 2 + (1.0 - y) ** 2

    return run


def study_of(reports: Reports = memory, n: int = 25, **options: Any) -> Study:
    study = optuna.create_study(sampler=BayesianSampler(seed=0, **options))
    study.optimize(objective(reports), n_trials=n)
    return study


def feasible(study: Study) -> list[bool]:
    return [all(value <= 0.0 for value in trial.constraints.values()) for trial in study.trials]


@pytest.fixture(scope="module")
def tuned() -> Study:
    return study_of(n=40)


def test_proposals_are_feasible_and_reach_the_boundary(tuned: Study) -> None:
    assert sum(feasible(tuned)[-20:]) >= 16
    grid = np.linspace(0.0, 1.0, 401)
    x, y = np.meshgrid(grid, grid)
    best = ((1 - x) ** 2 + (1 - y) ** 2)[x * y + 0.5 * x - 0.4 <= 0.0].min()
    assert tuned.best_value - best < 0.01


def test_receipts_have_a_model_of_every_constraint_and_rebuild_exactly(tuned: Study) -> None:
    for receipt in model_receipts(tuned):
        rebuilt = pellucid.rebuild(tuned, receipt.trial)
        x = rebuilt.encode([receipt.params])
        assert receipt.acquisition is not None
        assert rebuilt.acquisition.score(x)[0] == pytest.approx(receipt.acquisition.score, abs=1e-9)
        for model, state in zip(rebuilt.constraints, receipt.constraints, strict=True):
            m, s = model.gp.latent(x)
            assert (m[0], s[0]) == pytest.approx((state.latent_mean, state.latent_sd), abs=1e-9)
            assert model.probability(x)[0] == pytest.approx(state.probability, abs=1e-9)
        assert Receipt.from_json(receipt.to_json()) == receipt


def test_the_chance_of_being_feasible_is_a_named_term(tuned: Study) -> None:
    last = model_receipts(tuned)[-1]
    assert last.acquisition is not None
    assert "feasible: memory" in last.acquisition.terms
    text = str(pellucid.explain_proposal(tuned, last.trial)) + str(
        pellucid.explain_proposal(tuned, last.trial).to_dict()
    )
    assert "likely to keep the limit on memory" in text


@pytest.mark.parametrize(
    "options", [{}, {"acquisition": EI()}, {"acquisition": SAWEI()}, {"avoid_failures": True}], ids=str
)
def test_resumed_studies_go_on_as_if_they_had_never_stopped(options: dict[str, Any]) -> None:
    first, second = study_of(n=18, **options), optuna.create_study()
    for _ in range(18):
        second.sampler = BayesianSampler(seed=0, **options)
        second.optimize(objective(), n_trials=1)
    assert [trial.params for trial in first.trials] == [trial.params for trial in second.trials]


def test_until_something_is_feasible_the_search_is_for_that() -> None:
    def band(trial: Trial, x: float, y: float) -> None:
        trial.set_constraint("band", abs(x + y - 1.75) - 0.02)

    study = study_of(band, n=30)
    found = feasible(study)
    assert any(found)
    before = [receipt for receipt in model_receipts(study) if not any(found[: receipt.trial])]
    for receipt in before:
        assert receipt.acquisition is not None
        assert set(receipt.acquisition.terms) == {"feasible: band"}
        assert receipt.best_value is None


def test_running_trials_are_believed_by_every_model() -> None:
    study = study_of(n=15)
    asked = [study.ask() for _ in range(4)]
    points = {(t.suggest_float("x", 0, 1), t.suggest_float("y", 0, 1)) for t in asked}
    assert len(points) == 4
    receipt = pellucid.receipt(study, asked[-1].number)
    assert len(receipt.pending) == 3
    rebuilt = pellucid.rebuild(study, asked[-1].number)
    assert all(model.gp.n_observed == 18 for model in rebuilt.constraints)


def _sometimes(trial: Trial, x: float, y: float) -> None:
    if trial.number % 3:
        memory(trial, x, y)


def _renamed(trial: Trial, x: float, y: float) -> None:
    trial.set_constraint("mem" if trial.number < 12 else "memory", 100.0 * (x * y + 0.5 * x - 0.4))


def _zero_or_one(trial: Trial, x: float, y: float) -> None:
    trial.set_constraint("fits", float(x * y + 0.5 * x > 0.4))


def _hinge(trial: Trial, x: float, y: float) -> None:
    trial.set_constraint("excess", max(0.0, x * y + 0.5 * x - 0.4))


def _infinite(trial: Trial, x: float, y: float) -> None:
    trial.set_constraint("memory", math.inf if x > 0.8 else x * y + 0.5 * x - 0.4)


def _never(trial: Trial, x: float, y: float) -> None:
    trial.set_constraint("memory", 1.0 + x)


def _constant(trial: Trial, x: float, y: float) -> None:
    trial.set_constraint("memory", 3.0)


def _many(trial: Trial, x: float, y: float) -> None:
    for i in range(5):
        trial.set_constraint(f"<b>`{i}`</b> %s", x * y - 0.2 - 0.1 * i)


def _by_choice(trial: Trial, x: float, y: float) -> None:
    kind = trial.suggest_categorical("kind", ["a", "b"])
    trial.set_constraint(f"of {kind}", x + y - (1.0 if kind == "a" else 1.2))


def _listed(trial: Trial, x: float, y: float) -> None:
    trial.storage.set_trial_system_attr(
        trial._trial_id, "constraints", [x + y - 1.0, float("nan") if x > 0.9 else -1.0]
    )


@pytest.mark.parametrize(
    "reports",
    [_sometimes, _renamed, _zero_or_one, _hinge, _infinite, _never, _constant, _many, _by_choice, _listed],
    ids=lambda reports: reports.__name__,
)
def test_whatever_trials_report_every_proposal_is_that_of_a_model(reports: Reports) -> None:
    study = study_of(reports, n=22)
    kinds = [receipt.kind for receipt in pellucid.receipts(study)]
    assert kinds[10:] == ["model"] * (len(kinds) - 10), [str(receipt) for receipt in pellucid.receipts(study)]
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)


@pytest.mark.parametrize("reports", [_listed, _by_choice], ids=lambda reports: reports.__name__)
def test_other_kinds_of_constraints_are_learned_too(reports: Reports) -> None:
    study = study_of(reports, n=30)
    assert sum(feasible(study)[-10:]) >= 7


@pytest.mark.parametrize("reports", [_zero_or_one, _hinge], ids=lambda reports: reports.__name__)
def test_constraints_that_do_not_say_by_how_much_they_are_satisfied(reports: Reports) -> None:
    """Then the boundary can only be found by crossing it."""
    study = study_of(reports, n=40)
    assert sum(feasible(study)[-20:]) >= 8
    points = np.array([[trial.params["x"], trial.params["y"]] for trial in study.trials[-20:]])
    excess = points[:, 0] * points[:, 1] + 0.5 * points[:, 0] - 0.4
    assert np.median(excess) < 0.05
    assert study.best_value < 0.62


def test_trials_of_another_sampler_without_constraints_do_not_count_as_feasible() -> None:
    study = study_of(n=12)
    distributions = study.trials[-1].distributions
    study.add_trial(create_trial(params={"x": 1.0, "y": 1.0}, distributions=distributions, value=0.0))
    study.optimize(objective(), n_trials=1)
    usable = [trial.value for trial, fine in zip(study.trials[:12], feasible(study)[:12], strict=True) if fine]
    assert model_receipts(study)[-1].best_value == min(value for value in usable if value is not None)
    assert pellucid.recommend(study).trial != 12


def test_a_receipt_with_a_constraint_that_no_trial_reported_is_not_rebuilt() -> None:
    study = study_of(n=14)
    receipt = pellucid.receipts(study)[-1]
    renamed = replace(receipt, constraints=tuple(replace(state, name="other") for state in receipt.constraints))
    view = StudyView.whole(study)
    with pytest.raises(ValueError, match="no trial that it was fitted on has reported that constraint"):
        rebuilt_from(renamed, view, view.objective)
