"""Problems with several objectives: values by hand, points of known fronts, volumes, and what studies are told."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from lab.tests.helpers import needs_yahpo

from pellucid.pareto import front, volume
from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.problems import several_formulas as formulas
from pellucid_lab.problems.several import DESIGN_NAMES, NAMES, REPORTED_NAMES, several_problem
from pellucid_lab.problems.several_tuning import SEARCHED, TUNINGS, searched

FORMULAS = [name for name in NAMES if name not in TUNINGS]
T = np.linspace(0.0, 1.0, 2001)


def at(*x: float) -> np.ndarray:
    return np.array([x])


# ------------------------------------------------------------------------------------- values by hand


@pytest.mark.parametrize(
    ("objectives", "x", "expected"),
    [
        # g = 1 + 9/2 (1 + 0) = 5.5; 5.5 (1 - sqrt(0.22 / 5.5)) = 5.5 (1 - 0.2).
        (formulas.zdt1, (0.22, 1.0, 0.0), (0.22, 4.4)),
        # g = 10 if the others are 1; 10 (1 - 0.05^2).
        (formulas.zdt2, (0.5, 1.0, 1.0), (0.5, 9.975)),
        # sin(2.5 pi) = 1; 10 (1 - sqrt(0.025) - 0.025).
        (formulas.zdt3, (0.25, 1.0), (0.25, 10 * (1 - math.sqrt(0.025) - 0.025))),
        # cos(2 pi) = 1 at 0.5: g = 1 + 0.25, twice 0.25 with two of them; sqrt(0.375 / 1.5) = 0.5.
        (formulas.zdt4, (0.375, 0.5, -0.5), (0.375, 0.75)),
        # sin(1.5 pi)^6 = 1 at 0.25; g = 10 with ones.
        (formulas.zdt6, (0.25, 1.0), (1 - math.exp(-1), 10 - (1 - math.exp(-1)) ** 2 / 10)),
        (formulas.zdt6, (0.0, 0.0), (1.0, 0.0)),
        (formulas.shifted_zdt1, (0.04, 0.3, 0.3), (0.04, 0.8)),
        # Half of a quarter turn, and 0.25 beyond the sphere.
        (lambda x: formulas.dtlz2(x, 2), (0.5, 1.0), (1.25 * math.sqrt(0.5),) * 2),
        (lambda x: formulas.dtlz2(x, 3), (0.5, 0.0, 0.5), (math.sqrt(0.5), 0.0, math.sqrt(0.5))),
        (lambda x: formulas.dtlz2(x, 3, 0.3), (0.0, 1.0, 0.3), (0.0, 1.0, 0.0)),
        # g = 1 and 10; sin(1.5 pi) = -1 takes the second term away.
        (lambda x: formulas.dtlz7(x, 2), (0.5, 0.0), (0.5, 4.0)),
        (lambda x: formulas.dtlz7(x, 3), (0.0, 1.0, 1.0), (0.0, 1.0, 32.0)),
        # At both ends of a range the multimodal function is 1; at 0.35 of it 0.
        (lambda x: formulas.wfg4(x, 2, 2), (0.0, 0.0, 0.0), (3.0, 1.0)),
        (lambda x: formulas.wfg4(x, 3, 2), (2.0, 4.0, 6.0, 0.0), (3.0, 1.0, 1.0)),
        (lambda x: formulas.wfg4(x, 3, 2), (0.7, 1.4, 2.1, 2.8), (0.0, 0.0, 6.0)),
        (formulas.vlmop2, (0.5, 0.5, 0.5, 0.5), (0.0, 1 - math.exp(-4))),
        # The least value of Branin's function; x2 = 0 must not divide by zero.
        (lambda x: formulas.branin_currin(x)[:, :1], ((math.pi + 5) / 15, 2.275 / 15), (0.397887,)),
        (lambda x: formulas.branin_currin(x)[:, 1:], (0.0, 0.0), (3.0,)),
        (lambda x: formulas.branin_currin(x)[:, 1:], (1.0, 0.5), (6352 / 624 * (1 - math.exp(-1)),)),
    ],
)
def test_a_formula_has_the_value_that_was_computed_by_hand(
    objectives: Callable[[np.ndarray], np.ndarray], x: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    assert objectives(at(*x))[0].tolist() == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_constraints_have_the_values_that_were_computed_by_hand() -> None:
    # The end of the front, 0.04 inside; between two islands, where the nearest is sqrt(2 - 2 cos(pi/8)) away.
    assert formulas.c2_dtlz2(at(0.0, 0.5))["islands"][0] == pytest.approx(-0.04)
    assert formulas.c2_dtlz2(at(0.25, 0.5))["islands"][0] == pytest.approx(2 - 2 * math.cos(math.pi / 8) - 0.04)
    assert formulas.c2_dtlz2(at(0.5, 0.5))["islands"][0] == pytest.approx(-0.04)
    tnk = formulas.tnk_constraints(at(1.0, 0.0))
    assert (tnk["wave"][0], tnk["disk"][0]) == pytest.approx((0.1, 0.0))


# ----------------------------------------------------------------------------------------- known fronts


def best(name: str, d: int) -> np.ndarray:
    """Configurations whose parameters of distance are best, and whose first parameter goes along the front."""
    distance = {"small-zdt4": 0.0, "zdt4": 0.0, "shifted-zdt1": 0.3, "shifted-dtlz2": 0.3, "islands": 0.3}
    half = name.startswith(("dtlz2", "c2"))
    return np.column_stack([T, np.full((len(T), d - 1), 0.5 if half else distance.get(name, 0.0))])


@pytest.mark.parametrize(
    ("name", "d", "curve"),
    [
        ("shifted-zdt1", 5, lambda a: 1 - np.sqrt(a)),
        ("small-zdt4", 3, lambda a: 1 - np.sqrt(a)),
        ("zdt1", 6, lambda a: 1 - np.sqrt(a)),
        ("zdt2", 6, lambda a: 1 - a**2),
        ("zdt3", 5, lambda a: 1 - np.sqrt(a) - a * np.sin(10 * np.pi * a)),
        ("zdt4", 5, lambda a: 1 - np.sqrt(a)),
        ("zdt6", 6, lambda a: 1 - a**2),
        ("dtlz2-2", 6, lambda a: np.sqrt(np.maximum(1 - a**2, 0))),
        ("c2-dtlz2", 5, lambda a: np.sqrt(np.maximum(1 - a**2, 0))),
        ("islands", 4, lambda a: np.sqrt(np.maximum(1 - a**2, 0))),
        ("small-dtlz7", 4, lambda a: 4 - a * (1 + np.sin(3 * np.pi * a))),
        ("dtlz7-2", 6, lambda a: 4 - a * (1 + np.sin(3 * np.pi * a))),
    ],
)
def test_best_configurations_lie_on_the_front_and_dominate_its_volume(
    name: str, d: int, curve: Callable[[np.ndarray], np.ndarray]
) -> None:
    problem = several_problem(name)
    outcomes = [problem.evaluate({f"x{j}": value for j, value in enumerate(row, 1)}) for row in best(name, d)]
    points = np.array([list(each.values.values()) for each in outcomes if each.feasible])
    assert points[:, 1] == pytest.approx(curve(points[:, 0]), abs=1e-7)
    reached = volume(points, np.array(problem.reference)) / problem.volume
    assert 1 - 2e-3 < reached < 1 + 1e-7


@pytest.mark.parametrize(
    ("name", "sizes"), [("dtlz2-3", (1, 1, 1)), ("wfg4-2", (2, 4)), ("wfg4-3", (2, 4, 6)), ("waves", (2, 4, 6))]
)
def test_round_fronts_have_their_sizes_and_volume(name: str, sizes: tuple[float, ...]) -> None:
    """Many points of the ellipsoid, made without the problem, dominate its volume; the problem reaches the surface."""
    problem, k, rng = several_problem(name), len(sizes), np.random.default_rng(0)
    angles = np.abs(rng.standard_normal((4000, k)))
    surface = np.array(sizes) * angles / np.linalg.norm(angles, axis=1, keepdims=True)
    missing = 1 - volume(surface, np.array(problem.reference)) / problem.volume
    assert 0 < missing < (0.003 if k == 2 else 0.06)
    bumpy = [2.1, 2.8, 3.5, 4.2]
    distance = {"dtlz2-3": [0.5] * 5, "wfg4-2": bumpy, "wfg4-3": bumpy, "waves": [3.6, 4.8, 6.0]}[name]
    for a, b in rng.random((20, 2)):
        place = [a, b] if name == "dtlz2-3" else [2 * a, 4 * b]
        params = {f"x{j}": value for j, value in enumerate([*place, *distance], 1)}
        point = np.array(list(problem.evaluate(params).values.values()))
        assert ((point / np.array(sizes)) ** 2).sum() == pytest.approx(1.0)


def test_the_front_of_dtlz7_with_three_objectives_has_its_volume() -> None:
    problem = several_problem("dtlz7-3")
    a, b = (grid.ravel() for grid in np.meshgrid(T[::10], T[::10]))
    points = formulas.dtlz7(np.column_stack([a, b, np.zeros((len(a), 4))]), 3)
    assert 0.98 < volume(points, np.array(problem.reference)) / problem.volume < 1 + 1e-7


def test_fronts_that_were_searched_have_their_volume() -> None:
    noisy = several_problem("vlmop2-noisy")
    along = np.repeat(np.linspace(-1, 1, 2001)[:, None] / math.sqrt(3), 3, axis=1)
    assert volume(formulas.vlmop2(along), np.array(noisy.reference)) == pytest.approx(noisy.volume, rel=2e-3)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(T[::2], T[::2])])
    curved = formulas.branin_currin(grid)
    problem = several_problem("branin-currin")
    assert 0.99 < volume(curved, np.array(problem.reference)) / problem.volume < 1 + 1e-6
    square = 1.2 * grid
    kept = np.all([values <= 0 for values in formulas.tnk_constraints(square).values()], axis=0)
    problem = several_problem("tnk")
    assert 0.99 < volume(square[kept], np.array(problem.reference)) / problem.volume < 1 + 1e-6


@pytest.mark.parametrize("name", FORMULAS)
def test_random_configurations_stay_behind_the_front_and_within_the_reference(name: str) -> None:
    problem = several_problem(name)
    study = optuna.create_study(directions=["minimize"] * len(problem.directions))
    study.sampler = optuna.samplers.RandomSampler(seed=1)
    outcomes = [problem.evaluate(problem.suggest(study.ask())) for _ in range(300)]
    points = np.array([list(each.values.values()) for each in outcomes if each.feasible])
    assert 0 < volume(points, np.array(problem.reference)) < problem.volume
    everything = np.array([list(each.values.values()) for each in outcomes])
    assert ((everything < problem.reference).mean(axis=0) > 0.4).all()
    assert set(problem.noise) in (set(), set(problem.directions))


# ---------------------------------------------------------------------------------- tuning, and the sets


@needs_yahpo
@pytest.mark.parametrize("name", ["lcbench-167104", "rbv2-1487"])
def test_accuracy_and_time_of_random_configurations_stay_behind_what_was_searched(name: str) -> None:
    problem = several_problem(name)
    outputs = searched(name, 20_000, None) * [-1, 1]
    reference = np.array(problem.reference) * [-1, 1]
    assert 0.6 < volume(outputs, reference) / problem.volume <= 1 + 1e-6
    assert (np.median(outputs, axis=0) < reference + 1e-2 * np.abs(reference)).all()
    # The ends of the front count, but no much worse outcome does.
    assert (reference > outputs[front(outputs)].max(axis=0) - 0.05 * np.abs(reference)).any()
    assert f"{SEARCHED:,}" in problem.source


@needs_yahpo
def test_an_evaluation_has_both_outputs_of_a_conditional_space() -> None:
    problem = several_problem("rbv2-46")
    assert problem.directions == {"acc": "maximize", "timetrain": "minimize"}
    study = optuna.create_study(directions=list(problem.directions.values()))
    study.sampler = optuna.samplers.RandomSampler(seed=0)
    sizes = set()
    for _ in range(20):
        params = problem.suggest(study.ask())
        sizes.add(len(params))
        outcomes = problem.evaluate(params)
        assert list(outcomes.values) == ["acc", "timetrain"]
        assert 0 <= outcomes.values["acc"] <= 1
        assert outcomes.feasible
    assert len(sizes) > 1


def test_without_data_a_tuning_problem_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.delenv("PELLUCID_DATA", raising=False)
    several_problem.cache_clear()
    with pytest.raises(Unavailable, match="lcbench is skipped"):
        several_problem("lcbench-167104")


def test_the_sets_share_nothing_and_both_have_each_kind() -> None:
    assert not set(DESIGN_NAMES) & set(REPORTED_NAMES)
    for names in (DESIGN_NAMES, REPORTED_NAMES):
        here = [several_problem(name) for name in names if name in FORMULAS]
        assert {len(problem.directions) for problem in here} == {2, 3}
        assert any(problem.evaluate(dict.fromkeys((f"x{j}" for j in range(1, 8)), 0.5)).constraints for problem in here)
        assert {name.split("-")[0] for name in names if name in TUNINGS} == {"lcbench", "rbv2"}


def test_an_unknown_problem_is_refused() -> None:
    with pytest.raises(Mistake, match=r"The problems with several objectives are shifted-zdt1, .*; got `zdt5`"):
        several_problem("zdt5")
