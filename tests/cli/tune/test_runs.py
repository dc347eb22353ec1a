"""`pellucid tune`: a run and its continuation, with real scripts, storages and processes."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from tests.cli.tune.scripts import COMPLETE, LOG, URL, call, states, study, tune

import pellucid
from pellucid.surfaces.cli.redaction import visible

# ------------------------------------------------------------------------- a run, and its continuation


def test_two_jobs_run_exactly_the_trials_asked_for_and_the_command_continues(folder: Path) -> None:
    first = tune("bowl", 5, "--jobs", "2", "--seed", "0", "--json")
    assert first.exit_code == 0, first.output
    assert "New study `script` in sqlite:///tuning.db, to minimize: 5 trials to go." in first.stderr
    data = json.loads(first.stdout)
    assert data["study"] == "script"
    assert data["storage"] == URL
    assert data["n_trials"] == data["counts"]["complete"] == 5
    best = study().best_trial
    assert data["best"] == {"value": best.value, "trial": best.number, "params": best.params}
    assert data["recommendation"]["trial"] in range(5)
    assert data["verdict"]["stop"] is False
    assert data["report"] is None

    second = tune("bowl", 8, "--jobs", "2", "--seed", "0")
    assert second.exit_code == 0, second.output
    assert "`script` in sqlite:///tuning.db has 5 of 8 trials; 3 to go." in second.stderr
    assert second.stdout.startswith("Use x=")
    assert "Continue: a verdict needs 20 complete trials, and this study has 8" in second.stdout
    assert states() == {COMPLETE: 8}

    third = tune("bowl", 8)
    assert third.exit_code == 0
    assert "nothing to do" in third.stderr
    assert states() == {COMPLETE: 8}


@pytest.mark.usefixtures("copied_workers")
def test_workers_with_one_seed_do_not_repeat_each_other(folder: Path) -> None:
    assert tune("bowl", 6, "--jobs", "2", "--seed", "1", "--sampler", "random", "--storage", LOG).exit_code == 0
    assert len({trial.params["x"] for trial in study(storage=LOG).trials}) == 6


def test_a_model_of_earlier_studies_proposes_although_the_objective_changes_the_folder(folder: Path) -> None:
    pytest.importorskip("torch")
    import numpy as np
    from optuna.distributions import FloatDistribution

    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.files import save
    from pellucid.models.ranking.training import Recipe
    from pellucid.space.encoding import Space

    x = FloatDistribution(-1, 1)
    space = Space.of({"x": x})
    tables = [np.random.default_rng(k).random((12, 1)) for k in range(3)]
    tasks = [(str(k), X, ((X - 0.5) ** 2).sum(axis=1)) for k, X in enumerate(tables)]
    save(RankingEnsemble(space, members=2, recipe=Recipe(steps=2)).meta_trained(tasks), folder / "earlier.ranker")
    result = tune("wanderer", 2, "--model", "earlier.ranker", "--seed", "0", "--quiet")
    assert result.exit_code == 0, result.output
    assert [receipt.kind for receipt in pellucid.receipts(study())] == ["ranking", "ranking"]
    # A ranking is a proposal too, so `explain` takes it before a newer trial that pellucid did not propose.
    study().add_trial(optuna.create_trial(params={"x": 0.5}, distributions={"x": x}, value=1.0))
    explained = json.loads(call("explain", "--storage", URL, "--json").stdout)
    assert explained["proposal"]["trial"] == 1
    assert explained["proposal"]["proposed"]


@pytest.mark.usefixtures("copied_workers")
def test_a_journal_takes_studies_too(folder: Path) -> None:
    result = call("tune", "script.py:bowl", "--trials", "2", "--storage", "runs.log", "--direction", "maximize")
    assert result.exit_code == 0, result.output
    again = call("explain", "--storage", "runs.log", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["counts"]["complete"] == 2
    assert json.loads(again.stdout)["direction"] == "maximize"


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.parametrize("storage", ["tuning.log", URL])
def test_an_objective_may_change_the_folder(folder: Path, storage: str) -> None:
    result = tune("wanderer", 3, "--storage", storage)
    assert result.exit_code == 0, result.output
    assert not list(folder.glob("elsewhere/**/tuning.*"))
    assert "already has 3 trials" in tune("wanderer", 3, "--storage", storage).stderr


def test_postgresql_needs_no_name_of_its_driver(folder: Path, postgres: str) -> None:
    url = postgres.replace("+psycopg2", "")
    result = call("tune", "script.py:bowl", "--trials", "2", "--storage", url, "--study", "from the command line")
    assert result.exit_code == 0, result.output
    assert f"in {visible(url)}" in result.stderr
    assert len(study("from the command line", postgres).trials) == 2


@pytest.mark.usefixtures("copied_workers")
def test_a_module_is_a_target_and_quiet_prints_nothing(folder: Path) -> None:
    result = call("tune", "script:bowl", "--trials", "1", "--storage", LOG, "--study", "own", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert states("own", LOG) == {COMPLETE: 1}


@pytest.mark.usefixtures("copied_workers")
def test_no_trial_begins_when_time_is_up(folder: Path) -> None:
    result = tune("bowl", 5, "--timeout", "0")
    assert result.exit_code == 0, result.output
    assert "0 of 5" in result.stderr


@pytest.mark.usefixtures("copied_workers")
def test_the_objective_may_stop_the_study(folder: Path) -> None:
    result = tune("stops", 9, "--storage", LOG)
    assert result.exit_code == 0, result.output
    assert "The objective has stopped the study: 3 of 9 trials are in" in result.stderr
    assert states(storage=LOG) == {COMPLETE: 3}


HOSTILE = ["'; DROP TABLE studies; --", "[red]name[/red]", "../../up", "-x", "näme 研究", "two\nlines\x1b[2J", "%s{0}"]


@pytest.mark.usefixtures("copied_workers")
def test_hostile_study_names_are_accepted(folder: Path) -> None:
    for name in HOSTILE[:-1]:
        optuna.create_study(study_name=name, storage=URL).add_trial(optuna.create_trial(value=1.0))
    result = tune("bowl", 1, f"--study={HOSTILE[-1]}")
    assert result.exit_code == 0, result.output
    for name in HOSTILE:
        again = tune("bowl", 1, f"--study={name}", "--json")
        assert again.exit_code == 0, again.output
        assert "nothing to do" in again.stderr
        assert "\x1b" not in again.output
        assert json.loads(again.stdout)["study"] == name
    assert sorted(optuna.get_all_study_names(URL)) == sorted(HOSTILE)
