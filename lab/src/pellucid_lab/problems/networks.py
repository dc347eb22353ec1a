"""Many small fully connected networks trained at once: networks with the same layers are stacked and multiplied in
batches.

Notation
    B          networks in a stack, each with its own initial weights; the order of the data is the same for all
    w          width of the widest network; narrower ones are padded with units that stay zero
    W (B, i, o), b (B, 1, o)  weights and biases of a layer; settings of the networks have the shape (B, 1, 1)
All networks make the same number of updates, regardless of their batch size. Penalties are averages over weights, so
that a setting means the same for every width.
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
# Weights of a stack: few enough for the cache of a CPU, many enough to keep a GPU busy.
_STACK_WEIGHTS = {"cpu": 2_000_000, "cuda": 200_000_000}[DEVICE]
# Decay of the moving averages of batch normalisation (a network makes only a few hundred updates), and epsilon of the
# optimisers.
_DECAY = 0.9
_EPSILON = 1e-7
# The least share of units that dropout keeps.
_LEAST_KEPT = 0.01

_ACTIVATIONS = {
    "elu": torch.nn.functional.elu,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


@dataclass(frozen=True)
class NetworkTask:
    """Data for training, validation and tests, rows of x and y (one-hot for classes), and the number of updates."""

    name: str
    x: tuple[Array, Array, Array]
    y: tuple[Array, Array, Array]
    classes: bool
    updates: int


@dataclass(frozen=True)
class TrainedNetwork:
    """Means over a configuration's repetitions; errors are mean squares, or shares of wrong classes."""

    validation: float
    test: float
    parameters: int
    flops: int


def size(task: NetworkTask, setting: Mapping[str, Any]) -> tuple[int, int]:
    """Number of parameters of a network, and of operations to evaluate it once."""
    w, layers = setting["n_units"], setting["n_layers"]
    widths = [task.x[0].shape[1], *[w] * layers, task.y[0].shape[1]]
    weights = sum(a * b for a, b in pairwise(widths))
    units = sum(widths[1:])
    extra = 2 * w * layers if setting["batch_norm"] else 0
    return weights + units + extra, 2 * weights + 2 * units + 2 * extra


def train(task: NetworkTask, settings: Sequence[Mapping[str, Any]], seed: int = 0) -> list[TrainedNetwork]:
    """Train `n_seeds` networks of every configuration."""
    stacks: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i, setting in enumerate(settings):
        stacks[setting["n_layers"], setting["batch_norm"]] += [i] * setting["n_seeds"]
    errors: dict[int, list[tuple[float, float]]] = defaultdict(list)
    with _without_denormals():
        _train_stacks(task, settings, seed, stacks, errors)
    out = []
    for i, setting in enumerate(settings):
        validation, test = np.mean(errors[i], axis=0)
        out.append(TrainedNetwork(float(validation), float(test), *size(task, setting)))
    return out


@contextmanager
def _without_denormals() -> Iterator[None]:
    """Denormal numbers make a CPU slow: inside this block they count as zero."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _train_stacks(
    task: NetworkTask,
    settings: Sequence[Mapping[str, Any]],
    seed: int,
    stacks: Mapping[tuple[Any, ...], list[int]],
    errors: dict[int, list[tuple[float, float]]],
) -> None:
    seen: Counter[tuple[int, ...]] = Counter()
    for members in stacks.values():
        members.sort(key=lambda i: (settings[i]["n_units"], settings[i]["batch_size"], i))
        for part in _parts(members, settings):
            # A very wide network has a stack of its own for every repetition, each with other initial weights.
            again = [seen[tuple(part)]] if seen[tuple(part)] else []
            seen[tuple(part)] += 1
            with torch.device(DEVICE):
                trained = _train_stack(task, [settings[i] for i in part], stable_seed(seed, *part, *again))
            for i, pair in zip(part, trained, strict=True):
                errors[i].append(pair)


def _parts(members: Sequence[int], settings: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Stacks of bounded size, of networks of similar width."""
    parts: list[list[int]] = [[]]
    for i in members:
        wide = settings[i]["n_units"] ** 2 * settings[i]["n_layers"]
        if parts[-1] and (len(parts[-1]) + 1) * wide > _STACK_WEIGHTS:
            parts.append([])
        parts[-1].append(i)
    return [sorted(part, key=lambda i: (settings[i]["optimizer"], settings[i]["activation"], i)) for part in parts]


def _runs(names: Sequence[str]) -> list[tuple[str, slice]]:
    """Slices of neighbours with the same name."""
    out, start = [], 0
    for name, members in groupby(names):
        end = start + len(list(members))
        out.append((name, slice(start, end)))
        start = end
    return out


# ---------------------------------------------------------------------- one stack


def _train_stack(task: NetworkTask, settings: Sequence[Mapping[str, Any]], seed: int) -> list[tuple[float, float]]:
    stack = _Stack(task, settings, torch.Generator(DEVICE).manual_seed(seed))
    x, y = (torch.tensor(part[0], dtype=torch.float32) for part in (task.x, task.y))
    batch = torch.tensor([min(setting["batch_size"], len(x)) for setting in settings])
    largest = int(batch.max())
    rounds = -(-task.updates * largest // len(x)) + 1
    order = torch.cat([torch.randperm(len(x), generator=stack.rng) for _ in range(rounds)])
    slots = torch.arange(largest)
    kept = (slots < batch[:, None]).float()[:, :, None]
    optimizers = [
        (run, _Optimizer(name, [parameter.detach()[run] for parameter in stack.parameters], settings[run]))
        for name, run in _runs([setting["optimizer"] for setting in settings])
    ]
    for k in range(task.updates):
        rows = order[(k * batch[:, None] + slots) % len(order)]
        loss = stack.loss(stack.forward(x[rows], kept), y[rows], kept)
        gradients = torch.autograd.grad(loss, stack.parameters)
        with torch.no_grad():
            stack.penalise(gradients)
            for run, optimizer in optimizers:
                optimizer.step([gradient[run] for gradient in gradients], k + 1)
    with torch.no_grad():
        validation, test = (stack.errors(task.x[part], task.y[part]) for part in (1, 2))
    return list(zip(validation.tolist(), test.tolist(), strict=True))


class _Stack:
    """Networks with the same number of layers, trained together."""

    def __init__(self, task: NetworkTask, settings: Sequence[Mapping[str, Any]], rng: torch.Generator) -> None:
        self.task, self.rng, first = task, rng, settings[0]
        self.normal = first["batch_norm"]
        self.activations = _runs([setting["activation"] for setting in settings])
        n_units = [setting["n_units"] for setting in settings]
        B, w, layers = len(settings), max(n_units), first["n_layers"]
        self.units = (torch.arange(w) < torch.tensor(n_units)[:, None]).float()[:, None]
        ends = task.x[0].shape[1], task.y[0].shape[1]
        inputs = [torch.ones(B, 1, ends[0]), *[self.units] * layers]
        outputs = [*[self.units] * layers, torch.ones(B, 1, ends[1])]
        self.W = [self._start(i, o) for i, o in zip(inputs, outputs, strict=True)]
        self.b = [torch.zeros_like(o).requires_grad_() for o in outputs]
        self.scale = [torch.ones(B, 1, w).requires_grad_() for _ in range(layers)] if self.normal else []
        self.shift = [torch.zeros(B, 1, w).requires_grad_() for _ in range(layers)] if self.normal else []
        self.seen = [(torch.zeros(B, 1, w), torch.ones(B, 1, w)) for _ in range(layers)]
        self.parameters = [*self.W, *self.b, *self.scale, *self.shift]
        rate = [setting["dropout_rate"] if setting["dropout"] else 0.0 for setting in settings]
        self.keep = 1.0 - torch.tensor(rate)[:, None, None].clamp(max=1.0 - _LEAST_KEPT)
        losses = [setting["loss_function"] for setting in settings]
        self.absolute = torch.tensor([loss == "l1" for loss in losses])[:, None, None]
        self.entropy = torch.tensor([loss == "crossentropy" for loss in losses])[:, None, None]
        n_W = sum((i.sum(2) * o.sum(2))[:, :, None] for i, o in zip(inputs, outputs, strict=True))
        n_b = sum(o.sum(2)[:, :, None] for o in outputs)
        self.penalties = [
            (part, torch.tensor([setting[f"{name}_l1"] for setting in settings])[:, None, None] / n,
             torch.tensor([setting[f"{name}_l2"] for setting in settings])[:, None, None] / n)
            for part, name, n in ((self.W, "weights_reg", n_W), (self.b, "bias_reg", n_b))
        ]  # fmt: skip

    def _start(self, inputs: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
        """Glorot's uniform initial weights; those of units that pad a narrow network are zero and stay zero."""
        limit = torch.sqrt(6.0 / (inputs.sum(2) + outputs.sum(2)))[:, :, None]
        drawn = 2.0 * torch.rand(len(inputs), inputs.shape[2], outputs.shape[2], generator=self.rng) - 1.0
        return (limit * drawn * inputs.transpose(1, 2) * outputs).requires_grad_()

    def forward(self, x: torch.Tensor, kept: torch.Tensor | None) -> torch.Tensor:
        """Outputs at x. `kept` (B, rows, 1) marks the rows of a training batch; None: evaluate without dropout."""
        h = x
        for k, (W, b) in enumerate(zip(self.W[:-1], self.b[:-1], strict=True)):
            h = torch.baddbmm(b, h, W)
            if self.normal:
                h = self._normalised(h, k, kept)
            parts = torch.split(h, [run.stop - run.start for _, run in self.activations])
            h = torch.cat([_ACTIVATIONS[name](part) for (name, _), part in zip(self.activations, parts, strict=True)])
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
                _DECAY * old[0] + (1.0 - _DECAY) * mean.detach(),
                _DECAY * old[1] + (1.0 - _DECAY) * variance.detach(),
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
        of_weights_and_biases = (gradients, gradients[len(self.W) :])
        for (part, l1, l2), part_gradients in zip(self.penalties, of_weights_and_biases, strict=True):
            for parameter, g in zip(part, part_gradients, strict=False):
                g.addcmul_(parameter.sign(), l1).addcmul_(parameter, 2.0 * l2)

    def errors(self, x: Array, y: Array) -> torch.Tensor:
        rows = torch.tensor(x, dtype=torch.float32)
        targets = torch.tensor(y, dtype=torch.float32)
        out = self.forward(rows.expand(len(self.units), *rows.shape), None)
        if self.task.classes:
            wrong = (out.argmax(2) != targets.argmax(1)).float()
            return torch.where(torch.isfinite(out).all(2).all(1), wrong.mean(1), torch.nan)
        return ((out - targets) ** 2).mean((1, 2))


class _Optimizer:
    """One of five update rules, with the settings of every network."""

    def __init__(self, name: str, parameters: Sequence[torch.Tensor], settings: Sequence[Mapping[str, Any]]) -> None:
        self.parameters = parameters

        def column(name: str, otherwise: float) -> torch.Tensor:
            return torch.tensor([float(setting.get(name, otherwise)) for setting in settings])[:, None, None]

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
        # Computed once: on a GPU, reading a value waits for all pending operations.
        self.any_amsgrad, self.any_centered, self.any_momentum = (
            bool(settings_of.any()) for settings_of in (self.amsgrad, self.centered, self.momentum)
        )
        self.moments = [[torch.zeros_like(parameter) for _ in range(3)] for parameter in self.parameters]

    def step(self, gradients: Sequence[torch.Tensor], k: int) -> None:
        for parameter, g, moments in zip(self.parameters, gradients, self.moments, strict=True):
            parameter.addcmul_(self.rule(g, moments, k), -self.rate)

    def _adam(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        first, second, largest = moments
        first.mul_(self.beta1).add_((1.0 - self.beta1) * g)
        second.mul_(self.beta2).addcmul_((1.0 - self.beta2) * g, g)
        used = second
        if self.any_amsgrad:
            torch.maximum(largest, second, out=largest)
            used = torch.where(self.amsgrad, largest, second)
        at = self._corrected(k)
        return first / at[0] / (torch.sqrt(used / at[1]) + _EPSILON)

    def _nadam(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        first, second, _ = moments
        first.mul_(self.beta1).add_((1.0 - self.beta1) * g)
        second.mul_(self.beta2).addcmul_((1.0 - self.beta2) * g, g)
        at = self._corrected(k)
        ahead = self.beta1 * first / (1.0 - self.beta1 ** (k + 1)).clamp(_EPSILON) + (1.0 - self.beta1) * g / at[0]
        return ahead / (torch.sqrt(second / at[1]) + _EPSILON)

    def _corrected(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        return (1.0 - self.beta1**k).clamp(_EPSILON), (1.0 - self.beta2**k).clamp(_EPSILON)

    def _rmsprop(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        mean, second, speed = moments
        second.mul_(0.9).addcmul_(g, g, value=0.1)
        used = second
        if self.any_centered:
            mean.mul_(0.9).add_(g, alpha=0.1)
            used = torch.where(self.centered, (second - mean**2).clamp(0.0), second)
        step = g / (torch.sqrt(used) + _EPSILON)
        return speed.mul_(self.momentum).add_(step).clone() if self.any_momentum else step

    def _sgd(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        if not self.any_momentum:
            return g
        speed = moments[2].mul_(self.momentum).add_(g)
        return torch.where(self.nesterov, g + self.momentum * speed, speed)

    def _adagrad(self, g: torch.Tensor, moments: list[torch.Tensor], k: int) -> torch.Tensor:
        moments[1].addcmul_(g, g)
        return g / (torch.sqrt(moments[1] + 0.1) + _EPSILON)
