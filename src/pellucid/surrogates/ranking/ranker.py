"""A ranking model in one study: whose ranks count for a proposal, and the configuration that they put first.

Torch stays behind this door: samplers and explainers hold a `Ranker` and import it when they need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from pellucid.numerics import Array, low_discrepancy, stream
from pellucid.study.encoding import Space
from pellucid.surrogates.ranking.ensemble import FittedRanking, RankingEnsemble, RankScale
from pellucid.surrogates.ranking.files import digest, from_bytes, load, save, to_bytes
from pellucid.surrogates.ranking.serving import Translation, differences

N_REFERENCE = 1024
# Observations before a verdict on the transfer, and the chance of a false one at each look.
_FEWEST_TO_JUDGE, _LEVEL = 10, 0.01


@dataclass(frozen=True)
class Ranker:
    """A meta-trained model, with the name that follows from its content."""

    model: RankingEnsemble
    data: bytes
    name: str

    @staticmethod
    def of(model: RankingEnsemble) -> Ranker:
        data = to_bytes(model)
        return Ranker(model, data, digest(data))

    @staticmethod
    def from_file(path: Any) -> Ranker:
        return Ranker.of(load(path))

    @staticmethod
    def from_data(data: bytes, source: str) -> Ranker:
        return Ranker(from_bytes(data, source), data, digest(data))

    def save(self, path: Any) -> None:
        save(self.model, path)

    @property
    def studies(self) -> int:
        return 0 if self.model.card is None else len(self.model.card.tasks)

    def differences(self, given: Mapping[str, BaseDistribution], *, partial: bool = False) -> list[str]:
        return differences(self.model.space, given, partial=partial)

    def serving(self, given: Mapping[str, BaseDistribution]) -> Serving:
        return Serving(self.model, Translation.of(self.model.space, given))

    @cached_property
    def doubt(self) -> str:
        """Why the model should not be used at all; empty where nothing speaks against it."""
        card = self.model.card
        if card is None or card.helps is not False:
            return ""
        return "on the studies that were held out, its order was no better than a random one"


@dataclass(frozen=True)
class Serving:
    """A model and the space of the study that it serves."""

    model: RankingEnsemble
    translation: Translation

    @property
    def space(self) -> Space:
        return self.translation.space

    def fit(self, X: Array, losses: Array, epochs: int, seed: int) -> Ranked:
        return Ranked(self.model.fit(self.translation(X), losses, epochs=epochs, seed=seed), self.translation)

    def contradiction(self, X: Array, losses: Array) -> str:
        """Whether what was observed runs against the transferred order (Kendall's tau, one-sided); empty where not.

        The order is that of the model before it saw the study. Its own proposals are all near the top of it, so that no
        correlation is to be expected among them; a clearly negative one is. A configuration counts once, however often
        it was tried.
        """
        from scipy.stats import kendalltau

        X, which, times = np.unique(X, axis=0, return_inverse=True, return_counts=True)
        if len(X) < _FEWEST_TO_JUDGE:
            return ""
        losses = np.bincount(which.ravel(), losses) / times
        rank, _ = self.fit(X[:0], losses[:0], 0, 0).predict(X)
        tau, p = kendalltau(rank, losses, alternative="less")
        if not p < _LEVEL:
            return ""
        return f"trials that earlier studies rank higher came out worse (Kendall's tau {tau:.2f}, p = {p:.2g})"


def alone(space: Space) -> Serving:
    """An ensemble that knows nothing but the study itself."""
    return Serving(RankingEnsemble(space), Translation(space, space))


@dataclass(frozen=True)
class Ranked:
    """A fitted model that takes configurations in the encoding of the study."""

    fitted: FittedRanking
    translation: Translation

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd of the rank within the batch."""
        return self.fitted.predict(self.translation(X))

    def placed(self, X: Array) -> Array:
        """In the encoding of the model."""
        return self.translation.placed(X)

    def beyond(self, X: Array) -> Array:
        """How far from what the model was trained on, where it ranks everything alike."""
        return self.translation.beyond(X)

    def scale(self, seed: int, trial: int) -> Callable[[Array], tuple[Array, Array]]:
        """Mean and sd of the rank among `N_REFERENCE` configurations that cover the space, others for every trial."""
        space = self.translation.space
        shift = stream(seed, "rank scale", trial).random(len(space))
        everywhere = space.canonical(low_discrepancy(0, N_REFERENCE, shift))
        scale = RankScale.of(self.fitted, self.translation(everywhere))
        return lambda X: scale(self.translation(X))


def epochs_of(model: RankingEnsemble, n: int) -> int:
    """Of training on n observations of a study."""
    if model.weights is None:
        return model.recipe.scratch_epochs
    return model.recipe.tuning_epochs(n)
