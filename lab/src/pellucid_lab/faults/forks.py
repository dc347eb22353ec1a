"""Processes that are forked while other threads ask: each runs a study of its own, and has to end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Say, attempted
from pellucid_lab.faults.examples import mixed, model_data

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

_THREADS, _TRIALS = 2, 6
# Of a child, in seconds. A short study takes a tenth of one.
_PATIENCE_S = 20.0
# The longest pause between two forks, so that they meet every moment of an ask.
_PAUSE_S = 0.05


def run_forks(task: FaultTask) -> Tally:
    """`size` forks. `case`: which sampler asks."""
    tally, pauses = Tally(), random.Random(f"{task.case} {task.chunk}")
    sampler = _ranking() if task.case == "ranking" else _bayesian

    def ask(say: Say) -> int:
        return _receipts_of(sampler(0))

    with _asking(sampler):
        for _ in range(task.size):
            time.sleep(_PAUSE_S * pauses.random())
            tally.tried += 1
            ended = attempted(tally, ask, _PATIENCE_S)
            if ended.fine and ended.value != _TRIALS:
                tally.lost += 1
                tally.note(f"{ended.value} of {_TRIALS} trials of a child have a receipt")
    return tally


def _bayesian(seed: int) -> BaseSampler:
    import pellucid

    return pellucid.BayesianSampler(seed=seed, n_startup_trials=3)


def _ranking() -> Callable[[int], BaseSampler]:
    import pellucid
    from pellucid.models.ranking.files import from_bytes
    from pellucid.models.ranking.ranker import Ranker

    model = Ranker.of(from_bytes(model_data()))
    return lambda seed: pellucid.RankingSampler(model=model, seed=seed)


def _receipts_of(sampler: BaseSampler) -> int:
    """How many trials of a short study have a receipt."""
    import optuna

    import pellucid

    study = optuna.create_study(sampler=sampler)
    study.optimize(mixed, n_trials=_TRIALS)
    return len(pellucid.receipts(study))


@contextmanager
def _asking(sampler: Callable[[int], BaseSampler]) -> Iterator[None]:
    """Threads that ask until the end of the block."""
    end = threading.Event()

    def repeat(seed: int) -> None:
        while not end.is_set():
            _receipts_of(sampler(seed))

    threads = [threading.Thread(target=repeat, args=(seed,), daemon=True) for seed in range(_THREADS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()
