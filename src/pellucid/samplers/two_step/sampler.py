"""Search in two steps: random trials say what matters, a first step tunes that, a second one the rest.

Everything is read from the storage at every proposal: which phase it is from the trial's number, what matters from the
random trials, what the first step has found from its trials. The model is of all parameters and all trials; a step only
says which of them may move. So a study can be resumed, shared by workers and explained like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.acquisition.base import PointwiseAcquisition
from pellucid.acquisition.slices import Slice
from pellucid.explain.effects.words import value_text
from pellucid.explain.ranges import Cheap
from pellucid.numerics import one_thread, stream
from pellucid.records import Receipt, TwoStepPlan
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.proposing import others
from pellucid.samplers.proposing.decision import Part
from pellucid.samplers.two_step.plan import two_step_plan
from pellucid.study import study_io
from pellucid.study.arrays import Arrays
from pellucid.study.encoding import Space
from pellucid.surrogates import GaussianProcess

Goal = Literal["accuracy", "accuracy+speed"]
# Three trials among the best tenth, the fewest that say anything; and values before a model is worth having.
_FEWEST_RANDOM, _FEWEST_SEEN = 21, 10


class TwoStepSampler(BayesianSampler):
    """Random trials, then Bayesian optimisation of what matters, then of the rest.

    Args:
        n_random: trials that are drawn at random first; a hundred is little, a thousand is what the source takes.
        n_step1: trials after them that tune the parameters that matter; all later ones tune the others.
        goal: "accuracy+speed" keeps the cheap values of the first step, "accuracy" tunes them in the second.
        cheap: which end of a numeric parameter's range makes a model cheap, such as {"n_units": "low"}. In the first
            step it is held at the cheapest value that costs nothing measurable.
        acquisition, surrogate, seed, independent_sampler, deterministic_objective, avoid_failures,
        warn_independent_sampling, conditions, ordinal: of the model in both steps, as for `BayesianSampler`.
    """

    def __init__(
        self,
        *,
        n_random: int = 200,
        n_step1: int = 25,
        goal: Goal = "accuracy",
        cheap: Mapping[str, Cheap] | None = None,
        acquisition: PointwiseAcquisition | None = None,
        surrogate: GaussianProcess | None = None,
        seed: int | None = None,
        independent_sampler: BaseSampler | None = None,
        deterministic_objective: bool = False,
        avoid_failures: bool = False,
        warn_independent_sampling: bool = True,
        conditions: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
        ordinal: Sequence[str] | None = None,
    ) -> None:
        if n_random < _FEWEST_RANDOM:
            raise ValueError(f"`n_random` must be at least {_FEWEST_RANDOM} to say what matters, but got {n_random}.")
        if n_step1 < 1:
            raise ValueError(f"`n_step1` must be at least 1, but got {n_step1}.")
        if goal not in get_args(Goal):
            raise ValueError(f"`goal` is one of {', '.join(map(repr, get_args(Goal)))}, but got {goal!r}.")
        for name, end in (cheap or {}).items():
            if end not in get_args(Cheap):
                raise ValueError(f"`cheap` says 'low' or 'high' for each parameter, but got {end!r} for `{name}`.")
        if acquisition is not None and not isinstance(acquisition, PointwiseAcquisition):
            raise TypeError(
                "`acquisition` must be one such as pellucid.acquisition.EI(); policies choose theirs for the whole "
                f"space, which a step does not search. Got {acquisition!r}."
            )
        super().__init__(
            acquisition=acquisition,
            surrogate=surrogate,
            n_startup_trials=n_random,
            seed=seed,
            independent_sampler=independent_sampler,
            deterministic_objective=deterministic_objective,
            avoid_failures=avoid_failures,
            warn_independent_sampling=warn_independent_sampling,
            conditions=conditions,
            ordinal=ordinal,
        )
        self._n_random, self._n_step1 = n_random, n_step1
        self._goal, self._cheap = goal, dict(cheap or {})
        self._planned: tuple[Any, TwoStepPlan | str] | None = None

    def plan(self, study: Study) -> TwoStepPlan:
        """What the two steps do, as the random trials have it now; ValueError while they say nothing."""
        study_io.require_single_objective(study, "TwoStepSampler.plan")
        with one_thread:
            plan = self._plan(study_io.trials(study), study_io.sign(study))
        if isinstance(plan, str):
            raise ValueError(plan)
        return plan

    def best_trial(self, study: Study) -> FrozenTrial:
        """The best trial of the two steps, and of the one they began with. With goal="accuracy+speed" these are the
        cheap ones; `study.best_trial` may be a random trial that is a little better and much dearer."""
        study_io.require_single_objective(study, "TwoStepSampler.best_trial")
        with one_thread:
            plan = self._plan(study_io.trials(study), study_io.sign(study))
        steps = [
            t
            for t in study_io.trials(study)
            if t.state == TrialState.COMPLETE
            and (t.number >= self._n_random or (isinstance(plan, TwoStepPlan) and t.number == plan.trial))
        ]
        seen = study_io.observations(steps, study_io.sign(study))
        if not any(number >= self._n_random for number in seen.numbers):
            raise ValueError(
                f"No trial of the two steps has finished with a value yet: they begin with trial {self._n_random}."
            )
        return study.trials[seen.numbers[int(np.argmin(seen.losses))]]

    # ------------------------------------------------------------------ what the Bayesian sampler asks

    def _still_covering(self, trial: FrozenTrial, n_seen: int) -> bool:
        return trial.number < self._n_random or n_seen < _FEWEST_SEEN

    def _cover_the_space(
        self, trial: FrozenTrial, space: Space, found: Sequence[FrozenTrial]
    ) -> tuple[dict[str, Any], Receipt]:
        """At random: what matters is told from independent draws."""
        u = stream(self._seed, "random", trial.number).random((1, len(space)))
        params = space.decode(u, only_active=False)[0]
        words = f"It is one of the first {self._n_random} trials, which say what matters."
        if trial.number >= self._n_random:
            words = f"Fewer than {_FEWEST_SEEN} trials have a value yet."
        return params, Receipt(trial.number, "startup", self._seed, others.plain(params), phase=words)

    def _part(
        self, study: Study, trial: FrozenTrial, data: Arrays, gp: GaussianProcess, found: Sequence[FrozenTrial]
    ) -> Part:
        plan = self._plan(found, study_io.sign(study))
        if isinstance(plan, str):
            return Part(None, f"All parameters are tuned, because the random trials do not say what matters: {plan}")
        known = others.known(data.space, found, trial.number)
        if trial.number < self._n_random + self._n_step1:
            part = _part(data.space, {one.name: one.value for one in plan.held}, str(plan))
            if part.slice is not None and not part.slice.exhausted(known):
                return part
        part = self._second(plan, data, gp)
        if part.slice is not None and part.slice.exhausted(known):
            return Part(None, "All parameters are tuned, because everything else has been tried.")
        return part

    # ------------------------------------------------------------------ the steps

    def _plan(self, found: Sequence[FrozenTrial], loss_sign: float) -> TwoStepPlan | str:
        """The plan, or why there is none. Kept while the random trials stay as they are: it takes a second."""
        random = [t for t in found if t.number < self._n_random and t.state.is_finished()]
        key = (loss_sign, [(t.number, t.state, t.values, t.params, t.distributions) for t in random])
        kept = self._planned
        if kept is not None and kept[0] == key:
            return kept[1]
        try:
            plan: TwoStepPlan | str = two_step_plan(random, loss_sign, self._cheap)
        except ValueError as error:
            plan = str(error)
        self._planned = (key, plan)
        return plan

    def _second(self, plan: TwoStepPlan, data: Arrays, gp: GaussianProcess) -> Part:
        """Everything else, at the values that the first step found for what matters."""
        numbers = np.array(data.observations.numbers)
        first = (numbers >= self._n_random) & (numbers < self._n_random + self._n_step1) | (numbers == plan.trial)
        expected = gp.latent_at_observed()
        # Where none of them is left, after ranges were changed, the best of all.
        best = int(np.argmin(np.where(first, expected, np.inf) if first.any() else expected))
        found = data.observations.configurations[best]
        kept = {one.name: one.value for one in plan.held if one.cheap and self._goal == "accuracy+speed"}
        settled = {name: found[name] for name in plan.tuned if name in found}
        free = Slice.of(data.space, _encoded(data.space, {**settled, **kept})).free.names
        if not free:
            settled = {}
            free = Slice.of(data.space, _encoded(data.space, kept)).free.names
        words = [f"Step 2 tunes {', '.join(f'`{name}`' for name in free or data.space.names)}"]
        if settled:
            listed = ", ".join(f"`{name}` = {value_text(value)}" for name, value in settled.items())
            words.append(f"{listed} from trial {int(numbers[best])}")
        words += [f"`{name}` stays at {value_text(value)}" for name, value in kept.items()]
        return _part(data.space, {**settled, **kept}, f"{'; '.join(words)}.")


def _part(space: Space, held: Mapping[str, Any], words: str) -> Part:
    """The space with these values held; all of it where nothing would be left to search."""
    encoded = _encoded(space, held)
    moved = [f"`{name}`" for name in held if name in space.index and name not in encoded]
    if moved:
        words = f"{words} Tuned as well, because their ranges have changed: {', '.join(moved)}."
    part = Slice.of(space, encoded)
    if not len(part.free):
        return Part(None, f"{words} As nothing of that is left to tune, all parameters are tuned.")
    return Part(part, words, {name: held[name] for name in encoded if isinstance(held[name], float)})


def _encoded(space: Space, held: Mapping[str, Any]) -> dict[str, float]:
    """Without those that a range which was changed meanwhile no longer has: they are tuned where they are now."""
    out = {}
    for name, value in held.items():
        if name in space.index:
            u, inside = space.dimensions[space.index[name]].encode([value])
            if inside[0]:
                out[name] = float(u[0])
    return out
