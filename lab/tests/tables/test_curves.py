"""Tables of runs with pruners, on runs written by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pellucid_lab.runs.curves import CurveRun
from pellucid_lab.tables.curves import (
    against_best,
    beyond_search,
    common,
    counted,
    curve_grids,
    curve_page,
    lost,
    method_summary,
    questions,
    regrets,
    saving,
    seconds,
)


def run(method: str, trials: list[tuple[int, float]], problem: str = "lcbench-3945", seed: int = 0) -> CurveRun:
    """``trials``: epochs of 4, and the value at the end of them; there are 4 complete trainings in the budget."""
    return CurveRun(
        problem=problem,
        method=method,
        seed=seed,
        n_init=1,
        budget=4,
        direction="maximize",
        steps=4,
        optimum=0.9,
        epochs=tuple(epochs for epochs, _ in trials),
        finals=tuple(final for _, final in trials),
        pruned=tuple(epochs < 4 for epochs, _ in trials),
        ask_s=(9.0, *(0.002,) * (len(trials) - 1)),
        prune_s=(0.001,) * len(trials),
        train_s=(1.0,) * len(trials),
        versions={"optuna": "5.0.0"},
        machine="a machine",
        date="2026-01-01",
        command="pellucid bench curves",
    )


PLAIN = [(4, 0.5), (4, 0.7), (4, 0.6), (4, 0.8)]
# Complete after 4, 9 and 14 epochs; the third trial is pruned and would have won; the last ends after the budget.
EARLY = [(4, 0.5), (1, 0.1), (4, 0.8), (1, 0.85), (4, 0.6), (4, 0.89)]
NEVER = [(1, 0.5)] * 16


def test_regret_counts_complete_trials_from_the_epoch_at_which_they_end() -> None:
    plain, early = regrets(run("random+none", PLAIN)), regrets(run("random+median", EARLY))
    assert plain == pytest.approx(np.repeat([math.inf, 0.4, 0.2, 0.1], [3, 4, 8, 1]))
    assert early == pytest.approx(np.repeat([math.inf, 0.4, 0.1], [3, 5, 8]))
    assert np.all(np.isinf(regrets(run("random+sha", NEVER))))
    down = replace(run("random+none", PLAIN), direction="minimize", optimum=0.45)
    assert regrets(down)[-1] == pytest.approx(0.05)


def test_the_best_known_value_is_that_of_the_search_or_of_any_trial_of_the_problem() -> None:
    pruned = run("random+median", [(4, 0.5), (1, 0.95)])
    runs = [pruned, run("random+none", PLAIN), run("random+none", PLAIN, "lcbench-7593")]
    assert [each.optimum for each in against_best(runs)] == [0.95, 0.95, 0.9]
    down = [replace(each, direction="minimize", optimum=0.55) for each in runs]
    assert [each.optimum for each in against_best(down)] == [0.5, 0.5, 0.5]
    # Of the cells that both methods have.
    assert beyond_search(runs) == pytest.approx(0.05)
    assert "would be smaller by 0.0500 (lcbench)." in curve_page(runs)


def test_a_trial_that_ends_after_the_budget_is_not_counted() -> None:
    assert (counted(run("random+median", EARLY)), counted(run("random+none", PLAIN))) == (5, 4)


def test_a_winner_is_lost_if_a_pruned_trial_would_have_ended_best() -> None:
    assert lost(run("random+median", EARLY)) == pytest.approx(0.05)
    assert lost(run("random+none", PLAIN)) == 0.0
    assert lost(run("random+median", [(4, 0.5), (1, 0.4), (4, 0.6)])) == 0.0
    assert lost(run("random+sha", NEVER)) == math.inf
    assert lost(replace(run("random+median", EARLY), direction="minimize")) == pytest.approx(0.4)


def test_the_pruner_was_asked_after_every_epoch_but_the_last_of_complete_trials() -> None:
    assert questions(run("random+none", PLAIN)) == 12
    assert questions(run("random+median", EARLY)) == 4 * 3 + 2


def test_seconds_grow_to_those_of_the_budget() -> None:
    spent = seconds(run("random+none", PLAIN))
    assert len(spent) == 16
    assert spent[3] == pytest.approx(9.0 + 0.001 + 1.0)
    assert spent[-1] == pytest.approx(9.0 + 3 * 0.002 + 4 * 1.001)


def test_a_summary_has_means_over_the_runs() -> None:
    runs = [run("random+median", EARLY), run("random+median", PLAIN, seed=1)]
    row = method_summary("random+median", runs)
    assert (row.runs, row.winners) == (2, 0.5)
    assert row.regrets == pytest.approx((0.4, 0.3, 0.1))
    assert row.lost == pytest.approx(0.025)
    assert (row.trials, row.epochs_per_trial) == (5.0, pytest.approx(34 / 10))
    assert row.ask_ms == pytest.approx(2.0)
    assert row.prune_ms == pytest.approx(10 / 26)


def test_a_saving_is_measured_against_the_same_sampler_without_a_pruner() -> None:
    runs = [run("random+none", PLAIN), run("random+median", EARLY), run("random+sha", NEVER), run("ei+sha", PLAIN)]
    saved = saving("random+median", runs)
    assert saved is not None
    assert saved.epochs == pytest.approx(9 / 16)
    assert saved.seconds == pytest.approx((9.0 + 2 * 0.002 + 3 * 1.001) / (9.0 + 3 * 0.002 + 4 * 1.001))
    never = saving("random+sha", runs)
    assert never is not None
    assert (never.epochs, never.seconds) == (None, None)
    assert saving("ei+sha", runs) is None


def test_methods_are_compared_on_the_cells_that_all_have() -> None:
    runs = [run("random+none", PLAIN), run("random+median", EARLY), run("random+none", PLAIN, seed=1)]
    assert common(runs) == runs[:2]
    assert common(runs[:1]) == runs[:1]
    methods, savings, quarter, half, full = curve_grids(runs)
    assert methods.title == "lcbench: methods on 1 cells (problem × seed)"
    assert methods.columns[:4] == ("method", "regret@4", "regret@8", "regret@16")
    assert methods.rows == (
        ("random+none", "0.4000", "0.2000", "0.1000", "0%", "0.0000", "4", "4.0", "2.0", "0.33"),
        ("random+median", "0.4000", "0.4000", "0.1000", "100%", "0.0500", "6", "3.0", "2.0", "0.43"),
    )
    assert savings.rows == (("random+median", "56%"),)
    assert (quarter.rows[1][1], half.rows[1][1], full.rows[0][1]) == ("0.4000", "0.4000", "0.1000")


def test_families_have_tables_of_their_own_and_what_is_missing_is_a_dash() -> None:
    runs = [run("random+none", PLAIN), run("random+sha", NEVER)]
    runs += [run(f"random+{pruner}", EARLY, "schedule-scales") for pruner in ("none", "median")]
    titles = [grid.title.partition(":")[0] for grid in curve_grids(runs)]
    assert titles == ["lcbench"] * 5 + ["trainings"] * 5
    assert curve_grids(runs)[0].rows[1][1:6] == ("–", "–", "–", "100%", "–")
    assert curve_grids(runs)[1].rows == (("random+sha", "never"),)
    assert curve_grids(runs)[6].rows == (("random+median", "56% (83%)"),)


def test_the_page_says_how_it_was_made() -> None:
    text = curve_page([run("random+none", PLAIN), run("random+median", EARLY)])
    assert "2 runs with the epochs of 4 complete trainings (problems: 1, seeds: 1)." in text
    assert text.endswith("2026-01-01 · optuna 5.0.0 · a machine\n")
    assert text.count("pellucid bench curves") == 1
