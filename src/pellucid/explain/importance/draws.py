"""Which trials an analysis of importance may speak of, as draws: encoded, spread over cells, with their goal.

The index of importance compares distributions, so it speaks of trials that were drawn at random. Receipts say which
were; where there are none, values that do not look like draws are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState
from scipy.special import kolmogorov

from pellucid.goals import Goal
from pellucid.numerics import Array, stream
from pellucid.records import RecordError
from pellucid.study import study_io
from pellucid.study.activity import infer_conditions
from pellucid.study.encoding import Space

Source = Literal["random", "all", "surrogate"]
Mask = npt.NDArray[np.bool_]
FEWEST, _FEWEST_IN_GOAL = 10, 3
_MANY_TIES = 1.5
_NOT_UNIFORM = 1e-3
_RANDOM_ENOUGH = 30


@dataclass(frozen=True)
class Sample:
    """Draws: u (n, d) with jitter inside discrete cells, present (n, d) which parameters a draw has, in_goal (n,)."""

    space: Space
    u: Array
    present: Mask
    in_goal: Mask


def sample_of(
    trials: Sequence[FrozenTrial], goal: Goal, loss_sign: float, source: Source = "random"
) -> tuple[Sample, list[str], bool]:
    """Trials with their goal, what there is to say about them, and whether they are draws as far as one can tell."""
    found, notes, chosen = trials_that_count(trials, goal, source)
    sample = _sample(found, goal, loss_sign)
    doubts = [] if chosen else _not_uniform(sample)
    notes = [*notes, *doubts]
    share = float(sample.in_goal.mean())
    if goal.share is not None and share > _MANY_TIES * goal.share:
        notes.append(f"Many trials are equally good: {100 * share:.0f} % of them count as {goal.words}.")
    return sample, notes, not (chosen or doubts)


def trials_that_count(
    trials: Sequence[FrozenTrial], goal: Goal, source: Source
) -> tuple[list[FrozenTrial], list[str], bool]:
    """The trials that count, what there is to say about them, and whether an optimiser is known to have chosen some."""
    found = [trial for trial in trials if trial.params and _counts(trial, goal)]
    drawn = [trial for trial in found if _drawn_at_random(trial)]
    chosen = [trial for trial in found if _drawn_at_random(trial) is False]
    notes: list[str] = []
    if source == "random" and chosen and len(drawn) >= _RANDOM_ENOUGH:
        notes.append(f"Told from {len(drawn)} trials that were drawn at random; {len(chosen)} others were proposed.")
        found, chosen = drawn, []
    elif source != "surrogate" and chosen:
        notes.append(f"An optimiser has chosen {len(chosen)} of the {len(found)} trials: {_CAVEAT}")
    if len(found) < FEWEST:
        raise ValueError(f"Comparing trials needs at least {FEWEST} trials that count; this study has {len(found)}.")
    return found, notes, bool(chosen) and source != "surrogate"


_CAVEAT = "what an optimiser preferred looks important. source='surrogate' asks a model instead."


def _counts(trial: FrozenTrial, goal: Goal) -> bool:
    if trial.state == TrialState.COMPLETE:
        return trial.values is not None and not np.isnan(trial.values[0])
    ended = trial.state in (TrialState.FAIL, TrialState.PRUNED) and not study_io.interrupted(trial)
    return goal.failures and ended


def _drawn_at_random(trial: FrozenTrial) -> bool | None:
    """By the receipt; None when there is none."""
    try:
        receipt = study_io.read_receipt(trial)
    except RecordError:
        return None
    return None if receipt is None else receipt.kind not in ("model", "ranking")


def in_a_step(trial: FrozenTrial) -> bool:
    """Whether some of its parameters were held, in a search in steps."""
    try:
        receipt = study_io.read_receipt(trial)
    except RecordError:
        return False
    return receipt is not None and receipt.kind == "model" and bool(receipt.phase)


def encoded_trials(found: Sequence[FrozenTrial]) -> tuple[Space, list[FrozenTrial], Array]:
    """The space as the newest trials had it, the trials that fit it, and their encoded configurations."""
    distributions: dict[str, BaseDistribution] = {}
    for trial in reversed(found):
        for name, distribution in trial.distributions.items():
            distributions.setdefault(name, distribution)
    varying = {name: d for name, d in sorted(distributions.items()) if not d.single()}
    if not varying:
        raise ValueError("No parameter of this study varies, so none can matter.")
    flat = Space.of(varying)
    complete = [t.params for t in found if t.state == TrialState.COMPLETE]
    space = Space(flat.dimensions, infer_conditions(flat, complete) if complete else {})
    X, fits = space.encode([trial.params for trial in found])
    kept = [trial for trial, fit in zip(found, fits, strict=True) if fit]
    if len(kept) < FEWEST:
        raise ValueError(
            f"Comparing trials needs at least {FEWEST} trials inside the present ranges; this study has {len(kept)} of "
            f"{len(found)} there."
        )
    return space, kept, X[fits]


def _sample(found: Sequence[FrozenTrial], goal: Goal, loss_sign: float) -> Sample:
    space, kept, X = encoded_trials(found)
    values = np.array([t.values[0] if t.state == TrialState.COMPLETE else np.nan for t in kept], dtype=float)
    failures = np.array([t.state == TrialState.FAIL for t in kept], dtype=bool)
    present = np.array([[name in t.params for name in space.names] for t in kept])
    in_goal = _checked_goal(goal, np.asarray(goal.reached(values, failures, loss_sign), dtype=bool))
    return Sample(space, spread_over_cells(space, X, [t.number for t in kept]), present, in_goal)


def _checked_goal(goal: Goal, in_goal: Mask) -> Mask:
    reached = int(in_goal.sum())
    if not _FEWEST_IN_GOAL <= reached < len(in_goal):
        raise ValueError(
            f"The goal ({goal.words}) must be reached by at least {_FEWEST_IN_GOAL} trials and not by all, but "
            f"{reached} of {len(in_goal)} reach it."
        )
    return in_goal


def spread_over_cells(space: Space, X: Array, numbers: Sequence[int]) -> Array:
    """Discrete values as uniform draws from their cells (the same ones whenever a trial is looked at)."""
    out = X.copy()
    for j, dimension in enumerate(space.dimensions):
        if dimension.cells:
            low, high = dimension.cell(dimension.code(X[:, j]))
            jitter = stream(0, "cell", dimension.name).random(max(numbers) + 1)[list(numbers)]
            out[:, j] = low + jitter * (high - low)
    return np.asarray(out)


def _not_uniform(sample: Sample) -> list[str]:
    """Whether the trials look like random draws at all (Kolmogorov-Smirnov, corrected for all parameters that every
    trial has)."""
    columns = np.flatnonzero(sample.present.all(axis=0))
    n = len(sample.u)
    grid = np.arange(1, n + 1) / n
    for j in columns:
        u = np.sort(sample.u[:, j])
        distance = max(float((grid - u).max()), float((u - grid + 1.0 / n).max()))
        if float(kolmogorov(np.sqrt(n) * distance)) * len(columns) < _NOT_UNIFORM:
            return [
                f"The values of `{sample.space.names[j]}` do not look like random draws: an optimiser has chosen them, "
                f"or trials with others have failed. What was not drawn cannot look important, and {_CAVEAT}"
            ]
    return []
