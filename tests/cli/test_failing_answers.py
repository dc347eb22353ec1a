"""An error inside one answer: commands and agents get all others, and the one is named. The exit code says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import optuna
import pytest
from tests.cli.test_json_schema import SCHEMA
from tests.failing import FAULTS, Functions, cause, study_of_everything, study_of_two
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.mcp.answering import reply_to
from pellucid.surfaces.cli.mcp.session import Reply, Session
from pellucid.surfaces.cli.storage.places import place_of

pytestmark = pytest.mark.failing_answers

ANSWERS = "pellucid.answers"
# The functions of the overview, by their key in JSON.
ONE = {
    f"{ANSWERS}.recommend.recommendation_of": "recommendation",
    f"{ANSWERS}.stop.one.stopping_verdict_of": "verdict",
    f"{ANSWERS}.importance.shares.shares_of": "importance",
    f"{ANSWERS}.ranges.advice.ranges_of": "ranges",
    f"{ANSWERS}.pruning.saved.pruning_record_of": "pruning",
    f"{ANSWERS}.failures.failing_settings_of": "failures",
    f"{ANSWERS}.calibration.calibration_of": "calibration",
    f"{ANSWERS}.proposals.explanation.explanation_of": "proposal",
}
SEVERAL = {
    f"{ANSWERS}.fronts.answer.front_of": "recommendation",
    f"{ANSWERS}.stop.several.front_verdict_of": "verdict",
    f"{ANSWERS}.importance.shares.shares_of": "importance",
    f"{ANSWERS}.fronts.tradeoff.tradeoff_of": "tradeoff",
    f"{ANSWERS}.calibration.calibration_of": "calibration",
    f"{ANSWERS}.proposals.explanation.explanation_of": "proposal",
}
CASES = [("everything", name) for name in ONE] + [("two", name) for name in SEVERAL]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('failing')}/studies.db"
    storage = optuna.storages.RDBStorage(url)
    study_of_everything(storage)
    study_of_two(storage)
    return url


@pytest.fixture(scope="module")
def functions() -> dict[str, Functions]:
    return {"everything": Functions(ONE), "two": Functions(SEVERAL)}


def explain(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", "--storage", url, *arguments])


def explained(url: str, *arguments: str, code: int) -> dict[str, Any]:
    result = explain(url, "--json", *arguments)
    assert result.exit_code == code, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(data, json.loads(SCHEMA), cls=jsonschema.Draft202012Validator)
    return data


def asked(url: str, tool: str, folder: Path, **arguments: object) -> Reply:
    return reply_to(Session(place_of(url), folder), tool, arguments)


@pytest.mark.parametrize(("study", "broken"), CASES)
def test_one_answer_that_fails_costs_no_other(
    url: str, functions: dict[str, Functions], study: str, broken: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    functions[study].answer(monkeypatch)
    whole = explained(url, study, code=0)
    assert whole["failed"] == {}
    lines = explain(url, study).stdout.splitlines()
    key = (ONE if study == "everything" else SEVERAL)[broken]
    turn = CASES.index((study, broken)) % len(FAULTS)
    for fault in (*FAULTS[turn:], *FAULTS[:turn]):
        functions[study].answer(monkeypatch, broken=broken, fault=fault)
        data = explained(url, study, code=4)
        reasons = data["failed"].pop(key)
        assert data["failed"] == {}
        assert set(reasons.values() if isinstance(reasons, dict) else [reasons]) == {cause(fault)}
        assert {**data, key: whole.get(key)} == {**whole, key: whole.get(key)}
    text = explain(url, study)
    assert text.exit_code == 4
    n_failed = len(reasons) if isinstance(reasons, dict) else 1
    assert text.stdout.count(cause(fault)) == n_failed
    # A note that the failed answer had too is said by another one now.
    begun = [line.partition(". ")[0] for line in text.stdout.splitlines()]
    lost = [line for line in lines if line.partition(". ")[0] not in begun]
    assert len(lost) == n_failed
    reply = asked(url, "overview", tmp_path, study=study)
    assert not reply.failed
    assert reply.texts[0].splitlines() == text.stdout.splitlines()
    assert json.loads(reply.texts[1])["failed"].keys() == {key}


@pytest.mark.parametrize(
    ("broken", "options", "failed", "known"),
    [
        ("effects.profile.profiles_of", ["--param", "x"], "profile", "dependence"),
        ("effects.dependence.effects_of", ["--param", "x"], "dependence", "profile"),
        ("proposals.explanation.explanation_of", ["--trial", "12"], "proposal", "pruning"),
        ("pruning.explanation.pruning_explanation_of", ["--trial", "12"], "pruning", "proposal"),
        ("importance.analysis.importance_for", ["--goal", "failed"], "importance", "failures"),
        ("failures.failing_settings_of", ["--goal", "failed"], "failures", "importance"),
    ],
)
def test_an_option_whose_answer_fails_is_no_mistake_of_the_user(
    url: str, broken: str, options: list[str], failed: str, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Functions([f"{ANSWERS}.{broken}"])
    for fault in FAULTS:
        one.answer(monkeypatch, broken=f"{ANSWERS}.{broken}", fault=fault)
        data = explained(url, "everything", *options, code=4)
        assert data["failed"] == {failed: cause(fault)}
        assert data[known]["sentence"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--param", "zz"], "The study has no parameter `zz`; it has "),
        (["--param", "x", "--param", "zz"], "The study has no parameter `zz`; it has "),
        (["--trial", "99"], "The study has no trial 99; its trials are 0 to 59."),
        (["--objective", "zz"], "`objective` must be the objective or a constraint of this study"),
    ],
)
def test_an_error_about_an_option_stays_one_sentence(url: str, options: list[str], sentence: str) -> None:
    result = explain(url, "everything", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {sentence}")


def test_an_agent_is_told_that_the_only_answer_failed(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = Functions([f"{ANSWERS}.ranges.advice.ranges_of", f"{ANSWERS}.effects.profile.profiles_of"])
    one.answer(monkeypatch, broken=f"{ANSWERS}.ranges.advice.ranges_of", fault=FAULTS[2])
    assert asked(url, "ranges", tmp_path, study="everything") == Reply((cause(FAULTS[2]),), failed=True)
    one.answer(monkeypatch, broken=f"{ANSWERS}.effects.profile.profiles_of", fault=FAULTS[0])
    reply = asked(url, "what_parameters_do", tmp_path, study="everything", params=["x"])
    assert not reply.failed
    assert cause(FAULTS[0]) in reply.texts[0]
    assert "on average: " in reply.texts[0]


def test_learning_curves_that_cannot_be_judged_cost_no_answer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise KeyError("lr")

    monkeypatch.setattr("pellucid.answers.opening.extrapolated", fail)
    data = explained(url, "everything", code=4)
    assert data["failed"] == {"curves": cause(FAULTS[0])}
    assert data["unknown"] == {}
