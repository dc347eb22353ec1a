"""The plan of a two-step search after its random trials: tune what matters, hold the rest at cheap or good values.

The source chooses both by eye; here statistical tests do. Parameters that are not tuned are held at the values of one
trial, so that values which only work together stay together: the cheapest of the best trials whose cheap values cost
nothing measurable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers.importance.analysis import importance_of
from pellucid.answers.importance.draws import Sample, Subject, sample_of
from pellucid.answers.intervals import Cheap, numeric_column, reduced
from pellucid.answers.plan import HeldParameter, TwoStepPlan
from pellucid.answers.ranges.records import IntervalReduction
from pellucid.claims import SIGNIFICANCE as LEVEL
from pellucid.space.encoding import Dimension
from pellucid.space.values import plain
from pellucid.study.goals import best
from pellucid.study.targets import Target
from pellucid.words import Note, value_text

# What matters is judged by the best tenth of the trials: fewer say too little.
_GOAL = best(0.1)
# Values are held as in one of the best trials. A tenth of all trials would reach too far from the best, so fewer count.
_BEST_SHARE, _FEWEST_BEST = 0.02, 10


@dataclass(frozen=True)
class _CheapEnd:
    """A parameter with a cheap end, the cheapest value that costs nothing measurable, and the reason in words."""

    dimension: Dimension
    end: Cheap
    cut: float
    reason: str

    def position(self, trial: FrozenTrial) -> float:
        """0 at the cheap end of the range, 1 at the other end; infinite if the value costs something or is missing."""
        if self.dimension.name not in trial.params:
            return math.inf
        (u, first), inside = self.dimension.encode([trial.params[self.dimension.name], self.cut])
        if not inside.all() or (u < first if self.end == "low" else u > first):
            return math.inf
        return float(u if self.end == "low" else 1.0 - u)

    def held(self, value: float) -> HeldParameter:
        return HeldParameter(self.dimension.name, value, True, f"{value_text(value)}: {self.reason}")


def two_step_plan(trials: Sequence[FrozenTrial], objective: Target, cheap: Mapping[str, Cheap]) -> TwoStepPlan:
    """The plan from random trials. Raises ValueError if they do not say what matters."""
    sample, notes, _ = sample_of(trials, _GOAL, Subject((objective.sign,), objective))
    importance = importance_of(sample, _GOAL, notes)
    ends, refused = _cheap_ends(sample, cheap)
    notes = [*notes, *refused]
    ranked = _ranked(trials, sample, objective.sign)
    good = ranked[: max(_FEWEST_BEST, math.ceil(_BEST_SHARE * len(ranked)))]
    model = min(good, key=lambda trial: _cost(ends, trial)) if ends else ranked[0]
    if ends and not math.isfinite(_cost(ends, model)):
        none = "None of the best trials is cheap in all parameters of `cheap`, so these are tuned like the rest."
        notes.append(Note(none, "scope"))
        ends, model = [], ranked[0]
    held = {end.dimension.name: end.held(model.params[end.dimension.name]) for end in ends}
    tuned = _with_parents([name for name in importance.impactful if name not in held], sample, held)
    if not tuned:
        tuned = tuple(name for name in sample.space.names if name not in held)
        notes.append(Note("No parameter is known to matter, so step 1 tunes all that are not held.", "evidence"))
    for name in sample.space.names:
        if name not in held and name not in tuned:
            donor = next(trial for trial in (model, *ranked) if name in trial.params)
            which = f"trial {donor.number}"
            if donor is model and ends:
                which += f", the cheapest of the best {len(good)}"
            held[name] = HeldParameter(name, plain(donor.params[name]), False, f"as in {which}")
    return TwoStepPlan(tuned, tuple(held.values()), model.number, importance.n_trials, importance.n_goal, tuple(notes))


def _ranked(trials: Sequence[FrozenTrial], sample: Sample, sign: float) -> list[FrozenTrial]:
    """Complete trials, best first. Only those inside the present ranges have values that can be held."""
    complete = [t for t in trials if t.state == TrialState.COMPLETE and t.values and not math.isnan(t.values[0])]
    _, fits = sample.space.encode([trial.params for trial in complete])
    inside = [trial for trial, fit in zip(complete, fits, strict=True) if fit]
    return sorted(inside, key=lambda trial: (sign * trial.values[0], trial.number))


def _cost(ends: Sequence[_CheapEnd], trial: FrozenTrial) -> float:
    return sum(end.position(trial) for end in ends)


def _with_parents(names: Sequence[str], sample: Sample, held: Mapping[str, HeldParameter]) -> tuple[str, ...]:
    """The names with their parents: a conditional parameter can only be tuned together with what switches it on."""
    out: list[str] = []
    for name in names:
        chain = [name]
        while chain[-1] in sample.space.conditions:
            chain.append(sample.space.conditions[chain[-1]].parent)
        out += [link for link in chain if link not in held and link not in out]
    return tuple(out)


def _cheap_ends(sample: Sample, cheap: Mapping[str, Cheap]) -> tuple[list[_CheapEnd], list[str]]:
    """The ends that can be cheap without a measurable loss, and notes on the other names in `cheap`."""
    out: list[_CheapEnd] = []
    notes: list[str] = []
    for name, end in cheap.items():
        try:
            column = numeric_column(sample, name)
        except ValueError as error:
            notes.append(Note(str(error), "scope"))
            continue
        reduction = reduced(sample, column, end, _GOAL)
        cut = _first_cut(reduction)
        if cut is None:
            notes.append(Note(f"`{name}` is not held: {reduction.sentence}", "evidence"))
        else:
            dimension = sample.space.dimensions[column]
            out.append(_CheapEnd(dimension, end, reduction.cuts[cut], _effect(reduction, cut)))
    return out, notes


def _first_cut(reduction: IntervalReduction) -> int | None:
    """The first cut from which on the parameter has no measurable effect, seen from its cheap end."""
    fine = np.array(reduction.p) > LEVEL
    if reduction.value is not None:
        fine[reduction.cuts.index(reduction.value)] = True
    return int(np.argmax(fine)) if fine.any() else None


def _effect(reduction: IntervalReduction, cut: int) -> str:
    """The reason why a parameter can be cheap from a cut on."""
    if reduction.p[cut] > LEVEL:
        what = "no measurable effect" if cut == 0 else f"no measurable effect from {value_text(reduction.cuts[cut])} on"
        return f"{what} (p = {reduction.p[cut]:.2g})"
    there, all_left = 100 * reduction.rate[cut], 100 * reduction.base[cut]
    rates = f"{there:.0f}% of the trials there are good, {all_left:.0f}% of all from there on"
    return f"from {value_text(reduction.cuts[cut])} on no worse ({rates})"
