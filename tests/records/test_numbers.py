"""Numbers as text: no sign of a negative zero anywhere, and no other change to how a number reads."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.samplers import RandomSampler

import pellucid
from pellucid.beliefs import Beliefs
from pellucid.notebook import cell
from pellucid.study.view import StudyView
from pellucid.surfaces.cli.answers import answers_text, answers_to
from pellucid.surfaces.cli.questions import overview
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.note import note
from pellucid.surfaces.page.page import page
from pellucid.words import number_text, rounded, value_text, with_error

FORMS = ("g", ".2g", ".4g", ".6g", ".2f", ".0f", ".6f", "+.2f", "+.3g", ".0%", ".3e")
# A minus before a number without any other digit than 0; not in a range such as 0-12, a name, or a longer number.
NEGATIVE_ZERO = re.compile(r"(?<![\w.\-])[-−]0+(?:\.0+)?(?:e[+-]?\d+)?(?![\w.])")
# Also those that round to zero.
near_zero = st.one_of(st.floats(), st.floats(-1e-3, 1e-3), st.sampled_from([0.0, -0.0, -1e-300, -4e-7, -0.4]))


def is_negative_zero(text: str) -> bool:
    return re.fullmatch(r"-0+(\.0+)?(e[+-]\d+)?%?", text) is not None


@given(near_zero, st.sampled_from(FORMS))
def test_only_the_sign_of_a_zero_is_left_out(value: float, form: str) -> None:
    text, usual = number_text(value, form), f"{value:{form}}"
    assert not is_negative_zero(text)
    if not is_negative_zero(usual):
        assert text == usual
    else:
        assert text == f"{0.0:{form}}"


@given(near_zero, st.floats(0.0, 1e6) | st.just(math.nan))
def test_no_text_of_a_number_is_a_negative_zero(value: float, error: float) -> None:
    texts = (rounded(value, error), with_error(value, error).partition(" ")[0], value_text(value), cell(value))
    assert not any(map(is_negative_zero, texts))


def test_an_expected_value_just_below_zero_has_no_minus() -> None:
    use = pellucid.Recommendation({"x": -0.0}, 3, -2e-9, -1e-5, 1e-5, 0.95, -0.0, 40, "minimize")
    assert use.sentence == (
        "Use x=0 (trial 3): expect 0.000000 (95% interval -0.000010 to 0.000010); it returned 0.000000."
    )
    assert replace(use, low=None, high=None).sentence.startswith("Use x=0 (trial 3): expect -2e-09;")


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_no_surface_shows_a_negative_zero(direction: str) -> None:
    """The best value is zero, and with maximisation a loss of it is a negative zero."""
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(direction=direction, sampler=RandomSampler(seed=0))
    for _ in range(4):
        study.enqueue_trial({"x": 0.0, "y": 0.0})
    study.optimize(
        lambda trial: sign * (abs(trial.suggest_float("x", -1, 1)) + 1e-9 * trial.suggest_float("y", -1, 1)),
        n_trials=30,
    )
    view = StudyView.whole(study)
    answers = gather(study, progress=False)
    texts = (
        answers_text(view, place_of("sqlite:///a.db"), answers_to(overview(Beliefs(view), None))),
        note(answers, "trials/"),
        re.sub(r"<(script|style).*?</\1>", "", page(answers), flags=re.DOTALL),
        pellucid.recommend(study)._repr_html_(),
        str(pellucid.profile_effect(study, "x")),
    )
    for text in texts:
        assert NEGATIVE_ZERO.findall(text) == []
