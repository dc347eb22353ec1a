"""Problems with several objectives, by name, each with its reference point and the volume of its front.

Rules and defaults are chosen on `DESIGN_NAMES`; `REPORTED_NAMES` has other problems, dimensions, shifts and tasks.

One rule gives the reference point of each objective: 10% beyond the worst value on the front, or the median of random
configurations if that is worse. So half of all random values count, also where 100 trials do not come near the front
(ZDT4), and the ends of the front count where they do. Numbers of parameters are those that 100 trials suit, fewer than
in the sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import Outcomes, Params, SeveralProblem
from pellucid_lab.problems import several_formulas as formulas
from pellucid_lab.problems.several_formulas import Constraints, Objectives
from pellucid_lab.problems.several_tuning import PACKAGES, TUNINGS, check_tuning, tuning_problem

if TYPE_CHECKING:
    from optuna.trial import Trial

Bounds = Sequence[tuple[float, float]]
_EXACT, _SUMMED = "closed form", "the closed form of the front, summed up"


def _unit(d: int) -> Bounds:
    return [(0.0, 1.0)] * d


def _zdt4_box(d: int) -> Bounds:
    return [(0.0, 1.0), *[(-5.0, 5.0)] * (d - 1)]


def _wfg_box(d: int) -> Bounds:
    return [(0.0, 2.0 * j) for j in range(1, d + 1)]


def _problem(
    name: str,
    objectives: Objectives,
    bounds: Bounds,
    reference: tuple[float, ...],
    volume: float,
    source: str,
    constraints: Constraints | None = None,
    noise: float = 0.0,
) -> SeveralProblem:
    """``noise``: the sd in every objective."""
    metrics = [f"f{i}" for i in range(1, len(reference) + 1)]

    def suggest(trial: Trial) -> Params:
        return {f"x{j}": trial.suggest_float(f"x{j}", low, high) for j, (low, high) in enumerate(bounds, start=1)}

    def evaluate(params: Mapping[str, Any]) -> Outcomes:
        x = np.array([[params[f"x{j}"] for j in range(1, len(bounds) + 1)]])
        limits = constraints(x) if constraints else {}
        values = dict(zip(metrics, objectives(x)[0].tolist(), strict=True))
        return Outcomes(values, {key: float(column[0]) for key, column in limits.items()})

    return SeveralProblem(
        name=name,
        directions=dict.fromkeys(metrics, "minimize"),
        suggest=suggest,
        evaluate=evaluate,
        reference=reference,
        volume=volume,
        source=source,
        noise=dict.fromkeys(metrics, noise) if noise else {},
    )


_DESIGN = (
    _problem("shifted-zdt1", formulas.shifted_zdt1, _unit(5), (1.1, 3.2), 3.52 - 1.0 / 3.0, _EXACT),
    _problem("small-zdt4", formulas.zdt4, _zdt4_box(3), (1.1, 33.0), 36.3 - 1.0 / 3.0, _EXACT),
    _problem(
        "shifted-dtlz2", partial(formulas.dtlz2, k=3, centre=0.3), _unit(5), (1.1,) * 3, 1.331 - math.pi / 6.0, _EXACT
    ),
    _problem("small-dtlz7", partial(formulas.dtlz7, k=2), _unit(4), (0.95, 12.4), 8.6241848, _SUMMED),
    _problem("small-dtlz7-3", partial(formulas.dtlz7, k=3), _unit(4), (0.95, 0.95, 18.3), 12.3247011, _SUMMED),
    _problem("branin-currin", formulas.branin_currin, _unit(2), (35.0, 7.1), 179.40202, "a search of 16 million"),
    _problem("vlmop2-noisy", formulas.vlmop2, [(-2.0, 2.0)] * 3, (1.08, 1.08), 0.50851559, _SUMMED, noise=0.05),
    _problem(
        "tnk",
        formulas.tnk,
        [(0.0, math.pi)] * 2,
        (1.57, 1.57),
        1.64902,
        "a search of 9 million",
        formulas.tnk_constraints,
    ),
    _problem(
        "waves",
        partial(formulas.wfg4, k=3, positions=2, hills=11.0, best=0.6),
        _wfg_box(5),
        (2.2, 4.4, 6.6),
        63.888 - 8.0 * math.pi,
        _EXACT,
    ),
    _problem(
        "islands",
        partial(formulas.dtlz2, k=2, centre=0.3),
        _unit(4),
        (1.1,) * 2,
        0.3618214,
        _SUMMED,
        partial(formulas.c2_dtlz2, radius=0.15, centre=0.3),
    ),
)
_REPORTED = (
    _problem("zdt1", formulas.zdt1, _unit(6), (1.1, 3.9), 4.29 - 1.0 / 3.0, _EXACT),
    _problem("zdt2", formulas.zdt2, _unit(6), (1.1, 5.4), 5.94 - 2.0 / 3.0, _EXACT),
    _problem("zdt3", formulas.zdt3, _unit(5), (0.94, 4.0), 3.7580239, _SUMMED),
    _problem("zdt4", formulas.zdt4, _zdt4_box(5), (1.1, 68.0), 74.8 - 1.0 / 3.0, _EXACT),
    _problem("zdt6", formulas.zdt6, _unit(6), (1.07, 8.5), 6.3151402, _SUMMED),
    _problem("dtlz2-2", partial(formulas.dtlz2, k=2), _unit(6), (1.1,) * 2, 1.21 - math.pi / 4.0, _EXACT),
    _problem("dtlz2-3", partial(formulas.dtlz2, k=3), _unit(7), (1.1,) * 3, 1.331 - math.pi / 6.0, _EXACT),
    _problem("dtlz7-2", partial(formulas.dtlz7, k=2), _unit(6), (0.95, 12.4), 8.6241848, _SUMMED),
    _problem("dtlz7-3", partial(formulas.dtlz7, k=3), _unit(6), (0.95, 0.95, 18.3), 12.3247011, _SUMMED),
    _problem("wfg4-2", partial(formulas.wfg4, k=2, positions=2), _wfg_box(6), (2.2, 4.4), 9.68 - 2.0 * math.pi, _EXACT),
    _problem(
        "wfg4-3",
        partial(formulas.wfg4, k=3, positions=2),
        _wfg_box(6),
        (2.2, 4.4, 6.6),
        63.888 - 8.0 * math.pi,
        _EXACT,
    ),
    _problem(
        "c2-dtlz2",
        partial(formulas.dtlz2, k=2),
        _unit(5),
        (1.1,) * 2,
        0.3823334,
        _SUMMED,
        formulas.c2_dtlz2,
    ),
)
_FORMULAS = {problem.name: problem for problem in (*_DESIGN, *_REPORTED)}

DESIGN_NAMES = (
    *(problem.name for problem in _DESIGN),
    "lcbench-167161",
    "lcbench-167168",
    "lcbench-168908",
    "rbv2-307",
    "rbv2-1063",
)
REPORTED_NAMES = (
    *(problem.name for problem in _REPORTED),
    *("lcbench-167104", "lcbench-189908", "rbv2-46", "rbv2-1487"),
)
SETS = {"design": DESIGN_NAMES, "reported": REPORTED_NAMES}
NAMES = (*DESIGN_NAMES, *REPORTED_NAMES)
# Problems with numbers only, without conditions and constraints.
PLAIN_NAMES = tuple(
    name for name in NAMES if name not in ("tnk", "islands", "c2-dtlz2") and not name.startswith("rbv2")
)


def check_several(name: str, data: str | None) -> None:
    """Raise `Mistake` if there is no such problem, and `Unavailable` if it needs something that is missing."""
    if name not in NAMES:
        raise Mistake(f"The problems with several objectives are {', '.join(NAMES)}; got `{name}`.")
    if name in TUNINGS:
        check_tuning(name, data)


@cache
def several_problem(name: str, data: str | None = None) -> SeveralProblem:
    check_several(name, data)
    return tuning_problem(name, data) if name in TUNINGS else _FORMULAS[name]


def packages_of_problem(name: str) -> tuple[str, ...]:
    """Distributions that determine its values, so that their versions belong to a result."""
    return PACKAGES if name in TUNINGS else ()
