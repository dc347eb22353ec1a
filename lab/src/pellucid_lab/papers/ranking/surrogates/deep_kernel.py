"""A Gaussian process on the outputs of a network, trained from scratch (DGP) or meta-trained (FSBO).

Notation
    G               independent processes (one for one study);  L tasks that one of them learns from at once
    n, N, F, D      observations, candidates, features of a configuration, outputs of the network
    x (G, L, n, F)  configurations;  y (G, L, n) their losses, scaled;  h(x) (G, L, n, D) the network's output
    k = s matern52(|h(x) - h(x')| / l),  K = k + noise I = C C',  alpha = K^-1 (y - m)
    posterior mean m + k(x, .) alpha;  variance s - |C^-1 k(., x)|^2 (of the function, without noise)
    weights         the network's, and "lengthscale", "outputscale", "noise" (as logarithms) and "mean", (G, 1) each
Everything is in double precision: in single precision, K of a few dozen close points is not positive definite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pellucid.models.ranking.devices import PRECISION, array, device, generators, own_mode, tensor
from pellucid.models.ranking.features import features
from pellucid.models.ranking.network import Architecture, Weights, initial, outputs
from pellucid.models.ranking.scaling import seed_of, standardise, unit_range
from pellucid.numerics import Array
from pellucid.space.encoding import Space

# Noise variance that is always added (of losses with variance 1), for a stable Cholesky factor; and what is added to
# the diagonal, as a share of it, if that is not enough.
_SMALLEST_NOISE = 1e-4
_JITTERS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
_SQRT5 = math.sqrt(5.0)


@dataclass(frozen=True)
class KernelSettings:
    """`layers` linear maps of `width`; `epochs` of Adam with a cosine-annealed `learning_rate` at every fit.

    These epochs and rates did best among a few (0 to 100, 3e-4 to 0.03) on the validation tasks of lcbench. The paper
    has 500 epochs at 0.03; from 0.01 on, a few observations make a meta-trained process forget what it has learned.
    """

    layers: int = 4
    width: int = 32
    epochs: int = 50
    learning_rate: float = 0.01

    def architecture(self, n_features: int) -> Architecture:
        return Architecture(n_features, 1, self.width, self.layers - 1, context="none", outputs=self.width)


SCRATCH = KernelSettings()
FEW_SHOT = KernelSettings(learning_rate=3e-4)


@dataclass(frozen=True)
class MetaSettings:
    """Double sampling: for `steps` of Adam, `tasks_per_step` tasks and `smallest` to `largest` configurations of each.
    With validation tasks, their loss is computed `every` so many steps, and training stops after `patience` steps
    without progress."""

    steps: int = 3000
    learning_rate: float = 1e-3
    tasks_per_step: int = 16
    smallest: int = 5
    largest: int = 50
    every: int = 50
    patience: int = 1000


META = MetaSettings()


# ---------------------------------------------------------------------- the process


def initial_kernels(n_features: int, settings: KernelSettings, chance: Sequence[torch.Generator]) -> Weights:
    weights = initial(settings.architecture(n_features), chance)
    zero = torch.zeros((len(chance), 1), dtype=PRECISION, device="cpu")
    weights |= {"lengthscale": zero, "outputscale": zero.clone(), "noise": zero - 7.0, "mean": zero.clone()}
    return {name: value.to(device()) for name, value in weights.items()}


def embedded(weights: Weights, x: Tensor) -> Tensor:
    """Outputs of the network, (G, L, n, D)."""
    return outputs(weights, x, None)[:, 0]


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(..., n, D), (..., m, D) -> (..., n, m)"""
    square = (a * a).sum(-1)[..., :, None] + (b * b).sum(-1)[..., None, :] - 2.0 * a @ b.transpose(-1, -2)
    return square.clamp(min=0.0)


def covariance(weights: Weights, a: Tensor, b: Tensor) -> Tensor:
    """k between network outputs, (G, L, n, m)"""
    lengthscale, outputscale = (weights[name].exp()[..., None, None] for name in ("lengthscale", "outputscale"))
    # At distance zero the square root has no derivative, but the kernel has one.
    r = _SQRT5 * (squared_distances(a, b) / lengthscale**2 + 1e-14).sqrt()
    return outputscale * (1.0 + r + r * r / 3.0) * torch.exp(-r)


def noisy(weights: Weights, h: Tensor) -> Tensor:
    """K, (G, L, n, n)"""
    noise = weights["noise"].exp()[..., None, None] + _SMALLEST_NOISE
    return covariance(weights, h, h) + noise * torch.eye(h.shape[-2], dtype=h.dtype, device=h.device)


def cholesky(K: Tensor) -> Tensor:
    """Lower Cholesky factors of a batch; of K + jitter I for a K without a factor. Never raises."""
    factor, wrong = torch.linalg.cholesky_ex(K)
    if not bool(wrong.any()):
        return factor
    diagonal = K.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    eye = torch.eye(K.shape[-1], dtype=K.dtype, device=K.device)
    for jitter in _JITTERS:
        again, still = torch.linalg.cholesky_ex(K + jitter * diagonal * eye)
        factor = torch.where((wrong > 0)[..., None, None], again, factor)
        wrong = torch.where(wrong > 0, still, wrong)
        if not bool(wrong.any()):
            return factor
    return torch.where((wrong > 0)[..., None, None], eye, factor)


def negative_log_likelihood(weights: Weights, x: Tensor, y: Tensor) -> Tensor:
    """-log p(y | x) / n, (G, L)."""
    K = noisy(weights, embedded(weights, x))
    residual = y - weights["mean"][..., None]
    with torch.no_grad():
        factor = cholesky(K)
        inverse = torch.cholesky_inverse(factor)
        alpha = (inverse @ residual[..., None])[..., 0]
        log_determinant = 2.0 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        value = 0.5 * ((residual * alpha).sum(-1) + log_determinant + y.shape[-1] * math.log(2.0 * math.pi))
        slopes = 0.5 * (inverse - alpha[..., :, None] * alpha[..., None, :])
    # The derivatives with respect to K have a closed form: a linear function with these slopes and this value avoids
    # differentiating through the factorisation.
    linear = (slopes * K).sum((-1, -2)) + (alpha * residual).sum(-1)
    return (value + linear - linear.detach()) / y.shape[-1]


def posterior(weights: Weights, x: Tensor, y: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and sd of the function, both (G, L, N)."""
    h, other = embedded(weights, x), embedded(weights, candidates)
    factor = cholesky(noisy(weights, h))
    half = torch.linalg.solve_triangular(factor, covariance(weights, h, other), upper=False)
    white = torch.linalg.solve_triangular(factor, (y - weights["mean"][..., None])[..., None], upper=False)
    outputscale = weights["outputscale"].exp()[..., None]
    mean = weights["mean"][..., None] + (half * white).sum(-2)
    variance = outputscale - (half * half).sum(-2)
    return mean, torch.maximum(variance, 1e-10 * outputscale).sqrt()


# ---------------------------------------------------------------------- learning


def descend(
    weights: Weights,
    loss: Callable[[Weights], Tensor],
    steps: int,
    rate: Callable[[int], float],
    enough: Callable[[int, Weights], bool] | None = None,
) -> Weights:
    """Weights after `steps` of Adam, or as soon as `enough` returns true. Infinite and NaN gradients count as zero."""
    learned = {name: value.clone().requires_grad_() for name, value in weights.items()}
    optimiser = torch.optim.Adam(learned.values(), rate(0), fused=True)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate(step)
        optimiser.zero_grad()
        loss(learned).backward()
        for value in learned.values():
            if value.grad is not None:
                value.grad.nan_to_num_(0.0, 0.0, 0.0)
        optimiser.step()
        if enough is not None and enough(step + 1, learned):
            break
    return {name: value.detach() for name, value in learned.items()}


def annealed(rate: float, steps: int) -> Callable[[int], float]:
    return lambda step: 0.5 * rate * (1.0 + math.cos(math.pi * step / max(steps, 1)))


def adapt(weights: Weights, x: Tensor, y: Tensor, settings: KernelSettings) -> Weights:
    """Weights (G, ...) fine-tuned on x (G, n, F) and y (G, n), each process independently."""
    inputs, targets = x[:, None], y[:, None]
    return descend(
        weights,
        lambda w: negative_log_likelihood(w, inputs, targets).sum(),
        settings.epochs,
        annealed(settings.learning_rate, settings.epochs),
    )


def with_lengthscales_of(weights: Weights, x: Tensor) -> Weights:
    """The same weights, with the median distance between the outputs at x (G, n, F) as lengthscale: an untrained
    network maps configurations so close together that the kernel would not distinguish them for many epochs."""
    if x.shape[1] < 2:
        return weights
    h = embedded(weights, x[:, None])[:, 0]
    i, j = torch.triu_indices(x.shape[1], x.shape[1], 1, device=x.device)
    typical = squared_distances(h, h)[:, i, j].sqrt().median(-1).values
    return weights | {"lengthscale": typical.clamp(min=1e-6).log()[:, None]}


def meta_trained(
    tasks: Sequence[tuple[Tensor, Tensor]],
    validation: Sequence[tuple[Tensor, Tensor]],
    kernel: KernelSettings,
    settings: MetaSettings,
    seed: int,
) -> Weights:
    """Weights (G = 1) that maximise the likelihood of batches of all tasks, or the best for the validation tasks."""
    rng = np.random.default_rng(seed_of(seed, "meta-training"))
    weights = initial_kernels(tasks[0][0].shape[-1], kernel, generators([seed_of(seed, "meta-trained kernel")]))
    x, _ = double_sample(tasks, settings, rng)
    weights = with_lengthscales_of(weights, x[:, 0])
    held_out = [double_sample(validation, settings, rng) for _ in range(20)] if validation else []
    best, best_loss, best_step = weights, math.inf, 0

    def enough(step: int, now: Weights) -> bool:
        nonlocal best, best_loss, best_step
        if step % settings.every:
            return False
        plain = {name: value.detach().clone() for name, value in now.items()}
        loss = float(np.mean([float(negative_log_likelihood(plain, *batch).mean()) for batch in held_out]))
        if loss < best_loss:
            best, best_loss, best_step = plain, loss, step
        return step - best_step >= settings.patience

    last = descend(
        weights,
        lambda w: negative_log_likelihood(w, *double_sample(tasks, settings, rng)).mean(),
        settings.steps,
        lambda _: settings.learning_rate,
        enough if held_out else None,
    )
    return best if held_out else last


def double_sample(
    tasks: Sequence[tuple[Tensor, Tensor]], settings: MetaSettings, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """x (1, L, n, F), y (1, L, n): random tasks, and random configurations of each.

    The losses of every batch are scaled to a random part of [0, 1], because the range of a study's losses is not known
    in advance. On the validation tasks of lcbench, without fine-tuning, standardised batches had 1.5 times the regret
    after 10 steps and 5 times after 20.
    """
    drawn = rng.choice(len(tasks), min(settings.tasks_per_step, len(tasks)), replace=False)
    n = min(int(rng.integers(settings.smallest, settings.largest + 1)), *(len(tasks[t][1]) for t in drawn))
    rows = [rng.choice(len(tasks[t][1]), n, replace=False) for t in drawn]
    x = torch.stack([tasks[t][0][r] for t, r in zip(drawn, rows, strict=True)])
    y = torch.stack([tasks[t][1][r] for t, r in zip(drawn, rows, strict=True)])
    low, high = (tensor(end) for end in np.sort(rng.random((2, len(drawn), 1)), axis=0))
    smallest, largest = y.amin(-1, keepdim=True), y.amax(-1, keepdim=True)
    y = low + (high - low) * (y - smallest) / (largest - smallest).clamp(min=1e-12)
    return x[None], y[None]


# ---------------------------------------------------------------------- the surrogate


class DeepKernelGP:
    """A deep-kernel process for one study; every `fit` starts again, from scratch or from meta-trained weights."""

    def __init__(
        self,
        space: Space,
        settings: KernelSettings = SCRATCH,
        seed: int = 0,
        start: Weights | None = None,
    ) -> None:
        self.space = space
        self.settings = settings
        self.seed = seed
        self.start = start
        self._fitted: tuple[Weights, Tensor, Tensor, float, float] | None = None

    @staticmethod
    @own_mode()
    def meta_train(
        space: Space,
        tasks: Sequence[tuple[Array, Array]],
        validation: Sequence[tuple[Array, Array]] = (),
        settings: KernelSettings = FEW_SHOT,
        meta: MetaSettings = META,
        seed: int = 0,
    ) -> DeepKernelGP:
        """The few-shot surrogate of earlier tasks, which are pairs of encoded configurations and losses."""
        usable = [_prepared(space, X, y) for X, y in tasks if len(y) > 1]
        if not usable:
            raise ValueError("`tasks` must hold at least one task with two or more configurations.")
        others = [_prepared(space, X, y) for X, y in validation if len(y) > 1]
        return DeepKernelGP(space, settings, seed, meta_trained(usable, others, settings, meta, seed))

    def starts(self, x: Tensor, seeds: Sequence[int]) -> Weights:
        """Weights (G, ...) to be fine-tuned on features x (G, n, F)."""
        if self.start is None:
            chance = generators(seeds)
            return with_lengthscales_of(initial_kernels(x.shape[-1], self.settings, chance), x)
        return {name: value.expand(len(x), *value.shape[1:]) for name, value in self.start.items()}

    @own_mode()
    def trained_and_asked(self, x: Array, y: Array, candidates: Array, seeds: Sequence[int]) -> tuple[Array, Array]:
        """Mean and sd (G, N) in the unit of the losses y (G, n) of G studies side by side; x, candidates: features."""
        z, centre, unit = self._scaled(y)
        inputs, targets = tensor(x), tensor(z)
        weights = adapt(self.starts(inputs, seeds), inputs, targets, self.settings)
        mean, sd = posterior(weights, inputs[:, None], targets[:, None], tensor(candidates)[:, None])
        return centre + unit * array(mean[:, 0]), unit * array(sd[:, 0])

    def _scaled(self, y: Array) -> tuple[Array, Array, Array]:
        """Standardised losses for a process from scratch; in [0, 1], as in its training, for a meta-trained one."""
        return standardise(y) if self.start is None else unit_range(y)

    @own_mode()
    def fit(self, X: Array, y: Array) -> DeepKernelGP:
        z, centre, unit = self._scaled(y)
        x, targets = tensor(features(self.space, X)[None]), tensor(z[None])
        weights = adapt(self.starts(x, [seed_of(self.seed, "deep kernel", len(z))]), x, targets, self.settings)
        self._fitted = weights, x, targets, float(centre[0]), float(unit[0])
        return self

    @own_mode()
    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and sd (of the function, without noise) in the unit of the losses."""
        if self._fitted is None:
            raise ValueError("This DeepKernelGP has not been fitted: call `.fit(X, y)` first.")
        weights, x, z, centre, unit = self._fitted
        candidates = tensor(features(self.space, X)[None])
        mean, sd = posterior(weights, x[:, None], z[:, None], candidates[:, None])
        return centre + unit * array(mean[0, 0]), unit * array(sd[0, 0])


def _prepared(space: Space, X: Array, y: Array) -> tuple[Tensor, Tensor]:
    return tensor(features(space, X)), tensor(standardise(y)[0])
