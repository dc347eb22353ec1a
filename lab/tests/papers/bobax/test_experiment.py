"""Problems with known effects, the runs on them, and their tables."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from lab.tests.helpers import needs_yahpo

from pellucid.numerics import low_discrepancy
from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.papers.bobax.experiment import METHODS, EffectRun, EffectTask, effect_file, sizes_of
from pellucid_lab.papers.bobax.runs import plan, run_effect_task
from pellucid_lab.papers.bobax.source import fixed_hyperparameters
from pellucid_lab.papers.bobax.tables import coverage_tables, markdown, relative, tables_of
from pellucid_lab.problems.effects import FUNCTIONS, LCBENCH_SPACE, grid_of, known_effects
from pellucid_lab.problems.functions import SYNTHETIC
from pellucid_lab.runs.runner import run_missing


@pytest.mark.parametrize("name", FUNCTIONS)
def test_true_effects_are_averages_of_the_function(name: str) -> None:
    problem = known_effects(name)
    for column in (0, problem.dimension - 1):
        grid = grid_of(problem.space, column)
        truth = problem.effect(column, grid)
        X = low_discrepancy(0, 20_000, np.full(problem.dimension, 0.3))
        X[:, column] = grid[7]
        values = problem.losses(X)
        assert truth[7] == pytest.approx(values.mean(), abs=0.02 * values.std())
    assert problem.optimum <= problem.losses(X).min()


def test_functions_are_those_of_the_suite() -> None:
    """At their known minimisers, in the units of their boxes."""
    for name, x, value in (
        ("branin", (math.pi, 2.275), 0.397887),
        ("camel", (0.0898, -0.7126), -1.031628),
        ("hartmann3", (0.114614, 0.555649, 0.852547), -3.86278),
        ("hartmann6", (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573), -3.32237),
        ("styblinski-tang", (-2.903534,) * 3, -117.4985),
    ):
        low, high = np.array(SYNTHETIC[name][1], dtype=float).T
        encoded = (np.array(x) - low) / (high - low)
        assert known_effects(name).losses(encoded[None])[0] == pytest.approx(value, rel=1e-4)


def test_an_unknown_problem_is_an_error_that_lists_the_known_ones() -> None:
    for name in ("rosenbrock", "lcbench-1", "lcbench"):
        with pytest.raises(Mistake, match=f"branin.*lcbench-TASK.*got `{name}`"):
            known_effects(name)


@needs_yahpo
def test_networks_have_effects_on_their_grids() -> None:
    problem = known_effects("lcbench-3945")
    assert problem.space.names == tuple(LCBENCH_SPACE)
    X = problem.space.canonical(np.random.default_rng(0).random((200, 5)))
    losses = problem.losses(X)
    assert ((losses > 0) & (losses < 1)).all()
    grid = grid_of(problem.space, 2)
    assert len(grid) == 20
    truth = problem.effect(2, grid)
    X[:, 2] = grid[3]
    assert truth[3] == pytest.approx(problem.losses(X).mean(), abs=0.03)
    with pytest.raises(ValueError, match="grid_of"):
        problem.effect(2, np.linspace(0, 1, 7))


def test_fixed_hyperparameters_are_most_likely_and_always_the_same() -> None:
    h = fixed_hyperparameters("branin")
    assert h.kernel == "se"
    assert h == fixed_hyperparameters.__wrapped__("branin")
    assert h.lengthscales[0] == pytest.approx(0.266, rel=0.05)
    assert h.noise / h.outputscale == pytest.approx(1e-10, rel=1e-3)


def test_plans_have_every_method_on_every_problem() -> None:
    for experiment, methods in METHODS.items():
        tasks = plan(experiment, (0, 1), None, "pellucid reproduce bobax")
        problems = 15 if experiment.endswith("lcbench") else 5
        assert len({task.key for task in tasks}) == len(tasks) == 2 * problems * len(methods)


@pytest.mark.parametrize("method", ["bobax-2", "bobax-prob", "eibax-20", "ei-rs-2", "lcb-2", "pvar", "rs"])
def test_a_run_by_the_protocol_of_the_source(method: str) -> None:
    run = run_effect_task(EffectTask("source", "branin", method, 0))
    assert run.sizes == (15, 30, 40, 45, 60)
    assert len(run.d) == len(run.d_sample) == len(run.regret) == 5
    assert all(a >= b >= 0 for a, b in zip(run.regret[:-1], run.regret[1:], strict=True))
    assert run.d[-1] < run.d[0]


@pytest.mark.parametrize("method", ["rs", "ei-rs-2", "bobax-2", "bobax-all"])
def test_a_run_with_our_sampler(method: str) -> None:
    run = run_effect_task(EffectTask("fitted", "branin", method, 0))
    assert run.sizes == sizes_of(known_effects("branin"))
    assert all(0 <= c <= 1 for c in (*run.coverage, *run.raw_coverage, *run.coverage_first))
    assert all(a >= b > 0 for a, b in zip(run.half_width, run.raw_half_width, strict=True))
    assert len(run.curves) == len(run.sizes)
    assert len(run.curves[0]) == 3
    assert len(run.truth) == 20


def test_runs_are_kept_and_failures_are_reported(tmp_path: Path) -> None:
    """In real worker processes; the runner has its own tests."""
    file = effect_file(tmp_path / "runs.jsonl")
    # With our sampler: for the paper's protocol every new process would fit hyperparameters for seconds.
    tasks = [EffectTask("fitted", "branin", method, 0) for method in ("rs", "ei-rs-2")]
    impossible = EffectTask("fitted", "branin", "lcb-x", 0)
    failures = run_missing("fitted", run_effect_task, [*tasks, impossible], file, 2, quiet=True)
    assert [(failure.task, failure.error) for failure in failures] == [(impossible, "KeyError: 'lcb-x'")]
    assert {run.key for run in file.read()} == {task.key for task in tasks}


# ---------------------------------------------------------------------- tables


def made_up(experiment: str, methods: dict[str, float], seeds: int = 4) -> list[EffectRun]:
    """Runs whose errors and regrets are a method's factor times a number of the problem and the seed."""
    runs = []
    problems = ["lcbench-3945", "lcbench-7593"] if experiment.endswith("lcbench") else ["branin", "hartmann3"]
    for p, problem in enumerate(problems):
        budget = 150 if "lcbench" in problem else (60, 90)[p]
        sizes = tuple(sorted({math.ceil(q * budget) for q in (0.25, 0.5, 2 / 3, 0.75, 1.0)}))
        for method, factor in methods.items():
            for seed in range(seeds):
                values = tuple(factor * (1 + p) * (1 + 0.1 * seed) / n for n in sizes)
                runs.append(
                    EffectRun(
                        experiment,
                        problem,
                        method,
                        seed,
                        sizes,
                        values,
                        values,
                        values,
                        coverage=(0.9,) * 5,
                        raw_coverage=(0.5,) * 5,
                        coverage_first=(0.9,) * 5,
                        half_width=(0.3,) * 5,
                        raw_half_width=(0.2,) * 5,
                        reached=int(10 * factor),
                        raw_reached=None,
                        best=0.1 * factor,
                        versions={"python": "3"},
                        machine="m",
                        date="d",
                        command="c",
                    )
                )
    return runs


def test_relative_numbers_are_ratios_of_means_over_seeds() -> None:
    runs = made_up("source", {"rs": 1.0, "ei": 2.0, "bobax-2": 0.5})
    assert relative(runs, "bobax-2", "rs", lambda run: run.d) == pytest.approx([-0.5] * 4)
    assert relative(runs, "ei", "rs", lambda run: run.d) == pytest.approx([1.0] * 4)
    errors, exact, regret, finals, by_problem, ranks = tables_of("source", runs)
    assert by_problem.rows[-1] == ("mean", *("-0.50 ± 0.00",) * 4)
    assert finals.columns == ("problem", "rs", "ei", "bobax-2")
    assert finals.rows[0] == ("branin", "0.019", "0.038", "0.0096")
    assert errors.rows[2][0] == "bobax-2"
    assert errors.rows[2][1].startswith("-0.50")
    assert errors.rows[2][1].endswith("*")
    assert regret.rows[2][1] == "-0.75*"
    assert ranks.rows[0] == ("bobax-2", "1.00", "1.00", "1.00", "1.00")
    assert exact.columns == errors.columns
    text = markdown("source", runs)
    assert "| bobax-2 | -0.50" in text
    assert "```sh\nc\n```" in text


def test_methods_with_missing_runs_are_left_out_of_comparisons() -> None:
    runs = made_up("source", {"rs": 1.0, "ei": 2.0, "bobax-2": 0.5})
    assert [row[0] for row in tables_of("source", runs[:-1])[0].rows] == ["rs", "ei"]


def test_networks_report_evaluations_until_the_tolerance() -> None:
    (table,) = tables_of("source-lcbench", made_up("source-lcbench", {"rs": 1.0, "ei": 2.0, "a-bobax": 0.5}))
    by_method = {row[0]: row for row in table.rows}
    assert by_method["a-bobax"][1:4] == ("5.0*", "150.0*", "0 / 8")
    assert by_method["ei"][5] == "20.00"


def test_problems_have_equal_weight_in_coverage() -> None:
    runs = made_up("fitted", {"rs": 1.0, "ei": 1.0, "bobax-2": 1.0}) + made_up(
        "fitted-lcbench", {"rs": 1.0, "a-bobax": 1}
    )
    runs = [
        dataclasses.replace(r, coverage=(0.6,) * 5) if r.problem == "branin" and r.method == "ei" else r for r in runs
    ]
    overall, by_problem = coverage_tables(runs)
    rows = {row[0]: row for row in overall.rows if row[2] == "≥ 20 d"}
    assert rows["**EI**"][3:] == ("75.0%", "50.0%", "0.300", "0.200", "1.50")
    assert rows["**mean of these designs**"][3] == f"{(0.9 + 0.75 + 0.9 + 0.9) / 4:.1%}"
    assert by_problem.rows[0][:3] == ("branin", "90%", "60%")
