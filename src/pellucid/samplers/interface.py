"""Optuna's interface, the same for every sampler that searches with a model."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.numerics import is_whole_number, one_thread, stream
from pellucid.provenance import ProposedReceipt
from pellucid.search.notices import DeadTrialNotices
from pellucid.search.proposals import ModelSearch
from pellucid.search.publishing import Proposal, SeenSpace, publish
from pellucid.space.encoding import Dimension, is_ordered
from pellucid.study.receipts import own_receipt
from pellucid.study.view import StudyView
from pellucid.words import printable

_logger = logging.getLogger("pellucid")


def seed_or_random(seed: int | None) -> int:
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not is_whole_number(seed):
        raise ValueError(f"`seed` must be a whole number or None, but got {seed!r}.")
    return int(seed)


class IndependentSampling:
    """Values of parameters that the model does not know yet: from another sampler, or uniform."""

    def __init__(self, seed: int, sampler: BaseSampler | None, warn: bool) -> None:
        if sampler is not None and not isinstance(sampler, BaseSampler):
            raise TypeError(
                "`independent_sampler` must be a sampler of Optuna, such as optuna.samplers.RandomSampler(), or None, "
                f"but got {sampler!r}."
            )
        self.sampler = sampler
        self._seed, self._warn = seed, warn

    def sample(
        self, view: StudyView, trial: FrozenTrial, name: str, distribution: BaseDistribution, n_startup_trials: int
    ) -> Any:
        if self._warn:
            self._log(view, trial, name, n_startup_trials)
        if self.sampler is not None:
            return self.sampler.sample_independent(view.study, trial, name, distribution)
        u = stream(self._seed, "independent", trial.number, name).random(1)
        return Dimension(name, distribution, is_ordered(distribution)).decode(u)[0]

    def _log(self, view: StudyView, trial: FrozenTrial, name: str, n_startup_trials: int) -> None:
        own = own_receipt(view.by_number.get(trial.number, trial))
        # Other workers may have finished trials since this one was proposed, perhaps before the model took over.
        early = own is not None and own.kind == "startup"
        if not early and sum(other.state == TrialState.COMPLETE for other in view.trials) > n_startup_trials:
            searched = own.space if isinstance(own, ProposedReceipt) else {}
            known = name in (view.distributions if own is None else searched)
            reason = "its range has changed or it is fixed elsewhere" if known else "no finished trial has had it yet"
            _logger.warning(
                "`%s` in trial %d is sampled on its own, without the model, because %s. "
                "Set `warn_independent_sampling=False` to silence this.", printable(name), trial.number,
                printable(reason),
            )  # fmt: skip


class ModelSampler(BaseSampler):
    """A sampler composed of a search and of independent sampling for what the search does not know."""

    def __init__(self, search: ModelSearch, independent: IndependentSampling) -> None:
        self._search, self._independent = search, independent
        self._notices = DeadTrialNotices()

    @property
    def n_startup_trials(self) -> int:
        return self._search.start.n_trials

    def propose(
        self,
        view: StudyView,
        trial: FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        *,
        started: bool = False,
    ) -> Proposal:
        """Parameters and their receipt, which is not stored yet. `started`: see `ModelSearch.propose`."""
        return self._search.propose(view, trial, search_space, started=started)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Every parameter that finished trials had, conditional ones included."""
        view = self._view(study)
        self._notices.log(view)
        return SeenSpace(view)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        with one_thread:
            return publish(study, trial, search_space, self._view, lambda view: self.propose(view, trial, search_space))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        view = self._view(study)
        return self._independent.sample(view, trial, param_name, param_distribution, self.n_startup_trials)

    def reseed_rng(self) -> None:
        """Every trial number has its own random stream, so only the independent sampler is reseeded."""
        if self._independent.sampler is not None:
            self._independent.sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if self._independent.sampler is not None:
            self._independent.sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._independent.sampler is not None:
            self._independent.sampler.after_trial(study, trial, state, values)

    def _view(self, study: Study) -> StudyView:
        """The study as it is now. Raises ValueError if it has more objectives than the sampler can handle."""
        return StudyView.unnamed(study, type(self).__name__)
