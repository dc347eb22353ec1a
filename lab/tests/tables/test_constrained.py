"""Tables of runs on constrained problems, on runs written by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pellucid_lab.runs.constrained import ConstrainedRun
from pellucid_lab.tables.constrained import (
    best_feasible,
    better_value,
    constrained_grids,
    constrained_page,
    duel,
    earlier_feasible,
    first_feasible,
    late_share,
    left,
    method_summary,
)


def run(method: str, trials: list[tuple[float, bool]], problem: str = "band", seed: int = 0) -> ConstrainedRun:
    """``trials``: values and whether they are feasible; the first two are start-up trials."""
    return ConstrainedRun(
        problem=problem,
        method=method,
        seed=seed,
        n_init=2,
        n_trials=len(trials),
        direction="minimize",
        values=tuple(value for value, _ in trials),
        constraints={"memory": tuple(-1.0 if feasible else 1.0 for _, feasible in trials)},
        feasible=tuple(feasible for _, feasible in trials),
        ask_s=(9.0, 9.0, *(0.002,) * (len(trials) - 2)),
        optimum=1.0,
        active=("memory",) if problem == "band" else (),
        versions={"optuna": "5.0.0"},
        machine="a machine",
        date="2026-01-01",
        command="pellucid bench constrained",
    )


GOOD = [(9.0, False), (8.0, False), (0.5, False), (3.0, True), (2.0, True), (4.0, True)]
LATE = [(9.0, False), (8.0, False), (0.1, False), (0.2, False), (0.3, False), (5.0, True)]
NEVER = [(9.0, False), (8.0, False), (0.1, False), (0.2, False), (0.3, False), (0.1, False)]
START = [(7.0, True), (8.0, False), (6.0, True), (6.5, True), (7.0, True), (0.1, False)]
RUNS = [
    run("pellucid", GOOD),
    run("optuna-gp", LATE),
    run("random", NEVER),
    run("pellucid", NEVER, seed=1),
    run("optuna-gp", NEVER, seed=1),
    run("random", LATE, seed=1),
    run("pellucid", START, "inside"),
    run("optuna-gp", START, "inside"),
]


def test_only_feasible_trials_count() -> None:
    good = run("pellucid", GOOD)
    assert [best_feasible(good, n) for n in (3, 4, 6)] == [None, 3.0, 2.0]
    assert best_feasible(replace(good, direction="maximize"), 6) == 4.0
    assert (first_feasible(good), first_feasible(run("random", NEVER))) == (4, math.inf)
    # Four proposals, fewer than those that are looked at otherwise: the start-up trials are not counted.
    assert (late_share(good), late_share(run("pellucid", START))) == (0.75, 0.75)
    long = [(1.0, True)] * 30 + [(1.0, False)] * 5 + [(1.0, True)] * 15
    assert late_share(run("random", long)) == 0.75


def test_a_run_without_a_feasible_trial_loses_and_two_of_them_tie() -> None:
    good, late, never = run("pellucid", GOOD), run("pellucid", LATE), run("pellucid", NEVER)
    assert [better_value(good, late), better_value(late, good), better_value(never, late)] == [1, -1, -1]
    assert (better_value(never, never), better_value(good, never)) == (0, 1)
    assert [earlier_feasible(good, late), earlier_feasible(late, good), earlier_feasible(never, never)] == [1, -1, 0]
    up = [replace(each, direction="maximize") for each in (good, late)]
    assert better_value(*up) == -1


@pytest.mark.parametrize(("value", "result"), [(2.0000001, 0), (2.00001, 1), (1.9999999, 0), (1.9999, -1)])
def test_values_that_agree_to_six_digits_tie(value: float, result: int) -> None:
    other = [*GOOD[:4], (value, True), GOOD[5]]
    assert better_value(run("pellucid", GOOD), run("random", other)) == result


def test_duels_count_the_problems_and_seeds_that_both_have() -> None:
    against_gp = duel(RUNS, "optuna-gp", better_value)
    assert (against_gp.wins, against_gp.ties, against_gp.losses) == (1, 2, 0)
    against_random = duel(RUNS, "random", better_value)
    assert (against_random.wins, against_random.ties, against_random.losses) == (1, 0, 1)
    first = duel(RUNS, "random", earlier_feasible)
    assert (first.wins, first.ties, first.losses) == (1, 0, 1)


def test_a_summary_separates_boundary_from_inside_and_starts_with_from_starts_without() -> None:
    ours = method_summary("pellucid", RUNS)
    assert (ours.runs, ours.never_feasible, ours.without_start) == (3, 1, 2)
    assert ours.first == math.inf  # The median of 4 and never.
    assert (ours.boundary_share, ours.inside_share) == (0.375, 0.75)
    assert ours.ask_ms == pytest.approx(2.0)
    only = method_summary("random", RUNS)
    assert (only.inside_share, only.boundary_share, only.first) == (None, 0.125, math.inf)


def test_grids_have_the_counts_and_medians() -> None:
    methods, duels, by_problem, half, end, first, shares = constrained_grids(RUNS)
    assert methods.rows[0] == ("pellucid", "3", "1", "– (2)", "38%", "75%", "2.0")
    assert methods.rows[2] == ("random", "2", "1", "– (2)", "12%", "–", "2.0")
    assert duels.rows == (
        ("optuna-gp", "1", "2", "0", "no loss", "1", "2", "0"),
        ("random", "1", "0", "1", "1.0", "1", "0", "1"),
    )
    assert by_problem.rows == (("band", "1/1/0", "1/0/1"), ("inside", "0/1/0", "–"))
    assert (half.title, end.title) == tuple(f"Median best feasible value after {n} trials" for n in (3, 6))
    assert end.rows == (("band (boundary)", "1", "–", "–", "–"), ("inside (inside)", "1", "6", "6", "–"))
    assert half.rows[1] == ("inside (inside)", "1", "6", "6", "–")
    assert first.rows[1] == ("inside (inside)", "1", "1", "1", "–")
    assert shares.rows[0] == ("band (boundary)", "1", "38%", "12%", "12%")


def test_medians_are_over_seeds_and_in_the_direction_of_the_problem() -> None:
    trials = [[*START[:2], (value, True), *START[3:]] for value in (6.0, 6.2, 7.5)]
    three = [run("random", each, "inside", seed) for seed, each in enumerate(trials)]
    assert constrained_grids(three)[2].rows == (("inside (inside)", "1", "6.2"),)
    upward = [replace(each, direction="maximize") for each in three]
    assert constrained_grids(upward)[2].rows == (("inside (inside)", "1", "7"),)


def test_without_our_runs_there_are_no_duels() -> None:
    grids = constrained_grids([each for each in RUNS if each.method != "pellucid"])
    assert len(grids) == 5
    assert not any("against" in grid.title for grid in grids)


def test_the_page_says_how_it_was_made() -> None:
    text = constrained_page(RUNS)
    assert "8 runs of 2 + 4 trials (problems: 2, seeds: 2)." in text
    assert "| optuna-gp | 1 | 2 | 0 | no loss | 1 | 2 | 0 |" in text
    assert text.endswith("2026-01-01 · optuna 5.0.0 · a machine\n")
    assert text.count("pellucid bench constrained") == 1


def test_stated_chances_stand_beside_what_happened() -> None:
    said = replace(run("pellucid", GOOD), chances=((2, 0.05), (3, 0.95), (4, 1.0), (5, 0.91)), recommended=(4, 0.98))
    grid = next(grid for grid in constrained_grids([said]) if grid.title == "Feasible with the chance that was said")
    assert grid.rows == (
        ("0% to 10%", "1", "5.0%", "0.0%"),
        ("90% to 100%", "3", "95.3%", "100.0%"),
        ("all proposals", "4", "72.8%", "75.0%"),
        ("recommendations", "1", "98.0%", "100.0%"),
    )
    assert not any("chance" in grid.title for grid in constrained_grids(RUNS))


def test_verdicts_stand_beside_what_was_left() -> None:
    """The optimum is 1; the runs reached 2, 5 and nothing."""
    right = replace(run("pellucid", GOOD), verdict=(True, 1.5, 1.2))
    wrong = replace(run("pellucid", LATE, seed=1), verdict=(True, 2.0, 3.0))
    goes_on = replace(run("pellucid", NEVER, "inside"), verdict=(False, 9.0, 0.1))
    assert [left(each) for each in (right, wrong, goes_on)] == [1.0, 4.0, math.inf]
    grid = next(grid for grid in constrained_grids([right, wrong, goes_on]) if grid.title.startswith("Can you stop"))
    assert grid.rows == (("boundary", "2", "2", "1", "1 of 2"), ("inside", "1", "0", "0", "0 of 1"))
