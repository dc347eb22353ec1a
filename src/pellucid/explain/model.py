"""The default model of a study: fitted once per view, and shared by all answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from optuna.study import Study

from pellucid.explain.choice import bounded
from pellucid.models import GaussianProcess
from pellucid.models.plausible import plausible
from pellucid.numerics import Array, one_thread
from pellucid.records import NotKnown, attempt
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays
from pellucid.study.extrapolation import extrapolated
from pellucid.study.view import StudyView
from pellucid.words import Note, printable

# Models with plausible hyperparameters behind an answer: more of them make intervals smoother and cost time.
N_PLAUSIBLE = 12
# With more trials the hyperparameters are known well enough, and each model would cost seconds.
_MOST_PLAUSIBLE = 1000
# How many times larger leave-one-out errors may be without a warp before the warp is needed: averages in the
# objective's own unit are worth a loss of accuracy. At 2.5, bands missed the average of ordinary problems.
_WORSE = 10.0


def view_of(study: Study) -> StudyView:
    """The view that answers are about: trials that were stopped early or still run count with what their learning
    curves promise, and of too many trials models are conditioned on a choice."""
    with one_thread:
        return bounded(extrapolated(StudyView.whole(study)))


def view_for_all(study: Study) -> tuple[StudyView, NotKnown | None]:
    """As `view_of`, for many answers at once: if learning curves cannot be judged, what stopped trials reported last
    counts, and the second is why."""
    whole = StudyView.whole(study)
    with one_thread:
        view = attempt(lambda: extrapolated(whole))
    return (bounded(whole), view) if isinstance(view, NotKnown) else (bounded(view), None)


def curve_notes(data: Arrays) -> list[str]:
    """A note if a model of these trials rests on values that were extrapolated."""
    return curve_note(sum(data.observations.extrapolated), len(data.losses))


def curve_note(count: int, n: int) -> list[str]:
    """`count` of the `n` trials of a model were extrapolated."""
    if not count:
        return []
    promised = "the model predicts their values from learning curves"
    return [Note(f"{count} of {n} trials have not run to their end: {promised}.", "curves")]


@contextmanager
def opened(study: Study, asker: str, objective: str | int | None = None) -> Iterator[StudyView]:
    """The view of a study for one public call, with linear algebra on one thread.

    Raises ValueError if `objective` is neither the name or number of an objective, nor the name of a constraint; None
    is the objective of a study that has only one.
    """
    view = view_of(study)
    if objective is None and view.several:
        either = " or ".join(f"objective={objective.name!r}" for objective in view.objectives)
        raise ValueError(
            printable(
                f"{asker} answers about one objective at a time, but this study has {len(view.objectives)}: pass "
                f"{either}."
            )
        )
    view = view.about(objective)
    with one_thread:
        yield view


def default_template() -> GaussianProcess:
    """Kernel and warp of the default model."""
    return GaussianProcess(warp="auto")


@dataclass(frozen=True)
class _Fit:
    """A fitted model, and what it was fitted to."""

    kernel: str
    warp: str | None
    deterministic: bool
    space: Space
    numbers: tuple[int, ...]
    gp: GaussianProcess

    def serves(self, template: GaussianProcess, data: Arrays) -> bool:
        return self.warp == template.warp and self.begins(template, data)

    def begins(self, template: GaussianProcess, data: Arrays) -> bool:
        """Whether it is the same model except for the warp."""
        same_model = (self.kernel, self.deterministic) == (template.kernel.name, template.deterministic)
        return same_model and self.numbers == data.observations.numbers and self.space == data.space


_fits: WeakKeyDictionary[StudyView, list[_Fit]] = WeakKeyDictionary()


def fitted_model(view: StudyView | None, data: Arrays, template: GaussianProcess | None = None) -> GaussianProcess:
    """The model of data from a view. Each distinct model is fitted once per view; without a view, on every call."""
    template = default_template() if template is None else template
    fits = [] if view is None else _fits.setdefault(view, [])
    for fit in fits:
        if fit.serves(template, data):
            return fit.gp
    gp = _fit(template, data, next((fit.gp for fit in fits if fit.begins(template, data)), None))
    settings = template.kernel.name, template.warp, template.deterministic
    fits.append(_Fit(*settings, data.space, data.observations.numbers, gp))
    if view is not None:
        _subjects[gp] = _subject(view)
    return gp


def _fit(template: GaussianProcess, data: Arrays, relative: GaussianProcess | None) -> GaussianProcess:
    """The model of data; `relative`: the fitted one with or without a warp, where this is the other way round. They are
    the same if no warp was chosen."""
    noise = data.observations.noise_variance
    gp = template.unfitted(data.space.nominal)
    gp.learn(data.X, data.losses, noise, beginning=None if relative is None else relative.beginning)
    if relative is not None and relative.hyperparameters == gp.hyperparameters:
        return relative
    return gp.condition(data.X, data.losses, noise)


def _subject(view: StudyView) -> tuple[str, ...]:
    """What a model of the view is about: nothing is said of the first objective, which may be the only one."""
    if view.constraint is not None:
        return "constraint", view.constraint
    return (f"objective {view.index}",) if view.index else ()


_subjects: WeakKeyDictionary[GaussianProcess, tuple[str, ...]] = WeakKeyDictionary()
_plausible: WeakKeyDictionary[GaussianProcess, tuple[GaussianProcess, ...]] = WeakKeyDictionary()


def plausible_models(gp: GaussianProcess, data: Arrays) -> tuple[GaussianProcess, ...]:
    """Models of equal weight whose hyperparameters are drawn from their posterior; `gp` is the fitted model of `data`.

    The best fit alone is too sure of itself: answers that state an uncertainty are averaged over these. They are drawn
    once per fitted model, and independently for every objective and constraint.
    """
    if len(data.losses) > _MOST_PLAUSIBLE:
        return (gp,)
    if gp not in _plausible:
        noise = data.observations.noise_variance
        _plausible[gp] = plausible(gp, data.X, data.losses, noise, count=N_PLAUSIBLE, about=_subjects.get(gp, ()))
    return _plausible[gp]


@dataclass(frozen=True)
class EffectModel:
    """The model that effects are read from. `typical`: it needed an output warp, so curves that are mapped back to the
    unit of the objective show typical values instead of averages."""

    gp: GaussianProcess
    typical: bool


def effect_model(view: StudyView | None, data: Arrays, template: GaussianProcess | None = None) -> EffectModel:
    """A model without an output warp if it fits about as well, because its averages are those of the objective."""
    template = default_template() if template is None else template
    plain = fitted_model(view, data, template.unwarped())
    if template.warp is None:
        return EffectModel(plain, False)
    warped = fitted_model(view, data, template)
    if warped.hyperparameters.warp is None or warped.kernel.radial:
        return EffectModel(plain, False)
    plain_errors, warped_errors = (
        np.abs(gp.from_latent(*gp.leave_one_out())[0] - data.losses) for gp in (plain, warped)
    )
    scale = max(float(plain_errors.max()), 1e-300)
    worse = _rms(plain_errors / scale) > _WORSE * _rms(warped_errors / scale)
    return EffectModel(warped, True) if worse else EffectModel(plain, False)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
