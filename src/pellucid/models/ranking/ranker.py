"""A ranking model applied to one study: how it ranks the study's configurations, and whether to trust it there.

Samplers and explainers import this module when they need it, because it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from pellucid.models.ranking.ensemble import FittedRanking, RankingEnsemble, RankScale
from pellucid.models.ranking.files import digest, from_bytes, load, save, to_bytes
from pellucid.models.ranking.translation import Translation, differences
from pellucid.numerics import Array, low_discrepancy, stream
from pellucid.space.encoding import Space
from pellucid.threads import cached_property, no_fork

# Configurations among which a receipt states the rank of a proposal: more resolve the top better and cost more time.
N_REFERENCE = 1024
# Distinct configurations needed to judge the transfer, and the probability of a false alarm at each test. The test runs
# at every proposal, so the level is strict: a false alarm costs all that was learned from earlier studies.
_FEWEST_TO_JUDGE, _LEVEL = 10, 0.01


@dataclass(frozen=True)
class Ranker:
    """A meta-trained model; its name is a digest of its content."""

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
        """Number of studies that the model was trained on."""
        return 0 if self.model.card is None else len(self.model.card.tasks)

    def differences(self, distributions: Mapping[str, BaseDistribution], *, partial: bool = False) -> list[str]:
        return differences(self.model.space, distributions, partial=partial)

    def for_study(self, distributions: Mapping[str, BaseDistribution]) -> StudyRanker:
        """The model applied to a study with these parameters."""
        return StudyRanker(self.model, Translation.of(self.model.space, distributions))

    @cached_property
    def doubt(self) -> str:
        """Reason not to use the model in any study; empty if there is none."""
        card = self.model.card
        if card is None or card.helps is not False:
            return ""
        return "on the studies that were held out, its order was no better than a random one"


@dataclass(frozen=True)
class StudyRanker:
    """A model, meta-trained or not, for configurations in the encoding of one study."""

    model: RankingEnsemble
    translation: Translation

    @staticmethod
    def untrained(space: Space) -> StudyRanker:
        """An ensemble that learns from the study alone."""
        return StudyRanker(RankingEnsemble(space), Translation(space, space))

    @property
    def space(self) -> Space:
        return self.translation.space

    def epochs(self, n: int) -> int:
        """Epochs of training on n observations of the study."""
        return self.model.epochs(n)

    def fit(self, X: Array, losses: Array, epochs: int, seed: int) -> FittedStudyRanker:
        fitted = self.model.fit(self.translation(X), losses, epochs=epochs, seed=seed)
        return FittedStudyRanker(fitted, self.translation)

    def contradiction(self, X: Array, losses: Array) -> str:
        """How the observations contradict the transferred order (Kendall's tau, one-sided); empty if they do not.

        The order is that of the model before it saw the study. Its own proposals all rank near the top, so no
        correlation can be expected among them, but a clearly negative one is evidence against the model. A
        configuration counts once, however often it was tried.
        """
        with no_fork:
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


@dataclass(frozen=True)
class FittedStudyRanker:
    """A fitted model for configurations in the encoding of the study."""

    fitted: FittedRanking
    translation: Translation

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd of the rank within the batch."""
        return self.fitted.predict(self.translation(X))

    def in_model_encoding(self, X: Array) -> Array:
        """See `Translation.in_model_encoding`."""
        return self.translation.in_model_encoding(X)

    def distance_outside(self, X: Array) -> Array:
        """Distance from the ranges the model was trained on, (n,). The model ranks everything outside alike."""
        return self.translation.distance_outside(X)

    def scale(self, seed: int, trial: int) -> Callable[[Array], tuple[Array, Array]]:
        """Function from configurations to the mean and sd of their rank among `N_REFERENCE` configurations that cover
        the space, different ones for each trial."""
        space = self.translation.space
        shift = stream(seed, "rank scale", trial).random(len(space))
        everywhere = space.canonical(low_discrepancy(0, N_REFERENCE, shift))
        scale = RankScale.of(self.fitted, self.translation(everywhere))
        return lambda X: scale(self.translation(X))
