"""Constrained problems with one objective, by name, each with the best feasible value that is known.

Rules and defaults are chosen on `DESIGN_NAMES`; `REPORTED_NAMES` has other shapes, dimensions and numbers of
constraints. The share of random configurations that are feasible goes from 1 in 1,000 (`reducer`) to 7 in 10 (`disk`);
on the thin bands `arc` and `shell` it is 2%, so that most runs start without a feasible trial. `gardner-wide`, `disk`
and `ball` have their optimum inside the feasible set, all others on its boundary. `vessel`, `truss`, `spring`, `beam`,
`reducer`, `shell` and `bracket` also have constraints that do not bind there. The study is told noisy constraints by
`truss` and `cantilever`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import ConstrainedProblem, Evaluation, require_modules
from pellucid_lab.problems import constrained_formulas as formulas
from pellucid_lab.problems.constrained_models import MODULES, PACKAGES, TRAININGS, memory_problem

_SOLVED = "SLSQP from many starts"


def _floats(**bounds: tuple[float, float]) -> dict[str, BaseDistribution]:
    return {name: FloatDistribution(*pair) for name, pair in bounds.items()}


def _problem(
    name: str,
    formula: formulas.Formula,
    distributions: Mapping[str, BaseDistribution],
    best: Mapping[str, Any],
    optimum: float,
    source: str,
    active: tuple[str, ...] = (),
    noise: Mapping[str, float] | None = None,
) -> ConstrainedProblem:
    def evaluate(params: Mapping[str, Any]) -> Evaluation:
        value, constraints = formula(params)
        return Evaluation(float(value), {key: float(constraint) for key, constraint in constraints.items()})

    return ConstrainedProblem(name, "minimize", distributions, evaluate, best, optimum, source, active, noise or {})


_DESIGN = (
    _problem(
        "townsend",
        formulas.townsend,
        _floats(x=(-2.25, 2.5), y=(-2.5, 1.75)),
        {"x": 2.0052927, "y": 1.1944529},
        -2.0239884,
        f"{_SOLVED}; Townsend (2014) has the same",
        ("heart",),
    ),
    _problem(
        "gardner-wide",
        formulas.gardner_wide,
        _floats(x=(0.0, 6.0), y=(0.0, 6.0)),
        {"x": 1.5 * math.pi, "y": 0.0},
        -2.0,
        "no smaller value of the two terms exists",
    ),
    _problem(
        "vessel",
        formulas.vessel,
        {
            "shell": FloatDistribution(0.0625, 6.1875, step=0.0625),
            "head": FloatDistribution(0.0625, 6.1875, step=0.0625),
            **_floats(radius=(10.0, 200.0), length=(10.0, 200.0)),
        },
        {"shell": 0.8125, "head": 0.4375, "radius": 42.09844559585, "length": 176.63659584243},
        6059.714335,
        "proven for the stepped thickness by Yang et al. (2013)",
        ("shell_thickness", "volume"),
    ),
    _problem(
        "arc",
        formulas.arc,
        _floats(x=(0.0, 1.0), y=(0.0, 1.0)),
        {"x": 0.71378434, "y": 0.19773337},
        0.06338845,
        _SOLVED,
        ("resonance",),
    ),
    _problem(
        "truss",
        formulas.truss,
        _floats(outer=(0.05, 1.0), inner=(0.05, 1.0)),
        {"outer": 0.5 + math.sqrt(3.0) / 6.0, "inner": math.sqrt(1.0 / 6.0)},
        50.0 * (math.sqrt(6.0) + 2.0 * math.sqrt(2.0)),
        "closed form",
        ("stress_left",),
        {"stress_left": 0.05, "stress_middle": 0.05, "stress_right": 0.05},
    ),
)
_REPORTED = (
    _problem(
        "gardner-small",
        formulas.gardner_small,
        _floats(x=(0.0, 6.0), y=(0.0, 6.0)),
        {"x": 1.5 * math.pi, "y": math.asin(0.95)},
        math.asin(0.95) - 1.0,
        "closed form",
        ("islands",),
    ),
    _problem(
        "spring",
        formulas.spring,
        _floats(wire=(0.05, 2.0), coil=(0.25, 1.3), turns=(2.0, 15.0)),
        {"wire": 0.05168906138474, "coil": 0.35671774706436, "turns": 11.28896532547378},
        0.0126652328,
        f"{_SOLVED}; best known in the literature",
        ("deflection", "stress"),
    ),
    _problem(
        "beam",
        formulas.beam,
        _floats(weld=(0.1, 2.0), length=(0.1, 10.0), height=(0.1, 10.0), width=(0.1, 2.0)),
        {"weld": 0.20572963978608, "length": 3.4704886656203, "height": 9.03662391035764, "width": 0.20572963978608},
        1.7248523086,
        f"{_SOLVED}; best known in the literature",
        ("shear", "bending", "weld_width", "buckling"),
    ),
    _problem(
        "reducer",
        formulas.reducer,
        {
            **_floats(face=(2.6, 3.6), module=(0.7, 0.8)),
            "teeth": IntDistribution(17, 28),
            **_floats(length_1=(7.3, 8.3), length_2=(7.3, 8.3), shaft_1=(2.9, 3.9), shaft_2=(5.0, 5.5)),
        },
        {
            "face": 3.5,
            "module": 0.7,
            "teeth": 17,
            "length_1": 7.3,
            "length_2": 7.71531991147824,
            "shaft_1": 3.35021466609645,
            "shaft_2": 5.28665446498022,
        },
        2994.4710661,
        f"{_SOLVED} for each number of teeth; best known in the literature",
        ("stress_1", "stress_2", "face_minimum", "room_2"),
    ),
    _problem(
        "disk",
        formulas.disk,
        _floats(x=(-5.0, 10.0), y=(0.0, 15.0)),
        {"x": math.pi, "y": 2.275},
        0.39788736,
        "the one minimum of Branin's function that is feasible",
    ),
    _problem(
        "ball",
        formulas.ball,
        _floats(**{f"x{j}": (0.0, 1.0) for j in range(6)}),
        {"x0": 0.2016895, "x1": 0.1500107, "x2": 0.476874, "x3": 0.2753324, "x4": 0.3116516, "x5": 0.6573005},
        -3.322368,
        "the minimum of Hartmann's function, which is feasible",
    ),
    _problem(
        "shell",
        formulas.shell,
        _floats(x=(0.0, 1.0), y=(0.0, 1.0), z=(0.0, 1.0)),
        {"x": 0.29059329, "y": 0.32150143, "z": 0.44077915},
        -0.03215699,
        _SOLVED,
        ("outside",),
    ),
    _problem(
        "cantilever",
        formulas.cantilever,
        _floats(**{f"block_{j}": (1.0, 10.0) for j in range(1, 6)}),
        {
            "block_1": 6.016015894151,
            "block_2": 5.309173857413,
            "block_3": 4.494329573323,
            "block_4": 3.501474970425,
            "block_5": 2.152665329673,
        },
        1.33995636,
        "closed form",
        ("deflection",),
        {"deflection": 0.05},
    ),
    _problem(
        "bracket",
        formulas.bracket,
        {
            "material": CategoricalDistribution(tuple(formulas.MATERIALS)),
            "bars": IntDistribution(1, 4),
            **_floats(width=(5.0, 80.0), height=(10.0, 120.0)),
        },
        {"material": "steel", "bars": 1, "width": 12.18517409515, "height": 73.1110445709},
        9.99333583,
        f"{_SOLVED} for each material and number of bars",
        ("deflection", "buckling"),
    ),
)
_FORMULAS = {problem.name: problem for problem in (*_DESIGN, *_REPORTED)}

DESIGN_NAMES = (*(problem.name for problem in _DESIGN), "forest-memory")
REPORTED_NAMES = (*(problem.name for problem in _REPORTED), "boosting-memory", "svm-memory")
SETS = {"design": DESIGN_NAMES, "reported": REPORTED_NAMES}
NAMES = (*DESIGN_NAMES, *REPORTED_NAMES)


def check_constrained(name: str) -> None:
    """Raise `Mistake` if there is no such problem, and `Unavailable` if it needs a package that is missing."""
    if name not in NAMES:
        raise Mistake(f"The constrained problems are {', '.join(NAMES)}; got `{name}`.")
    if name in TRAININGS:
        require_modules(MODULES, f"the problem {name}")


@cache
def constrained_problem(name: str) -> ConstrainedProblem:
    check_constrained(name)
    return memory_problem(name) if name in TRAININGS else _FORMULAS[name]


def packages_of_problem(name: str) -> tuple[str, ...]:
    """Distributions that determine its values, so that their versions belong to a result."""
    return PACKAGES if name in TRAININGS else ()
