"""Our answer to whether a study with several objectives can stop, after some of its trials, and whether it was right.

A stop is wrong if the known front dominates more volume than the trials did by more than the tolerance, as a share of
theirs: both up to the problem's reference point, which the verdict does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optuna.study import Study

# Trials, whether we said to stop, by what share the volume could still grow at most, and the tolerance.
Verdict = tuple[int, bool, float, float]
AFTER = (60, 100)


def front_verdicts(study: Study, after: Sequence[int] = AFTER) -> tuple[Verdict, ...]:
    """Verdicts on the first trials of a study, as they would have been then; none where there was no bound."""
    import optuna

    import pellucid

    verdicts = []
    for n in after:
        if n > len(study.trials):
            continue
        part = optuna.create_study(directions=study.directions)
        part.add_trials(study.trials[:n])
        verdict = pellucid.stopping_verdict(part)
        if verdict.bound is not None and verdict.tolerance is not None:
            verdicts.append((n, verdict.stop, round(verdict.bound, 6), verdict.tolerance))
    return tuple(verdicts)


@dataclass(frozen=True)
class Stops:
    """Counts of verdicts.

    ``within``: when no more than the tolerance was left;  ``stops``: that said so;  ``wrong``: stops that left more;
    ``covered``: whose bound was not exceeded by what was left
    """

    verdicts: int
    within: int
    stops: int
    wrong: int
    covered: int


def stops(judged: Iterable[tuple[Verdict, float]]) -> Stops:
    """Counts of verdicts, each with the share of the known front's volume that the trials dominated then (1: all)."""
    rows = [(verdict, max(1.0 / max(share, 1e-9) - 1.0, 0.0)) for verdict, share in judged]
    return Stops(
        verdicts=len(rows),
        within=sum(left <= tolerance for (_, _, _, tolerance), left in rows),
        stops=sum(stop for (_, stop, _, _), _ in rows),
        wrong=sum(stop and left > tolerance for (_, stop, _, tolerance), left in rows),
        covered=sum(left <= bound for (_, _, bound, _), left in rows),
    )
