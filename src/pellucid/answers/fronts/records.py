"""Several objectives: the front, a compromise on it, and what one objective costs in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.answers.finding import Finding
from pellucid.beliefs.expectation import ExpectedOutcome
from pellucid.notebook import Rows
from pellucid.words import number_text, percent, rounded, spoken


@dataclass(frozen=True)
class FrontMember:
    """A configuration that may be on the front.

    probability   that it is on it: that it is feasible, and no other configuration that was tried is truly better in
                  one objective and nowhere worse. None if no model says so
    feasible      the chance that it is truly feasible, for a study with constraints; otherwise None
    """

    trial: int
    params: dict[str, Any]
    outcomes: tuple[ExpectedOutcome, ...]
    probability: float | None
    feasible: float | None = None

    @property
    def text(self) -> str:
        """ "trial 12 (expected accuracy 0.91, latency 8.2)" """
        values = ", ".join(f"{outcome.objective} {number_text(outcome.expected)}" for outcome in self.outcomes)
        return f"trial {self.trial} (expected {values})"


@dataclass(frozen=True)
class Front(Finding):
    """The configurations that were tried and may be on the front, in the order of the first objective.

    members   those with a chance of at least `threshold` of being on it, and the ends of the front that cannot be ruled
              out: the best ones first in the first objective
    others    what all other feasible trials returned, at most a few hundred of them, for the figure
    within    trials that differ from a member by at most this in every objective are not members themselves, unless
              they are an end of the front: 1% of the length of the observed front, or more if there are very many
    level     of the intervals
    thinned   the numbers of trials that are left out because a member is nearly equal
    """

    _rows: ClassVar[Rows] = "even"

    objectives: tuple[str, ...]
    directions: tuple[str, ...]
    members: tuple[FrontMember, ...]
    threshold: float
    level: float
    n_trials: int
    within: tuple[float, ...]
    others: tuple[tuple[float, ...], ...] = ()
    notes: tuple[str, ...] = ()
    thinned: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        names = spoken(self.objectives)
        count = len(self.thinned)
        if len(self.members) == 1:
            (member,) = self.members
            sure = "" if member.probability is None else f", with a chance of {percent(member.probability)}"
            values = ", ".join(outcome.text for outcome in member.outcomes)
            left_out = f" {count} more {'is' if count == 1 else 'are'} nearly equal and left out." if count else ""
            return f"One configuration is the best in {names}{sure}: trial {member.trial} ({values}).{left_out}"
        ends = sum(member.probability is not None and member.probability < self.threshold for member in self.members)
        number = len(self.members) + count - ends
        on_it = f"{number} of {self.n_trials} tried configurations {'is' if number == 1 else 'are'} on the"
        if any(member.probability is None for member in self.members):
            said = f"{on_it} front of {names}"
        else:
            said = f"{on_it} true front of {names} with a chance of at least {self.threshold:.0%} each"
        if ends:
            said += f", and {ends} more may be at its ends"
        alike = "is nearly equal to another" if count == 1 else "are nearly equal to others"
        left_out = f" {count} of them {alike} and left out." if count else ""
        return f"{said}: from {self.members[0].text} to {self.members[-1].text}.{left_out}"

    def _columns(self) -> Mapping[str, Any]:
        """One row per member."""
        columns: dict[str, Any] = {"trial": [member.trial for member in self.members]}
        for i, name in enumerate(self.objectives):
            for field in ("expected", "low", "high", "observed"):
                columns[f"{name} {field}"] = [getattr(member.outcomes[i], field) for member in self.members]
        columns["probability"] = [member.probability for member in self.members]
        columns["feasible"] = [member.feasible for member in self.members]
        for name in dict.fromkeys(name for member in self.members for name in member.params):
            columns[f"params {name}"] = [member.params.get(name) for member in self.members]
        return columns


@dataclass(frozen=True)
class KeptLimit:
    """A limit on an objective, such as "<= 20", and the chance that the true value keeps it."""

    objective: str
    limit: str
    probability: float

    @property
    def text(self) -> str:
        return f"{self.objective} {self.limit} with a chance of {percent(self.probability)}"


@dataclass(frozen=True)
class Compromise(Finding):
    """One configuration between several objectives, by weights or limits.

    outcomes   what to expect of it, one per objective
    weights    of the objectives, by name, adding up to 1; each counts in units of its spread over the front
    limits     with the chance that each is kept
    why        what it was chosen by
    feasible   the chance that it is truly feasible, for a study with constraints; otherwise None
    """

    params: dict[str, Any]
    trial: int
    outcomes: tuple[ExpectedOutcome, ...]
    weights: dict[str, float]
    limits: tuple[KeptLimit, ...]
    why: str
    level: float
    n_trials: int
    notes: tuple[str, ...] = ()
    feasible: float | None = None

    @property
    def sentence(self) -> str:
        settings = ", ".join(f"{k}={number_text(v) if isinstance(v, float) else v}" for k, v in self.params.items())
        values = "; ".join(outcome.text for outcome in self.outcomes)
        chance = () if self.feasible is None else (f"feasible with a chance of {percent(self.feasible)}",)
        kept = "".join(f"; {text}" for text in (*(limit.text for limit in self.limits), *chance))
        return f"Use {settings} (trial {self.trial}): {values}{kept}. {self.why}"

    def _columns(self) -> Mapping[str, Any]:
        """One row per objective."""
        fields = ("objective", "expected", "low", "high", "observed")
        return {name: [getattr(outcome, name) for outcome in self.outcomes] for name in fields}


@dataclass(frozen=True)
class ExchangeRate:
    """What the second objective gains if the first may go from `start` to `stop`, which is worse.

    gain, low, high   the improvement of the second objective, in its own unit: never negative, with a band
    """

    start: float
    stop: float
    gain: float
    low: float
    high: float

    @property
    def rate(self) -> float:
        """Gain per unit of the first objective."""
        return self.gain / abs(self.stop - self.start)

    @property
    def span(self) -> str:
        return f"from {number_text(self.start)} to {number_text(self.stop)}"

    @property
    def band(self) -> str:
        half = 0.5 * (self.high - self.low)
        return f"{rounded(self.low, half)} to {rounded(self.high, half)}"


@dataclass(frozen=True)
class Knee:
    """Where the front bends most: a value of the first objective, with a band, and the trial of the front next to it.

    bend   how far the front is from the straight line between its ends, as a share of its length
    """

    at: float
    low: float
    high: float
    bend: float
    trial: int | None


@dataclass(frozen=True)
class ParameterRole:
    """What moving a parameter of a configuration on the front does.

    role     'trades': it makes one objective better and the other worse and stays on the front, or moves along it
             together with others; 'wastes': it only falls behind the front; 'neither': it does nothing that matters;
             'not known': draws do not tell
    traded   how much one objective gains and the other loses by its most certain move, with a band; a share of the
             length of the front
    wasted   how far a move falls behind the front, on average over moves through its whole range, with a band
    """

    param: str
    role: str
    traded: float
    traded_low: float
    traded_high: float
    wasted: float
    wasted_low: float
    wasted_high: float


@dataclass(frozen=True)
class Tradeoff(Finding):
    """Two objectives along their front.

    rates        between neighbouring levels of the first objective, from its best values on
    knee         None if the front has none, or if draws do not tell (then `notes` say so)
    parameters   which trade and which only waste, the most certain first
    curve        levels of the first objective with the best second objective there: (level, median, low, high)
    level        of the bands
    """

    _rows: ClassVar[Rows] = "even"

    objectives: tuple[str, str]
    directions: tuple[str, str]
    rates: tuple[ExchangeRate, ...]
    knee: Knee | None
    parameters: tuple[ParameterRole, ...]
    curve: tuple[tuple[float, float, float, float], ...]
    level: float
    n_trials: int
    trials: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()

    def named(self, role: str) -> tuple[str, ...]:
        """The parameters with this role."""
        return tuple(parameter.param for parameter in self.parameters if parameter.role == role)

    @property
    def sentence(self) -> str:
        first, second = self.objectives
        move = "Lowering" if self.directions[0] == "maximize" else "Raising"
        moves = "raises" if self.directions[1] == "maximize" else "lowers"
        near, far = self.rates[0], self.rates[-1]
        band = f"{100 * self.level:g}% band {near.band}"
        parts = [f"{move} {first} {near.span} {moves} {second} by {near.gain:.3g} ({band})"]
        if len(self.rates) > 1:
            parts.append(f"{far.span}, by {far.gain:.3g} ({far.band})")
        if (knee := self.knee) is not None:
            at = f"{first} {number_text(knee.at)} ({number_text(knee.low)} to {number_text(knee.high)})"
            beyond = "below" if self.directions[0] == "maximize" else "above"
            parts.append(f"{beyond} {at} the same step brings less")
        if trading := self.named("trades"):
            parts.append(f"{_code(trading)} {'trades' if len(trading) == 1 else 'trade'} one for the other")
        if wasting := self.named("wastes"):
            parts.append(f"{_code(wasting)} {'does' if len(wasting) == 1 else 'do'} not trade: other values only lose")
        return "; ".join(parts) + "."

    def _columns(self) -> Mapping[str, Any]:
        """One row per step along the front."""
        names = ("start", "stop", "gain", "low", "high", "rate")
        return {name: [getattr(rate, name) for rate in self.rates] for name in names}


def _code(names: Sequence[str]) -> str:
    return spoken([f"`{name}`" for name in names])
