"""Everything that a report says, computed once from one view of the study."""

from __future__ import annotations

from typing import Any

from optuna.study import Study

from pellucid.answers.base import Overview
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.opening import beliefs_for_all
from pellucid.beliefs import Beliefs
from pellucid.numerics import one_thread
from pellucid.pareto import check_number
from pellucid.progress import progress_bar
from pellucid.study.view import StudyView


def check_objectives(n: int) -> None:
    """Raise NoAnswer if a report cannot be about so many objectives."""
    advice = "ask about each of them, as in `pellucid.importance(study, objective=0)`"
    check_number(n, "A report is about", advice)


def gather_at_once(study: Study) -> Overview:
    """What the trials say without a model, in a moment; the other answers are pending."""
    beliefs = Beliefs(StudyView.whole(study))  # Without what a model makes of learning curves.
    check_objectives(len(beliefs.view.objectives))
    return Overview(beliefs, whole=False)


def gather(study: Study, progress: bool, lasting: dict[Any, Any] | None = None) -> Overview:
    """All answers that a page shows. `lasting`: from an earlier call; it gets what can serve a later one."""
    check_objectives(len(study.directions))
    beliefs, no_curves = beliefs_for_all(study)
    overview = Overview(beliefs, lasting={} if lasting is None else lasting)
    if no_curves is not None:
        overview.broken["what learning curves promise"] = no_curves
    with one_thread, progress_bar("report", overview.n_steps(CATALOGUE), show=progress) as bar:
        overview.began = lambda name: bar.advance(f"report: {name}")
        for answer in CATALOGUE:
            for question in overview.shown(answer):
                question.answered()
    return overview
