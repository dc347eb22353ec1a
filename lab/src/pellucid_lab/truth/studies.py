"""The studies that are asked: every sampler on every problem, without noise and with it.

A study of another sampler does not change when pellucid does, so it is kept in a file and read again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.files import make_folder, write_atomically
from pellucid_lab.base import stable_seed
from pellucid_lab.methods.samplers import find_method, prepare
from pellucid_lab.truth.problems import find_problem
from pellucid_lab.truth.spaces import TruthProblem

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

OURS = "pellucid"
SAMPLERS = (OURS, "optuna-tpe", "optuna-gp", "random")
# Trials of a study, of which the first are drawn at random, and the sizes at which it is asked.
N_TRIALS, N_STARTUP = 150, 10
SIZES = (40, 60, 100, 150)


@dataclass(frozen=True)
class TruthTask:
    """One study and the folder for studies of other samplers."""

    problem: str
    noisy: bool
    sampler: str
    seed: int
    studies: str = ""
    command: str = ""

    @property
    def key(self) -> tuple[str, bool, str, int]:
        return self.problem, self.noisy, self.sampler, self.seed

    @property
    def label(self) -> str:
        return f"{self.problem} {'noisy' if self.noisy else 'exact'} {self.sampler} seed {self.seed}"


def study_of(task: TruthTask) -> Study:
    """The whole study: run here, or read from a file if another sampler ran it before."""
    if task.sampler == OURS or not task.studies:
        return _run(task)
    file = Path(task.studies) / f"{'-'.join(map(str, task.key))}.json"
    if not file.exists():
        study = _run(task)
        make_folder(file.parent)
        write_atomically(file, json.dumps([[trial.params, trial.value] for trial in study.trials]).encode())
    return _read(find_problem(task.problem), json.loads(file.read_text(encoding="utf-8")))


def _run(task: TruthTask) -> Study:
    import optuna

    problem, method = find_problem(task.problem), find_method(task.sampler)
    prepare(method)
    sampler = method.make_sampler(stable_seed("truth", *task.key), N_STARTUP, N_TRIALS - N_STARTUP)
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    for number in range(N_TRIALS):
        trial = study.ask()
        value = problem.value(problem.suggest(trial))
        study.tell(trial, value + (_noise(problem, task.seed, number) if task.noisy else 0.0))
    return study


def _noise(problem: TruthProblem, seed: int, number: int) -> float:
    rng = np.random.default_rng(stable_seed("noise", problem.name, seed, number))
    return problem.noise_sd * float(rng.standard_normal())


def _read(problem: TruthProblem, rows: Sequence[tuple[dict[str, Any], float]]) -> Study:
    import optuna

    study = optuna.create_study(direction=problem.direction)
    for params, value in rows:
        distributions: dict[str, optuna.distributions.BaseDistribution] = {
            name: problem.by_name[name].distribution for name in params
        }
        study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=value))
    return study


def first_trials(study: Study, trials: Sequence[FrozenTrial], n: int) -> Study:
    """The study as it was after n trials, receipts included."""
    import optuna

    part = optuna.create_study(direction=study.direction)
    part.add_trials(trials[:n])
    return part
