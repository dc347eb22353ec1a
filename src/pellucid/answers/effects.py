"""What parameters do: the best that can be reached at each value, and the average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pellucid.answers.base import Overview, Subject
from pellucid.answers.catalogue import IMPORTANCE
from pellucid.numerics import low_discrepancy
from pellucid.records import Importance
from pellucid.space.branches import descends
from pellucid.space.encoding import Space
from pellucid.words import NoAnswer, NoAnswerYet

if TYPE_CHECKING:
    from pellucid.records import PartialDependence, ProfileEffect

# Parameters whose effects are shown: each is a figure.
_MOST = 6
# Configurations that are looked at for other parameters that exist together with one.
_N_ROWS = 512


def profiles(overview: Overview, subjects: Sequence[Subject]) -> tuple[ProfileEffect, ...]:
    from pellucid.explain.effects.profile import profiles_of

    names = [name for subject in subjects for name in subject.params]
    return profiles_of(overview.beliefs, overview.target(subjects[0]), names)


def dependences(overview: Overview, subjects: Sequence[Subject]) -> tuple[PartialDependence, ...]:
    from pellucid.explain.effects.dependence import effects_of

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
