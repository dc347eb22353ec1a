"""Explanations are the same from a copy of the storage, in another process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.trial import Trial
from tests.explain.proposals.studies import tilted
from tests.helpers import ROOT, conditional

import pellucid

EXPLAIN = """
import json, sys, optuna, pellucid
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(study_name="study", storage=sys.argv[1])
paths = pellucid.desirability_paths(study, progress=False)
numbers = lambda c: [c.total, c.low, c.high, *c.terms.values()]
print(json.dumps([[numbers(c) for c in explanation.contributions] for explanation in paths.explanations]))
"""


@pytest.mark.parametrize("objective", [tilted, conditional], ids=["flat", "conditional"])
def test_explanations_are_the_same_in_another_process_on_another_machine(
    tmp_path: Path, objective: Callable[[Trial], float]
) -> None:
    """Every proposal, from a copy of the storage; the other machine is another BLAS kernel and another hash seed."""
    storage = f"sqlite:///{tmp_path}/study.db"
    sampler = pellucid.BayesianSampler(seed=1, n_startup_trials=5)
    study = optuna.create_study(study_name="study", storage=storage, sampler=sampler)
    study.optimize(objective, n_trials=16)
    expected = [
        [[c.total, c.low, c.high, *c.terms.values()] for c in explanation.contributions]
        for explanation in pellucid.desirability_paths(study, progress=False).explanations
    ]
    assert len(expected) == 11
    (tmp_path / "there").mkdir()
    shutil.copy(tmp_path / "study.db", tmp_path / "there" / "copy.db")
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott", "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", EXPLAIN, f"sqlite:///{tmp_path}/there/copy.db"]
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    for numbers, other_numbers in zip(expected, answer, strict=True):
        scale = np.abs(numbers).max()
        np.testing.assert_allclose(other_numbers, numbers, rtol=1e-9, atol=1e-9 * scale)
