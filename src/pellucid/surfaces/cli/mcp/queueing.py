"""Enqueueing a trial: the only call that writes to the storage, and only if the user has allowed it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.mcp.arguments import in_words
from pellucid.surfaces.cli.mcp.bounds import bounded_text
from pellucid.surfaces.cli.mcp.session import Returned, Session
from pellucid.surfaces.cli.storage.studies import closed_after, load, open_storage, storage_sentences
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

# How far a value may be from a multiple of the step, in steps: Optuna's own tolerance.
_STEP_TOLERANCE = 1e-8
# Names and choices that a message lists, and their characters in it.
_MOST_LISTED, _LONGEST_NAME = 20, 200


def enqueue(session: Session, study: str | None, params: Mapping[str, Any]) -> Returned:
    """Add a trial with these values to the queue of a study. Raises Mistake if a name or a value does not fit it."""
    from optuna.trial import TrialState

    from pellucid.study.view import StudyView

    with session.study(study) as opened:
        name = opened.study_name
        values = checked_values(StudyView.whole(opened).distributions, params)
    with storage_sentences(session.place):
        storage = open_storage(session.place)
        with closed_after(storage):
            queue = load(storage, name)
            queue.enqueue_trial(values)
            waiting = len(queue.get_trials(deepcopy=False, states=(TrialState.WAITING,)))
    listed = ", ".join(f"{_name(param)} = {in_words(value)}" for param, value in values.items())
    trials = "1 trial waits" if waiting == 1 else f"{waiting} trials wait"
    return Returned(
        f"A trial with {listed} waits in study `{printable(name)}` for the next worker; parameters that are not named "
        f"are sampled then. {trials} in all.",
        {"study": name, "enqueued": values, "waiting": waiting},
    )


def checked_values(distributions: Mapping[str, BaseDistribution], params: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the study's own kinds of numbers. Raises Mistake if a name is unknown or a value out of range."""
    if not distributions:
        raise Mistake(
            "A trial can be enqueued once the study has a finished trial, because its parameters are not known before."
        )
    return {name: _checked_value(distributions, name, value) for name, value in params.items()}


def _checked_value(distributions: Mapping[str, BaseDistribution], name: str, value: Any) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match distributions.get(name):
        case None:
            raise Mistake(_unknown(name, list(distributions)))
        case CategoricalDistribution() as choices:
            return _choice(name, choices, value)
        case FloatDistribution() as numbers:
            return float(_number(name, numbers, value))
        case IntDistribution() as numbers:
            return int(_number(name, numbers, value))
    raise Mistake(f"`{_name(name)}` has a distribution that is not known here, so it cannot be enqueued; leave it out.")


def _unknown(name: str, names: list[str]) -> str:
    listed = ", ".join(f"`{_name(known)}`" for known in names[:_MOST_LISTED])
    if len(names) > _MOST_LISTED:
        listed += f" and {len(names) - _MOST_LISTED} more"
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean `{_name(close[0])}`?" if close else ""
    return f"The study has no parameter `{_name(name)}`; it has {listed}.{hint}"


def _choice(name: str, distribution: CategoricalDistribution, value: Any) -> Any:
    for choice in distribution.choices:
        if isinstance(choice, bool) == isinstance(value, bool) and choice == value:  # For Python, True is 1.
            return choice
    listed = ", ".join(in_words(choice) for choice in distribution.choices[:_MOST_LISTED])
    if len(distribution.choices) > _MOST_LISTED:
        listed += f" and {len(distribution.choices) - _MOST_LISTED} more"
    raise Mistake(f"`{_name(name)}` has to be one of {listed}; got {in_words(value)}.")


def _number(name: str, distribution: FloatDistribution | IntDistribution, value: Any) -> int | float:
    """A number of the range, which NaN is not. Raises Mistake if it is none."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and distribution.low <= value <= distribution.high and _on_grid(distribution, value):
        return value  # type: ignore[no-any-return]
    raise Mistake(f"`{_name(name)}` has to be {_range(distribution)}; got {in_words(value)}.")


def _on_grid(distribution: FloatDistribution | IntDistribution, value: float) -> bool:
    if distribution.step is None:
        return True
    steps = (value - distribution.low) / distribution.step
    return abs(steps - round(steps)) < _STEP_TOLERANCE


def _range(distribution: FloatDistribution | IntDistribution) -> str:
    """ "a number from 0 to 1 in steps of 0.25"."""
    whole = isinstance(distribution.step, int)
    steps = (
        "" if distribution.step is None or (whole and distribution.step == 1) else f" in steps of {distribution.step}"
    )
    return f"a {'whole ' if whole else ''}number from {distribution.low} to {distribution.high}{steps}"


def _name(name: str) -> str:
    return bounded_text(printable(name), _LONGEST_NAME)
