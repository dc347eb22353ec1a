"""A search by a model, after a start without one: what the samplers are composed of."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from pellucid.models import GaussianProcess
from pellucid.numerics import stream
from pellucid.provenance import FallbackReceipt, StartupReceipt
from pellucid.search import several
from pellucid.search.configuration import plain_params
from pellucid.search.maximising import Maximiser, Regions, whole_space
from pellucid.search.own_parts import PartError
from pellucid.search.publishing import Proposal
from pellucid.search.rules import Rule, RuleError
from pellucid.space.encoding import Space
from pellucid.study.arrays import encoded
from pellucid.study.extrapolation import extrapolated
from pellucid.study.view import StudyView
from pellucid.words import printable, printable_error

_logger = logging.getLogger("pellucid")
# Characters of an error that a receipt keeps.
_LONGEST_REASON = 500


class Start(Protocol):
    """The trials before the model takes over."""

    @property
    def n_trials(self) -> int: ...

    def ongoing(self, trial: FrozenTrial, n_observed: int) -> bool:
        """Whether this trial is one of them, given how many trials have a value."""

    def propose(self, view: StudyView, trial: FrozenTrial, space: Space) -> Proposal: ...


def failure(what: str, error: Exception) -> str:
    """What failed, for a receipt."""
    return f"{what} failed: {type(error).__name__}: {error}"[:_LONGEST_REASON]


def _check_names(conditions: object, ordinal: object) -> None:
    """Raise TypeError if an argument of a sampler does not have the form that its documentation says."""
    parents = list(conditions.values()) if isinstance(conditions, Mapping) else []
    if (conditions is not None and not isinstance(conditions, Mapping)) or not all(map(_is_parent, parents)):
        raise TypeError(
            "`conditions` gives the parent of a child and the values for which the child exists, such as "
            f"{{'momentum': ('optimizer', ['sgd'])}}, but got {conditions!r}."
        )
    names = list(ordinal) if isinstance(ordinal, Iterable) and not isinstance(ordinal, str) else [None]
    if ordinal is not None and not all(isinstance(name, str) for name in names):
        raise TypeError(f"`ordinal` is a list of names of categorical parameters, or None, but got {ordinal!r}.")


def _is_parent(condition: object) -> bool:
    if not isinstance(condition, (tuple, list)) or len(condition) != 2 or not isinstance(condition[0], str):
        return False
    return isinstance(condition[1], Iterable) and not isinstance(condition[1], str)


class ModelSearch:
    """Proposals of a start first, then of a model; at random if the model fails."""

    def __init__(
        self,
        start: Start,
        maximiser: Maximiser,
        conditions: Mapping[str, tuple[str, Sequence[Any]]] | None,
        ordinal: Sequence[str] | None,
        regions: Regions = whole_space,
        several: GaussianProcess | None = None,
    ) -> None:
        """`several`: the surrogate for several objectives; None if the search is for one."""
        self.start = start
        self._maximiser, self._regions = maximiser, regions
        self._for_several = None if several is None else replace(maximiser, surrogate=several)
        _check_names(conditions, ordinal)
        self._conditions = dict(conditions or {})
        self._ordinal = None if ordinal is None else tuple(ordinal)
        self._learned = maximiser.named_params
        self._warned_of_names = False

    def propose(
        self,
        view: StudyView,
        trial: FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        *,
        started: bool = False,
    ) -> Proposal:
        """Parameters and their receipt, which is not stored yet. `started`: the study has begun in another way, so that
        the model needs no start of its own."""
        seed = self._maximiser.seed
        if not search_space:
            return {}, StartupReceipt(trial.number, seed, {})
        try:
            data = view.arrays(search_space, self._conditions, self._ordinal)
            starting = not started and self.start.ongoing(trial, len(view.observations))
            if starting or len(data) == 0:
                return self.start.propose(view, trial, data.space)
            self._warn_of_unknown_names(view)
            known, view = view, extrapolated(view, data.space)
            if view.extrapolation is not None:
                same = view.observations.numbers == known.observations.numbers
                data = data.observed_as(view.observations) if same else encoded(data.space, view.observations)
            if self._for_several is not None and view.several:
                return several.propose(self._for_several, view, trial, data, self._regions)
            return self._maximiser.propose(view, trial, data, self._regions)
        except (PartError, RuleError):
            raise
        except Exception as error:  # A running study gets its next trial even if the model fails.
            _logger.warning(
                "Trial %d is sampled at random: the model failed (%s).",
                trial.number,
                printable(str(error)),
                exc_info=printable_error(error),
            )
            space = Space.of(search_space, None, self._ordinal)
            rng = stream(seed, "fallback", trial.number)
            u = rng.random((1, len(space)))
            rule = Rule.of(self._maximiser.allowed, view, space)
            if rule is not None and not rule(u).all():
                u = rule.found(u, rng)[:1]
            params = space.decode(u, only_active=False)[0]
            return params, FallbackReceipt(trial.number, seed, plain_params(params), failure("the model", error))

    def _warn_of_unknown_names(self, view: StudyView) -> None:
        """Warn once: without this, a misspelt name would be ignored silently."""
        parents = (parent for parent, _ in self._conditions.values())
        names = {*self._conditions, *parents, *(self._ordinal or ()), *self._learned}
        if self._warned_of_names or not names:
            return
        unknown = sorted(names - view.distributions.keys())
        if unknown:
            self._warned_of_names = True
            _logger.warning(
                "`conditions`, `ordinal` or the effects to learn name parameters that no finished trial has had: %s. "
                "Are they misspelt?", printable(", ".join(unknown)),
            )  # fmt: skip
