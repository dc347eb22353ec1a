"""Whose turn it is if rankings of earlier studies and a model of this study share it: who improves goes on.

A ranking makes the first proposals. From then on a proposer that has just improved on the best value goes on.
Otherwise a ranking has the turn if it has waited long enough: one trial after its first miss, and twice as long after
each further miss in a row. The model of this study has all other turns, so a ranking that no longer improves hands
over step by step. Only trials and their receipts decide: any worker comes to the same answer.

Notation
    sources   who proposed each earlier trial, in the order of their numbers
    losses    of the same trials, smaller is better; inf if a trial failed or is still running
    miss      a proposal that did not improve on the best loss before it
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optuna.trial import FrozenTrial

from pellucid.provenance import RankingReceipt
from pellucid.study.receipts import own_receipt
from pellucid.study.view import StudyView

# 'transferred', 'tuned' and 'alone' are rankings, see `RankingState.turn`.
Ranks = Literal["transferred", "tuned", "alone"]
Proposer = Literal["transferred", "tuned", "alone", "model"]

# Proposals of a ranking before turns are shared: a model of fewer trials knows less than the earlier studies do. Chosen
# on the validation tasks of lab/results/ranking and on synthetic families: 3 cost some of the start where earlier
# studies knew much; 8, tried on networks only, was better after 10 and 20 trials there and not later.
OPENING = 5
_NAMES: dict[Proposer, str] = {
    "transferred": "the ranking of earlier studies",
    "tuned": "the ranking tuned to this study",
    "alone": "the ranking of this study",
    "model": "the model of this study",
}


@dataclass(frozen=True)
class Turn:
    """Who proposes, and the reason as a sentence for the receipt."""

    proposer: Proposer
    words: str


@dataclass(frozen=True)
class Course:
    """How the proposals of one proposer went.

    misses   its latest proposals in a row that did not improve
    since    trials of others since its last proposal; None if it has made none
    """

    misses: int
    since: int | None

    @property
    def wait(self) -> int:
        """Trials of others before its next turn: 0, 1, 2, 4, 8, …"""
        return 0 if self.misses == 0 else 2 ** (self.misses - 1)

    @property
    def due(self) -> bool:
        return self.since is None or self.since >= self.wait


def turn_of(view: StudyView, number: int, rankings: Sequence[Ranks]) -> Turn:
    """Who proposes trial `number`, see `next_turn`. A trial that failed or is still running has not improved."""
    losses = dict(zip(view.observations.numbers, view.observations.losses.tolist(), strict=True))
    before = [trial for trial in view.trials if trial.number < number]
    return next_turn(
        [source_of(trial) for trial in before], [losses.get(trial.number, math.inf) for trial in before], rankings
    )


def source_of(trial: FrozenTrial) -> Proposer | None:
    """Who proposed a trial; None if its own receipt names none of the proposers."""
    receipt = own_receipt(trial)
    if receipt is None:
        return None
    sources: dict[str, Proposer] = {"transferred": "transferred", "tuned": "tuned", "alone": "alone", "model": "model"}
    return sources.get(receipt.ranking.turn if isinstance(receipt, RankingReceipt) else receipt.kind)


def next_turn(sources: Sequence[Proposer | None], losses: Sequence[float], rankings: Sequence[Ranks]) -> Turn:
    """Who proposes after these trials. `rankings`: those that could propose; the first goes before others that have
    missed as often, and the last makes the first proposals."""
    if sum(source not in (None, "model") for source in sources) < OPENING:
        return Turn(rankings[-1], f"It is one of the first {OPENING} proposals, which a ranking makes.")
    best = _improver(sources, losses)
    if best is not None and best in (*rankings, "model"):
        return Turn(best, f"{_sentence(best)} goes on: its last proposal improved.")
    courses = {ranking: course_of(ranking, sources, losses) for ranking in rankings}
    due = [ranking for ranking in rankings if courses[ranking].due]
    if due:
        chosen = min(due, key=lambda ranking: courses[ranking].misses)
        return Turn(chosen, f"{_sentence(chosen)} {_why_now(courses[chosen])}.")
    misses = " and ".join(f"the {_last(courses[ranking].misses)} of {_NAMES[ranking]}" for ranking in rankings)
    return Turn("model", f"{_sentence('model')} takes this turn: {misses} did not improve.")


def course_of(proposer: Proposer, sources: Sequence[Proposer | None], losses: Sequence[float]) -> Course:
    misses, last, best = 0, -1, math.inf
    for i, (source, loss) in enumerate(zip(sources, losses, strict=True)):
        if source == proposer:
            misses, last = (0 if loss < best else misses + 1), i
        best = min(best, loss)
    return Course(misses, None if last < 0 else len(sources) - 1 - last)


def _improver(sources: Sequence[Proposer | None], losses: Sequence[float]) -> Proposer | None:
    """The proposer of the last trial, if that trial is better than all before it."""
    return sources[-1] if losses and losses[-1] < min(losses[:-1], default=math.inf) else None


def _sentence(proposer: Proposer) -> str:
    name = _NAMES[proposer]
    return name[0].upper() + name[1:]


def _why_now(course: Course) -> str:
    if course.since is None:
        return "has its first turn"
    if course.misses == 0:
        return "has this turn: its last proposal improved"
    others = "another trial" if course.since == 1 else f"{course.since} other trials"
    return f"tries again after {others}: its {_last(course.misses)} did not improve"


def _last(count: int) -> str:
    return "last proposal" if count == 1 else f"last {count} proposals"
