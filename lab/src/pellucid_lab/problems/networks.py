"""Many small networks trained at once: fully connected ones of one shape are stacked and multiplied in batches.

Notation
    B          networks in a stack, each with its own start, shuffling shared; w  the widest of them, narrower ones are
               padded with units that stay zero
    W (B, i, o), b (B, 1, o)  weights and biases of a layer; per-network settings have the shape (B, 1, 1)
Every network makes the same number of updates, whatever its batch size. Penalties are averages over weights, so that a
setting means the same for every width.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import torch

from pellucid.numerics import Array
from pellucid_lab.base import stable_seed

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# Weights of a stack: what a processor's cache still helps with, what keeps a graphics card busy.
_STACK_WEIGHTS = {"cpu": 2_000_000, "cuda": 200_000_000}[DEVICE]
_FORGET = 0.9
_SMALL = 1e-7
_LEAST_KEPT = 0.01


_ACTIVATIONS = {
    "elu": torch.nn.functional.elu,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


@dataclass(frozen=True)
class Task:
    """Data to learn: rows of x and y (one-hot for classes), and how long to train."""

    name: str
    x: tuple[Array, Array, Array]
    y: tuple[Array, Array, Array]
    classes: bool
    updates: int


@dataclass(frozen=True)
class Trained:
    """Means over a configuration's repetitions; errors are squared, or shares of wrong answers."""

    validation: float
    test: float
    parameters: int
    flops: int


def size(task: Task, setting: Mapping[str, Any]) -> tuple[int, int]:
    """Parameters of a network, and operations to evaluate it once."""
    w, layers = setting["n_units"], setting["n_layers"]
    widths = [task.x[0].shape[1], *[w] * layers, task.y[0].shape[1]]
    weights = sum(a * b for a, b in pairwise(widths))
    units = sum(widths[1:])
    extra = 2 * w * layers if setting["batch_norm"] else 0
    return weights + units + extra, 2 * weights + 2 * units + 2 * extra


def train(task: Task, settings: Sequence[Mapping[str, Any]], seed: int = 0) -> list[Trained]:
    """Train every configuration as often as its `n_seeds` says."""
    stacks: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i, one in enumerate(settings):
        stacks[one["n_layers"], one["batch_norm"]] += [i] * one["n_seeds"]
    errors: dict[int, list[tuple[float, float]]] = defaultdict(list)
    with _without_denormals():
        _train_stacks(task, settings, seed, stacks, errors)
    out = []
    for i, one in enumerate(settings):
        validation, test = np.mean(errors[i], axis=0)
        out.append(Trained(float(validation), float(test), *size(task, one)))
    return out


@contextmanager
def _without_denormals() -> Iterator[None]:
    """Numbers too small to matter slow processors down; what the process computes afterwards keeps them."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _train_stacks(
    task: Task,
    settings: Sequence[Mapping[str, Any]],
    seed: int,
    stacks: Mapping[tuple[Any, ...], list[int]],
    errors: dict[int, list[tuple[float, float]]],
) -> None:
    seen: Counter[tuple[int, ...]] = Counter()
    for members in stacks.values():
        members.sort(key=lambda i: (settings[i]["n_units"], settings[i]["batch_size"], i))
        for part in _parts(members, settings):
            # A network too wide for company comes again for every repetition: with another start.
            again = [seen[tuple(part)]] if seen[tuple(part)] else []
            seen[tuple(part)] += 1
            with torch.device(DEVICE):
                found = _train_stack(task, [settings[i] for i in part], stable_seed(seed, *part, *again))
            for i, pair in zip(part, found, strict=True):
                errors[i].append(pair)


def _parts(members: Sequence[int], settings: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Stacks that are not too large, of networks of similar width."""
    parts: list[list[int]] = [[]]
    for i in members:
        wide = settings[i]["n_units"] ** 2 * settings[i]["n_layers"]
        if parts[-1] and (len(parts[-1]) + 1) * wide > _STACK_WEIGHTS:
            parts.append([])
        parts[-1].append(i)
    return [sorted(part, key=lambda i: (settings[i]["optimizer"], settings[i]["activation"], i)) for part in parts]


def _runs(names: Sequence[str]) -> list[tuple[str, slice]]:
    """Neighbours that share a name."""
    out, start = [], 0
    for name, members in groupby(names):
        end = start + len(list(members))
        out.append((name, slice(start, end)))
        start = end
    return out


# ---------------------------------------------------------------------- one stack


def _train_stack(task: Task, settings: Sequence[Mapping[str, Any]], seed: int) -> list[tuple[float, float]]:
    stack = _Stack(task, settings, torch.Generator(DEVICE).manual_seed(seed))
    x, y = (torch.tensor(part[0], dtype=torch.float32) for part in (task.x, task.y))
    batch = torch.tensor([min(one["batch_size"], len(x)) for one in settings])
    largest = int(batch.max())
    rounds = -(-task.updates * largest // len(x)) + 1
    order = torch.cat([torch.randperm(len(x), generator=stack.rng) for _ in range(rounds)])
    slots = torch.arange(largest)
    kept = (slots < batch[:, None]).float()[:, :, None]
    optimizers = [
        (run, _Optimizer(name, [one.detach()[run] for one in stack.parameters], settings[run]))
        for name, run in _runs([one["optimizer"] for one in settings])
    ]
    for k in range(task.updates):
        rows = order[(k * batch[:, None] + slots) % len(order)]
        loss = stack.loss(stack.forward(x[rows], kept), y[rows], kept)
        gradients = torch.autograd.grad(loss, stack.parameters)
        with torch.no_grad():
            stack.penalise(gradients)
            for run, optimizer in optimizers:
                optimizer.step([one[run] for one in gradients], k + 1)
    with torch.no_grad():
        validation, test = (stack.errors(task.x[part], task.y[part]) for part in (1, 2))
    return list(zip(validation.tolist(), test.tolist(), strict=True))


class _Stack:
    def __init__(self, task: Task, settings: Sequence[Mapping[str, Any]], rng: torch.Generator) -> None:
        self.task, self.rng, first = task, rng, settings[0]
        self.normal = first["batch_norm"]
        self.activations = _runs([one["activation"] for one in settings])
        B, w, layers = len(settings), max(one["n_units"] for one in settings), first["n_layers"]
        self.units = (torch.arange(w) < torch.tensor([one["n_units"] for one in settings])[:, None]).float()[:, None]
        ends = task.x[0].shape[1], task.y[0].shape[1]
        inputs = [torch.ones(B, 1, ends[0]), *[self.units] * layers]
        outputs = [*[self.units] * layers, torch.ones(B, 1, ends[1])]
        self.W = [self._start(i, o) for i, o in zip(inputs, outputs, strict=True)]
        self.b = [torch.zeros_like(o).requires_grad_() for o in outputs]
        self.scale = [torch.ones(B, 1, w).requires_grad_() for _ in range(layers)] if self.normal else []
        self.shift = [torch.zeros(B, 1, w).requires_grad_() for _ in range(layers)] if self.normal else []
        self.seen = [(torch.zeros(B, 1, w), torch.ones(B, 1, w)) for _ in range(layers)]
        self.parameters = [*self.W, *self.b, *self.scale, *self.shift]
        rate = [one["dropout_rate"] if one["dropout"] else 0.0 for one in settings]
        self.keep = 1.0 - torch.tensor(rate)[:, None, None].clamp(max=1.0 - _LEAST_KEPT)
        self.absolute = torch.tensor([one["loss_function"] == "l1" for one in settings])[:, None, None]
        self.entropy = torch.tensor([one["loss_function"] == "crossentropy" for one in settings])[:, None, None]
        n_W = sum((i.sum(2) * o.sum(2))[:, :, None] for i, o in zip(inputs, outputs, strict=True))
        n_b = sum(o.sum(2)[:, :, None] for o in outputs)
        self.penalties = [
            (part, torch.tensor([one[f"{name}_l1"] for one in settings])[:, None, None] / n,
             torch.tensor([one[f"{name}_l2"] for one in settings])[:, None, None] / n)
            for part, name, n in ((self.W, "weights_reg", n_W), (self.b, "bias_reg", n_b))
        ]  # fmt: skip

    def _start(self, inputs: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
        """Glorot's uniform start; units that pad a narrow network have weights of zero, and keep them."""
        limit = torch.sqrt(6.0 / (inputs.sum(2) + outputs.sum(2)))[:, :, None]
        drawn = 2.0 * torch.rand(len(inputs), inputs.shape[2], outputs.shape[2], generator=self.rng) - 1.0
        return (limit * drawn * inputs.transpose(1, 2) * outputs).requires_grad_()

    def forward(self, x: torch.Tensor, kept: torch.Tensor | None) -> torch.Tensor:
        """`kept` (B, rows, 1) marks the rows of a batch; None evaluates."""
        h = x
        for k, (W, b) in enumerate(zip(self.W[:-1], self.b[:-1], strict=True)):
            h = torch.baddbmm(b, h, W)
            if self.normal:
                h = self._normalised(h, k, kept)
            parts = torch.split(h, [run.stop - run.start for _, run in self.activations])
            h = torch.cat([_ACTIVATIONS[name](one) for (name, _), one in zip(self.activations, parts, strict=True)])
            on = self.units
            if kept is not None:
                on = on * (torch.rand(h.shape, generator=self.rng) < self.keep) / self.keep
            h = h * on
        return torch.baddbmm(self.b[-1], h, self.W[-1])

    def _normalised(self, h: torch.Tensor, k: int, kept: torch.Tensor | None) -> torch.Tensor:
        mean, variance = self.seen[k]
        if kept is not None:
            n = kept.sum(1, keepdim=True)
            mean = (h * kept).sum(1, keepdim=True) / n
            variance = (((h - mean) ** 2) * kept).sum(1, keepdim=True) / n
            old = self.seen[k]
            self.seen[k] = (
                _FORGET * old[0] + (1.0 - _FORGET) * mean.detach(),
                _FORGET * old[1] + (1.0 - _FORGET) * variance.detach(),
            )
        return (h - mean) / torch.sqrt(variance + 1e-3) * self.scale[k] + self.shift[k]

    def loss(self, out: torch.Tensor, y: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        difference = (torch.softmax(out, 2) if self.task.classes else out) - y
        each = torch.where(self.absolute, difference.abs(), difference**2)
        if self.task.classes:
            each = torch.where(self.entropy, -y * torch.log_softmax(out, 2), each)
            each = each.sum(2, keepdim=True)
        return ((each.mean(2, keepdim=True) * kept).sum(1) / kept.sum(1)).sum()

    def penalise(self, gradients: Sequence[torch.Tensor]) -> None:
        """Add the gradients of the penalties."""
        for (part, l1, l2), mine in zip(self.penalties, (gradients, gradients[len(self.W) :]), strict=True):
            for one, g in zip(part, mine, strict=False):
                g.addcmul_(one.sign(), l1).addcmul_(one, 2.0 * l2)

    def errors(self, x: Array, y: Array) -> torch.Tensor:
        rows = torch.tensor(x, dtype=torch.float32)
        wanted = torch.tensor(y, dtype=torch.float32)
        out = self.forward(rows.expand(len(self.units), *rows.shape), None)
        if self.task.classes:
            wrong = (out.argmax(2) != wanted.argmax(1)).float()
            return torch.where(torch.isfinite(out).all(2).all(1), wrong.mean(1), torch.nan)
        return ((out - wanted) ** 2).mean((1, 2))


class _Optimizer:
    """One of five rules, with the settings of every network."""

    def __init__(self, name: str, parameters: Sequence[torch.Tensor], settings: Sequence[Mapping[str, Any]]) -> None:
        self.parameters = parameters

        def column(name: str, otherwise: float) -> torch.Tensor:
            return torch.tensor([float(one.get(name, otherwise)) for one in settings])[:, None, None]

        self.rule, usual = {
            "adam": (self._adam, 1e-3),
            "nadam": (self._nadam, 1e-3),
            "rmsprop": (self._rmsprop, 1e-3),
            "sgd": (self._sgd, 1e-2),
            "adagrad": (self._adagrad, 1e-3),
        }[name]
        self.rate = column("learning_rate", usual)
        self.beta1, self.beta2 = column("beta_1", 0.9), column("beta_2", 0.999)
        self.momentum = column("momentum", 0.0)
        self.amsgrad, self.centered, self.nesterov = (
            column(name, 0.0) > 0 for name in ("amsgrad", "centered", "nesterov")
        )
        # Asked once: on a graphics card every answer waits for all that is under way.
        self.any_amsgrad, self.any_centered, self.any_momentum = (
            bool(one.any()) for one in (self.amsgrad, self.centered, self.momentum)
        )
        self.moments = [[torch.zeros_like(one) for _ in range(3)] for one in self.parameters]

    def step(self, gradients: Sequence[torch.Tensor], k: int) -> None:
        for one, g, moments in zip(self.parameters, gradients, self.moments, strict=True):
            one.addcmul_(self.rule(g, moments, k), -self.rate)

    def _adam(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        first, second, largest = moments
        first.mul_(self.beta1).add_((1.0 - self.beta1) * g)
        second.mul_(self.beta2).addcmul_((1.0 - self.beta2) * g, g)
        used = second
        if self.any_amsgrad:
            torch.maximum(largest, second, out=largest)
            used = torch.where(self.amsgrad, largest, second)
        at = self._corrected(k)
        return first / at[0] / (torch.sqrt(used / at[1]) + _SMALL)

    def _nadam(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        first, second, _ = moments
        first.mul_(self.beta1).add_((1.0 - self.beta1) * g)
        second.mul_(self.beta2).addcmul_((1.0 - self.beta2) * g, g)
        at = self._corrected(k)
        ahead = self.beta1 * first / (1.0 - self.beta1 ** (k + 1)).clamp(_SMALL) + (1.0 - self.beta1) * g / at[0]
        return ahead / (torch.sqrt(second / at[1]) + _SMALL)

    def _corrected(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        return (1.0 - self.beta1**k).clamp(_SMALL), (1.0 - self.beta2**k).clamp(_SMALL)

    def _rmsprop(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        mean, second, speed = moments
        second.mul_(0.9).addcmul_(g, g, value=0.1)
        used = second
        if self.any_centered:
            mean.mul_(0.9).add_(g, alpha=0.1)
            used = torch.where(self.centered, (second - mean**2).clamp(0.0), second)
        step = g / (torch.sqrt(used) + _SMALL)
        return speed.mul_(self.momentum).add_(step).clone() if self.any_momentum else step

    def _sgd(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        if not self.any_momentum:
            return g
        speed = moments[2].mul_(self.momentum).add_(g)
        return torch.where(self.nesterov, g + self.momentum * speed, speed)

    def _adagrad(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        moments[1].addcmul_(g, g)
        return g / (torch.sqrt(moments[1] + 0.1) + _SMALL)
