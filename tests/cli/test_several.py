"""`pellucid explain` on a study with several objectives and a constraint."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import file_storage
from typer.testing import CliRunner, Result

import pellucid
from pellucid.surfaces.cli.app import app


def measured(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    waste = (y - 0.5) ** 2
    trial.set_constraint("memory", x - 0.8)
    return 1.0 - (1.0 - x) ** 2 - waste, 100.0 * (x**2 + waste)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("several") / "studies.log"
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=8)
    storage = file_storage(path)
    study = optuna.create_study(study_name="two", storage=storage, directions=["maximize", "minimize"], sampler=sampler)
    study.set_metric_names(["accuracy", "ms"])
    study.optimize(measured, n_trials=20)
    optuna.create_study(study_name="empty", storage=storage, directions=["maximize", "minimize"])
    return path


@pytest.fixture(scope="module")
def study(file: Path) -> Study:
    return optuna.load_study(study_name="two", storage=file_storage(file))


def explain(file: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(app, ["explain", *arguments, "--storage", str(file)])
    assert result.exit_code == 0, result.output
    return result


def test_the_overview_is_about_the_front_and_about_each_objective(file: Path, study: Study) -> None:
    lines, verdict = explain(file, "two").stdout.splitlines(), pellucid.stopping_verdict(study)
    assert lines[0].endswith("(maximize accuracy, minimize ms): 20 complete.")
    assert lines[1:] == [
        f"Best configurations: {pellucid.recommend(study)}",
        f"Can I stop: {' '.join((verdict.reply, *verdict.notes))}",
        f"What matters: {pellucid.importance(study, objective='accuracy')}",
        f"What matters: {pellucid.importance(study, objective='ms')}",
        f"What one costs in the other: {pellucid.tradeoff(study)}",
        f"Were predictions true: {pellucid.calibration(study, objective='accuracy')}",
        # Notes that the answer before has are not repeated.
        f"Were predictions true: {pellucid.calibration(study, objective='ms').sentence}",
        f"Why the last proposal: {pellucid.explain_proposal(study, 19)}",
    ]


def test_json_has_the_answers_about_an_objective_under_its_name(file: Path, study: Study) -> None:
    data = json.loads(explain(file, "two", "--json").stdout)
    assert data["objectives"] == [
        {"name": "accuracy", "direction": "maximize"},
        {"name": "ms", "direction": "minimize"},
    ]
    assert data["direction"] is None
    assert list(data["importance"]) == list(data["calibration"]) == ["accuracy", "ms"]
    assert data["importance"]["ms"]["objective"] == "ms"
    assert [e["objective"] for e in data["proposal"]["expected"]] == ["accuracy", "ms"]
    assert data["unknown"] == {}


@pytest.mark.parametrize("objective", ["ms", "1"])
def test_one_objective_can_be_named_or_numbered(file: Path, study: Study, objective: str) -> None:
    lines = explain(file, "two", "--objective", objective).stdout.splitlines()
    assert lines[1] == f"What matters: {pellucid.importance(study, objective='ms')}"
    assert lines[2] == f"Were predictions true: {pellucid.calibration(study, objective=1)}"
    assert lines[3] == f"What was predicted last: {pellucid.explain_proposal(study, 19, objective='ms')}"
    assert any("Which ranges to change: " in line for line in lines[4:])


def test_a_constraint_is_explained_by_its_name(file: Path, study: Study) -> None:
    data = json.loads(explain(file, "two", "--objective", "memory", "--json").stdout)
    assert data["importance"]["objective"] == data["calibration"]["objective"] == "memory"
    assert data["proposal"]["objective"] == "memory"
    assert "ranges" not in data


def test_options_ask_about_the_acquisition_or_about_each_objective(file: Path, study: Study) -> None:
    out = explain(file, "two", "--trial", "19").stdout
    assert f"Why this configuration: {pellucid.explain_proposal(study, 19)}" in out
    assert "contribution (log)" in out
    out = explain(file, "two", "--trial", "19", "--objective", "ms").stdout
    assert "What was predicted: The model expected ms " in out
    assert "contribution (ms)" in out
    data = json.loads(explain(file, "two", "--param", "x", "--json").stdout)
    assert [data["profile"][name]["objective"] for name in ("accuracy", "ms")] == ["accuracy", "ms"]
    assert list(data["dependence"]) == ["accuracy", "ms"]
    data = json.loads(explain(file, "two", "--param", "x", "--objective", "accuracy", "--json").stdout)
    assert data["profile"]["objective"] == "accuracy"


def test_what_is_not_known_of_an_empty_study_is_said(file: Path) -> None:
    out = explain(file, "empty").stdout
    assert "(maximize objective 0, minimize objective 1): no trials." in out
    assert "What matters (objective 1): Importance needs at least 3 finished trials" in out
    unknown = json.loads(explain(file, "empty", "--json").stdout)["unknown"]
    assert list(unknown["importance"]) == ["objective 0", "objective 1"]


@pytest.mark.parametrize("objective", ["ms", "0", "memory"])
@pytest.mark.parametrize("goal", ["front", "failed"])
def test_goals_of_whole_trials_are_not_asked_about_one_objective(file: Path, goal: str, objective: str) -> None:
    words = ["explain", "two", "--goal", goal, "--objective", objective, "--storage", str(file)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert f"--goal {goal} is about trials as a whole, but got --objective {objective}: leave" in result.stderr
