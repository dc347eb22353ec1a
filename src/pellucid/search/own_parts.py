"""Acquisitions and policies that a user wrote.

If a model of pellucid fails, a running study gets its next trial at random. An error in a part of the user's own is
another matter: it would make every proposal random, so it reaches the user.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from pellucid.provenance import AcquisitionState
from pellucid.search.acquisition.base import AcquisitionFunction, Pool
from pellucid.search.rules import RuleError
from pellucid.words import PrintableError, printable


class PartError(PrintableError, RuntimeError):
    """A part of the user's own does not work: the user has to correct it, so the study stops."""


def is_own(part: object) -> bool:
    """Whether a part is of a class that pellucid does not have."""
    return part is not None and type(part).__module__.split(".")[0] != "pellucid"


def check_scores(function: AcquisitionFunction, pool: Pool, state: AcquisitionState) -> None:
    """Raise ValueError if an acquisition does not have one number for each configuration. `state`: at the proposal."""
    scores = np.shape(function.screen_pool(pool))
    if scores != (len(pool.X),):
        raise ValueError(printable(f"the score of {len(pool.X)} configurations has the shape {scores}"))
    if not math.isfinite(state.score):
        raise ValueError(printable(f"the score of the proposal is {state.score}"))
    if state.terms.keys() != state.weights.keys():
        raise ValueError(
            printable(f"`weights` has {', '.join(state.weights)}, but `terms` has {', '.join(state.terms)}")
        )


@contextmanager
def at_work(parts: Sequence[object], number: int) -> Iterator[None]:
    """Where parts of the user's own propose trial `number`: any error becomes a PartError, unless there are none."""
    try:
        yield
    except RuleError:
        raise
    except Exception as error:
        if not parts:
            raise
        names = " and ".join(f"`{type(part).__name__}`" for part in parts)
        raise PartError(
            f"An acquisition or policy of your own has to work for every proposal, but with {names}, trial {number} "
            f"ended in {type(error).__name__}: {error}. Correct it, and go on with the study."
        ) from error
