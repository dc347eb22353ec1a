"""Whether to stop, and how much was left to find over the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pellucid.answers.base import Metrics, Overview, Subject
from pellucid.answers.catalogue import VERDICT
from pellucid.answers.finding import NotKnown
from pellucid.answers.on_pages import COURSE
from pellucid.answers.pieces import Drawing, Items, Piece, Unknown, soft, text
from pellucid.answers.stop.records import FrontVerdict

if TYPE_CHECKING:
    from pellucid.answers.stop.records import RegretHistory, StoppingVerdict

_ROOM = (
    "The room is a bound, not a prediction, and may be more than the objective can reach: the model does not know its "
    "limits."
)


def verdict(overview: Overview, _: Subject) -> StoppingVerdict:
    if overview.view.several:
        from pellucid.answers.stop.several import front_verdict_of

        return front_verdict_of(overview.beliefs)
    from pellucid.answers.stop.one import stopping_verdict_of

    return stopping_verdict_of(overview.beliefs, overview.view.objective)


def course(overview: Overview, _: Subject) -> RegretHistory | NotKnown:
    """The course that led to the verdict. Without one, for the same reason there is none."""
    from pellucid.answers.stop.one import regret_history_to
    from pellucid.answers.stop.several import front_regret_history_to

    stopping = overview.ask(VERDICT)
    if isinstance(stopping, NotKnown):
        return stopping
    if isinstance(stopping, FrontVerdict):
        return front_regret_history_to(overview.beliefs, stopping)
    return regret_history_to(overview.beliefs, overview.view.objective, stopping)


# ---------------------------------------------------------------------- on a page and in a note


def card(overview: Overview) -> Iterator[Piece]:
    known = overview.ask(VERDICT)
    if isinstance(known, NotKnown):
        yield Unknown(known)
        return
    yield text("Probably", kind="stop") if known.stop else text("Not yet", kind="go")
    yield text(f"{known.reason[0].upper()}{known.reason[1:]}.")
    yield from soft(known.notes)


def section(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = overview.ask(COURSE)
    if not isinstance(known, NotKnown) and known.after:
        yield Drawing("course", known, on="both")
        yield text(_ROOM, kind="soft")
    else:
        yield text(str(known), kind="soft")


def chapter(overview: Overview) -> Iterator[Piece]:
    known = overview.ask(VERDICT)
    if isinstance(known, NotKnown):
        yield Unknown(known)
        return
    yield text(known.reply)
    yield Items(known.notes)


# ---------------------------------------------------------------------- for trackers


def metrics(verdict: StoppingVerdict) -> Metrics:
    """Also under the name of 1.0.0rc1."""
    figures = {
        "stop": float(verdict.stop),
        "bound": verdict.bound,
        "tolerance": verdict.tolerance,
        "more_trials": verdict.more_trials,
    }
    return {(folder, name): value for folder in ("verdict", "stopping") for name, value in figures.items()}
