"""The Bayesian sampler: stateless, with a receipt for every proposal.

Everything a proposal depends on is in the storage (trials and receipts) or in the constructor (seed, settings);
random numbers come from streams named by seed and trial number. So any number of workers can share a study, a worker
can die at any point, and a study resumed in another process goes on as if it had never stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.acquisition.adaptive import Moment, Policy, upper_bound_regret
from pellucid.acquisition.base import Acquisition, AcquisitionFunction, Scored, Situation
from pellucid.acquisition.bounds import LCB
from pellucid.acquisition.feasible import FEWEST_FAILURES, Chance
from pellucid.acquisition.improvement import EI
from pellucid.acquisition.interleave import Interleave, Multiplied
from pellucid.acquisition.optimize import SEPARATION, Known, propose, screen, unseen
from pellucid.numerics import Array, compress_integers, low_discrepancy, one_thread, stream
from pellucid.records import PolicyState, Receipt
from pellucid.samplers.proposing import others
from pellucid.samplers.proposing.decision import Choice, Lesson, Part
from pellucid.samplers.proposing.learning import fit, pack
from pellucid.samplers.proposing.publishing import publish
from pellucid.study import study_io
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.encoding import Dimension, Space, is_ordered
from pellucid.surrogates import GaussianProcess

_logger = logging.getLogger("pellucid")
_N_INCUMBENTS = 5
_STAGNATION_WINDOW = 6
_STAGNATION_GAIN = 0.01
_STAGNATION_SEPARATION = 1e-2


class BayesianSampler(BaseSampler):
    """Bayesian optimisation with an exact Gaussian process, for mixed and conditional spaces.

    Args:
        acquisition: what is maximised, or a policy that chooses it anew for every proposal; default
            `pellucid.acquisition.LCB(2.0)`, which won the comparison of schedules in `benchmarks/sawei`.
        surrogate: a `GaussianProcess` whose kernel and warp are used; default `GaussianProcess(warp="auto")`.
        interleave: spend some proposals on learning the effects of parameters (BOBAX), see `pellucid.Interleave`.
        n_startup_trials: finished trials before the model takes over; until then the space is covered evenly.
        seed: same seed, same trials, same proposals. None picks one at random.
        independent_sampler: samples parameters that the model does not know yet; default uniform.
        deterministic_objective: the same parameters always return the same value.
        avoid_failures: multiply the acquisition by the chance that a trial goes well, learned from the trials that
            failed; from the second failure on.
        warn_independent_sampling: log when a parameter unknown to the model had to be sampled on its own.
        conditions: child -> (parent, values of it for which the child exists), where it cannot be inferred.
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
        warn_independent_sampling: bool = True,
        conditions: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
        ordinal: Sequence[str] | None = None,
    ) -> None:
        if n_startup_trials < 0:
            raise ValueError(f"`n_startup_trials` must be at least 0, but got {n_startup_trials}.")
        kinds = (Acquisition, Policy)
        if acquisition is not None and (isinstance(acquisition, type) or not isinstance(acquisition, kinds)):
            raise TypeError(
                "`acquisition` must be an acquisition or a policy such as pellucid.acquisition.EI() or "
                f"pellucid.acquisition.SAWEI(), but got {acquisition!r}."
            )
        if interleave is not None and not isinstance(interleave, Interleave):
            raise TypeError(f"`interleave` must be a pellucid.Interleave(...), but got {interleave!r}.")
        multiplies = interleave is not None and interleave.mode == "multiply"
        if multiplies and acquisition is not None and (isinstance(acquisition, Policy) or not acquisition.log_score):
            raise ValueError(
                "Interleave(mode='multiply') multiplies EI or PI (or any acquisition whose score is a logarithm), but "
                f"the acquisition is {acquisition!r}: use one of them, or another mode."
            )
        self._policy = acquisition if isinstance(acquisition, Policy) else None
        self._acquisition: Acquisition = EI() if multiplies else LCB(2.0)
        if acquisition is not None and not isinstance(acquisition, Policy):
            self._acquisition = acquisition
        self._interleave = interleave
        self._surrogate = GaussianProcess(warp="auto") if surrogate is None else surrogate
        self._n_startup_trials = n_startup_trials
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        self._independent_sampler = independent_sampler
        self._deterministic = deterministic_objective or self._surrogate.deterministic
        self._avoid_failures = avoid_failures
        self._warn_independent_sampling = warn_independent_sampling
        self._conditions = dict(conditions or {})
        self._ordinal = None if ordinal is None else tuple(ordinal)
        self._warned_of_names = False

    # ------------------------------------------------------------------ Optuna's interface

    def reseed_rng(self) -> None:
        """Nothing to do for ourselves: every trial number has its own random stream."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    @property
    def n_startup_trials(self) -> int:
        return self._n_startup_trials

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Every parameter that finished trials had, conditional ones included."""
        study_io.require_single_objective(study, type(self).__name__)
        known = study_io.distributions(study_io.trials(study))
        return {name: dist for name, (dist, _) in known.items() if not dist.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        study_io.require_single_objective(study, type(self).__name__)
        with one_thread:
            return publish(study, trial, lambda found: self.propose(study, trial, search_space, found))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        study_io.require_single_objective(study, type(self).__name__)
        if self._warn_independent_sampling:
            self._explain_independent_sampling(study, trial, param_name)
        if self._independent_sampler is not None:
            return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
        u = stream(self._seed, "independent", trial.number, param_name).random(1)
        return Dimension(param_name, param_distribution, is_ordered(param_distribution)).decode(u)[0]

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    # ------------------------------------------------------------------ how a proposal comes about

    def propose(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        found: Sequence[FrozenTrial],
    ) -> tuple[dict[str, Any], Receipt]:
        """Parameters and their receipt, which is not stored yet; given all trials of the study."""
        if not search_space:
            return {}, Receipt(trial.number, "startup", self._seed, {})
        seen = study_io.observations(found, study_io.sign(study))
        try:
            data = arrays(search_space, seen, self._conditions, self._ordinal)
            if self._still_covering(trial, len(seen)) or len(data.losses) == 0:
                return self._cover_the_space(trial, data.space, found)
            return self._maximise(study, trial, data, found)
        except Exception as error:  # Whatever goes wrong in the model, a running study gets its next trial.
            _logger.warning("Trial %d is sampled at random: the model failed (%s).", trial.number, error, exc_info=True)
            space = Space.of(search_space, None, self._ordinal)
            u = stream(self._seed, "fallback", trial.number).random((1, len(space)))
            params = space.decode(u, only_active=False)[0]
            reason = f"the model failed: {type(error).__name__}: {error}"[:500]
            return params, Receipt(trial.number, "fallback", self._seed, others.plain(params), reason)

    def _still_covering(self, trial: FrozenTrial, n_seen: int) -> bool:
        return n_seen < max(self._n_startup_trials, 1)

    def _part(
        self, study: Study, trial: FrozenTrial, data: Arrays, gp: GaussianProcess, found: Sequence[FrozenTrial]
    ) -> Part | None:
        """The part of the space that this proposal may come from; None for all of it."""
        return None

    def _cover_the_space(
        self, trial: FrozenTrial, space: Space, found: Sequence[FrozenTrial]
    ) -> tuple[dict[str, Any], Receipt]:
        """Point `trial.number` of a shifted low-discrepancy sequence, or an unseen one where that is known already.

        Values for every parameter, wanted or not: which ones are conditional may not be known yet.
        """
        shift = stream(self._seed, "startup", *space.names).random(len(space))
        u = low_discrepancy(trial.number, 1, shift)
        if np.isfinite(space.size()):
            known = Known(space, others.known(space, found, trial.number), SEPARATION)
            if known.near(space.canonical(u)[0]):
                rng = stream(self._seed, "startup again", trial.number)
                fresh = unseen(space, known, rng)
                u = fresh[rng.integers(len(fresh), size=1)] if len(fresh) else u
        params = space.decode(u, only_active=False)[0]
        return params, Receipt(trial.number, "startup", self._seed, others.plain(params))

    def _maximise(
        self, study: Study, trial: FrozenTrial, data: Arrays, found: Sequence[FrozenTrial]
    ) -> tuple[dict[str, Any], Receipt]:
        space = data.space
        self._warn_of_unknown_names(found)
        lesson = self._lesson(trial, data, found)
        if lesson is None:
            gp, learned_from = fit(data, found, self._surrogate, self._deterministic)
        else:
            gp, learned_from = lesson.gp, lesson.learned_from
        silent, X_silent = others.silent(space, found)
        pending = others.pending(space, found, trial.number)
        believed = np.vstack([X_silent, np.array(list(pending.values())).reshape(-1, len(space))])
        model = gp.believe(believed)

        latent = gp.latent_at_observed()
        situation = Situation(float(latent.min()), len(latent), len(space))
        incumbents = data.X[np.argsort(latent, kind="stable")[:_N_INCUMBENTS]]
        rng = stream(self._seed, "proposal", trial.number)
        part = self._part(study, trial, data, gp, found)
        # What there is to learn is not where the best configurations are.
        pool = screen(model, space, incumbents if lesson is None else incumbents[:0], rng)
        separation = _separation(gp.data.z) if space.nominal else SEPARATION
        seen = space.canonical(np.vstack([data.X, believed]))

        def bound(acquisition: Acquisition) -> AcquisitionFunction:
            return wary(acquisition).bind(model, situation, space)

        wary = self._wary(data, X_silent)

        def best_of(function: Scored) -> Array:
            if part is not None and part.slice is not None:
                return part.slice.best(function, data.X, seen, rng, separation)
            return propose(function, space, incumbents, seen, rng, separation, pool)

        acquisition = self._acquisition
        state: PolicyState | None = None
        bounds: tuple[float, float, float] | None = None
        x: Array | None = None
        if lesson is not None:
            acquisition, state = lesson.gain, lesson.state
        elif self._policy is not None:
            bounds = upper_bound_regret(model, data.X, space, pool=pool) if self._policy.wants_bounds else None
            past = study_io.model_receipts(found, trial.number)
            best, dice = float(data.losses.min()), stream(self._seed, "policy", trial.number)
            moment = Moment(past, model, situation, bounds, best, lambda a: best_of(bound(a)), dice)
            decision = self._policy.decide(moment)
            acquisition, state, x = decision.acquisition, decision.state, decision.x
        elif self._interleave is not None and self._interleave.mode == "multiply":
            power = self._interleave.beta / max(len(latent), 1)
            acquisition = Multiplied.over(acquisition, self._interleave.gain, power, bound, pool)
        choice = Choice(bound(acquisition), model, state, bounds or ())
        x = best_of(choice.function) if x is None else x

        x = others.on_a_grid(space, x)[None]
        # Inactive parameters get a value too: should the objective ask for one all the same, it has it.
        on = space.active(x)
        params = space.decode(np.where(on, x, rng.random(x.shape)), only_active=False)[0]
        params.update({} if part is None else part.exact)
        active = {name: params[name] for name, wanted in zip(space.names, on[0], strict=True) if wanted}
        # The receipt speaks of the configuration as it will be read back, after rounding to the user's units.
        x, _ = space.encode([active])
        receipt = self._receipt(
            study, trial, found, data, gp, choice, x, others.plain(active), silent, pending, learned_from
        )
        return params, receipt if part is None else replace(receipt, phase=part.words)

    def _wary(self, data: Arrays, X_failed: Array) -> Callable[[Acquisition], Acquisition]:
        """What makes an acquisition keep away from where trials failed; nothing where that is not asked for."""
        if not self._avoid_failures or len(X_failed) < FEWEST_FAILURES:
            return lambda acquisition: acquisition
        return Chance.learned(data.X, X_failed, data.space).times

    def _lesson(self, trial: FrozenTrial, data: Arrays, found: Sequence[FrozenTrial]) -> Lesson | None:
        """What this proposal shall learn about; None when it shall improve the objective.

        Effects are averages of the objective itself, so their model has no output warp (and exact integrals).
        """
        plan = self._interleave
        alone = bool(self._acquisition.learns_about(data.space))
        if not alone and (plan is None or plan.mode == "multiply" or not plan.turn(trial.number, self._seed)):
            return None
        gp, learned_from = fit(data, found, self._surrogate.unwarped(), self._deterministic)
        if alone:
            return Lesson(self._acquisition, gp, learned_from)
        assert plan is not None
        gain, widths = plan.still_wide(gp, data.space)
        if gain is None:
            return None
        state = PolicyState("Interleave", {f"half-width {name}": width for name, width in widths.items()})
        return Lesson(gain, gp, learned_from, state)

    def _receipt(
        self,
        study: Study,
        trial: FrozenTrial,
        found: Sequence[FrozenTrial],
        data: Arrays,
        gp: GaussianProcess,
        choice: Choice,
        x: Array,
        params: dict[str, Any],
        silent: Sequence[int],
        pending: Mapping[int, Array],
        learned_from: int,
    ) -> Receipt:
        space, loss_sign = data.space, study_io.sign(study)
        m, s = choice.model.latent(x)
        mean, sd = choice.model.from_latent(m, s)
        return Receipt(
            trial=trial.number,
            kind="model",
            seed=self._seed,
            params=params,
            direction="maximize" if loss_sign < 0 else "minimize",
            space={one.name: study_io.source(found, one.name, one.distribution) for one in space.dimensions},
            conditions={child: condition.to_list() for child, condition in space.conditions.items()},
            ordinal=space.ordinal,
            fitted_on=compress_integers(data.observations.numbers),
            believed=compress_integers(silent),
            pending={str(number): tuple(float(v) for v in row) for number, row in pending.items()},
            hyperparameters=gp.hyperparameters,
            acquisition=choice.function.state(x, space),
            mean=loss_sign * float(mean[0]),
            sd=float(sd[0]),
            latent_mean=float(m[0]),
            latent_sd=float(s[0]),
            curvature=pack(gp.inverse_hessian),
            learned_from=learned_from,
            best_value=loss_sign * float(data.losses.min()),
            policy=choice.policy,
            bounds=choice.bounds,
        )

    def _warn_of_unknown_names(self, found: Sequence[FrozenTrial]) -> None:
        """Once: a misspelt name in `conditions`, `ordinal` or `interleave` would otherwise do nothing, silently."""
        explained = [*self._acquisition.named_params]
        if self._interleave is not None:
            explained += self._interleave.gain.named_params
        if self._warned_of_names or not (self._conditions or self._ordinal or explained):
            return
        parents = (parent for parent, _ in self._conditions.values())
        unknown = sorted(
            {*self._conditions, *parents, *(self._ordinal or ()), *explained} - study_io.distributions(found).keys()
        )
        if unknown:
            self._warned_of_names = True
            _logger.warning(
                "`conditions`, `ordinal` or the effects to learn name parameters that no finished trial has had: %s. "
                "Are they misspelt?", ", ".join(unknown),
            )  # fmt: skip

    def _explain_independent_sampling(self, study: Study, trial: FrozenTrial, name: str) -> None:
        found = study_io.trials(study)
        if sum(t.state == TrialState.COMPLETE for t in found) > self._n_startup_trials:
            known = name in study_io.distributions(found)
            why = "its range has changed or it is fixed elsewhere" if known else "no finished trial has had it yet"
            _logger.warning(
                "`%s` in trial %d is sampled on its own, without the model, because %s. "
                "Set `warn_independent_sampling=False` to silence this.", name, trial.number, why,
            )  # fmt: skip


def _separation(z: Array) -> float:
    """How far a proposal must stay from known configurations in a space with categories, given latent losses by trial.

    Once recent trials have gained next to nothing, polishing the incumbent further keeps other categories from being
    tried: then proposals have to move by at least one per cent in some coordinate.
    """
    if len(z) <= _STAGNATION_WINDOW:
        return SEPARATION
    gain = float(z[:-_STAGNATION_WINDOW].min() - z.min())
    return _STAGNATION_SEPARATION if gain < _STAGNATION_GAIN else SEPARATION
