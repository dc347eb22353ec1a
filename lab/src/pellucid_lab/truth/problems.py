"""The problems: those that rules are designed on, and others on which their errors are reported.

Each looks like a tuning task of some kind: a valley on logarithmic scales with an interaction, a cliff behind which
training diverges, a plateau at chance level, one parameter that dominates, parameters without any effect, a choice of
models of which the best needs tuning, an optimum beyond a border, a narrow optimum away from a wide one.
"""

from __future__ import annotations

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.truth.design import DESIGN
from pellucid_lab.truth.reported import REPORTED
from pellucid_lab.truth.spaces import TruthProblem

SETS = {"design": DESIGN, "reported": REPORTED}
PROBLEMS = {**DESIGN, **REPORTED}


def find_problem(name: str) -> TruthProblem:
    if name not in PROBLEMS:
        raise Mistake(f"The problems with known truth are {', '.join(PROBLEMS)}; got `{name}`.")
    return PROBLEMS[name]
