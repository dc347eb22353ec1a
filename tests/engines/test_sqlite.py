"""Workers share a study in a file of SQLite; `tests/end_to_end/test_parallel.py` has the rest."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.examples import share_between_workers


def test_the_example_runs_the_trial_of_a_dead_worker_again(tmp_path: Path) -> None:
    share_between_workers(f"sqlite:///{tmp_path / 'workers.db'}")
