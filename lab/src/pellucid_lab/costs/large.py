"""Seconds and megabytes of the answers about large studies: each command in a process of its own.

A study of n trials is written into a journal once. Half of its trials are random, half perturbations of the best so
far, as in `scale`. Loading it is measured by itself, in a process that does nothing else.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from pellucid.samplers.bayesian import BayesianSampler
from pellucid.study.receipts import read_receipt, receipt_parts
from pellucid.words import printable
from pellucid_lab.runs.workers import THREAD_VARIABLES
from pellucid_lab.tables.grids import Grid, page

# Kinds of studies; the first one is measured at every size, the others at the largest.
_WITH_RECEIPTS = "all proposed by pellucid"
KINDS = (
    *("one objective", "model choice", "two objectives", "a constraint", "failed and pruned trials"),
    _WITH_RECEIPTS,
)
SURFACES = ("report", "explain", "agent", "publish")
_STUDY = "large"
# Of the trials that are perturbed: how many, how often they are chosen again, and scales as shares of the range.
_N_PARENTS, _EVERY, _SMALLEST_SCALE, _LARGEST_SCALE = 10, 200, 3e-3, 0.2
# Steps of a learning curve, of one that is stopped, and which trials may be stopped.
_STEPS, _STOPPED_AT, _FIRST_STOPPED = 12, 4, 20
_MODELS = ("svc", "trees", "linear")
# Starts a command from a small process, because the largest memory of a process is at least that of its parent. Prints
# seconds of the processor and the largest memory.
_LAUNCH = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(code)
"""
# What a process does that only loads, and one that answers an agent.
_LOAD = """
import sys
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.cli.storage.studies import find_study
find_study(place_of(sys.argv[1]), None).get_trials(deepcopy=False)
"""
_AGENT = """
import sys
from pathlib import Path
from pellucid.surfaces.cli.mcp.answering import reply_to
from pellucid.surfaces.cli.mcp.session import Session
from pellucid.surfaces.cli.storage.places import place_of
sys.exit(reply_to(Session(place_of(sys.argv[1]), Path(".")), "overview", {}).failed)
"""


@dataclass(frozen=True)
class LargeCost:
    """`seconds`: of the processor, without those of loading;  `loading`: those;  `megabytes`: at the peak, with the
    study;  `loaded`: of a process that has only loaded it."""

    kind: str
    trials: int
    surface: str
    seconds: float
    loading: float
    megabytes: float
    loaded: float


def tasks_of(sizes: Sequence[int]) -> list[tuple[str, int]]:
    """Studies: kind and trials."""
    return [*((KINDS[0], n) for n in sizes), *((kind, max(sizes)) for kind in KINDS[1:])]


def costs_of(kind: str, trials: int) -> Iterator[LargeCost]:
    """What each surface takes for a study that is made first."""
    with tempfile.TemporaryDirectory() as folder:
        journal = str(Path(folder) / "study.log")
        write_study(kind, trials, journal)
        loading, loaded = _measured([sys.executable, "-c", _LOAD, journal], folder)
        for surface in SURFACES:
            seconds, megabytes = _measured(_command(surface, journal), folder)
            yield LargeCost(kind, trials, surface, seconds - loading, loading, megabytes, loaded)


def _command(surface: str, journal: str) -> list[str]:
    if surface == "agent":
        return [sys.executable, "-c", _AGENT, journal]
    options = ["--out", "report.html"] if surface == "report" else []
    return [sys.executable, "-m", "pellucid.cli", surface, "--storage", journal, *options]


def _measured(command: Sequence[str], folder: str) -> tuple[float, float]:
    """Seconds of the processor, and the largest memory in megabytes."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    launched = [sys.executable, "-S", "-c", _LAUNCH, *command]
    done = subprocess.run(launched, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(printable(f"{' '.join(command[:4])} ended with {done.returncode}: {done.stderr!r:.500}"))
    seconds, most = map(float, done.stdout.split())
    return seconds, most / (1024.0**2 if sys.platform == "darwin" else 1024.0)


# ---------------------------------------------------------------------------------------------------- studies


def write_study(kind: str, n: int, journal: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    directions = [StudyDirection.MINIMIZE] * (2 if kind == "two objectives" else 1)
    storage = JournalStorage(JournalFileBackend(journal))
    trials = list(trials_of(kind, n))
    if kind == _WITH_RECEIPTS:
        trials = _with_receipts(trials)
    optuna.create_study(study_name=_STUDY, storage=storage, directions=directions).add_trials(trials)


def _with_receipts(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """All with the receipt of one more proposal, as if each had been that: asking for all would take an hour."""
    study = optuna.create_study(sampler=BayesianSampler(seed=0))
    study.add_trials(trials)
    asked = study.ask(trials[-1].distributions)
    receipt = read_receipt(study.trials[asked.number])
    assert receipt is not None
    for number, trial in enumerate(trials):
        trial.system_attrs = receipt_parts(replace(receipt, trial=number, params=trial.params))
    return list(trials)


def trials_of(kind: str, n: int) -> Iterator[FrozenTrial]:
    """Six numbers, with a little noise; of a model choice, some of them belong to one model."""
    rng = np.random.default_rng(0)
    X, losses = _configurations(n, rng)
    for i, (x, loss) in enumerate(zip(X.tolist(), losses.tolist(), strict=True)):
        params, distributions = _parameters(kind, x)
        values, state, reports, attributes = [loss], TrialState.COMPLETE, {}, {}
        if kind == "two objectives":
            values.append((x[0] - 0.9) ** 2 + (x[1] - 0.1) ** 2 + 0.3 * x[3] + 0.02 * float(rng.standard_normal()))
        if kind == "a constraint":
            attributes = {"constraints": [x[0] + x[1] - 1.0 + 0.02 * float(rng.standard_normal())]}
        if kind == "failed and pruned trials":
            reports = {step: loss + 2.0 * math.exp(-0.3 * step) for step in range(1, _STEPS + 1)}
            if i > _FIRST_STOPPED and i % 3:
                state, reports = TrialState.PRUNED, {step: reports[step] for step in range(1, _STOPPED_AT + 1)}
            if x[0] > 0.9 and x[1] > 0.3:
                state, reports = TrialState.FAIL, {}
        yield create_trial(
            state=state,
            params=params,
            distributions=distributions,
            values=values if state == TrialState.COMPLETE else None,
            intermediate_values=reports,
            system_attrs=attributes,
        )


def _configurations(n: int, rng: np.random.Generator) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    X = rng.random((n, 6))
    losses = np.empty(n)
    parents = np.arange(1)
    for i in range(n):
        if i >= n // 2:
            if i == n // 2 or i % _EVERY == 0:
                parents = np.argsort(losses[:i], kind="stable")[:_N_PARENTS]
            scale = math.exp(rng.uniform(math.log(_SMALLEST_SCALE), math.log(_LARGEST_SCALE)))
            X[i] = np.clip(X[rng.choice(parents)] + scale * rng.standard_normal(6), 0.0, 1.0)
        a, b, c, d, _, f = X[i]
        bowl = 3.0 * (a - 0.3) ** 2 + 2.0 * (b - 0.6) ** 2 + 0.3 * (d - 0.2) ** 2
        losses[i] = bowl + 0.5 * math.sin(6.0 * c) * a + 0.1 * f + 0.05 * rng.standard_normal()
    return X, losses


def _parameters(kind: str, x: Sequence[float]) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
    params: dict[str, Any] = {f"x{j}": x[j] for j in range(5)}
    distributions: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, 1.0) for name in params}
    params["rate"], distributions["rate"] = 10.0 ** (4.0 * x[5] - 5.0), FloatDistribution(1e-5, 1e-1, log=True)
    if kind == "model choice":
        del params["x4"], distributions["x4"]
        model = _MODELS[min(int(3.0 * x[4]), 2)]
        params["model"], distributions["model"] = model, CategoricalDistribution(_MODELS)
        if model == "svc":
            params["C"], distributions["C"] = 10.0 ** (6.0 * x[2] - 3.0), FloatDistribution(1e-3, 1e3, log=True)
        if model == "trees":
            params["depth"], distributions["depth"] = 1 + int(11.0 * x[2]), IntDistribution(1, 12)
    return params, distributions


# ---------------------------------------------------------------------------------------------------- tables


def markdown(costs: Sequence[LargeCost], provenance: str) -> str:
    rows = [
        (
            cost.kind,
            f"{cost.trials:,}",
            cost.surface,
            *(f"{seconds:.1f}" for seconds in (cost.seconds, cost.loading)),
            *(f"{megabytes:.0f}" for megabytes in (cost.megabytes, cost.loaded)),
        )
        for cost in costs
    ]
    head = ("study", "trials", "command", "s", "s of loading", "peak MB", "MB of loading")
    notes = [
        "Studies in a journal, with six parameters or more; half of the trials are random, half perturbations of the "
        "best so far. Every row is a process of its own with one thread: seconds of the processor beyond those of a "
        "process that only loads the trials, and the largest memory, with the study in it. `agent` is the tool "
        "`overview` of `pellucid mcp`. In the last study every trial has a receipt of its own."
    ]
    return page("What answers about large studies cost", notes, [Grid("", head, tuple(rows))], provenance)
