"""What docs/machines says runs as it is written, on each page but those of Ray and Dask, which their own tests run."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import TrialState
from sqlalchemy import create_engine, text
from tests.engines.checks import assert_nothing_is_lost
from tests.engines.processes import load
from tests.helpers import ROOT, kinds, states
from tests.pages import PAGES, blocks, extras, python_blocks, run_command, run_page

from pellucid_lab.servers.processes import free_port

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPLAINED = "Best configuration: Use "


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def assert_searched(study: Study, n: int) -> None:
    assert_nothing_is_lost(study, n)
    assert list(kinds(study).values()).count("model") >= n - 14


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_what_a_page_installs_exists(page: Path) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras(page) <= set(declared)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_examples_that_a_page_names_exist(page: Path) -> None:
    named = [word for word in page.read_text().replace("`", " ").split() if word.startswith("examples/cluster_")]
    assert [name for name in named if not (ROOT / name).exists() and "*" not in name] == []


def test_the_page_of_postgresql(postgres: str) -> None:
    created, worked, explained, reported = run_page(
        PAGES / "postgresql.md",
        {
            "postgresql+psycopg2://tuner@db.example/studies": postgres,
            "postgresql://tuner@db.example/studies": postgres.replace("+psycopg2", ""),
        },
    )
    assert (created.strip(), worked) == ("tuning", "")
    assert_searched(load(postgres, "tuning"), 20)
    assert EXPLAINED in explained
    assert "report.html" in reported
    assert Path("report.html").stat().st_size > 100_000
    optuna.delete_study(study_name="tuning", storage=postgres)  # Another page may share the database.


def test_the_page_of_mysql(mariadb: str) -> None:
    """The study is in the database that the page creates."""
    page, database = PAGES / "mysql.md", mariadb.replace("/studies", "/from_the_page")
    placeholders = {
        "mysql+pymysql://tuner@db.example/studies": database,
        "mysql://tuner@db.example/studies": database.replace("+pymysql", ""),
        "DATABASE studies": "DATABASE from_the_page",
    }
    [statement] = [block.text for block in blocks(page, placeholders) if block.language == "sql"]
    engine = create_engine(mariadb)
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()
    created, worked, explained = run_page(page, placeholders)
    assert (created.strip(), worked) == ("tuning", "")
    assert_searched(load(database, "tuning"), 20)
    assert EXPLAINED in explained


def test_the_page_of_the_proxy(postgres: str) -> None:
    pytest.importorskip("grpc")
    page, port = PAGES / "grpc.md", str(free_port())
    placeholders = {
        "postgresql+psycopg2://tuner@db.example/studies": postgres,
        "proxy.example": "127.0.0.1",
        "0.0.0.0": "127.0.0.1",
        "13000": port,
    }
    [proxy] = [text for text in python_blocks(page, placeholders) if text.startswith("# proxy.py\n")]
    Path("proxy.py").write_text(proxy)
    server = subprocess.Popen([sys.executable, "proxy.py"], stderr=subprocess.DEVNULL)
    try:
        worked, explained = run_page(page, placeholders)  # The worker waits for the proxy.
        assert worked == ""
        assert_searched(load(f"grpc://127.0.0.1:{port}", "tuning"), 20)
        assert EXPLAINED in explained
    finally:
        server.kill()
        server.wait(60)
    optuna.delete_study(study_name="tuning", storage=postgres)  # Another page may share the database.


def test_the_page_of_the_journal(tmp_path: Path) -> None:
    [worked, explained] = run_page(PAGES / "journal.md", {"/path/to/shared": str(tmp_path)})
    assert worked == ""
    assert_searched(load("tuning.log", "tuning"), 20)
    assert EXPLAINED in explained


def test_the_page_of_threads() -> None:
    [printed, explained] = run_page(PAGES / "threads.md")
    assert printed.startswith("Use lr=")
    assert_searched(load("sqlite:///tuning.db", "tuning"), 40)
    assert EXPLAINED in explained


def test_the_first_page() -> None:
    """Its command tunes in four processes; its script ends a trial that has run for too long."""
    tuned, explained = run_page(PAGES / "README.md")
    assert "30 of 30" in tuned
    assert_searched(load("tuning.log", "script"), 30)
    assert EXPLAINED in explained

    study = load("tuning.log", "script")
    for age in (timedelta(hours=3), timedelta(hours=1)):
        trial = optuna.create_trial(
            state=TrialState.RUNNING,
            params={"lr": 0.5, "depth": 1},
            distributions={"lr": FloatDistribution(1e-5, 1.0, log=True), "depth": IntDistribution(1, 9)},
        )
        trial.datetime_start = datetime.now() - age
        study.add_trial(trial)
    run_command("python lost.py")
    study = load("tuning.log", "script")
    assert states(study)[30:] == [TrialState.FAIL, TrialState.RUNNING, TrialState.WAITING]
