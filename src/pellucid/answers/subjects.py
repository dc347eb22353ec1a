"""What entries of the catalogue can be about, why they are not about something, and how they ask about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

from pellucid.answers.base import WHOLE, GoalName, Overview, Parts, Subject

# Constraints that a page shows: each is a figure.
_MOST_CONSTRAINTS = 6

# ---------------------------------------------------------------------- the parts of a study that answers are about


@Parts
def whole(_: Overview, __: Subject) -> Sequence[Subject]:
    return (WHOLE,)


@partial(Parts, named=True)
def all_at_once(overview: Overview, _: Subject) -> Sequence[Subject]:
    """The study, or the one of several objectives or the constraint that the answers are about."""
    return (overview.part,)


@partial(Parts, named=True)
def as_named(overview: Overview, _: Subject) -> Sequence[Subject]:
    """The same, also if it is the only objective."""
    return (overview.only,)


@partial(Parts, several=True, named=True)
def each_objective(overview: Overview, named: Subject) -> Sequence[Subject]:
    if named.goal in (GoalName.FRONT, GoalName.FAILED):  # These are about trials as a whole.
        return (WHOLE,)
    if overview.part.part or not overview.view.several:
        return (overview.part,)
    return [Subject(objective=i) for i in range(len(overview.view.objectives))]


@partial(Parts, several=True)
def each_pair(overview: Overview, _: Subject) -> Sequence[Subject]:
    return [Subject(pair=pair) for pair in combinations(range(len(overview.view.objectives)), 2)]


@partial(Parts, several=True, named=True)
def each_constraint(overview: Overview, _: Subject) -> Sequence[Subject]:
    return [Subject(constraint=target.name) for target in overview.view.constraints[:_MOST_CONSTRAINTS]]


# ---------------------------------------------------------------------- why a study has no such answer


def of_no_part(overview: Overview, _: Subject) -> str | None:
    return "This question is about the study as a whole: leave `objective` out." if overview.part.part else None


def one_objective(overview: Overview, part: Subject) -> str | None:
    """What is no good for one objective may be good for another, and for a constraint all that satisfies it is good."""
    view = overview.view
    names = ", ".join(f"`{objective.name}`" for objective in view.objectives)
    if part.constraint is not None:
        return f"This question is about the objective, not about a constraint; name {names}, or leave `objective` out."
    if view.several and part.objective is None:
        count = len(view.objectives)
        return f"This question is about one objective, and this study has {count}: name one of {names}."
    return None


def few_objectives(overview: Overview, part: Subject) -> str | None:
    from pellucid.pareto import MOST_OBJECTIVES

    n = len(overview.view.objectives)
    if n == 1:
        return "One objective costs another only in a study with several, but this study has one."
    if n > MOST_OBJECTIVES:
        return f"This question is about up to {MOST_OBJECTIVES} objectives, but this study has {n}."
    return of_no_part(overview, part)


def some_stopped(overview: Overview, part: Subject) -> str | None:
    view = overview.view
    if view.several or not len(view.stopped):
        return "No trial of this study was stopped early."
    return of_no_part(overview, part)


def was_stopped(overview: Overview, subject: Subject) -> str | None:
    if subject.trial is not None and subject.trial not in overview.view.stopped.numbers:
        return f"Trial {subject.trial} was not stopped early."
    return some_stopped(overview, subject)


def some_failed(overview: Overview, part: Subject) -> str | None:
    from optuna.trial import TrialState

    from pellucid.study.trials import interrupted

    if not any(trial.state == TrialState.FAIL and not interrupted(trial) for trial in overview.view.trials):
        return "No trial of this study failed."
    return of_no_part(overview, part)


def one_parameter(_: Overview, subject: Subject) -> str | None:
    return "A profile is of one parameter." if len(subject.params) > 1 else None


def some_curves(overview: Overview, part: Subject) -> str | None:
    if not len(overview.view.curves):
        return "No trial of this study reported a learning curve, or it has several objectives."
    return of_no_part(overview, part)


# ---------------------------------------------------------------------- how questions are worded


def which_is_best(overview: Overview, _: Subject) -> str:
    return "Best configurations" if overview.view.several else "Best configuration"


def use_this(overview: Overview) -> str:
    return "Use one of these" if overview.view.several else "Use this"


def which_to_use(overview: Overview) -> str:
    return f"Which configuration{'s are' if overview.view.several else ' is'} best?"


def why_this_one(overview: Overview, subject: Subject) -> str:
    return "What was predicted" if subject.part else "Why this configuration"


def why_the_last(overview: Overview, subject: Subject) -> str:
    if subject.part:
        return "What was predicted last"
    proposed = any(receipt.proposed for receipt in overview.view.own_receipts.values())
    return f"Why the last {'proposal' if proposed else 'configuration'}"


def what_it_reaches(_: Overview, subject: Subject) -> str:
    return f"What {' and '.join(subject.params)} can reach"


def what_it_does(_: Overview, subject: Subject) -> str:
    return f"What {' and '.join(subject.params)} {'does' if len(subject.params) == 1 else 'do'} on average"
