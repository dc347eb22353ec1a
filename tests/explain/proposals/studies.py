"""The objective and the check that tests of proposals share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.answers.proposals.records import ProposalExplanation
from pellucid.models import GaussianProcess

NO_WARP = GaussianProcess()


def tilted(trial: Trial) -> float:
    """`a` matters most, `b` less, `idle` not at all."""
    a, b = trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0, 1)
    trial.suggest_float("idle", 0, 1)
    return 3 * (a - 0.2) ** 2 + (b - 0.7) ** 2


def run(
    objective: Callable[[Trial], float] = tilted, n: int = 20, direction: str = "minimize", **options: Any
) -> Study:
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6, **options)
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=n)
    return study


def check(explanation: ProposalExplanation) -> None:
    """What holds for every explanation: efficiency, linearity across terms, intervals around values, a sentence."""
    scale = (
        1e-12 + max(abs(c.total) for c in explanation.contributions) + sum(abs(v) for v in explanation.payouts.values())
    )
    assert sum(c.total for c in explanation.contributions) == pytest.approx(explanation.total, abs=1e-9 * scale)
    assert sum(explanation.payouts.values()) == pytest.approx(explanation.total, abs=1e-9 * scale)
    for c in explanation.contributions:
        assert sum(c.terms.values()) == pytest.approx(c.total, abs=1e-9 * scale)
        assert c.low <= c.total <= c.high
        for term in explanation.term_names:
            assert c.term_low[term] <= c.terms[term] <= c.term_high[term]
            if term in explanation.exact:
                assert c.term_low[term] == c.term_high[term]
    for term in explanation.term_names:
        shared = sum(c.terms[term] for c in explanation.contributions)
        assert shared == pytest.approx(explanation.payouts[term], abs=1e-9 * scale)
    assert str(explanation).startswith(("Trial", "Pellucid", "Compared"))
    json.dumps(explanation.to_dict())
