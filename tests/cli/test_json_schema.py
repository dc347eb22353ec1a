"""What `pellucid explain --json` prints for many kinds of studies has the documented schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.helpers import conditional
from tools.json_schema import ANSWERS, texts
from typer.testing import CliRunner

import pellucid
from pellucid.surfaces.cli.app import app

jsonschema = pytest.importorskip("jsonschema")
URL = "sqlite:///studies.db"
SCHEMA = (files("pellucid.cli") / "explain.schema.json").read_text(encoding="utf-8")


def pair(trial: optuna.Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return x**2 + y, (x - 1) ** 2 + y


def constrained(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    trial.set_constraint("excess", x - 0.6)
    return (x - 0.8) ** 2


def stopped(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    for step in range(1, 9):
        trial.report(x + 1 / step, step)
        if trial.number > 8 and x > 0.5 and step > 5:
            raise optuna.TrialPruned
    return x + 0.125


def fails(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    if x > 0.6:
        raise RuntimeError("too large")
    return float("inf") if trial.number == 1 else x


def infinite(trial: optuna.Trial) -> float:
    return float("inf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    memory = optuna.storages.InMemoryStorage()
    disk = optuna.storages.RDBStorage(f"sqlite:///{folder}/studies.db")
    sampler = pellucid.BayesianSampler(seed=0, warn_independent_sampling=False)
    random = optuna.samplers.RandomSampler(seed=0)
    kinds: dict[str, tuple[Callable[[optuna.Trial], Any], optuna.samplers.BaseSampler, int, int]] = {
        "plain": (conditional, sampler, 1, 24),
        "several": (pair, sampler, 2, 14),
        "three": (lambda trial: (*pair(trial), trial.params["x"]), random, 3, 12),
        "constraints": (constrained, random, 1, 15),
        "stopped": (stopped, random, 1, 20),
        "fails": (fails, random, 1, 20),
        "one": (conditional, random, 1, 1),
        "infinite": (infinite, random, 1, 2),
        "empty": (conditional, random, 1, 0),
        "empty of several": (pair, random, 2, 0),
    }
    for name, (objective, chosen, n_objectives, n_trials) in kinds.items():
        directions = ["minimize"] * n_objectives
        study = optuna.create_study(study_name=name, storage=memory, sampler=chosen, directions=directions)
        study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,))
        optuna.copy_study(from_study_name=name, from_storage=memory, to_storage=disk)
    return folder


@cache
def explained(*arguments: str) -> dict[str, Any]:
    """Not changed by the tests that share it."""
    result = CliRunner().invoke(app, ["explain", "--storage", URL, "--json", *arguments])
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return data


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (["plain"], {"recommendation", "verdict", "importance", "ranges", "calibration", "proposal"}),
        (["several"], {"recommendation", "verdict", "importance", "tradeoff", "calibration", "proposal"}),
        (["three"], {"recommendation", "verdict", "importance", "tradeoff", "calibration", "proposal"}),
        (["constraints"], {"recommendation", "verdict", "importance", "ranges", "calibration", "proposal"}),
        (["stopped"], {"recommendation", "verdict", "importance", "ranges", "pruning", "calibration", "proposal"}),
        (["fails"], {"recommendation", "verdict", "importance", "ranges", "failures", "calibration", "proposal"}),
        (["one"], {"recommendation", "verdict", "importance", "ranges", "calibration", "proposal"}),
        (["infinite"], {"recommendation", "verdict", "importance", "ranges", "calibration", "proposal"}),
        (["empty"], {"recommendation", "verdict", "importance", "ranges", "calibration", "proposal"}),
        (["empty of several"], {"recommendation", "verdict", "importance", "tradeoff", "calibration", "proposal"}),
        (["plain", "--trial", "15"], {"proposal"}),
        (["plain", "--param", "lr"], {"profile", "dependence"}),
        (["plain", "--param", "lr", "--param", "depth"], {"dependence"}),
        (["several", "--param", "x"], {"profile", "dependence"}),
        (["several", "--objective", "0"], {"importance", "ranges", "calibration", "proposal"}),
        (["fails", "--goal", "failed"], {"failures", "importance"}),
    ],
)
def test_answers_have_the_schema(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], keys: set[str]
) -> None:
    monkeypatch.chdir(folder)
    data = explained(*arguments)
    jsonschema.validate(data, json.loads(SCHEMA), cls=jsonschema.Draft202012Validator)
    # Every question has an answer or a reason why there is none.
    assert (set(data) & set(ANSWERS)) | set(data["unknown"]) == keys


def test_no_answer_is_left_out_of_these_studies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sort of answer is known in one of them, so that the schema is tried on it."""
    monkeypatch.chdir(folder)
    asked = (["plain"], ["several"], ["stopped"], ["fails"], ["plain", "--param", "lr"])
    assert {key for words in asked for key in explained(*words)} >= set(ANSWERS)


def test_the_schema_notices_a_missing_and_a_surplus_field(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    data, schema = explained("one"), json.loads(SCHEMA)
    for wrong in (
        {key: value for key, value in data.items() if key != "counts"},
        {**data, "surplus": 1},
        {**data, "recommendation": {**data["recommendation"], "trial": "first"}},
        {**data, "recommendation": {"params": {}}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", texts())
def test_the_schema_is_up_to_date(name: str) -> None:
    written = (files("pellucid.cli") / name).read_text(encoding="utf-8")
    assert texts()[name] == written, "run `python tools/json_schema.py`"


@pytest.mark.parametrize("command", ["explain", "tune"])
def test_the_page_names_every_key(repository: Path, command: str) -> None:
    pages = (repository / "docs" / "json.md").read_text(encoding="utf-8").split("\n## `pellucid ")
    [page] = [page for page in pages if page.startswith(f"{command} --json`")]
    schema = json.loads(texts()[f"{command}.schema.json"])
    assert [key for key in schema["properties"] if f"| `{key}` |" not in page] == []
