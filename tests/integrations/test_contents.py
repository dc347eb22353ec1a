"""What a run holds, whichever tracker keeps it."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import optuna
import pytest
from optuna.study import Study
from tests.integrations.studies import in_branches, with_two_objectives, without_complete_trials

import pellucid
from pellucid.surfaces.trackers.contents import RunContents, run_contents


@pytest.fixture
def _no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page takes half of the time, and these tests do not read it."""
    monkeypatch.setattr("pellucid.surfaces.page.page.page", lambda _: "<!doctype html>")


def contents(study: Study) -> RunContents:
    return run_contents(study, "mlflow", progress=False)


@pytest.mark.usefixtures("_no_page")
def test_figures_have_the_name_of_the_objective() -> None:
    study = in_branches()
    logged = contents(study)
    recommended = pellucid.recommend(study)
    assert isinstance(recommended, pellucid.Recommendation)
    assert logged.metrics["val/loss/best"] == study.best_value
    assert logged.metrics["val/loss/expected"] == recommended.expected
    assert logged.metrics["trials/complete"] == logged.metrics["trials/all"] == logged.n_trials == 3
    assert logged.directions == {"val/loss": "minimize"}
    assert logged.params == recommended.params == {"model": "svc", "C": 0.1}
    assert logged.absent == ("depth",)
    assert recommended.sentence in logged.description
    assert json.loads(logged.files["recommendation.json"])["params"] == recommended.params


@pytest.mark.usefixtures("_no_page")
def test_the_key_outlives_more_trials_and_a_copy_but_not_a_new_study() -> None:
    study = in_branches()
    key = contents(study).key
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(study_name="another", storage=storage)
    optuna.copy_study(from_study_name=study.study_name, from_storage=study._storage, to_storage=storage)
    copy = optuna.load_study(study_name=study.study_name, storage=storage)
    copy.add_trial(optuna.create_trial(value=0.0))
    assert contents(copy).key == key
    assert contents(in_branches()).key != key


def test_several_objectives_have_a_front_instead_of_a_configuration(front: RunContents) -> None:
    best = [trial.values for trial in with_two_objectives().best_trials]
    assert front.metrics["accuracy/best"] == max(values[0] for values in best)
    assert front.metrics["ms/best"] == min(values[1] for values in best)
    assert front.metrics["front/trials"] == len(best)
    assert front.directions == {"accuracy": "maximize", "ms": "minimize"}
    assert front.params == {}
    assert len(json.loads(front.files["recommendation.json"])["members"]) == front.metrics["front/recommended"]
    assert set(json.loads(front.files["calibration.json"])) == {"accuracy", "ms"}
    assert "ranges.json" not in front.files


# Names of 1.0.0rc1, which runs have until the next minor version, and what they are called now.
OLD_METRICS = {
    **{f"stopping/{name}": f"verdict/{name}" for name in ("stop", "bound", "tolerance", "more_trials")},
    **{f"recommended/{name}": f"recommendation/{name}" for name in ("trial", "feasible")},
    "front/recommended": "recommendation/members",
}


@pytest.mark.usefixtures("_no_page")
def test_runs_have_the_names_of_the_release_candidate_too(front: RunContents) -> None:
    runs = (front, contents(in_branches()))
    for old, name in OLD_METRICS.items():
        assert [run.metrics.get(old) for run in runs] == [run.metrics.get(name) for run in runs]
    assert {"stopping/stop", "front/recommended"} <= set(runs[0].metrics)
    assert {"stopping/stop", "recommended/trial"} <= set(runs[1].metrics)
    assert all(run.files["stopping.json"] == run.files["verdict.json"] for run in runs)


def test_every_answer_without_a_subject_is_a_file_and_a_paragraph(front: RunContents) -> None:
    assert {"recommendation.json", "verdict.json", "importance.json", "tradeoff.json"} <= set(front.files)
    for title in ("Best configurations", "Can I stop", "What matters", "What one costs in the other"):
        assert f"## {title}\n" in front.description
    assert set(json.loads(front.files["tradeoff.json"])) == {"accuracy and ms"}


def test_infinite_values_are_left_out_and_odd_names_are_kept_apart(odd: RunContents) -> None:
    assert all(map(math.isfinite, odd.metrics.values()))
    assert len(odd.params) == 5
    for text in (odd.name, odd.description, *odd.files.values()):
        text.encode()


def test_a_study_without_complete_trials_gets_a_sentence() -> None:
    with pytest.raises(ValueError, match="once a trial is complete, but none of the 2 trials of 'failing' is: run"):
        contents(without_complete_trials())
    with pytest.raises(ValueError, match="but none of the 0 trials of 'empty' is"):
        contents(optuna.create_study(study_name="empty"))


WITHOUT = """
import sys, types
import optuna, pellucid
trackers = pellucid.integrations.mlflow, pellucid.integrations.wandb
assert not {"mlflow", "wandb", "plotly"} & set(sys.modules)
def show(tracker):
    try:
        tracker.log(optuna.create_study())
    except ImportError as error:
        print(error)
sys.modules.update(mlflow=None, wandb=None, plotly=None)
for tracker in trackers:
    show(tracker)
sys.modules["wandb"] = types.ModuleType("wandb")
show(pellucid.integrations.wandb)
"""


def test_without_its_package_a_tracker_says_what_to_install() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False, timeout=120)
    assert run.stdout.splitlines() == [
        f"`pellucid.integrations.{tracker}.log` needs the package {package}, which is not installed: run "
        f'`pip install "pellucid[{tracker}]"`.'
        for tracker, package in (("mlflow", "mlflow-skinny"), ("wandb", "wandb"), ("wandb", "plotly"))
    ], run.stderr
