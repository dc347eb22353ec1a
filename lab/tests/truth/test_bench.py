"""The truth bench from a study to its tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.tests.helpers import call

from pellucid_lab.truth import measures, studies, tables
from pellucid_lab.truth.measures import TruthRun, run_truth_task
from pellucid_lab.truth.studies import TruthTask, first_trials, study_of


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of 30 trials, asked at the end."""
    monkeypatch.setattr(studies, "N_TRIALS", 30)
    for module in (measures, tables):
        monkeypatch.setattr(module, "SIZES", (30,))
    monkeypatch.setattr(measures, "STOP_SIZES", (30,))
    monkeypatch.setattr(measures, "FANOVA_SIZES", (30,))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("problem", "sampler"), [("leader", "pellucid"), ("models", "random")])
def test_a_study_is_asked_everything(problem: str, sampler: str, tmp_path: Path) -> None:
    run = run_truth_task(TruthTask(problem, True, sampler, 0, str(tmp_path)))
    answers = run.answers["30"]
    assert {"importance", "recommendation", "dependence", "ranges"} <= set(answers)
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
    assert tables.first_stop(run, 1, 3) == (40, 0.1, 0.3)
    assert tables.first_stop(run, 4, 5) == (50, 0.1, 0.0)


def test_widening_is_worth_it_only_at_the_ends_behind_which_values_are_better() -> None:
    assert ("rounds", "upper") in tables.worth_widening("border")
    assert ("eta", "lower") not in tables.worth_widening("border")


def test_unknown_problems_and_samplers_are_refused_with_their_names() -> None:
    for arguments, word in ((("--problems", "nonsense"), "nonsense"), (("--samplers", "botorch"), "botorch")):
        result = call("bench", "truth", *arguments)
        assert result.exit_code == 2
        assert word in result.output
