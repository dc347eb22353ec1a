"""What the values of a study are of: its objectives, and the constraints that trials report.

Models, and answers that rest on them, are asked for one target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optuna.study import Study, StudyDirection

from pellucid.words import NoAnswer

Direction = Literal["minimize", "maximize"]
Kind = Literal["objective", "constraint"]
# loss = sign * value
_SIGNS: dict[Direction, float] = {"minimize": 1.0, "maximize": -1.0}


@dataclass(frozen=True)
class Target:
    """An objective, with the name that the user gave it (`Study.set_metric_names`), or a constraint, which may have the
    name of an objective and is better the lower it is.

    column   of `Observations.raw` for an objective, of `Constraints.values` for a constraint
    """

    name: str
    direction: Direction = "minimize"
    kind: Kind = "objective"
    column: int = 0

    @property
    def sign(self) -> float:
        """loss = sign * value"""
        return _SIGNS[self.direction]

    @property
    def is_constraint(self) -> bool:
        return self.kind == "constraint"

    @property
    def subject(self) -> tuple[str, ...]:
        """The words that its random streams begin with: draws of different targets are independent. The first
        objective, which may be the only one, has none."""
        if self.is_constraint:
            return "constraint", self.name
        return (f"objective {self.column}",) if self.column else ()


def objectives_of(study: Study) -> tuple[Target, ...]:
    """In the order in which trials return their values."""
    # A part of a study that Optuna's Hyperband pruner shows to samplers has no names.
    return _objectives(study, getattr(study, "metric_names", None) or ())


def unnamed_objectives(study: Study) -> tuple[Target, ...]:
    """The same, without asking the storage for their names."""
    return _objectives(study, ())


def _objectives(study: Study, names: Sequence[str]) -> tuple[Target, ...]:
    several = len(study.directions) > 1
    if not names:
        names = [f"objective {i}" if several else "objective" for i in range(len(study.directions))]
    # Answers find objectives by name, so that two of the same name get their numbers.
    names = [name if names.count(name) == 1 else f"{name} {i}" for i, name in enumerate(names)]
    directions: list[Direction] = [
        "maximize" if direction == StudyDirection.MAXIMIZE else "minimize" for direction in study.directions
    ]
    pairs = zip(names, directions, strict=True)
    return tuple(Target(name, direction, column=i) for i, (name, direction) in enumerate(pairs))


def single_objective(study: Study, asker: str) -> Target:
    """The objective of a study with one. Raises NoAnswer if it has several."""
    objectives = objectives_of(study)
    if len(objectives) != 1:
        raise NoAnswer(
            f"{asker} works on studies with one objective, but this study has {len(objectives)}: {named(objectives)}. "
            "`pellucid.BayesianSampler` works on several."
        )
    return objectives[0]


def named(targets: Sequence[Target]) -> str:
    return ", ".join(repr(target.name) for target in targets)
