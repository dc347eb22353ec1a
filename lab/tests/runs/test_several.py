"""Runs with several objectives: what they store, that methods start alike, and that the peers read constraints."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import optuna
import pytest

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.methods.samplers import find_method
from pellucid_lab.problems.several import several_problem
from pellucid_lab.runs.several import SeveralTask, plan_several, run_several_task, several_file


def test_methods_start_with_the_same_trials_and_a_run_repeats() -> None:
    runs = [
        run_several_task(SeveralTask("tnk", method, 3, 8, 30)) for method in ("random", "optuna-nsga2", "optuna-nsga2")
    ]
    starts = [{name: series[:8] for name, series in run.values.items()} for run in runs]
    assert starts[0] == starts[1] == starts[2]
    assert runs[0].values["f1"][8:] != runs[1].values["f1"][8:]
    assert runs[1].values == runs[2].values
    problem = several_problem("tnk")
    assert (runs[0].reference, runs[0].volume, runs[0].directions) == (
        problem.reference,
        problem.volume,
        problem.directions,
    )
    for run in runs:
        configurations = [
            {"x1": x, "x2": y} for x, y in zip(run.values["f1"], run.values["f2"], strict=True)
        ]  # TNK has its parameters as objectives.
        assert list(run.feasible) == [problem.evaluate(each).feasible for each in configurations]
        assert run.told == {}


def test_noise_is_told_to_the_study_and_not_stored_as_exact() -> None:
    tpe, random = (run_several_task(SeveralTask("vlmop2-noisy", name, 0, 10, 12)) for name in ("optuna-tpe", "random"))
    for name, exact in tpe.values.items():
        errors = [told - value for told, value in zip(tpe.told[name], exact, strict=True)]
        assert all(0.0 < abs(error) < 0.25 for error in errors)
        assert tuple(tpe.told[name][:10]) == tuple(random.told[name][:10])


@pytest.mark.parametrize("method", ["optuna-tpe", "optuna-nsga2"])
def test_a_peer_reads_the_constraints_of_the_trials(method: str) -> None:
    """Two studies with the same trials, of which one has constraints, lead to different proposals."""
    problem = several_problem("tnk")
    proposals = []
    for constrained in (True, False):
        study = optuna.create_study(directions=list(problem.directions.values()))
        study.sampler = find_method(method).make_sampler(5, 10, 1)
        for _ in range(25):
            trial = study.ask()
            outcomes = problem.evaluate(problem.suggest(trial))
            for name, value in outcomes.constraints.items() if constrained else ():
                trial.set_constraint(name, value)
            study.tell(trial, list(outcomes.values.values()))
        proposals.append(problem.suggest(study.ask()))
    assert proposals[0] != proposals[1]


def test_a_run_is_read_back_from_its_file_and_not_missing(tmp_path: Path) -> None:
    task = SeveralTask("shifted-dtlz2", "random", 0, 3, 5)
    run = run_several_task(task)
    file = several_file(tmp_path / "runs.jsonl")
    file.append([run])
    (again,) = file.read()
    assert (again.key, again.reference, again.feasible, again.directions) == (
        run.key,
        run.reference,
        run.feasible,
        run.directions,
    )
    assert {name: tuple(series) for name, series in again.values.items()} == run.values
    longer = replace(task, n_trials=6)
    assert file.missing([task, longer]) == [longer]


def test_a_run_needs_every_series_whole_and_finite() -> None:
    run = run_several_task(SeveralTask("tnk", "random", 0, 3, 5))
    with pytest.raises(ValueError, match="every series needs 5 entries"):
        replace(run, values={**run.values, "f1": run.values["f1"][:4]})
    with pytest.raises(ValueError, match="every series has to be finite"):
        replace(run, ask_s=(float("nan"), *run.ask_s[1:]))
    with pytest.raises(ValueError, match="every objective needs"):
        replace(run, reference=(1.0,))


def test_the_plan_goes_seed_by_seed_with_methods_beside_each_other() -> None:
    tasks, notes = plan_several(["tnk", "zdt1"], ["random", "optuna-tpe"], [0, 1], 10, 100, None, "")
    assert [(task.seed, task.problem, task.method) for task in tasks[:3]] == [
        (0, "tnk", "random"),
        (0, "tnk", "optuna-tpe"),
        (0, "zdt1", "random"),
    ]
    assert (len(tasks), notes) == (8, [])


def test_problems_without_their_data_are_left_out_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.delenv("PELLUCID_DATA", raising=False)
    tasks, (note,) = plan_several(["rbv2-46", "zdt1"], ["random"], [0], 10, 100, None, "")
    assert [task.problem for task in tasks] == ["zdt1"]
    assert note.startswith("rbv2-46: rbv2_xgboost is skipped: it needs model.onnx")


def test_a_method_without_constraints_and_conditions_skips_such_problems() -> None:
    if find_spec("botorch") is None:
        pytest.skip("needs BoTorch")
    tasks, notes = plan_several(["tnk", "zdt1"], ["botorch-front", "random"], [0], 10, 100, None, "")
    assert [(task.problem, task.method) for task in tasks] == [
        ("tnk", "random"),
        ("zdt1", "botorch-front"),
        ("zdt1", "random"),
    ]
    assert notes == ["botorch-front reads no constraints and takes no conditional spaces: tnk skipped."]


def test_methods_for_one_objective_and_impossible_numbers_are_refused() -> None:
    with pytest.raises(Mistake, match=r"methods that read several objectives: pellucid, .*; got `sawei`"):
        plan_several(["tnk"], ["sawei"], [0], 10, 100, None, "")
    with pytest.raises(Mistake, match="has to exceed --init; got 10 and 10"):
        plan_several(["tnk"], ["random"], [0], 10, 10, None, "")
    with pytest.raises(Mistake, match="The problems with several objectives are"):
        plan_several(["zdt5"], ["random"], [0], 10, 100, None, "")
