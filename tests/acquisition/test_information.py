"""Information of an evaluation about effects: closed forms against refits, joint Gaussians and sampled paths."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import spearmanr

from pellucid.models import GaussianProcess
from pellucid.models.averages.functionals import partial_dependence
from pellucid.numerics import Array
from pellucid.search.acquisition import EI, InformationGain
from pellucid.search.acquisition.base import Situation
from pellucid.search.acquisition.information import _path, stacked
from pellucid.search.acquisition.interleave import Interleave, Multiplied, half_widths
from pellucid.search.acquisition.optimize import screen
from pellucid.space.encoding import Condition, Space
from pellucid.space.grids import effect_grid

SPACES = {
    "continuous": Space.of({f"x{j}": FloatDistribution(0.0, 1.0) for j in range(3)}),
    "mixed": Space.of(
        {
            "x0": FloatDistribution(0.0, 1.0),
            "x1": CategoricalDistribution(("a", "b", "c")),
            "x2": IntDistribution(1, 30, log=True),
        }
    ),
    "conditional": Space.of(
        {
            "x0": FloatDistribution(0.0, 1.0),
            "x1": CategoricalDistribution(("a", "b", "c")),
            "x2": FloatDistribution(0.0, 1.0),
        },
        {"x2": Condition("x1", (0, 2))},
    ),
}
PARAMS = ["x0", "all", [("x0", "x2")], ["x1", ("x0", "x1")]]
SITUATION = Situation(-1.0, 20, 3)


def fitted(space: Space, n: int = 20, kernel: str = "matern32") -> GaussianProcess:
    rng = np.random.default_rng(0)
    X = space.canonical(rng.random((n, len(space))))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(n)
    return GaussianProcess(kernel, nominal=space.nominal).fit(X, y)


def candidates(space: Space, n: int = 6) -> Array:
    return space.canonical(np.random.default_rng(1).random((n, len(space))))


def effects_of(params: object, space: Space) -> list[tuple[str, ...]]:
    return InformationGain(params).effects(space)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_band_is_how_much_narrower_the_bands_become(kind: str, params: object) -> None:
    """The curves' variances do not depend on what is observed: conditioning on the model's own mean shows the drop."""
    space = SPACES[kind]
    gp = fitted(space)
    function = InformationGain(params).bind(gp, SITUATION, space)  # type: ignore[arg-type]
    X = candidates(space)
    effects = effects_of(params, space)

    def mean_width(model: GaussianProcess) -> float:
        phi = stacked(model, space, effects)
        sizes = np.cumsum([0, *(effect.size for effect in phi.effects)])
        return sum(float(np.sqrt(phi.variance[a:b]).mean()) for a, b in itertools.pairwise(sizes))

    before = mean_width(gp)
    drops = [before - mean_width(gp.believe(x[None])) for x in X]
    np.testing.assert_allclose(function(X), drops, rtol=1e-6, atol=1e-9 * before)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("params", PARAMS[:3], ids=str)
@pytest.mark.parametrize("tolerance", [0.01, 0.3])
def test_output_is_the_mutual_information_of_a_joint_gaussian(kind: str, params: object, tolerance: float) -> None:
    space = SPACES[kind]
    gp = fitted(space)
    function = InformationGain(params, "output", tolerance).bind(gp, SITUATION, space)  # type: ignore[arg-type]
    phi = stacked(gp, space, effects_of(params, space))
    h = gp.hyperparameters
    delta = tolerance**2 * h.outputscale
    blurred = phi.covariance + delta * np.eye(len(phi.mean))
    X = candidates(space)
    gains = function(X)
    for x, value in zip(X, gains, strict=True):
        r = np.asarray(
            gp.kernel.cross(
                gp.kernel.columns(x[None], np.array(h.lengthscales)), gp.data.columns, np.array(h.lengthscales)
            )
        )
        c = h.outputscale * (phi.cross(x[None]) - phi.cross_observed @ gp.data.factor.solve(r.T))
        v = gp.latent(x[None])[1] ** 2 + h.noise
        joint = np.block([[blurred, c], [c.T, v[:, None]]])
        expected = 0.5 * (np.linalg.slogdet(blurred)[1] + np.log(v[0]) - np.linalg.slogdet(joint)[1])
        assert value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("params", ["x0", "all"])
def test_path_information_equals_the_estimate_from_twenty_sampled_paths(kind: str, params: str) -> None:
    """The estimate of the source: draw paths, condition on each, average the entropies that are left."""
    space = SPACES[kind]
    gp = fitted(space, n=12)
    X = candidates(space)
    gains = InformationGain(params, "path").bind(gp, SITUATION, space)(X)
    path = _path(gp, space, effects_of(params, space))
    h = gp.hyperparameters
    before = 0.5 * np.log(2 * np.pi * np.e * (gp.latent(X)[1] ** 2 + h.noise))
    draws = gp.sample(path, 20, np.random.default_rng(0))
    after = [0.5 * np.log(2 * np.pi * np.e * (gp.update(path, draw).latent(X)[1] ** 2 + h.noise)) for draw in draws]
    np.testing.assert_allclose(gains, before - np.mean(after, axis=0), atol=1e-8)


def test_permutation_information_looks_at_shuffled_archives() -> None:
    """Columns are shuffled one at a time, so the path differs from the archive in one column only."""
    space = SPACES["continuous"]
    gp = fitted(space)
    function = InformationGain("x1", "permutation").bind(gp, SITUATION, space)
    path = function.after.data.X[gp.n_observed :]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(np.sort(path[:, 1]), np.sort(gp.data.X[:, 1][np.isin(gp.data.X[:, 1], path[:, 1])]))
    archive = {tuple(row) for row in gp.data.X[:, [0, 2]]}
    assert all(tuple(row) in archive for row in path[:, [0, 2]])
    # The same closed form as for the path of partial dependence, with other points.
    X, noise = candidates(space), gp.hyperparameters.noise
    draws = gp.sample(path, 5, np.random.default_rng(0))
    after = [np.log(gp.update(path, draw).latent(X)[1] ** 2 + noise) for draw in draws]
    expected = 0.5 * (np.log(gp.latent(X)[1] ** 2 + noise) - np.mean(after, axis=0))
    np.testing.assert_allclose(function(X), expected, atol=1e-8)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("target", ["band", "output", "path", "permutation", "multiplied"])
def test_gradients_are_finite_differences_of_scores(kind: str, target: str) -> None:
    space = SPACES[kind]
    gp = fitted(space)
    if target == "multiplied":
        gain = InformationGain("all")
        pool = screen(gp, space, gp.data.X[:3], np.random.default_rng(0))
        acquisition = Multiplied.over(EI(), gain, 0.7, lambda a: a.bind(gp, SITUATION, space), pool)
    else:
        acquisition = InformationGain("all", target)  # type: ignore[arg-type, assignment]
    function = acquisition.bind(gp, SITUATION, space)
    X = candidates(space, 5)
    X[:, 0] = 0.1 + 0.8 * X[:, 0]
    score, gradient = function.score_with_gradient(X)
    np.testing.assert_allclose(score, function.score(X), rtol=1e-9)
    active = space.active(X)
    for j, dimension in enumerate(space.dimensions):
        if dimension.cells:
            continue
        step = np.zeros(3)
        step[j] = 1e-5
        numeric = (function.score(X + step) - function.score(X - step)) / 2e-5
        np.testing.assert_allclose(gradient[active[:, j], j], numeric[active[:, j]], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("target", ["band", "output", "path"])
def test_screening_ranks_like_the_exact_score(kind: str, target: str) -> None:
    space = SPACES[kind]
    gp = fitted(space)
    function = InformationGain("all", target).bind(gp, SITUATION, space)  # type: ignore[arg-type]
    X = candidates(space, 300)
    exact, rough = function.score(X), function.screen(X)
    # Only the best candidates have to be among those that are evaluated again.
    shortlist = set(np.argsort(-rough)[:24].tolist())
    assert set(np.argsort(-exact)[:8].tolist()) <= shortlist
    assert spearmanr(exact, rough).statistic > 0.98


def test_an_observation_is_more_informative_where_the_effect_is_unknown() -> None:
    """All observations on the left: what matters for the effect of x0 is on the right."""
    rng = np.random.default_rng(0)
    X = rng.random((15, 3)) * np.array([0.4, 1.0, 1.0])
    gp = GaussianProcess().fit(X, np.sin(4 * X[:, 0]) + X[:, 1])
    function = InformationGain("x0").bind(gp, SITUATION, SPACES["continuous"])
    right, left = function(np.array([[0.9, 0.5, 0.5], [0.2, 0.5, 0.5]]))
    assert right > 3 * left


def test_radial_kernels_have_no_exact_integrals_and_use_the_path() -> None:
    gp = fitted(SPACES["continuous"], kernel="matern52-radial")
    function = InformationGain("x0").bind(gp, SITUATION, SPACES["continuous"])
    path = InformationGain("x0", "path").bind(gp, SITUATION, SPACES["continuous"])
    X = candidates(SPACES["continuous"])
    np.testing.assert_array_equal(function(X), path(X))


def test_half_widths_are_those_of_the_calibrated_bands() -> None:
    space = SPACES["mixed"]
    gp = fitted(space)
    widths = half_widths(gp, space, [("x0",), ("x1",)])
    for name, width in widths.items():
        column = space.index[name[0]]
        phi = stacked(gp, space, [name], [20])
        assert width == pytest.approx(1.959963985 * gp.hyperparameters.y_scale * phi.band.sd.mean(), rel=1e-8)
        raw = partial_dependence(gp, column, effect_grid(space, [column], 20), space=space)
        assert width > 1.9 * raw.sd.mean()


def test_effects_that_are_precise_enough_are_dropped() -> None:
    space = SPACES["continuous"]
    gp = fitted(space)
    widths = Interleave().widths(gp, space)
    ordered = sorted(widths, key=lambda effect: widths[effect])
    between = 0.5 * (widths[ordered[0]] + widths[ordered[1]])
    gain, numbers = Interleave(until=between).still_wide(gp, space)
    assert gain is not None
    assert set(gain.effects(space)) == set(ordered[1:])
    assert numbers == {effect[0]: width for effect, width in widths.items()}
    assert Interleave(until=2 * max(widths.values())).still_wide(gp, space)[0] is None
    assert Interleave().still_wide(gp, space) == (InformationGain(), {})


def test_turns_depend_on_the_trial_and_the_seed_alone() -> None:
    assert [Interleave(every=3).turn(n, 0) for n in range(7)] == [True, False, False, True, False, False, True]
    often = Interleave(mode="probability", probability=0.3)
    turns = [often.turn(n, 5) for n in range(4000)]
    assert turns == [often.turn(n, 5) for n in range(4000)]
    assert np.mean(turns) == pytest.approx(0.3, abs=4.5 * np.sqrt(0.21 / 4000))
    fading = Interleave(mode="probability", probability=1.0, decay=0.9)
    assert [fading.turn(n, 0) for n in range(1)] == [True]
    assert not any(fading.turn(n, 0) for n in range(200, 400))
    assert all(Interleave(mode="multiply").turn(n, 0) for n in range(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InformationGain([]), "a list of names and pairs of names, but got \\[\\]"),
        (lambda: InformationGain("x", "bands"), "band, output, path, permutation"),
        (lambda: InformationGain([("a", "b", "c")]), "two different ones"),
        (lambda: InformationGain([("a", "a")]), "two different ones"),
        (lambda: InformationGain("x", tolerance=-1.0), "at least 0"),
        (lambda: Interleave(every=0), "at least 1"),
        (lambda: Interleave(every=1.5), "whole number"),
        (lambda: Interleave(until=0.0), "half-width"),
        (lambda: Interleave(mode="often"), "every, probability, multiply"),
        (lambda: Interleave(probability=1.5), r"\[0, 1\]"),
        (lambda: Interleave(decay=0.0), r"\(0, 1\]"),
        (lambda: Interleave(target="curve"), "band, output, path, permutation"),
    ],
)
def test_invalid_arguments_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
