"""How a search went: what trials returned and were expected to return, and how much there was left to find."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pellucid.records.findings import StoppingVerdict
from pellucid.records.views import drawn, framed


@dataclass(frozen=True)
class Stretch:
    """Trials in a row that were chosen in one way: sampled to cover the space, proposed, a step of a search."""

    first: int
    last: int
    label: str


@dataclass(frozen=True)
class History:
    """Every trial of a study, in the unit and direction of the objective; None where there is nothing to say.

    states         'complete', 'pruned', 'failed', 'interrupted' (by the user), 'running' or 'waiting'; of a pruned
                   trial, the last reported value counts
    best           the best value of a complete trial up to this one
    expected, sd   what the model predicted for the trial when it proposed it
    """

    numbers: tuple[int, ...]
    states: tuple[str, ...]
    values: tuple[float | None, ...]
    best: tuple[float | None, ...]
    expected: tuple[float | None, ...]
    sd: tuple[float | None, ...]
    stretches: tuple[Stretch, ...]
    direction: str
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per trial."""
        names = ("numbers", "states", "values", "best", "expected", "sd")
        return framed({name: list(getattr(self, name)) for name in names})

    def plot(self) -> Any:
        """A Plotly figure: trials, the best so far, what the model expected, and who chose."""
        return drawn(self)

    def __str__(self) -> str:
        return self.verdict


@dataclass(frozen=True)
class Course:
    """How much there was left to find, and what the search was after.

    after, bounds    after which trial, how much better anything could still be (95 % bounds; with the hyperparameters
                     that all trials together suggest)
    trials           proposals whose receipts tell what they were after
    alpha            the weight of exploitation that a policy set for them, None where there was none
    exploring        the share of their appeal that came from what was not known, None where that cannot be told
    """

    stopping: StoppingVerdict
    after: tuple[int, ...]
    bounds: tuple[float, ...]
    trials: tuple[int, ...]
    alpha: tuple[float | None, ...]
    exploring: tuple[float | None, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per bound."""
        return framed({"after": list(self.after), "bound": list(self.bounds)})

    def plot(self) -> Any:
        """A Plotly figure: the bound over the trials, its tolerance, and what proposals were after."""
        return drawn(self)

    def __str__(self) -> str:
        return str(self.stopping)
