"""Everything a report says, computed once: records where there is an answer, a sentence where there is none yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.explain.effects.dependence import effects_of
from pellucid.explain.history import history, receipt_of
from pellucid.explain.importance.analysis import hsic_importance, importance_of_the_best
from pellucid.explain.model import recommend
from pellucid.explain.proposals.explanation import explain_proposal
from pellucid.explain.ranges import parameter_ranges
from pellucid.explain.stopping import search_course
from pellucid.goals import failed
from pellucid.records import (
    Course,
    DesirabilityPaths,
    History,
    HsicImportance,
    ParameterRanges,
    PartialDependence,
    ProposalExplanation,
    Receipt,
    Recommendation,
)
from pellucid.study import study_io

Found = TypeVar("Found")
Step = Callable[[str], None]
_MOST_EFFECTS = 6
# Explanations of proposals take longer with more trials and parameters: as many as take some seconds together.
_MOST_EXPLAINED, _FEWEST_EXPLAINED, _WORK = 40, 4, 40_000


@dataclass(frozen=True)
class Findings:
    """What is known about a study. A text stands where an answer would: why there is none yet.

    effects       of the parameters that matter most, most important first;  joint  of the first two together
    explanations  of trials that are worth a look: recommended, best, last, and others evenly over the run
    unexplained   trials that were tried, and why they have no explanation
    """

    name: str
    history: History
    trials: tuple[FrozenTrial, ...]
    receipts: tuple[Receipt | None, ...]
    recommendation: Recommendation | str
    course: Course | str
    importance: HsicImportance | str
    ranges: ParameterRanges | str
    failures: HsicImportance | str | None
    effects: tuple[PartialDependence, ...] | str
    joint: PartialDependence | None
    explanations: tuple[ProposalExplanation, ...]
    unexplained: dict[int, str]

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.history.states)

    @property
    def paths(self) -> DesirabilityPaths | None:
        """The explanations over the run, where there are enough for a line."""
        proposed = tuple(one for one in self.explanations if one.proposed) or self.explanations
        if len(proposed) < _FEWEST_EXPLAINED:
            return None
        return DesirabilityPaths(tuple(sorted(proposed, key=lambda one: one.trial)), {}, "")


def gather(study: Study, progress: bool) -> Findings:
    study_io.require_single_objective(study, "report")
    trials = tuple(study_io.trials(study))
    told = history(study)
    numbers = _worth_a_look(trials, told)
    with _bar(6 + len(numbers), progress) as step:
        recommendation = _attempt(lambda: recommend(study), step, "recommendation")
        course = _attempt(lambda: search_course(study), step, "can you stop")
        importance = _attempt(lambda: importance_of_the_best(study), step, "what matters")
        ranges = _attempt(lambda: parameter_ranges(study), step, "ranges")
        failures = _attempt(lambda: hsic_importance(study, failed(), pairs=False), step, "failures")
        effects = _attempt(lambda: _effects(study, importance), step, "effects")
        if isinstance(recommendation, Recommendation):
            numbers = list(dict.fromkeys([recommendation.trial, *numbers]))[: len(numbers)]
        explained = {
            number: _attempt(lambda n=number: explain_proposal(study, n), step, f"trial {number}")  # type: ignore[misc]
            for number in numbers
        }
    curves = effects if isinstance(effects, str) else tuple(one for one in effects if len(one.params) == 1)
    return Findings(
        name=study.study_name,
        history=told,
        trials=trials,
        receipts=tuple(receipt_of(trial) for trial in trials),
        recommendation=recommendation,
        course=course,
        importance=importance,
        ranges=ranges,
        failures=failures if told.states.count("failed") else None,
        effects=curves,
        joint=None if isinstance(effects, str) else next((one for one in effects if len(one.params) == 2), None),
        explanations=tuple(one for one in explained.values() if not isinstance(one, str)),
        unexplained={number: one for number, one in explained.items() if isinstance(one, str)},
    )


def _attempt(ask: Callable[[], Found], step: Step, what: str) -> Found | str:
    """The answer, or the sentence that says why there is none: those of `explain` are written for users."""
    step(what)
    try:
        return ask()
    except ValueError as error:
        return str(error)


def _effects(study: Study, importance: HsicImportance | str) -> tuple[PartialDependence, ...]:
    """Of the parameters that matter most (or, where that is not known, of the first ones), and of the first two."""
    known = study_io.distributions(study_io.trials(study))
    names = [name for name, (distribution, _) in known.items() if not distribution.single()]
    if isinstance(importance, HsicImportance):
        order = [one.name for one in sorted(importance.parameters, key=lambda one: one.verdict != "impactful")]
        names = [name for name in order if name in names]
    if not names:
        raise ValueError("No parameter varies, so there are no effects to show.")
    wanted: list[tuple[str, ...]] = [(name,) for name in names[:_MOST_EFFECTS]]
    if len(names) > 1:
        wanted.append((names[0], names[1]))
    return tuple(effects_of(study, wanted))


def _worth_a_look(trials: Sequence[FrozenTrial], told: History) -> list[int]:
    """The best, the last, and proposals evenly over the run; fewer the more an explanation costs."""
    ended = [t.number for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    if not ended:
        return []
    width = max(len(trial.params) for trial in trials)
    most = max(_FEWEST_EXPLAINED, min(_MOST_EXPLAINED, _WORK // max(len(ended) * width, 1)))
    proposed = [
        t.number for t in trials if (r := receipt_of(t)) is not None and r.kind in ("model", "ranking")
    ] or ended
    first = _best(told)
    even = [proposed[round(i * (len(proposed) - 1) / max(most - 1, 1))] for i in range(most)]
    return list(dict.fromkeys([*first, proposed[-1], *even]))[:most]


def _best(told: History) -> list[int]:
    """The number of the best complete trial, where there is one."""
    turn = -1.0 if told.direction == "maximize" else 1.0
    rows = zip(told.numbers, told.values, told.states, strict=True)
    return [n for _, n in sorted((turn * v, n) for n, v, s in rows if v is not None and s == "complete")[:1]]


@contextmanager
def _bar(total: int, wanted: bool) -> Iterator[Step]:
    """A progress bar on standard error that says what is being worked out; nothing where nobody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    seen = wanted and (console.is_terminal or console.is_jupyter)
    columns = (TextColumn("report: {task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not seen, transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(what: str) -> None:
            bar.update(task, description=what, advance=1)

        yield step
