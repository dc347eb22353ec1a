"""Training of ensembles of rankers: on lists of many earlier tasks, and then on the few trials of one study.

Notation (and that of network.py)
    y (..., n)     values of configurations: larger is better, in any unit
    support        configurations of a list that the context is shown with their y;  query: those that are ranked
    class          tasks whose lists are equally long, so that they can share a batch
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pellucid.models.ranking import losses
from pellucid.models.ranking.devices import device, tensor
from pellucid.models.ranking.layers import Arena
from pellucid.models.ranking.losses import TieBreaks, Weighting
from pellucid.models.ranking.network import Architecture, Weights, has_context, initial, scores
from pellucid.models.ranking.optimizer import Adam, copied, leaves
from pellucid.numerics import Array
from pellucid.words import printable

Loss = Literal["list_net", "list_mle", "rank_net", "subset_regression"]
# Smallest `list_size`: a support of three configurations leaves three to rank.
_SHORTEST = 6
# Ratio between the list lengths of neighbouring classes: a smaller one wastes fewer configurations of a task, a larger
# one makes fewer classes.
_CLASS_RATIO = 1.25
# Steps between validations, and the lists of each: more often stops nearer to the best step, more lists make the
# validation loss less noisy, and both cost time.
_VALIDATE_EVERY, _VALIDATION_LISTS = 250, 64
# Validation lists are drawn in this many batches, because the lists of a batch share their class and support size.
_VALIDATION_BATCHES = 8
# Observations before fine-tuning starts: fewer must not overrule what many tasks taught.
_UNTUNED_OBSERVATIONS = 8
# Smallest share of the observations that an epoch of fine-tuning shows to the context: with few of them, most of what
# is ranked is new to it; with all of them, nothing is.
_SMALLEST_SHARE = 0.2
# Multiples of it, modulo 1, are evenly spread (see `parts`).
_GOLDEN_RATIO = 0.6180339887498949


@dataclass(frozen=True)
class Recipe:
    """Settings of the training. They are stored with a model, so that fine-tuning uses those of meta-training.

    loss             "list_net" uses how far the best values stand out, the others only their order
    weighting        of the positions, for "list_mle"
    sharpness        "list_net" aims at the softmax of the standardised values times this: the larger, the more of the
                     probability goes to the few best
    list_size        configurations per list
    support          how many of these are in the support: at most this many, and at most half
    lists            lists per step;  steps  of meta-training at most
    patience         validations without improvement after which meta-training ends
    learning_rate    and weight_decay: of meta-training
    tuning_rate      learning rate of fine-tuning
    scratch_rate     and scratch_epochs: learning rate and epochs of an ensemble that was not meta-trained
    """

    loss: Loss = "list_net"
    weighting: Weighting | None = "inverse_log"
    sharpness: float = 3.0
    list_size: int = 250
    support: int = 50
    lists: int = 16
    steps: int = 3000
    learning_rate: float = 1e-3
    weight_decay: float = 0.1
    patience: int = 6
    tuning_rate: float = 1e-2
    scratch_rate: float = 2e-2
    scratch_epochs: int = 300

    def __post_init__(self) -> None:
        if self.loss not in ("list_net", "list_mle", "rank_net", "subset_regression"):
            raise ValueError(
                f"`loss` must be 'list_net', 'list_mle', 'rank_net' or 'subset_regression', but got {self.loss!r}."
            )
        losses.position_weights(1, self.weighting, torch.empty(0))
        for name, value in asdict(self).items():
            if name in ("loss", "weighting"):
                continue
            whole = name in ("list_size", "support", "lists", "steps", "patience", "scratch_epochs")
            if not is_number(value, whole=whole) or value < 0:
                kind = "whole number" if whole else "number"
                raise ValueError(printable(f"`{name}` must be a {kind} of at least 0, but got {value!r}."))
        if self.list_size < _SHORTEST or min(self.support, self.lists, self.steps) < 1:
            raise ValueError(
                printable(
                    f"`list_size` must be at least {_SHORTEST}, and `support`, `lists` and `steps` at least 1, but got "
                    f"{self}."
                )
            )

    def tuning_epochs(self, n: int) -> int:
        """Epochs of fine-tuning on n observations: none up to eight, then one more for each."""
        return max(0, n - _UNTUNED_OBSERVATIONS)


def is_number(value: object, *, whole: bool = False) -> bool:
    """Whether a value from a file or a user is a finite number and not a bool."""
    return isinstance(value, int if whole else (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def standardised(y: Tensor) -> Tensor:
    """Zero mean and unit sd over the last axis, because only values of one task can be compared; zeros if all values
    are equal."""
    if y.shape[-1] == 0:
        return y
    centred = y - y.mean(-1, keepdim=True)
    spread = centred.square().mean(-1, keepdim=True).sqrt()
    tiny = 1e-6 * (1.0 + y.abs().amax(-1, keepdim=True))
    return torch.where(spread > tiny, centred / spread.clamp(min=1e-30), torch.zeros_like(centred))


def objective(recipe: Recipe, predicted: Tensor, y: Tensor, generator: TieBreaks = None) -> Tensor:
    """The loss of predicted scores (..., n) against y (..., n), mean over all lists."""
    if recipe.loss == "list_net":  # The same target for all members.
        return losses.list_net(predicted, recipe.sharpness * standardised(y))
    y = y.expand_as(predicted)
    if recipe.loss == "list_mle":
        return losses.list_mle(predicted, y, recipe.weighting, generator=generator)
    if recipe.loss == "rank_net":
        return losses.rank_net(predicted, y)
    # This loss compares with the rank, of which a smaller one is better.
    return losses.subset_regression(-predicted, y)


def support_of(x: Tensor, y: Tensor) -> Tensor:
    """(..., s, F), (..., s) -> (..., s, F + 1): input of the context, with y standardised over the support alone."""
    return torch.cat([x, standardised(y)[..., None]], -1)


# ---------------------------------------------------------------------- from earlier tasks


@dataclass(frozen=True)
class PastTask:
    """One earlier task: features (n, F) of its configurations and their values y (n,), larger is better."""

    name: str
    features: Array
    y: Array


@dataclass(frozen=True)
class Batch:
    """Lists of one class: support (1, L, s, F + 1), query (1, L, n, F) and its values y (1, L, n)."""

    support: Tensor | None
    query: Tensor
    y: Tensor


class Lists:
    """Draws lists: a task, then configurations of it without replacement. Support and query do not overlap."""

    def __init__(self, tasks: Sequence[PastTask], recipe: Recipe, context: bool, rng: np.random.Generator) -> None:
        self._rng, self._recipe, self._context = rng, recipe, context
        self._device = device()
        self._generator = torch.Generator(device=self._device).manual_seed(int(rng.integers(2**62)))
        by_length: dict[int, list[PastTask]] = {}
        for task in tasks:
            by_length.setdefault(_length(len(task.y), recipe.list_size), []).append(task)
        self._classes = [(k, self._stacked(members)) for k, members in sorted(by_length.items())]
        self._shares = np.array([len(members) for _, members in sorted(by_length.items())]) / max(len(tasks), 1)

    def _stacked(self, tasks: Sequence[PastTask]) -> tuple[Tensor, Tensor, Tensor]:
        """Features (T, n, F), y (T, n) and which entries are real and not padding (T, n), of T tasks."""
        longest = max(len(task.y) for task in tasks)
        X = np.zeros((len(tasks), longest, tasks[0].features.shape[1]))
        y, real = np.zeros((len(tasks), longest)), np.zeros((len(tasks), longest), dtype=bool)
        for i, task in enumerate(tasks):
            X[i, : len(task.y)], y[i, : len(task.y)], real[i, : len(task.y)] = task.features, shifted(task.y), True
        return (
            tensor(X),
            tensor(y),
            torch.tensor(real, device=self._device),
        )

    def draw(self, lists: int) -> Batch:
        k, (X, Y, real) = self._classes[int(self._rng.choice(len(self._classes), p=self._shares))]
        task = torch.as_tensor(self._rng.integers(len(X), size=lists), device=self._device)
        keys = torch.rand((lists, X.shape[1]), generator=self._generator, dtype=X.dtype, device=self._device)
        items = keys.masked_fill(~real[task], -1.0).topk(k).indices
        x, y = X[task[:, None], items], Y[task[:, None], items]
        most = min(self._recipe.support, k // 2)
        # Uniform on a logarithmic scale, so that early and late stages of a search are equally frequent.
        s = int(np.exp(self._rng.uniform(0.0, np.log(most + 2.0)))) - 1
        support = support_of(x[:, :s], y[:, :s])[None] if self._context else None
        return Batch(support, x[None, :, most:], y[None, :, most:])


def _length(n: int, most: int) -> int:
    """Length of the lists of a task with n configurations: the largest of a geometric sequence that fits."""
    length = most
    while length > n:
        length = int(length / _CLASS_RATIO)
    return length


def shifted(y: Array) -> Array:
    """Values with mean zero and range 1, so that no sum or square of them overflows."""
    # Scaling by a power of two loses no digit; without it, sums of the largest floats would overflow.
    y = np.ldexp(y, -int(np.frexp(np.abs(y).max())[1]))
    y = y - y.min()
    spread = float(y.max())
    return np.asarray((y - y.mean()) / (spread if spread > 0.0 else 1.0))


@dataclass(frozen=True)
class TrainingRecord:
    """Losses at one validation of meta-training.

    training     mean over the steps since the previous validation;  validation  NaN without validation tasks
    """

    step: int
    training: float
    validation: float


def meta_train(
    architecture: Architecture,
    recipe: Recipe,
    tasks: Sequence[PastTask],
    validation: Sequence[PastTask],
    rng: np.random.Generator,
    progress: Callable[[int], None] | None = None,
) -> tuple[Weights, list[TrainingRecord]]:
    """Weights (G = 1) that rank lists of the tasks, and the losses on the way.

    With validation tasks, the weights are those with the smallest validation loss; without, the last ones.
    """
    context = architecture.context != "none"
    lists = Lists(tasks, recipe, context, rng)
    checks = _validation_batches(validation, recipe, context, rng)
    weights = leaves(initial(architecture, [_generator(rng)]))
    optimizer = Adam(weights, recipe.learning_rate, recipe.weight_decay)
    tie_breaks = torch.Generator(device=device()).manual_seed(int(rng.integers(2**62)))
    arena = Arena()
    best, kept, course, waited, running = np.inf, copied(weights), list[TrainingRecord](), 0, 0.0
    for step in range(1, recipe.steps + 1):
        batch = lists.draw(recipe.lists)
        arena.free()
        loss = objective(recipe, scores(weights, batch.query, batch.support, arena), batch.y[:, None], tie_breaks)
        (loss * architecture.members).backward()
        optimizer.step()
        running += float(loss.detach())
        if progress is not None:
            progress(step)
        if step % _VALIDATE_EVERY and step != recipe.steps:
            continue
        validation_loss = _validation_loss(weights, recipe, checks, tie_breaks)
        course.append(TrainingRecord(step, running / (step - (course[-1].step if course else 0)), validation_loss))
        running = 0.0
        if not checks or validation_loss < best:
            best, kept, waited = validation_loss, copied(weights), 0
        else:
            waited += 1
            if waited >= recipe.patience:
                break
    return kept, course


def _validation_batches(
    tasks: Sequence[PastTask], recipe: Recipe, context: bool, rng: np.random.Generator
) -> list[Batch]:
    if not tasks:
        return []
    lists = Lists(tasks, recipe, context, rng)
    return [lists.draw(_VALIDATION_LISTS // _VALIDATION_BATCHES) for _ in range(_VALIDATION_BATCHES)]


def _validation_loss(weights: Weights, recipe: Recipe, batches: Sequence[Batch], tie_breaks: TieBreaks) -> float:
    """Mean over the batches, NaN if there are none."""
    with torch.no_grad():
        values = [
            float(objective(recipe, scores(weights, batch.query, batch.support), batch.y[:, None], tie_breaks))
            for batch in batches
        ]
    return float(np.mean(values)) if values else np.nan


def _generator(rng: np.random.Generator) -> torch.Generator:
    return torch.Generator().manual_seed(int(rng.integers(2**62)))


# ---------------------------------------------------------------------- from the trials of one study


def fine_tune(
    weights: Weights,
    recipe: Recipe,
    x: Tensor,
    y: Tensor,
    epochs: int,
    rate: float,
    rngs: Sequence[np.random.Generator],
) -> Weights:
    """Weights after `epochs` full passes over the observations x (G, n, F), y (G, n) of G studies, side by side.

    Every epoch shows the context a different part of the observations, a fifth to all of them, so that it does not
    always see the values that are ranked.
    """
    if epochs < 1:
        return weights
    context = has_context(weights)
    tuned = leaves(weights)
    optimizer, arena = Adam(tuned, rate), Arena()
    tie_breaks = [torch.Generator(device=x.device).manual_seed(int(rng.integers(2**62))) for rng in rngs]
    query, target = x[:, None], y[:, None, None]
    for shown in parts(x.shape[1], epochs, rngs) if context else [None] * epochs:
        support = None
        if shown is not None:
            items = torch.as_tensor(shown, device=x.device)
            support = support_of(x.gather(1, items[:, :, None].expand(-1, -1, x.shape[2])), y.gather(1, items))[:, None]
        arena.free()
        loss = objective(recipe, scores(tuned, query, support, arena), target, tie_breaks)
        # Studies and members are independent, so their losses are added and not averaged.
        (loss * len(x) * tuned["scorer.0.weight"].shape[1]).backward()
        optimizer.step()
    return copied(tuned)


def parts(
    n: int, epochs: int, rngs: Sequence[np.random.Generator]
) -> Iterator[np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """For every epoch, indices (G, s) of a random part of n observations."""
    orders = np.stack([rng.random((epochs, n)).argsort(axis=-1) for rng in rngs], axis=1)
    for epoch, order in enumerate(orders):
        # Shares are evenly spread by the golden ratio. They are the same for all studies and use no random number, so
        # that the stream of a study does not depend on the studies beside it.
        share = _SMALLEST_SHARE + (1.0 - _SMALLEST_SHARE) * ((epoch * _GOLDEN_RATIO) % 1.0)
        yield order[:, : max(1, round(share * n))]
