"""The Bayesian sampler: stateless, with a receipt for every proposal.

Everything a proposal depends on is in the storage (trials and receipts) or in the constructor (seed, settings);
random numbers come from streams named by seed and trial number. So any number of workers can share a study, a worker
can die at any point, and a study resumed in another process goes on as if it had never stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.models import GaussianProcess
from pellucid.models.gp import check_template
from pellucid.numerics import Array, is_whole_number, low_discrepancy, stream
from pellucid.pareto import check_number
from pellucid.provenance import StartupReceipt
from pellucid.samplers.interface import IndependentSampling, ModelSampler, seed_or_random
from pellucid.search import branches, looks, others
from pellucid.search.acquisition.alternation import DEFAULT_POLICY, Alternation
from pellucid.search.acquisition.base import Acquisition, check_settings
from pellucid.search.acquisition.bounds import DEFAULT_ACQUISITION
from pellucid.search.acquisition.improvement import EI
from pellucid.search.acquisition.interleave import Interleave
from pellucid.search.acquisition.optimize import SEPARATION, Known, unseen
from pellucid.search.acquisition.policy import Policy
from pellucid.search.configuration import plain_params
from pellucid.search.maximising import Fitted, Maximiser, Region
from pellucid.search.proposals import ModelSearch
from pellucid.search.publishing import Proposal
from pellucid.search.rules import Predicate, Rule, checked
from pellucid.space.encoding import Space
from pellucid.study.trials import pending
from pellucid.study.view import StudyView
from pellucid.words import printable


class BayesianSampler(ModelSampler):
    """Bayesian optimisation with an exact Gaussian process, for mixed and conditional spaces.

    With two to four objectives, each has a process of its own, and a proposal maximises the volume that it is expected
    to add to what the front dominates (EHVI).

    Above 2,000 finished trials, the process is conditioned on 1,500 of them: the newest, the neighbours of the best,
    and others spread over the space. Receipts name them.

    Args:
        acquisition: for one objective, what is maximised, or a policy that chooses it anew for every proposal; default
            `pellucid.acquisition.Alternation()`: LCB(0.5) and LCB(2.0) in turns, and looks elsewhere once a search of
            one or two numeric parameters has settled. An error in one of your own ends the study.
        surrogate: a plain `GaussianProcess` whose kernel and warp are used; default `GaussianProcess(warp="auto")`, and
            `GaussianProcess()` for each of several objectives.
        interleave: spend some proposals on learning the effects of parameters (BOBAX), see `pellucid.Interleave`.
        n_startup_trials: finished trials before the model takes over; until then the space is covered evenly.
        seed: same seed, same trials, same proposals. None picks one at random.
        independent_sampler: samples parameters that the model does not know yet; default uniform.
        deterministic_objective: the same parameters always return the same value.
        avoid_failures: multiply the acquisition by the chance that a trial does not fail, learned from the trials that
            failed; from the second failure on.
        allowed: which configurations may be proposed: a function of the parameters that returns True or False, such as
            `lambda params: params["batch"] * params["length"] <= 4096`. Only the first trial is not asked about,
            because its parameters are not known before it runs. Constraints that only a trial can show need no
            argument: report them with `trial.set_constraint`.
        warn_independent_sampling: log when a parameter unknown to the model had to be sampled on its own.
        conditions: child -> (parent, values of the parent for which the child exists), if trials do not show it.
        ordinal: names of ordered categorical parameters; None treats sorted numeric choices as ordered.
    """

    def __init__(
        self,
        *,
        acquisition: Acquisition | Policy | None = None,
        surrogate: GaussianProcess | None = None,
        interleave: Interleave | None = None,
        n_startup_trials: int = 10,
        seed: int | None = None,
        independent_sampler: BaseSampler | None = None,
        deterministic_objective: bool = False,
        avoid_failures: bool = False,
        allowed: Callable[[dict[str, Any]], bool] | None = None,
        warn_independent_sampling: bool = True,
        conditions: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
        ordinal: Sequence[str] | None = None,
    ) -> None:
        if not is_whole_number(n_startup_trials) or n_startup_trials < 0:
            raise ValueError(f"`n_startup_trials` must be a whole number of at least 0, but got {n_startup_trials!r}.")
        checked(allowed)
        check_template(surrogate)
        chosen, policy = _acquisition_and_policy(acquisition, interleave)
        seed = seed_or_random(seed)
        template = GaussianProcess(warp="auto") if surrogate is None else surrogate
        maximiser = Maximiser(
            acquisition=chosen,
            policy=policy,
            interleave=interleave,
            surrogate=template,
            deterministic=deterministic_objective or template.deterministic,
            avoid_failures=avoid_failures,
            seed=seed,
            allowed=allowed,
        )
        # A search that the user has chosen proposes what it is meant to.
        regions = _choice_or_look if acquisition is None and interleave is None else branches.turn
        super().__init__(
            ModelSearch(
                Coverage(n_startup_trials, seed, allowed),
                maximiser,
                conditions,
                ordinal,
                regions,
                several=GaussianProcess() if surrogate is None else surrogate,
            ),
            IndependentSampling(seed, independent_sampler, warn_independent_sampling),
        )
        self._for_one = [name for name, given in (("acquisition", acquisition), ("interleave", interleave)) if given]

    def _view(self, study: Study) -> StudyView:
        if len(study.directions) == 1:
            return super()._view(study)
        view = StudyView.whole(study)
        check_number(len(view.objectives), "BayesianSampler works on", "Optuna's NSGAIIISampler works on more")
        if self._for_one:
            given = " and ".join(f"`{name}`" for name in self._for_one)
            raise ValueError(
                printable(
                    f"{given} can be chosen for studies with one objective, but this study has {len(view.objectives)}: "
                    "leave it out, and the expected gain of the front is maximised."
                )
            )
        return view


def _acquisition_and_policy(
    acquisition: Acquisition | Policy | None, interleave: Interleave | None
) -> tuple[Acquisition, Policy | None]:
    """The arguments, checked, with the defaults for those that were left out."""
    kinds = (Acquisition, Policy)
    if acquisition is not None and (isinstance(acquisition, type) or not isinstance(acquisition, kinds)):
        raise TypeError(
            "`acquisition` must be an acquisition or a policy such as pellucid.acquisition.EI() or "
            f"pellucid.acquisition.SAWEI(), but got {acquisition!r}."
        )
    if interleave is not None and not isinstance(interleave, Interleave):
        raise TypeError(f"`interleave` must be a pellucid.Interleave(...), but got {interleave!r}.")
    for part in acquisition.acquisitions if isinstance(acquisition, Alternation) else (acquisition,):
        if isinstance(part, Acquisition):
            check_settings(part)
    multiplies = interleave is not None and interleave.mode == "multiply"
    if multiplies and acquisition is not None and (isinstance(acquisition, Policy) or not acquisition.log_score):
        raise ValueError(
            "Interleave(mode='multiply') multiplies EI or PI (or any acquisition whose score is a logarithm), but the "
            f"acquisition is {acquisition!r}: use one of them, or another mode."
        )
    if isinstance(acquisition, Policy):
        return DEFAULT_ACQUISITION, acquisition
    if acquisition is not None:
        return acquisition, None
    return (EI(), None) if multiplies else (DEFAULT_ACQUISITION, DEFAULT_POLICY)


def _choice_or_look(view: StudyView, trial: FrozenTrial, fitted: Fitted) -> Region:
    region = branches.turn(view, trial, fitted)
    return region if region.turn else looks.turn(view, trial, fitted)


@dataclass(frozen=True)
class Coverage:
    """A start that covers the space evenly: a shifted low-discrepancy sequence, and every choice equally often."""

    n_trials: int
    seed: int
    allowed: Predicate | None = None

    def ongoing(self, trial: FrozenTrial, n_observed: int) -> bool:
        return n_observed < max(self.n_trials, 1)

    def propose(self, view: StudyView, trial: FrozenTrial, space: Space) -> Proposal:
        """Point `trial.number` of the sequence, or an unseen one if that is known already.

        Every parameter gets a value: which ones are conditional may not be known yet.
        """
        shift = stream(self.seed, "startup", *space.names).random(len(space))
        u = self._with_rarest_choices(low_discrepancy(trial.number, 1, shift), view, trial, space)
        if np.isfinite(space.size()):
            known = Known(space, others.known(space, view, trial.number), SEPARATION)
            if known.near(space.canonical(u)[0]):
                rng = stream(self.seed, "startup again", trial.number)
                fresh = unseen(space, known, rng)
                u = fresh[rng.integers(len(fresh), size=1)] if len(fresh) else u
        rule = Rule.of(self.allowed, view, space)
        if rule is not None and not rule(u).all():
            u = self._moved(rule, u, trial)
        params = space.decode(u, only_active=False)[0]
        return params, StartupReceipt(trial.number, self.seed, plain_params(params))

    def _moved(self, rule: Rule, u: Array, trial: FrozenTrial) -> Array:
        """The allowed configuration that is nearest to u (1, d)."""
        found = rule.found(u[:0], stream(self.seed, "allowed start", trial.number))
        return np.asarray(found[int(np.abs(found - u).max(axis=1).argmin())][None])

    def _with_rarest_choices(self, u: Array, view: StudyView, trial: FrozenTrial, space: Space) -> Array:
        """Encoded u (1, d) with the choice of each categorical parameter that the fewest trials have had."""
        finished = [other.params for other in view.trials if other.state.is_finished()]
        configurations = [*finished, *pending(view.trials, trial.number).values()]
        for j, dimension in enumerate(space.dimensions):
            if not dimension.nominal:
                continue
            had = [configuration[dimension.name] for configuration in configurations if dimension.name in configuration]
            encoded, known = dimension.encode(had)
            counts = np.bincount(dimension.code(encoded[known]), minlength=dimension.cells)
            # Ties are broken in an order of the seed's own, so that no choice is always the first.
            order = stream(self.seed, "order of choices", dimension.name).permutation(dimension.cells)
            rarest = order[int(np.argmin(counts[order]))]
            u[:, j] = dimension.midpoint(np.array([rarest]))
        return u
