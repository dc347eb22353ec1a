"""The two steps: what each of them tunes, given the plan and the trials of the first step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.answers.finding import NotKnown, attempt
from pellucid.answers.intervals import Cheap
from pellucid.answers.plan import TwoStepPlan
from pellucid.models import GaussianProcess
from pellucid.samplers.two_step.plan import two_step_plan
from pellucid.search import others
from pellucid.search.acquisition.slices import Slice
from pellucid.search.maximising import Fitted, Region
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView
from pellucid.words import value_text

Goal = Literal["accuracy", "accuracy+speed"]


class TwoSteps:
    """The region of every proposal after the random trials."""

    def __init__(self, n_random: int, n_step1: int, goal: Goal, cheap: Mapping[str, Cheap]) -> None:
        self._n_random, self._n_step1 = n_random, n_step1
        self._goal, self._cheap = goal, dict(cheap)
        # A cache: the last plan, and what it was computed from.
        self._planned: tuple[Any, TwoStepPlan | NotKnown] | None = None

    def plan(self, view: StudyView) -> TwoStepPlan | NotKnown:
        """The plan, or why there is none. It is cached while the random trials stay the same, to save a second."""
        random = self._random(view)
        key = (view.objective.sign, [(t.number, t.state, t.values, t.params, t.distributions) for t in random])
        if self._planned is None or self._planned[0] != key:
            self._planned = (key, attempt(lambda: two_step_plan(random, view.objective, self._cheap)))
        return self._planned[1]

    def plan_or_raise(self, view: StudyView) -> TwoStepPlan:
        """The plan. Raises Unanswered if there is none, and any other error as it is."""
        plan = self.plan(view)
        return two_step_plan(self._random(view), view.objective, self._cheap) if isinstance(plan, NotKnown) else plan

    def _random(self, view: StudyView) -> list[FrozenTrial]:
        """The random trials that have ended."""
        return [trial for trial in view.trials if trial.number < self._n_random and trial.state.is_finished()]

    def region(self, view: StudyView, trial: FrozenTrial, fitted: Fitted) -> Region:
        data, gp = fitted.data, fitted.gp
        plan = self.plan(view)
        if isinstance(plan, NotKnown):
            words = f"All parameters are tuned, because the random trials do not say what matters: {plan}"
            return Region(words=words)
        known = others.known(data.space, view, trial.number)
        if trial.number < self._n_random + self._n_step1:
            first = _region(data.space, {held.name: held.value for held in plan.held}, str(plan), 1)
            if first.slice is not None and not first.slice.exhausted(known):
                return first
        second = self._second(plan, data, gp)
        if second.slice is not None and second.slice.exhausted(known):
            return Region(words="All parameters are tuned, because everything else has been tried.")
        return second

    def _second(self, plan: TwoStepPlan, data: Arrays, gp: GaussianProcess) -> Region:
        """Everything else, at the values that the first step found for what matters."""
        numbers = np.array(data.observations.numbers)
        first = (numbers >= self._n_random) & (numbers < self._n_random + self._n_step1) | (numbers == plan.trial)
        expected = data.standing(gp.latent_at_observed())
        # If none of them is inside the present ranges, the best of all.
        best = int(np.argmin(np.where(first, expected, np.inf) if first.any() else expected))
        configuration = data.observations.configurations[best]
        kept = {held.name: held.value for held in plan.held if held.cheap and self._goal == "accuracy+speed"}
        settled = {name: configuration[name] for name in plan.tuned if name in configuration}
        free = Slice.of(data.space, _encoded(data.space, {**settled, **kept})).free.names
        if not free:
            settled = {}
            free = Slice.of(data.space, _encoded(data.space, kept)).free.names
        words = [f"Step 2 tunes {', '.join(f'`{name}`' for name in free or data.space.names)}"]
        if settled:
            listed = ", ".join(f"`{name}` = {value_text(value)}" for name, value in settled.items())
            words.append(f"{listed} from trial {int(numbers[best])}")
        words += [f"`{name}` stays at {value_text(value)}" for name, value in kept.items()]
        return _region(data.space, {**settled, **kept}, f"{'; '.join(words)}.", 2)


def _region(space: Space, held: Mapping[str, Any], words: str, step: int) -> Region:
    """The space with these values held; all of it if nothing would be left to tune."""
    encoded = _encoded(space, held)
    moved = [f"`{name}`" for name in held if name in space.index and name not in encoded]
    if moved:
        words = f"{words} Tuned as well, because their ranges have changed: {', '.join(moved)}."
    part = Slice.of(space, encoded)
    if not len(part.free):
        return Region(words=f"{words} That leaves nothing to tune, so all parameters are tuned.", step=step)
    return Region(part, words, step, held={name: held[name] for name in encoded if isinstance(held[name], float)})


def _encoded(space: Space, held: Mapping[str, Any]) -> dict[str, float]:
    """Encoded values. Those outside a range that has changed are left out, so these parameters are tuned."""
    out = {}
    for name, value in held.items():
        if name in space.index:
            u, inside = space.dimensions[space.index[name]].encode([value])
            if inside[0]:
                out[name] = float(u[0])
    return out
