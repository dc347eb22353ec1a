"""What a proposal is compared with: backgrounds and baselines."""

from __future__ import annotations

import numpy as np
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.explain.proposals.studies import check, run, tilted

import pellucid


def test_backgrounds_and_baselines(study: Study) -> None:
    uniform = pellucid.explain_proposal(study, 15)
    local, hybrid = (pellucid.explain_proposal(study, 15, background=name) for name in ("local", "hybrid"))  # type: ignore[arg-type]
    for explanation in (uniform, local, hybrid):
        check(explanation)
    assert abs(local.payouts["mean"]) < abs(uniform.payouts["mean"])
    for a, b, c in zip(uniform.contributions, local.contributions, hybrid.contributions, strict=True):
        # Shapley values are linear in the mixture; units differ by the conversion where the model is warped.
        if not uniform.transformed:
            assert c.terms["mean"] == pytest.approx(0.5 * (a.terms["mean"] + b.terms["mean"]), abs=1e-9)
    assert str(local).startswith("Compared with the average configuration within 10% of every range, trial 15 was")


def test_against_a_baseline_nothing_is_sampled(study: Study) -> None:
    incumbent = pellucid.explain_proposal(study, 15, baseline="incumbent")
    by_number = pellucid.explain_proposal(study, 15, baseline=3)
    same = pellucid.explain_proposal(study, 15, baseline=study.trials[3].params)
    for explanation in (incumbent, by_number, same):
        check(explanation)
        assert explanation.n_samples == 0
        assert explanation.background == "baseline"
        assert all(c.low == c.high for c in explanation.contributions)
    assert by_number.compared_with == "trial 3"
    assert [c.total for c in by_number.contributions] == [c.total for c in same.contributions]
    itself = pellucid.explain_proposal(study, 15, baseline=15)
    assert itself.total == pytest.approx(0.0, abs=1e-9)


def test_a_trial_compared_with_itself_shows_no_difference(study: Study) -> None:
    text = str(pellucid.explain_proposal(study, 12, baseline=12))
    assert text == (
        "Compared with trial 12, trial 12 was proposed although no single parameter made the difference: to the model "
        "it was no better than trial 12."
    )


def test_baselines_must_be_whole_but_may_name_fixed_parameters() -> None:
    def fixed(trial: Trial) -> float:
        return tilted(trial) + trial.suggest_float("fixed", 1, 1)

    study = run(fixed, 14)
    study.enqueue_trial({"a": 0.2})
    with pytest.raises(ValueError, match="trial 14 lacks `a`, `b`, `idle`"):
        pellucid.explain_proposal(study, 12, baseline=14)
    with pytest.raises(ValueError, match="the given baseline lacks `b`, `idle`"):
        pellucid.explain_proposal(study, 12, baseline={"a": 0.5})
    best = pellucid.explain_proposal(study, 12, baseline=study.best_params)
    same = pellucid.explain_proposal(study, 12, baseline=np.int64(study.best_trial.number))  # type: ignore[arg-type]
    assert [c.total for c in best.contributions] == [c.total for c in same.contributions]
    for wrong in (np.zeros(2), 1.5, True):
        with pytest.raises(ValueError, match="`baseline` is None, a trial number"):
            pellucid.explain_proposal(study, 12, baseline=wrong)  # type: ignore[arg-type]


def test_neighbours_of_an_integer_with_millions_of_values() -> None:
    def huge(trial: Trial) -> float:
        return (trial.suggest_int("n", 0, 10**9) / 1e9 - 0.3) ** 2 + trial.suggest_int("k", 1, 10**6, log=True) / 1e6

    explanation = pellucid.explain_proposal(run(huge, 12), 11, background="local")
    check(explanation)
