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
from pellucid.answers.base import WHOLE, GoalName, Overview, Subject, Takes
from pellucid.answers.catalogue import CATALOGUE
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView
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


def keys_of(study: str, only: Subject = WHOLE, named: Subject = WHOLE) -> list[str]:
    """The keys of what the catalogue asks about a study without options, or about a trial, parameters or a goal."""
    view = StudyView.whole(optuna.load_study(study_name=study, storage=URL))
    overview = Overview(Beliefs(view), only)
    takes = next((takes for takes in Takes if takes is not Takes.NOTHING and getattr(named, takes.value)), None)
    asked = [
        answer
        for answer in CATALOGUE
        if (answer.listed is not None if takes is None else answer.asked and answer.takes is takes)
        or (named.goal is not None and answer.with_goal is named.goal)
    ]
    return list(dict.fromkeys(answer.key for answer in asked if overview.reason(answer, named) is None))


def assert_answered(data: dict[str, Any], keys: list[str]) -> None:
    """The schema accepts it, and every question has an answer or a reason why there is none, in order."""
    jsonschema.validate(data, json.loads(SCHEMA), cls=jsonschema.Draft202012Validator)
    assert [key for key in data if key in ANSWERS] == [key for key in keys if key in data]
    assert list(data["unknown"]) == [key for key in keys if key in data["unknown"]]
    assert (set(data) & set(ANSWERS)) | set(data["unknown"]) == set(keys)
    assert all(data.get(key) or data["unknown"].get(key) for key in keys)
    assert data["failed"] == {}


ALWAYS = {"recommendation", "verdict", "importance", "calibration", "proposal"}
KNOWN = {*ALWAYS, "ranges", "tradeoff", "pruning", "failures", "profile", "dependence"}


@pytest.mark.parametrize(
    ("study", "there"),
    [
        ("plain", {"ranges"}),
        ("several", {"tradeoff"}),
        ("three", {"tradeoff"}),
        ("constraints", {"ranges"}),
        ("stopped", {"ranges", "pruning"}),
        ("fails", {"ranges", "failures"}),
        ("one", {"ranges"}),
        ("infinite", {"ranges"}),
        ("empty", {"ranges"}),
        ("empty of several", {"tradeoff"}),
    ],
)
def test_answers_have_the_schema(folder: Path, monkeypatch: pytest.MonkeyPatch, study: str, there: set[str]) -> None:
    monkeypatch.chdir(folder)
    keys = keys_of(study)
    assert_answered(explained(study), keys)
    assert set(keys) & KNOWN == ALWAYS | there


@pytest.mark.parametrize(
    ("arguments", "only", "named", "there"),
    [
        (["plain", "--trial", "15"], WHOLE, Subject(trial=15), {"proposal"}),
        (["plain", "--param", "lr"], WHOLE, Subject(params=("lr",)), {"profile", "dependence"}),
        (["plain", "--param", "lr", "--param", "depth"], WHOLE, Subject(params=("lr", "depth")), {"dependence"}),
        (["several", "--param", "x"], WHOLE, Subject(params=("x",)), {"profile", "dependence"}),
        (
            ["several", "--objective", "0"],
            Subject(objective=0),
            WHOLE,
            {"importance", "ranges", "calibration", "proposal"},
        ),
        (["fails", "--goal", "failed"], WHOLE, Subject(goal=GoalName.FAILED), {"failures", "importance"}),
    ],
)
def test_answers_about_what_was_named_have_the_schema(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], only: Subject, named: Subject, there: set[str]
) -> None:
    monkeypatch.chdir(folder)
    keys = keys_of(arguments[0], only, named)
    assert_answered(explained(*arguments), keys)
    assert set(keys) & KNOWN == there


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
