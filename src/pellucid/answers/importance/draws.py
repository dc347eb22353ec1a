"""The trials that an importance analysis may use, as random draws: encoded, spread over cells, with their goal.

The index compares distributions, so it needs trials that were drawn at random. Receipts say which trials were; without
receipts, values that do not look like random draws are reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from scipy.special import kolmogorov

from pellucid.beliefs import Beliefs
from pellucid.beliefs.of_study import beliefs_of, opened
from pellucid.numerics import Array, Mask, one_thread, stream
from pellucid.space.conditions import infer_conditions
from pellucid.space.encoding import Space
from pellucid.study.constraints import constraints
from pellucid.study.goals import Goal, Sign, as_goal
from pellucid.study.receipts import readable_receipt
from pellucid.study.targets import Target
from pellucid.study.trials import interrupted
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer, NoAnswerYet, Note, printable

Source = Literal["random", "all", "surrogate"]
# With fewer trials, or fewer of them in the goal, the permutation test has no power at all.
FEWEST, _FEWEST_IN_GOAL = 10, 3
# From this many random trials on, trials that an optimiser proposed are left out.
_RANDOM_ENOUGH = 30
# A goal that this many times its share of the trials reach is reported, because ties blur it.
_MANY_TIES = 1.5
# p-value below which values do not look like random draws.
_NOT_UNIFORM = 1e-3


@dataclass(frozen=True)
class Sample:
    """Draws: u (n, d) with jitter inside discrete cells, present (n, d) which parameters a draw has, in_goal (n,)."""

    space: Space
    u: Array
    present: Mask
    in_goal: Mask


@dataclass(frozen=True)
class Subject:
    """What a goal is about: one target, or all objectives (`target` is None). `signs`: of all objectives."""

    signs: tuple[float, ...]
    target: Target | None

    @staticmethod
    def of(view: StudyView, goal: Goal, target: Target) -> Subject:
        signs = tuple(objective.sign for objective in view.objectives)
        return Subject(signs, None if goal.joint else target)

    @property
    def sign(self) -> Sign:
        """What turns values into losses: an entry for every objective if it is about all of them."""
        return np.array(self.signs) if self.target is None else self.target.sign

    def values(self, trials: Sequence[FrozenTrial]) -> Array:
        """(n,), or (n, k) of all objectives; NaN without a value.

        No goal of an objective is reached by a trial that must not be used, so that its values are NaN, too.
        """
        limits = constraints(trials)
        if self.target is not None and self.target.is_constraint:
            name = self.target.name
            known = name in limits.names
            return limits.values[:, limits.names.index(name)] if known else np.full(len(trials), math.nan)
        nothing = [math.nan] * len(self.signs)
        rows = [trial.values if trial.state == TrialState.COMPLETE else nothing for trial in trials]
        values = np.array(rows, dtype=float).reshape(len(trials), len(self.signs))
        values[~limits.feasible] = math.nan
        return values if self.target is None else values[:, self.target.column]


@contextmanager
def opened_for(
    study: Study, asker: str, goal: Goal | Callable[[float], bool] | None, objective: str | int | None
) -> Iterator[tuple[Beliefs, Target, Goal]]:
    """The beliefs about a study for one public call about a goal, its target (the first objective, if the goal is about
    whole trials), and the goal. With several objectives of which none is
    named, the goal must be about all of them or about failures, and the default is to be near their front."""
    several = len(study.directions) > 1 and objective is None
    checked = as_goal(goal, joint=several)
    if checked.joint and objective is not None:
        raise ValueError(
            printable(
                f"The goal ({checked.words}) is about all objectives, but got objective={objective!r}: leave it out, "
                "or use a goal of one objective, such as `pellucid.best()`."
            )
        )
    if checked.joint or (several and checked.failures):
        with one_thread:
            beliefs = beliefs_of(study)
            yield beliefs, beliefs.view.objectives[0], checked
    else:
        with opened(study, asker, objective) as (beliefs, target):
            yield beliefs, target, checked


def sample_of(
    trials: Sequence[FrozenTrial], goal: Goal, subject: Subject, source: Source = "random"
) -> tuple[Sample, list[str], bool]:
    """Trials with their goal, notes on them, and whether they are random draws as far as is known."""
    usable, notes, chosen = usable_trials(trials, goal, source)
    sample = _sample(usable, goal, subject)
    doubts = [] if chosen else _not_uniform(sample, goal)
    notes = [*notes, *doubts]
    share = float(sample.in_goal.mean())
    if goal.share is not None and goal.joint and share > _MANY_TIES * goal.share:
        ties = f"Many trials are on the front, or as near to it as others: {100 * share:.0f}% reach the goal."
        notes.append(Note(ties, "evidence"))
    elif goal.share is not None and share > _MANY_TIES * goal.share:
        ties = f"Many trials are equally good: {100 * share:.0f}% of them count as {goal.words}."
        notes.append(Note(ties, "evidence"))
    return sample, notes, not (chosen or doubts)


def usable_trials(
    trials: Sequence[FrozenTrial], goal: Goal, source: Source
) -> tuple[list[FrozenTrial], list[str], bool]:
    """The trials that count, notes on them, and whether an optimiser is known to have chosen some of them."""
    usable = [trial for trial in trials if trial.params and _counts(trial, goal)]
    drawn = [trial for trial in usable if _drawn_at_random(trial)]
    chosen = [trial for trial in usable if _drawn_at_random(trial) is False]
    notes: list[str] = []
    if source == "random" and chosen and len(drawn) >= _RANDOM_ENOUGH:
        basis = f"Based on {len(drawn)} trials that were drawn at random; {len(chosen)} others were proposed."
        notes.append(Note(basis, "sampling"))
        usable, chosen = drawn, []
    elif source != "surrogate" and chosen:
        text = f"An optimiser chose {len(chosen)} of the {len(usable)} trials: {_caveat(goal)}"
        notes.append(Note(text, "sampling"))
    if len(usable) < FEWEST:
        kind = "finished trials" if goal.failures else "trials with a value"
        raise NoAnswerYet(f"This answer needs at least {FEWEST} {kind}; this study has {len(usable)}.")
    return usable, notes, bool(chosen) and source != "surrogate"


def check_random(trials: Sequence[FrozenTrial], goal: Goal) -> None:
    """Raise NoAnswerYet if an optimiser chose most trials and too few were drawn at random. Failures are compared
    anyway: no model of the objective can say what makes trials fail."""
    usable = [trial for trial in trials if trial.params and _counts(trial, goal)]
    drawn = sum(_drawn_at_random(trial) is not False for trial in usable)
    chosen = len(usable) - drawn
    if not goal.failures and drawn < min(_RANDOM_ENOUGH, chosen):
        raise NoAnswerYet(
            f"HSIC needs trials that were drawn at random: this study has {drawn} of them and {chosen} that an "
            "optimiser chose. Ask `pellucid.importance` what matters, or use source='surrogate' (draws of a "
            "model) or source='all' (the optimiser's preferences count too)."
        )


def _counts(trial: FrozenTrial, goal: Goal) -> bool:
    if trial.state == TrialState.COMPLETE:
        return trial.values is not None and not any(map(math.isnan, trial.values))
    ended = trial.state in (TrialState.FAIL, TrialState.PRUNED) and not interrupted(trial)
    return goal.failures and ended


def _drawn_at_random(trial: FrozenTrial) -> bool | None:
    """By its receipt; None if there is none."""
    receipt = readable_receipt(trial)
    return None if receipt is None else not receipt.proposed


def encoded_trials(trials: Sequence[FrozenTrial]) -> tuple[Space, list[FrozenTrial], Array]:
    """The space of the newest trials, the trials that fit it, and their encoded configurations."""
    distributions: dict[str, BaseDistribution] = {}
    for trial in reversed(trials):
        for name, distribution in trial.distributions.items():
            distributions.setdefault(name, distribution)
    varying = {name: d for name, d in sorted(distributions.items()) if not d.single()}
    if not varying:
        raise NoAnswer("No parameter of this study varies, so none can matter.")
    flat = Space.of(varying)
    complete = [trial.params for trial in trials if trial.state == TrialState.COMPLETE]
    space = Space(flat.dimensions, infer_conditions(flat, complete) if complete else {})
    X, fits = space.encode([trial.params for trial in trials])
    kept = [trial for trial, fit in zip(trials, fits, strict=True) if fit]
    if len(kept) < FEWEST:
        raise NoAnswerYet(
            f"This answer needs at least {FEWEST} trials inside the present ranges; this study has {len(kept)} of "
            f"{len(trials)} there."
        )
    return space, kept, X[fits]


def _sample(trials: Sequence[FrozenTrial], goal: Goal, subject: Subject) -> Sample:
    space, kept, X = encoded_trials(trials)
    failures = np.array([t.state == TrialState.FAIL for t in kept], dtype=bool)
    present = np.array([[name in t.params for name in space.names] for t in kept])
    in_goal = _checked_goal(goal, np.asarray(goal.reached(subject.values(kept), failures, subject.sign), dtype=bool))
    return Sample(space, spread_over_cells(space, X, [t.number for t in kept]), present, in_goal)


def _checked_goal(goal: Goal, in_goal: Mask) -> Mask:
    reached = int(in_goal.sum())
    if reached == len(in_goal):
        raise NoAnswerYet(f"All {reached} trials reach the goal ({goal.words}), so there is nothing to compare.")
    if reached < _FEWEST_IN_GOAL:
        exact = goal.joint and goal.share is None
        more = " Run more trials." if goal.share is not None else ""
        advice = " `pellucid.on_the_front(0.1)` counts trials near the front, too." if exact else more
        raise NoAnswerYet(
            f"This answer needs at least {_FEWEST_IN_GOAL} trials that reach the goal ({goal.words}), but {reached} of "
            f"{len(in_goal)} reach it.{advice}"
        )
    return in_goal


def spread_over_cells(space: Space, X: Array, numbers: Sequence[int]) -> Array:
    """Discrete values as uniform draws from their cells; a trial gets the same draw every time."""
    out = X.copy()
    for j, dimension in enumerate(space.dimensions):
        if dimension.cells:
            low, high = dimension.cell(dimension.code(X[:, j]))
            jitter = stream(0, "cell", dimension.name).random(max(numbers) + 1)[list(numbers)]
            out[:, j] = low + jitter * (high - low)
    return np.asarray(out)


def _caveat(goal: Goal) -> str:
    """What to think of trials that an optimiser chose, and what to do about them."""
    instead = "add random trials to be sure" if goal.failures else "source='surrogate' asks a model instead"
    return f"the index then measures the optimiser's preferences, too; {instead}."


def _not_uniform(sample: Sample, goal: Goal) -> list[str]:
    """A note if the trials do not look like random draws (Kolmogorov-Smirnov, corrected for all parameters that every
    trial has)."""
    columns = np.flatnonzero(sample.present.all(axis=0))
    n = len(sample.u)
    grid = np.arange(1, n + 1) / n
    for j in columns:
        u = np.sort(sample.u[:, j])
        distance = max(float((grid - u).max()), float((u - grid + 1.0 / n).max()))
        if float(kolmogorov(np.sqrt(n) * distance)) * len(columns) < _NOT_UNIFORM:
            text = (
                f"The values of `{sample.space.names[j]}` do not look like random draws: an optimiser chose them, or "
                f"trials with other values failed. If an optimiser chose them, {_caveat(goal)}"
            )
            return [Note(text, "sampling")]
    return []
