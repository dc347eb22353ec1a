"""Proposals, receipts and the numbers of answers are those that were recorded: no change goes unnoticed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.golden.record import compared, read
from tests.golden.studies import STUDIES
from tests.helpers import ROOT

N_GROUPS = 3


@pytest.mark.parametrize("group", range(N_GROUPS))
def test_studies_and_answers_are_as_recorded(group: int) -> None:
    command = [sys.executable, "-m", "tests.golden.record", "--check", *list(STUDIES)[group::N_GROUPS]]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 differences" in done.stdout


def test_a_changed_bit_of_a_proposal_and_a_changed_digit_of_an_answer_are_noticed() -> None:
    golden, present = read(), read()
    assert compared(golden, {"flat": present["flat"]}, exact=True) == []
    present["flat"]["trials"][7]["params"]["x"] *= 1.0 + 3e-16
    present["flat"]["answers"]["recommendation"]["expected"] += 1e-11
    present["flat"]["answers"]["history"]["best"].pop()
    del present["flat"]["receipts"]["9"]["seed"]
    assert len(compared(golden, {"flat": present["flat"]}, exact=True)) == 4


def test_where_a_processor_may_round_otherwise_larger_differences_are_still_noticed() -> None:
    golden, present = read(), read()
    for name in ("flat", "ranking"):
        present[name]["trials"][7]["values"][0] += 1e-9
        present[name]["answers"]["recommendation"]["expected"] += 1e-9
    assert len(compared(golden, {"flat": present["flat"]}, exact=True)) == 2
    assert compared(golden, {"ranking": present["ranking"]}, exact=True) == []
    assert compared(golden, {"flat": present["flat"]}, exact=False) == []
    for name in ("flat", "ranking"):
        present[name]["trials"][7]["values"][0] += 0.01
        present[name]["receipts"]["8"]["seed"] += 1
        present[name]["answers"]["history"]["best"].pop()
        del present[name]["answers"]["recommendation"]["expected"]
        for exact in (True, False):
            assert len(compared(golden, {name: present[name]}, exact=exact)) == 4
