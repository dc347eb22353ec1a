"""`pellucid explain` about trials that were stopped early."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from tests.helpers import file_storage
from typer.testing import CliRunner, Result

import pellucid
from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.terminal import json_text


def worse_and_worse(trial: optuna.Trial) -> float:
    """`CurvePruner` stops it from trial 5 on; trial 3 stops by itself, when too few are complete for a model."""
    level = trial.number + trial.suggest_float("x", 0, 1)
    for step in range(1, 11):
        trial.report(level + 0.5**step, step)
        if trial.number == 3 or trial.should_prune():
            raise optuna.TrialPruned
    return level


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stops") / "studies.log"
    samplers: dict[str, BaseSampler] = {
        "ours": pellucid.BayesianSampler(seed=0, n_startup_trials=7),
        "random": RandomSampler(seed=0),
    }
    for name, sampler in samplers.items():
        pruner = pellucid.CurvePruner()
        study = optuna.create_study(study_name=name, storage=file_storage(path), sampler=sampler, pruner=pruner)
        study.optimize(worse_and_worse, n_trials=8)
    return path


def load(file: Path, name: str) -> Study:
    return optuna.load_study(study_name=name, storage=file_storage(file))


def explain(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", "--storage", str(file), *arguments])


def test_the_overview_says_what_stops_saved(file: Path) -> None:
    record = pellucid.pruning_record(load(file, "ours"))
    result = explain(file, "ours")
    assert result.exit_code == 0, result.output
    assert f"\nWhat stopping early saved: {record}\n" in result.stdout
    data = json.loads(explain(file, "ours", "--json").stdout)
    assert data["pruning"] == json.loads(json_text(record.to_dict()))


def test_a_stopped_trial_is_explained_by_why_it_was_proposed_and_why_it_was_stopped(file: Path) -> None:
    study = load(file, "ours")
    result = explain(file, "ours", "--trial", "7")
    assert result.exit_code == 0, result.output
    why, stop = str(pellucid.explain_proposal(study, 7)), str(pellucid.explain_pruning(study, 7))
    assert "was stopped at step 1 of 10: it had a" in stop
    assert result.stdout.index(f"Why this configuration: {why}") < result.stdout.index(f"Why it was stopped: {stop}")
    data = json.loads(explain(file, "ours", "--trial", "7", "--json").stdout)
    assert (data["proposal"]["trial"], data["pruning"]["trial"], data["pruning"]["source"]) == (7, 7, "recorded")


def test_a_trial_that_ran_to_its_end_is_explained_as_before(file: Path) -> None:
    result = explain(file, "random", "--trial", "4")
    assert result.exit_code == 0, result.output
    assert "Why this configuration: " in result.stdout
    assert "Why it was stopped" not in result.stdout


def test_one_of_the_two_answers_is_enough(file: Path) -> None:
    covering = explain(file, "ours", "--trial", "6")
    assert covering.exit_code == 0, covering.output
    assert "Why it was stopped: Trial 6 was stopped at step 1 of 10" in covering.stdout
    assert "\nWhy this configuration: Trial 6 was sampled to cover the space" in covering.stdout
    assert "Not known yet" not in covering.stdout
    early = explain(file, "random", "--trial", "3")
    assert early.exit_code == 0, early.output
    assert "Why this configuration: Pellucid did not propose trial 3" in early.stdout
    # What was known when a trial began that has ended since does not change.
    assert "\nWhy it was stopped: What the curve of trial 3 promised is not known" in early.stdout
    assert "Not known yet" not in early.stdout


def test_without_either_answer_the_reason_is_an_error(file: Path) -> None:
    result = explain(file, "ours", "--trial", "3")
    assert result.exit_code == 2
    assert "Error: Trial 3 was sampled to cover the space" in result.stderr
