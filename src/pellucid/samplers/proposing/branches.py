"""Turns for choices: every choice of a model gets its chance before the search settles on one.

A model that has seen three trials of a choice is surer of it than it should be, so an acquisition polishes the first
good choice and forgets the others. Every second proposal therefore goes to a choice that has not had its chance yet,
searched on its own: the proposal must improve on the best trial with that choice, not on the best of all. The choices
with the fewest trials come first.

Notation
    n_b   trials that had choice b: finished, failed or running
    p_b   chance that b holds something better than the best trials, from joint draws of plausible models

Chosen on the design families of the laboratory's `choices` and the design problems of its `models`. Turns in the order
of p_b found hidden choices less often: what a choice could still be is what the model does not know yet. So p_b is only
said in the receipt. More turns found more hidden choices, but lost among real models, where choices show early what
they are worth. Choices without parameters of their own are only tried twice, because the others say something about
them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.acquisition.slices import Slice
from pellucid.explain.parts import Branch, best_rows, branches, drawn_models, inside_branch, joint_latent
from pellucid.explain.text import counted, value_text
from pellucid.samplers.proposing import others
from pellucid.samplers.proposing.maximising import Region
from pellucid.study import trials
from pellucid.study.arrays import Arrays
from pellucid.study.encoding import Space
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

# One proposal in this many is a turn.
_PERIOD = 2
# Candidates of a choice that its chance is judged by, and the best trials that they are compared with.
_N_CANDIDATES, _N_BEST = 16, 4
# Trials of a choice without parameters of its own.
_FEWEST = 2


def turn(view: StudyView, trial: FrozenTrial, data: Arrays, gp: GaussianProcess) -> Region:
    """The choice whose turn it is; the whole space if it is none's turn."""
    if trial.number % _PERIOD:
        return Region()
    waiting = _waiting(view, trial, data)
    if not waiting:
        return Region()
    known = others.known(data.space, view, trial.number)
    for branch in sorted(waiting, key=lambda branch: branch.n_trials):
        part = _part(data.space, branch)
        if not len(part.free) or part.exhausted(known):
            continue
        own = branch.holds(data.space, data.X, data.space.active(data.X))
        words = _words(data.space, branch, _chance(gp, data, branch))
        return Region(part, turn=words, own=own if own.any() else None)
    return Region()


def _waiting(view: StudyView, trial: FrozenTrial, data: Arrays) -> list[Branch]:
    """Choices that have not had their chance: without an order, or with parameters of their own."""
    dimensions = data.space.dimensions
    without_value = [
        *(failed.params for failed in trials.failed(view.trials)),
        *trials.pending(view.trials, trial.number).values(),
    ]
    out = []
    for branch in branches(data):
        dimension = dimensions[branch.column]
        had = [configuration[dimension.name] for configuration in without_value if dimension.name in configuration]
        u, known = dimension.encode(had)
        more = int((known & (dimension.code(u) == branch.code)).sum())
        if branch.n_trials + more < (branch.fair_chance if branch.n_own else _FEWEST if dimension.nominal else 0):
            out.append(replace(branch, n_trials=branch.n_trials + more))
    return out


def _chance(gp: GaussianProcess, data: Arrays, branch: Branch) -> float:
    """p_b."""
    best, inside = best_rows(gp, data, _N_BEST), inside_branch(gp, data, branch, _N_CANDIDATES)
    draws = joint_latent(drawn_models(gp, data), np.vstack([best, inside]))
    better = draws[:, len(best) :].min(axis=1) < draws[:, : len(best)].min(axis=1)
    return (float(better.sum()) + 1.0) / (len(draws) + 2.0)


def _part(space: Space, branch: Branch) -> Slice:
    """Everything with this choice, and with what it takes for its parameter to exist."""
    held = {space.names[branch.column]: _value(space, branch)}
    name = space.names[branch.column]
    while name in space.conditions:
        rule = space.conditions[name]
        name = rule.parent
        parent = space.dimensions[space.index[name]]
        inside = 0.5 * (rule.low + rule.high)
        held[name] = float(parent.midpoint(np.array(rule.codes[:1]))[0]) if rule.codes else inside
    return Slice.of(space, held)


def _value(space: Space, branch: Branch) -> float:
    """The choice, encoded."""
    return float(space.dimensions[branch.column].midpoint(np.array([branch.code]))[0])


def _words(space: Space, branch: Branch, chance: float) -> str:
    dimension = space.dimensions[branch.column]
    choice = value_text(dimension.decode(np.array([_value(space, branch)]))[0])
    tried = counted(branch.n_trials, "time")
    could = f"could still be best with probability {chance:.2g}"
    return f"It was the turn of `{dimension.name}` = {choice}: tried {tried}, and {could}."
