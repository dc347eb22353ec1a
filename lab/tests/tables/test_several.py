"""Tables of runs with several objectives, on runs written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pellucid_lab.runs.several import SeveralRun
from pellucid_lab.tables.several import Volumes, dominated, duel, largest_ask, late_ask, several_grids, several_page

# A square of size 10 with reference (10, 10): the volume of one trial at (a, b) is (10 - a)(10 - b), in hundredths.
Trial = tuple[float, float, bool]


def run(method: str, trials: list[Trial], problem: str = "square", seed: int = 0) -> SeveralRun:
    """``trials``: two values and whether they are feasible; the first is a start-up trial."""
    return SeveralRun(
        problem=problem,
        method=method,
        seed=seed,
        n_init=1,
        n_trials=len(trials),
        directions={"error": "minimize", "time": "minimize"},
        values={"error": tuple(trial[0] for trial in trials), "time": tuple(trial[1] for trial in trials)},
        feasible=tuple(trial[2] for trial in trials),
        ask_s=(9.0, *(0.002 * number for number in range(1, len(trials)))),
        reference=(10.0, 10.0),
        volume=100.0,
        versions={"optuna": "5.0.0"},
        machine="a machine",
        date="2026-01-01",
        command="pellucid bench moo",
    )


GOOD: list[Trial] = [(9.0, 9.0, True), (0.0, 0.0, False), (2.0, 5.0, True), (5.0, 2.0, True)]
POOR: list[Trial] = [(9.0, 9.0, True), (8.0, 8.0, True), (20.0, 1.0, True), (8.0, 5.0, True)]
NEVER: list[Trial] = [(9.0, 9.0, False)] * 4
RUNS = [
    run("pellucid", GOOD),
    run("optuna-gp", POOR),
    run("pellucid", NEVER, seed=1),
    run("optuna-gp", POOR, seed=1),
    run("pellucid", POOR, "other"),
    run("optuna-gp", POOR, "other"),
    run("random", NEVER),
]


def test_volume_counts_feasible_trials_within_the_reference() -> None:
    # 8 x 5 and 5 x 8 share 5 x 5; an infeasible trial and one beyond the reference count nothing.
    assert [dominated(run("pellucid", GOOD), n) for n in (1, 2, 3, 4)] == pytest.approx([0.01, 0.01, 0.4, 0.55])
    assert [dominated(run("pellucid", POOR), n) for n in (2, 3, 4)] == pytest.approx([0.04, 0.04, 0.1])
    assert dominated(run("pellucid", NEVER), 4) == 0.0


def test_an_objective_to_maximise_is_turned_round() -> None:
    good = run("pellucid", GOOD)
    mirrored = replace(
        good,
        directions={"accuracy": "maximize", "time": "minimize"},
        values={"accuracy": tuple(-value for value in good.values["error"]), "time": good.values["time"]},
        reference=(-10.0, 10.0),
    )
    assert dominated(mirrored, 4) == pytest.approx(0.55)


def test_the_time_of_an_ask_is_of_the_last_ones_and_the_largest_after_the_start() -> None:
    long = run("pellucid", [*GOOD[:1], *GOOD * 5])
    assert late_ask(long) == pytest.approx(0.002 * 15.5)
    assert largest_ask(long) == pytest.approx(0.04)


def test_duels_count_the_problems_and_seeds_that_both_have() -> None:
    against_gp = duel(Volumes.of(RUNS), "optuna-gp", 4)
    assert (against_gp.wins, against_gp.ties, against_gp.losses) == (1, 1, 1)
    against_random = duel(Volumes.of(RUNS), "random", 4)
    assert (against_random.wins, against_random.ties, against_random.losses) == (1, 0, 0)


@pytest.mark.parametrize(("time", "result"), [(2.0015, (0, 1, 0)), (2.01, (1, 0, 0)), (1.99, (0, 0, 1))])
def test_volumes_that_differ_by_less_than_a_ten_thousandth_tie(time: float, result: tuple[int, int, int]) -> None:
    other = [*GOOD[:3], (5.0, time, True)]
    row = duel(Volumes.of([run("pellucid", GOOD), run("random", other)]), "random", 4)
    assert (row.wins, row.ties, row.losses) == result


def test_volumes_are_compared_at_sixty_trials_and_at_the_end() -> None:
    late = run("pellucid", [*POOR * 20, *GOOD * 5])
    volumes = Volumes.of([late])
    assert volumes.budgets == (60, 100)
    assert volumes.shares[0] == pytest.approx((0.1, 0.55))
    assert Volumes.of(RUNS).budgets == (4,)


def test_grids_have_the_counts_and_means() -> None:
    methods, duels, by_problem, volumes, times = several_grids(RUNS)
    assert methods.title == "Methods, and their mean volume over 3 common runs"
    assert methods.rows[0] == ("pellucid", "3", "0.2167", "4.0", "6")
    assert methods.rows[1] == ("optuna-gp", "3", "0.1000", "4.0", "6")
    assert methods.rows[2] == ("random", "1", "–", "4.0", "6")
    assert duels.rows == (("optuna-gp", "1/1/1", "1.0"), ("random", "1/0/0", "no loss"))
    assert by_problem.rows == (("square", "1/0/1", "1/0/0"), ("other", "0/1/0", "–"))
    assert volumes.rows == (("square", "0.2750", "0.1000", "0.0000"), ("other", "0.1000", "0.1000", "–"))
    assert times.rows[1] == ("other", "4.0", "4.0", "–")


def test_means_are_over_the_runs_that_methods_on_every_problem_share() -> None:
    fewer_seeds = several_grids([each for each in RUNS if each.key[1:3] != ("optuna-gp", 1)])[0]
    assert fewer_seeds.title == "Methods, and their mean volume over 2 common runs"
    assert [row[2] for row in fewer_seeds.rows] == ["0.3250", "0.1000", "–"]


def test_without_our_runs_there_are_no_duels() -> None:
    grids = several_grids([each for each in RUNS if each.method != "pellucid"])
    assert len(grids) == 3
    assert not any("against" in grid.title for grid in grids)


def test_the_page_says_how_it_was_made() -> None:
    text = several_page(RUNS)
    assert "7 runs of 1 + 3 trials (problems: 2, seeds: 2)." in text
    assert "| optuna-gp | 1/1/1 | 1.0 |" in text
    assert text.endswith("2026-01-01 · optuna 5.0.0 · a machine\n")
    assert text.count("pellucid bench moo") == 1
