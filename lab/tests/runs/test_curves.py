"""Runs with pruners: what they cost, what the study learns, and what only the record knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import CurveProblem
from pellucid_lab.methods.pruners import PRUNERS
from pellucid_lab.runs import curves
from pellucid_lab.runs.curves import CurveRun, CurveTask, curve_file, plan_curves, run_curve_task

STEPS = 9


def descent(params: Mapping[str, Any]) -> Iterator[float]:
    """Ends at the square of the distance to 0.3."""
    return ((params["x"] - 0.3) ** 2 + STEPS / step - 1.0 for step in range(1, STEPS + 1))


PROBLEM = CurveProblem(
    "descent", "minimize", {"x": FloatDistribution(0.0, 1.0)}, STEPS, descent, 0.0, "the closed form"
)


@pytest.fixture(autouse=True)
def only_the_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "curve_problem", lambda name, data: PROBLEM)
    monkeypatch.setattr(curves, "packages_of_problem", lambda name: ())


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """All studies that are created."""
    created: list[Study] = []
    create = optuna.create_study

    def remember(**settings: Any) -> Study:
        created.append(create(**settings))
        return created[-1]

    monkeypatch.setattr(optuna, "create_study", remember)
    return created


class StopAt(BasePruner):
    """Prunes every trial at one step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        return trial.last_step == self.step


def run(method: str, budget: int = 12, seed: int = 0) -> CurveRun:
    return run_curve_task(CurveTask("descent", method, seed, 5, budget))


def test_without_a_pruner_a_run_has_as_many_complete_trials_as_its_budget() -> None:
    plain = run("random+none")
    assert plain.epochs == (STEPS,) * 12
    assert plain.pruned == (False,) * 12
    assert (plain.steps, plain.optimum, plain.direction) == (STEPS, 0.0, "minimize")


def test_methods_start_with_the_same_configurations_and_a_run_repeats() -> None:
    runs = [run(method) for method in ("random+none", "optuna-tpe+sha", "optuna-tpe+sha", "pellucid+hyperband")]
    assert len({each.finals[:5] for each in runs}) == 1
    assert (runs[1].finals, runs[1].pruned, runs[1].epochs) == (runs[2].finals, runs[2].pruned, runs[2].epochs)
    assert runs[0].finals[5:] != runs[1].finals[5:12]
    assert run("random+none", seed=1).finals[:5] != runs[0].finals[:5]


@pytest.mark.parametrize("pruner", PRUNERS)
def test_a_pruned_trial_costs_the_epochs_it_ran_and_the_run_ends_when_they_are_spent(pruner: str) -> None:
    spent = run(f"random+{pruner}")
    assert sum(spent.epochs[:-1]) < 12 * STEPS <= sum(spent.epochs)
    assert all((epochs < STEPS) == pruned for epochs, pruned in zip(spent.epochs, spent.pruned, strict=True))
    assert len(spent.ask_s) == len(spent.prune_s) == len(spent.train_s) == len(spent.epochs)


def test_the_study_never_sees_how_a_pruned_trial_would_have_ended(
    monkeypatch: pytest.MonkeyPatch, studies: list[Study]
) -> None:
    monkeypatch.setitem(PRUNERS, "third", lambda steps: StopAt(3))
    stopped = run("random+third", budget=6)
    assert stopped.epochs == (3,) * 18
    assert all(stopped.pruned)
    for trial, final in zip(studies[-1].trials, stopped.finals, strict=True):
        assert trial.state == TrialState.PRUNED
        assert list(trial.intermediate_values) == [1, 2, 3]
        assert trial.value == pytest.approx(final + STEPS / 3 - 1.0, abs=1e-7)  # Runs keep seven digits.
        assert final == pytest.approx((trial.params["x"] - 0.3) ** 2, abs=1e-7)


def test_the_pruner_is_not_asked_after_the_last_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRUNERS, "last", StopAt)
    assert not any(run("random+last", budget=6).pruned)


def test_a_run_is_read_back_from_its_file_and_not_missing(tmp_path: Path) -> None:
    task, other = (CurveTask("descent", f"random+{pruner}", 0, 2, 4) for pruner in ("median", "none"))
    record = run_curve_task(task)
    file = curve_file(tmp_path / "runs.jsonl")
    file.append([record])
    assert file.read() == [record]
    assert file.missing([task, other]) == [other]


def test_the_plan_goes_seed_by_seed_with_all_pairs_of_samplers_and_pruners() -> None:
    pytest.importorskip("sklearn")
    tasks, notes = plan_curves(
        ["schedule-scales"], ["random", "optuna-tpe"], ["none", "median"], [0, 1], 10, 40, None, ""
    )
    assert [(task.seed, task.method) for task in tasks[:5]] == [
        (0, "random+none"),
        (0, "random+median"),
        (0, "optuna-tpe+none"),
        (0, "optuna-tpe+median"),
        (1, "random+none"),
    ]
    assert (len(tasks), notes) == (8, [])


def test_problems_without_their_files_are_left_out_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.delenv("PELLUCID_DATA", raising=False)
    tasks, notes = plan_curves(["lcbench-3945"], ["random"], ["none"], [0], 10, 40, None, "")
    assert tasks == []
    assert notes[0].startswith("lcbench-3945: lcbench is skipped")


def test_other_samplers_and_pruners_and_impossible_numbers_are_refused() -> None:
    with pytest.raises(Mistake, match=r"--samplers takes some of pellucid, .*; got `smac`"):
        plan_curves(["schedule-scales"], ["smac"], ["none"], [0], 10, 40, None, "")
    with pytest.raises(Mistake, match=r"The pruners are none, .*; got `guess`"):
        plan_curves(["schedule-scales"], ["random"], ["guess"], [0], 10, 40, None, "")
    with pytest.raises(Mistake, match="has to exceed --init; got 10 and 10"):
        plan_curves(["schedule-scales"], ["random"], ["none"], [0], 10, 10, None, "")
