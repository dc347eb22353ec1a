"""Workers share a study in a file of SQLite; `tests/end_to_end/test_parallel.py` has the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.examples import share_between_workers
from tests.helpers import ROOT
from tools.killed_workers import PAGES, check_page


def test_the_example_runs_the_trial_of_a_dead_worker_again(tmp_path: Path) -> None:
    share_between_workers(f"sqlite:///{tmp_path / 'workers.db'}")


@pytest.mark.parametrize("page", PAGES)
def test_the_worker_of_a_page_runs_the_trial_of_a_killed_one_again(page: str, tmp_path: Path) -> None:
    check_page(ROOT / "docs" / "machines" / page, tmp_path)
