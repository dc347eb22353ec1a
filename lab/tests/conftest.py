"""Settings of all tests: one thread per process, quiet Optuna."""

from __future__ import annotations

import os

# Before NumPy loads its BLAS: the suite runs in several processes, each on one thread.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import optuna  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
