"""The settings at which trials fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject
from pellucid.answers.catalogue import FAILING, FAILURES
from pellucid.answers.finding import NotKnown
from pellucid.answers.pieces import Drawing, Piece, Unknown, text

if TYPE_CHECKING:
    from pellucid.answers.failures import FailingSettings


def failures(overview: Overview, _: Subject) -> FailingSettings:
    from pellucid.answers.failures import failing_settings_of

    return failing_settings_of(overview.beliefs)


def section(overview: Overview, _: Subject) -> Iterator[Piece]:
    """The settings that fail. Why they are not known is why it is not known what matters for that, which follows."""
    known = overview.found(FAILURES)
    if known is not None:
        yield Drawing("failing", known, top=20, on="both") if known.settings else text(str(known), kind="soft")


def chapter(overview: Overview) -> Iterator[Piece]:
    """The settings that fail, and which parameters matter for that; why neither is known is said once."""
    settings, parameters = overview.ask(FAILURES), overview.ask(FAILING)
    if isinstance(settings, NotKnown) and isinstance(parameters, NotKnown):
        yield Unknown(settings)
    for known in (settings, parameters):
        if not isinstance(known, NotKnown):
            yield text(known.sentence)


def advice(overview: Overview) -> str:
    """What to do about trials that fail."""
    settings, parameters = overview.found(FAILURES), overview.found(FAILING)
    if settings is not None and settings.settings:
        return f"avoid {', and '.join(setting.words for setting in settings.settings)}, or fix what fails there"
    known = parameters is not None and parameters.impactful
    return "look at Failures for the parameters that matter for it" if known else "fix what makes them fail"
