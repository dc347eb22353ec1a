"""What the bench counts does not depend on the words of answers: it reads their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.scramble import Scrambler

import pellucid
from pellucid_lab.truth import measures, studies
from pellucid_lab.truth.measures import TruthRun, run_truth_task
from pellucid_lab.truth.studies import TruthTask

ASKED = (
    *("importance", "recommend", "stopping_verdict", "partial_dependence", "profile_effect", "parameter_ranges"),
    *("calibration", "explain_proposal"),
)
# The last two have a stop that is held back, by other fits and by a choice with few trials.
TASKS = (("leader", False, "pellucid"), ("leader", True, "pellucid"), ("models", False, "pellucid"))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of 30 trials, asked at the end."""
    monkeypatch.setattr(studies, "N_TRIALS", 30)
    for name in ("SIZES", "STOP_SIZES"):
        monkeypatch.setattr(measures, name, (30,))
    monkeypatch.setattr(measures, "FANOVA_SIZES", ())


def counted(run: TruthRun) -> dict[str, Any]:
    return {"answers": run.answers, "stops": run.stops, "receipts": run.receipts}


@pytest.mark.parametrize(("problem", "noisy", "sampler"), TASKS)
def test_other_words_leave_every_claim(
    problem: str, noisy: bool, sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = TruthTask(problem, noisy, sampler, 0)
    plain = run_truth_task(task)
    scrambler = Scrambler(seed=3)

    def scrambled(ask: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **options: scrambler.record(ask(*arguments, **options))

    for name in ASKED:
        monkeypatch.setattr(pellucid, name, scrambled(getattr(pellucid, name)))
    scrambler.properties(monkeypatch)
    assert pellucid.stopping_verdict(study_with_a_verdict()).sentence.startswith("x")
    assert counted(run_truth_task(task)) == counted(plain)


def study_with_a_verdict() -> Any:
    return studies.study_of(TruthTask("leader", False, "random", 0))


def test_there_are_claims_of_every_kind_to_count() -> None:
    runs = [run_truth_task(TruthTask(*task, 0)) for task in TASKS]
    answers = [run.answers["30"] for run in runs]
    assert {rank for each in answers for *_, rank in each["importance"]} > {"most", ""}
    assert all(any(costs for *_, costs in each["profile"].values()) for each in answers)
    assert all(each["explanation"] for each in answers)
    assert {name for run in runs for row in run.stops for name in row[-1]} == {
        "other fits",
        "choices without their chance",
    }
