"""Runs on constrained problems: what they store, that methods start alike, and that the peers read constraints."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import suggest_all
from pellucid_lab.methods.samplers import find_method
from pellucid_lab.problems.constrained import constrained_problem
from pellucid_lab.runs.constrained import (
    CONSTRAINED_METHODS,
    ConstrainedTask,
    constrained_file,
    plan_constrained,
    run_constrained_task,
)


def test_methods_start_with_the_same_trials_and_a_run_repeats() -> None:
    runs = [
        run_constrained_task(ConstrainedTask("beam", method, 3, 8, 12))
        for method in ("random", "optuna-tpe", "optuna-tpe")
    ]
    starts = [(run.values[:8], [series[:8] for series in run.constraints.values()]) for run in runs]
    assert starts[0] == starts[1] == starts[2]
    assert runs[0].values[8:] != runs[1].values[8:]
    assert runs[1].values == runs[2].values
    assert list(runs[0].constraints) == list(
        constrained_problem("beam").evaluate(constrained_problem("beam").best).constraints
    )
    for run in runs:
        kept = [all(value <= 0 for value in row) for row in zip(*run.constraints.values(), strict=True)]
        assert list(run.feasible) == kept
        assert run.told == {}
        assert run.active == ("shear", "bending", "weld_width", "buckling")


def test_noise_is_told_to_the_study_and_not_stored_as_exact() -> None:
    tpe, random = (run_constrained_task(ConstrainedTask("truss", name, 0, 10, 14)) for name in ("optuna-tpe", "random"))
    assert set(tpe.told) == set(tpe.constraints)
    errors = {
        name: [told - exact for told, exact in zip(tpe.told[name], exact_series, strict=True)]
        for name, exact_series in tpe.constraints.items()
    }
    assert all(0.0 < abs(error) < 0.3 for series in errors.values() for error in series)
    assert all(tuple(tpe.told[name][:10]) == tuple(random.told[name][:10]) for name in tpe.told)


@pytest.mark.parametrize("method", ["optuna-tpe", "optuna-gp"])
def test_a_peer_reads_the_constraints_of_the_trials(method: str) -> None:
    """Two studies with the same trials, of which one has constraints, lead to different proposals."""
    if method == "optuna-gp":
        pytest.importorskip("torch")
    problem = constrained_problem("townsend")
    proposals = []
    for constrained in (True, False):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        for _ in range(8):
            trial = study.ask()
            evaluation = problem.evaluate(suggest_all(trial, problem.distributions))
            for name, value in evaluation.constraints.items() if constrained else ():
                trial.set_constraint(name, value)
            study.tell(trial, evaluation.value)
        study.sampler = find_method(method).make_sampler(5, 8, 1)
        proposals.append(suggest_all(study.ask(), problem.distributions))
    assert proposals[0] != proposals[1]


def test_a_run_is_read_back_from_its_file_and_not_missing(tmp_path: Path) -> None:
    task = ConstrainedTask("arc", "random", 0, 3, 5)
    run = run_constrained_task(task)
    file = constrained_file(tmp_path / "runs.jsonl")
    file.append([run])
    (again,) = file.read()
    assert (again.key, again.values, again.feasible, again.active) == (run.key, run.values, run.feasible, run.active)
    assert tuple(again.constraints["resonance"]) == run.constraints["resonance"]
    assert file.missing([task, ConstrainedTask("arc", "random", 0, 3, 6)]) == [
        ConstrainedTask("arc", "random", 0, 3, 6)
    ]


def test_the_plan_goes_seed_by_seed_with_methods_beside_each_other() -> None:
    tasks, notes = plan_constrained(["arc", "disk"], ["random", "optuna-tpe"], [0, 1], 10, 60, "")
    assert [(task.seed, task.problem, task.method) for task in tasks[:3]] == [
        (0, "arc", "random"),
        (0, "arc", "optuna-tpe"),
        (0, "disk", "random"),
    ]
    assert (len(tasks), notes) == (8, [])


def test_methods_that_ignore_constraints_and_impossible_numbers_are_refused() -> None:
    assert "smac" not in CONSTRAINED_METHODS
    with pytest.raises(Mistake, match=r"methods that read constraints: pellucid, .*; got `smac`"):
        plan_constrained(["arc"], ["smac"], [0], 10, 60, "")
    with pytest.raises(Mistake, match="has to exceed --init; got 10 and 10"):
        plan_constrained(["arc"], ["random"], [0], 10, 10, "")
    with pytest.raises(Mistake, match="The constrained problems are"):
        plan_constrained(["ark"], ["random"], [0], 10, 60, "")


def test_our_runs_keep_the_chances_that_receipts_stated_and_the_recommendation() -> None:
    run = run_constrained_task(ConstrainedTask("disk", "pellucid", 0, 5, 12))
    assert [trial for trial, _ in run.chances] == list(range(5, 12))
    assert all(0.0 <= chance <= 1.0 for _, chance in run.chances)
    assert run.recommended
    assert run.feasible[run.recommended[0]]
    assert run.verdict == ()  # Twelve trials are too few for one.
    assert run_constrained_task(ConstrainedTask("disk", "random", 0, 5, 6)).chances == ()
