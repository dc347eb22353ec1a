"""Every answer of the guides' table about one study: two objectives, a constraint, a choice of models and failures."""

from __future__ import annotations

import json
import math
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial

import pellucid


def objective(trial: Trial) -> tuple[float, float]:
    """Deeper is more accurate, slower and larger; `svc` is fast and never very accurate."""
    x = trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("model", ["forest", "svc"]) == "svc":
        gamma = trial.suggest_float("gamma", 1e-3, 1.0, log=True)
        accuracy, ms, memory = 0.8 - 0.1 * (math.log10(gamma) + 1.5) ** 2 - 0.2 * (x - 0.4) ** 2, 5.0 + x, 10.0
    else:
        depth = trial.suggest_int("depth", 1, 12)
        accuracy = 0.95 - 0.4 * math.exp(-0.4 * depth) - 0.2 * (x - 0.4) ** 2
        ms, memory = 2.0 * depth + 4.0 * x, 9.0 * depth
    if trial.number in (7, 19):
        raise RuntimeError("out of luck")
    trial.set_constraint("memory", memory - 50.0)
    return accuracy, ms


@pytest.fixture(scope="module")
def study() -> Study:
    study = optuna.create_study(
        study_name="both", directions=["maximize", "minimize"], sampler=pellucid.BayesianSampler(seed=0)
    )
    study.set_metric_names(["accuracy", "ms"])
    study.optimize(objective, n_trials=36, catch=RuntimeError)
    return study


ANSWERS: dict[str, Any] = {
    "recommend": pellucid.recommend,
    "recommend prefer": lambda study: pellucid.recommend(study, prefer={"accuracy": 2, "ms": 1}),
    "recommend limits": lambda study: pellucid.recommend(study, limits={"ms": "<= 12"}),
    "tradeoff": pellucid.tradeoff,
    "calibration": lambda study: pellucid.calibration(study, objective="accuracy"),
    "stopping_verdict": pellucid.stopping_verdict,
    "profile_effect": lambda study: pellucid.profile_effect(study, "x", objective="ms"),
    "partial_dependence": lambda study: pellucid.partial_dependence(study, "x", objective="accuracy"),
    "explain_proposal": lambda study: pellucid.explain_proposal(study, 33),
    "explain_proposal objective": lambda study: pellucid.explain_proposal(study, 33, objective="ms"),
    "desirability_paths": pellucid.desirability_paths,
    "importance": lambda study: pellucid.importance(study, objective="accuracy"),
    "importance of a constraint": lambda study: pellucid.importance(study, objective="memory"),
    "hsic_importance": lambda study: pellucid.hsic_importance(study, source="all"),
    "on_the_front": lambda study: pellucid.hsic_importance(study, pellucid.on_the_front(0.25), source="surrogate"),
    "parameter_ranges": lambda study: pellucid.parameter_ranges(study, objective="accuracy"),
    "interval_reduction": lambda study: pellucid.interval_reduction(study, "x"),
    "history": pellucid.history,
    "history objective": lambda study: pellucid.history(study, objective="ms"),
    "regret_history": pellucid.regret_history,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_a_sentence_data_and_a_figure(name: str, study: Study) -> None:
    answer = ANSWERS[name](study)
    sentence = str(answer)
    assert sentence
    assert "objective 0" not in sentence
    assert "nan" not in sentence.lower().split()
    json.dumps(answer.to_dict())
    figure = answer.plot()
    assert figure.layout.title.text


def test_no_answer_names_an_infeasible_configuration(study: Study) -> None:
    feasible = {trial.number for trial in study.trials if trial.constraints.get("memory", 1.0) <= 0.0}
    assert any(trial.constraints.get("memory", 0.0) > 0.0 for trial in study.trials)
    front = pellucid.recommend(study)
    assert {member.trial for member in front.members} <= feasible
    for wish in ({"prefer": {"accuracy": 1, "ms": 1}}, {"limits": {"ms": "<= 12"}}):
        assert pellucid.recommend(study, **wish).trial in feasible


def test_receipts_rebuild_every_model(study: Study) -> None:
    receipt = pellucid.receipt(study, 33)
    rebuilt = pellucid.rebuild(study, 33, objective="ms")
    X = rebuilt.encode([receipt.params])
    for model, state in zip(rebuilt.surrogates, receipt.objectives, strict=True):
        assert abs(float(model.latent(X)[0][0]) - state.latent_mean) <= 1e-9
    for model, state in zip(rebuilt.constraints, receipt.constraints, strict=True):
        assert abs(float(model.probability(X)[0]) - state.probability) <= 1e-9
