"""Files that 1.0.0rc1 wrote are read, and every decision in them is rebuilt. They stay as they are for ever.

They hold trials of every kind of receipt (start-up, model, ranking, fallback), acquisition and policy, with several
objectives, constraints, learning curves, failed and running trials. `write.py` made them.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import json_to_distribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from tests.golden.record import differences
from tests.helpers import file_storage, kinds, messages

import pellucid

FOLDER = Path(__file__).parent / "1.0.0rc1"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
DATABASES = ("optuna-4.5", "optuna-5.0")
# Hyperparameters are in the receipt, so only the factor of a matrix is computed again: processors round it in their own
# way. A score may be the logarithm of something tiny, where the rounding of an sd of 1e-5 shows.
PREDICTED, SCORED = 1e-9, 1e-6
# What was stored when a trial was stopped: the rest of the answer is computed again.
DECIDED = (
    *("trial", "source", "step", "horizon", "chance", "needed", "best", "best_trial"),
    *("expected", "low", "high"),
)


def content(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def from_journal(name: str, folder: Path) -> Study:
    """The study in a copy of its journal."""
    return optuna.load_study(study_name=name, storage=file_storage(Path(shutil.copy(FOLDER / f"{name}.log", folder))))


def from_json(name: str, _: Path) -> Study:
    """A study of the trials that are stored as JSON."""
    data = content(name)
    study = optuna.create_study(study_name=name, directions=data["directions"])
    study.add_trials([trial_of(trial) for trial in data["trials"]])
    return study


def trial_of(data: dict[str, Any]) -> FrozenTrial:
    times = {key: data[key] and datetime.fromisoformat(data[key]) for key in ("datetime_start", "datetime_complete")}
    return FrozenTrial(
        number=data["number"],
        trial_id=-1,
        state=TrialState[data["state"]],
        value=None,
        values=data["values"],
        params=data["params"],
        distributions={name: json_to_distribution(text) for name, text in data["distributions"].items()},
        user_attrs=data["user_attrs"],
        system_attrs=data["system_attrs"],
        intermediate_values={int(step): value for step, value in data["intermediate_values"].items()},
        **times,
    )


def from_database(name: str, database: str, folder: Path) -> Study:
    return optuna.load_study(study_name=name, storage=f"sqlite:///{unpacked(database, folder)}")


def unpacked(database: str, folder: Path) -> Path:
    path = folder / f"{database}.db"
    path.write_bytes(gzip.decompress((FOLDER / f"{database}.db.gz").read_bytes()))
    return path


def predictions(study: Study, number: int) -> list[dict[str, Any]]:
    """As `write.py` makes them."""
    points = [study.trials[number].params, study.trials[0].params]
    rebuilt = [pellucid.rebuild(study, number, objective=i) for i in range(len(study.directions))]
    out = []
    for model in rebuilt:
        mean, sd = model.predict(points)
        score = model.acquisition.score(model.encode(points))
        out.append({"mean": mean.tolist(), "sd": sd.tolist(), "score": score.tolist()})
    return out


sources = pytest.mark.parametrize("opened", [from_journal, from_json], ids=["journal", "json"])
Open = Callable[[str, Path], Study]


@sources
@pytest.mark.parametrize("name", NAMES)
def test_every_receipt_says_what_it_said(
    name: str, opened: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    present = [json.loads(json.dumps(receipt.to_dict())) for receipt in pellucid.receipts(opened(name, tmp_path))]
    assert list(differences(content(name)["receipts"], present, 0.0)) == []
    assert messages(caplog) == []


@sources
@pytest.mark.parametrize("name", NAMES)
def test_every_proposal_of_a_model_is_rebuilt(name: str, opened: Open, tmp_path: Path) -> None:
    study, rebuilt = opened(name, tmp_path), content(name)["rebuilt"]
    for number, golden in rebuilt.items():
        present = predictions(study, int(number))
        for before, now in zip(golden, present, strict=True):
            scores = before.pop("score"), now.pop("score")
            assert list(differences(before, now, PREDICTED, f"trial {number}")) == []
            assert list(differences(*scores, SCORED, f"trial {number}: score")) == []
    assert set(map(str, (n for n, kind in kinds(study).items() if kind == "model"))) == set(rebuilt)


@pytest.mark.parametrize("name", NAMES)
def test_every_proposal_is_explained_and_the_search_goes_on(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = from_journal(name, tmp_path)
    for number, kind in kinds(study).items():
        if kind in ("model", "ranking"):
            assert pellucid.explain_proposal(study, number).proposed
    assert messages(caplog) == []
    study.sampler = pellucid.BayesianSampler(seed=3, n_startup_trials=3)
    trial = study.ask(study.trials[-1].distributions)
    assert kinds(study)[trial.number] == "model"
    # Trials that were running when the file was written have run ever since.
    said = messages(caplog)
    assert len(said) <= (name == "pending")
    assert all(text.startswith("Trials 6, 7 and 8 have run for at least") for text in said)


def test_every_stop_by_a_learning_curve_is_explained_as_it_was(tmp_path: Path) -> None:
    stopped = content("curves")["stopped"]
    assert len(stopped) >= 3
    for opened in (from_journal, from_json):
        study = opened("curves", tmp_path)
        for number, before in stopped.items():
            assert before["source"] == "recorded"
            now = pellucid.explain_pruning(study, int(number)).to_dict()
            assert {name: now[name] for name in DECIDED} == {name: before[name] for name in DECIDED}


def test_the_files_have_every_kind_of_receipt_acquisition_and_policy() -> None:
    receipts = [receipt for name in NAMES for receipt in content(name)["receipts"]]
    assert set(Counter(receipt["kind"] for receipt in receipts)) == {"startup", "model", "ranking", "fallback"}
    acquisitions = {receipt["acquisition"]["name"] for receipt in receipts if receipt["acquisition"]}
    assert acquisitions == {
        *("EI", "PI", "LCB", "WEI", "PosteriorVariance", "InformationGain", "EHVI"),
        *("Constrained", "Feasible", "Multiplied"),
    }
    policies = {receipt["policy"]["name"] for receipt in receipts if receipt["policy"]}
    assert policies == {"Alternation", "Interleave", "SAWEI", "Steps", "Switch", "Pulse", "Portfolio"}
    assert any(receipt["curves"] for receipt in receipts)
    assert any(receipt["constraints"] for receipt in receipts)
    assert {len(receipt["objectives"]) for receipt in receipts} >= {0, 2, 3}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 1_000_000


# ---------------------------------------------------------------------------------------- SQLite files


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("name", ["mixed", "objectives"])
def test_databases_of_both_versions_of_optuna_are_read_and_continued(
    name: str, database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = from_database(name, database, tmp_path)
    proposed = [number for number, kind in kinds(study).items() if kind == "model"]
    assert len(proposed) == 3
    for number in proposed:
        assert pellucid.explain_proposal(study, number).proposed
        assert len(predictions(study, number)) == len(study.directions)
    study.sampler = pellucid.BayesianSampler(seed=3, n_startup_trials=3)
    trial = study.ask(study.trials[-1].distributions)
    assert kinds(study)[trial.number] == "model"
    assert messages(caplog) == []


@pytest.mark.parametrize(
    ("schema", "advice"),
    [("v3.0.0.d", "optuna storage upgrade --storage"), ("v9.0.0.a", "updating optuna to the latest version")],
    ids=["older", "newer"],
)
def test_a_database_with_another_schema_is_refused_with_what_to_do(schema: str, advice: str, tmp_path: Path) -> None:
    """4.5 and 5.0 have the same schema. A stand-in for other versions is a file that says it has another one."""
    path = unpacked("optuna-4.5", tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [schema])
    connection.close()
    command = [sys.executable, "-m", "pellucid.cli", "explain", "--study", "mixed", "--storage", f"sqlite:///{path}"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    [sentence] = done.stderr.splitlines()
    assert "was written by another version of Optuna" in sentence
    assert advice in sentence
