"""Forked processes that have to end, and threads that ask beside them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import optuna
from tests.helpers import bowl, run

import pellucid
from pellucid_lab.faults.children import Child

# What takes longer has hung.
PATIENCE_S = 20.0


@contextmanager
def in_a_thread(function: Callable[[], Any]) -> Iterator[None]:
    """The function runs beside the block, and has ended afterwards."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def child(function: Callable[[], Any]) -> Any:
    """What a forked process returns."""
    ended = Child(lambda _: function()).ended(PATIENCE_S)
    assert ended.fine, ended
    return ended.value


def ask(sampler: Callable[[int], optuna.samplers.BaseSampler], seed: int = 0) -> int:
    """A short study; returns how many of its trials have a receipt."""
    return len(pellucid.receipts(run(sampler(seed), 6, bowl)))


def ask_once_begun(begun: Any, sampler: Callable[[int], optuna.samplers.BaseSampler]) -> None:
    """What a new process does after its imports."""
    begun.set()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ask(sampler)


@contextmanager
def asking(sampler: Callable[[int], optuna.samplers.BaseSampler], n_threads: int = 2) -> Iterator[list[int]]:
    """Threads that ask all the time; yields how many studies each has finished so far."""
    finished, end = [0] * n_threads, threading.Event()

    def repeat(number: int) -> None:
        while not end.is_set():
            ask(sampler, number)
            finished[number] += 1

    threads = [threading.Thread(target=repeat, args=(number,), daemon=True) for number in range(n_threads)]
    for thread in threads:
        thread.start()
    try:
        yield finished
    finally:
        end.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in threads)
