"""The ranking network written with `torch.nn` modules and `torch.optim`, one member at a time: what the batched network
is timed against. It has the same sizes, loss, learning rates and lists.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pellucid.models.ranking.training import Lists, Recipe


def plain_network(features: int) -> Any:
    """A scorer with a context that is weighted by nearness, in the sizes of `Architecture`."""
    from torch.nn import Linear, ModuleDict, ReLU, Sequential

    from pellucid.models.ranking.devices import PRECISION, device
    from pellucid.models.ranking.network import Architecture

    a = Architecture(features, members=1)
    hidden = [part for _ in range(a.layers - 1) for part in (Linear(a.width, a.width), ReLU())]
    parts = {
        "place": Sequential(Linear(features, a.context_width), ReLU(), Linear(a.context_width, a.context_size)),
        "each": Sequential(Linear(features + 1, a.context_width), ReLU(), Linear(a.context_width, a.context_size)),
        "scorer": Sequential(
            Linear(features + a.context_outputs, a.width), ReLU(), *hidden, Linear(a.width, a.outputs)
        ),
    }
    return ModuleDict(parts).to(device(), PRECISION)


def plain_scores(network: Any, x: Any, support: Any) -> Any:
    """Scores (..., n) of x (..., n, F) given support (..., s, F + 1), as `network.scores` computes them."""
    import torch

    F, embedded = x.shape[-1], network["each"](support)
    if support.shape[-2] == 0:
        empty = x.new_zeros((*x.shape[:-1], embedded.shape[-1] + 1))
        context = torch.cat([empty, x.new_full((*x.shape[:-1], 1), -4.0)], -1)
    else:
        here, there = network["place"](x), network["place"](support[..., :F])
        square = here.square().sum(-1, keepdim=True) + there.square().sum(-1)[..., None, :] - 2.0 * here @ there.mT
        near = -square.clamp(min=0.0)
        share, distance = near.softmax(-1), near.logsumexp(-1, keepdim=True).clamp(min=-20.0) / 5.0
        context = torch.cat([share @ embedded, share @ support[..., F:], distance], -1)
    return network["scorer"](torch.cat([x, context], -1))[..., 0]


def plain_meta_train(network: Any, recipe: Recipe, lists: Lists) -> Any:
    from torch.optim import AdamW

    from pellucid.models.ranking.training import objective

    optimizer = AdamW(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    for _ in range(recipe.steps):
        batch = lists.draw(recipe.lists)
        assert batch.support is not None
        optimizer.zero_grad()
        objective(recipe, plain_scores(network, batch.query[0], batch.support[0]), batch.y[0]).backward()
        optimizer.step()
    return network


def plain_fine_tune(network: Any, recipe: Recipe, x: Any, y: Any, epochs: int, rng: np.random.Generator) -> Any:
    from torch.optim import Adam

    from pellucid.models.ranking.training import objective, parts, support_of

    tuned = deepcopy(network)
    optimizer = Adam(tuned.parameters(), lr=recipe.tuning_rate)
    for (shown,) in parts(len(y), epochs, [rng]):
        optimizer.zero_grad()
        objective(recipe, plain_scores(tuned, x, support_of(x[shown], y[shown])), y).backward()
        optimizer.step()
    return tuned
