"""Table arithmetic on runs written by hand: every expected number below can be checked on paper."""

import json
import math

import pytest

from pellucid_lab.runs.regret import RegretRun
from pellucid_lab.tables.regret import average_ranks, make_tables, regret_curve
from pellucid_lab.tables.regret_grids import regret_grids, regret_json, regret_markdown


def run(method: str, values: list[float], problem: str = "branin", seed: int = 0, **changes: object) -> RegretRun:
    fields = {
        "suite": "synthetic",
        "problem": problem,
        "method": method,
        "seed": seed,
        "n_init": 2,
        "n_steps": len(values) - 2,
        "direction": "minimize",
        "values": tuple(values),
        "ask_s": (0.0, 0.0, *[0.002] * (len(values) - 2)),
        "tell_s": (0.0, 0.0, *[0.001] * (len(values) - 2)),
        "optimum": 0.0,
        "optimum_is_exact": True,
        "date": "2026-01-01T00:00:00+00:00",
        "command": "pellucid bench regret --suite synthetic",
        "versions": {"optuna": "5.0.0"},
    }
    return RegretRun(**{**fields, **changes})


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert average_ranks([3.0, 1.0, 2.0]) == [3.0, 1.0, 2.0]
    assert average_ranks([1.0, 1.0, 2.0]) == [1.5, 1.5, 3.0]
    assert average_ranks([5.0, 5.0, 5.0]) == [2.0, 2.0, 2.0]
    assert average_ranks([2.0, 1.0, 2.0, 2.0]) == [3.0, 1.0, 3.0, 3.0]


def test_ranks_wins_and_regret() -> None:
    runs = [
        run("pellucid", [100, 10, 10, 1]),
        run("random", [100, 10, 10, 10]),
        run("optuna-gp", [100, 10, 10, 1]),
        run("pellucid", [100, 10, 10, 10], seed=1),
        run("random", [100, 10, 10, 10], seed=1),
        run("optuna-gp", [100, 10, 1, 0.1], seed=1),
    ]
    (table,) = make_tables(runs)
    rows = {row.method: row for row in table.rows}
    # Seed 0: 1.5, 1.5 and 3; seed 1: pellucid and random share 2.5 behind optuna-gp.
    assert {name: row.rank_all for name, row in rows.items()} == {
        "pellucid": 2.0,
        "random": 2.75,
        "optuna-gp": 1.25,
    }
    assert [row.method for row in table.rows] == ["optuna-gp", "pellucid", "random"]
    duels = {duel.method: (duel.wins, duel.ties, duel.losses) for duel in table.duels}
    assert duels == {"random": (1, 1, 0), "optuna-gp": (0, 1, 1)}
    assert table.duels[0].win_rate == 0.75
    assert math.isinf(table.duels[0].wins_per_loss)
    # Half of 4 evaluations is 2: log10 of 10. In the end log10 of 1 and of 10.
    assert rows["pellucid"].half_mean == 1.0
    assert rows["pellucid"].full_mean == 0.5
    assert rows["pellucid"].full_median == 0.5
    assert rows["pellucid"].ask_ms == pytest.approx(2.0)
    assert rows["pellucid"].sampler_s == pytest.approx(2 * 0.003)


def test_a_method_on_a_subset_is_ranked_on_the_shared_cells_only() -> None:
    runs = [
        run("pellucid", [9, 9, 1]),
        run("random", [9, 9, 2]),
        run("botorch", [9, 9, 3]),
        run("pellucid", [9, 9, 2], seed=1),
        run("random", [9, 9, 1], seed=1),
    ]
    (table,) = make_tables(runs)
    rows = {row.method: row for row in table.rows}
    assert (table.cells, table.common_cells) == (2, 1)
    assert (rows["pellucid"].rank_all, rows["random"].rank_all, rows["botorch"].rank_all) == (1.5, 1.5, None)
    assert (rows["pellucid"].rank_common, rows["botorch"].rank_common) == (1.0, 3.0)
    assert next(duel for duel in table.duels if duel.method == "botorch").cells == 1
    assert "Not every method ran everywhere" in regret_markdown([table])


def test_log10_regret_is_cut_so_that_solved_runs_tie() -> None:
    runs = [run("pellucid", [1, 1, 1e-12]), run("random", [1, 1, 1e-9])]
    (table,) = make_tables(runs)
    assert table.duels[0].ties == 1
    assert table.rows[0].full_mean == -8.0


def test_normalised_regret_is_relative_to_the_best_run_and_to_a_longer_search() -> None:
    known = {"suite": "rbv2_xgboost", "problem": "44", "direction": "maximize", "optimum_is_exact": False}
    pellucid_run = run("pellucid", [0.5, 0.6, 0.9], **known, optimum=1.1, anchor=0.1)
    random_run = run("random", [0.5, 0.6, 0.5], **known, optimum=1.1, anchor=0.1)
    (table,) = make_tables([pellucid_run, random_run])
    rows = {row.method: row for row in table.rows}
    assert rows["pellucid"].full_mean == 0.0
    assert rows["random"].full_mean == pytest.approx((0.9 - 0.6) / (0.9 - 0.1))
    assert rows["pellucid"].full_mean_with_search == pytest.approx((1.1 - 0.9) / (1.1 - 0.1))
    assert rows["random"].full_mean_with_search == pytest.approx((1.1 - 0.6) / (1.1 - 0.1))
    assert regret_curve(random_run, 0.9, "difference") == pytest.approx([0.4, 0.3, 0.3])


def test_one_table_per_suite_and_budget_and_the_reference_falls_back() -> None:
    tables = make_tables([run("random", [3, 2, 1]), run("optuna-tpe", [3, 2, 1, 0.5]), run("random", [3, 2, 1, 1])])
    assert [(table.n_init, table.n_steps, table.reference) for table in tables] == [
        (2, 1, "random"),
        (2, 2, "optuna-tpe"),
    ]


def test_mixed_versions_and_commands_are_all_named() -> None:
    first = run("pellucid", [3, 2, 1])
    second = run("random", [3, 2, 1], versions={"optuna": "4.9.0"}, command="pellucid bench regret again")
    text = regret_markdown(make_tables([first, second]))
    assert "optuna 5.0.0 and 4.9.0" in text
    assert "pellucid bench regret --suite synthetic\npellucid bench regret again" in text
    assert "| pellucid | 1 |" in text


def test_tables_survive_json_without_infinities() -> None:
    tables = make_tables([run("pellucid", [3, 2, 1]), run("random", [3, 2, 2])])
    (table,) = json.loads(json.dumps(regret_json(tables), allow_nan=False))
    assert table["duels"][0] == {"method": "random", "wins": 1, "ties": 0, "losses": 0, "win_rate": 1.0}
    assert regret_grids(tables[0])[1].rows[0][4] == "no loss"


def test_a_lucky_error_is_no_progress() -> None:
    noisy = run("random", [3.0, 1.0, 2.0, 0.5], observed=(3.0, 1.5, 0.2, 0.9))
    assert regret_curve(noisy, 0.0, "difference") == [3.0, 1.0, 2.0, 2.0]


def test_dimensions_and_levels_of_noise_have_tables_of_their_own() -> None:
    names = ["f01-i3-d2", "f02-i3-d2", "f01-i3-d5", "f01-i3-d5~0.5"]
    tables = make_tables([run("pellucid", [3, 2, 1], problem=name, suite="bbob") for name in names])
    assert [(table.regime, table.cells) for table in tables] == [("2-d", 2), ("5-d", 1), ("5-d, noise 0.5", 1)]
    assert regret_grids(tables[2])[0].title.startswith("bbob 5-d, noise 0.5, 2 + 1 evaluations")
