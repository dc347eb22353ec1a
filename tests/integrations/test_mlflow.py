"""Runs of MLflow, in stores on the disk as MLflow itself makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.integrations.studies import FILES, branches, in_branches, is_report, without_complete_trials

import pellucid
from pellucid.surfaces.trackers import mlflow as tracker
from pellucid.surfaces.trackers.contents import RunContents

pytestmark = pytest.mark.engine
log = partial(tracker.log, progress=False)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of an empty store of files."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # Newer versions of MLflow want to be asked for it.
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return mlflow.MlflowClient()


@pytest.fixture
def database(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of an empty SQLite store, which is MLflow's default."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)  # Artifacts go to a folder of the working directory.
    return type(store)()


def only_run(client: Any, experiment: str = "pellucid") -> Any:
    [run] = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    return run


def artifacts(run: Any) -> Path:
    return Path(str(run.info.artifact_uri).removeprefix("file://")) / "pellucid"


def test_logging_again_updates_the_same_run(database: Any) -> None:
    study = in_branches()
    run_id = log(study)
    first = only_run(database)
    assert first.info.run_id == run_id
    assert first.info.run_name == "branches"
    assert first.info.status == "FINISHED"
    assert first.data.metrics["val/loss/best"] == study.best_value
    assert first.data.tags["direction/val/loss"] == "minimize"
    assert (first.data.tags["recommended/model"], first.data.tags["recommended/C"]) == ("svc", "0.1")
    assert pellucid.recommend(study).sentence in first.data.tags["mlflow.note.content"]
    assert {path.name for path in artifacts(first).iterdir()} == FILES
    assert is_report(artifacts(first) / "report.html")

    study.enqueue_trial({"model": "forest", "depth": 0.9})
    study.optimize(branches, n_trials=1)
    assert log(study) == log(study) == run_id
    second = only_run(database)
    assert second.data.metrics["val/loss/best"] == study.best_value < first.data.metrics["val/loss/best"]
    recommended = {name: value for name, value in second.data.tags.items() if name.startswith("recommended/")}
    assert recommended == {"recommended/model": "forest", "recommended/depth": "0.9"}
    history = database.get_metric_history(run_id, "val/loss/best")
    assert [metric.step for metric in history] == [3, 4]
    assert "depth=0.9" in (artifacts(second) / "answers.md").read_text(encoding="utf-8")


def test_a_study_without_complete_trials_makes_no_run(store: Any) -> None:
    with pytest.raises(ValueError, match="none of the 2 trials of 'failing' is"):
        log(without_complete_trials())
    assert store.get_experiment_by_name("pellucid") is None


Logged = Callable[..., str]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Logged:
    """Logs contents that are known already."""
    study = optuna.create_study()

    def log_contents(contents: RunContents, **options: Any) -> str:
        monkeypatch.setattr(tracker, "run_contents", lambda *_, **__: contents)
        return log(study, **options)

    return log_contents


@pytest.fixture
def svc(front: RunContents) -> RunContents:
    """Contents with one recommended configuration."""
    return replace(front, params={"model": "svc", "C": 0.1}, absent=("depth",))


def test_odd_names_and_values_are_logged(store: Any, logged: Logged, odd: RunContents) -> None:
    logged(odd, experiment="<odd> 🔥", final=True)
    run = only_run(store, "<odd> 🔥")
    assert set(run.data.params) == set(odd.params)
    assert run.data.metrics == odd.metrics
    assert is_report(artifacts(run) / "report.html")


def test_several_objectives_are_logged(
    store: Any, logged: Logged, front: RunContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "fronts")
    logged(front, final=True)
    run = only_run(store, "fronts")
    assert {"accuracy/best", "ms/best", "front/trials"} <= set(run.data.metrics)
    assert (run.data.tags["direction/accuracy"], run.data.tags["direction/ms"]) == ("maximize", "minimize")
    assert run.data.params == {}


def test_final_params_are_params_and_must_stay_true(store: Any, logged: Logged, svc: RunContents) -> None:
    run_id = logged(svc)
    assert only_run(store).data.params == {}
    assert logged(svc, final=True) == logged(svc, final=True) == logged(svc) == run_id
    assert only_run(store).data.params == {"model": "svc", "C": "0.1"}
    store.log_param(run_id, "git", "1f2e")  # A param of the user's own.
    logged(svc)
    with pytest.raises(ValueError, match=r"does not let params change, .*recommended `C` is now 0\.2 instead of 0\.1:"):
        logged(replace(svc, params={"model": "svc", "C": 0.2}))
    with pytest.raises(ValueError, match=r"recommended `C` is now absent instead of 0\.1: delete that run"):
        logged(replace(svc, params={"model": "svc"}, absent=("C", "depth")))


def test_more_params_than_fit_into_a_request(store: Any, logged: Logged, svc: RunContents) -> None:
    many = {f"p{i}": "v" * 9000 for i in range(201)}
    logged(replace(svc, params=many, description="x" * 9000), final=True)
    assert len(only_run(store).data.params) == 201


def test_a_deleted_run_is_replaced_but_not_a_deleted_experiment(store: Any, logged: Logged, svc: RunContents) -> None:
    first = logged(svc)
    store.delete_run(first)
    assert logged(svc) != first
    store.delete_experiment(store.get_experiment_by_name("pellucid").experiment_id)
    with pytest.raises(ValueError, match="needs an experiment that exists, but 'pellucid' was deleted: restore it"):
        logged(svc)
