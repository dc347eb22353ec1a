"""The deep ranking surrogate: an ensemble that says how configurations rank, learned from earlier tasks or from one.

Notation
    X (n, d)       encoded configurations (unit cube, float64);  losses (n,) smaller is better, in any unit
    scores (M, n)  of every member, larger is better;  ranks: 1 for the best of a batch
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from pellucid.numerics import Array, stream
from pellucid.study.encoding import Space
from pellucid.surrogates.ranking.devices import device, own_mode
from pellucid.surrogates.ranking.features import features, n_features
from pellucid.surrogates.ranking.network import Architecture, Context, Weights, has_context, initial, scores
from pellucid.surrogates.ranking.training import (
    Moment,
    PastTask,
    Recipe,
    fine_tune,
    meta_train,
    shifted,
    support_of,
)

_PICKS = (1, 5, 10)


@dataclass(frozen=True)
class Check:
    """How a model, before it has seen anything of it, does on a task that it was not trained on.

    regret       (best - best of the first 1, 5, 10 in the model's order) / (best - worst) of the task's configurations
    random       the same, expected of a random order
    """

    task: str
    configurations: int
    regret: tuple[float, ...]
    random: tuple[float, ...]


@dataclass(frozen=True)
class Card:
    """Where a meta-trained model comes from and what it was seen to do."""

    tasks: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    steps: int = 0
    course: tuple[Moment, ...] = field(default=(), repr=False)

    @property
    def helps(self) -> bool | None:
        """Whether, on tasks held out, its order beats a random one; None where none was held out."""
        if not self.checks:
            return None
        ours = np.mean([np.mean(check.regret) for check in self.checks])
        return bool(ours < np.mean([np.mean(check.random) for check in self.checks]))


@dataclass(frozen=True)
class RankingEnsemble:
    """Scorers that were meta-trained (`weights`), or that start from scratch with every fit."""

    space: Space
    members: int = 10
    layers: int = 2
    width: int = 32
    context: Context | None = None
    recipe: Recipe = field(default_factory=Recipe)
    weights: Weights | None = field(default=None, repr=False, compare=False)
    card: Card | None = None

    @property
    def architecture(self) -> Architecture:
        # A context helps with transfer and hurts without it, in the source and here.
        context = self.context or ("none" if self.weights is None else "near")
        return Architecture(n_features(self.space), self.members, self.width, self.layers, context)

    @own_mode()
    def meta_trained(
        self,
        tasks: Sequence[tuple[str, Array, Array]],
        validation: Sequence[tuple[str, Array, Array]] = (),
        *,
        seed: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> RankingEnsemble:
        """A model that has learned from tasks (name, X, losses); validation tasks say when to stop, and if it helps.

        progress: called with every step, of `recipe.steps` at most.
        """
        if not tasks:
            raise ValueError("Meta-training needs at least one task, but got none.")
        transferring = replace(self, context=self.context or "near")
        past, held_out = ([self._past(*task) for task in part] for part in (tasks, validation))
        rng = stream(seed, "meta-training")
        with one_torch_thread():
            weights, course = meta_train(transferring.architecture, self.recipe, past, held_out, rng, progress)
            model = replace(transferring, weights={name: value.cpu() for name, value in weights.items()})
            checks = tuple(checked(model, *task) for task in validation)
        return replace(model, card=Card(tuple(task.name for task in past), checks, course[-1].step, tuple(course)))

    def _past(self, name: str, X: Array, losses: Array) -> PastTask:
        if len(losses) < 2:
            raise ValueError(f"Tasks need two configurations to have an order, but task `{name}` has {len(losses)}.")
        return PastTask(name, features(self.space, X), -np.asarray(losses, dtype=float))

    @own_mode()
    def fit(self, X: Array, losses: Array, *, epochs: int | None = None, seed: int = 0) -> FittedRanking:
        """The model given observations: meta-trained weights are fine-tuned for some `epochs` (by default more for more
        observations); without them, a new ensemble is trained."""
        x, y = tensors(self.space, X, losses)
        rng = stream(seed, "ranking", len(losses))
        with one_torch_thread():
            if self.weights is not None:
                epochs = self.recipe.tuning_epochs(len(losses)) if epochs is None else epochs
                start, rate = self.weights, self.recipe.tuning_rate
            else:
                epochs = self.recipe.scratch_epochs if epochs is None else epochs
                generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
                start, rate = initial(self.architecture, [generator]), self.recipe.scratch_rate
            start = {name: value.to(device()) for name, value in start.items()}
            if len(losses) > 1:
                start = fine_tune(start, self.recipe, x[None], y[None], epochs, rate, [rng])
        return FittedRanking(self.space, start, x, y)


@dataclass(frozen=True)
class FittedRanking:
    """Weights, and the observations that the Deep Set reads."""

    space: Space
    weights: Weights = field(repr=False)
    x: Tensor = field(repr=False)
    y: Tensor = field(repr=False)

    @own_mode()
    def scores(self, X: Array) -> Array:
        """(M, n)"""
        query = torch.as_tensor(features(self.space, X), dtype=torch.float32, device=self.x.device)
        support = support_of(self.x, self.y)[None, None] if has_context(self.weights) else None
        with torch.no_grad(), one_torch_thread():
            found = scores(self.weights, query[None, None], support)[0, :, 0]
        return np.asarray(found.double().cpu().numpy())

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd over members of the rank within this batch (1: the best)."""
        return rank_posterior(self.scores(X))


def checked(model: RankingEnsemble, name: str, X: Array, losses: Array) -> Check:
    order = np.argsort(model.fit(X[:0], losses[:0]).predict(X)[0], kind="stable")
    worst_to_best = np.sort(-losses)
    width = float(worst_to_best[-1] - worst_to_best[0]) or 1.0
    found = [float(losses[order[: min(k, len(losses))]].min() - losses.min()) / width for k in _PICKS]
    expected = [(float(worst_to_best[-1]) - expected_best(worst_to_best, k)) / width for k in _PICKS]
    return Check(name, len(losses), tuple(found), tuple(expected))


@dataclass(frozen=True)
class RankScale:
    """Ranks among a fixed set of configurations, whatever else is asked: what receipts and explanations speak of.

    reference (M, N)   scores of the set, ascending per member
    """

    fitted: FittedRanking
    reference: Array

    @staticmethod
    def of(fitted: FittedRanking, X: Array) -> RankScale:
        return RankScale(fitted, np.sort(fitted.scores(X), axis=1))

    def __call__(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd over members of 1 + how many of the set are better, (n,); an equal one counts half."""
        found = self.fitted.scores(X)
        ranks = np.empty_like(found)
        for member, (scale, mine) in enumerate(zip(self.reference, found, strict=True)):
            not_better = np.searchsorted(scale, mine, side="left"), np.searchsorted(scale, mine, side="right")
            ranks[member] = 1.0 + len(scale) - 0.5 * (not_better[0] + not_better[1])
        return ranks.mean(axis=0), ranks.std(axis=0)


def rank_posterior(found: Array) -> tuple[Array, Array]:
    """(..., M, n) scores -> mean and sd over members of the rank, (..., n); equal scores share their average rank."""
    ranks = average_ranks(found)
    return ranks.mean(axis=-2), ranks.std(axis=-2)


def average_ranks(found: Array) -> Array:
    """1 for the largest along the last axis; equal values share the average of their ranks."""
    order = np.argsort(-found, axis=-1, kind="stable")
    sorted_ = np.take_along_axis(found, order, axis=-1)
    n = found.shape[-1]
    position = np.broadcast_to(np.arange(1.0, n + 1.0), found.shape)
    new = np.concatenate([np.ones_like(sorted_[..., :1], dtype=bool), sorted_[..., 1:] != sorted_[..., :-1]], axis=-1)
    last = np.concatenate([new[..., 1:], np.ones_like(new[..., :1])], axis=-1)
    first = np.maximum.accumulate(np.where(new, position, 0.0), axis=-1)
    final = np.flip(np.minimum.accumulate(np.flip(np.where(last, position, n + 1.0), -1), axis=-1), -1)
    out = np.empty(found.shape)
    np.put_along_axis(out, order, 0.5 * (first + final), axis=-1)
    return out


def tensors(space: Space, X: Array, losses: Array) -> tuple[Tensor, Tensor]:
    """Features (n, F) and what was reached (n,), larger is better, in single precision on the device."""
    y = shifted(-np.asarray(losses, dtype=float)) if len(losses) else np.empty(0)
    where = device()
    return (
        torch.as_tensor(features(space, X), dtype=torch.float32, device=where),
        torch.as_tensor(y, dtype=torch.float32, device=where),
    )


def expected_best(worst_to_best: Array, k: int) -> float:
    """Of k values drawn without replacement, the largest: value i is it with probability C(i, k - 1) / C(n, k)."""
    n = len(worst_to_best)
    k = min(k, n)
    chance = np.empty(n)
    chance[-1] = k / n
    for i in range(n - 1, 0, -1):
        chance[i - 1] = chance[i] * max(i - k + 1, 0) / i
    return float(chance @ worst_to_best)


class one_torch_thread:
    """Networks this small are slower on several threads; the setting of the user's process comes back afterwards.

    Every thread has a setting of its own, and a new one begins with the last that any thread made: with ours, if a
    study runs in several. What such a thread goes back to is what the others had found.
    """

    _lock = threading.Lock()
    _depth = threading.local()
    _inside = 0
    _found = 1

    def __enter__(self) -> None:
        depth = getattr(self._depth, "value", 0)
        self._depth.value = depth + 1
        if depth:
            return
        with self._lock:
            before = torch.get_num_threads()
            self._before = one_torch_thread._found if one_torch_thread._inside and before == 1 else before
            one_torch_thread._found = self._before
            one_torch_thread._inside += 1
            torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        self._depth.value -= 1
        if self._depth.value:
            return
        with self._lock:
            one_torch_thread._inside -= 1
            torch.set_num_threads(self._before)
