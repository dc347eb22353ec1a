"""Search in two steps: random trials show what matters, a first step tunes that, a second step the rest.

Everything is read from the storage at every proposal: the step follows from the trial's number, what matters from the
random trials, and the result of the first step from its trials. The model has all parameters and all trials; a step
only says which parameters may move. So a study can be resumed, shared by workers and explained like any other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.answers.intervals import Cheap
from pellucid.answers.plan import TwoStepPlan
from pellucid.beliefs.feasibility import none_feasible
from pellucid.models import GaussianProcess
from pellucid.models.gp import check_template
from pellucid.numerics import is_whole_number, one_thread, stream
from pellucid.provenance import StartupReceipt
from pellucid.samplers.interface import IndependentSampling, ModelSampler, seed_or_random
from pellucid.samplers.two_step.steps import Goal, TwoSteps
from pellucid.search.acquisition.base import PointwiseAcquisition, check_settings
from pellucid.search.acquisition.bounds import DEFAULT_ACQUISITION
from pellucid.search.configuration import plain_params
from pellucid.search.maximising import Maximiser
from pellucid.search.proposals import ModelSearch
from pellucid.search.publishing import Proposal
from pellucid.space.encoding import Space
from pellucid.study.view import StudyView
from pellucid.words import NoAnswerYet, printable, unknown_parameter

_logger = logging.getLogger("pellucid")

# Random trials of which at least three are among the best tenth: with fewer nothing can be said about what matters.
_FEWEST_RANDOM = 21
# Trials with a value before a model is fitted.
_FEWEST_SEEN = 10


class TwoStepSampler(ModelSampler):
    """Random trials, then Bayesian optimisation of what matters, then of the rest.

    Args:
        n_random: trials that are drawn at random first; a hundred are few, and the source takes a thousand.
        n_step1: trials after them that tune the parameters that matter; all later ones tune the others.
        goal: "accuracy+speed" keeps the cheap values of the first step, "accuracy" tunes them in the second.
        cheap: which end of a numeric parameter's range makes a model cheap, such as {"n_units": "low"}. In the first
            step it is held at the cheapest value that costs nothing measurable. A name that the first trial does not
            have is logged at the second: it is misspelt, or exists only for some choices.
        acquisition: of the model in both steps, as for `BayesianSampler`. So are `surrogate`, `seed`,
            `independent_sampler`, `deterministic_objective`, `avoid_failures`, `warn_independent_sampling`,
            `conditions` and `ordinal`.
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
        _check(n_random, n_step1, goal, {} if cheap is None else cheap, acquisition)
        check_template(surrogate)
        seed = seed_or_random(seed)
        template = GaussianProcess(warp="auto") if surrogate is None else surrogate
        maximiser = Maximiser(
            acquisition=DEFAULT_ACQUISITION if acquisition is None else acquisition,
            policy=None,
            interleave=None,
            surrogate=template,
            deterministic=deterministic_objective or template.deterministic,
            avoid_failures=avoid_failures,
            seed=seed,
        )
        self._n_random = n_random
        self._cheap = dict(cheap or {})
        self._steps = TwoSteps(n_random, n_step1, goal, self._cheap)
        start = RandomDraws(n_random, seed, CheapNames(self._cheap))
        super().__init__(
            ModelSearch(start, maximiser, conditions, ordinal, self._steps.region),
            IndependentSampling(seed, independent_sampler, warn_independent_sampling),
        )

    def plan(self, study: Study) -> TwoStepPlan:
        """What the two steps do, according to the random trials so far. Raises ValueError if they do not show yet what
        matters."""
        view = StudyView.of(study, "TwoStepSampler.plan")
        with one_thread:
            return self._steps.plan_or_raise(view)

    def best_trial(self, study: Study) -> FrozenTrial:
        """The best feasible one among the trials of the two steps and the random trial they started from. With
        goal="accuracy+speed" these are the cheap ones; `study.best_trial` may be a random trial that is a
        little better and much more expensive."""
        view = StudyView.of(study, "TwoStepSampler.best_trial")
        with one_thread:
            plan = self._steps.plan(view)
        first = {plan.trial} if isinstance(plan, TwoStepPlan) else set()
        complete = [trial.number for trial in view.trials if trial.state == TrialState.COMPLETE]
        steps = [number for number in complete if number >= self._n_random or number in first]
        observed = view.observations_of(steps)
        if not any(number >= self._n_random for number in observed.numbers):
            raise NoAnswerYet(
                f"No trial of the two steps has finished with a value yet: they begin with trial {self._n_random}."
            )
        if not observed.feasible.any():
            raise NoAnswerYet(none_feasible(observed))
        usable = observed.of_feasible_trials
        return study.trials[usable.numbers[int(np.argmin(usable.losses))]]


def _check(n_random: int, n_step1: int, goal: object, cheap: object, acquisition: object) -> None:
    if not is_whole_number(n_random) or n_random < _FEWEST_RANDOM:
        raise ValueError(
            f"`n_random` must be a whole number of at least {_FEWEST_RANDOM} to say what matters, but got {n_random!r}."
        )
    if not is_whole_number(n_step1) or n_step1 < 1:
        raise ValueError(f"`n_step1` must be a whole number of at least 1, but got {n_step1!r}.")
    if goal not in get_args(Goal):
        raise ValueError(f"`goal` is one of {', '.join(map(repr, get_args(Goal)))}, but got {goal!r}.")
    if not isinstance(cheap, Mapping):
        raise TypeError(
            f"`cheap` says which end of a parameter's range is cheap, such as {{'n_units': 'low'}}, but got {cheap!r}."
        )
    for name, end in cheap.items():
        if end not in get_args(Cheap):
            raise ValueError(
                printable(f"`cheap` says 'low' or 'high' for each parameter, but got {end!r} for `{name}`.")
            )
    if acquisition is not None and not isinstance(acquisition, PointwiseAcquisition):
        raise TypeError(
            "`acquisition` must be an acquisition of mean and sd, such as pellucid.acquisition.EI(), but got "
            f"{acquisition!r}. Policies choose for the whole space, and a step searches only a part of it."
        )
    if acquisition is not None:
        check_settings(acquisition)


class CheapNames:
    """The parameters with a cheap end, as the user wrote them."""

    def __init__(self, cheap: Mapping[str, Cheap]) -> None:
        self._cheap, self._checked = cheap, False

    def check(self, view: StudyView) -> None:
        """Warn once, as soon as a trial has finished. The plan says the same, but only after the random trials."""
        known = view.distributions
        if self._checked or not known:
            return
        self._checked = True
        for name in self._cheap:
            if name not in known:
                _logger.warning(
                    "`cheap`: %s If it exists only for some choices, a later trial may have it; otherwise correct it.",
                    printable(unknown_parameter(name, known)),
                )
            elif isinstance(known[name], CategoricalDistribution):
                _logger.warning(
                    "`cheap`: `%s` is categorical, and only a number has a cheap end: leave it out.", printable(name)
                )


@dataclass(frozen=True)
class RandomDraws:
    """A start of independent random trials: what matters is judged from them."""

    n_trials: int
    seed: int
    cheap: CheapNames

    def ongoing(self, trial: FrozenTrial, n_observed: int) -> bool:
        return trial.number < self.n_trials or n_observed < _FEWEST_SEEN

    def propose(self, view: StudyView, trial: FrozenTrial, space: Space) -> Proposal:
        self.cheap.check(view)
        u = stream(self.seed, "random", trial.number).random((1, len(space)))
        params = space.decode(u, only_active=False)[0]
        words = f"It is one of the first {self.n_trials} trials, which say what matters."
        if trial.number >= self.n_trials:
            words = f"Fewer than {_FEWEST_SEEN} trials have a value yet."
        return params, StartupReceipt(trial.number, self.seed, plain_params(params), phase=words)
