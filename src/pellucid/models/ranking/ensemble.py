"""The deep ranking surrogate: an ensemble that ranks configurations, learned from earlier tasks or from one study.

Notation
    X (n, d)       encoded configurations (unit cube, float64);  losses (n,) smaller is better, in any unit
    scores (M, n)  of every member, larger is better, no unit;  ranks: 1 for the best of a batch
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from pellucid.models.ranking.devices import PRECISION, array, device, own_mode, tensor
from pellucid.models.ranking.features import features, n_features
from pellucid.models.ranking.network import Architecture, Context, Weights, has_context, initial, scores
from pellucid.models.ranking.training import (
    PastTask,
    Recipe,
    TrainingRecord,
    fine_tune,
    meta_train,
    shifted,
    support_of,
)
from pellucid.numerics import Array, stream
from pellucid.space.encoding import Space
from pellucid.threads import no_fork
from pellucid.words import printable

# A check tries this many of the configurations that the model ranks first: one proposal, or the first few.
_PICKS = (1, 5, 10)


@dataclass(frozen=True)
class Check:
    """How well a model orders a task that it was not trained on, before it has seen any value of it.

    configurations   number of configurations of the task
    regret           (best - best of the first 1, 5, 10 in the model's order) / (best - worst) of the configurations
    random           expectation of the same for a random order
    """

    task: str
    configurations: int
    regret: tuple[float, ...]
    random: tuple[float, ...]

    @property
    def better(self) -> bool:
        """Whether the model's order beats a random one on this task, averaged over the first 1, 5 and 10."""
        return bool(np.mean(self.regret) < np.mean(self.random))


@dataclass(frozen=True)
class Card:
    """The tasks that a model was meta-trained on, and how it did on tasks that were held out.

    tasks    names of the training tasks;  checks  of the held-out tasks
    steps    of meta-training that were run;  course  losses at every validation
    """

    tasks: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    steps: int = 0
    course: tuple[TrainingRecord, ...] = field(default=(), repr=False)

    @property
    def helps(self) -> bool | None:
        """Whether its order beats a random one on the held-out tasks; None if no task was held out."""
        if not self.checks:
            return None
        regret = np.mean([np.mean(check.regret) for check in self.checks])
        return bool(regret < np.mean([np.mean(check.random) for check in self.checks]))


@dataclass(frozen=True)
class RankingEnsemble:
    """An ensemble of scorers: meta-trained if it has `weights`, otherwise trained from scratch at every fit.

    The weights are in single precision, as in its file; all arithmetic with them is in double precision.
    """

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
        # A context helps with transfer and not without it, in the paper and in lab/results/ranking.
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
        """A model trained on tasks (name, X, losses). Validation tasks decide when to stop, and whether it helps.

        `progress` is called with the number of every step, at most `recipe.steps`.
        """
        if not tasks:
            raise ValueError("Meta-training needs at least one task, but got none.")
        transferring = replace(self, context=self.context or "near")
        past, held_out = ([self._past(*task) for task in part] for part in (tasks, validation))
        rng = stream(seed, "meta-training")
        with one_torch_thread:
            weights, course = meta_train(transferring.architecture, self.recipe, past, held_out, rng, progress)
            # Rounded as files keep them, so that a model that was just trained ranks exactly as one that was read.
            model = replace(transferring, weights={name: value.cpu().float() for name, value in weights.items()})
            checks = tuple(check(model, *task) for task in validation)
        return replace(model, card=Card(tuple(task.name for task in past), checks, course[-1].step, tuple(course)))

    def _past(self, name: str, X: Array, losses: Array) -> PastTask:
        if len(losses) < 2:
            raise ValueError(
                printable(f"A task needs at least two configurations, but task `{name}` has {len(losses)}.")
            )
        return PastTask(name, features(self.space, X), -np.asarray(losses, dtype=float))

    def epochs(self, n: int) -> int:
        """Epochs of training on n observations: fine-tuning if the model was meta-trained, else from scratch."""
        return self.recipe.scratch_epochs if self.weights is None else self.recipe.tuning_epochs(n)

    @own_mode()
    def fit(self, X: Array, losses: Array, *, epochs: int | None = None, seed: int = 0) -> FittedRanking:
        """Fine-tune the meta-trained weights on observations, or train a new ensemble if there are none."""
        x, y = tensors(self.space, X, losses)
        rng = stream(seed, "ranking", len(losses))
        epochs = self.epochs(len(losses)) if epochs is None else epochs
        with one_torch_thread:
            if self.weights is not None:
                start, rate = self.weights, self.recipe.tuning_rate
            else:
                generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
                start, rate = initial(self.architecture, [generator]), self.recipe.scratch_rate
            start = {name: value.to(device(), PRECISION) for name, value in start.items()}
            if len(losses) > 1:
                start = fine_tune(start, self.recipe, x[None], y[None], epochs, rate, [rng])
        return FittedRanking(self.space, start, x, y)


@dataclass(frozen=True)
class FittedRanking:
    """Weights, and the observations (features x, values y) that the context of the network reads."""

    space: Space
    weights: Weights = field(repr=False)
    x: Tensor = field(repr=False)
    y: Tensor = field(repr=False)

    @own_mode()
    def scores(self, X: Array) -> Array:
        """(M, n)"""
        query = tensor(features(self.space, X))
        support = support_of(self.x, self.y)[None, None] if has_context(self.weights) else None
        with torch.no_grad(), one_torch_thread:
            values = scores(self.weights, query[None, None], support)[0, :, 0]
        return array(values)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd over members of the rank within this batch (1: the best)."""
        return rank_posterior(self.scores(X))


def check(model: RankingEnsemble, name: str, X: Array, losses: Array) -> Check:
    order = np.argsort(model.fit(X[:0], losses[:0]).predict(X)[0], kind="stable")
    worst_to_best = np.sort(-losses)
    width = float(worst_to_best[-1] - worst_to_best[0]) or 1.0
    regret = [float(losses[order[: min(k, len(losses))]].min() - losses.min()) / width for k in _PICKS]
    expected = [(float(worst_to_best[-1]) - expected_best(worst_to_best, k)) / width for k in _PICKS]
    return Check(name, len(losses), tuple(regret), tuple(expected))


@dataclass(frozen=True)
class RankScale:
    """Ranks among a fixed reference set, which do not depend on the batch. Receipts and explanations use these.

    reference (M, N)   scores of the reference set, ascending per member
    """

    fitted: FittedRanking
    reference: Array

    @staticmethod
    def of(fitted: FittedRanking, X: Array) -> RankScale:
        return RankScale(fitted, np.sort(fitted.scores(X), axis=1))

    def __call__(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd over members of the rank, (n,): 1 + the number of better ones in the set, equal ones by half."""
        values = self.fitted.scores(X)
        ranks = np.empty_like(values)
        for member, (reference, queried) in enumerate(zip(self.reference, values, strict=True)):
            worse = np.searchsorted(reference, queried, side="left")
            not_better = np.searchsorted(reference, queried, side="right")
            ranks[member] = 1.0 + len(reference) - 0.5 * (worse + not_better)
        return ranks.mean(axis=0), ranks.std(axis=0)


def rank_posterior(values: Array) -> tuple[Array, Array]:
    """(..., M, n) scores -> mean and sd over members of the rank, (..., n); equal scores share their average rank."""
    ranks = average_ranks(values)
    return ranks.mean(axis=-2), ranks.std(axis=-2)


def average_ranks(values: Array) -> Array:
    """1 for the largest along the last axis; equal values share the average of their ranks."""
    order = np.argsort(-values, axis=-1, kind="stable")
    sorted_ = np.take_along_axis(values, order, axis=-1)
    n = values.shape[-1]
    position = np.broadcast_to(np.arange(1.0, n + 1.0), values.shape)
    new = np.concatenate([np.ones_like(sorted_[..., :1], dtype=bool), sorted_[..., 1:] != sorted_[..., :-1]], axis=-1)
    last = np.concatenate([new[..., 1:], np.ones_like(new[..., :1])], axis=-1)
    first = np.maximum.accumulate(np.where(new, position, 0.0), axis=-1)
    final = np.flip(np.minimum.accumulate(np.flip(np.where(last, position, n + 1.0), -1), axis=-1), -1)
    out = np.empty(values.shape)
    np.put_along_axis(out, order, 0.5 * (first + final), axis=-1)
    return out


def tensors(space: Space, X: Array, losses: Array) -> tuple[Tensor, Tensor]:
    """Features (n, F) and values (n,), larger is better, on the device."""
    y = shifted(-np.asarray(losses, dtype=float)) if len(losses) else np.empty(0)
    return tensor(features(space, X)), tensor(y)


def expected_best(worst_to_best: Array, k: int) -> float:
    """Expected maximum of k values drawn without replacement: value i is the maximum with probability
    C(i, k - 1) / C(n, k)."""
    n = len(worst_to_best)
    k = min(k, n)
    probability = np.empty(n)
    probability[-1] = k / n
    for i in range(n - 1, 0, -1):
        probability[i - 1] = probability[i] * max(i - k + 1, 0) / i
    return float(probability @ worst_to_best)


class _OneTorchThread:
    """Limits torch to one thread, because networks this small are slower on several, and restores the user's setting.

    Torch keeps the setting per thread, and a new thread starts with the setting that was made last in any thread: with
    ours, if a study runs in several threads. Such a thread restores the setting that the other threads started with,
    and so does a process that is forked while others are inside.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0  # How many threads are.
        self._users_setting = 1
        self._here = threading.local()  # `depth`: how often this thread is inside; `before`: its setting outside.
        if hasattr(os, "register_at_fork"):  # Not on Windows, which cannot fork.
            os.register_at_fork(after_in_child=self._forget_other_threads)

    def __enter__(self) -> None:
        depth = self._depth
        if not depth:
            with no_fork, self._lock:
                self._users_setting = self._here.before = self._setting_outside()
                self._inside += 1
                torch.set_num_threads(1)
        self._here.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._here.depth -= 1
        if not self._here.depth:
            with no_fork, self._lock:
                self._inside -= 1
                torch.set_num_threads(self._here.before)

    @property
    def _depth(self) -> int:
        return getattr(self._here, "depth", 0)

    def _setting_outside(self) -> int:
        """The user's setting for this thread, which is not inside."""
        current = torch.get_num_threads()
        return self._users_setting if self._inside and current == 1 else current

    def _forget_other_threads(self) -> None:
        """In a forked process only the thread that forked is left, which may be inside, too."""
        if self._inside and not self._depth:
            torch.set_num_threads(self._setting_outside())
        self._inside = min(self._depth, 1)


one_torch_thread = _OneTorchThread()
