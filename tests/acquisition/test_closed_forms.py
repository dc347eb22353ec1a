"""Acquisitions against Monte Carlo, against quadrature, and far out in both tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from tests.problems import noisy_problem

from pellucid.models import GaussianProcess
from pellucid.numerics import Array, log_improvement, normal_cdf, normal_pdf
from pellucid.provenance import AcquisitionState
from pellucid.search.acquisition import EI, LCB, PI, WEI, Acquisition, PosteriorVariance
from pellucid.search.acquisition.base import PointwiseFunction, Situation
from pellucid.search.acquisition.base import from_state as acquisition_from_state
from pellucid.search.acquisition.bounds import confidence_width
from pellucid.words import RecordError

SITUATION = Situation(best=0.4, n_observed=25, dimension=3)
ALPHAS = (0.0, 0.2, 0.5, 0.8, 1.0)
EVERY: list[Acquisition] = [
    EI(), EI(xi=0.3), PI(), PI(xi=0.3), LCB(), LCB(lam=None), PosteriorVariance(), *(WEI(a) for a in ALPHAS)
]  # fmt: skip
POSTERIORS = [(0.4, 1.0), (0.0, 0.5), (1.0, 0.3), (-0.5, 2.0), (2.0, 1.0), (0.4, 1e-3)]


def value(acquisition: Acquisition, m: Array, s: Array, situation: Situation = SITUATION) -> Array:
    weights, terms = acquisition.weights(situation), acquisition.terms(m, s, situation)
    assert weights.keys() == terms.keys()
    return np.asarray(sum(weights[k] * terms[k] for k in terms))


def at(z: Array | float, s: float = 1.0, situation: Situation = SITUATION) -> tuple[Array, Array]:
    """Posterior mean and sd that give this z."""
    z = np.atleast_1d(np.asarray(z, dtype=float))
    return situation.best - z * s, np.full_like(z, s)


# ------------------------------------------------------------------------------------------ Monte Carlo


def assert_is_mean_of(expected: float, draws: Array) -> None:
    standard_error = float(draws.std(ddof=1)) / np.sqrt(len(draws))
    assert standard_error > 0
    assert abs(float(draws.mean()) - expected) < 5 * standard_error


@pytest.mark.parametrize(("m", "s", "xi"), [*((m, s, 0.0) for m, s in POSTERIORS), (0.4, 1.0, 0.3), (0.5, 0.3, 0.3)])
def test_ei_and_pi_are_expectations_over_the_posterior(m: float, s: float, xi: float) -> None:
    f = m + s * np.random.default_rng(1).standard_normal(200_000)
    gain = np.maximum(SITUATION.best - xi - f, 0.0)
    assert (gain > 0).sum() > 50  # Frequent enough for a reliable standard error.
    mean, sd = np.array([m]), np.array([s])
    assert_is_mean_of(value(EI(xi), mean, sd)[0], gain)
    assert_is_mean_of(value(PI(xi), mean, sd)[0], (gain > 0).astype(float))


@pytest.mark.parametrize(("m", "s"), POSTERIORS)
def test_exploit_and_explore_are_the_expected_and_the_surprising_part_of_the_gain(m: float, s: float) -> None:
    """Given an improvement: the part that the mean predicts (exploit) and the part beyond it (explore)."""
    f = m + s * np.random.default_rng(2).standard_normal(200_000)
    improves = f < SITUATION.best
    terms = WEI(0.3).terms(np.array([m]), np.array([s]), SITUATION)
    if SITUATION.best != m:
        assert_is_mean_of(terms["exploit"][0], np.where(improves, SITUATION.best - m, 0.0))
    else:
        assert terms["exploit"][0] == 0.0
    assert_is_mean_of(terms["explore"][0], np.where(improves, m - f, 0.0))
    for alpha in ALPHAS:
        draws = np.where(improves, alpha * (SITUATION.best - m) + (1 - alpha) * (m - f), 0.0)
        if draws.std() > 0:
            assert_is_mean_of(value(WEI(alpha), np.array([m]), np.array([s]))[0], draws)


# ------------------------------------------------------------------------------------------- quadrature


def scaled_moment(z: float, power: int) -> float:
    """int_0^inf u^p exp(u z - u^2/2) du, so that Phi(z) = phi(z) I_0 and phi(z) + z Phi(z) = phi(z) I_1; z < 0.

    With v = -z u all of the integrand sits where v is of order one, however negative z is.
    """
    scale = -z
    integral, error = quad(
        lambda v: v**power * np.exp(-v - 0.5 * (v / scale) ** 2), 0, np.inf, epsabs=0, epsrel=1e-13, limit=200
    )
    assert error < 1e-9 * integral
    return float(integral / scale ** (power + 1))


def log_density(z: float) -> float:
    return -0.5 * z * z - 0.5 * np.log(2 * np.pi)


TAIL = [
    -0.05,
    -0.5,
    -0.9999,
    -1.0,
    -1.0001,
    -2.0,
    -5.0,
    -8.0,
    -20.0,
    -38.0,
    -40.0,
    -300.0,
    -1e4,
    -9.9e4,
    -1e5,
    -1.1e5,
    -1e6,
]


@pytest.mark.parametrize("z", TAIL)
@pytest.mark.parametrize("s", [1.0, 1e-4, 50.0])
def test_log_ei_and_log_pi_in_the_lower_tail_are_the_integrals(z: float, s: float) -> None:
    m, sd = at(z, s)
    z = float((SITUATION.best - m[0]) / sd[0])  # As the rounded mean has it.
    log_ei = log_density(z) + np.log(scaled_moment(z, 1)) + np.log(s)
    assert EI().score(m, sd, SITUATION)[0] == pytest.approx(log_ei, rel=1e-12, abs=1e-10)
    log_pi = log_density(z) + np.log(scaled_moment(z, 0))
    assert PI().score(m, sd, SITUATION)[0] == pytest.approx(log_pi, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("z", [0.0, 0.05, 0.5, 1.0, 3.0, 6.0, 10.0, 40.0, 1e3])
def test_log_ei_and_log_pi_above_zero_are_the_integrals(z: float) -> None:
    """h(z) = z + h(-z), and Phi(z) = 1 - Phi(-z)."""
    h, p = 1.0 / np.sqrt(2 * np.pi), 0.5
    if z > 0:
        pdf = np.exp(log_density(z))
        h, p = z + pdf * scaled_moment(-z, 1), 1.0 - pdf * scaled_moment(-z, 0)
    m, sd = at(z)
    assert np.exp(EI().score(m, sd, SITUATION)[0]) == pytest.approx(h, rel=1e-12)
    assert np.exp(PI().score(m, sd, SITUATION)[0]) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize("z", [-30.0, -8.0, -3.0, -1.0, -0.2, 0.2, 1.0, 4.0, 12.0, 30.0])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_weighted_ei_is_the_integral_at_moderate_z(z: float, alpha: float) -> None:
    s = 0.7
    m, sd = at(z, s)
    pdf = np.exp(log_density(z))
    cdf = pdf * scaled_moment(z, 0) if z < 0 else 1.0 - pdf * scaled_moment(-z, 0)
    expected = alpha * s * z * cdf + (1 - alpha) * s * pdf
    assert value(WEI(alpha), m, sd)[0] == pytest.approx(expected, rel=1e-9)
    score = WEI(alpha).score(m, sd, SITUATION)[0]
    assert (np.exp(score) if alpha <= 0.5 else score) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("z", [-1e4, -300.0, -38.0, -5.0, -1.0])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5])
def test_log_weighted_ei_keeps_its_meaning_where_the_value_underflows(z: float, alpha: float) -> None:
    m, sd = at(z)
    z = float((SITUATION.best - m[0]) / sd[0])
    # a z Phi + (1 - a) phi = phi (a I_1 + (1 - 2a)), because I_1 = 1 + z I_0.
    expected = log_density(z) + np.log(alpha * scaled_moment(z, 1) + 1 - 2 * alpha)
    assert WEI(alpha).score(m, sd, SITUATION)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("z", [-1e5, -1e4, -300.0, -38.0, -5.0, -1.0])
def test_slopes_keep_their_meaning_where_the_value_underflows(z: float) -> None:
    m, sd = at(z)
    z = float((SITUATION.best - m[0]) / sd[0])
    i0, i1 = scaled_moment(z, 0), scaled_moment(z, 1)
    _, by_m, by_s = EI().score_slopes(m, sd, SITUATION)
    assert by_m[0] == pytest.approx(-i0 / i1, rel=1e-5)
    assert by_s[0] == pytest.approx(1.0 / i1, rel=1e-5)
    _, by_m, by_s = PI().score_slopes(m, sd, SITUATION)
    assert by_m[0] == pytest.approx(-1.0 / i0, rel=1e-5)
    assert by_s[0] == pytest.approx(-z / i0, rel=1e-5)


# ------------------------------------------------------------------------------------- extreme arguments

POWERS = 10.0 ** np.arange(-99.0, 100.0)
Z = np.concatenate([-POWERS[::-1], [0.0], POWERS])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("acquisition", EVERY, ids=repr)
def test_scores_slopes_and_terms_are_finite_for_z_up_to_1e99(acquisition: Acquisition) -> None:
    situation = Situation(0.0, 25, 3)
    m, s = at(Z, 1.0, situation)
    with np.errstate(all="raise", under="ignore"):
        score = acquisition.score(m, s, situation)
        slopes = acquisition.score_slopes(m, s, situation)
        terms = acquisition.terms(m, s, situation)
    assert Z[~np.isfinite(score)].tolist() == []
    for name, slope in zip(("score", "by mean", "by sd"), slopes, strict=True):
        assert Z[~np.isfinite(slope)].tolist() == [], name
    for name, term in terms.items():
        assert Z[~np.isfinite(term)].tolist() == [], name
    np.testing.assert_allclose(slopes[0], score, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_log_ei_increases_in_z() -> None:
    situation = Situation(0.0, 25, 3)
    score = EI().score(*at(Z, 1.0, situation), situation)
    assert (np.diff(score) >= 0).all()
    apart = np.abs(Z) >= 1e-10
    assert (np.diff(score[apart]) > 0).all()
    assert score[-1] == pytest.approx(99 * np.log(10), rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_log_ei_increases_in_z_across_the_seams_of_its_formulae() -> None:
    for seam in (-1.0, -1e5, 0.0, 1e10):
        z = seam + max(abs(seam), 1.0) * np.linspace(-1e-3, 1e-3, 2001)
        assert (np.diff(log_improvement(z)) > 0).all(), seam


@pytest.mark.filterwarnings("error")
def test_log_pi_increases_in_z() -> None:
    situation = Situation(0.0, 25, 3)
    score = PI().score(*at(Z, 1.0, situation), situation)
    assert (np.diff(score) >= 0).all()
    apart = (np.abs(Z) >= 1e-10) & (Z <= 10)
    assert (np.diff(score[apart]) > 0).all()
    assert score[-1] == 0.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("acquisition", [EI(), PI()], ids=repr)
def test_slopes_point_towards_improvement_even_at_the_far_end(acquisition: Acquisition) -> None:
    situation = Situation(0.0, 25, 3)
    z = -POWERS
    _, by_m, by_s = acquisition.score_slopes(*at(z, 1.0, situation), situation)
    assert (by_m < 0).all()
    assert (by_s > 0).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("acquisition", EVERY, ids=repr)
@pytest.mark.parametrize("s", [1e-150, 1e-12, 1.0, 1e12])
def test_any_sd_gives_finite_scores_at_moderate_z(acquisition: Acquisition, s: float) -> None:
    situation = Situation(0.0, 25, 3)
    m, sd = at(np.linspace(-30, 30, 61), s, situation)
    assert np.isfinite(acquisition.score(m, sd, situation)).all()
    assert np.isfinite(value(acquisition, m, sd, situation)).all()


# -------------------------------------------------------------------------------------------- identities


def test_ei_is_twice_the_evenly_weighted_ei() -> None:
    m, s = at(np.linspace(-30, 30, 121), 0.6)
    np.testing.assert_allclose(value(EI(), m, s), 2 * value(WEI(0.5), m, s), rtol=1e-14)
    np.testing.assert_allclose(
        EI().score(m, s, SITUATION), np.log(2) + WEI(0.5).score(m, s, SITUATION), rtol=1e-13, atol=1e-13
    )


def test_terms_of_ei_sum_to_the_exponential_of_its_score_where_representable() -> None:
    m, s = at(np.linspace(-35, 35, 141), 1.7)
    np.testing.assert_allclose(value(EI(), m, s), np.exp(EI().score(m, s, SITUATION)), rtol=1e-9)


def test_scores_are_increasing_functions_of_values() -> None:
    """Each acquisition has its own function; proposing relies only on the same ranking as the value."""
    rng = np.random.default_rng(3)
    m, s = rng.normal(size=300), np.exp(rng.normal(-0.5, 0.5, size=300))
    for acquisition in EVERY:
        order = np.argsort(value(acquisition, m, s))
        assert (np.diff(acquisition.score(m, s, SITUATION)[order]) >= -1e-9).all(), acquisition


def test_weights_times_terms_are_the_value_of_an_acquisition_function() -> None:
    X, y = noisy_problem(seed=1, n=15, d=3)
    gp = GaussianProcess().fit(X, y)
    points = np.random.default_rng(4).random((20, 3))
    for acquisition in EVERY:
        function = PointwiseFunction(acquisition, gp, SITUATION)
        m, s = gp.latent(points)
        np.testing.assert_allclose(function(points), value(acquisition, m, s), rtol=1e-14)
        np.testing.assert_allclose(function.score(points), acquisition.score(m, s, SITUATION), rtol=1e-14)
        assert function.terms(points).keys() == acquisition.weights(SITUATION).keys()


def test_asking_for_more_improvement_is_a_lower_target() -> None:
    m, s = at(np.linspace(-3, 3, 13), 0.8)
    lower = Situation(SITUATION.best - 0.25, SITUATION.n_observed, SITUATION.dimension)
    for kind in (EI, PI):
        np.testing.assert_allclose(
            kind(xi=0.25).score(m, s, SITUATION), kind().score(m, s, lower), rtol=1e-12, atol=1e-12
        )


def test_weights_of_weighted_ei_go_from_exploring_to_exploiting() -> None:
    for alpha in ALPHAS:
        assert WEI(alpha).weights(SITUATION) == {"exploit": alpha, "explore": 1 - alpha}
    m, s = at(np.array([-1.0, 2.0]), 0.5)
    np.testing.assert_allclose(value(WEI(1.0), m, s), [-1.0, 2.0] * s * normal_cdf(np.array([-1.0, 2.0])))
    np.testing.assert_allclose(value(WEI(0.0), m, s), s * normal_pdf(np.array([-1.0, 2.0])))


@pytest.mark.parametrize(("d", "t", "beta"), [(1, 2, 1.0), (3, 25, 1.0), (8, 100, 1.0), (8, 100, 0.1), (40, 1000, 5.0)])
def test_width_of_the_confidence_bound_follows_the_schedule(d: int, t: int, beta: float) -> None:
    expected = np.sqrt(2 * np.log(d * t**2 / beta))
    assert confidence_width(d, t, beta) == pytest.approx(expected, rel=1e-14)
    situation = Situation(0.0, t, d)
    assert LCB(lam=None, beta=beta).weights(situation) == {"mean": 1.0, "uncertainty": pytest.approx(expected)}
    m, s = np.array([0.7, -2.0]), np.array([0.2, 3.0])
    np.testing.assert_allclose(LCB(lam=None, beta=beta).score(m, s, situation), expected * s - m, rtol=1e-14)


def test_width_of_the_confidence_bound_is_never_imaginary() -> None:
    assert confidence_width(1, 1, 1.0) == 0.0
    assert confidence_width(1, 1, 10.0) == 0.0
    assert confidence_width(0, 0) == 0.0


def test_lower_bound_and_variance_follow_their_definitions() -> None:
    m, s = np.array([0.7, -2.0]), np.array([0.2, 3.0])
    np.testing.assert_allclose(value(LCB(lam=1.5), m, s), [-0.7 + 0.3, 2.0 + 4.5])
    np.testing.assert_allclose(value(PosteriorVariance(), m, s), [0.04, 9.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WEI(-0.1), "between 0 and 1, but got -0.1"),
        (lambda: WEI(1.1), "between 0 and 1, but got 1.1"),
        (lambda: WEI(float("nan")), "between 0 and 1"),
        (lambda: LCB(lam=-1.0), "at least 0, but got -1"),
        (lambda: LCB(lam=float("nan")), "at least 0"),
        (lambda: LCB(lam=None, beta=0.0), "positive number, but got 0"),
    ],
)
def test_meaningless_settings_are_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("acquisition", EVERY, ids=repr)
def test_a_receipt_gives_back_the_acquisition(acquisition: Acquisition) -> None:
    state = AcquisitionState(acquisition.name, acquisition.settings(), acquisition.weights(SITUATION), {}, 0.0, 0.0)
    assert acquisition_from_state(state) == acquisition


@pytest.mark.parametrize(("name", "settings"), [("EI", {"sigma": 1.0}), ("Thompson", {}), ("WEI", {"alpha": 3.0})])
def test_a_receipt_with_an_unknown_acquisition_is_a_record_error(name: str, settings: dict[str, float | None]) -> None:
    with pytest.raises(RecordError):
        acquisition_from_state(AcquisitionState(name, settings, {}, {}, 0.0, 0.0))
