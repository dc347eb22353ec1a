"""Whether trials have explored a space, as the model of them sees it."""

from __future__ import annotations

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.numerics import Array, low_discrepancy
from pellucid.space.encoding import Space
from pellucid.words import Note

# Points at which the model's uncertainty over the whole space is averaged.
_N_COVER = 256
# The share of the trials' variance that the model may leave unexplained before the space counts as unexplored.
_UNEXPLORED = 0.2
_UNSURE = Note(
    "The model is unsure about most of the space: add random trials before you rely on averages over it.", "evidence"
)


def all_over(space: Space) -> Array:
    """Encoded rows spread over the whole space. Answers that use the same ones agree on whether it is explored."""
    return space.canonical(low_discrepancy(0, _N_COVER, np.full(len(space), 0.5)))


def unexplored(gp: GaussianProcess, anywhere: Array) -> list[str]:
    """A note if the model is unsure about most of the space: `anywhere` are encoded rows spread all over it."""
    variance = float(np.var(gp.data.z))
    if variance < 1e-300:  # All trials agree: there is nothing to compare with.
        return []
    if float(np.mean(gp.latent(anywhere)[1] ** 2)) <= _UNEXPLORED * variance:
        return []
    return [_UNSURE]
