"""The surrogates that the ranking surrogate is compared with, with expected improvement, as methods of `transfer`.

Notation: see `transfer`. Surrogates model losses, so the sign of y is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.numerics import Array
from pellucid.search.acquisition.improvement import log_expected_improvement
from pellucid.space.encoding import Space
from pellucid_lab.papers.ranking.transfer import TableRuns
from pellucid_lab.problems.tabular import Indices, TabularTask

if TYPE_CHECKING:
    from pellucid_lab.papers.ranking.surrogates.deep_kernel import DeepKernelGP
    from pellucid_lab.papers.ranking.surrogates.rgpe import RGPE


def seeds_of(runs: TableRuns, n: int, seed: int, label: str) -> list[int]:
    """A seed for each run, a different one at every step."""
    from pellucid.models.ranking.scaling import seed_of

    return [seed_of(seed, label, g, own, n) for g, own in enumerate(runs.seeds)]


def loss_pairs(tasks: Sequence[TabularTask]) -> list[tuple[Array, Array]]:
    return [(task.X, -task.y) for task in tasks]


def improvement(mean: Array, sd: Array, losses: Array) -> Array:
    """log EI (G, N) over the best of the observed losses (G, n)."""
    return log_expected_improvement(mean, sd, losses.min(axis=1, keepdims=True))


@dataclass(frozen=True)
class DeepEnsembleEI:
    """Deep ensembles trained from scratch at every step, all runs side by side, for the paper's 1000 epochs: on one
    core about a second for one run and 0.1 s for each further run."""

    members: int = 5
    epochs: int = 1000
    learning_rate: float = 0.02
    seed: int = 0

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        from pellucid_lab.papers.ranking.surrogates.deep_ensemble import EnsembleSettings, trained_and_asked

        settings = EnsembleSettings(self.members, epochs=self.epochs, learning_rate=self.learning_rate)
        table, seeds = runs.features[runs.owner], seeds_of(runs, chosen.shape[1], self.seed, "deep ensemble")
        observed = np.take_along_axis(table, chosen[:, :, None], axis=1)
        return improvement(*trained_and_asked(observed, -y, table, settings, seeds), -y)


@dataclass(frozen=True)
class DeepKernelEI:
    """A deep-kernel Gaussian process from scratch at every step (DGP), all runs side by side."""

    epochs: int = 50
    learning_rate: float = 0.01
    seed: int = 0

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        from pellucid_lab.papers.ranking.surrogates.deep_kernel import DeepKernelGP, KernelSettings

        settings = KernelSettings(epochs=self.epochs, learning_rate=self.learning_rate)
        return _deep_kernel(DeepKernelGP(runs.space, settings), runs, chosen, y, self.seed)


@dataclass(frozen=True)
class FewShotEI:
    """A deep-kernel Gaussian process fine-tuned from meta-trained weights at every step (FSBO)."""

    model: DeepKernelGP

    @staticmethod
    def learned(
        space: Space, train: Sequence[TabularTask], validation: Sequence[TabularTask] = (), seed: int = 0
    ) -> FewShotEI:
        from pellucid_lab.papers.ranking.surrogates.deep_kernel import DeepKernelGP

        return FewShotEI(DeepKernelGP.meta_train(space, loss_pairs(train), loss_pairs(validation), seed=seed))

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        return _deep_kernel(self.model, runs, chosen, y, self.model.seed)


def _deep_kernel(model: DeepKernelGP, runs: TableRuns, chosen: Indices, y: Array, seed: int) -> Array:
    table, seeds = runs.features[runs.owner], seeds_of(runs, chosen.shape[1], seed, "deep kernel")
    observed = np.take_along_axis(table, chosen[:, :, None], axis=1)
    return improvement(*model.trained_and_asked(observed, -y, table, seeds), -y)


@dataclass(frozen=True)
class StaticForest:
    """One order for all runs of a table, by a forest that is fitted to the standardised values of the earlier tasks and
    ignores the observations of the run. It shows what transfer achieves without adapting."""

    forest: Any
    # Predictions do not change between steps: those for the tables of the last runs are kept.
    _known: list[tuple[TableRuns, Array]] = field(default_factory=list, repr=False)

    @staticmethod
    def learned(space: Space, train: Sequence[TabularTask], seed: int = 0) -> StaticForest:
        from sklearn.ensemble import ExtraTreesRegressor

        from pellucid.models.ranking.features import features
        from pellucid.models.ranking.scaling import standardise

        X = np.concatenate([features(space, task.X) for task in train])
        y = np.concatenate([standardise(task.y)[0] for task in train])
        return StaticForest(ExtraTreesRegressor(100, min_samples_leaf=5, random_state=seed).fit(X, y))

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        if not any(known is runs for known, _ in self._known):
            self._known[:] = [(runs, np.stack([self.forest.predict(table) for table in runs.features]))]
        return self._known[0][1][runs.owner]


@dataclass(frozen=True)
class RankWeightedEI:
    """The ranking-weighted ensemble of earlier tasks' Gaussian processes (RGPE), run by run."""

    model: RGPE

    @staticmethod
    def learned(space: Space, train: Sequence[TabularTask], seed: int = 0) -> RankWeightedEI:
        from pellucid_lab.papers.ranking.surrogates.rgpe import RGPE

        return RankWeightedEI(RGPE(space, loss_pairs(train), seed=seed))

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        out = np.empty((len(chosen), runs.X.shape[1]))
        for g, (X, value) in enumerate(zip(runs.observed(chosen), y, strict=True)):
            mean, sd = self.model.fit(X, -value).predict(runs.X[runs.owner[g]])
            # Compared with the ensemble's own prediction of the best, because earlier tasks have other units.
            out[g] = log_expected_improvement(mean, sd, float(mean[chosen[g]].min()))
        return out
