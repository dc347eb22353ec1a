"""What answers about a large study take: memory does not grow with the square of the trials."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.helpers import ROOT

N = 6000
# Of the whole process, with the study. Models of all trials would take 900 and more.
MOST_MEGABYTES = 600.0
SCRIPT = """
import math, resource, sys, tempfile
from pathlib import Path
import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial
import pellucid

kind, n = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
distributions = {name: FloatDistribution(0.0, 1.0) for name in ("a", "b", "c")}
study = optuna.create_study(directions=["minimize"] * (2 if kind == "several" else 1))
trials = []
for i in range(n):
    a, b, c, d = rng.random(4).tolist()
    loss = 3.0 * (a - 0.3) ** 2 + (b - 0.6) ** 2 + 0.3 * math.sin(6.0 * c) + 0.05 * float(rng.standard_normal())
    params, own = {"a": a, "b": b, "c": c}, dict(distributions)
    values, attributes, state = [loss], {}, TrialState.COMPLETE
    if kind == "several":
        values.append((a - 0.9) ** 2 + 0.5 * c + 0.02 * float(rng.standard_normal()))
        attributes = {"constraints": [a + b - 1.2]}
    else:
        params["model"], own["model"] = "xy"[i % 2], CategoricalDistribution(["x", "y"])
        if i % 2:
            params["d"], own["d"] = d, FloatDistribution(0.0, 1.0)
        state = TrialState.FAIL if a > 0.9 and b > 0.5 else state
    trials.append(create_trial(
        state=state, params=params, distributions=own, values=values if state == TrialState.COMPLETE else None,
        system_attrs=attributes,
    ))
study.add_trials(trials)
with tempfile.TemporaryDirectory() as folder:
    page = pellucid.report(study, Path(folder) / "report.html", progress=False).read_text(encoding="utf-8")
assert "This answer failed" not in page
assert f" of {len(study.get_trials(states=(TrialState.COMPLETE,))):,} trials: the newest, those near the best" in page
try:  # What the parent held when it started this process does not count here.
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    print(next(float(line.split()[1]) / 1024.0 for line in status if line.startswith("VmHWM")))
except OSError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0**2 if sys.platform == "darwin" else 1024.0))
"""


@pytest.mark.parametrize("kind", ["one", pytest.param("several", marks=pytest.mark.slow)])
def test_a_report_on_six_thousand_trials_stays_below_600_megabytes(kind: str) -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, kind, str(N)]
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= MOST_MEGABYTES
