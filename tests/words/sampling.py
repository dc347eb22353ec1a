"""Samplers, pruners and callbacks at work on studies with hostile names: their logs, and parts of the user's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.study import Study
from optuna.trial import Trial
from tests.words.recorder import Recorder, name
from tests.words.stored import stored_text, with_text
from tests.words.studies import (
    ADAM,
    DEPTH,
    DROP,
    LR,
    OPT,
    SGD,
    curve,
    died,
    failing,
    new,
    one,
    run,
    simple,
    two,
    unfeasible,
)

import pellucid
from pellucid.search import acquisition
from pellucid.search.acquisition.policy import Decision
from pellucid.study.storage import keep_model

HOSTILE = name("own")


class Misspelt(acquisition.LCB):
    def weights(self, situation: Any) -> dict[str, float]:
        return {HOSTILE: 1.0, "uncertainty": 1.0}


class Raising(acquisition.EI):
    def score(self, m: Any, s: Any, situation: Any) -> Any:
        raise KeyError(HOSTILE)


class Short(acquisition.EI):
    def score(self, m: Any, s: Any, situation: Any) -> Any:
        return super().score(m, s, situation)[:1]


class NotANumber(acquisition.EI):
    def score(self, m: Any, s: Any, situation: Any) -> Any:
        return np.full(len(m), np.nan)


class Silent(acquisition.EI):
    def words(self) -> dict[str, Any]:
        return {}


class Unmade(acquisition.EI):
    """Cannot be made again from its settings."""

    def __init__(self, one: Any, other: Any) -> None:
        super().__init__()

    def __repr__(self) -> str:
        return "Unmade()"


@dataclass(frozen=True)
class Deciding:
    by: Callable[[Any], Any]
    wants_bounds = False

    def decide(self, evidence: Any) -> Any:
        return self.by(evidence)


class Refusing(InMemoryStorage):
    """Refuses what pellucid adds to a study."""

    def _refuse(self, *_: Any) -> None:
        raise OSError(28, HOSTILE, HOSTILE)

    set_trial_system_attr = set_study_user_attr = set_study_system_attr = _refuse  # type: ignore[assignment]


def _run(recorder: Recorder, sampler: Any, objective: Callable[[Trial], Any] = simple, n_trials: int = 6) -> Study:
    study = new("sampled", sampler=sampler)
    recorder.attempt(lambda: run(study, objective, n_trials))
    return study


def bayesian(**options: Any) -> pellucid.BayesianSampler:
    return pellucid.BayesianSampler(**{"seed": 0, "n_startup_trials": 3, **options})


def drive_own_parts(recorder: Recorder) -> None:
    parts: tuple[Any, ...] = (Misspelt(), Raising(), Short(), NotANumber())
    for part in parts:
        _run(recorder, bayesian(acquisition=part))
    for decide in (lambda _: HOSTILE, lambda _: Decision(Raising()), _raise):
        _run(recorder, bayesian(acquisition=Deciding(decide)))
    recorder.attempt(lambda: bayesian(acquisition=Unmade(1, 2)))
    recorder.attempt(lambda: type(f"EI{HOSTILE}", (acquisition.EI,), {"name": "EI"}))
    recorder.attempt(lambda: type("LCB", (acquisition.EI,), {}))
    silent = _run(recorder, bayesian(acquisition=Silent()))
    recorder.attempt(lambda: pellucid.explain_proposal(silent, 5))
    recorder.attempt(lambda: bayesian(acquisition=acquisition.SAWEI(), interleave=pellucid.Interleave(mode="multiply")))
    recorder.attempt(lambda: bayesian(acquisition=acquisition.LCB(), interleave=pellucid.Interleave(mode="multiply")))


def _raise(_: object) -> None:
    raise ValueError(HOSTILE)


def drive_rules(recorder: Recorder) -> None:
    later = new("sampled on its own", sampler=bayesian())
    run(later, one, 6)
    recorder.attempt(lambda: run(later, lambda trial: one(trial) + trial.suggest_float(HOSTILE, 0, 1), 1))
    recorder.attempt(lambda: later.optimize(lambda trial: pellucid.report_noise(trial, HOSTILE), n_trials=1))  # type: ignore[arg-type]
    for allowed in (lambda params: params[HOSTILE], lambda _: False, HOSTILE):
        recorder.attempt(lambda allowed=allowed: _run(recorder, bayesian(allowed=allowed), one))
    conditions: tuple[Any, ...] = (
        {DROP: (LR, [0.1])},
        {DROP: (OPT, [HOSTILE])},
        {HOSTILE: (OPT, [SGD])},
        {HOSTILE: HOSTILE},
        HOSTILE,
    )
    for given in conditions:
        recorder.attempt(lambda given=given: _run(recorder, bayesian(conditions=given), one))
    for ordinal in ([HOSTILE], HOSTILE, 3):
        recorder.attempt(lambda ordinal=ordinal: _run(recorder, bayesian(ordinal=ordinal), one))
    learning = pellucid.Interleave(params=[HOSTILE, (LR, HOSTILE)])
    recorder.attempt(lambda: _run(recorder, bayesian(interleave=learning)))
    several = new(
        "policy for several", directions=("minimize", "maximize"), sampler=bayesian(acquisition=acquisition.EI())
    )
    recorder.attempt(lambda: run(several, two, 5))


def drive_trouble(recorder: Recorder) -> None:
    """A model that fails, a storage that refuses, ranges that change, workers that died."""
    from pellucid.search import maximising

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maximising.Maximiser, "propose", lambda *_: _raise(None))
        _run(recorder, bayesian())
    storage = InMemoryStorage()
    study = new("refusing", storage=storage, sampler=bayesian())
    run(study, one, 4)
    patch = pytest.MonkeyPatch()
    for method in ("set_trial_system_attr", "set_study_user_attr", "set_study_system_attr", "set_trial_user_attr"):
        patch.setattr(InMemoryStorage, method, Refusing._refuse)
    from pellucid.study.storage import set_user_attribute

    recorder.attempt(lambda: study.optimize(_silent, n_trials=1))
    recorder.attempt(lambda: set_user_attribute(study, HOSTILE, HOSTILE))
    patch.undo()

    def changing(trial: Trial) -> float:
        value = one(trial)
        return value + trial.suggest_float(HOSTILE, 0, 1 + trial.number)

    _run(recorder, bayesian(), changing, 8)
    dead = died()
    dead.sampler = bayesian()
    recorder.attempt(lambda: run(dead, one, 2))


def _silent(trial: Trial) -> float:
    return trial.suggest_float(LR, 1e-4, 1.0, log=True)


def drive_pruning(recorder: Recorder) -> None:
    from pellucid.samplers import curve_pruner

    study = new("curves", sampler=optuna.samplers.RandomSampler(seed=0), pruner=pellucid.CurvePruner(keep=0.9))
    run(study, curve, 12)
    stopped = next((trial for trial in study.trials if trial.state.name == "PRUNED"), study.trials[-1])
    for step in (-1, HOSTILE, 3, 99):
        recorder.attempt(lambda step=step: pellucid.explain_pruning(study, stopped.number, step=step))
        recorder.attempt(lambda step=step: pellucid.pruning_record(study, horizon=step))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curve_pruner, "current_evidence", lambda *_: _raise(None))
        recorder.attempt(lambda: run(study, curve, 1))
    several = new("two", directions=("minimize", "minimize"))
    recorder.attempt(lambda: run(several, lambda trial: (curve(trial), 1.0), 2))
    patch = pytest.MonkeyPatch()
    patch.setattr(InMemoryStorage, "set_trial_user_attr", Refusing._refuse)
    patch.setattr(InMemoryStorage, "set_trial_system_attr", Refusing._refuse)
    recorder.attempt(lambda: [run(study, _reporting, 1) for _ in range(3)])
    patch.undo()


def _reporting(trial: Trial) -> float:
    value = 50.0 * _silent(trial)
    for step in range(1, 9):
        trial.report(value + 100.0, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def drive_two_steps(recorder: Recorder) -> None:
    two_step = pellucid.TwoStepSampler
    cheap: tuple[Any, ...] = ({LR: HOSTILE}, {HOSTILE: "low"}, {OPT: "low"}, HOSTILE)
    for given in cheap:
        recorder.attempt(
            lambda given=given: _run(recorder, two_step(seed=0, n_random=21, n_step1=2, cheap=given), one, 3)
        )
    study = new("steps", sampler=two_step(seed=0, n_random=21, n_step1=2, goal="accuracy", cheap={DEPTH: "low"}))
    recorder.attempt(lambda: study.sampler.plan(study))  # type: ignore[attr-defined]
    recorder.attempt(lambda: study.sampler.best_trial(study))  # type: ignore[attr-defined]
    recorder.attempt(lambda: run(study, one, 24))
    unfit = new("unfit steps", sampler=two_step(seed=0, n_random=21, n_step1=2))
    recorder.attempt(lambda: run(unfit, unfeasible, 23))
    recorder.attempt(lambda: unfit.sampler.best_trial(unfit))  # type: ignore[attr-defined]
    plan = recorder.attempt(lambda: study.sampler.plan(study))  # type: ignore[attr-defined]
    if plan is not None:
        recorder.hear(plan, "print of a plan")
        recorder.hear(plan._repr_html_(), "notebook of a plan")


def drive_stopping(recorder: Recorder, study: Study) -> None:
    from pellucid.samplers import stop_when

    last = study.trials[-1]
    recorder.attempt(lambda: pellucid.StopWhen(1e9, min_trials=1, patience=1)(study, last))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stop_when, "stopping_verdict", lambda *_, **__: _raise(None))
        recorder.attempt(lambda: pellucid.StopWhen()(study, last))


def drive_ranking(recorder: Recorder, folder: Path) -> None:
    """Rankings that learn from hostile studies, fail, do not fit, or are missing."""
    from pellucid.study import earlier_studies
    from pellucid.study.earlier_studies import EarlierStudies

    storage = InMemoryStorage()
    studies = []
    for i in range(4):
        study = new(f"earlier {i}", storage=storage, sampler=optuna.samplers.RandomSampler(seed=i))
        studies.append(run(study, failing if i else one, 30))
    empty = new("nothing", storage=storage)
    names = [study.study_name for study in studies]
    sampler = pellucid.RankingSampler
    for given in (HOSTILE, [HOSTILE], [names[0]], [empty.study_name, *names[:2]]):
        recorder.attempt(lambda given=given: sampler.from_studies(storage, given, progress=False))
    numbers = new("numbers", sampler=optuna.samplers.RandomSampler(seed=0))
    run(numbers, lambda trial: trial.suggest_float(OPT, 0, 1), 12)
    fewer = new("fewer", sampler=optuna.samplers.RandomSampler(seed=0))
    run(fewer, lambda trial: trial.suggest_float(LR, 1e-4, 1.0, log=True), 12)
    recorder.attempt(lambda: EarlierStudies.of([*studies, numbers]))
    recorder.attempt(lambda: EarlierStudies.of([*studies, fewer]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(earlier_studies, "steps_for", lambda *_: 9)
        learned = sampler.from_studies(storage, [*names, empty.study_name], progress=False)
    path = folder / "model"
    learned.save(path)
    ours = new("ranked", sampler=sampler(model=path, seed=0))
    run(ours, one, 3)
    _changed_rankings(recorder, ours)
    for number in range(3):
        answer = recorder.attempt(lambda number=number: pellucid.explain_proposal(ours, number))
        recorder.hear(answer, "print of a ranked proposal")
        recorder.attempt(lambda number=number: pellucid.rebuild(ours, number))
    other = new("other space", sampler=sampler(model=path, seed=0))
    recorder.attempt(lambda: run(other, lambda trial: trial.suggest_float(HOSTILE, 0, 1), 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler, "_serving", lambda *_: _raise(None))
        recorder.attempt(lambda: run(ours, one, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InMemoryStorage, "set_study_system_attr", Refusing._refuse)
        fresh = optuna.create_study(study_name=HOSTILE, sampler=sampler(model=path, seed=0))
        recorder.attempt(lambda: fresh.optimize(one, n_trials=1))
    for text in (ADAM, DEPTH):
        recorder.attempt(lambda text=text: sampler(model=text))


def _without_torch(_: str) -> None:
    raise ModuleNotFoundError(HOSTILE, name="torch")


def _changed_rankings(recorder: Recorder, study: Study) -> None:
    """Receipts of rankings whose parameters or model were changed, and a machine without torch."""
    last = study.trials[-1].number
    data = json.loads(stored_text(study.trials[-1], "pellucid:receipt"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pellucid.models.ranking.files", None)
        recorder.attempt(lambda: pellucid.explain_proposal(study, last))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pellucid.models, "import_module", _without_torch)
        recorder.attempt(lambda: pellucid.models.RankingEnsemble)
    for wrong in ({"params": {**data["params"], LR: 1e9}}, {"trial": 7}):
        copy = with_text(study, last, json.dumps({**data, **wrong}))
        recorder.attempt(lambda copy=copy: pellucid.explain_proposal(copy, last))
    copy = with_text(study, last, json.dumps(data))
    keep_model(copy, data["ranking"]["model"], HOSTILE.encode())
    recorder.attempt(lambda: pellucid.explain_proposal(copy, last))
