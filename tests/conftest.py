"""Settings shared by all tests: one thread per process, repeatable examples, quiet Optuna."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Before NumPy loads its BLAS: the suite runs in several processes, each on one thread.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import hypothesis  # noqa: E402
import optuna  # noqa: E402

# Examples are derived from the test itself, so a failure is repeatable and a passing suite stays passing.
# HYPOTHESIS_PROFILE=explore draws new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parent.parent
