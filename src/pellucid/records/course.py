"""How a search went: what trials returned, how much was left to find, and whether the study can stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pellucid.notebook import Rows
from pellucid.records.finding import Finding
from pellucid.words import OBJECTIVE


@dataclass(frozen=True)
class Phase:
    """Consecutive trials that were chosen in the same way: start-up trials, proposals, a step of a search."""

    first: int
    last: int
    label: str


@dataclass(frozen=True)
class History(Finding):
    """Every trial of a study; None if there is no value.

    states         'complete', 'pruned', 'failed', 'interrupted' (by the user), 'running' or 'waiting'
    values         what trials returned; the last reported value of a pruned trial
    best           the best value of a complete, feasible trial so far
    feasible       whether the trial was feasible; None if it has no value, or the study no constraints
    expected, sd   what the model predicted for the trial when it proposed it; sd is that of the value, noise included
                   (of the function alone in receipts of earlier versions)
    objective      its name
    """

    _rows: ClassVar[Rows] = "last"

    numbers: tuple[int, ...]
    states: tuple[str, ...]
    values: tuple[float | None, ...]
    best: tuple[float | None, ...]
    expected: tuple[float | None, ...]
    sd: tuple[float | None, ...]
    phases: tuple[Phase, ...]
    direction: str
    sentence: str
    notes: tuple[str, ...] = ()
    feasible: tuple[bool | None, ...] = ()
    objective: str = OBJECTIVE

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    @property
    def best_trial(self) -> int | None:
        """The first complete, feasible trial with the best value."""
        last = self.best[-1] if self.best else None
        return None if last is None else self.numbers[self.best.index(last)]

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        names = ("numbers", "states", "values", "best", "expected", "sd", *(("feasible",) if self.feasible else ()))
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class FrontHistory(Finding):
    """Every trial of a study with several objectives; None if there is no value.

    states       as in `History`
    values       what trials returned, one value for every objective
    volume       the volume that the feasible trials so far dominate, as a share of what all of them do
    feasible     as in `History`
    grew         trials that made the volume grow
    front        trials that are on the front now: feasible, and none is as good in every objective and better in one
    objectives   their names;  directions  of each
    reference    the point below which volume counts, in the units of the objectives; empty if no trial is feasible
    """

    _rows: ClassVar[Rows] = "last"

    numbers: tuple[int, ...]
    states: tuple[str, ...]
    values: tuple[tuple[float, ...] | None, ...]
    volume: tuple[float | None, ...]
    feasible: tuple[bool | None, ...]
    grew: tuple[int, ...]
    front: tuple[int, ...]
    phases: tuple[Phase, ...]
    objectives: tuple[str, ...]
    directions: tuple[str, ...]
    reference: tuple[float, ...]
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        grew, front = set(self.grew), set(self.front)
        columns: dict[str, Any] = {
            "numbers": self.numbers,
            "states": self.states,
            "volume": self.volume,
            "grew": [number in grew for number in self.numbers],
            "front": [number in front for number in self.numbers],
            **({"feasible": self.feasible} if self.feasible else {}),
        }
        for i, name in enumerate(self.objectives):
            free = name if name not in columns else f"objective {name}"
            columns[free] = [None if row is None else row[i] for row in self.values]
        return columns


HoldKind = Literal["improvement", "coverage", "choice", "middle", "fits"]


@dataclass(frozen=True)
class Hold:
    """What holds a stop back although the bound is within the tolerance.

    kind    'improvement' (the last trials still made things better), 'coverage' (trials have not covered the range of
            one or two parameters), 'choice' (a choice has had too few trials), 'middle' (much is left between the ends
            of the front) or 'fits' (other fits that suit the trials see more left)
    words   the same for the reader
    param   the parameter that it is about;  trial  the trial; None if there is none, or if there are several
    """

    kind: HoldKind
    words: str
    param: str | None = None
    trial: int | None = None


@dataclass(frozen=True)
class StoppingVerdict(Finding):
    """Whether a study can stop.

    bound         the model sees at most this much left: how much better than the best evaluated configuration any other
                  may be (95% bounds, not an expectation); None if there are too few trials to say
    tolerance     in the unit of the objective: as the user gave it, or the default
    noise         estimated standard deviation of one trial's noise
    blocked       why the study goes on although the bound is within the tolerance, in words
    more_trials   roughly how many trials would bring the bound down to the tolerance (two of three such estimates are
                  right to a factor of 2.5); None if that cannot be said
    objective     its name
    held_by       what `blocked` says, with its kind and what it is about
    """

    _pictured: ClassVar[bool] = False
    _told: ClassVar[tuple[str, ...]] = ("reason",)

    stop: bool
    n_trials: int
    best_value: float | None
    bound: float | None
    tolerance: float | None
    noise: float | None
    reason: str
    notes: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    more_trials: int | None = None
    objective: str = OBJECTIVE
    # By name alone: verdicts about a front have fields of their own behind `objective`.
    held_by: tuple[Hold, ...] = field(default=(), kw_only=True)

    @property
    def sentence(self) -> str:
        return f"{'Stop' if self.stop else 'Continue'}: {self.reason}."

    @property
    def reply(self) -> str:
        """The sentence as a reply to "Can I stop?": "Not yet. After 20 trials, ..." """
        return f"{'Probably' if self.stop else 'Not yet'}. {self.reason[0].upper()}{self.reason[1:]}."

    def _columns(self) -> Mapping[str, Any]:
        """One row."""
        names = ("stop", "n_trials", "best_value", "bound", "tolerance", "noise", "more_trials", "reason")
        return {name: [getattr(self, name)] for name in names}


@dataclass(frozen=True)
class FrontVerdict(StoppingVerdict):
    """Whether a study with several objectives can stop.

    bound        the volume that the front dominates could still grow by at most this share: twice the 95% quantile of
                 joint draws of the objectives; None if there are too few trials to say
    tolerance    the share by which it may
    more_trials  as in `StoppingVerdict`, but only somewhat more than half of the estimates are right to a factor of 2.5
    n_front      trials on the front
    reference    the point below which volume counts, in the units of the objectives

    There is no best value, and no noise of one value.
    """

    objective: str = ""
    n_front: int = 0
    reference: tuple[float, ...] = ()

    def _columns(self) -> Mapping[str, Any]:
        """One row."""
        names = ("stop", "n_trials", "n_front", "bound", "tolerance", "more_trials", "reason")
        return {name: [getattr(self, name)] for name in names}


@dataclass(frozen=True)
class RegretHistory(Finding):
    """How much there was left to find over the run, and whether proposals explored.

    With several objectives, `stopping` is a `FrontVerdict`, and bounds are shares of the volume that the front of the
    trials so far dominated.

    after, bounds    how much the model saw left at most after each of these trials (95% bounds, with the
                     hyperparameters fitted to all trials)
    trials           proposals whose receipts have an acquisition
    alpha            the weight of exploitation that a policy set for each of them; None if none did
    exploring        the share of each proposal's appeal that came from uncertainty; None if it cannot be split off
    """

    _rows: ClassVar[Rows] = "last"

    stopping: StoppingVerdict
    after: tuple[int, ...]
    bounds: tuple[float, ...]
    trials: tuple[int, ...]
    alpha: tuple[float | None, ...]
    exploring: tuple[float | None, ...]

    @property
    def sentence(self) -> str:
        return self.stopping.sentence

    @property
    def notes(self) -> tuple[str, ...]:
        return self.stopping.notes

    @property
    def n_trials(self) -> int:
        return self.stopping.n_trials

    def _columns(self) -> Mapping[str, Any]:
        """One row per bound."""
        return {"after": self.after, "bound": self.bounds}
