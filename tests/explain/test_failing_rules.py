"""Rules that failed trials follow: known ones are found, and few are where there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pellucid.beliefs.failing_rules import Rule, Table, failing_rules
from pellucid.numerics import Array, Integers, Mask

Truth = Callable[[Integers, Array], Mask]


def table(rng: np.random.Generator, n: int, cells: tuple[int, ...] = (2, 3, 4), q: int = 3) -> tuple[Table, Integers]:
    """Random trials of `cells` choices and `q` numbers between 0 and 1, none of which failed; and their choices."""
    codes = np.array([rng.integers(k, size=n) for k in cells], dtype=np.int64).reshape(len(cells), n).T
    choices = tuple((f"c{j}", v) for j, k in enumerate(cells) for v in range(k))
    has = np.array([codes[:, int(name[1:])] == v for name, v in choices], dtype=bool).reshape(len(choices), n).T
    return Table(np.zeros(n, dtype=bool), choices, has, tuple(f"x{i}" for i in range(q)), rng.random((n, q))), codes


def found(truth: Truth, n: int = 80, seed: int = 0, luck: float = 0.0) -> tuple[Table, list[Rule]]:
    """The rules of a study with a known truth. `luck`: the share of trials that fail for no reason."""
    rng = np.random.default_rng(seed)
    trials, codes = table(rng, n)
    trials = replace(trials, failed=truth(codes, trials.numbers) | (rng.random(n) < luck))
    return trials, failing_rules(trials)


def conditions(trials: Table, rule: Rule) -> tuple[object, ...]:
    tail = () if rule.end is None else ((trials.names[rule.number], rule.end),)
    return (*(trials.choices[k] for k in rule.choices), *tail)


TRUTHS: dict[str, tuple[Truth, tuple[object, ...]]] = {
    "a choice": (lambda c, x: c[:, 1] == 2, (("c1", 2),)),
    "two choices": (lambda c, x: (c[:, 0] == 0) & (c[:, 1] == 1), (("c0", 0), ("c1", 1))),
    "large numbers": (lambda c, x: x[:, 1] > 0.8, (("x1", "at least"),)),
    "small numbers": (lambda c, x: x[:, 2] < 0.2, (("x2", "at most"),)),
    "a choice with large numbers": (lambda c, x: (c[:, 0] == 1) & (x[:, 0] > 0.6), (("c0", 1), ("x0", "at least"))),
}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("luck", [0.0, 0.05])
def test_a_known_rule_is_the_first(name: str, luck: float) -> None:
    truth, expected = TRUTHS[name]
    trials, rules = found(truth, luck=luck)
    assert conditions(trials, rules[0]) == expected


def test_a_cut_lies_between_trials_that_fail_and_trials_that_do_not() -> None:
    trials, (rule,) = found(lambda c, x: x[:, 1] > 0.8)
    assert trials.numbers[~trials.failed, 1].max() < rule.cut <= trials.numbers[trials.failed, 1].min()
    assert rule.cut == round(rule.cut, 2)


def test_two_rules_are_found_one_after_the_other() -> None:
    trials, rules = found(lambda c, x: (c[:, 1] == 0) | (x[:, 0] > 0.85), n=120)
    assert [conditions(trials, rule) for rule in rules] == [(("c1", 0),), (("x0", "at least"),)]


def test_few_exceptions_are_allowed_and_many_are_not() -> None:
    trials, _ = found(lambda c, x: x[:, 1] > 0.5, n=120)
    beyond = np.argsort(-trials.numbers[:, 1])
    for exceptions, n_rules in ((2, 1), (20, 0)):
        failed = trials.failed.copy()
        failed[beyond[: 2 * exceptions : 2]] = False
        assert len(failing_rules(replace(trials, failed=failed))) == n_rules


def test_a_choice_that_often_fails_is_not_narrowed_down_by_luck() -> None:
    """60% of the trials with a choice fail, whatever else they have: two conditions are named in few studies."""
    rng = np.random.default_rng(1)
    n_named = 0
    for _ in range(100):
        trials, codes = table(rng, 80)
        failed = rng.random(80) < np.where(codes[:, 1] == 0, 0.6, 0.05)
        n_named += bool(failing_rules(replace(trials, failed=failed)))
    assert n_named <= 5


@pytest.mark.parametrize(("cells", "q"), [((), 1), ((2, 2), 0), ((2, 3), 2), ((2, 3, 4, 2), 4)])
def test_random_failures_follow_a_rule_in_few_studies(cells: tuple[int, ...], q: int) -> None:
    """The promise is 5%; the correction for all rules that are tried is strict, so that it is about 1%."""
    rng = np.random.default_rng(0)
    studies = [(n, share) for n in (12, 30, 80) for share in (0.15, 0.4, 0.7) for _ in range(25)]
    named = [bool(failing_rules(replace(table(rng, n, cells, q)[0], failed=rng.random(n) < s))) for n, s in studies]
    assert np.mean(named) <= 0.03


def test_a_parameter_of_a_branch_is_compared_inside_it() -> None:
    """Half of the trials of a branch fail at random: no number that only exists there is to blame."""
    rng = np.random.default_rng(3)
    n_named = 0
    for _ in range(60):
        trials, codes = table(rng, 60, cells=(2,), q=2)
        numbers = np.where(codes == 0, trials.numbers, np.nan)
        failed = (codes[:, 0] == 0) & (rng.random(60) < 0.5)
        n_named += bool(failing_rules(replace(trials, failed=failed, numbers=numbers)))
    assert n_named <= 3


def test_equal_values_are_on_one_side_of_a_cut() -> None:
    trials, _ = found(lambda c, x: x[:, 0] > 2.0, n=100)
    numbers = np.floor(4 * trials.numbers)
    for failed in (numbers[:, 0] >= 3, (numbers[:, 0] >= 3) & (np.arange(100) % 2 == 0)):
        rules = failing_rules(replace(trials, failed=failed, numbers=numbers))
        assert all(rule.cut == 3.0 and rule.number == 0 for rule in rules)
        assert bool(rules) == bool(failed[numbers[:, 0] >= 3].all())


@pytest.mark.parametrize("n", [0, 1, 2, 50])
@pytest.mark.parametrize("all_failed", [True, False])
def test_there_is_no_rule_if_there_is_nothing_to_compare(n: int, all_failed: bool) -> None:
    trials, _ = table(np.random.default_rng(0), n)
    assert failing_rules(replace(trials, failed=np.full(n, all_failed))) == []


def test_there_is_no_rule_without_parameters() -> None:
    empty = Table(np.arange(20) < 8, (), np.zeros((20, 0), dtype=bool), (), np.zeros((20, 0)))
    assert failing_rules(empty) == []


def test_thousands_of_trials_with_many_choices() -> None:
    rng = np.random.default_rng(0)
    trials, codes = table(rng, 5000, cells=(2, 3, 5, 40), q=6)
    failed = ((codes[:, 2] == 1) & (codes[:, 3] < 2)) | (trials.numbers[:, 0] > 0.97) | (rng.random(5000) < 0.02)
    rules = failing_rules(replace(trials, failed=failed))
    assert {conditions(trials, rule) for rule in rules} == {
        (("x0", "at least"),),
        (("c2", 1), ("c3", 0)),
        (("c2", 1), ("c3", 1)),
    }
