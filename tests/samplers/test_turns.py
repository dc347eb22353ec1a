"""Who proposes next, as a function of who proposed each trial and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.search.turns import OPENING, Course, Proposer, Ranks, course_of, next_turn

BOTH: tuple[Ranks, ...] = ("tuned", "transferred")
ONE: tuple[Ranks, ...] = ("transferred",)


def play(n: int, improves: Callable[[int, Proposer], bool], rankings: Sequence[Ranks] = BOTH) -> list[Proposer]:
    """The proposers of n trials of which those that `improves` names are better than all before."""
    sources: list[Proposer] = []
    losses: list[float] = []
    for i in range(n):
        sources.append(next_turn(sources, losses, rankings).proposer)
        losses.append(-float(i) if i == 0 or improves(i, sources[-1]) else 1.0)
    return sources


def never(_: int, __: Proposer) -> bool:
    return False


def test_a_ranking_makes_the_first_proposals() -> None:
    assert play(OPENING, never) == ["transferred"] * OPENING
    assert play(OPENING, never, ("alone",)) == ["alone"] * OPENING
    assert next_turn([], [], BOTH).words == "It is one of the first 5 proposals, which a ranking makes."


def test_trials_of_others_do_not_use_up_the_first_proposals() -> None:
    assert next_turn([None] * 30 + ["model"] * 5, [1.0] * 35, BOTH).proposer == "transferred"


@pytest.mark.parametrize("winner", ["transferred", "tuned", "model"])
def test_who_has_just_improved_goes_on(winner: Proposer) -> None:
    turn = next_turn(["transferred"] * 5 + [winner], [3.0, 2.0, 4.0, 4.0, 4.0, 1.0], BOTH)
    assert turn.proposer == winner
    assert turn.words.endswith("goes on: its last proposal improved.")


def test_a_ranking_that_only_misses_waits_twice_as_long_each_time() -> None:
    sources = play(80, never, ONE)
    turns = [i for i, source in enumerate(sources) if source == "transferred"]
    # Trial 0 is the best, so four of the first five missed: eight trials of the model, then 16, then 32.
    assert turns == [0, 1, 2, 3, 4, 13, 30, 63]


def test_two_rankings_that_only_miss_leave_the_study_to_the_model() -> None:
    sources = play(100, never)
    assert sources.count("model") > 80
    assert sources[-20:].count("model") >= 19
    assert "tuned" in sources[:8]


def test_a_ranking_that_keeps_improving_keeps_nearly_all_turns() -> None:
    assert play(30, lambda _, source: source == "tuned")[6:] == ["tuned"] * 24
    assert play(30, lambda _, source: source == "transferred", ONE) == ["transferred"] * 30


def test_the_more_often_a_ranking_improves_the_more_turns_it_has() -> None:
    shares = []
    for chance in (0.0, 0.2, 0.5):
        rng = np.random.default_rng(0)
        played = [play(50, lambda _, s, c=chance, r=rng: s == "tuned" and r.random() < c) for _ in range(20)]  # type: ignore[misc]
        shares.append(np.mean([sources.count("tuned") for sources in played]))
    assert shares[0] < 7 < shares[1] < shares[2]


def test_trials_of_others_can_be_the_best_and_count_as_waiting() -> None:
    sources: list[Proposer | None] = ["transferred", None, "transferred", None]
    assert course_of("transferred", sources, [2.0, 0.5, 1.0, 3.0]) == Course(misses=1, since=1)
    assert course_of("tuned", sources, [2.0, 0.5, 1.0, 3.0]) == Course(misses=0, since=None)


def test_failed_and_running_trials_have_not_improved() -> None:
    assert course_of("transferred", ["transferred"] * 3, [math.inf] * 3) == Course(misses=3, since=0)
    # Nine workers that ask before anything has finished do not all get the same proposer.
    assert len(set(play_running(9))) > 1


def play_running(n: int) -> list[Proposer]:
    sources: list[Proposer] = ["transferred"] * 5
    for _ in range(n):
        sources.append(next_turn(sources, [1.0] * 5 + [math.inf] * (len(sources) - 5), BOTH).proposer)
    return sources[5:]


def test_the_reason_says_who_missed_how_often() -> None:
    five: list[Proposer | None] = ["transferred"] * 5
    missed = [1.0, 2.0, 2.0, 2.0, 2.0]
    assert next_turn(five, missed, ONE).words == (
        "The model of this study takes this turn: the last 4 proposals of the ranking of earlier studies did not "
        "improve."
    )
    assert next_turn(five, missed, BOTH).words == "The ranking tuned to this study has its first turn."
    assert next_turn([*five, "tuned"], [*missed, 2.0], BOTH).words == (
        "The model of this study takes this turn: the last proposal of the ranking tuned to this study and the last 4 "
        "proposals of the ranking of earlier studies did not improve."
    )
    again = next_turn([*five, "tuned", "model"], [*missed, 2.0, 2.0], BOTH)
    assert again.proposer == "tuned"
    assert again.words == (
        "The ranking tuned to this study tries again after another trial: its last proposal did not improve."
    )


PROPOSERS = st.sampled_from([None, "transferred", "tuned", "alone", "model"])
HISTORIES = st.lists(st.tuples(PROPOSERS, st.sampled_from([-1e306, 0.0, 1.0, 2.0, math.inf])), max_size=60)


@given(HISTORIES, st.sampled_from([BOTH, ONE, ("alone",)]))
def test_any_history_has_an_answer_that_only_depends_on_the_order_of_losses(
    history: list[tuple[Proposer | None, float]], rankings: Sequence[Ranks]
) -> None:
    sources, losses = [source for source, _ in history], [loss for _, loss in history]
    turn = next_turn(sources, losses, rankings)
    assert turn.proposer in (*rankings, "model")
    assert turn.words.endswith(".")
    assert turn == next_turn(sources, [loss if loss == math.inf else math.atan(loss) for loss in losses], rankings)
