"""Workers share a study through Optuna's gRPC proxy, which stands in front of PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.study import Study
from tests.end_to_end.examples import finished, run_with_workers
from tests.engines.checks import assert_nothing_is_lost
from tests.engines.processes import (
    assert_explained_on_the_command_line,
    assert_four_processes_worked_as_one,
    assert_the_study_went_on,
    load,
    study_of_a_killed_worker,
    study_of_four_processes,
)
from tests.helpers import ROOT, bowl, new_study, params
from typer.testing import CliRunner

import pellucid
from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.storage import studies
from pellucid.surfaces.cli.storage.places import place_of
from pellucid_lab.servers.processes import free_port
from pellucid_lab.servers.proxy import proxy as started


@pytest.fixture(autouse=True)
def installed() -> None:
    pytest.importorskip("grpc")


@pytest.fixture(scope="module")
def shared(proxy: str) -> Study:
    return study_of_four_processes(proxy, "four through a proxy")


def test_four_processes_share_a_study(shared: Study) -> None:
    assert_four_processes_worked_as_one(shared)


def test_the_study_is_explained_on_the_command_line(proxy: str, shared: Study) -> None:
    assert_explained_on_the_command_line(proxy, shared)


def test_the_study_is_the_same_in_the_database(postgres: str, shared: Study) -> None:
    direct = load(postgres, shared.study_name)
    assert params(direct) == params(shared)
    assert [str(receipt) for receipt in pellucid.receipts(direct)] == [str(r) for r in pellucid.receipts(shared)]


def test_a_study_goes_on_after_a_worker_was_killed_in_a_trial(proxy: str, tmp_path: Path) -> None:
    study = study_of_a_killed_worker(proxy, "killed behind a proxy", tmp_path / "hangs")
    assert_the_study_went_on(study)


def test_proposals_are_those_of_a_study_in_memory(proxy: str) -> None:
    in_memory = new_study()
    in_memory.optimize(bowl, n_trials=10)
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3)
    storage = studies.open_storage(place_of(proxy))
    study = optuna.create_study(study_name="bowl through a proxy", storage=storage, sampler=sampler)
    study.optimize(bowl, n_trials=10)
    assert params(study) == params(in_memory)


SCRIPT = """
def objective(trial):
    return trial.suggest_float("x", 0, 1) ** 2
"""


def test_the_command_line_tunes_and_reads_through_a_proxy(
    proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(SCRIPT)
    options = ["--trials", "4", "--jobs", "2", "--study", "tuned through a proxy", "--storage", proxy]
    result = CliRunner().invoke(app, ["tune", "script.py:objective", *options])
    assert result.exit_code == 0, result.output
    with studies.reading(place_of(proxy)) as storage:
        study = optuna.load_study(study_name="tuned through a proxy", storage=storage)
        assert len(study.trials) == 4


def test_a_proxy_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "_CONNECT_S", 1)
    result = CliRunner().invoke(app, ["explain", "study", "--storage", "grpc://127.0.0.1:1"])
    assert result.exit_code == 2
    assert "The gRPC proxy `grpc://127.0.0.1:1` cannot be used (it has not answered for 1 seconds)" in result.stderr


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    result = CliRunner().invoke(app, ["explain", "study", "--storage", "grpc://127.0.0.1:1"])
    assert result.exit_code == 3
    assert "needs grpc, which is not installed: run `pip install 'pellucid[grpc]'`" in result.stderr


def test_a_proxy_that_ends_meanwhile_is_one_sentence(postgres: str) -> None:
    with started(postgres) as server:
        place = place_of(server.url)
        storage = studies.open_storage(place)
        server.stop()
    refused = r"cannot be used \(.*refused.*\); check that it is running"
    with pytest.raises(Mistake, match=refused), studies.storage_sentences(place):
        storage.get_all_studies()


@pytest.mark.parametrize("address", ["grpc://", "grpc://host:13000/studies", "grpc://user@host", "grpc://host?x=1"])
def test_a_proxy_is_named_by_its_host_and_port(address: str) -> None:
    with pytest.raises(Mistake, match="named like grpc://localhost:13000"):
        place_of(address)
    assert place_of("grpc://host").address == "grpc://host:13000"


def test_the_example_serves_and_connects_workers(postgres: str) -> None:
    """Two commands, as on two machines."""
    script, address = str(ROOT / "examples" / "cluster_grpc.py"), f"localhost:{free_port()}"
    proxy = subprocess.Popen([sys.executable, script, "--serve", "--address", address, "--storage", postgres])
    try:
        printed = run_with_workers("cluster_grpc.py", "--address", address, "--trials", "8")
    finally:
        proxy.kill()
        proxy.wait(60)
    assert_nothing_is_lost(load(postgres, "workers"), finished(printed, 8))
    optuna.delete_study(study_name="workers", storage=postgres)  # Another example may share the database.


@pytest.mark.slow  # The same in one command; SQLite takes seconds for a few trials.
def test_the_example_brings_its_own_proxy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'workers.db'}?timeout=60"
    printed = run_with_workers("cluster_grpc.py", "--storage", url, "--trials", "6")
    assert_nothing_is_lost(load(url, "workers"), finished(printed, 6))
