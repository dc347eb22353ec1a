"""What is said about learning curves beside what is true: studies that `CurvePruner` prunes, with every trial trained
to its end for the record.

Notation, for every report but the last of a training: P, the chance that was said of ending better than the best
complete trial so far; whether that came true; and whether the last value was inside the 95% interval that was said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from pellucid.answers.pruning.chance import LEVEL, current_evidence
from pellucid.samplers.curve_pruner import CurvePruner
from pellucid_lab.base import CurveProblem, stable_seed, suggest_all
from pellucid_lab.methods.samplers import find_method
from pellucid_lab.problems.curves import curve_problem, family, packages_of_problem
from pellucid_lab.runs.provenance import stamp
from pellucid_lab.runs.regret import packages_of
from pellucid_lab.tables.grids import Grid

if TYPE_CHECKING:
    from optuna.study import Study

N_INIT, N_TRIALS = 10, 60
N_BINS = 10
# Chances below this are counted apart: trials are stopped by them.
SMALL = 0.01
# The first report whose intervals are judged.
FIRST_STEP = 5
SAMPLERS = ("pellucid", "optuna-tpe", "random")


@dataclass(frozen=True)
class ForecastTask:
    """One study."""

    problem: str
    sampler: str
    seed: int
    data: str | None = None
    command: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.problem, self.sampler, self.seed

    @property
    def label(self) -> str:
        return f"{self.problem} {self.sampler} seed {self.seed}"


@dataclass(frozen=True)
class ForecastRun:
    """The predictions of one study.

    bins       per tenth of P: how many predictions, the sum of P, and how many came true
    small      the same of P below `SMALL`
    covered    per step, from 1 on: values inside their interval, and how many there were
    stopped    trials that were stopped;  stated  the sum of P at their stops;  beat  how many would have beaten the
               best before them
    winner     whether a stopped trial would have ended better than every complete one
    """

    problem: str
    sampler: str
    seed: int
    bins: tuple[tuple[int, float, int], ...]
    small: tuple[int, float, int]
    covered: tuple[tuple[int, int], ...]
    stopped: int
    stated: float
    beat: int
    winner: bool
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.problem, self.sampler, self.seed


@dataclass(frozen=True)
class _Said:
    """A prediction, and what became of it."""

    step: int
    chance: float
    beat: bool
    covered: bool


@dataclass(frozen=True)
class _Trial:
    said: tuple[_Said, ...]
    stopped: bool
    final: float


def run_forecast_task(task: ForecastTask) -> ForecastRun:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = curve_problem(task.problem, task.data)
    start = optuna.samplers.RandomSampler(seed=stable_seed("forecast design", task.problem, task.seed))
    study = optuna.create_study(direction=problem.direction, sampler=start, pruner=CurvePruner())
    trials = []
    for number in range(N_TRIALS):
        if number == N_INIT:
            seed = stable_seed("forecast sampler", task.problem, task.seed)
            study.sampler = find_method(task.sampler).make_sampler(seed, N_INIT, N_TRIALS - N_INIT)
        trials.append(_run_trial(study, problem))
    said = [prediction for trial in trials for prediction in trial.said]
    tenth = [min(int(prediction.chance * N_BINS), N_BINS - 1) for prediction in said]
    stops = [trial.said[-1] for trial in trials if trial.stopped]
    finals = {stopped: [trial.final for trial in trials if trial.stopped == stopped] for stopped in (True, False)}
    return ForecastRun(
        *task.key,
        bins=tuple(_counted([p for p, b in zip(said, tenth, strict=True) if b == tenth_]) for tenth_ in range(N_BINS)),
        small=_counted([prediction for prediction in said if prediction.chance < SMALL]),
        covered=tuple(_covered([p for p in said if p.step == step]) for step in range(1, problem.steps)),
        stopped=len(stops),
        stated=round(sum(stop.chance for stop in stops), 6),
        beat=sum(stop.beat for stop in stops),
        winner=bool(stops) and min(finals[True]) < min(finals[False]),
        **stamp((*packages_of(task.sampler), *packages_of_problem(task.problem)), task.command),
    )


def _run_trial(study: Study, problem: CurveProblem) -> _Trial:
    """A trial that reports its curve; ``final`` is its last value as a loss, also of one that was stopped."""
    from optuna.trial import TrialState

    trial = study.ask()
    values = list(problem.curve(suggest_all(trial, problem.distributions)))
    sign = 1.0 if problem.direction == "minimize" else -1.0
    final, said, stopped = sign * values[-1], [], False
    for step, value in enumerate(values[:-1], start=1):
        trial.report(value, step)
        said += _said(study, trial.number, step, final)
        stopped = bool(trial.should_prune())
        if stopped:
            study.tell(trial, state=TrialState.PRUNED)
            break
    if not stopped:
        trial.report(values[-1], len(values))
        study.tell(trial, values[-1])
    return _Trial(tuple(said), stopped, final)


def _said(study: Study, number: int, step: int, final: float) -> list[_Said]:
    evidence = current_evidence(study)
    if evidence is None:
        return []
    trial = study.get_trials(deepcopy=False)[number]
    forecast = evidence.model.forecast(evidence.curve(trial), evidence.row(trial))
    low, high = (float(end[0]) for end in forecast.interval(LEVEL))
    return [_Said(step, evidence.beats(forecast), final < evidence.best, low <= final <= high)]


def _counted(said: Sequence[_Said]) -> tuple[int, float, int]:
    return len(said), round(sum(one.chance for one in said), 6), sum(one.beat for one in said)


def _covered(said: Sequence[_Said]) -> tuple[int, int]:
    return sum(one.covered for one in said), len(said)


# ------------------------------------------------------------------------------------------ tables


def forecast_grids(runs: Sequence[ForecastRun]) -> list[Grid]:
    """Family by family."""
    ordered = sorted(runs, key=lambda run: family(run.problem))
    return [grid for name, own in groupby(ordered, lambda run: family(run.problem)) for grid in _grids(name, list(own))]


def _grids(name: str, runs: Sequence[ForecastRun]) -> list[Grid]:
    by_sampler = {sampler: [run for run in runs if run.sampler == sampler] for sampler in SAMPLERS}
    groups = {sampler: own for sampler, own in by_sampler.items() if own} | {"all": list(runs)}
    return [_chance_grid(name, groups), _stop_grid(name, groups), _coverage_grid(name, groups)]


def _chance_grid(name: str, groups: Mapping[str, Sequence[ForecastRun]]) -> Grid:
    columns = [column for sampler in groups for column in (f"{sampler}: n", "said", "true")]
    labels = [f"{100 * b // N_BINS}–{100 * (b + 1) // N_BINS}%" for b in range(N_BINS)]
    rows = [
        (label, *(text for own in groups.values() for text in _shares([run.bins[b] for run in own])))
        for b, label in enumerate(labels)
    ]
    rows.append((f"below {SMALL:.0%}", *(text for own in groups.values() for text in _shares([r.small for r in own]))))
    return Grid(f"{name}: the chance of ending better than the best so far", ("said", *columns), tuple(rows))


def _shares(counts: Sequence[tuple[int, float, int]]) -> tuple[str, str, str]:
    n, said, true = (sum(column) for column in zip(*counts, strict=True))
    return (str(n), f"{said / n:.2%}", f"{true / n:.2%}") if n else ("0", "–", "–")


def _stop_grid(name: str, groups: Mapping[str, Sequence[ForecastRun]]) -> Grid:
    rows = []
    for sampler, own in groups.items():
        stops, studies = sum(run.stopped for run in own), len(own)
        stated, beat = sum(run.stated for run in own), sum(run.beat for run in own)
        lost = sum(run.winner for run in own)
        rows.append(
            (
                sampler,
                str(studies),
                str(stops),
                f"{stated:.2f}",
                str(beat),
                f"{lost} of {studies} ({lost / studies:.1%})",
            )
        )
    columns = ("sampler", "studies", "stopped trials", "sum of the chances said", "would have been the best so far")
    return Grid(f"{name}: trials that were stopped", (*columns, "studies whose best trial was stopped"), tuple(rows))


def _coverage_grid(name: str, groups: Mapping[str, Sequence[ForecastRun]]) -> Grid:
    spans = ((1, FIRST_STEP - 1), (FIRST_STEP, 9), (10, 19), (20, 10**9), (FIRST_STEP, 10**9))
    rows = []
    for first, last in spans:
        label = f"from {first} on" if last >= 10**9 else f"{first}–{last}"
        rows.append((label, *(_coverage(own, first, last) for own in groups.values())))
    return Grid(f"{name}: last values inside their 95% interval, by step", ("step", *groups), tuple(rows))


def _coverage(runs: Sequence[ForecastRun], first: int, last: int) -> str:
    counts = np.array([pair for run in runs for pair in run.covered[first - 1 : last]]).reshape(-1, 2).sum(axis=0)
    return f"{counts[0] / counts[1]:.1%} of {counts[1]}" if counts[1] else "–"
