"""Which configuration to use."""

from __future__ import annotations

import numpy as np
from optuna.study import Study

from pellucid.explain.model import fitted_model, opened
from pellucid.explain.text import counted
from pellucid.records import Recommendation
from pellucid.study.arrays import arrays
from pellucid.study.observations import Observations
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

LEVEL = 0.95
# With fewer trials than this, or than twice the parameters, a recommendation is called provisional.
_FEW = 10


def recommend(study: Study, *, surrogate: GaussianProcess | None = None) -> Recommendation:
    """The evaluated configuration with the best *expected* objective, and a 95% interval of its true value.

    With noise this is not always the best trial: a lucky value is shrunk towards those of its neighbours.

    Args:
        study: any study with one objective.
        surrogate: kernel and warp of the model; default `GaussianProcess(warp="auto")`.
    """
    with opened(study, "recommend") as view:
        return recommendation_of(view, surrogate)


def recommendation_of(view: StudyView, surrogate: GaussianProcess | None = None) -> Recommendation:
    complete = view.observations.of_complete_trials
    if not len(complete):
        raise ValueError(
            "A recommendation needs at least one finished trial with a value; "
            f"this study has {len(view.trials)} trials, none of them finished with one."
        )
    data = arrays(view.varying, complete) if view.varying else None
    if data is None or len(data.losses) == 0:
        return _best_trial(view, complete)
    gp = fitted_model(view, data, surrogate)
    best = int(np.argmin(gp.latent_at_observed()))
    x = data.X[best : best + 1]
    low, high = sorted(view.sign * float(gp.quantile(x, p)[0]) for p in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    n, d = len(data.losses), len(data.space)
    provisional = f"Provisional: {counted(n, 'trial')} for {counted(d, 'parameter')}."
    return Recommendation(
        params=dict(data.observations.configurations[best]),
        trial=data.observations.numbers[best],
        expected=view.sign * float(gp.predict(x)[0][0]),
        low=low,
        high=high,
        level=LEVEL,
        observed=view.sign * float(data.observations.raw[best]),
        n_trials=n,
        direction=view.direction,
        notes=(provisional,) if n < max(2 * d, _FEW) else (),
    )


def _best_trial(view: StudyView, complete: Observations) -> Recommendation:
    """The best trial, for a study without a parameter to model."""
    best = int(np.argmin(complete.losses))
    value = view.sign * float(complete.raw[best])
    return Recommendation(
        params=dict(complete.configurations[best]),
        trial=complete.numbers[best],
        expected=value,
        low=-np.inf,
        high=np.inf,
        level=LEVEL,
        observed=value,
        n_trials=len(complete),
        direction=view.direction,
        notes=("No parameter varies, so there is nothing to model: this is the best trial.",),
    )
