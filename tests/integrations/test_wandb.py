"""Runs of Weights & Biases, as it writes them without a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.integrations.studies import FILES, branches, in_branches, is_report, without_complete_trials

from pellucid.surfaces.trackers import wandb as tracker
from pellucid.surfaces.trackers.contents import RunContents

pytestmark = pytest.mark.engine
log = partial(tracker.log, progress=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where offline runs are written. Weights & Biases reads these settings once."""
    wandb = pytest.importorskip("wandb")
    path = tmp_path_factory.mktemp("offline")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
            patch.setenv(name, str(path))
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_SILENT", "true")
        patch.delenv("WANDB_PROJECT", raising=False)
        wandb.teardown()
        yield path / "wandb"
        wandb.teardown()


@pytest.fixture
def written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The name, the project, the config and the summary of every run before its end."""
    runs: list[dict[str, Any]] = []
    write = tracker._write

    def write_and_keep(run: Any, contents: RunContents) -> None:
        write(run, contents)
        runs.append({"name": run.name, "project": run.project, "config": {**run.config}, "summary": {**run.summary}})

    monkeypatch.setattr(tracker, "_write", write_and_keep)
    return runs


def offline_runs(folder: Path, run_id: str) -> list[Path]:
    return list(folder.glob(f"offline-run-*-{run_id}*"))


def test_logging_again_continues_the_same_run(folder: Path, written: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="none of the 2 trials of 'failing' is"):
        log(without_complete_trials())
    assert not written
    study = in_branches()
    run_id = log(study)
    [first] = offline_runs(folder, run_id)
    assert {path.name for path in (first / "files" / "pellucid").iterdir()} == FILES
    assert is_report(first / "files" / "pellucid" / "report.html")
    assert (written[0]["name"], written[0]["project"]) == ("branches", "pellucid")
    assert written[0]["config"] == {
        **{"model": "svc", "C": 0.1, "depth": None},
        "pellucid": {"directions": {"val/loss": "minimize"}, "trials": 3},
    }
    assert written[0]["summary"]["val/loss/best"] == study.best_value

    study.enqueue_trial({"model": "forest", "depth": 0.9})
    study.optimize(branches, n_trials=1)
    assert log(study, project="others") == run_id
    # Each call has a folder of its own, except in one second with older versions of Weights & Biases.
    answers = [path / "files" / "pellucid" / "answers.md" for path in offline_runs(folder, run_id)]
    latest = max(answers, key=lambda path: path.stat().st_mtime_ns)
    assert "depth=0.9" in latest.read_text(encoding="utf-8")
    assert written[1]["project"] == "others"
    assert (written[1]["config"]["depth"], written[1]["config"]["C"]) == (0.9, None)
    assert written[1]["summary"]["val/loss/best"] == study.best_value


def test_odd_names_beside_an_open_run_of_the_user(
    folder: Path, written: list[dict[str, Any]], odd: RunContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    assert any(name.startswith("_") for name in odd.params)
    contents = replace(
        odd, params={**odd.params, "_wandb": 1.0, "pellucid": 2.0}, metrics={**odd.metrics, "_m/best": 3}
    )
    monkeypatch.setattr(tracker, "run_contents", lambda *_, **__: contents)
    with wandb.init(project="own") as own:
        [run] = offline_runs(folder, log(optuna.create_study()))
        assert wandb.run is own
        own.log({"x": 1})
    assert is_report(run / "files" / "pellucid" / "report.html")
    assert {**odd.metrics, "study _m/best": 3}.items() <= written[0]["summary"].items()
    params = {f"study {name}" if name[0] == "_" else name: value for name, value in odd.params.items()}
    own_entry = {"directions": odd.directions, "trials": odd.n_trials}
    assert written[0]["config"] == {**params, "study _wandb": 1.0, "study pellucid": 2.0, "pellucid": own_entry}
