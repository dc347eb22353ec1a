"""Gradients of acquisitions against central differences, to 1e-5 relative."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import assert_gradient, central_difference, configurations, fitted_process

from pellucid.models.kernels import KERNELS
from pellucid.numerics import Array
from pellucid.search.acquisition import EI, LCB, PI, WEI, Acquisition, PosteriorVariance
from pellucid.search.acquisition.base import PointwiseFunction, Situation

ACQUISITIONS: list[Acquisition] = [
    EI(), EI(xi=0.1), PI(), PI(xi=0.1), LCB(), LCB(lam=0.0), LCB(lam=None), LCB(lam=None, beta=0.2),
    WEI(0.0), WEI(0.2), WEI(0.5), WEI(0.8), WEI(1.0), PosteriorVariance(),
]  # fmt: skip


# ---------------------------------------------------------------------------------------- acquisitions


def reach(acquisition: Acquisition) -> float:
    """How far out z can go before the value itself (if the score is not a logarithm) is only rounding."""
    return 6.0 if isinstance(acquisition, WEI) and acquisition.alpha > 0.5 else 35.0


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
@pytest.mark.parametrize("s", [1e-3, 0.7, 20.0])
def test_slopes_of_scores_in_mean_and_sd(acquisition: Acquisition, s: float) -> None:
    situation = Situation(best=-0.3, n_observed=17, dimension=4)
    for z in np.r_[np.linspace(-reach(acquisition), reach(acquisition), 25), -1.0, -0.999, -1.001, 0.01]:
        point = np.array([situation.best - z * s, s])

        def score(units: Array, point: Array = point) -> float:
            m, sd = point[0] + s * units[0], s * (1.0 + units[1])
            return float(acquisition.score(np.array([m]), np.array([sd]), situation)[0])

        value, by_m, by_s = acquisition.score_slopes(point[:1], point[1:], situation)
        assert value[0] == pytest.approx(score(np.zeros(2)), rel=1e-12)
        # In units of s: then both slopes and the step are of the same size for any s.
        assert_gradient(np.array([by_m[0], by_s[0]]) * s, central_difference(score, np.zeros(2), 1e-4))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
@pytest.mark.parametrize("nominal", [(), (0, 3, 0)])
def test_gradient_of_the_score_of_a_configuration(
    kernel: str, acquisition: Acquisition, nominal: tuple[int, ...]
) -> None:
    gp = fitted_process(kernel, nominal)
    situation = Situation(float(gp.latent_at_observed().min()), gp.n_observed, 3)
    function = PointwiseFunction(acquisition, gp, situation)
    X = configurations(15, 5, 3, nominal)
    scores, gradients = function.score_with_gradient(X)
    np.testing.assert_allclose(scores, function.score(X), rtol=1e-10)
    for x, gradient in zip(X, gradients, strict=True):
        assert_gradient(gradient, central_difference(lambda t: function.score(t[None])[0], x, 2e-4))
