"""An error inside one answer: the page, the note and the run of a tracker keep all others, and name the one."""

from __future__ import annotations

from html import unescape

import optuna
import pytest
from optuna.study import Study
from tests.failing import FAULTS, Functions, cause, study_of_everything, study_of_two
from tests.overviews import findings

from pellucid.answers import drawing as plots
from pellucid.answers.base import Overview
from pellucid.answers.catalogue import CONSTRAINTS
from pellucid.answers.importance.records import Importance
from pellucid.surfaces.page.figures import key_figures
from pellucid.surfaces.page.gather import gather, gather_at_once
from pellucid.surfaces.page.note import note
from pellucid.surfaces.page.page import page
from pellucid.surfaces.trackers.contents import contents_of

pytestmark = pytest.mark.failing_answers

ANSWERS = "pellucid.answers"
# What each function answers, as the page calls it.
ONE = {
    f"{ANSWERS}.history.history_of": "history",
    f"{ANSWERS}.recommend.recommendation_of": "recommendation",
    f"{ANSWERS}.stop.one.stopping_verdict_of": "can you stop",
    f"{ANSWERS}.stop.one.regret_history_to": "how much is left",
    f"{ANSWERS}.ranges.advice.ranges_of": "ranges",
    f"{ANSWERS}.importance.shares.shares_of": "what matters",
    f"{ANSWERS}.calibration.calibration_of": "were predictions true",
    f"{ANSWERS}.effects.profile.profiles_of": "profiles",
    f"{ANSWERS}.effects.dependence.effects_of": "effects",
    f"{ANSWERS}.pruning.saved.pruning_record_of": "what stops saved",
    f"{ANSWERS}.pruning.explanation.pruning_explanation_of": "why trial",
    "pellucid.answers.questions.pruning.curves": "learning curves",
    f"{ANSWERS}.importance.analysis.importance_for": "failures",
    f"{ANSWERS}.failures.failing_settings_of": "failing settings",
    f"{ANSWERS}.proposals.explanation.explanation_of": "trial",
    f"{ANSWERS}.timeline.timeline_of": "timeline",
    f"{ANSWERS}.coordinates.coordinates_of": "what the best trials share",
}
SEVERAL = {
    f"{ANSWERS}.history.front_history_of": "history",
    f"{ANSWERS}.fronts.answer.front_of": "recommendation",
    f"{ANSWERS}.stop.several.front_verdict_of": "can you stop",
    f"{ANSWERS}.fronts.tradeoff.tradeoff_of": "trade-offs",
    f"{ANSWERS}.importance.shares.shares_of": "what matters of objective 0",
    f"{ANSWERS}.proposals.explanation.explanation_of": "trial",
}


@pytest.fixture(scope="module")
def studies() -> dict[str, tuple[Study, Functions]]:
    return {
        "one": (study_of_everything(), Functions(ONE, made="pellucid.answers.questions.pruning.curves")),
        "several": (study_of_two(), Functions(SEVERAL)),
    }


CASES = [("one", name) for name in ONE] + [("several", name) for name in SEVERAL]


@pytest.mark.parametrize(("which", "broken"), CASES)
def test_one_answer_that_fails_costs_no_other(
    studies: dict[str, tuple[Study, Functions]], which: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, functions = studies[which]
    functions.answer(monkeypatch)
    whole = gather(study, progress=False)
    assert not whole.broken
    before = {(type(answer), str(answer)) for answer in findings(whole)}
    names = ONE if which == "one" else SEVERAL
    turn = CASES.index((which, broken))
    for fault in (*FAULTS[turn % 4 :], *FAULTS[: turn % 4]):
        functions.answer(monkeypatch, broken=broken, fault=fault)
        answers = gather(study, progress=False)
        assert answers.broken
        assert next(iter(answers.broken)).startswith(names[broken])
        assert {why.reason for why in answers.broken.values()} == {cause(fault)}
        after = {(type(answer), str(answer)) for answer in findings(answers)}
        lost = {kind for kind, text in before - after if kind.__name__ not in _of(broken)}
        assert not lost
    # Pages take longer than all the rest, so each is looked at with one of the faults.
    _check_texts(answers, fault, names[broken])


def _of(broken: str) -> set[str]:
    """The kinds of answers that a function returns, and those that are made of them."""
    made = {
        "history_of": {"History"},
        "front_history_of": {"FrontHistory"},
        "recommendation_of": {"Recommendation"},
        "front_of": {"Front"},
        "stopping_verdict_of": {"RegretHistory", "StoppingVerdict"},
        "regret_history_to": {"RegretHistory"},
        "front_verdict_of": {"RegretHistory", "FrontVerdict"},
        "tradeoff_of": {"Tradeoff"},
        "ranges_of": {"ParameterRanges", "RangeAdvice"},
        "shares_of": {"Importance", "PartialDependence"},  # It chooses the two whose joint effect is shown.
        "calibration_of": {"Calibration"},
        "profiles_of": {"ProfileEffect"},
        "effects_of": {"PartialDependence"},
        "pruning_record_of": {"PruningRecord", "PruningExplanation"},
        "pruning_explanation_of": {"PruningExplanation"},
        "curves": {"LearningCurves"},
        "importance_for": {"HsicImportance"},
        "failing_settings_of": {"FailingSettings"},
        "explanation_of": {"ProposalExplanation", "DesirabilityPaths"},
        "timeline_of": {"Timeline"},
        "coordinates_of": {"ParallelCoordinates"},
    }
    return made[broken.rpartition(".")[2]]


def _check_texts(answers: Overview, fault: Exception, name: str) -> None:
    """The page, the note and the run of a tracker are whole, and name the answer and the error."""
    run = contents_of(answers)
    html = run.files["report.html"]
    assert html.rstrip().endswith("</html>")
    for text in (unescape(html), note(answers, "/trials/").replace("\\", ""), run.description):
        assert f"Left out because of an error: {name}" in text
        assert cause(fault) in text
    for title in ("Use", "Can you stop?", "What matters?", "What to distrust"):
        assert f"<h2>{title}" in html


def test_the_card_of_an_answer_says_that_it_failed(
    studies: dict[str, tuple[Study, Functions]], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, functions = studies["one"]
    functions.answer(monkeypatch, broken=f"{ANSWERS}.ranges.advice.ranges_of", fault=FAULTS[2])
    answers = gather(study, progress=False)
    _, _, card = page(answers).partition("<h2>Which ranges to change?</h2>")
    assert unescape(card).startswith(f"<p>{cause(FAULTS[2])}</p>")
    assert f"## Which ranges should I change?\n\n{cause(FAULTS[2])}" in note(answers, "/trials/").replace("\\", "")
    assert f"## Which ranges to change\n\n{cause(FAULTS[2])}" in contents_of(answers).description
    assert contents_of(answers).files["ranges.json"].count('"failed": true') == 1


def test_what_learning_curves_promise_may_fail(
    studies: dict[str, tuple[Study, Functions]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise FAULTS[0]

    monkeypatch.setattr("pellucid.answers.opening.extrapolated", fail)
    answers = gather(studies["one"][0], progress=False)
    assert list(answers.broken) == ["what learning curves promise"]
    _check_texts(answers, FAULTS[0], "what learning curves promise")


def test_a_page_of_the_first_moment_survives_a_fault(
    studies: dict[str, tuple[Study, Functions]], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, functions = studies["one"]
    for broken in ("history.history_of", "timeline.timeline_of", "coordinates.coordinates_of"):
        functions.answer(monkeypatch, broken=f"{ANSWERS}.{broken}", fault=FAULTS[0])
        assert page(gather_at_once(study)).rstrip().endswith("</html>")


def test_a_figure_that_cannot_be_drawn_costs_no_other(
    studies: dict[str, tuple[Study, Functions]], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, functions = studies["one"]
    functions.answer(monkeypatch)
    answers = gather(study, progress=False)
    names = [name for name, _ in key_figures(answers)]
    figures = page(answers).count("data-figure=")

    def draw(*_: object) -> None:
        raise FAULTS[1]

    monkeypatch.setattr(Importance, "plot", draw)
    assert [name for name, _ in key_figures(answers)] == [name for name in names if name != "importance"]
    real = plots.bare
    monkeypatch.setattr(
        plots, "bare", lambda record, what: draw() if isinstance(record, Importance) else real(record, what)
    )
    html = page(answers)
    n_importances = 1 + len(answers.shown(CONSTRAINTS))
    assert html.count("data-figure=") == figures - n_importances
    assert unescape(html).count(cause(FAULTS[1])) == n_importances


def test_an_empty_study_is_not_called_broken() -> None:
    answers = gather(optuna.create_study(), progress=False)
    assert not answers.broken
    assert "please report" not in page(answers)
