"""Several objectives: the gain of the front and the prediction of each objective, split among parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.explain.proposals.studies import check

import pellucid
from pellucid.answers import shapley
from pellucid.answers.proposals.background import rows_of
from pellucid.answers.proposals.cases import case_of
from pellucid.study.view import StudyView


def measured(trial: Trial) -> Sequence[float]:
    """`x` trades accuracy for time, `y` only wastes both; `idle` does nothing."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.suggest_float("idle", 0, 1)
    waste = (y - 0.5) ** 2
    trial.set_constraint("memory", x - 0.8)
    return 1.0 - (1.0 - x) ** 2 - waste, 100.0 * (x**2 + waste)


def run(sampler: Any, n: int = 18) -> Study:
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.set_metric_names(["accuracy", "ms"])
    study.optimize(measured, n_trials=n)
    return study


@pytest.fixture(scope="module")
def tuned() -> Study:
    return run(pellucid.BayesianSampler(seed=0, n_startup_trials=6))


@pytest.fixture(scope="module")
def foreign() -> Study:
    return run(optuna.samplers.RandomSampler(seed=0), 12)


def test_the_acquisition_is_what_the_front_was_expected_to_gain(tuned: Study) -> None:
    explanation = pellucid.explain_proposal(tuned, 17)
    check(explanation)
    assert explanation.proposed
    assert (explanation.unit, explanation.objective, explanation.mean, explanation.direction) == ("log", "", None, None)
    assert explanation.term_names == ("acquisition", "feasible: memory")
    receipt = pellucid.receipt(tuned, 17)
    assert [(e.objective, e.direction, e.mean, e.sd) for e in explanation.expected] == [
        (state.name, state.direction, pytest.approx(state.mean), pytest.approx(state.sd))
        for state in receipt.objectives
    ]
    assert "gain of the front" in explanation.terms["acquisition"].label


def test_hopeless_configurations_differ_by_a_factor_of_a_thousand_at_most(tuned: Study) -> None:
    game = case_of(StudyView.whole(tuned), 17).game
    terms = game.terms(rows_of({}, game.space, 0, 512, 0))
    unlimited = game.function.terms(rows_of({}, game.space, 0, 512, 0))["acquisition"]
    assert np.ptp(unlimited) > 10.0
    assert (game.outputs(game.x[None])[0, 0] - terms[:, 0] <= np.log(1e3) + 1e-9).all()


@pytest.mark.parametrize("objective", ["accuracy", "ms", 1, "memory"])
def test_the_prediction_of_each_objective_is_split_exactly(tuned: Study, objective: str | int) -> None:
    explanation = pellucid.explain_proposal(tuned, 17, objective=objective)
    name = "ms" if objective == 1 else objective
    assert (explanation.objective, explanation.unit, explanation.n_samples) == (name, "objective", 0)
    assert explanation.exact == explanation.term_names == ("predicted",)
    assert sum(c.total for c in explanation.contributions) == pytest.approx(explanation.total, rel=1e-9)
    assert all(c.low == c.total == c.high for c in explanation.contributions)
    assert f"expected {name} " in explanation.sentence
    if objective != "memory":
        mean, sd = pellucid.rebuild(tuned, 17, objective=objective).predict([tuned.trials[17].params])
        assert (explanation.mean, explanation.sd) == (pytest.approx(mean[0]), pytest.approx(sd[0]))


@pytest.mark.parametrize("objective", ["accuracy", "ms"])
def test_contributions_to_a_prediction_are_those_of_enumeration(tuned: Study, objective: str) -> None:
    explanation = pellucid.explain_proposal(tuned, 17, objective=objective)
    view = StudyView.whole(tuned)
    target = view.target(objective)
    game = case_of(view, 17, target).game
    rows = rows_of({}, game.space, 0, 4096, 0)
    plain = shapley.shapley_values(lambda X: -game.gp.latent_mean(X), game.x, rows, players=game.players)
    values = np.array([c.total for c in explanation.contributions])
    # 4096 evenly spread rows stand for the average over the space.
    shares, expected = (part / np.abs(part).sum() for part in (values, target.sign * -plain.values))
    np.testing.assert_allclose(shares, expected, atol=2e-3)
    assert ("more than of the average" in explanation.sentence) == (explanation.total > 0.0)
    here, average = game.gp.losses(np.array([-float(plain.payout) - float(plain.average), -float(plain.average)]))
    assert explanation.total == pytest.approx(target.sign * (here - average), rel=1e-2)


def test_each_value_of_x_is_good_for_one_objective_and_bad_for_the_other(tuned: Study) -> None:
    accuracy, ms = ({c.name: c.total for c in pellucid.explain_proposal(tuned, 17, objective=name).contributions}
                    for name in ("accuracy", "ms"))  # fmt: skip
    assert accuracy["x"] * ms["x"] > 0.0  # More of both.
    assert abs(accuracy["idle"]) < 0.1 * abs(accuracy["x"])


def test_a_trial_of_another_sampler_is_explained_by_what_the_front_would_have_gained(foreign: Study) -> None:
    explanation = pellucid.explain_proposal(foreign, 11)
    check(explanation)
    assert not explanation.proposed
    assert explanation.acquisition == "EHVI"
    assert explanation.sentence.startswith("Pellucid did not propose trial 11")
    predicted = pellucid.explain_proposal(foreign, 11, objective="ms")
    assert predicted.sentence.startswith("Pellucid did not propose trial 11; its model would have expected ms")
    assert explanation.expected[1].mean == pytest.approx(predicted.mean)


def test_paths_and_interactions_of_the_front_and_of_an_objective(tuned: Study) -> None:
    paths = pellucid.desirability_paths(tuned, [15, 16, 2], objective="ms", progress=False)
    assert [e.trial for e in paths.explanations] == [15, 16]
    assert "contributed most to low predicted ms" in paths.sentence
    assert "was sampled to cover the space" in paths.skipped[2]
    whole = pellucid.desirability_paths(tuned, [15, 16], progress=False)
    assert "contributed most to the appeal" in whole.sentence
    assert "unit of ms" in str(paths.plot().layout)
    assert "(log)" in str(whole.plot().layout)
    for objective in (None, "ms"):
        explanation = pellucid.explain_proposal(tuned, 17, objective=objective)
        record = pellucid.proposal_interactions(tuned, 17, objective=objective)
        total = sum(record.main.values()) + sum(record.pairs.values())
        assert total == pytest.approx(explanation.total, rel=0.05)  # 512 rows against many, or a closed form.


def test_what_cannot_be_asked_is_said(tuned: Study) -> None:
    with pytest.raises(ValueError, match="no single incumbent to compare with: pass the number of a trial"):
        pellucid.explain_proposal(tuned, 17, baseline="incumbent")
    check(pellucid.explain_proposal(tuned, 17, baseline=12))
    assert pellucid.explain_proposal(tuned, 17, objective="ms", baseline="incumbent").total > 0.0
    with pytest.raises(
        ValueError, match=r"one of the objectives or a constraint of this study \('accuracy', 'ms', 'mem"
    ):
        pellucid.explain_proposal(tuned, 17, objective="speed")
    with pytest.raises(ValueError, match="Trial 2 was sampled to cover the space"):
        pellucid.explain_proposal(tuned, 2, objective="ms")


def test_one_objective_has_a_prediction_too() -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=4))
    study.set_metric_names(["loss"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=8)
    explanation = pellucid.explain_proposal(study, 7, objective="loss")
    assert "The model expected loss" in explanation.sentence
    assert "unit of loss" in explanation.plot().layout.xaxis.title.text
