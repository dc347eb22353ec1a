"""The interface of acquisitions: weighted sums of named terms, always maximised, with their own words and unit.

Notation
    m, s (n,)   posterior mean and sd on the latent scale (smaller is better)
    best        the latent value to improve on;  z = (best - m) / s
    value       sum_k weight_k * term_k: what explanations split
    score       an increasing function of the value (log EI for EI): what is maximised, finite even where the value
                overflows or underflows

To write your own, subclass `PointwiseAcquisition` (or `Acquisition`, if it needs more than m and s) as a frozen
dataclass. Defining the class is enough: receipts, explanations and reports ask it for its words.
"""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel
from pellucid.models.posterior import Posteriors
from pellucid.numerics import Array
from pellucid.pareto import Boxes, boxes, volume
from pellucid.provenance import AcquisitionState, Term
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.space.encoding import Space
from pellucid.threads import cached_property
from pellucid.words import UnreadableRecordError, printable

# Rows of a front that bound what can be gained.
_FEW_ROWS = 12


@dataclass(frozen=True)
class Situation:
    """What an acquisition may know besides the posterior.

    best         latent value to improve on
    n_observed   observations of the model;  dimension  parameters of the space
    constraints  the models of the constraints, if the study has any
    outcomes     what several objectives are to improve on; None if there is only one
    """

    best: float
    n_observed: int
    dimension: int
    constraints: tuple[ConstraintModel, ...] = ()
    outcomes: Outcomes | None = None


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Several objectives, on the latent scales of their models.

    models      one for each objective;  front (f, k)  outcomes that are to be improved on
    reference   (k,), the point below which volume counts
    tolerance   how much better than the front an outcome has to be to count, as a share of its length in each objective
    width       how many of the sds of the models count
    """

    models: tuple[GaussianProcess, ...]
    front: Array
    reference: Array
    tolerance: float = 0.0
    width: float = 1.0

    @cached_property
    def boxes(self) -> Boxes:
        """What the front leaves open."""
        return boxes(self._beaten, self.reference)

    @cached_property
    def few_boxes(self) -> Boxes:
        """What a few rows of the front leave open: all that `boxes` hold, and more."""
        rows = self._beaten[np.lexsort(self._beaten.T[::-1])]
        return boxes(rows[:: max(1, len(rows) // _FEW_ROWS)], self.reference)

    @property
    def _beaten(self) -> Array:
        """What an outcome has to beat to count."""
        length = np.ptp(self.front, axis=0) if len(self.front) else 0.0
        return self.front - self.tolerance * length

    @property
    def volume(self) -> float:
        """What the front dominates."""
        return volume(self.front, self.reference)


def latent_rows(models: Sequence[GaussianProcess], X: Array) -> Array:
    """Latent means (n, k) of several objectives at configurations."""
    return np.stack([model.latent_mean(X) for model in models], axis=1) if len(X) else np.empty((0, len(models)))


@dataclass(frozen=True)
class Pool:
    """Candidates with their approximate posterior, shared by everything that is maximised for one proposal.

    X (m, d) canonical;  mean, sd (m,) latent and correlations (m, n) with the data, in single precision: good for
    ranking, never for a result
    """

    X: Array
    mean: Array
    sd: Array
    correlations: npt.NDArray[np.float32]


class Model(Protocol):
    """What maximising an acquisition needs from a surrogate."""

    def latent(self, X: Array) -> tuple[Array, Array]: ...

    def screen_with_correlations(self, X: Array) -> tuple[Array, Array, npt.NDArray[np.float32]]: ...

    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]: ...


class Effort(NamedTuple):
    """How hard a function is maximised: evaluations of a climb at most, and the gain of a step that ends it;
    climbs; and candidates that are spread over a space with continuous parameters."""

    evaluations: int = 6
    enough: float = 1e-3
    climbs: int = 4
    everywhere: int = 256


USUAL = Effort()


class Scored(Protocol):
    """A function that can be maximised."""

    @property
    def effort(self) -> Effort: ...

    def score(self, X: Array) -> Array: ...

    def screen(self, X: Array) -> Array:
        """Approximate score, for ranking candidates."""

    def screen_pool(self, pool: Pool) -> Array:
        """The same for candidates that the model has screened already."""

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]: ...


# ---------------------------------------------------------------------- acquisitions


def _subclasses(kind: Any) -> Iterator[Any]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


class Acquisition(ABC):
    """What a proposal maximises, with its settings, its words, its unit, and what it learns about.

    name        in receipts; the name of the class unless the class sets another one
    log_score   whether the score is the logarithm of the value, so that adding to it multiplies the value
    one_score   whether it has a score of its own for every configuration, to which the logarithm of a chance can be
                added
    """

    name: ClassVar[str]
    log_score: ClassVar[bool] = False
    one_score: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__
        others = {kind.__module__ for kind in _subclasses(Acquisition) if kind.name == cls.name} - {cls.__module__}
        if any(module.split(".")[0] == __package__.split(".")[0] for module in others):
            raise TypeError(
                printable(
                    f"{cls.__qualname__} needs another name: receipts refer to acquisitions by name, and pellucid has "
                    f"one called {cls.name!r}."
                )
            )

    @abstractmethod
    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> AcquisitionFunction:
        """The acquisition applied to a model: a function of configurations."""

    @abstractmethod
    def words(self) -> dict[str, Term]:
        """The words for each of its terms."""

    def score_words(self) -> Term:
        """The words for its score as a whole, which may be one term of another acquisition."""
        return Term(f"acquisition ({self.name})", "{better} predicted {objective}", "prediction")

    @abstractmethod
    def unit(self, scale: LatentScale) -> Unit:
        """Unit in which explanations give its value."""

    def learns_about(self, space: Space) -> str:
        """What a proposal teaches, if that is its purpose; empty if it is meant to improve the objective.

        Effects are averages of the objective itself. So an acquisition that learns about something gets a model without
        an output warp, and candidates all over the space instead of around the best trials.
        """
        return ""

    @property
    def named_params(self) -> tuple[str, ...]:
        """Parameters that the settings name: the sampler warns of names that no trial has had."""
        return ()

    def settings(self) -> dict[str, Any]:
        """What `from_settings` needs, as JSON can carry it; default: the fields of the dataclass."""
        values = {name: getattr(self, name) for name in getattr(self, "__dataclass_fields__", ())}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Acquisition:
        return cls(**settings)

    @classmethod
    def explored_share(cls, state: AcquisitionState) -> float | None:
        """Share of a proposal's value that came from uncertainty; None if its terms do not show it."""
        return 1.0 if state.learns_about else None


class AcquisitionFunction(ABC):
    """An acquisition applied to a model: arrays of configurations (n, d) in, numbers (n,) out."""

    acquisition: Acquisition
    model: Model
    situation: Situation

    @property
    def effort(self) -> Effort:
        return USUAL

    @abstractmethod
    def weights(self) -> dict[str, float]: ...

    @abstractmethod
    def terms(self, X: Array) -> dict[str, Array]: ...

    @abstractmethod
    def score(self, X: Array) -> Array: ...

    @abstractmethod
    def screen_pool(self, pool: Pool) -> Array:
        """Approximate score of candidates that the model has screened already."""

    @abstractmethod
    def score_with_gradient(self, X: Array) -> tuple[Array, Array]: ...

    def __call__(self, X: Array) -> Array:
        """The value: sum of weights times terms."""
        return weighted_sum(self.weights(), self.terms(X))

    def screen(self, X: Array) -> Array:
        """Approximate score, for ranking candidates."""
        return self.screen_pool(Pool(X, *self.model.screen_with_correlations(X)))

    @property
    def mean_term(self) -> str | None:
        """The term that is minus the latent mean, if there is one: its Shapley values have a closed form."""
        return None

    @property
    def models(self) -> tuple[GaussianProcess, ...]:
        """The models whose posteriors at a configuration are all that its terms need; empty if they need more."""
        return ()

    def terms_from(self, posteriors: Posteriors, floor: Mapping[str, float]) -> dict[str, Array]:
        """The terms, from the posteriors of `models`. One that is at most its `floor` may be anything at most that."""
        raise NotImplementedError

    def score_from(self, posteriors: Posteriors, floor: float) -> Array:
        """The score, in the same way."""
        raise NotImplementedError

    def state(self, x: Array, space: Space) -> AcquisitionState:
        """What the receipt says about the acquisition of the proposal x (1, d)."""
        return self._state(self.acquisition, space, self.weights(), self.terms(x), self.score(x))

    def _state(
        self, acquisition: Acquisition, space: Space, weights: dict[str, float], terms: dict[str, Array], score: Array
    ) -> AcquisitionState:
        return AcquisitionState(
            name=acquisition.name,
            settings=acquisition.settings(),
            weights=weights,
            terms={name: float(term[0]) for name, term in terms.items()},
            score=float(score[0]),
            best=self.situation.best,
            learns_about=acquisition.learns_about(space),
        )


# ---------------------------------------------------------------------- acquisitions of mean and sd


class PointwiseAcquisition(Acquisition):
    """An acquisition that depends on a configuration through its posterior mean and sd alone.

    mean_term   name of the term that is -m, if there is one: it is then explained in closed form
    """

    mean_term: ClassVar[str | None] = None
    one_score = True

    @abstractmethod
    def weights(self, situation: Situation) -> dict[str, float]: ...

    @abstractmethod
    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]: ...

    def score(self, m: Array, s: Array, situation: Situation) -> Array:
        """Default: the value itself."""
        return weighted_sum(self.weights(situation), self.terms(m, s, situation))

    @abstractmethod
    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        """score, d score / d m, d score / d s."""

    def maximised_at(self, m: Array, s: Array, situation: Situation) -> PointwiseAcquisition:
        """What was maximised at a proposal with posterior m, s (1,): itself, unless another acquisition replaced it."""
        return self

    def bind(self, model: Model, situation: Situation, space: Space) -> AcquisitionFunction:
        return PointwiseFunction(self, model, situation)


@dataclass(frozen=True)
class PointwiseFunction(AcquisitionFunction):
    acquisition: PointwiseAcquisition
    model: Model
    situation: Situation

    @property
    def mean_term(self) -> str | None:
        return self.acquisition.mean_term

    def weights(self) -> dict[str, float]:
        return self.acquisition.weights(self.situation)

    @property
    def models(self) -> tuple[GaussianProcess, ...]:
        return (self.model,) if isinstance(self.model, GaussianProcess) else ()

    def terms_from(self, posteriors: Posteriors, floor: Mapping[str, float]) -> dict[str, Array]:
        (posterior,) = posteriors
        return self.acquisition.terms(posterior.mean, posterior.sd(), self.situation)

    def score_from(self, posteriors: Posteriors, floor: float) -> Array:
        (posterior,) = posteriors
        return self.acquisition.score(posterior.mean, posterior.sd(), self.situation)

    def terms(self, X: Array) -> dict[str, Array]:
        m, s = self.model.latent(X)
        return self.acquisition.terms(m, s, self.situation)

    def score(self, X: Array) -> Array:
        m, s = self.model.latent(X)
        return self.acquisition.score(m, s, self.situation)

    def screen_pool(self, pool: Pool) -> Array:
        return self.acquisition.score(pool.mean, pool.sd, self.situation)

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        m, s, dm, ds = self.model.latent_with_gradient(X)
        score, by_m, by_s = self.acquisition.score_slopes(m, s, self.situation)
        return score, by_m[:, None] * dm + by_s[:, None] * ds

    def state(self, x: Array, space: Space) -> AcquisitionState:
        m, s = self.model.latent(x)
        maximised = self.acquisition.maximised_at(m, s, self.situation)
        terms, score = maximised.terms(m, s, self.situation), maximised.score(m, s, self.situation)
        return self._state(maximised, space, maximised.weights(self.situation), terms, score)


def weighted_sum(weights: dict[str, float], terms: dict[str, Array]) -> Array:
    total: Array = sum((weights[name] * term for name, term in terms.items()), start=0.0 * next(iter(terms.values())))
    return total


# ---------------------------------------------------------------------- from receipts


def check_settings(acquisition: Acquisition) -> None:
    """Raise TypeError if a receipt cannot hold the settings of an acquisition, or cannot make it again from them."""
    try:
        type(acquisition).from_settings(json.loads(json.dumps(acquisition.settings())))
    except Exception as error:
        raise TypeError(
            printable(
                "A receipt stores the settings of an acquisition as JSON and makes it again from them, but "
                f"{acquisition!r} cannot be made again ({type(error).__name__}: {error}): write `settings` and "
                "`from_settings`, or make it a frozen dataclass of numbers and texts."
            )
        ) from error


def from_state(state: AcquisitionState) -> Acquisition:
    """The acquisition that a receipt describes."""
    return from_name(state.name, state.settings)


def from_name(name: str, settings: Mapping[str, Any]) -> Acquisition:
    """An acquisition by the name of its class. Raises UnreadableRecordError if no such class is defined, or
    if it does not take these settings."""
    kind = _defined(name)
    if kind is None:
        raise UnreadableRecordError(
            f"A receipt names the acquisition {name!r}, which is not part of this pellucid. If it is your own, import "
            "the module that defines it."
        )
    try:
        acquisition: Acquisition = kind.from_settings(settings)
    except (KeyError, TypeError, ValueError) as error:
        message = f"The acquisition {name!r} does not take the settings {dict(settings)!r} ({error})."
        raise UnreadableRecordError(message) from error
    return acquisition


def explored_share(state: AcquisitionState) -> float | None:
    """Share of a proposal's value that came from uncertainty; None if its acquisition does not show it."""
    share: float | None = (_defined(state.name) or Acquisition).explored_share(state)
    return share


def _defined(name: str) -> Any:
    """The class of this name. In a notebook a class is often defined again: the newest one counts."""
    kinds = [kind for kind in _subclasses(Acquisition) if kind.name == name and not inspect.isabstract(kind)]
    return kinds[-1] if kinds else None
