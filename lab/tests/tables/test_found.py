"""Shares of runs that found the best branch, on runs written by hand."""

import json

import pytest

from pellucid_lab.runs.regret import RegretRun
from pellucid_lab.tables.found import evaluations_to_target, family_of, found_branches, found_grid
from pellucid_lab.tables.regret import make_tables
from pellucid_lab.tables.regret_grids import regret_grids, regret_json, regret_markdown


def run(method: str, problem: str, found_at: int | None, budget: int = 60, **changes: object) -> RegretRun:
    values = [1.0 if found_at is None or number < found_at else 0.1 for number in range(1, budget + 1)]
    fields = {
        "suite": "choices",
        "problem": problem,
        "method": method,
        "seed": 0,
        "n_init": 10,
        "n_steps": budget - 10,
        "direction": "minimize",
        "values": tuple(values),
        "ask_s": (0.0,) * budget,
        "tell_s": (0.0,) * budget,
        "optimum": 0.0,
        "optimum_is_exact": True,
        "target": 0.5,
    }
    return RegretRun(**{**fields, **changes})


def test_shares_per_method_for_all_families_and_for_each() -> None:
    runs = [
        run("random", "kernels-1", 30),
        run("random", "kernels-2", 31),
        run("random", "half-dozen-1", None),
        run("random", "half-dozen-2", 60),
        run("optuna-tpe", "kernels-1", 1),
    ]
    found = found_branches(runs)
    assert found is not None
    assert found.moments == (30, 40, 60)
    assert [(row.family, row.method, row.runs, row.shares) for row in found.rows] == [
        ("all", "random", 4, (0.25, 0.5, 0.75)),
        ("all", "optuna-tpe", 1, (1.0, 1.0, 1.0)),
        ("kernels", "random", 2, (0.5, 1.0, 1.0)),
        ("kernels", "optuna-tpe", 1, (1.0, 1.0, 1.0)),
        ("half-dozen", "random", 2, (0.0, 0.0, 0.5)),
    ]
    assert found_grid(found).rows[0] == ("all", "random", "4", "25%", "50%", "75%")


@pytest.mark.parametrize(
    ("budget", "moments"), [(12, (12,)), (30, (30,)), (100, (30, 40, 60, 80, 100)), (50, (30, 40, 50))]
)
def test_moments_end_with_the_budget(budget: int, moments: tuple[int, ...]) -> None:
    found = found_branches([run("random", "kernels-1", None, budget)])
    assert found is not None
    assert found.moments == moments


def test_a_target_is_beaten_not_met_and_in_the_direction_of_the_run() -> None:
    assert evaluations_to_target(run("random", "kernels-1", 12)) == 12
    assert evaluations_to_target(run("random", "kernels-1", 12, target=0.1)) is None
    assert evaluations_to_target(run("random", "kernels-1", 12, direction="maximize")) == 1


def test_names_of_families() -> None:
    names = ["kernels-2", "half-dozen-100", "kernels-2*1000", "branin"]
    assert [family_of(name) for name in names] == ["kernels", "half-dozen", "kernels", "branin"]


def test_the_table_is_shown_if_a_problem_has_a_target_and_left_out_otherwise() -> None:
    title = "Share of runs that found the best branch"
    with_target = make_tables([run("random", "kernels-1", 12), run("optuna-tpe", "kernels-1", 40)])
    assert regret_grids(with_target[0])[-1].title.startswith(title)
    assert "| kernels | optuna-tpe | 1 | 0% | 100% | 100% |" in regret_markdown(with_target)
    (table,) = json.loads(json.dumps(regret_json(with_target), allow_nan=False))
    assert table["found"]["moments"] == [30, 40, 60]
    without = make_tables([run("random", "branin", 12, suite="synthetic", target=None)])
    assert without[0].found is None
    assert title not in regret_markdown(without)
