"""Shared by several test files: objectives, worker processes, and the check that a study is rebuilt exactly."""

from __future__ import annotations

import fcntl
import gzip
import json
import logging
import multiprocessing
import os
import sqlite3
import tempfile
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

import pellucid
from pellucid.provenance import ModelReceipt, RankingReceipt

ROOT = Path(__file__).resolve().parent.parent
STUDY = "study"
RECEIPT_KEY = "pellucid:receipt"  # As stored in the system attributes of a trial; part of the storage format.
COMPLETE, FAIL, PRUNED, RUNNING = TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED, TrialState.RUNNING


# ------------------------------------------------------------------------------------------- objectives


def bowl(trial: Trial) -> float:
    """Two floats, a smooth minimum inside."""
    x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
    return (x - 0.3) ** 2 + (y + 0.2) ** 2


def conditional(trial: Trial) -> float:
    """Log float, integer, category, and children that exist for one category only."""
    lr = trial.suggest_float("lr", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 9)
    loss = abs(np.log10(lr) + 2) + 0.1 * (depth - 4) ** 2
    if trial.suggest_categorical("booster", ["tree", "dart", "linear"]) == "dart":
        loss += 2 * (trial.suggest_float("drop", 0, 1) - 0.6) ** 2 - 0.5
        loss += 0.05 * trial.suggest_int("skip", 0, 5)
    return float(loss)


def replacing(bad: dict[int, Any]) -> Callable[[Trial], Any]:
    """The bowl, with these values instead of its own at these trials."""

    def objective(trial: Trial) -> Any:
        value = bowl(trial)
        return bad.get(trial.number, value)

    return objective


def wide(trial: Trial) -> float:
    """Fourteen floats with long names: a receipt of such a trial needs more than one attribute."""
    return sum((trial.suggest_float(f"learning_rate_of_layer_{i}", 0, 1) - 0.07 * i) ** 2 for i in range(14))


def task(shift: float, sign: float = 1.0) -> Callable[[Trial], float]:
    """One of a family of tasks that resemble each other: lr, opt, depth, and a momentum that only sgd has.

    The best loss is about 0, the median of random configurations about 3; `sign` -1 reverses the
    order of all configurations.
    """

    def objective(trial: Trial) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
        opt = trial.suggest_categorical("opt", ["adam", "sgd", "rms"])
        depth = trial.suggest_int("depth", 1, 9)
        momentum = trial.suggest_float("momentum", 0.0, 1.0) if opt == "sgd" else None
        return sign * task_loss(shift, lr, opt, depth, momentum)

    return objective


def task_loss(shift: float, lr: float, opt: str, depth: float, momentum: float | None) -> float:
    loss = (np.log10(lr) + 1.5 + 0.3 * shift) ** 2 + {"adam": 0.6, "sgd": 0.0, "rms": 2.0}[opt]
    return float(loss + 0.05 * (depth - 6 - shift) ** 2 + (0.0 if momentum is None else 2.0 * (momentum - 0.8) ** 2))


TASK = task(0.3)
# The space of the parameters that every trial of the task has.
TASK_SPACE: dict[str, BaseDistribution] = {
    "lr": FloatDistribution(1e-5, 1.0, log=True),
    "opt": CategoricalDistribution(["adam", "sgd", "rms"]),
    "depth": IntDistribution(1, 9),
}
OBJECTIVES: dict[str, Callable[[Trial], float]] = {
    "bowl": bowl,
    "conditional": conditional,
    "wide": wide,
    "task": TASK,
}


# ---------------------------------------------------------------------------------------------- studies


def new_study(*, direction: str = "minimize", storage: Any = None, **options: Any) -> Study:
    """A study whose model takes over after three trials; `options` are the sampler's."""
    sampler = pellucid.BayesianSampler(**{"seed": 0, "n_startup_trials": 3, **options})
    return optuna.create_study(study_name=STUDY, direction=direction, storage=storage, sampler=sampler)


def file_storage(path: Path) -> JournalStorage:
    """A storage in a file, read anew: for studies that are resumed. A trial takes a tenth of the time that it takes in
    SQLite; `test_stateless.py` shows that proposals are the same in both."""
    return JournalStorage(JournalFileBackend(str(path)))


def two_objectives() -> Study:
    sampler = pellucid.BayesianSampler(seed=0)
    return optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)


def began(ago: timedelta, took: timedelta | None = None, number: int = -1) -> FrozenTrial:
    """A trial that began this long ago, and still runs unless it took a known time. `add_trial` numbers it."""
    start = datetime.now() - ago
    return FrozenTrial(
        number=number,
        trial_id=-1,
        state=TrialState.RUNNING if took is None else TrialState.COMPLETE,
        value=None if took is None else 1.0,
        datetime_start=start,
        datetime_complete=None if took is None else start + took,
        params={"x": 0.5},
        distributions={"x": FloatDistribution(-1.0, 1.0)},
        user_attrs={},
        system_attrs={},
        intermediate_values={},
    )


def last_receipt(study: Study) -> pellucid.Receipt:
    return pellucid.receipts(study)[-1]


def model_receipts(study: Study) -> list[ModelReceipt]:
    """The receipts of proposals that maximised an acquisition, by trial number."""
    return [receipt for receipt in pellucid.receipts(study) if isinstance(receipt, ModelReceipt)]


def ranking_receipts(study: Study) -> list[RankingReceipt]:
    return [receipt for receipt in pellucid.receipts(study) if isinstance(receipt, RankingReceipt)]


def kinds(study: Study) -> dict[int, str]:
    """Kind of receipt by trial number."""
    return {receipt.trial: receipt.kind for receipt in pellucid.receipts(study)}


def states(study: Study) -> list[TrialState]:
    return [trial.state for trial in study.trials]


def assert_went_on(study: Study, expected: Sequence[TrialState], n_model: int) -> None:
    """The study has exactly these trials; the model proposed the last `n_model`; no proposal fell back."""
    assert states(study) == list(expected)
    kind_by_trial = kinds(study)
    assert "fallback" not in kind_by_trial.values()
    n = len(expected)
    assert {i: kind_by_trial.get(i) for i in range(n - n_model, n)} == dict.fromkeys(range(n - n_model, n), "model")


def messages(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    """The messages that pellucid itself logged."""
    return [r.getMessage() for r in caplog.records if r.name.startswith("pellucid") and r.levelno >= level]


def assert_rebuilt_exactly(study: Study, n_model: int) -> None:
    """There are at least `n_model` model receipts, and each agrees with its rebuilt model at the proposal.

    1e-9 for the latent mean and sd. The score may be the logarithm of something tiny, where the rounding of
    an sd of 1e-5 shows: 1e-6, relative.
    """
    receipts = model_receipts(study)
    assert len(receipts) >= n_model
    differences = {}
    for receipt in receipts:
        rebuilt = pellucid.rebuild(study, receipt.trial)
        X = rebuilt.encode([receipt.params])
        latent = [model.latent(X) for model in rebuilt.surrogates]
        differences[receipt.trial] = {
            "mean": max(abs(mean[0] - own.latent_mean) for (mean, _), own in zip(latent, receipt.models, strict=True)),
            "sd": max(abs(sd[0] - own.latent_sd) for (_, sd), own in zip(latent, receipt.models, strict=True)),
            "score": 1e-3 * abs(rebuilt.acquisition.score(X)[0] - receipt.acquisition.score)
            / max(1.0, abs(receipt.acquisition.score)),
        }  # fmt: skip
    assert {trial: d for trial, d in differences.items() if not max(d.values()) <= 1e-9} == {}


# --------------------------------------------------------------------------------------- ranked studies

MakeRankingSampler = Callable[..., pellucid.RankingSampler]


def run(
    sampler: Any, n: int, objective: Callable[[Trial], float] = TASK, direction: str = "minimize", **options: Any
) -> Study:
    """A study of n trials of a sampler; `options` are those of `Study.optimize`."""
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=n, **options)
    return study


def params(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def distinct(trials: Sequence[FrozenTrial]) -> int:
    return len({tuple(sorted(trial.params.items())) for trial in trials})


def phases(study: Study) -> list[str]:
    return [receipt.phase for receipt in pellucid.receipts(study)]


def only_rankings(study: Study) -> bool:
    return set(kinds(study).values()) == {"ranking"} and len(kinds(study)) == len(study.trials)


def random_model(objective: Callable[[Trial], float]) -> Any:
    """A model of this objective's parameters that has hardly been trained."""
    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.ranker import Ranker
    from pellucid.models.ranking.training import Recipe
    from pellucid.study.earlier_studies import EarlierStudies

    past = EarlierStudies.of([run(optuna.samplers.RandomSampler(seed=i), 20, objective) for i in range(3)])
    ensemble = RankingEnsemble(past.space, members=2, width=8, recipe=Recipe(steps=5, lists=2))
    return Ranker.of(ensemble.meta_trained(past.tasks))


# --------------------------------------------------------------------------------------------- processes


def without_waiting_for_the_disk(connection: Any, _: object) -> None:
    """The system decides when SQLite's data reach the disk: only a power cut could lose them, not a killed process."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


class Worker:
    """A process of its own that optimises a stored study. It is copied from a server process that has imported packages
    and done nothing else, with another hash seed than this process: imports take longer than most studies here."""

    def __init__(self, arguments: Sequence[str]) -> None:
        from tests.end_to_end import worker

        descriptor, log = tempfile.mkstemp(suffix=".log")
        os.close(descriptor)
        self._log = Path(log)
        self._process = FORKS.Process(target=worker.logged, args=(tuple(arguments), log))
        self._process.start()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def ended(self, timeout: float = 300) -> str:
        """Wait for the end of the process, and return what it printed."""
        self._process.join(timeout)
        assert self.returncode is not None, f"The worker has not ended in {timeout} seconds."
        try:
            return self._log.read_text()
        finally:
            self._log.unlink()


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["pytest", "optuna.storages._rdb.storage", "alembic.command", "pellucid.samplers.bayesian"]
)


def start_worker(storage: str, objective: str, n_trials: int, *options: str) -> Worker:
    """A process that optimises a stored study; options as in `tests/end_to_end/worker.py`."""
    return Worker((storage, objective, str(n_trials), *options))


def finish(*workers: Worker) -> list[str]:
    """Wait for workers, which must all succeed, and return the log of each."""
    logs = []
    try:
        for worker in workers:
            logs.append(worker.ended())
            assert worker.returncode == 0, logs[-1]
    finally:
        for worker in workers:
            if worker.returncode is None:
                worker.kill()
                worker.ended()
    return logs


def kill_in_its_trial(worker: Worker, marker: Path) -> None:
    """Wait until a trial of the worker hangs (`--hang-at`), and send it SIGKILL there."""
    try:
        for _ in range(6000):
            if marker.exists() or worker.returncode is not None:
                break
            time.sleep(0.02)
        assert marker.exists(), "the worker did not reach the trial in which it is to be killed"
        assert worker.returncode is None
    finally:
        worker.kill()
        worker.ended()


@contextmanager
def shared_folder(factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """A folder that all xdist workers share, and whether this one is the first in it; others wait."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    done = folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not done.exists()
        for leftover in folder.iterdir() if is_new else ():  # Left by an earlier worker that failed.
            if leftover.name != "lock":
                leftover.unlink()
        yield folder, is_new
        done.touch()


TORCH_MODES = ("no_grad", "inference_mode", "default dtype", "default device", "autocast")


@contextmanager
def torch_mode(name: str) -> Iterator[None]:
    """Settings of torch that a user's process may have changed before."""
    import torch

    contexts: dict[str, Any] = {
        "no_grad": torch.no_grad,
        "inference_mode": torch.inference_mode,
        "default dtype": nullcontext,
        # A device that nothing can be read from: anything created there by accident fails.
        "default device": lambda: torch.device("meta"),
        "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    }
    before = torch.get_default_dtype()
    try:
        if name == "default dtype":
            torch.set_default_dtype(torch.float64)
        with contexts[name]():
            yield
    finally:
        torch.set_default_dtype(before)


def page_data(page: str) -> dict[str, Any]:
    """What the scripts of a report's page read."""
    content = page.split('id="data">')[1].split("</script>", maxsplit=1)[0]
    return dict(json.loads(gzip.decompress(b64decode(content))))
