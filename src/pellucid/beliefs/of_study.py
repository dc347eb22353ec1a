"""The beliefs that answers about a study rest on, and what their readers should know of the trials behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from optuna.study import Study

from pellucid.beliefs import Beliefs
from pellucid.beliefs.choice import bounded
from pellucid.numerics import one_thread
from pellucid.study.arrays import Arrays
from pellucid.study.extrapolation import extrapolated
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.words import Note, printable


def beliefs_of(study: Study) -> Beliefs:
    """Trials that were stopped early or still run count with what their learning curves promise, and of too many trials
    models are conditioned on a choice."""
    with one_thread:
        return Beliefs(bounded(extrapolated(StudyView.whole(study))))


def curve_notes(data: Arrays) -> list[str]:
    """A note if a model of these trials rests on values that were extrapolated."""
    return curve_note(sum(data.observations.extrapolated), len(data))


def curve_note(count: int, n: int) -> list[str]:
    """`count` of the `n` trials of a model were extrapolated."""
    if not count:
        return []
    promised = "the model predicts their values from learning curves"
    return [Note(f"{count} of {n} trials have not run to their end: {promised}.", "curves")]


@contextmanager
def opened(study: Study, asker: str, objective: str | int | None = None) -> Iterator[tuple[Beliefs, Target]]:
    """The beliefs about a study for one public call, and the target that it is about, with linear algebra on one
    thread.

    Raises ValueError if `objective` is neither the name or number of an objective, nor the name of a constraint; None
    is the objective of a study that has only one.
    """
    beliefs = beliefs_of(study)
    objectives = beliefs.view.objectives
    if objective is None and len(objectives) > 1:
        either = " or ".join(f"objective={objective.name!r}" for objective in objectives)
        raise ValueError(
            printable(
                f"{asker} answers about one objective at a time, but this study has {len(objectives)}: pass {either}."
            )
        )
    target = beliefs.view.target(objective)
    with one_thread:
        yield beliefs, target
