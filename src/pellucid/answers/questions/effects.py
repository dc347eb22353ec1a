"""What parameters do: the best that can be reached at each value, and the average."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pellucid.answers.agreement import advises_to_stop, beyond_the_verdict
from pellucid.answers.base import Answer, Overview, Record, Subject
from pellucid.answers.catalogue import DEPENDENCE, IMPORTANCE, PROFILE
from pellucid.answers.finding import NotKnown
from pellucid.answers.importance.records import Importance
from pellucid.answers.pieces import Drawing, Folded, Piece, Row, doubtful, text, unknown
from pellucid.numerics import low_discrepancy
from pellucid.space.branches import descends
from pellucid.space.encoding import Space
from pellucid.words import NoAnswer, NoAnswerYet, spoken

if TYPE_CHECKING:
    from pellucid.answers.effects.records import PartialDependence, ProfileEffect

# Parameters whose effects are shown: each is a figure.
_MOST = 6
# Configurations that are looked at for other parameters that exist together with one.
_N_ROWS = 512
# Effects of each kind that the dashboard shows.
_MOST_PUBLISHED = 3
_PROFILES = (
    "What can be reached at each value of a parameter if everything else is set as well as possible, tried or not, "
    "with 95% bands. They may reach values that the objective cannot have: the model does not know its limits. Each "
    "parameter is worked out by itself, so two profiles may differ a little about the same settings. "
)
_OF_ONE = (
    "Bands also cover what is not known about the best trial itself, so they may be wider than the room to improve. "
    "The trial to use was picked, so what to expect of it allows for luck; profiles do not."
)
_OF_SEVERAL = (
    "Intervals of trials on the front also allow for luck, and held the truth more often than they promise in our "
    "tests: they may be wider than these bands."
)
_AVERAGED = "On average over all other settings"
_AVERAGES = (
    "The same parameters on average over all other settings, good and bad, with 95% bands. A parameter can matter "
    "although it is not known which of its values is better on average, and a difference can be known although its "
    "share of the variance is not. Most settings were never tried, so these bands are often wider than those of the "
    "best, and may reach beyond them."
)


def profiles(overview: Overview, subjects: Sequence[Subject]) -> tuple[ProfileEffect, ...]:
    from pellucid.answers.effects.profile import profiles_of

    names = [name for subject in subjects for name in subject.params]
    return profiles_of(overview.beliefs, overview.target(subjects[0]), names)


def dependences(overview: Overview, subjects: Sequence[Subject]) -> tuple[PartialDependence, ...]:
    from pellucid.answers.effects.dependence import effects_of

    return effects_of(overview.beliefs, overview.target(subjects[0]), [subject.params for subject in subjects])


# ---------------------------------------------------------------------- the parameters that are shown


def shown(overview: Overview, part: Subject) -> list[Subject]:
    """The parameters whose effects are shown."""
    return [replace(part, params=(name,)) for name, _ in _by_importance(overview, part)[:_MOST]]


def averaged(overview: Overview, part: Subject) -> list[Subject]:
    """Those of the shown parameters that can be averaged over, and the first two of all that exist together."""
    (first, branch), *others = _by_importance(overview, part)
    space = overview.beliefs.data(overview.target(part)).space
    subjects = [subject for subject in shown(overview, part) if not _alone(space, subject.params[0])]
    second = next((name for name, other in others if other == branch), None)
    return subjects if second is None else [*subjects, replace(part, params=(first, second))]


def _by_importance(overview: Overview, part: Subject) -> list[tuple[str, str]]:
    """Names and branches of the parameters: those of the best trial first, and of these what is known to matter; those
    that always exist before those of a branch. In the study's order if that is not known."""
    view = overview.view
    if not view.varying:
        reason = "No parameter varies, so there are no effects to show."
        raise NoAnswer(reason) if len(view.observations) else NoAnswerYet(reason)
    importance = overview.ask(IMPORTANCE, part)
    if not isinstance(importance, Importance):
        return [(name, "") for name in view.varying]
    data = overview.beliefs.data(overview.target(part))
    best = data.observations.configurations[int(np.argmin(data.losses))]
    order = sorted(
        importance.parameters,
        key=lambda share: (share.name not in best, share.verdict != "matters", bool(share.branch)),
    )
    return [(share.name, share.branch) for share in order]


def _alone(space: Space, name: str) -> bool:
    """Whether a parameter is the only one of its branch, and of the study beside the choices that lead there: there is
    nothing to average over."""
    column = space.index[name]
    if name not in space.conditions:
        return False
    others = [j for j in range(len(space)) if j != column and not descends(space, column, j)]
    rows = space.canonical(low_discrepancy(1, _N_ROWS, np.zeros(len(space))))
    active = space.active(rows)
    return not active[active[:, column]][:, others].any()


# ---------------------------------------------------------------------- on a page


def section(overview: Overview, part: Subject) -> Iterator[Piece]:
    """What can be reached at each value first; averages, which mix in bad settings, on demand."""
    reached, missing = _answers(overview, PROFILE, part)
    averages, why_not = _answers(overview, DEPENDENCE, part)
    if missing is not None and why_not is not None:
        yield unknown(why_not)
        return
    said: tuple[str, ...] = ()
    if reached:
        importance = overview.found(IMPORTANCE, part)
        known, shown = 0 if importance is None else len(importance.parameters), len(reached)
        left = f" Shown are {shown} of {known} parameters, those of the best trial first." if known > shown else ""
        yield text(f"{_PROFILES}{_OF_SEVERAL if part.prefix else _OF_ONE}{left}", kind="soft")
        # After the advice to stop, it is a reason to distrust that, and stands there.
        if not part.prefix and not advises_to_stop(overview):
            yield from doubtful(filter(None, [beyond_the_verdict(overview)]))
        said = _shared(reached)
        yield from doubtful(said)
        yield _curves(f"{part.prefix}profile", reached, said)
    if averages:
        single = [effect for effect in averages if len(effect.params) == 1]
        joint = [effect for effect in averages if len(effect.params) == 2]
        inside: list[Piece] = [text(f"{_AVERAGES}{_without_average(reached, averages)}", kind="soft")]
        fresh = tuple(note for note in _shared(single) if note not in said)
        inside += doubtful(fresh)
        said += fresh
        inside.append(_curves(f"{part.prefix}effect", single, said))
        inside += [Drawing(f"{part.prefix}joint", effect, top=50, said=said) for effect in joint]
        yield Folded(f"{part.prefix}averages", _AVERAGED, tuple(inside))


def _answers(overview: Overview, answer: Answer[Record], part: Subject) -> tuple[list[Record], NotKnown | None]:
    """The answers about a part, or why there are none."""
    asked = [question.answered() for question in overview.shown_of(answer, part)]
    missing = [each for each in asked if isinstance(each, NotKnown)]
    return [each for each in asked if not isinstance(each, NotKnown)], missing[0] if missing else None


def _shared(curves: Sequence[ProfileEffect | PartialDependence]) -> tuple[str, ...]:
    """The doubts that all of them have."""
    everywhere = set(curves[0].notes).intersection(*(curve.notes for curve in curves)) if curves else set()
    return tuple(note for note in curves[0].notes if note in everywhere) if curves else ()


def _curves(name: str, curves: Sequence[ProfileEffect | PartialDependence], said: tuple[str, ...]) -> Row:
    """A figure per parameter; doubts that all of them share stand once, above."""
    return Row(
        tuple(
            Drawing(f"{name}-{i}", curve, said=said, on="both" if i < _MOST_PUBLISHED else "page")
            for i, curve in enumerate(curves)
        )
    )


def _without_average(reached: Sequence[ProfileEffect], averages: Sequence[PartialDependence]) -> str:
    """What is to be said of parameters with a profile and without an average."""
    averaged = {name for effect in averages if len(effect.params) == 1 for name in effect.params}
    alone = [f"`{profile.param}`" for profile in reached if profile.param not in averaged]
    if not alone:
        return ""
    return f" {spoken(alone)} {'is' if len(alone) == 1 else 'are'} alone in a branch: there is nothing to average over."


def doubts(overview: Overview, part: Subject) -> list[str]:
    """What all averages say: what only one parameter's figure says stays there."""
    averages = [effect for effect in _answers(overview, DEPENDENCE, part)[0] if len(effect.params) == 1]
    return list(_shared(averages)) if len(averages) > 1 else []
