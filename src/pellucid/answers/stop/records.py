"""How a search went: what trials returned, how much was left to find, and whether the study can stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pellucid.answers.finding import Finding
from pellucid.notebook import Rows
from pellucid.words import OBJECTIVE

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
