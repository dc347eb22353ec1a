"""Trials that pellucid did not propose: another sampler's, and trials added by hand."""

from __future__ import annotations

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial, create_trial
from tests.explain.proposals.studies import check

import pellucid

# ---------------------------------------------------------------------------- trials of other samplers


def test_a_trial_of_another_sampler_is_marked_as_such(tpe: Study) -> None:
    explanation = pellucid.explain_proposal(tpe, 20)
    check(explanation)
    assert not explanation.proposed
    assert str(explanation).startswith("Pellucid did not propose trial 20; its model would have")
    assert explanation.n_trials == 20
    assert "what its model would have said" in explanation.plot().layout.title.text
    paths = pellucid.desirability_paths(tpe, range(10, 14), progress=False)
    assert "none of them was proposed by pellucid: this is what its model would have said" in str(paths)


def test_only_trials_that_had_finished_count(tpe: Study) -> None:
    """The trials of a hypothetical model are selected by time, not by number."""
    late = optuna.create_study()
    for trial in tpe.trials[:10]:
        late.add_trial(trial)
    slow = late.ask(dict(tpe.trials[0].distributions))
    for trial in tpe.trials[10:15]:
        late.add_trial(trial)
    late.tell(slow, 1.0)
    quick = late.ask(dict(tpe.trials[0].distributions))
    assert pellucid.explain_proposal(late, quick.number).n_trials == 16
    with pytest.raises(
        ValueError, match=r"Trial 2 was not proposed by pellucid, and when it began, 2 trials had finished with a value"
    ):
        pellucid.explain_proposal(late, 2)


def test_ranges_that_changed_and_parameters_that_are_new() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))

    def moving(trial: Trial) -> float:
        late = trial.number >= 12
        x = trial.suggest_float("x", 0, 2 if late else 1)
        return x * x + (trial.suggest_float("new", 0, 1) if late else 0.0)

    study.optimize(moving, n_trials=13)
    explanation = pellucid.explain_proposal(study, 12)
    check(explanation)
    assert [c.name for c in explanation.contributions] == ["x"]
    assert "No finished trial had had `new` before" in str(explanation)


def test_trials_added_by_hand() -> None:
    study = optuna.create_study()
    distributions = {"x": optuna.distributions.FloatDistribution(0, 1)}
    for i in range(8):
        study.add_trial(create_trial(params={"x": i / 8}, distributions=distributions, value=(i / 8 - 0.4) ** 2))
    explanation = pellucid.explain_proposal(study, 7)
    check(explanation)
    assert explanation.n_trials == 7
