"""The surrogates that a ranking surrogate is measured against, with expected improvement, as methods of `transfer`.

Notation: see `transfer`. Surrogates speak of losses, so y changes its sign on the way in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.acquisition.improvement import log_expected_improvement
from pellucid.numerics import Array
from pellucid.study.encoding import Space
from pellucid_lab.papers.ranking.transfer import Runs
from pellucid_lab.problems.tabular import Indices, Task

if TYPE_CHECKING:
    from pellucid_lab.papers.ranking.surrogates.deep_kernel import DeepKernelGP
    from pellucid_lab.papers.ranking.surrogates.rgpe import RGPE


def seeds_of(runs: Runs, n: int, seed: int, label: str) -> list[int]:
    """One per run, another one at every step."""
    from pellucid.surrogates.ranking.scaling import seed_of

    return [seed_of(seed, label, g, own, n) for g, own in enumerate(runs.seeds)]


def as_losses(tasks: Sequence[Task]) -> list[tuple[Array, Array]]:
    return [(task.X, -task.y) for task in tasks]


def improvement(mean: Array, sd: Array, losses: Array) -> Array:
    """log EI (G, N) over the best of the losses (G, n) that were observed."""
    return log_expected_improvement(mean, sd, losses.min(axis=1, keepdims=True))


@dataclass(frozen=True)
class DeepEnsembleEI:
    """Deep ensembles from scratch at every step, all runs side by side. All of the source's 1000 epochs: about a second
    for one run and 0.1 s more for each run beside it, on one core."""

    members: int = 5
    epochs: int = 1000
    learning_rate: float = 0.02
    seed: int = 0

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        from pellucid_lab.papers.ranking.surrogates.deep_ensemble import EnsembleSettings, trained_and_asked

        settings = EnsembleSettings(self.members, epochs=self.epochs, learning_rate=self.learning_rate)
        table, seeds = runs.features[runs.owner], seeds_of(runs, chosen.shape[1], self.seed, "deep ensemble")
        seen = np.take_along_axis(table, chosen[:, :, None], axis=1)
        return improvement(*trained_and_asked(seen, -y, table, settings, seeds), -y)


@dataclass(frozen=True)
class DeepKernelEI:
    """A deep-kernel Gaussian process from scratch at every step (DGP), all runs side by side."""

    epochs: int = 50
    learning_rate: float = 0.01
    seed: int = 0

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        from pellucid_lab.papers.ranking.surrogates.deep_kernel import DeepKernelGP, KernelSettings

        settings = KernelSettings(epochs=self.epochs, learning_rate=self.learning_rate)
        return _deep_kernel(DeepKernelGP(runs.space, settings), runs, chosen, y, self.seed)


@dataclass(frozen=True)
class FewShotEI:
    """A deep-kernel Gaussian process fine-tuned from meta-trained weights at every step (FSBO)."""

    model: DeepKernelGP

    @staticmethod
    def learned(space: Space, train: Sequence[Task], validation: Sequence[Task] = (), seed: int = 0) -> FewShotEI:
        from pellucid_lab.papers.ranking.surrogates.deep_kernel import DeepKernelGP

        return FewShotEI(DeepKernelGP.meta_train(space, as_losses(train), as_losses(validation), seed=seed))

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        return _deep_kernel(self.model, runs, chosen, y, self.model.seed)


def _deep_kernel(model: DeepKernelGP, runs: Runs, chosen: Indices, y: Array, seed: int) -> Array:
    table, seeds = runs.features[runs.owner], seeds_of(runs, chosen.shape[1], seed, "deep kernel")
    seen = np.take_along_axis(table, chosen[:, :, None], axis=1)
    return improvement(*model.trained_and_asked(seen, -y, table, seeds), -y)


@dataclass(frozen=True)
class StaticForest:
    """One order for every run of a table: of a forest (scikit-learn's) that has the earlier tasks' standardised
    values and nothing else: what transfer is worth before it listens."""

    forest: Any
    # It says the same at every step: the last runs and what it said of their tables.
    _known: list[tuple[Runs, Array]] = field(default_factory=list, repr=False)

    @staticmethod
    def learned(space: Space, train: Sequence[Task], seed: int = 0) -> StaticForest:
        from sklearn.ensemble import ExtraTreesRegressor

        from pellucid.surrogates.ranking.features import features
        from pellucid.surrogates.ranking.scaling import standardise

        X = np.concatenate([features(space, task.X) for task in train])
        y = np.concatenate([standardise(task.y)[0] for task in train])
        return StaticForest(ExtraTreesRegressor(100, min_samples_leaf=5, random_state=seed).fit(X, y))

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        if not any(known is runs for known, _ in self._known):
            self._known[:] = [(runs, np.stack([self.forest.predict(table) for table in runs.features]))]
        return self._known[0][1][runs.owner]


@dataclass(frozen=True)
class RankWeightedEI:
    """The ranking-weighted ensemble of earlier tasks' Gaussian processes (RGPE), run by run."""

    model: RGPE

    @staticmethod
    def learned(space: Space, train: Sequence[Task], seed: int = 0) -> RankWeightedEI:
        from pellucid_lab.papers.ranking.surrogates.rgpe import RGPE

        return RankWeightedEI(RGPE(space, as_losses(train), seed=seed))

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        out = np.empty((len(chosen), runs.X.shape[1]))
        for g, (X, value) in enumerate(zip(runs.seen(chosen), y, strict=True)):
            mean, sd = self.model.fit(X, -value).predict(runs.X[runs.owner[g]])
            # What the ensemble itself says of the best: earlier tasks' losses are in units of their own.
            out[g] = log_expected_improvement(mean, sd, float(mean[chosen[g]].min()))
        return out
