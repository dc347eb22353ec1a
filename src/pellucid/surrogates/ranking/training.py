"""How ensembles of rankers learn: from lists of many earlier tasks, and then from the few trials of one study.

Notation (and that of network.py)
    y (..., n)     what configurations reached: larger is better, in any unit
    support        configurations of a list that the Deep Set is shown with their y;  query: those that are ranked
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

from pellucid.numerics import Array
from pellucid.surrogates.ranking import losses
from pellucid.surrogates.ranking.devices import device
from pellucid.surrogates.ranking.layers import Arena
from pellucid.surrogates.ranking.losses import TieBreaks, Weighting
from pellucid.surrogates.ranking.network import Architecture, Weights, has_context, initial, scores

Loss = Literal["list_net", "list_mle", "rank_net", "subset_regression"]
# Shortest list that is worth ranking, and by which factor the lengths of classes differ.
_SHORTEST, _CLASS_RATIO = 6, 1.25
_VALIDATE_EVERY, _VALIDATION_LISTS = 250, 64


@dataclass(frozen=True)
class Recipe:
    """What is learned and how. It travels with a model, so that fine-tuning goes on as meta-training began.

    loss             "list_net" sees how far the best stand out, the others only their order
    weighting        of positions, for "list_mle"
    sharpness        "list_net" aims at the softmax of this many standard deviations: the few best get most of the mass
    list_size        configurations per list;  support  of them at most (and half);  lists  per step
    patience         validations without improvement after which meta-training ends
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
                f"`loss` is 'list_net', 'list_mle', 'rank_net' or 'subset_regression', but got {self.loss!r}."
            )
        losses.position_weights(1, self.weighting, torch.empty(0))
        for name, value in asdict(self).items():
            if name in ("loss", "weighting"):
                continue
            whole = name in ("list_size", "support", "lists", "steps", "patience", "scratch_epochs")
            if not is_number(value, whole=whole) or value < 0:
                raise ValueError(f"`{name}` is a {'whole ' if whole else ''}number of at least 0, but got {value!r}.")
        if self.list_size < _SHORTEST or min(self.support, self.lists, self.steps) < 1:
            raise ValueError(f"Lists need at least {_SHORTEST} configurations, of them 1 support, but got {self}.")

    def tuning_epochs(self, n: int) -> int:
        """Few observations must not overrule what many tasks taught: none up to eight, then one more for each."""
        return max(0, n - 8)


def is_number(value: object, *, whole: bool = False) -> bool:
    """Finite, and no bool: what a file or a user says is a number may be anything."""
    return isinstance(value, int if whole else (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def standardised(y: Tensor) -> Tensor:
    """Zero mean and unit deviation over the last axis: only values of one task are compared. Equal ones become 0."""
    if y.shape[-1] == 0:
        return y
    centred = y - y.mean(-1, keepdim=True)
    spread = centred.square().mean(-1, keepdim=True).sqrt()
    tiny = 1e-6 * (1.0 + y.abs().amax(-1, keepdim=True))
    return torch.where(spread > tiny, centred / spread.clamp(min=1e-30), torch.zeros_like(centred))


def objective(recipe: Recipe, found: Tensor, y: Tensor, generator: TieBreaks = None) -> Tensor:
    """The loss of scores (..., n) against y (..., n), mean over all lists."""
    if recipe.loss == "list_net":  # The same target for all members.
        return losses.list_net(found, recipe.sharpness * standardised(y))
    y = y.expand_as(found)
    if recipe.loss == "list_mle":
        return losses.list_mle(found, y, recipe.weighting, generator=generator)
    if recipe.loss == "rank_net":
        return losses.rank_net(found, y)
    # What it learns is the rank itself, and a smaller one is better.
    return losses.subset_regression(-found, y)


def support_of(x: Tensor, y: Tensor) -> Tensor:
    """(..., s, F), (..., s) -> (..., s, F + 1): what the Deep Set reads; y only as far as it was seen."""
    return torch.cat([x, standardised(y)[..., None]], -1)


# ---------------------------------------------------------------------- from earlier tasks


@dataclass(frozen=True)
class PastTask:
    """One earlier task: features (n, F) of its configurations, and what they reached (n,), larger is better."""

    name: str
    features: Array
    y: Array


@dataclass(frozen=True)
class Batch:
    support: Tensor | None
    query: Tensor
    y: Tensor


class Lists:
    """Draws lists: a task, then configurations of it without replacement; support and query never overlap."""

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
        """features (T, n, F), y (T, n) and which entries there are (T, n)."""
        longest = max(len(task.y) for task in tasks)
        X = np.zeros((len(tasks), longest, tasks[0].features.shape[1]))
        y, real = np.zeros((len(tasks), longest)), np.zeros((len(tasks), longest), dtype=bool)
        for i, task in enumerate(tasks):
            X[i, : len(task.y)], y[i, : len(task.y)], real[i, : len(task.y)] = task.features, shifted(task.y), True
        to = self._device
        return (
            torch.tensor(X, dtype=torch.float32, device=to),
            torch.tensor(y, dtype=torch.float32, device=to),
            torch.tensor(real, device=to),
        )

    def draw(self, lists: int) -> Batch:
        k, (X, Y, real) = self._classes[int(self._rng.choice(len(self._classes), p=self._shares))]
        task = torch.as_tensor(self._rng.integers(len(X), size=lists), device=self._device)
        keys = torch.rand((lists, X.shape[1]), generator=self._generator, dtype=X.dtype, device=self._device)
        items = keys.masked_fill(~real[task], -1.0).topk(k).indices
        x, y = X[task[:, None], items], Y[task[:, None], items]
        most = min(self._recipe.support, k // 2)
        # Early and late moments of a search alike: as many short supports as long ones, on a logarithmic scale.
        s = int(np.exp(self._rng.uniform(0.0, np.log(most + 2.0)))) - 1
        support = support_of(x[:, :s], y[:, :s])[None] if self._context else None
        return Batch(support, x[None, :, most:], y[None, :, most:])


def _length(n: int, most: int) -> int:
    """The length of lists of a task with n configurations: the largest of a geometric sequence that fits."""
    length = most
    while length > n:
        length = int(length / _CLASS_RATIO)
    return length


def shifted(y: Array) -> Array:
    """Single precision keeps what differs only if what is common has been taken off."""
    # A power of two costs no digit, and sums of the largest floats overflow without it.
    y = np.ldexp(y, -int(np.frexp(np.abs(y).max())[1]))
    y = y - y.min()
    spread = float(y.max())
    return np.asarray((y - y.mean()) / (spread if spread > 0.0 else 1.0))


@dataclass(frozen=True)
class Moment:
    """Of meta-training: step, and the losses since the last one (validation: NaN without validation tasks)."""

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
) -> tuple[Weights, list[Moment]]:
    """Weights (G = 1) that rank lists of the tasks, those of the best validation where there are validation tasks."""
    context = architecture.context != "none"
    lists = Lists(tasks, recipe, context, rng)
    held_out = Lists(validation, recipe, context, rng) if validation else None
    checks = [] if held_out is None else [held_out.draw(_VALIDATION_LISTS // 8) for _ in range(8)]
    weights = _leaves(initial(architecture, [_generator(rng)]))
    optimizer = Adam(weights, recipe.learning_rate, recipe.weight_decay)
    tie_breaks = torch.Generator(device=device()).manual_seed(int(rng.integers(2**62)))
    arena = Arena()
    best, kept, course, waited, running = np.inf, _copied(weights), list[Moment](), 0, 0.0
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
        with torch.no_grad():
            held = [
                float(objective(recipe, scores(weights, one.query, one.support), one.y[:, None], tie_breaks))
                for one in checks
            ]
        value = float(np.mean(held)) if held else np.nan
        course.append(Moment(step, running / (step - (course[-1].step if course else 0)), value))
        running = 0.0
        if not held or value < best:
            best, kept, waited = value, _copied(weights), 0
        else:
            waited += 1
            if waited >= recipe.patience:
                break
    return kept, course


class Adam:
    """Adam with decoupled weight decay. Torch's own imports its compiler when it is first used: seconds, for a proposal
    that takes a tenth of one.

    Weights lie one after the other in one piece of memory (see `_leaves`), and so do their moments: neighbours that
    have a gradient move together.
    """

    def __init__(self, weights: Weights, rate: float, decay: float = 0.0) -> None:
        self._rate, self._kept, self._step = rate, 1.0 - rate * decay, 0
        self._weights = list(weights.values())
        self._ends = np.cumsum([w.numel() for w in self._weights]).tolist()
        self._all = self._weights[0].detach().as_strided((self._ends[-1],), (1,))
        self._first, self._second = torch.zeros_like(self._all), torch.zeros_like(self._all)

    def step(self) -> None:
        """Moves the weights down their gradients, which are used up."""
        with torch.no_grad():
            self._step += 1
            begin, slopes = 0, list[Tensor]()
            for w, end in zip(self._weights, self._ends, strict=True):
                if w.grad is None:  # A context that had nothing to read.
                    self._move(begin, slopes)
                    begin, slopes = end, []
                else:
                    slopes.append(w.grad.reshape(-1))
                    w.grad = None
            self._move(begin, slopes)

    def _move(self, begin: int, slopes: Sequence[Tensor]) -> None:
        if not slopes:
            return
        slope = torch.cat(list(slopes))
        w, first, second = (one[begin : begin + len(slope)] for one in (self._all, self._first, self._second))
        rate, unbias = self._rate / (1.0 - 0.9**self._step), (1.0 - 0.999**self._step) ** 0.5
        first.lerp_(slope, 0.1)
        second.mul_(0.999).addcmul_(slope, slope, value=0.001)
        w.mul_(self._kept).addcdiv_(first, second.sqrt().div_(unbias).add_(1e-8), value=-rate)


def _leaves(weights: Weights) -> Weights:
    """Copies that learn, one after the other in one piece of memory. Always in the same order: where a number lies
    decides how sums are rounded, and a model from a file learns what it learned before it was written."""
    ordered = dict(sorted(weights.items()))
    together = torch.cat([value.detach().reshape(-1) for value in ordered.values()]).to(device())
    parts = together.split([value.numel() for value in ordered.values()])
    return {
        name: part.view(value.shape).detach().requires_grad_()
        for part, (name, value) in zip(parts, ordered.items(), strict=True)
    }


def _copied(weights: Weights) -> Weights:
    return {name: value.detach().clone() for name, value in weights.items()}


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

    Every epoch shows the Deep Set another part of them, a fifth to all: what is ranked has then not always been seen.
    """
    if epochs < 1:
        return weights
    context = has_context(weights)
    tuned = _leaves(weights)
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
        # Studies and members are independent: the sum of their losses, not the mean.
        (loss * len(x) * tuned["scorer.0.weight"].shape[1]).backward()
        optimizer.step()
    return _copied(tuned)


def parts(
    n: int, epochs: int, rngs: Sequence[np.random.Generator]
) -> Iterator[np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """For every epoch, (G, s) indices of a random part of n observations."""
    orders = np.stack([rng.random((epochs, n)).argsort(axis=-1) for rng in rngs], axis=1)
    for epoch, order in enumerate(orders):
        # The same sizes for all studies, and without a draw of its own, so that each study's stream stays its own.
        share = 0.2 + 0.8 * ((epoch * 0.6180339887498949) % 1.0)
        yield order[:, : max(1, round(share * n))]
