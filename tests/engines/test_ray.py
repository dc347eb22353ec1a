"""Ray Tune runs the trials and `OptunaSearch` asks `BayesianSampler`: on two nodes, of which one dies, with trials that
raise or are stopped early, and with runs that are interrupted and go on."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState
from tests.engines.checks import assert_no_configuration_is_repeated, assert_nothing_is_lost
from tests.helpers import ROOT, assert_rebuilt_exactly, file_storage, kinds, model_receipts, shared_folder, states
from typer.testing import CliRunner

import pellucid
from pellucid.provenance import ModelReceipt
from pellucid.surfaces.cli.app import app

pytest.importorskip("ray")

import ray
from ray import tune
from ray.cluster_utils import Cluster
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search.optuna import OptunaSearch
from ray.tune.utils.util import flatten_dict

STUDY, STARTUP = "study", 5
PAGE = ROOT / "docs" / "machines" / "ray.md"
SHORTER = {
    "num_samples=40": "num_samples=14",
    "receipt(study, 39)": "receipt(study, 13)",
    "max_concurrent_trials=4": "max_concurrent_trials=2",
}
SPACE = {
    "x": tune.uniform(0, 1),
    "optimiser": {"lr": tune.loguniform(1e-4, 1)},
    "kind": tune.choice(["a", "b"]),
    "depth": tune.randint(1, 5),
    "width": tune.qrandint(0, 32, 8),
}
N_SPREAD, N_BRANCHES, N_STOPPED = 24, 16, 12


def sampler() -> pellucid.BayesianSampler:
    return pellucid.BayesianSampler(seed=0, n_startup_trials=STARTUP)


def load(file: Path) -> Study:
    return optuna.load_study(study_name=STUDY, storage=file_storage(file))


# ------------------------------------------------------------------- the search alone, without a cluster


def loss_of(config: dict[str, Any]) -> float:
    order = abs(math.log10(config["optimiser"]["lr"]) + 2)
    return (config["x"] - 0.3) ** 2 + 0.1 * order + 0.05 * config["depth"] + 0.3 * (config["kind"] == "a")


def new_search(storage: BaseStorage | None = None) -> OptunaSearch:
    search = OptunaSearch(sampler=sampler(), storage=storage, study_name=STUDY)
    assert search.set_search_properties("loss", "min", SPACE)
    return search


def complete(search: OptunaSearch, name: str, config: dict[str, Any], loss: float | None = None) -> None:
    result = {"loss": loss_of(config) if loss is None else loss, "training_iteration": 1}
    search.on_trial_result(name, result)
    search.on_trial_complete(name, result)


def continued(search: OptunaSearch, first: int, end: int) -> list[dict[str, Any]]:
    """The configurations of these trials, one after the other."""
    configs = []
    for number in range(first, end):
        configs.append(search.suggest(f"trial {number}"))
        complete(search, f"trial {number}", configs[-1])
    return configs


@pytest.mark.parametrize(
    "storage",
    [
        lambda folder: None,
        lambda folder: optuna.storages.get_storage(f"sqlite:///{folder / 'study.db'}"),
        lambda folder: file_storage(folder / "study.log"),
    ],
    ids=["memory", "sqlite", "journal"],
)
def test_a_search_that_is_restored_proposes_what_it_would_have_proposed(
    storage: Callable[[Path], BaseStorage | None], tmp_path: Path
) -> None:
    whole = continued(new_search(), 0, 12)

    search = new_search(storage(tmp_path))
    configs = continued(search, 0, 7)
    configs.append(search.suggest("running"))  # It is saved while a trial runs.
    search.save(str(tmp_path / "checkpoint"))
    restored = OptunaSearch()
    restored.restore(str(tmp_path / "checkpoint"))
    complete(restored, "running", configs[-1])
    configs += continued(restored, 8, 12)
    assert configs == whole
    assert_rebuilt_exactly(restored._ot_study, 12 - STARTUP)


def test_two_objectives_have_the_directions_of_their_modes() -> None:
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    search = OptunaSearch(space, metric=["loss", "speed"], mode=["min", "max"], sampler=sampler())
    for number in range(9):
        config = search.suggest(str(number))
        search.on_trial_complete(str(number), {"loss": config["x"] ** 2, "speed": config["x"] + config["y"]})
    study = search._ot_study
    assert study.directions == [StudyDirection.MINIMIZE, StudyDirection.MAXIMIZE]
    assert kinds(study)[8] == "model"
    assert "on the true front" in str(pellucid.recommend(study))


def test_a_trial_that_reports_nan_stays_pending_as_the_page_says() -> None:
    search = new_search()
    continued(search, 0, STARTUP)
    complete(search, "not a number", search.suggest("not a number"), math.nan)
    search.suggest("next")
    assert states(search._ot_study)[STARTUP] == TrialState.RUNNING  # Ray logs Optuna's error and goes on.
    assert list(pellucid.receipts(search._ot_study)[-1].pending) == [str(STARTUP)]


# ---------------------------------------------------------------------------------------- on two nodes


def started(head: dict[str, Any], attempts: int = 3) -> Cluster:
    """A cluster of one node. On a busy machine Ray's server may not be there in the time that Ray waits for it."""
    try:
        return Cluster(initialize_head=True, head_node_args=head)
    except RuntimeError as error:
        if attempts == 1 or "Timed out waiting for file" not in str(error):
            raise
    return started(head, attempts - 1)


@contextlib.contextmanager
def two_nodes() -> Iterator[Cluster]:
    """Two nodes with two slots each, as processes of this machine."""
    memory = {"num_cpus": 2, "object_store_memory": 80 * 2**20}  # Ray asks for at least 75 MiB.
    before = {name: os.environ.get(name) for name in ("RAY_USAGE_STATS_ENABLED", "TUNE_PRINT_ALL_TRIAL_ERRORS")}
    os.environ.update(dict.fromkeys(before, "0"))
    try:
        cluster = started({**memory, "include_dashboard": False})
        try:
            cluster.add_node(**memory)
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def tuned(
    trainable: Callable[[dict[str, Any]], Any],
    search: OptunaSearch,
    n_trials: int,
    folder: Path,
    *,
    at_once: int = 2,
    param_space: dict[str, Any] | None = None,
    scheduler: Any = None,
    callbacks: Any = (),
) -> Any:
    """The results of a run, which ends after two minutes in any case."""
    tuner = tune.Tuner(
        trainable,
        param_space=param_space,
        tune_config=tune.TuneConfig(
            search_alg=search,
            scheduler=scheduler,
            num_samples=n_trials,
            max_concurrent_trials=at_once,
            reuse_actors=True,
            time_budget_s=120,
        ),
        run_config=tune.RunConfig(
            name="run",
            storage_path=str(folder),
            verbose=0,
            callbacks=list(callbacks),
            failure_config=tune.FailureConfig(max_failures=2 if param_space else 0),
        ),
    )
    return tuner.fit()


class Once(tune.Callback):
    """Does something in the driver when so many trials have ended; a file says that it has been done."""

    def __init__(self, n_trials: int, done: Path, action: Callable[[], None] = lambda: None) -> None:
        self._left, self._done, self._action = n_trials, done, action

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        self._left -= 1
        if self._left <= 0 and not self._done.exists():  # Ray restores it as it was at the beginning.
            self._done.touch()
            self._action()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def run_spread(cluster: Cluster, folder: Path, results: Path) -> None:
    """Ray's own space on both nodes; after ten trials, a trial on the second node never ends and its node is killed."""
    [second] = cluster.worker_nodes
    node, armed, hangs = second.node_id, folder / "armed", folder / "hangs"
    present = results / "present"
    present.mkdir(parents=True)

    def train(config: dict[str, Any]) -> dict[str, Any]:
        here = ray.get_runtime_context().get_node_id()
        (present / here).touch()
        for _ in range(1200):  # Begin together: one node may take seconds longer to start its processes.
            if len(list(present.iterdir())) == 2:
                break
            time.sleep(0.05)
        if here == node and armed.exists():
            hangs.write_text(json.dumps(config))
            time.sleep(60)
        order = abs(math.log10(config["optimiser"]["lr"]) + 2)
        score = -((config["x"] - 0.3) ** 2) - 0.1 * order - 0.05 * config["depth"] - 0.3 * (config["kind"] == "a")
        return {"score": score, "node": here, "pellucid": "pellucid" in sys.modules}

    def kill() -> None:
        if wait_for(hangs.exists):
            cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    search = OptunaSearch(
        metric="score", mode="max", sampler=sampler(), storage=file_storage(folder / "spread.log"), study_name=STUDY
    )
    killer.start()
    found = tuned(train, search, N_SPREAD, results, at_once=4, param_space=SPACE, callbacks=[Once(10, armed)])
    killer.join()
    for name, metric in (("nodes", "node"), ("modules", "pellucid")):
        (folder / name).write_text("\n".join(str(result.metrics[metric]) for result in found))


def branches(trial: Trial) -> dict[str, Any]:
    """A space that is defined by a function, with a parameter of one branch and a constant."""
    trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("kind", ["a", "b"]) == "b":
        trial.suggest_float("drop", 0, 1)
    return {"constant": 3}


def run_branches(folder: Path, results: Path) -> None:
    """Trials that raise, Ctrl-C after six trials, and `Tuner.restore`."""

    def train(config: dict[str, Any]) -> dict[str, float]:
        time.sleep(0.05)
        if config["x"] > 0.95:
            raise ValueError(f"x is {config['x']}.")
        return {"loss": (config["x"] - 0.3) ** 2 + config.get("drop", 0.1) + 0 * config["constant"]}

    search = OptunaSearch(
        branches,
        metric="loss",
        mode="min",
        sampler=sampler(),
        storage=file_storage(folder / "branches.log"),
        study_name=STUDY,
        points_to_evaluate=[{"x": 0.98, "kind": "a"}],
    )
    ctrl_c = Once(6, folder / "interrupted", lambda: os.kill(os.getpid(), signal.SIGINT))
    tuned(train, search, N_BRANCHES, results, callbacks=[ctrl_c])
    (folder / "before").write_text("\n".join(state.name for state in states(load(folder / "branches.log"))))
    tune.Tuner.restore(str(results / "run"), trainable=train).fit()


def run_stopped(folder: Path, results: Path) -> None:
    """ASHA ends most trials after three of nine steps."""

    def train(config: dict[str, Any]) -> None:
        for step in range(1, 10):
            tune.report({"score": -((config["x"] - 0.3) ** 2) - 1 / step})

    space = {"x": FloatDistribution(0, 1)}
    storage = file_storage(folder / "stopped.log")
    search = OptunaSearch(space, metric="score", mode="max", sampler=sampler(), storage=storage, study_name=STUDY)
    asha = ASHAScheduler(metric="score", mode="max", max_t=9, grace_period=3)
    tuned(train, search, N_STOPPED, results, scheduler=asha)


def run_page(address: str, folder: Path, results: Path) -> None:
    """The Python blocks of the page as one script, in a folder of its own, which is the home folder too."""
    results.mkdir()
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = "\n\n".join(blocks)
    for text, shorter in SHORTER.items():
        assert text in script
        script = script.replace(text, shorter)
    (results / "page.py").write_text(script, encoding="utf-8")
    environment = {**os.environ, "HOME": str(results), "RAY_ADDRESS": address}
    command = [sys.executable, "page.py"]
    done = subprocess.run(
        command, cwd=results, env=environment, text=True, capture_output=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "printed").write_text(done.stdout, encoding="utf-8")
    (results / "tuning.db").rename(folder / "page.db")


def run_example(address: str, folder: Path, results: Path) -> None:
    """The example, killed after four trials, and then once more."""
    url = f"sqlite:///{folder / 'example.db'}"
    study = optuna.create_study(study_name="ray", storage=url, direction="maximize")
    script = str(ROOT / "examples" / "cluster_ray.py")
    options = ["--address", address, "--storage", url, "--trials", "14", "--folder", str(results)]
    log = folder / "first_run"

    def under_way() -> bool:
        return states(study).count(TrialState.COMPLETE) >= 4 and states(study)[-1] == TrialState.RUNNING

    with log.open("w") as output:
        first = subprocess.Popen([sys.executable, script, *options], stdout=output, stderr=output)
        try:
            assert wait_for(lambda: first.poll() is not None or under_way(), 120), log.read_text()
            assert first.poll() is None, log.read_text()
        finally:
            first.kill()
            first.wait()
    again = subprocess.run([sys.executable, script, *options], text=True, capture_output=True, timeout=120, check=False)
    assert again.returncode == 0, again.stdout + again.stderr
    (folder / "second_run").write_text(again.stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all runs. One cluster serves all of them: it takes longer to start than any of them needs."""
    with shared_folder(tmp_path_factory, "ray") as (folder, is_new):
        if is_new:
            results = tmp_path_factory.mktemp("results")
            with two_nodes() as cluster:
                run_page(cluster.address, folder, results / "page")
                run_example(cluster.address, folder, results / "example")
                run_branches(folder, results / "branches")
                run_stopped(folder, results / "stopped")
                run_spread(cluster, folder, results / "spread")
    return folder


def going_on(study: Study, number: int) -> set[str]:
    """The trials that had begun and not ended when this one began."""
    began = study.trials[number].datetime_start
    return {str(trial.number) for trial in study.trials[:number] if trial.datetime_complete > began}


def taken_into_account(receipt: ModelReceipt) -> set[str]:
    """The running trials that a proposal knew. Of one that has reported a value but not ended, it knows more."""
    return {*receipt.pending, *(receipt.curves.running if receipt.curves is not None else ())}


def test_trials_on_two_nodes_are_finished_although_one_node_dies(runs: Path) -> None:
    study = load(runs / "spread.log")
    assert_nothing_is_lost(study, N_SPREAD)
    assert_no_configuration_is_repeated(study)
    assert len(set((runs / "nodes").read_text().split())) == 2
    lost = flatten_dict(json.loads((runs / "hangs").read_text()))
    assert [trial.state for trial in study.trials if trial.params == lost] == [TrialState.COMPLETE]


def test_every_proposal_for_two_nodes_takes_into_account_exactly_the_trials_that_run(runs: Path) -> None:
    study = load(runs / "spread.log")
    receipts = model_receipts(study)
    for receipt in receipts:
        assert taken_into_account(receipt) == going_on(study, receipt.trial), f"trial {receipt.trial}"
    assert sum(bool(receipt.pending) for receipt in receipts) >= 10
    assert 2 <= max(len(receipt.pending) for receipt in receipts) <= 3  # Four slots, and one is for the new trial.


def test_the_space_of_ray_is_that_of_the_study(runs: Path) -> None:
    study = load(runs / "spread.log")
    assert study.direction == StudyDirection.MAXIMIZE
    assert study.trials[-1].distributions == {
        "x": FloatDistribution(0, 1),
        "optimiser/lr": FloatDistribution(1e-4, 1, log=True),
        "kind": CategoricalDistribution(["a", "b"]),
        "depth": IntDistribution(1, 4),
        "width": IntDistribution(0, 32, step=8),
    }


def test_nodes_need_no_pellucid(runs: Path) -> None:
    assert set((runs / "modules").read_text().split()) == {"False"}


@pytest.mark.parametrize(("run", "n_model"), [("spread", 12), ("branches", 6)])
def test_proposals_for_ray_are_rebuilt_exactly(runs: Path, run: str, n_model: int) -> None:
    study = load(runs / f"{run}.log")
    assert "fallback" not in kinds(study).values()
    assert_rebuilt_exactly(study, n_model)


def test_the_command_line_answers_about_a_study_of_ray(runs: Path) -> None:
    study = load(runs / "spread.log")
    assert "kind=b" in str(pellucid.recommend(study))
    result = CliRunner().invoke(app, ["explain", "--storage", str(runs / "spread.log")])
    assert result.exit_code == 0, result.output
    assert "Use x=" in result.output


def test_a_search_that_was_interrupted_and_restored_goes_on(runs: Path) -> None:
    before = (runs / "before").read_text().split()
    assert before.count("COMPLETE") >= 6
    assert "RUNNING" in before
    assert len(before) < N_BRANCHES
    study = load(runs / "branches.log")
    assert [trial.number for trial in study.trials] == list(range(N_BRANCHES))
    assert set(states(study)) == {TrialState.COMPLETE, TrialState.FAIL}
    for receipt in model_receipts(study):
        assert taken_into_account(receipt) == going_on(study, receipt.trial), f"trial {receipt.trial}"


def test_a_trial_that_raises_has_failed_and_the_search_goes_on(runs: Path) -> None:
    study = load(runs / "branches.log")
    for trial in study.trials:
        assert trial.state == (TrialState.FAIL if trial.params["x"] > 0.95 else TrialState.COMPLETE)
        assert ("drop" in trial.params) == (trial.params["kind"] == "b")
    assert study.trials[0].params == {"x": 0.98, "kind": "a"}


def stopped_early(study: Study) -> list[FrozenTrial]:
    return [trial for trial in study.trials if len(trial.intermediate_values) <= 3]


def test_a_trial_that_is_stopped_early_looks_complete_as_the_page_says(runs: Path) -> None:
    stopped = stopped_early(load(runs / "stopped.log"))
    assert stopped
    assert {trial.state for trial in stopped} == {TrialState.COMPLETE}
    for trial in stopped:
        assert list(trial.intermediate_values) == [1, 2]  # The third step is its value.
        assert trial.value == -((trial.params["x"] - 0.3) ** 2) - 1 / 3


def test_the_page_runs_as_it_is_only_shorter(runs: Path) -> None:
    printed = (runs / "printed").read_text(encoding="utf-8")
    assert re.search(r"^Use lr=.*, dropout=.*, layers=\d, optimizer=adam \(trial \d+\)", printed, re.MULTILINE)
    assert re.search(r"^Trial 13 maximised ", printed, re.MULTILINE)


def test_the_search_of_the_page_prunes_trials_that_are_stopped_early(runs: Path) -> None:
    study = optuna.load_study(study_name="curves", storage=f"sqlite:///{runs / 'page.db'}")
    stopped = stopped_early(study)
    assert stopped
    assert {trial.state for trial in stopped} == {TrialState.PRUNED}
    assert {tuple(trial.intermediate_values) for trial in stopped} == {(1, 2, 3)}
    complete = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert {tuple(trial.intermediate_values) for trial in complete} == {tuple(range(1, 10))}
    assert any(receipt.curves is not None and receipt.curves.stopped for receipt in model_receipts(study))
    assert_rebuilt_exactly(study, 5)


def test_the_example_that_is_killed_goes_on_when_it_is_run_again(runs: Path) -> None:
    printed = (runs / "second_run").read_text()
    assert "Ray has 2 nodes and 4 cores." in printed
    study = optuna.load_study(study_name="ray", storage=f"sqlite:///{runs / 'example.db'}")
    assert states(study).count(TrialState.COMPLETE) == 14
    lost = [int(number) for number in re.findall(r"Trial (\d+) was lost with an earlier run", printed)]
    assert [trial.number for trial in study.trials if trial.state == TrialState.FAIL] == lost
    for number in lost:
        params = study.trials[number].params.items()  # Fewer, if it was lost while they were stored.
        again = [trial.state for trial in study.trials[number + 1 :] if params <= trial.params.items()]
        assert TrialState.COMPLETE in again
    aware = re.search(r"(\d+) of (\d+) proposals took into account", printed)
    assert aware is not None, printed
    assert 1 <= int(aware[1]) <= int(aware[2])
    assert re.search(r"Which configuration is best\? Use C=", printed)
    assert "More trials? Continue" in printed
