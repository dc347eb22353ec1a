"""Processes that start while threads ask: none of them hangs, however it is started, and the threads go on."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from optuna.samplers import BaseSampler
from tests.helpers import FORKS, bowl, random_model, run
from tests.threads.forks import PATIENCE_S, ask, ask_once_begun, asking

import pellucid
from pellucid_lab.faults.children import Child

if not hasattr(os, "fork"):
    pytest.skip("Windows cannot fork.", allow_module_level=True)

AT_A_TIME = 4


def bayesian(seed: int) -> BaseSampler:
    return pellucid.BayesianSampler(seed=seed, n_startup_trials=3)


def hung_forks(count: int, work: Callable[[], Any]) -> int:
    """How many of so many forked processes do not end in time; all others have to succeed."""
    hung, pauses = 0, random.Random(0)
    for first in range(0, count, AT_A_TIME):
        children = []
        for _ in range(min(AT_A_TIME, count - first)):
            time.sleep(0.03 * pauses.random())
            children.append(Child(lambda say: work()))
        for started in children:
            ended = started.ended(PATIENCE_S)
            hung += ended.hung
            assert ended.hung or not ended.error, ended.error
    print(f"{hung} of {count} forked processes hung")
    return hung


def test_processes_that_are_forked_while_threads_ask_do_not_hang() -> None:
    with asking(bayesian) as finished:
        assert hung_forks(12, lambda: ask(bayesian)) == 0
        before = list(finished)
        while finished == before:
            time.sleep(0.01)
    assert ask(bayesian) == 6


def test_processes_that_are_forked_while_networks_rank_do_not_hang() -> None:
    pytest.importorskip("torch")
    model = random_model(bowl)

    def ranking(seed: int) -> BaseSampler:
        return pellucid.RankingSampler(model=model, seed=seed)

    with asking(ranking):
        assert hung_forks(8, lambda: ask(ranking)) == 0


def answers() -> None:
    study = run(bayesian(0), 12, bowl)
    pellucid.recommend(study)
    pellucid.importance(study, progress=False)
    pellucid.stopping_verdict(study)


@pytest.mark.slow  # A hundred processes.
def test_none_of_a_hundred_forks_under_load_hangs() -> None:
    with asking(bayesian, 3):
        assert hung_forks(80, lambda: ask(bayesian)) == 0
        assert hung_forks(20, answers) == 0


@pytest.mark.parametrize(
    ("method", "count"),
    [
        ("forkserver", 4),
        ("spawn", 2),
        pytest.param("forkserver", 30, marks=pytest.mark.slow),
        pytest.param("spawn", 20, marks=pytest.mark.slow),
    ],
)
def test_processes_that_start_afresh_while_threads_ask_do_not_hang(method: str, count: int) -> None:
    context: Any = FORKS if method == "forkserver" else multiprocessing.get_context(method)
    hung = 0
    with asking(bayesian):
        for _ in range(count):
            begun = context.Event()
            process = context.Process(target=ask_once_begun, args=(begun, bayesian))
            process.start()
            assert begun.wait(120.0), "the imports of a new process have not ended"
            process.join(PATIENCE_S)
            hung += process.exitcode is None
            process.kill()
            process.join()
            assert process.exitcode in (0, -signal.SIGKILL)
    print(f"{hung} of {count} processes of {method} hung")
    assert hung == 0
