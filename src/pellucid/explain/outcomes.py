"""Several objectives at once: what trials returned, a model of each, and the point below which volume counts.

Every objective has a model of its own, fitted as if it were the only one.

Notation
    k objectives, as losses: smaller is better
    Y (n, k)      outcomes of the observations, as returned
"""

from __future__ import annotations

import numpy as np

from pellucid.explain.model import fitted_model
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Mask
from pellucid.pareto import check_number, reference_point, steady_reference_point
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView


def observed_outcomes(view: StudyView, data: Arrays) -> Array:
    """Y. `data`: the observations, with the values of any objective."""
    return np.stack([data.about(about.observations).losses for about in view.each], axis=1)


def check_front(view: StudyView) -> None:
    """Raise ValueError if the study has more objectives than fronts are computed for."""
    check_number(len(view.objectives), "Fronts are computed for", "pass one of them as `objective`")


def reference_of(Y: Array, feasible: Mask) -> Array:
    """The point (k,) below which volume counts; some of the outcomes are feasible (n,).

    If others are not, they count too, and those of the first trials as much as later ones: all feasible trials may lie
    in one corner of what is possible, and the rest of the front beyond them.
    """
    point = reference_point(Y[feasible])
    return point if feasible.all() else np.maximum(point, steady_reference_point(Y))


def objective_models(view: StudyView, data: Arrays) -> tuple[GaussianProcess, ...]:
    """The best fit of every objective."""
    return tuple(fitted_model(about, data.about(about.observations)) for about in view.each)
