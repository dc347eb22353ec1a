"""Mean and sd of warped predictions against dense quadrature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pellucid.models import warp
from pellucid.models.states import Warp

WARPS = [
    *(
        Warp("yeo-johnson", centre=2.0, spread=0.7, shape=shape, low=0.5, high=9.0)
        for shape in (0.0, 0.25, 0.75, 1.0, 1.6, 2.0)
    ),
    *(Warp("log", centre=-1.0, spread=3.0, shape=shape, low=-1.0, high=30.0) for shape in (0.01, 0.1, 0.5)),
]


def dense_moments(w: Warp, mean: float, sd: float) -> tuple[float, float]:
    """Mean and sd of w^-1(N(mean, sd^2)) by the trapezoidal rule on 12 sds either side: exact to rounding for smooth
    integrands, and to 1e-6 across the corners that a warp has."""
    t = np.linspace(-12, 12, 40_001)
    weight = np.exp(-0.5 * t * t)
    weight /= weight.sum()
    values = warp.inverse(w, mean + sd * t)
    centre = float(values @ weight)
    return centre, float(np.sqrt(((values - centre) ** 2) @ weight))


@pytest.mark.parametrize("w", WARPS, ids=lambda w: f"{w.kind} {w.shape}")
@pytest.mark.parametrize("sd", [1e-3, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("mean", [-3.0, -0.4, 0.0, 0.3, 2.5])
def test_moments_of_warps_are_those_of_dense_quadrature(w: Warp, mean: float, sd: float) -> None:
    """Relative to the sd: half a per cent of an error bar, everywhere a fitted model can be."""
    exact_mean, exact_sd = dense_moments(w, mean, sd)
    moment_mean, moment_sd = warp.moments(w, np.array([mean]), np.array([sd]))
    assert abs(moment_mean[0] - exact_mean) < 5e-3 * exact_sd
    assert moment_sd[0] == pytest.approx(exact_sd, rel=5e-3)


def test_without_a_warp_moments_are_the_arguments() -> None:
    mean, sd = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    assert warp.moments(None, mean, sd)[0] is mean
    assert warp.moments(None, mean, sd)[1] is sd


@pytest.mark.parametrize("w", WARPS, ids=lambda w: f"{w.kind} {w.shape}")
@pytest.mark.parametrize("unit", [1e-250, 1e-160, 1e160, 1e250])
@pytest.mark.filterwarnings("error")
def test_moments_of_warps_do_not_depend_on_the_unit(w: Warp, unit: float) -> None:
    """A loss in units of 1e-250 or 1e250 is unusual, but its error bar must not be zero or infinite."""
    mean, sd = np.array([-0.4, 0.3]), np.array([0.1, 0.5])
    expected_mean, expected_sd = warp.moments(w, mean, sd)
    scaled = replace(w, centre=w.centre * unit, spread=w.spread * unit, low=w.low * unit, high=w.high * unit)
    moment_mean, moment_sd = warp.moments(scaled, mean, sd)
    np.testing.assert_allclose(moment_mean, expected_mean * unit, rtol=1e-9)
    np.testing.assert_allclose(moment_sd, expected_sd * unit, rtol=1e-9)
