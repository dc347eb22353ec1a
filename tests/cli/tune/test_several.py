"""`pellucid tune` with several objectives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.tune.scripts import COMPLETE, FAIL, states, study, tune

from pellucid.surfaces.cli.tune.display import Progress, rows_of, sentence_of
from pellucid.surfaces.cli.tune.snapshot import snapshot_of
from pellucid.surfaces.cli.tune.worker import refused


@pytest.mark.usefixtures("copied_workers")
def test_a_direction_for_each_value_makes_a_study_of_several(folder: Path) -> None:
    first = tune("both", 8, "--direction", "minimize", "--direction", "maximize", "--seed", "0", "--json")
    assert first.exit_code == 0, first.output
    assert "to minimize and maximize: 8 trials to go" in first.stderr
    assert "on the front; latest loss" in first.stderr
    assert "but the study has 2 objectives: return a number for each" in first.stderr or "a word" in first.stderr
    assert states() == {COMPLETE: 6, FAIL: 2}
    data = json.loads(first.stdout)
    assert (data["direction"], data["best"]) == (None, None)
    assert data["objectives"] == [{"name": "loss", "direction": "minimize"}, {"name": "ms", "direction": "maximize"}]
    front = {trial.number: dict(zip(("loss", "ms"), trial.values, strict=True)) for trial in study().best_trials}
    assert {trial["trial"]: trial["values"] for trial in data["front"]} == front
    assert data["recommendation"]["objectives"] == ["loss", "ms"]
    assert data["verdict"]["stop"] is False

    snapshot = snapshot_of(study())
    progress = Progress("title", snapshot, 8, 8, 1.0, 0.031, "", 0)
    rows = dict(rows_of(progress))
    assert rows["front"] == f"{len(front)} trials"
    assert rows["latest"].startswith("loss ")
    assert rows["latest"].endswith("(trial 7)")
    assert rows["left at most"] == "0.031 of the volume that the front dominates"
    assert f"; {len(front)} on the front; latest loss " in sentence_of(progress)


def test_what_an_objective_must_return_is_said() -> None:
    assert refused("a word", 1) == "the objective returned 'a word', which is not a number"
    assert "begin another one, with --direction once for each value" in refused((1.0, 2.0), 1)
    assert "(1.0, 'x'), which are not all numbers" in refused((1.0, "x"), 2)
    assert "but the study has 3 objectives: return a number for each" in refused((1.0, 2.0), 3)
    assert "but the study has 2 objectives" in refused(1.0, 2)
