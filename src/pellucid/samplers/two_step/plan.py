"""What a two-step search does after its random trials: tune what matters, hold the rest at cheap or good values.

The source chooses both by eye; here tests do. What is not tuned is held at the values of one trial, so that values
which only go together stay together: of the best trials, the cheapest one that is not so cheap that it costs something.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.explain.importance.analysis import importance_of
from pellucid.explain.importance.draws import Sample, sample_of
from pellucid.explain.intervals import Cheap, numeric_column, reduced
from pellucid.explain.text import value_text
from pellucid.goals import best
from pellucid.records import Held, IntervalReduction, TwoStepPlan
from pellucid.records.importance import SIGNIFICANCE as LEVEL
from pellucid.study import study_io
from pellucid.study.encoding import Dimension

_GOAL = best(0.1)
# A tenth of the trials is enough to see what matters, but far from the best: values are taken from fewer.
_BEST_SHARE, _FEWEST_BEST = 0.02, 10


@dataclass(frozen=True)
class _CheapEnd:
    """A parameter with a cheap end, the cheapest value that costs nothing measurable, and why, in words."""

    dimension: Dimension
    end: Cheap
    cut: float
    why: str

    def position(self, trial: FrozenTrial) -> float:
        """0 at the cheap end of the range, 1 at the other; infinite where being cheap costs something."""
        if self.dimension.name not in trial.params:
            return math.inf
        (u, first), inside = self.dimension.encode([trial.params[self.dimension.name], self.cut])
        if not inside.all() or (u < first if self.end == "low" else u > first):
            return math.inf
        return float(u if self.end == "low" else 1.0 - u)

    def held(self, value: float) -> Held:
        return Held(self.dimension.name, value, True, f"{value_text(value)}: {self.why}")


def two_step_plan(found: Sequence[FrozenTrial], loss_sign: float, cheap: Mapping[str, Cheap]) -> TwoStepPlan:
    """From trials that were drawn at random; ValueError where they say nothing."""
    sample, notes, _ = sample_of(found, _GOAL, loss_sign)
    importance = importance_of(sample, _GOAL, notes)
    ends, refused = _cheap_ends(sample, cheap)
    notes = [*notes, *refused]
    complete = [t for t in found if t.state == TrialState.COMPLETE and t.values and not math.isnan(t.values[0])]
    # Only trials inside the ranges as they are now have values that can be held.
    _, fits = sample.space.encode([t.params for t in complete])
    ranked = sorted(
        (t for t, fit in zip(complete, fits, strict=True) if fit), key=lambda t: (loss_sign * t.values[0], t.number)
    )
    good = ranked[: max(_FEWEST_BEST, math.ceil(_BEST_SHARE * len(ranked)))]
    model = min(good, key=lambda t: sum(one.position(t) for one in ends)) if ends else ranked[0]
    if ends and not math.isfinite(sum(one.position(model) for one in ends)):
        notes.append("None of the best trials is cheap in every respect, so what is cheap is tuned like the rest.")
        ends, model = [], ranked[0]
    held = {one.dimension.name: one.held(model.params[one.dimension.name]) for one in ends}
    tuned = _with_parents([name for name in importance.impactful if name not in held], sample, held)
    if not tuned:
        tuned = tuple(name for name in sample.space.names if name not in held)
        notes.append("No parameter can be said to matter, so step 1 tunes all that are not held.")
    for name in sample.space.names:
        if name not in held and name not in tuned:
            donor = next(trial for trial in (model, *ranked) if name in trial.params)
            which = f"trial {donor.number}"
            if donor is model and ends:
                which += f", the cheapest of the best {len(good)}"
            held[name] = Held(name, study_io.plain(donor.params[name]), False, f"as in {which}")
    return TwoStepPlan(tuned, tuple(held.values()), model.number, importance.n_trials, importance.n_goal, tuple(notes))


def _with_parents(names: Sequence[str], sample: Sample, held: Mapping[str, Held]) -> tuple[str, ...]:
    """What matters where it exists can only be tuned if what it exists by is tuned with it."""
    out: list[str] = []
    for name in names:
        chain = [name]
        while chain[-1] in sample.space.conditions:
            chain.append(sample.space.conditions[chain[-1]].parent)
        out += [one for one in chain if one not in held and one not in out]
    return tuple(out)


def _cheap_ends(sample: Sample, cheap: Mapping[str, Cheap]) -> tuple[list[_CheapEnd], list[str]]:
    """Those that can be cheap without a measurable loss, and what is wrong with the others that were named."""
    out, notes = [], []
    for name, end in cheap.items():
        try:
            column = numeric_column(sample, name)
        except ValueError as error:
            notes.append(str(error))
            continue
        reduction = reduced(sample, column, end, _GOAL)
        cut = _first_cut(reduction)
        if cut is None:
            notes.append(f"`{name}` is not held: {reduction.sentence}")
        else:
            dimension = sample.space.dimensions[column]
            out.append(_CheapEnd(dimension, end, reduction.cuts[cut], _effect(reduction, cut)))
    return out, notes


def _first_cut(reduction: IntervalReduction) -> int | None:
    """Where the parameter stops to matter, seen from its cheap end."""
    fine = np.array(reduction.p) > LEVEL
    if reduction.value is not None:
        fine[reduction.cuts.index(reduction.value)] = True
    return int(np.argmax(fine)) if fine.any() else None


def _effect(reduction: IntervalReduction, cut: int) -> str:
    """Why a parameter can be cheap from a cut on."""
    if reduction.p[cut] > LEVEL:
        what = "no measurable effect" if cut == 0 else f"none from {value_text(reduction.cuts[cut])} on"
        return f"{what} (p = {reduction.p[cut]:.2g})"
    there, all_left = 100 * reduction.rate[cut], 100 * reduction.base[cut]
    rates = f"{there:.0f} % of the trials there are good, {all_left:.0f} % of all from there on"
    return f"from {value_text(reduction.cuts[cut])} on no worse ({rates})"
