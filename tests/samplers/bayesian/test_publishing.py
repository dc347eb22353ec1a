"""Two workers that have the same idea do not both keep it."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study

from pellucid.provenance import StartupReceipt
from pellucid.search.publishing import Proposal, publish
from pellucid.study.view import StudyView

X = {"x": FloatDistribution(0.0, 1.0)}


@pytest.fixture
def study() -> Study:
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))


class Ideas:
    """Proposes one value after the other, and counts how often it was asked."""

    def __init__(self, number: int, *values: float) -> None:
        self.number, self.values, self.asked = number, values, 0

    def __call__(self, view: StudyView) -> Proposal:
        value = self.values[min(self.asked, len(self.values) - 1)]
        self.asked += 1
        return {"x": value}, StartupReceipt(self.number, 0, {"x": value})


def published(study: Study, number: int, ideas: Ideas) -> dict[str, Any]:
    return publish(study, study.get_trials(deepcopy=False)[number], {}, StudyView.whole, ideas)


def test_an_idea_that_nobody_else_has_is_kept(study: Study) -> None:
    study.ask(X)
    study.ask()
    ideas = Ideas(1, 2.0)
    assert published(study, 1, ideas) == {"x": 2.0}
    assert ideas.asked == 1


def test_a_younger_trial_that_is_still_proposing_steps_aside(study: Study) -> None:
    """It has no parameters yet, only a receipt: the older trial keeps its second idea."""
    study.ask()
    study.ask()
    published(study, 1, Ideas(1, 0.3))
    ideas = Ideas(0, 0.3, 0.3, 0.6)
    assert published(study, 0, ideas) == {"x": 0.3}
    assert ideas.asked == 2


def test_a_younger_trial_that_has_begun_keeps_its_idea(study: Study) -> None:
    """It settled while the older trial was still proposing, so the older one must look for another idea."""
    study.ask()
    taken = study.ask(X).params["x"]
    ideas = Ideas(0, taken, taken, 0.6)
    assert published(study, 0, ideas) == {"x": 0.6}
    assert ideas.asked == 3


def test_an_older_trial_keeps_its_idea(study: Study) -> None:
    study.ask()
    study.ask()
    published(study, 0, Ideas(0, 0.3))
    ideas = Ideas(1, 0.3, 0.3, 0.3, 0.6)
    assert published(study, 1, ideas) == {"x": 0.6}
    assert ideas.asked == 4


def test_a_trial_that_begins_while_another_proposes_is_seen(study: Study) -> None:
    """The view of the older one is from before the younger one existed."""
    study.ask()
    before = StudyView.whole(study)
    taken = study.ask(X).params["x"]
    ideas = Ideas(0, taken, 0.6)
    views = iter([before, StudyView.whole(study)])
    assert publish(study, before.trials[0], {}, lambda _: next(views), ideas) == {"x": 0.6}


@pytest.mark.parametrize("n", [1, 2, 5])
def test_many_trials_that_begin_at_once_are_seen(study: Study, n: int) -> None:
    study.ask()
    before = StudyView.whole(study)
    taken = [study.ask(X).params["x"] for _ in range(n)]
    for idea in taken:
        views = iter([before, StudyView.whole(study)])
        assert publish(study, before.trials[0], {}, lambda _, views=views: next(views), Ideas(0, idea, 2.0)) == {
            "x": 2.0
        }


def test_a_trial_that_begins_and_ends_meanwhile_is_seen(study: Study) -> None:
    study.ask()
    before = StudyView.whole(study)
    short = study.ask(X)
    study.tell(short, 1.0)
    views = iter([before, StudyView.whole(study)])
    assert publish(study, before.trials[0], {}, lambda _: next(views), Ideas(0, short.params["x"], 0.6)) == {"x": 0.6}
