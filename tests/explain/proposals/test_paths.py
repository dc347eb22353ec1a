"""Explanations of many proposals of one study, and the interactions in one of them."""

from __future__ import annotations

import json

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.explain.proposals.studies import NO_WARP, run
from tests.helpers import bowl

import pellucid
from pellucid.search.acquisition import LCB

# ---------------------------------------------------------------------------------------- over the run


def test_paths_are_the_explanations_one_by_one(study: Study) -> None:
    paths = pellucid.desirability_paths(study, progress=False)
    assert [explanation.trial for explanation in paths.explanations] == list(range(6, 20))
    assert paths.explanations[4] == pellucid.explain_proposal(study, 10)
    assert paths.skipped == {}
    assert str(paths).startswith("Over 14 proposals (trials 6 to 19), `a` (")
    frame = paths.to_frame()
    assert list(frame.columns) == ["trial", "param", "value", "contribution", "low", "high", "mean", "uncertainty"]
    assert len(frame) == 14 * 3
    json.dumps(paths.to_dict())
    selected = pellucid.desirability_paths(study, [3, 7, 99], progress=False)
    assert list(selected.skipped) == [3, 99]
    with pytest.raises(ValueError, match="None of the 1 trials asked for has a proposal"):
        pellucid.desirability_paths(study, [0], progress=False)


def test_exploration_gives_way_to_prediction() -> None:
    """A search that is made to explore: early proposals are mainly uncertainty, late ones are not."""
    study = run(bowl, 30, acquisition=LCB(6.0), surrogate=NO_WARP)
    paths = pellucid.desirability_paths(study, progress=False)
    exploring = [explanation.payouts["uncertainty"] > explanation.payouts["mean"] for explanation in paths.explanations]
    assert sum(exploring[:6]) > sum(exploring[-6:])
    assert f"{sum(exploring)} of them were mainly exploration" in str(paths)


def test_copied_studies_say_that_they_were_copied(study: Study) -> None:
    copied = optuna.create_study()
    copied.add_trials(study.trials[10:17])
    with pytest.raises(ValueError, match="was written for trial 10: the trials were copied"):
        pellucid.desirability_paths(copied, progress=False)


def test_trials_of_a_path_are_numbers_each_once(study: Study) -> None:
    paths = pellucid.desirability_paths(study, [15, 10, 15, 2, 2], progress=False)
    assert [explanation.trial for explanation in paths.explanations] == [10, 15]
    assert str(paths).startswith("Over 2 proposals (trials 10 to 15), ")
    assert str(paths).endswith("1 of 3 trials could not be explained.")
    assert str(pellucid.desirability_paths(study, [15], progress=False)).startswith("In trial 15, `a` (")
    for wrong in (5, "15", [10.7], [True]):
        with pytest.raises(ValueError, match="`trials` is a list of trial numbers"):
            pellucid.desirability_paths(study, wrong, progress=False)  # type: ignore[arg-type]
    for wrong in ("12", [1], 1.0, None):
        with pytest.raises(ValueError, match="A trial is identified by its number"):
            pellucid.explain_proposal(study, wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------- interactions


def test_interactions_of_a_proposal() -> None:
    def partners(trial: Trial) -> float:
        a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
        return 4 * (a - 0.5) * (b - 0.5) + 0.3 * c

    study = run(partners, 30, surrogate=NO_WARP)
    interactions = pellucid.proposal_interactions(study, 29)
    main, pairs = interactions.main, interactions.pairs
    assert set(main) == {"a", "b", "c"}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    whole = pellucid.explain_proposal(study, 29)
    assert sum(main.values()) + sum(pairs.values()) == pytest.approx(whole.total, rel=0.03)
    assert max(pairs, key=lambda pair: abs(pairs[pair])) == ("a", "b")
    assert interactions.unit == whole.unit == "objective"
    assert interactions.sentence.startswith("In trial 29, `a` and `b` interacted most: together they contributed ")
    assert [tuple(entry["params"]) for entry in interactions.to_dict()["pairs"]] == list(pairs)
    assert list(interactions.to_frame()["value"]) == [*main.values(), *pairs.values()]
    # A Shapley value is what a parameter contributes alone and half of what it does in every pair.
    for c in whole.contributions:
        shared = sum(value for pair, value in pairs.items() if c.name in pair)
        assert main[c.name] + 0.5 * shared == pytest.approx(c.total, abs=0.03 * abs(whole.total))
    with pytest.raises(ValueError, match="2 to 10 parameters, but trial 8 has 1"):
        pellucid.proposal_interactions(run(lambda t: t.suggest_float("x", 0, 1), 9), 8)
