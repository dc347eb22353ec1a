"""`pellucid explain`, `report` and `publish`: answers, and sentences if there is no answer."""

from __future__ import annotations

import errno
import io
import json
import os
import sqlite3
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from tests.helpers import began, conditional
from typer.testing import CliRunner, Result

import pellucid
from pellucid.answers.base import Overview
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.finding import NotKnown
from pellucid.beliefs.of_study import beliefs_of
from pellucid.models import GaussianProcess
from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.terminal import json_text

URL = "sqlite:///studies.db"
KEYS = {answer.key for answer in CATALOGUE}


def fails_somewhere(trial: optuna.Trial) -> float:
    value = conditional(trial)
    if trial.params["depth"] > 6:
        raise RuntimeError("too deep")
    return value


@pytest.fixture(scope="module")
def storages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage with several kinds of studies, another with a single study, and files that are not storages."""
    folder = tmp_path_factory.mktemp("storages")
    several = optuna.storages.RDBStorage(f"sqlite:///{folder}/studies.db")
    sampler = pellucid.BayesianSampler(seed=0, warn_independent_sampling=False)
    memory = optuna.storages.InMemoryStorage()  # Faster than a disk; a copied study keeps its receipts.
    study = optuna.create_study(study_name="ours", storage=memory, sampler=sampler)
    study.optimize(fails_somewhere, n_trials=40, catch=(RuntimeError,))
    tpe = optuna.create_study(study_name="tpe", storage=memory, sampler=optuna.samplers.TPESampler(seed=0))
    tpe.optimize(conditional, n_trials=15)
    for name in ("ours", "tpe"):
        optuna.copy_study(from_study_name=name, from_storage=memory, to_storage=several)
    optuna.create_study(study_name="empty", storage=several)
    optuna.create_study(study_name="two", storage=several, directions=["minimize", "maximize"])
    for i in range(10):
        optuna.create_study(study_name=f"more {i}", storage=several)
    alone = optuna.create_study(study_name="only", storage=f"sqlite:///{folder}/alone.db", direction="maximize")
    alone.add_trial(optuna.create_trial(value=float("inf")))
    optuna.storages.RDBStorage(f"sqlite:///{folder}/none.db")
    (folder / "notes.txt").write_text("notes\n" * 50)
    (folder / "broken.log").write_text('{"op_code": 0}\nnothing\nat all\n')
    (folder / "begun.journal").write_text("")
    damaged = (folder / "alone.db").read_bytes()
    (folder / "damaged.db").write_bytes(damaged[:4096] + bytes(len(damaged) - 4096))
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
    connection.close()
    return folder


@pytest.fixture(autouse=True)
def inside(storages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(storages)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def explain(*arguments: str) -> Result:
    return call("explain", "--storage", URL, *arguments)


def test_the_overview_prints_the_sentences_of_the_functions() -> None:
    result = explain("ours")
    assert result.exit_code == 0, result.output
    study = optuna.load_study(study_name="ours", storage=URL)
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"Study `ours` in {URL} (minimize): ")
    last = [receipt.trial for receipt in pellucid.receipts(study) if receipt.proposed][-1]
    ranges, verdict = pellucid.parameter_ranges(study), pellucid.stopping_verdict(study)
    advice = " ".join([*(advice.sentence for advice in ranges.advice), *ranges.notes])
    known = {
        f"Best configuration: {pellucid.recommend(study)}",
        f"Can I stop: {' '.join((verdict.reply, *verdict.notes))}",
        f"What matters: {pellucid.importance(study)}",
        f"Which ranges to change: {advice if ranges.advice else ranges}",
        f"Why trials fail: {pellucid.failing_settings(study)}",
        f"Were predictions true: {pellucid.calibration(study)}",
        f"Why the last proposal: {pellucid.explain_proposal(study, last)}",
    }
    assert known <= set(lines)
    asked = [question for answer in CATALOGUE for question in Overview(beliefs_of(study)).listed(answer)]
    for question, line in zip(asked, lines[1:], strict=True):
        answer = question.answered()
        assert not isinstance(answer, NotKnown)
        assert line.startswith(f"{question.title}: {answer.reply}")


def test_a_study_of_another_sampler_is_explained_too() -> None:
    result = explain("tpe")
    assert result.exit_code == 0, result.output
    assert "Why the last configuration: Pellucid did not propose" in result.stdout


def test_the_reason_is_given_for_every_answer_that_is_not_known_yet() -> None:
    result = explain("empty")
    assert result.exit_code == 0, result.output
    assert "Study `empty` in sqlite:///studies.db (minimize): no trials." in result.stdout
    assert "Not known yet:" in result.stdout
    assert "  Best configuration: A recommendation needs at least one finished trial" in result.stdout
    data = json.loads(explain("empty", "--json").stdout)
    assert {"recommendation", "importance", "ranges", "calibration", "proposal"} <= set(data["unknown"])
    assert data["verdict"]["stop"] is False
    study = optuna.load_study(study_name="empty", storage=URL)
    asked = [question for answer in CATALOGUE for question in Overview(beliefs_of(study)).listed(answer)]
    assert {question.key for question in asked} == set(data["unknown"]) | (set(data) & KEYS)
    lines = result.stdout.splitlines()
    for question in asked:
        reason = data["unknown"].get(question.key)
        assert (reason is None) == (question.key in data)
        assert reason is None or f"  {question.title}: {reason}" in lines


def test_trials_that_look_dead_are_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/killed.db"
    study = optuna.create_study(storage=url, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(conditional, n_trials=3)
    study.add_trial(began(timedelta(days=3)))
    said = "Trial 3 has run for 3 days, and no other took longer than 0 s: if its process died, "
    assert call("explain", "--storage", url).output.splitlines()[1].startswith(said)
    assert json.loads(call("explain", "--storage", url, "--json").output)["dead"]["notice"].startswith(said)
    study.tell(3, state=optuna.trial.TrialState.FAIL)
    assert json.loads(call("explain", "--storage", url, "--json").output)["dead"] == {"trials": [], "notice": ""}


def test_a_trial_is_explained_with_a_table_of_contributions() -> None:
    result = explain("ours", "--trial", "30")
    assert result.exit_code == 0, result.output
    study = optuna.load_study(study_name="ours", storage=URL)
    explanation = pellucid.explain_proposal(study, 30)
    assert str(explanation) in result.stdout
    for contribution in explanation.contributions:
        (line,) = [line for line in result.stdout.splitlines() if line.startswith(f"  {contribution.name} ")]
        assert f"{contribution.total:+.3g}" in line


def test_parameters_alone_together_and_towards_a_goal() -> None:
    alone = explain("ours", "--param", "lr")
    assert alone.exit_code == 0, alone.output
    profile, average = alone.stdout.index("What lr can reach: "), alone.stdout.index("What lr does on average: ")
    assert profile < average
    both = json.loads(explain("ours", "--param", "lr", "--json").stdout)
    assert both["profile"]["param"] == "lr"
    assert both["dependence"]["params"] == ["lr"]
    joint = json.loads(explain("ours", "--param", "lr", "--param", "depth", "--json").stdout)["dependence"]
    assert joint["params"] == ["lr", "depth"]
    assert len(joint["mean"]) == len(joint["values"][0])
    failed = explain("ours", "--goal", "failed")
    assert failed.exit_code == 0, failed.output
    assert "What matters: For failing" in failed.stdout
    assert "HSIC" in failed.stdout


def test_json_holds_the_fields_of_the_records() -> None:
    result = explain("ours", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout, parse_constant=pytest.fail)
    study = optuna.load_study(study_name="ours", storage=URL)
    assert data["recommendation"] == json.loads(json.dumps(pellucid.recommend(study).to_dict()))
    assert data["ranges"] == json.loads(json.dumps(pellucid.parameter_ranges(study).to_dict()))
    assert data["counts"]["complete"] + data["counts"]["fail"] == 40
    assert data["unknown"] == {}


def test_the_overview_fits_each_distinct_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recommendation, the verdict and the importance ask the same model, or one without an output warp."""
    templates: list[tuple[str | None, int]] = []
    learn = GaussianProcess.learn

    def counted(gp: GaussianProcess, X: np.ndarray, *arguments: Any, **options: Any) -> GaussianProcess:
        templates.append((gp.warp, len(X)))
        return learn(gp, X, *arguments, **options)

    monkeypatch.setattr(GaussianProcess, "learn", counted)
    assert explain("ours").exit_code == 0
    assert templates
    assert len(templates) == len(set(templates)) <= 2


def test_numbers_that_json_lacks_are_null() -> None:
    odd = {"a": np.float64("nan"), 2: (np.int64(3), np.array([1.0, np.inf])), "c": {np.True_}, "d": object}
    assert json.loads(json_text(odd)) == {"a": None, "2": [3, [1.0, None]], "c": [True], "d": str(object)}
    data = json.loads(call("explain", "--storage", "alone.db", "--json").stdout, parse_constant=pytest.fail)
    assert data["study"] == "only"
    assert data["recommendation"]["high"] is None


def test_names_of_studies_are_completed() -> None:
    assert completed(URL) == ["tpe", "two"]
    assert completed("sqlite:///nothing.db") == []
    assert completed("notes.txt") == []
    assert not Path("nothing.db").exists()


def completed(storage: str) -> list[str]:
    words = f"pellucid explain --storage {storage} t"
    environment = {**os.environ, "_PELLUCID_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"}
    run = [sys.executable, "-m", "pellucid.cli"]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_a_report_is_written(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    result = call("report", "ours", "--storage", URL, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "The report is in" in result.stdout
    assert "Use this" in out.read_text(encoding="utf-8")


def test_a_report_on_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    result = call("report", "only", "--storage", "sqlite:///alone.db", "--out", str(out), "--quiet")
    assert result.exit_code == 2, result.output
    assert result.stderr == f"Error: {out} cannot be used (No space left on device); choose another path.\n"
    assert out.read_text() == "old"


@pytest.mark.parametrize(
    ("command", "missing", "sentence"),
    [
        ("report", "plotly", "pip install 'pellucid[plots]'"),
        ("publish", "optuna_dashboard", "pip install 'pellucid[dashboard]'"),
    ],
)
def test_a_missing_extra_is_named(command: str, missing: str, sentence: str) -> None:
    """In a process in which the package cannot be found."""
    code = (
        "import importlib.util as util, sys\n"
        "real = util.find_spec\n"
        f"util.find_spec = lambda name, *rest: None if name == {missing!r} else real(name, *rest)\n"
        "from pellucid.surfaces.cli.app import app\n"
        f"sys.argv = ['pellucid', {command!r}, 'ours', '--storage', {URL!r}]\napp()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_figures_are_published_for_the_dashboard() -> None:
    """The dashboard's own server returns them."""
    pytest.importorskip("optuna_dashboard")
    from optuna_dashboard import wsgi

    for _ in range(2):  # Publishing again replaces.
        result = call("publish", "ours", "--storage", URL)
        assert result.exit_code == 0, result.output
    assert "The best value is" in result.stdout
    storage = optuna.storages.get_storage(URL)
    number = storage.get_study_id_from_name("ours")
    statuses: list[str] = []
    body = b"".join(
        wsgi(storage)(
            {"REQUEST_METHOD": "GET", "PATH_INFO": f"/api/studies/{number}", "wsgi.input": io.BytesIO(),
             "wsgi.errors": sys.stderr, "SERVER_NAME": "here", "SERVER_PORT": "80", "wsgi.url_scheme": "http"},
            lambda status, _headers, _error=None: statuses.append(status),
        )
    )  # fmt: skip
    assert statuses == ["200 OK"]
    objects = json.loads(body)["plotly_graph_objects"]
    figures = {graph["id"]: json.loads(graph["graph_object"]) for graph in objects}
    assert {"pellucid-history", "pellucid-importance", "pellucid-ranges", "pellucid-why"} <= set(figures)
    assert all(figure["data"] and figure["layout"]["title"]["text"] for figure in figures.values())


MISTAKES = [
    ([], 2, "has 14 studies, so name one: `empty`, `more 0`"),
    (["our"], 2, "has no study `our`; it has `empty`, `more 0`"),
    (["our"], 2, "and 4 more. Did you mean `ours`?"),
    (["ours", "--storage", "sqlite:///typo.db"], 2, "There is no file `typo.db`"),
    (["ours", "--storage", "typo.log"], 2, "There is no file `typo.log`"),
    (["ours", "--storage", "sqlite:///no/folder/x.db"], 2, "there is no `no/folder`"),
    (["ours", "--storage", "notes.txt"], 2, "neither an SQLite file nor an Optuna journal"),
    (["ours", "--storage", "sqlite:///notes.txt"], 2, "is not an SQLite database"),
    (["ours", "--storage", "broken.log"], 2, "is damaged or not an Optuna journal"),
    (["ours", "--storage", "begun.journal"], 2, "has no study yet; `pellucid tune` creates one"),
    (["ours", "--storage", "none.db"], 2, "has no study yet"),
    (["ours", "--storage", "other.db"], 2, "has no Optuna study"),
    (["ours", "--storage", "damaged.db"], 2, "cannot be"),
    (["ours", "--storage", "nonsense"], 2, "write sqlite:///nonsense"),
    (["ours", "--storage", "nonsense://u:secret@h/d"], 2, "no dialect for: `nonsense://***@h/d`"),
    (["ours", "--storage", "mysql+cymysql://u:secret@h/d"], 3, "run `pip install 'pellucid[mysql]'`, and begin"),
    (["ours", "--storage", "postgresql://u:secret@127.0.0.1:1/d?password=secret"], 2, "Connection refused"),
    (["ours", "--storage", "postgresql://u:se%20cret@127.0.0.1:1/d"], 2, "check that the server is running"),
]
OF_EXPLAIN = [
    (["ours", "--trial", "99"], 2, "has no trial 99; its trials are 0 to 39"),
    (["ours", "--trial", "0"], 2, "sampled to cover the space"),
    (["ours", "--trial", "x"], 2, "--trial"),
    (["ours", "--param", "lrr"], 2, "Did you mean `lr`?"),
    (["ours", "--param", "lr", "--param", "lr"], 2, "twice with two different parameters; got `lr`, `lr`"),
    (
        ["ours", "--param", "a", "--param", "b", "--param", "c"],
        2,
        "twice with two different parameters; got `a`, `b`, `c`",
    ),
    (["empty", "--param", "lr"], 2, "needs at least 3 finished trials"),
    (["empty", "--trial", "0"], 2, "has no trials yet"),
    (["ours", "--goal", "good"], 2, "best"),
    (["ours", "--objective", "speed"], 2, "must be the objective or a constraint of this study ('objective')"),
    (
        ["two", "--objective", "2"],
        2,
        "one of the objectives or a constraint of this study ('objective 0', 'objective 1",
    ),
    (["two", "--trial", "0"], 2, "has no trials yet"),
    (["tpe", "--goal", "failed"], 2, "fail"),
]


@pytest.mark.parametrize(
    ("command", "arguments", "code", "sentence"),
    [
        *(("explain", *mistake) for mistake in [*MISTAKES, *OF_EXPLAIN]),
        *(("publish", *mistake) for mistake in MISTAKES[:4]),
        ("report", ["ours", "--out", "."], 2, "is a folder"),
        ("report", ["ours", "--out", "nowhere/r.html"], 2, "there is no `nowhere`"),
    ],
)
def test_mistakes_are_sentences_and_create_nothing(
    storages: Path, command: str, arguments: list[str], code: int, sentence: str
) -> None:
    before = sorted(storages.iterdir())
    default = [] if "--storage" in arguments else ["--storage", URL]
    result = call(command, *arguments, *default)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.output
    assert sentence in result.stderr
    assert "secret" not in result.output
    assert "se%20cret" not in result.output
    assert "se cret" not in result.output
    assert sorted(storages.iterdir()) == before
