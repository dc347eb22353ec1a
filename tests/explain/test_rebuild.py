"""Trials that cannot be rebuilt are refused with the reason."""

from __future__ import annotations

import optuna
import pytest
from optuna.samplers import TPESampler
from tests.helpers import RECEIPT_KEY, bowl, new_study
from tests.study.receipts import with_receipts

import pellucid


@pytest.mark.parametrize("number", [8, 999, -1])
def test_rebuilding_a_missing_trial_says_which_trials_there_are(number: int) -> None:
    with pytest.raises(ValueError, match=rf"no trial {number}.*0 to 7"):
        pellucid.rebuild(with_receipts({}), number)


def test_rebuilding_a_trial_of_an_empty_study_says_that_it_is_empty() -> None:
    with pytest.raises(ValueError, match=r"no trials"):
        pellucid.rebuild(new_study(), 0)


def test_rebuilding_a_startup_trial_says_why_not_and_where_to_look() -> None:
    with pytest.raises(ValueError, match=r"(?s)rial 1\b.*cover the space.*receipts"):
        pellucid.rebuild(with_receipts({}), 1)


def test_rebuilding_a_trial_of_another_sampler_says_why_not_and_where_to_look() -> None:
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(bowl, n_trials=12)
    with pytest.raises(ValueError, match=r"(?s)rial 11\b.*pellucid did not propose it.*receipts"):
        pellucid.rebuild(study, 11)


def test_rebuilding_a_fallback_trial_says_why_not() -> None:
    text = '{"trial":7,"kind":"fallback","seed":0,"params":{"x":0.5},"reason":"the model failed: E","version":1}'
    with pytest.raises(ValueError, match=r"the model failed: E"):
        pellucid.rebuild(with_receipts({7: {f"{RECEIPT_KEY}:0": text}}), 7)
