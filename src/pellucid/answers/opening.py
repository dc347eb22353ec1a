"""The beliefs that all answers of a study rest on, for one overview of them."""

from __future__ import annotations

from optuna.study import Study

from pellucid.answers.finding import NotKnown, attempt
from pellucid.beliefs import Beliefs
from pellucid.beliefs.choice import bounded
from pellucid.numerics import one_thread
from pellucid.study.extrapolation import extrapolated
from pellucid.study.view import StudyView


def beliefs_for_all(study: Study) -> tuple[Beliefs, NotKnown | None]:
    """As `beliefs_of`, but if learning curves cannot be judged, what stopped trials reported last counts instead.

    The second is why they cannot.
    """
    whole = StudyView.whole(study)
    with one_thread:
        view = attempt(lambda: extrapolated(whole))
    return (Beliefs(bounded(whole)), view) if isinstance(view, NotKnown) else (Beliefs(bounded(view)), None)
