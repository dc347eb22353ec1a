"""The deep ranking surrogate on tables: the method of `RankingSampler`, for many runs side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pellucid.models.ranking.ensemble import RankingEnsemble, rank_posterior
from pellucid.numerics import Array, stream
from pellucid.search.acquisition import LCB, PointwiseAcquisition
from pellucid.search.acquisition.base import Situation
from pellucid_lab.papers.ranking.transfer import GaussianProcessEI, TableRuns, handed_over
from pellucid_lab.problems.tabular import Collection, Indices, as_losses

Turns = Literal["alternating", "tuned", "transferred"]
Reference = Literal["incumbent", "last"]


def meta_trained(model: RankingEnsemble, collection: Collection, seed: int) -> RankingEnsemble:
    return model.meta_trained(as_losses(collection.train), as_losses(collection.validation), seed=seed)


@dataclass(frozen=True)
class Ranking:
    """An acquisition on the ranks of an ensemble.

    turns       which ranks: of the meta-trained model, of the fine-tuned model, or of both in turn
    reference   what EI compares with: the best configuration, or (as in the paper's code) the last one
    hand_over   see `handed_over`
    """

    model: RankingEnsemble
    turns: Turns = "alternating"
    acquisition: PointwiseAcquisition = field(default_factory=lambda: LCB(0.0))
    reference: Reference = "incumbent"
    epochs: int | None = None
    hand_over: int | None = None
    seed: int = 0

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        if handed_over(self.hand_over, chosen.shape[1]):
            return GaussianProcessEI()(runs, chosen, y)
        return self.utility(runs, chosen, y, *rank_posterior(self.scores(runs, chosen, y)))

    def utility(self, runs: TableRuns, chosen: Indices, y: Array, mean: Array, sd: Array) -> Array:
        """The acquisition of ranks with that mean and sd, all (G, N)."""
        out, n = np.empty_like(mean), chosen.shape[1]
        for g in range(len(chosen)):
            reference = chosen[g, -1] if self.reference == "last" else chosen[g, int(np.argmax(y[g]))]
            situation = Situation(float(mean[g, reference]), n, len(runs.space))
            out[g] = self.acquisition.score(mean[g], np.maximum(sd[g], 1e-6), situation)
        return out

    def scores(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        """Scores of all configurations, (G, M, N): runs, members, configurations."""
        import torch

        from pellucid.models.ranking.devices import PRECISION, array, device, tensor
        from pellucid.models.ranking.ensemble import one_torch_thread
        from pellucid.models.ranking.network import has_context, initial, scores
        from pellucid.models.ranking.training import fine_tune, shifted, support_of

        model, recipe, n, where = self.model, self.model.recipe, chosen.shape[1], device()
        tables = tensor(runs.features)
        owner, items = torch.as_tensor(runs.owner, device=where), torch.as_tensor(chosen, device=where)
        x = tables[owner[:, None], items]
        values = tensor(np.stack([shifted(row) for row in y]))
        rngs = [stream(self.seed, "ranking", seed, g, n) for g, seed in enumerate(runs.seeds)]
        if model.weights is not None:
            weights = {k: v.to(where, PRECISION).expand(len(chosen), *v.shape[1:]) for k, v in model.weights.items()}
            tuned = self.turns == "tuned" or (self.turns == "alternating" and n % 2 == 0)
            epochs = recipe.tuning_epochs(n) if self.epochs is None else self.epochs
            epochs, rate = epochs if tuned else 0, recipe.tuning_rate
        else:
            generators = [torch.Generator().manual_seed(int(rng.integers(2**62))) for rng in rngs]
            weights = {k: v.to(where) for k, v in initial(model.architecture, generators).items()}
            epochs, rate = recipe.scratch_epochs if self.epochs is None else self.epochs, recipe.scratch_rate
        with one_torch_thread:
            weights = fine_tune(weights, recipe, x, values, epochs, rate, rngs)
            support = support_of(x, values)[:, None] if has_context(weights) else None
            with torch.no_grad():
                all_scores = scores(weights, tables[owner][:, None], support)[:, :, 0]
        return array(all_scores)
