"""The course of a study with several objectives: the volume that is dominated, and the trials that made it grow."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import FAIL

import pellucid
from pellucid.pareto import front, volume


def objective(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    if trial.number == 4:
        raise RuntimeError
    trial.set_constraint("memory", x - 0.8)
    return x + y**2, -((x - 1.0) ** 2) - y


@pytest.fixture(scope="module")
def study() -> Study:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=RandomSampler(seed=0))
    study.set_metric_names(["latency", "volume"])
    study.optimize(objective, n_trials=30, catch=(RuntimeError,))
    study.ask()
    return study


def test_the_volume_is_that_of_the_feasible_trials_so_far(study: Study) -> None:
    history = pellucid.history(study)
    assert isinstance(history, pellucid.FrontHistory)
    signs = np.array([1.0, -1.0])
    reference = signs * np.array(history.reference)
    rows: list[np.ndarray] = []
    final = None
    for trial in reversed(study.trials):
        usable = [t for t in study.trials[: trial.number + 1] if t.values and t.params["x"] <= 0.8]
        rows = [signs * np.array(t.values) for t in usable]
        dominated = volume(np.array(rows), reference) if rows else None
        final = dominated if final is None else final
        expected = None if dominated is None or final is None else pytest.approx(dominated / final, rel=1e-9)
        assert history.volume[trial.number] == expected
    assert history.volume[-1] == 1.0


def test_trials_that_made_it_grow_and_those_that_are_on_the_front(study: Study) -> None:
    history = pellucid.history(study)
    assert isinstance(history, pellucid.FrontHistory)
    usable = [t for t in study.trials if t.values and t.params["x"] <= 0.8]
    Y = np.array([t.values for t in usable]) * [1.0, -1.0]
    assert history.front == tuple(t.number for t, on in zip(usable, front(Y), strict=True) if on)
    assert set(history.front) <= set(history.grew)
    shares = [0.0 if share is None else share for share in history.volume]
    assert [n for n in range(1, 31) if shares[n] > shares[n - 1]] == [n for n in history.grew if n > 0]
    assert history.states[4] == "failed"
    assert history.values[4] is history.feasible[4] is None
    assert (
        f"By the values returned, {len(history.front)} of 29 trials are on the front; it last grew with trial "
        f"{history.grew[-1]}, and its volume grew by " in history.sentence
    )
    assert history.sentence.endswith(f"{len(usable)} of 29 trials were feasible.")


def test_the_table_has_every_objective_under_a_name_of_its_own(study: Study) -> None:
    frame = pellucid.history(study).to_frame()
    assert list(frame.columns)[-2:] == ["latency", "objective volume"]
    assert frame["volume"].iloc[29] == 1.0
    assert frame["latency"].iloc[0] == study.trials[0].values[0]


def test_the_course_of_one_objective_or_constraint(study: Study) -> None:
    history = pellucid.history(study, objective="latency")
    assert isinstance(history, pellucid.History)
    usable = [t for t in study.trials if t.values and t.params["x"] <= 0.8]
    assert history.best[-1] == min(t.values[0] for t in usable)
    assert isinstance(pellucid.history(study, objective="memory"), pellucid.History)


def test_the_figure_marks_what_grew_and_what_cannot_be_used(study: Study) -> None:
    history = pellucid.history(study)
    assert isinstance(history, pellucid.FrontHistory)
    marks = {trace.name: list(trace.x) for trace in history.plot().data}
    assert sorted(marks["on the front now"] + marks.get("on the front once", [])) == list(history.grew)
    assert marks["failed"] == [4]
    assert marks["not feasible"] == [t.number for t in study.trials if t.values and t.params["x"] > 0.8]


def test_studies_with_nothing_on_a_front() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    assert pellucid.history(study).sentence == "The study has no trials yet."
    study.add_trial(optuna.trial.create_trial(state=FAIL))
    assert "None of the 1 trials has finished with a value yet." in str(pellucid.history(study))
    assert pellucid.history(study).plot().data is not None
    study.add_trial(optuna.trial.create_trial(values=[1.0, math.inf]))
    assert "1 of 1 trial is on the front; it last grew with trial 1." in str(pellucid.history(study))
    nowhere = optuna.create_study(directions=["minimize"] * 2)
    nowhere.add_trial(optuna.trial.create_trial(values=[1.0, 2.0], system_attrs={"constraints": [1.0]}))
    assert "feasible" in pellucid.history(nowhere).sentence
