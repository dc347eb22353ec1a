"""Monotone output warps: inverse of each other, increasing, with the derivative they claim, for any losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.models import warp
from pellucid.models.states import Warp
from pellucid.numerics import Array
from pellucid.words import RecordError


@st.composite
def warps(draw: st.DrawFn) -> Warp:
    """A warp of either kind, chosen for a range that is narrower or wider than the losses the tests ask about."""
    centre, spread = draw(st.floats(-1e3, 1e3)), draw(st.floats(1e-3, 1e3))
    above = centre + spread * draw(st.floats(0.1, 100.0))
    if draw(st.booleans()):
        return Warp("log", centre, spread, draw(st.floats(1e-2, 1.0)), low=centre, high=above)
    shape = draw(st.one_of(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 2.0]), st.floats(1e-6, 2.0)))
    return Warp("yeo-johnson", centre, spread, shape, low=centre - spread * draw(st.floats(0.1, 100.0)), high=above)


WARPS = warps()
STANDARD = st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=30)


def losses(w: Warp, t: list[float]) -> Array:
    """Losses at these places relative to the warp's centre and spread."""
    return np.asarray(w.centre + w.spread * np.array(t))


def rounding(w: Warp, y: Array) -> Array:
    """How exactly (y - centre) / spread can be known, in the unit of y."""
    return 1e-12 * (np.abs(y) + abs(w.centre) + w.spread)


@given(WARPS, STANDARD)
def test_inverse_undoes_forward(w: Warp, t: list[float]) -> None:
    y = losses(w, t)
    back = warp.inverse(w, warp.forward(w, y))
    assert back.shape == y.shape
    # Where the warp is flat, one rounding of the warped value is many of the loss.
    flat = np.exp(-warp.log_derivative(w, y)) * 1e-14 * (1.0 + np.abs(warp.forward(w, y)))
    assert (np.abs(back - y) <= rounding(w, y) + flat).all()


@given(WARPS, STANDARD)
def test_forward_undoes_inverse(w: Warp, v: list[float]) -> None:
    """On the warped side too: draws and quantiles come from there, wherever they fall."""
    warped = np.clip(np.array(v), -20.0, 20.0)
    y = warp.inverse(w, warped)
    assert np.isfinite(y).all()
    slope = np.exp(warp.log_derivative(w, y))
    assert (np.abs(warp.forward(w, y) - warped) <= 1e-12 * (1 + np.abs(warped)) + slope * rounding(w, y)).all()


@given(WARPS, st.lists(st.floats(-50.0, 50.0), min_size=2, max_size=30, unique_by=lambda t: round(t, 6)))
def test_warps_increase_strictly(w: Warp, t: list[float]) -> None:
    y = np.unique(losses(w, sorted(t)))
    assert (np.diff(warp.forward(w, y)) > 0).all()
    v = np.linspace(-10, 10, 101)
    assert (np.diff(warp.inverse(w, v)) > 0).all()


@given(WARPS, STANDARD)
def test_log_derivative_is_that_of_finite_differences(w: Warp, t: list[float]) -> None:
    places, h = np.array(t), 1e-4 * w.spread
    y = losses(w, places.tolist())
    # Curvature jumps at the centre and at both ends: a difference across them is the derivative of neither side.
    corners = np.array([w.centre, w.low, w.high])
    y = y[np.abs(y[:, None] - corners).min(axis=1) > 1e-2 * w.spread]
    near = warp.forward(w, y + h) - warp.forward(w, y - h)
    far = warp.forward(w, y + 2 * h) - warp.forward(w, y - 2 * h)
    numeric = (8 * near - far) / (12 * h)
    np.testing.assert_allclose(np.exp(warp.log_derivative(w, y)), numeric, rtol=1e-5)


@given(WARPS)
def test_warps_have_no_jumps(w: Warp) -> None:
    """Value and slope agree from both sides of the centre and of both ends: the warp is continuous there."""
    for corner in (w.centre, w.low, w.high):
        y = corner + w.spread * np.array([-1e-9, 1e-9])
        assert np.diff(warp.log_derivative(w, y))[0] == pytest.approx(0.0, abs=1e-5)
        slope = np.exp(warp.log_derivative(w, np.array([corner])))[0]
        rounding_of_y = 4 * np.spacing(abs(corner) + w.spread)
        assert 0.0 <= np.diff(warp.forward(w, y))[0] <= slope * (np.diff(y)[0] + rounding_of_y) * 1.01 + 1e-14


@given(WARPS, st.floats(0.0, 1e6))
def test_warps_are_straight_outside_the_range_they_were_chosen_for(w: Warp, t: float) -> None:
    for end, sign in ((w.low, -1.0), (w.high, 1.0)):
        y = end + sign * w.spread * np.array([0.0, t, 2.0 * t])
        v = warp.forward(w, y)
        slope = np.exp(warp.log_derivative(w, np.array([end])))[0]
        np.testing.assert_allclose(v - v[0], slope * (y - y[0]), rtol=1e-9, atol=1e-9 * (1.0 + abs(v[0])))
        np.testing.assert_array_equal(warp.log_derivative(w, y), np.full(3, warp.log_derivative(w, y)[0]))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_no_warp_and_the_identity_of_yeo_johnson_change_nothing(y: list[float]) -> None:
    values = np.array(y)
    assert np.array_equal(warp.forward(None, values), values)
    assert np.array_equal(warp.inverse(None, values), values)
    assert np.array_equal(warp.log_derivative(None, values), np.zeros(len(y)))
    identity = Warp("yeo-johnson", 0.0, 1.0, 1.0, -10.0, 10.0)
    np.testing.assert_allclose(warp.forward(identity, values), values, rtol=1e-12, atol=1e-12)


def test_yeo_johnson_is_the_transformation_of_the_textbook() -> None:
    y = np.array([-3.0, -0.5, 0.0, 0.5, 3.0])
    for lam in (0.0, 0.5, 1.3, 2.0):
        up = np.log(y[2:] + 1) if lam == 0 else ((y[2:] + 1) ** lam - 1) / lam
        down = -np.log(1 - y[:2]) if lam == 2 else -((1 - y[:2]) ** (2 - lam) - 1) / (2 - lam)
        np.testing.assert_allclose(
            warp.forward(Warp("yeo-johnson", 0.0, 1.0, lam, -5.0, 5.0), y), np.r_[down, up], rtol=1e-13
        )


def test_a_log_warp_is_a_logarithm_above_the_minimum() -> None:
    w = Warp("log", centre=2.0, spread=4.0, shape=0.1, low=2.0, high=10.0)
    np.testing.assert_allclose(warp.forward(w, np.array([2.0, 6.0])), np.log([0.1, 1.1]), rtol=1e-14)


# ------------------------------------------------------------------------------------------- candidates

NASTY: dict[str, Array] = {
    "one value": np.array([3.0]),
    "constant": np.full(20, 3.0),
    "two values": np.array([0.0, 1.0] * 10),
    "two values, one rare": np.array([0.0] * 19 + [1.0]),
    "four values": np.arange(4.0),
    "mostly ties": np.array([1.0] * 15 + [2.0, 3.0, 4.0, 5.0, 6.0]),
    "mostly ties at the minimum": np.array([0.0] * 11 + list(np.arange(1.0, 10.0))),
    "mostly ties at the maximum": np.array([9.0] * 11 + list(np.arange(0.0, 9.0))),
    "nearly constant": 1e6 + 1e-9 * np.arange(20),
    "equal up to rounding": 1.0 + 1e-16 * np.arange(20),
    "huge": 1e300 * np.arange(1, 21),
    "huge and negative": -1e300 * np.arange(1, 21),
    "both ends of what a study hands over": 1e306 * np.linspace(-1, 1, 20),
    "huge outlier": np.r_[np.arange(19.0), 1e250],
    "huge negative outlier": np.r_[np.arange(19.0), -1e250],
    "outlier": np.r_[np.arange(19.0), 1e12],
    "negative outlier": np.r_[np.arange(19.0), -1e12],
    "tiny": 1e-300 * np.arange(20),
    "subnormal": 5e-324 * np.arange(20),
    "around zero": np.r_[0.0, -0.0, 1e-310, -1e-310, np.arange(10.0)],
    "many decades": 10.0 ** np.arange(-10, 10),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NASTY)
def test_candidates_exist_and_apply_to_any_losses(name: str) -> None:
    y = NASTY[name]
    options, warped, jacobians = warp.candidates(y)
    assert options[0] is None
    assert warped.shape == (len(y), len(options))
    assert jacobians.shape == (len(options),)
    assert np.array_equal(warped[:, 0], y)
    assert jacobians[0] == 0.0
    span = float(y.max()) / 2 - float(y.min()) / 2
    order = np.argsort(y, kind="stable")
    for w, v, jacobian in zip(options[1:], warped[:, 1:].T, jacobians[1:], strict=True):
        assert np.isfinite(v).all(), w
        assert (np.diff(v[order]) >= 0).all(), w
        np.testing.assert_allclose(warp.forward(w, y), v, rtol=1e-10, atol=1e-10, err_msg=str(w))
        assert jacobian == pytest.approx(float(warp.log_derivative(w, y).sum()), rel=1e-10, abs=1e-8), w
        np.testing.assert_allclose(warp.inverse(w, v) / 2, y / 2, rtol=1e-6, atol=1e-6 * span, err_msg=str(w))


@pytest.mark.parametrize("name", ["one value", "constant", "two values", "two values, one rare", "four values"])
def test_too_few_different_losses_are_not_warped(name: str) -> None:
    assert warp.candidates(NASTY[name])[0] == [None]


def test_ordinary_losses_get_a_choice_of_both_kinds() -> None:
    options, _, _ = warp.candidates(np.random.default_rng(0).lognormal(size=50))
    assert {w.kind for w in options if w is not None} == {"yeo-johnson", "log"}


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_candidates_are_valid_for_arbitrary_losses(values: list[float]) -> None:
    y = np.array(values)
    options, warped, jacobians = warp.candidates(y)
    assert np.isfinite(warped).all()
    assert np.isfinite(jacobians).all()
    for w, v in zip(options, warped.T, strict=True):
        np.testing.assert_allclose(warp.forward(w, y), v, rtol=1e-9, atol=1e-9)


@given(st.lists(st.integers(-1000, 1000), min_size=5, max_size=40), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_candidates_follow_a_change_of_unit(values: list[int], a: float, b: float) -> None:
    """The same warps, up to the unit: warped losses are equal, and Jacobians differ by the logarithm of the unit."""
    y = np.array(values, dtype=float)
    options, warped, jacobians = warp.candidates(y)
    others, rewarped, rejacobians = warp.candidates(a * y + b)
    assert len(others) == len(options)
    np.testing.assert_allclose(rewarped[:, 1:], warped[:, 1:], atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(rejacobians[1:], jacobians[1:] - len(y) * np.log(a), atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "sinh"}, "'yeo-johnson' or 'log', but got 'sinh'"),
        ({"spread": 0.0}, "positive spread"),
        ({"spread": float("inf")}, "positive spread"),
        ({"centre": float("nan")}, "finite numbers"),
        ({"low": float("-inf")}, "finite numbers"),
        ({"low": 1.0, "high": 1.0}, "low < high"),
        ({"shape": 2.5}, "0 <= shape <= 2"),
        ({"shape": float("nan")}, "finite numbers"),
        ({"kind": "log", "low": 0.0, "shape": 0.0}, "positive offset"),
        ({"kind": "log", "low": 0.0, "shape": float("nan")}, "finite numbers"),
        ({"kind": "log", "low": -1.0}, "low >= centre"),
    ],
)
def test_a_meaningless_warp_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        replace(Warp("yeo-johnson", centre=0.0, spread=1.0, shape=0.5, low=-1.0, high=2.0), **fields)  # type: ignore[arg-type]
