"""Every answer has the same shape: a sentence, notes, plain data, a table, a figure, and a view for notebooks."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import optuna
import pandas as pd
import plotly.graph_objects as go
import pytest
from optuna.study import Study
from tests.helpers import conditional, new_study

import pellucid
from pellucid.answers.finding import Finding, NotKnown, attempt, plain
from pellucid.answers.plan import HeldParameter
from pellucid.words import NoAnswer


def failing() -> Study:
    """A study in which trials with a large value fail."""
    study = new_study(seed=0)
    study.optimize(lambda trial: float("nan") if (x := trial.suggest_float("x", 0, 1)) > 0.6 else x, n_trials=30)
    return study


ANSWERS: dict[str, Callable[[Study], Finding]] = {
    "history": pellucid.history,
    "recommend": pellucid.recommend,
    "stopping_verdict": pellucid.stopping_verdict,
    "regret_history": pellucid.regret_history,
    "importance": pellucid.importance,
    "hsic_importance": lambda study: pellucid.hsic_importance(study, source="all"),
    "parameter_ranges": pellucid.parameter_ranges,
    "interval_reduction": lambda study: pellucid.interval_reduction(study, "lr"),
    "profile_effect": lambda study: pellucid.profile_effect(study, "lr"),
    "partial_dependence": lambda study: pellucid.partial_dependence(study, "lr"),
    "joint partial_dependence": lambda study: pellucid.partial_dependence(study, ("lr", "depth")),
    "explain_proposal": lambda study: pellucid.explain_proposal(study, 29),
    "desirability_paths": lambda study: pellucid.desirability_paths(study, [28, 29], progress=False),
    "proposal_interactions": lambda study: pellucid.proposal_interactions(study, 29),
    "compare_importance": lambda study: pellucid.compare_importance(study, 29),
    "TwoStepSampler.plan": lambda _: pellucid.TwoStepPlan(
        ("lr",), (HeldParameter("n_units", 32, True, "32: no measurable effect"),), 7, 30, 3
    ),
    "failing_settings": lambda _: pellucid.failing_settings(failing()),
    "range advice": lambda _: pellucid.RangeAdvice("lr", "widen", "Widen `lr`.", 0.001, 0.9, 1.0),
}


@pytest.fixture(scope="module")
def study() -> Study:
    study = new_study(seed=2)
    study.optimize(conditional, n_trials=30)
    return study


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_has_the_same_shape(name: str, study: Study) -> None:
    answer = ANSWERS[name](study)
    assert isinstance(answer, Finding)
    assert isinstance(answer.sentence, str)
    assert answer.sentence.endswith(".")
    assert all(isinstance(note, str) and note for note in answer.notes)
    assert str(answer) == " ".join((answer.sentence, *answer.notes))
    assert answer._repr_html_().startswith("<p>")
    assert json.loads(json.dumps(plain(answer.to_dict())))
    frame = answer.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame.columns) > 1
    figure = answer.plot()
    assert isinstance(figure, go.Figure)
    assert figure.layout.title.text
    with pytest.raises(AttributeError):
        answer.anything = 1  # type: ignore[attr-defined]


ROOMS = ("pellucid.answers", "pellucid.provenance")


def test_every_public_answer_is_a_finding() -> None:
    """What the top level exports from these rooms is an answer, a receipt, why there is no answer, or an evaluator."""
    public = [getattr(pellucid, name) for name in pellucid.__all__]
    records = [kind for kind in public if inspect.isclass(kind) and kind.__module__.startswith(ROOMS)]
    others = {kind.__name__ for kind in records if not issubclass(kind, Finding)}
    assert others == {"HsicImportanceEvaluator", "ImportanceEvaluator", "NotKnown", "Receipt"}


def test_options_are_keyword_only() -> None:
    """function(study, subject, *, options): at most two positional arguments, the first of which is the study."""
    functions = [getattr(pellucid, name) for name in pellucid.__all__]
    study_functions = [f for f in functions if inspect.isfunction(f) and "study" in inspect.signature(f).parameters]
    assert len(study_functions) > 12
    for function in study_functions:
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
        assert next(iter(inspect.signature(function).parameters)) == "study", function
        assert all(kind is inspect.Parameter.KEYWORD_ONLY for kind in kinds[2:]), function


def test_markup_in_names_stays_text_in_a_notebook() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("<b>x</b>", 0, 1), n_trials=12)
    shown = pellucid.partial_dependence(study, "<b>x</b>")._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;x&lt;/b&gt;" in shown


def test_an_unknown_answer_gives_the_reason() -> None:
    study = optuna.create_study()
    answer = attempt(lambda: pellucid.recommend(study))
    assert isinstance(answer, NotKnown)
    assert str(answer) == answer.reason == answer.to_dict()["reason"]
    assert answer.reason.startswith("A recommendation needs at least one finished trial")
    with pytest.raises(ValueError, match="A recommendation needs at least one finished trial"):
        pellucid.recommend(study)


@pytest.mark.parametrize(
    "error",
    [
        TypeError("a bug"),
        KeyError("lr"),
        ZeroDivisionError("division by zero"),
        np.linalg.LinAlgError("array must not contain infs or NaNs"),
        ValueError("operands could not be broadcast together with shapes (2,) (3,)"),
    ],
)
@pytest.mark.failing_answers
def test_an_error_is_no_reason_for_the_reader(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Finding:
        raise error

    answer = attempt(broken)
    assert answer == NotKnown(f"This answer failed; please report it ({type(error).__name__}: {error}).", True, True)
    assert answer._repr_html_().startswith("<p>This answer failed; please report it (")
    (record,) = caplog.records
    assert record.name == "pellucid"
    assert f"{type(error).__name__}: {error}" in record.getMessage()
    assert "in broken" in record.getMessage()


@pytest.mark.failing_answers
def test_the_cause_of_a_failure_is_one_short_line_of_printable_characters(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Finding:
        raise RuntimeError("\x1b]52;c;aGk=\x07 two\nlines \u202e<b>" + "x" * 1000)

    answer = attempt(broken)
    assert isinstance(answer, NotKnown)
    assert answer.reason.isprintable()
    assert r"RuntimeError: \x1b]52;c;aGk=\x07 two lines \u202e<b>xxx" in answer.reason
    assert len(answer.reason) < 400
    assert all(line.isprintable() for line in caplog.records[0].getMessage().splitlines())
    assert "&lt;b&gt;" in answer._repr_html_()


def test_interrupts_are_no_answers() -> None:
    def interrupted() -> Finding:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted)


def test_a_record_without_a_figure_says_so() -> None:
    @dataclass(frozen=True)
    class Plain(Finding):
        sentence: str = "Nothing."
        notes: tuple[str, ...] = ()

        def _columns(self) -> dict[str, list[int]]:
            return {"a": [1]}

    assert list(Plain().to_frame()["a"]) == [1]
    with pytest.raises(TypeError, match="There is no figure for Plain"):
        Plain().plot()


def test_an_answer_that_more_trials_do_not_bring_is_not_called_unknown_yet() -> None:
    def never() -> Finding:
        raise NoAnswer("Trial 3 was sampled.")

    answer = attempt(never)
    assert answer == NotKnown("Trial 3 was sampled.", final=True)
    assert answer._repr_html_() == "<p>Trial 3 was sampled.</p>"
    assert NotKnown("Too few trials.")._repr_html_() == "<p>Not known yet. Too few trials.</p>"
