"""What a notebook shows of an answer: text, a small table, and the figure as an output of its own."""

from __future__ import annotations

import inspect
import re
import sys
from types import SimpleNamespace
from typing import Any

import optuna
import plotly.graph_objects as go
import pytest
from optuna.study import Study

import pellucid
from pellucid import notebook
from pellucid.answers.finding import Finding, NotKnown
from pellucid.answers.stop.records import StoppingVerdict

HOSTILE = "<script>alert('x')</script> & \"y\""
TAGS = {"p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.fixture(scope="module")
def study() -> Study:
    study = optuna.create_study(study_name=HOSTILE, sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=8))

    def objective(trial: optuna.Trial) -> float:
        choice = trial.suggest_categorical("kind", [HOSTILE, "plain"])
        return (trial.suggest_float(HOSTILE, 0, 1) - 0.3) ** 2 + (choice == "plain")

    study.optimize(objective, n_trials=30)
    return study


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The outputs of a notebook's cell, in place of IPython, which only the tests with engines install."""
    shown: list[dict[str, Any]] = []
    shell = SimpleNamespace(kernel=None)
    display = SimpleNamespace(display=lambda bundle, raw: shown.append(bundle))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)

    def show(figure: go.Figure) -> None:
        raise ValueError("Mime type rendering requires nbformat")

    monkeypatch.setattr("plotly.io.show", show)
    return shown


def test_an_answer_is_text_and_a_figure_below_it(study: Study, outputs: list[dict[str, Any]]) -> None:
    answer = pellucid.importance(study)
    answer._ipython_display_()
    text, figure = outputs
    assert text == {"text/plain": str(answer), "text/html": answer._repr_html_()}
    layout = figure[PLOTLY]["layout"]
    assert "text" not in layout.get("title", {})  # The sentence is above it.
    assert "width" not in layout
    assert layout["height"] < answer.plot().layout.height


def test_figures_go_to_the_renderer_of_plotly(
    study: Study, outputs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[go.Figure] = []
    monkeypatch.setattr("plotly.io.show", figures.append)
    pellucid.importance(study)._ipython_display_()
    assert len(outputs) == 1
    assert figures[0].layout.width is None


def test_an_answer_that_a_sentence_and_a_table_say_has_no_figure(study: Study, outputs: list[dict[str, Any]]) -> None:
    pellucid.recommend(study)._ipython_display_()
    pellucid.stopping_verdict(study)._ipython_display_()
    assert [set(output) for output in outputs] == [{"text/plain", "text/html"}] * 2


def test_without_plotly_there_is_no_figure_and_no_error(
    study: Study, outputs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pellucid.answers.drawing", None)
    pellucid.importance(study)._ipython_display_()
    assert len(outputs) == 1


def test_a_terminal_shows_text_alone(
    study: Study, outputs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = type("TerminalInteractiveShell", (), {})()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    pellucid.importance(study)._ipython_display_()
    assert len(outputs) == 1


def test_hostile_names_are_text(study: Study) -> None:
    shown = [
        pellucid.recommend(study),
        pellucid.importance(study),
        pellucid.profile_effect(study, HOSTILE),
        pellucid.partial_dependence(study, ("kind", HOSTILE)),
        pellucid.explain_proposal(study, 29),
        pellucid.parameter_ranges(study),
        pellucid.history(study),
        pellucid.receipt(study, 29),
        pellucid.rebuild(study, 29),
        NotKnown(f"`{HOSTILE}` is not known."),
    ]
    for answer in shown:
        html = answer._repr_html_()
        assert set(re.findall(r"</?(\w+)", html)) <= TAGS


def test_no_public_record_is_shown_field_by_field(study: Study) -> None:
    answers = [
        pellucid.importance(study),
        pellucid.receipts(study),
        pellucid.rebuild(study, 29),
        [pellucid.recommend(study)],
        pellucid.best(0.1),
        NotKnown("No trials."),
    ]
    for answer in answers:
        assert not re.search(r"\b(Goal|Importance|Receipt|RebuiltProposal|Recommendation|NotKnown)\(", repr(answer))
    assert repr(answers[-1]) == "<NotKnown: No trials.>"


def test_every_public_answer_has_the_short_repr() -> None:
    public = [getattr(pellucid, name) for name in pellucid.__all__]
    answers = [kind for kind in public if inspect.isclass(kind) and issubclass(kind, Finding)]
    assert len(answers) > 20
    assert {kind.__repr__ for kind in answers} == {Finding.__repr__}


@pytest.mark.parametrize(
    ("rows", "numbers", "words"),
    [
        ("first", [0, 1, 2, 3, 4, 5, 6, 7], "The first 8 of 1,000 rows"),
        ("last", [992, 993, 994, 995, 996, 997, 998, 999], "The last 8 of 1,000 rows"),
        ("even", [0, 143, 285, 428, 571, 714, 856, 999], "An even selection of 8 of 1,000 rows"),
    ],
)
def test_long_tables_are_cut(rows: notebook.Rows, numbers: list[int], words: str) -> None:
    shown = notebook.table({"trial": range(1000)}, rows)
    assert [int(text) for text in re.findall(r"<td[^>]*>(\d+)</td>", shown)] == numbers
    assert words in shown


def test_a_long_row_is_turned() -> None:
    shown = notebook.table({f"column {i}": [i] for i in range(7)})
    assert shown.count("<tr>") == 7
    assert notebook.table({f"column {i}": [i] for i in range(6)}).count("<tr>") == 2


def test_an_empty_table_is_left_out() -> None:
    assert notebook.document("Nothing.", {"trial": []}, ()) == "<p>Nothing.</p>"


def test_columns_that_add_nothing_are_left_out() -> None:
    shown = notebook.document("Continue.", {"trial": [3], "branch": [""], "bound": [None]}, ())
    assert shown.count("<th ") == 1
    assert "trial" in shown
    verdict = StoppingVerdict(False, 40, 0.1, 0.018, 0.01, None, "the model sees room to improve by at most 0.018")
    assert verdict._repr_html_().count("at most 0.018") == 1, "the sentence has the reason"
    assert "tolerance" in verdict._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123456789, "0.1235"), (1e-9, "1e-09"), (None, "–"), (float("nan"), "–"), (12345, "12345"), (True, "True")],
)
def test_numbers_are_readable(value: object, text: str) -> None:
    assert notebook.cell(value) == text
