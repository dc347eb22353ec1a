"""Settings at which (nearly) all trials fail, found from which trials had them and which failed.

    n, c, g, q          trials, choices, parameters with choices, numeric parameters
    has     (n, c)      whether a trial has a choice;  owner (c,)  the parameter of every choice
    numbers (n, q)      values of the numeric parameters in their own unit; NaN where a trial has none
    failed  (n,)        whether a trial failed
    tail                all trials at or beyond a value, towards one end of a parameter
    exceptions          trials inside a rule that did not fail

A rule is a choice, two choices of two parameters, a tail, or a tail of the trials with a choice. It is named if at
least `_FEWEST` trials inside failed, if that is at least the share `_SHARE` of those inside, and if so many would be
unlikely by chance: the p-value of Fisher's exact test (one-sided: a hypergeometric distribution), times the number of
all rules that were tried (Bonferroni), must be at most `SIGNIFICANCE`. The test compares with the trials that have the
same parameters.

The place of a cut needs no correction. If e exceptions are allowed, the longest tail with no more of them has at
least m trials exactly if the outermost m trials have at most e. So its p-value is that of the outermost m trials,
whichever m was found, and only the few e that are tried count.

A rule of two conditions must also fail more often than each condition alone, at the level `_REFINED`. Rules are named
one after the other: the one that explains most, then the same among the trials outside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pellucid.claims import SIGNIFICANCE
from pellucid.numerics import Array, Integers, Mask
from pellucid.threads import cached_property

End = Literal["at least", "at most"]
# Failed trials inside a rule, their share of the trials inside, and rules that are named.
_FEWEST, _SHARE, MOST_RULES = 3, 0.9, 3
# p-value of each of two conditions, given the other. It decides how a rule is worded more than whether there is one, so
# it is not corrected for the number of rules. If 60% of the trials with a choice fail, whatever else they have, two
# conditions are named in 3% of 400 simulated studies of 80 trials; at 0.05, in 6%. If a choice fails with two of three
# others, both pairs are named in 88% of studies of 60 trials; at 0.01, in 76%.
_REFINED = 0.02
# A rule is preferred to a narrower one if it has fewer than one exception more for so many failed trials more.
_WORTH = 4
# Choices that are paired with others: the most frequent ones. The number of pairs grows with the square.
_MOST_PAIRED = 400


@dataclass(frozen=True)
class Table:
    """Which trials had which settings, and which failed. `choices`: parameter and value;  `names`: of `numbers`."""

    failed: Mask
    choices: tuple[tuple[str, Any], ...]
    has: Mask
    names: tuple[str, ...]
    numbers: Array

    @cached_property
    def owner(self) -> Integers:
        params = list(dict.fromkeys(name for name, _ in self.choices))
        return np.array([params.index(name) for name, _ in self.choices], dtype=np.int64)

    @cached_property
    def present(self) -> Mask:
        """(n, g)  whether a trial has a parameter with choices."""
        columns = [self.has[:, self.owner == j].any(axis=1) for j in range(len(set(self.owner.tolist())))]
        return np.asarray(np.array(columns, dtype=bool).reshape(len(columns), len(self.failed)).T)

    @cached_property
    def paired(self) -> Integers:
        """The choices that are paired with others, the most frequent ones."""
        return np.sort(np.argsort(-self.has.sum(axis=0), kind="stable")[:_MOST_PAIRED])

    @cached_property
    def exceptions(self) -> list[int]:
        """Numbers of exceptions that are tried: 0, 1, 2, 3, 5, 8 and so on, while a rule with so many can be named."""
        most = (1.0 - _SHARE) / _SHARE * float(self.failed.sum()) + 1e-9
        tried, following = [0], 1
        while following <= most:
            tried.append(following)
            following = 2 if following == 1 else following + tried[-2]
        return tried

    def rows(self, keep: Mask) -> Table:
        return Table(self.failed[keep], self.choices, self.has[keep], self.names, self.numbers[keep])


@dataclass(frozen=True)
class Rule:
    """A setting: choices (columns of the table), and a tail of a numeric parameter if `end` is not None. `p`: of the
    test, times the number of rules that were tried."""

    choices: tuple[int, ...]
    p: float
    number: int = 0
    end: End | None = None
    cut: float = 0.0

    @property
    def size(self) -> int:
        """The number of its conditions."""
        return len(self.choices) + (self.end is not None)

    def inside(self, table: Table) -> Mask:
        inside = np.asarray(table.has[:, list(self.choices)].all(axis=1))
        if self.end is None:
            return inside
        values = table.numbers[:, self.number]  # A comparison with NaN is false.
        return np.asarray(inside & (values >= self.cut if self.end == "at least" else values <= self.cut))


def failing_rules(table: Table) -> list[Rule]:
    """At most three rules: the one that explains most failures, then the same among the trials outside it."""
    n_tried = _n_tried(table)
    rules: list[Rule] = []
    left = table
    while len(rules) < MOST_RULES and left.failed.sum() >= _FEWEST:
        found = [rule for rule in _significant(left, n_tried) if _named(rule.inside(left), left.failed)]
        if not found:
            break
        best = max(found, key=lambda rule: (_score(rule.inside(left), left.failed), -rule.size, -rule.p))
        rules.append(best)
        left = left.rows(~best.inside(left))
    return rules


def _named(inside: Mask, failed: Mask) -> bool:
    count = int(failed[inside].sum())
    return count >= _FEWEST and count >= _SHARE * inside.sum()


def _score(inside: Mask, failed: Mask) -> int:
    return int(failed[inside].sum() - _WORTH * (~failed[inside]).sum())


def _n_tried(table: Table) -> int:
    """Rules that could be named, whichever trials had failed."""
    has, present = table.has.astype(float), table.present.astype(float)
    alone = has.sum(axis=0)
    single = int(((alone >= _FEWEST) & (alone < present.sum(axis=0)[table.owner])).sum())
    known = ~np.isnan(table.numbers)
    varies = np.array([len(np.unique(column[~np.isnan(column)])) > 1 for column in table.numbers.T], dtype=bool)
    together = has[:, table.paired].T @ known
    tails = int(varies.sum() + (varies & (together >= _FEWEST) & (together < known.sum(axis=0))).sum())
    return single + int(_pairs_tried(table).sum()) + 2 * len(table.exceptions) * tails


def _pairs_tried(table: Table) -> Mask:
    """(c', c')  two choices that are worth a test: enough trials have both, and each narrows the other down."""
    has, owner = table.has[:, table.paired].astype(float), table.owner[table.paired]
    both = has.T @ has
    partner = (has.T @ table.present)[:, owner]
    upper = np.triu(owner[:, None] != owner[None, :])
    return np.asarray(upper & (both >= _FEWEST) & (both < partner) & (both < partner.T))


def _significant(table: Table, n_tried: int) -> Iterator[Rule]:
    for rule in (*_single(table, n_tried), *_pairs(table, n_tried), *_tails(table, n_tried)):
        if rule.p <= SIGNIFICANCE:
            yield rule


def _chance(inside_failed: Array, inside: Array, failed: Array, n: Array) -> Array:
    """The chance that at least so many of the trials inside failed, if `failed` of all `n` trials did."""
    from scipy.stats import hypergeom  # Slow to import, and used only if trials have failed.

    return np.asarray(hypergeom.sf(inside_failed - 1, n, failed, inside))


def _promising(failed: Array, inside: Array) -> Mask:
    return np.asarray((failed >= _FEWEST) & (failed >= _SHARE * inside))


def _single(table: Table, n_tried: int) -> Iterator[Rule]:
    has, z = table.has.astype(float), table.failed.astype(float)
    inside, failed = has.sum(axis=0), z @ has
    known, known_failed = table.present.sum(axis=0)[table.owner], (z @ table.present)[table.owner]
    for k in np.flatnonzero(_promising(failed, inside)).tolist():
        yield Rule((k,), n_tried * float(_chance(failed[k], inside[k], known_failed[k], known[k])))


def _pairs(table: Table, n_tried: int) -> Iterator[Rule]:
    has, owner = table.has[:, table.paired].astype(float), table.owner[table.paired]
    present, z = table.present.astype(float), table.failed.astype(float)[:, None]
    both, both_failed = has.T @ has, has.T @ (z * has)
    known, known_failed = present.T @ present, present.T @ (z * present)
    # Trials with one choice that have the parameter of the other.
    partner, partner_failed = has.T @ present, has.T @ (z * present)
    for a, b in np.argwhere(_pairs_tried(table) & _promising(both_failed, both)).tolist():
        inside, failed, i, j = both[a, b], both_failed[a, b], owner[a], owner[b]
        refined = _chance(
            failed,
            inside,
            np.array([partner_failed[a, j], partner_failed[b, i]]),
            np.array([partner[a, j], partner[b, i]]),
        )
        if refined.max() <= _REFINED:
            p = float(_chance(failed, inside, known_failed[i, j], known[i, j]))
            yield Rule((int(table.paired[a]), int(table.paired[b])), n_tried * p)


def _tails(table: Table, n_tried: int) -> Iterator[Rule]:
    """The longest tail of every numeric parameter for each number of exceptions, of all trials and of those with a
    choice."""
    for j in range(len(table.names)):
        known = table.rows(~np.isnan(table.numbers[:, j]))
        values = known.numbers[:, j]
        failing = known.has[:, table.paired][known.failed].sum(axis=0) >= _FEWEST
        columns = table.paired[failing]
        members = np.column_stack([np.ones(len(values), dtype=bool), known.has[:, columns]])
        for end in ("at least", "at most"):
            order = np.argsort(values if end == "at most" else -values, kind="stable")
            for row, i, p in _longest(values[order], members[order], known.failed[order], table.exceptions):
                if n_tried * p > SIGNIFICANCE:
                    continue
                choice = () if i == 0 else (int(columns[i - 1]),)
                cut = _cut(values[order][members[order, i]], float(values[order][row]), end)
                rule = Rule(choice, n_tried * p, j, end, cut)
                if not choice or _choice_matters(known, rule):
                    yield rule


def _longest(values: Array, members: Mask, failed: Mask, exceptions: list[int]) -> Iterator[tuple[int, int, float]]:
    """Last row, column and p-value of the longest tails, which begin in the first row, by column of `members`. A tail
    ends between two different values."""
    if len(values) == 0:
        return
    n_failed = (members & failed[:, None]).cumsum(axis=0, dtype=np.int32)
    others = (members & ~failed[:, None]).cumsum(axis=0, dtype=np.int32)
    ends = np.append(values[1:] != values[:-1], True)
    columns = np.arange(members.shape[1])
    for e in exceptions:
        within = (others <= e) & ends[:, None]
        last = len(values) - 1 - within[::-1].argmax(axis=0)
        count, inside = n_failed[last, columns], n_failed[last, columns] + others[last, columns]
        total = n_failed[-1] + others[-1]
        found = np.flatnonzero(within.any(axis=0) & _promising(count, inside) & (inside < total))
        chances = _chance(np.maximum(inside - e, 0)[found], inside[found], n_failed[-1, found], total[found])
        yield from zip(last[found].tolist(), found.tolist(), chances.tolist(), strict=True)


def _choice_matters(known: Table, rule: Rule) -> bool:
    """Whether trials in the same tail with another choice of the parameter fail less often."""
    (choice,) = rule.choices
    there = Rule((), 1.0, rule.number, rule.end, rule.cut).inside(known) & known.present[:, known.owner[choice]]
    inside = there & known.has[:, choice]
    counts = (known.failed[inside].sum(), inside.sum(), known.failed[there].sum(), there.sum())
    return float(_chance(*map(np.array, counts))) <= _REFINED


def _cut(values: Array, row_value: float, end: End) -> float:
    """The value with the fewest digits between the last trial inside and the first outside. `values`: of the trials,
    from the end inwards."""
    beyond = values < row_value if end == "at least" else values > row_value
    last = float(values[~beyond][-1])
    if not beyond.any():
        return last
    outside = float(values[beyond][0])
    rounding = math.floor if end == "at least" else math.ceil
    for digits in range(1, 5):
        if last == 0.0:
            break
        unit = 10.0 ** (math.floor(math.log10(abs(last))) - digits + 1)
        short = float(f"{rounding(last / unit) * unit:.{digits}g}")
        if outside < short <= last or last <= short < outside:
            return short
    return last
