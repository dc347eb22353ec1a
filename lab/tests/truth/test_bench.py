"""The truth bench from a study to its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from lab.tests.helpers import call

from pellucid.answers.effects.records import Cost
from pellucid.answers.stop.records import HoldKind
from pellucid_lab.truth import decisions, measures, rates, studies, tables
from pellucid_lab.truth.measures import TruthRun, run_truth_task
from pellucid_lab.truth.studies import TruthTask, first_trials, study_of


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of 30 trials, asked at the end."""
    monkeypatch.setattr(studies, "N_TRIALS", 30)
    for module in (measures, rates, tables):
        monkeypatch.setattr(module, "SIZES", (30,))
    monkeypatch.setattr(measures, "STOP_SIZES", (30,))
    monkeypatch.setattr(measures, "FANOVA_SIZES", (30,))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("problem", "sampler"), [("leader", "pellucid"), ("models", "random")])
def test_a_study_is_asked_everything(problem: str, sampler: str, tmp_path: Path) -> None:
    run = run_truth_task(TruthTask(problem, True, sampler, 0, str(tmp_path)))
    answers = run.answers["30"]
    assert {"importance", "recommendation", "dependence", "ranges", "calibration"} <= set(answers)
    assert ("explanation" in answers) == (sampler == "pellucid")
    assert (len(run.receipts) > 15) == (sampler == "pellucid")
    assert len(run.stops) == 1
    assert TruthRun(**json.loads(json.dumps(vars(run)))).key == run.key
    titles = [grid.title for grid in tables.truth_grids([run])]
    assert len(titles) == len(set(titles))


@pytest.mark.usefixtures("short")
def test_a_study_of_another_sampler_is_kept_and_read_again(tmp_path: Path) -> None:
    task = TruthTask("leader", True, "random", 3, str(tmp_path))
    first, again = study_of(task), study_of(task)
    assert len(list(tmp_path.iterdir())) == 1
    assert [trial.params for trial in first.trials] == [trial.params for trial in again.trials]
    assert [trial.value for trial in first.trials] == [trial.value for trial in again.trials]
    assert len(first_trials(first, first.get_trials(deepcopy=False), 7).trials) == 7


@pytest.mark.usefixtures("short")
def test_noise_is_the_same_for_every_sampler_and_exact_studies_have_none() -> None:
    exact = study_of(TruthTask("leader", False, "random", 0))
    problem = studies.find_problem("leader")
    assert all(problem.value(trial.params) == trial.value for trial in exact.trials)
    noisy = study_of(TruthTask("leader", True, "random", 0))
    assert all(problem.value(trial.params) != trial.value for trial in noisy.trials)


def run_with(answers: dict[str, object], stops: tuple[tuple[object, ...], ...] = ()) -> TruthRun:
    return TruthRun("border", True, "pellucid", 0, {"60": answers}, stops=stops)


def test_a_perfect_and_a_reversed_ranking_have_correlations_of_one_and_minus_one() -> None:
    order = sorted(tables.known.indices("border"), key=lambda index: index.total)
    right = {index.name: float(place) for place, index in enumerate(order)}
    assert tables.agreement("border", right) == ([pytest.approx(1.0)], [1.0])
    assert tables.agreement("border", {name: -place for name, place in right.items()})[0][0] == pytest.approx(-1.0)


def test_the_first_stop_counts() -> None:
    rows = (
        (30, False, 0.2, 0.1, False, 0.1, 0.5),
        (40, True, 0.05, 0.1, False, 0.1, 0.3),
        (50, True, 0, 0.1, True, 0.1, 0.0),
    )
    run = run_with({}, rows)
    assert decisions.first_stop(run, 1, 3) == (40, 0.1, 0.3)
    assert decisions.first_stop(run, 4, 5) == (50, 0.1, 0.0)


def test_widening_is_worth_it_only_at_the_ends_behind_which_values_are_better() -> None:
    assert ("rounds", "upper") in decisions.worth_widening("border")
    assert ("eta", "lower") not in decisions.worth_widening("border")


def test_unknown_problems_and_samplers_are_refused_with_their_names() -> None:
    for arguments, word in ((("--problems", "nonsense"), "nonsense"), (("--samplers", "botorch"), "botorch")):
        result = call("bench", "truth", *arguments)
        assert result.exit_code == 2
        assert word in result.output


def grid_rows(runs: list[TruthRun], title: str) -> dict[str, tuple[str, ...]]:
    grid = next(grid for grid in tables.truth_grids(runs) if grid.title.startswith(title))
    return {row[0]: tuple(row[1:]) for row in grid.rows}


def test_stops_are_counted_by_problem_and_in_all() -> None:
    wrong = run_with({}, ((40, True, 0.05, 0.1, False, 0.1, 0.3, None),))
    right = TruthRun("narrow", True, "random", 0, {}, stops=((40, True, 0.05, 0.1, True, 0.1, 0.0, None),))
    by_problem = grid_rows([wrong, right], "Stopping: wrong stops")
    assert by_problem["border"] == ("1 of 1 (1)", "0 of 0 (0)", "0 of 0 (1)", "0 of 0 (0)")
    assert by_problem["narrow"] == ("0 of 0 (0)", "0 of 1 (1)", "0 of 0 (0)", "0 of 1 (1)")
    every = grid_rows([wrong, right], "Stopping: regret above")
    assert every["given tolerance, all"][:2] == ("2 of 2", "0.500 ± 0.354")


def test_predicted_trials_are_compared_with_those_it_took() -> None:
    rows = (
        (30, False, 0.4, 0.1, False, 0.1, 0.5, 40, []),
        (40, False, 0.2, 0.1, False, 0.1, 0.3, None, []),
        (50, True, 0.05, 0.1, True, 0.1, 0.0, None, []),
    )
    came = grid_rows([run_with({}, rows)], "Stopping: “roughly N")
    assert came["noisy"] == ("2.00", "1.000 ± 0.000 (1)", "0", "1.000 ± 0.000 (1)")
    never = grid_rows([run_with({}, rows[:2])], "Stopping: “roughly N")
    assert never["noisy"] == ("–", "– (0)", "1", "0.000 ± 0.000 (1)")


def test_a_verdict_of_calibration_is_compared_with_the_predictions_after_it() -> None:
    answers = {"60": {"calibration": ["trust", "receipts", 0.95, 50]}}
    receipts = ((59, 9.0), (60, 0.5), (61, -2.5), (89, 1.0), (90, 9.0))
    run = TruthRun("border", True, "pellucid", 0, answers, receipts=receipts)
    assert grid_rows([run], "Calibration")["trust"] == ("1", "0.667 ± 0.272 (3)", "1.000 ± 0.000")


def test_a_dummy_named_as_a_reason_is_an_error() -> None:
    dummy = next(index.name for index in tables.known.indices("dummies") if index.dummy)
    runs = [
        TruthRun("dummies", False, "pellucid", seed, {"60": {"explanation": names}})
        for seed, names in enumerate(([dummy], []))
    ]
    assert grid_rows(runs, "Proposals")["exact"] == ("0.500 ± 0.354 (2)",)


def test_the_price_of_every_reason_that_holds_a_stop_back() -> None:
    first, second = tuple(measures.HOLDS)[:2]
    rows = (
        (40, False, 0.05, 0.1, False, 0.1, 0.3, None, [first]),
        (50, False, 0.05, 0.1, False, 0.1, 0.2, None, [second]),
        (90, True, 0.05, 0.1, False, 0.1, 0.0, None, []),
    )
    prices = list(grid_rows([run_with({}, rows)], "Stopping: errors against").values())
    assert [price[0] for price in prices] == ["1 of 1", "1 of 1", "0 of 1", "0 of 1", "0 of 1"]
    assert prices[-1][1] == "1.000 ± 0.000 (1)"


def test_every_kind_of_reason_that_holds_a_stop_back_is_counted() -> None:
    assert set(measures.HOLDS.values()) == set(get_args(HoldKind)) - {"middle"}, "the middle of a front is none here"


def test_every_bound_of_a_profile_is_about_its_values() -> None:
    costs = (Cost(1e-6, 1.0002e-5, 0.5), Cost(4.0, 4.0, 0.25))
    stated = [(bound, inside.tolist()) for bound, inside in measures._stated(costs, (1e-6, 1.0002e-5, 3.0, 4.0))]
    assert stated == [(0.5, [True, True, False, False]), (0.25, [False, False, False, True])]
    assert list(measures._stated((), ("a", "b"))) == []


def test_stated_costs_that_are_too_large_are_counted() -> None:
    claims = [[0.5, 0.6], [0.5, 0.4], [0.5, 0.2], [0.5, 0.5]]
    run = run_with({"profile": {"eta": [1.0, 0.2, "matters", claims], "depth": [1.0, 0.2, "cannot tell", []]}})
    rows = grid_rows([run], "Profile effect: “expect")
    assert rows["pellucid, noisy"] == rows["all"] == ("0.500 ± 0.250 (4)", "0.250 ± 0.217 (4)")


def test_intervals_and_ranks_of_shares_are_compared_with_the_truth() -> None:
    first, *others = sorted(tables.known.indices("border"), key=lambda index: -index.total)
    right = [
        [first.name, 0.9, 0.0, 1.0, "matters", "most"],
        *([o.name, 0.0, 0.0, 1.0, "no effect", ""] for o in others),
    ]
    wrong = [
        [others[-1].name, 0.9, 0.9, 1.0, "matters", "probably most"],
        [first.name, 0.0, 0.0, 0.001, "no effect", ""],
    ]
    rows = grid_rows([run_with({"importance": right}), run_with({"importance": wrong})], "Importance: shares")
    covered, exceeded, most, probably = rows["all"]
    assert covered == f"{(1 + len(others)) / (3 + len(others)):.3f} ± " + covered.partition("± ")[2]
    assert exceeded.startswith(f"{1 / (1 + len(others)):.3f}")
    assert most == "1.000 ± 0.000 (1)"
    assert probably == "0.000 ± 0.000 (1)"
