"""Trainings with a value after every step: their curves, their best values, and what happens if one diverges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from lab.tests.helpers import needs_yahpo

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.problems import trainings, yahpo
from pellucid_lab.problems.curves import (
    DESIGN_NAMES,
    NAMES,
    REPORTED_NAMES,
    TRAINING_NAMES,
    check_curves,
    curve_problem,
    family,
)
from pellucid_lab.problems.trainings import TRAININGS, WORST

CONFIGURATION = {"batch_size": 91, "learning_rate": 0.0031622777, "momentum": 0.545, "weight_decay": 0.050005}
CONFIGURATION |= {"num_layers": 3, "max_units": 256, "max_dropout": 0.5}


def test_no_problem_is_both_for_design_and_reported() -> None:
    assert len(set(NAMES)) == len(DESIGN_NAMES) + len(REPORTED_NAMES) + len(TRAINING_NAMES)
    assert len(REPORTED_NAMES) >= 7
    assert {family(name) for name in (*DESIGN_NAMES, *REPORTED_NAMES)} == {"lcbench"}
    assert {family(name) for name in TRAINING_NAMES} == {"trainings"}


def test_a_wrong_name_and_missing_files_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Mistake, match=r"The problems with curves are lcbench-3945, .*; got `lcbench-1`"):
        check_curves("lcbench-1", None)
    pytest.importorskip("onnxruntime")
    monkeypatch.delenv("PELLUCID_DATA", raising=False)
    with pytest.raises(Unavailable, match="lcbench is skipped"):
        check_curves("lcbench-3945", None)


# ---------------------------------------------------------------------- surrogate


@needs_yahpo
def test_the_curve_of_the_surrogate_is_what_it_predicts_at_each_epoch() -> None:
    pytest.importorskip("onnxruntime")
    problem = curve_problem("lcbench-3945")
    values = list(problem.curve(CONFIGURATION))
    surrogate = yahpo.load_surrogate(yahpo.LCBENCH, None)
    task = {"OpenML_task_id": "3945", **CONFIGURATION}
    alone = [surrogate.predict({**task, "epoch": epoch})[yahpo.LCBENCH.target] for epoch in (1, 7, 52)]
    assert len(values) == problem.steps == 52
    assert [values[0], values[6], values[51]] == pytest.approx(alone, abs=1e-6)
    assert values[51] == pytest.approx(0.684498, abs=1e-6)
    assert problem.direction == "maximize"
    assert set(problem.distributions) == set(CONFIGURATION)


@needs_yahpo
def test_every_task_has_a_code_in_the_surrogate() -> None:
    for name in (*DESIGN_NAMES, *REPORTED_NAMES):
        yahpo.check_task(yahpo.LCBENCH, name.removeprefix("lcbench-"), None)


# ---------------------------------------------------------------------- real trainings


@pytest.mark.parametrize("name", TRAINING_NAMES)
def test_the_best_known_configuration_has_the_best_known_loss_and_a_curve_repeats(name: str) -> None:
    for module in TRAININGS[name].modules:
        pytest.importorskip(module)
    problem = curve_problem(name)
    first, second = (list(problem.curve(TRAININGS[name].best)) for _ in range(2))
    assert first == second
    assert len(first) == problem.steps
    # Other versions and processors round differently, which a training can amplify.
    assert first[-1] == pytest.approx(problem.optimum, rel=0.02)


def test_the_best_schedule_is_behind_until_its_rate_drops() -> None:
    pytest.importorskip("sklearn")
    problem = curve_problem("schedule-scales")
    best = TRAININGS["schedule-scales"].best
    steady = {**best, "rate": best["rate"] * best["drop_to"], "drop_to": 1.0}
    late, early = list(problem.curve(best)), list(problem.curve(steady))
    drop = int(best["drop_at"] * problem.steps)
    assert drop > 0.5 * problem.steps
    assert late[drop - 1] > early[drop - 1]
    assert late[-1] < early[-1] - 0.01


def _fails_at_the_third(params: Mapping[str, Any], steps: int) -> Iterator[float]:
    yield from (0.5, float("nan"))
    raise ValueError("Solver produced non-finite parameter weights.")


def test_a_training_that_diverges_has_the_worst_loss_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    broken = replace(TRAININGS["schedule-scales"], losses=_fails_at_the_third, steps=5)
    monkeypatch.setitem(trainings.TRAININGS, "broken", broken)
    assert list(trainings.training_problem("broken").curve({})) == [0.5, *[WORST] * 4]


def test_a_training_that_is_stopped_is_not_trained_further(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    taken = []

    def losses(params: Mapping[str, Any], steps: int) -> Iterator[float]:
        for step in range(steps):
            taken.append(step)
            yield 1.0

    monkeypatch.setitem(trainings.TRAININGS, "watched", replace(TRAININGS["schedule-scales"], losses=losses))
    assert list(islice(trainings.training_problem("watched").curve({}), 3)) == [1.0] * 3
    assert taken == [0, 1, 2]
