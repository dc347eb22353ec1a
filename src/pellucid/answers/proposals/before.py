"""What was known when a trial began: the trials that had finished, and the default models of their objectives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.beliefs import Fits
from pellucid.beliefs.choice import bounded
from pellucid.models import GaussianProcess
from pellucid.pareto import check_front, front, reference_of
from pellucid.search.acquisition.base import Outcomes
from pellucid.search.acquisition.ehvi import latent_reference
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.extrapolation import extrapolated
from pellucid.study.targets import Target
from pellucid.study.trials import distributions, ended_before
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer, NoAnswerYet

# A model needs this many trials to say anything about a trial of another sampler.
_FEWEST = 3


def data_before(view: StudyView, trial: FrozenTrial, target: Target | None) -> tuple[Arrays, int, list[str]]:
    """The observations of a target that a model of the time when a trial began is conditioned on, how many inside its
    ranges they stand for, and those of its parameters that no trial had had. Without a target, those of all objectives.

    Raises ValueError if they are too few for a model.
    """
    number = trial.number
    if not trial.params:
        if trial.state.is_finished():
            raise NoAnswer(f"Trial {number} has no parameters, so there is nothing to explain.")
        raise NoAnswerYet(f"Trial {number} has no parameters yet, so there is nothing to explain.")
    before = [other for other in view.trials if other.number < number and ended_before(other, trial)]
    known_then = bounded(extrapolated(replace(view, trials=before, extrapolation=None, choice=None)))
    observed = known_then.observations if target is None else known_then.observed(target)
    if len(observed) < _FEWEST:
        raise NoAnswer(
            f"Trial {number} was not proposed by pellucid, and when it began, {len(observed)} trials had finished with "
            f"a value: a model needs at least {_FEWEST}."
        )
    known = distributions(before)
    unknown = [name for name in trial.params if name not in known]
    # Ranges as the trial had them. Earlier trials outside of them are left out, as the sampler would do.
    known.update({name: distribution for name, distribution in trial.distributions.items() if name in known})
    varying = {name: distribution for name, distribution in known.items() if not distribution.single()}
    data = arrays(varying, observed)
    if len(data.space) == 0:
        raise NoAnswer(f"No parameter of trial {number} varies, so there is nothing to explain.")
    if len(data) < _FEWEST:
        raise NoAnswer(
            f"When trial {number} began, {len(data)} of {len(observed)} finished trials lay inside its ranges: "
            f"a model needs at least {_FEWEST} to say anything about it."
        )
    return known_then.chosen(data), len(data), unknown


def outcomes_before(view: StudyView, data: Arrays, own: GaussianProcess) -> Outcomes:
    """The default models of several objectives, and the front of the feasible trials; `own`: of the view's objective.

    As long as no trial is feasible, all of them count. Raises ValueError if there are too many objectives for a front.
    """
    check_front(len(view.objectives))
    models = [own, *(Fits(objective).model(data.of(objective)).gp for objective in view.objectives[1:])]
    feasible = data.observations.feasible
    can_be = feasible if feasible.any() else np.ones(len(feasible), dtype=bool)
    Y = np.stack([model.latent_at_observed() for model in models], axis=1)[can_be]
    point = reference_of(data.observations.values, can_be)
    return Outcomes(tuple(models), Y[front(Y)], latent_reference(models, point, Y))
