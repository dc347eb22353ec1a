"""Networks trained in a stack are the networks one would train alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from pellucid_lab.problems import network_tasks
from pellucid_lab.problems.networks import NetworkTask, _Optimizer, _Stack, size, train

SETTING: dict[str, Any] = {
    "n_layers": 3, "n_units": 9, "activation": "tanh", "dropout": False, "batch_norm": False, "batch_size": 5,
    "loss_function": "l2", "n_seeds": 1, "weights_reg_l1": 0.03, "weights_reg_l2": 0.02, "bias_reg_l1": 0.01,
    "bias_reg_l2": 0.05, "optimizer": "adam",
}  # fmt: skip
RNG = np.random.default_rng(0)
X, Y = RNG.random((12, 4)), RNG.random((12, 2))
REGRESSION = NetworkTask("small", (X, X, X), (Y, Y, Y), classes=False, updates=30)
CLASSES = replace(REGRESSION, y=(np.eye(2)[RNG.integers(2, size=12)],) * 3, classes=True)


def alone(stack: _Stack, i: int, width: int, setting: dict[str, Any]) -> torch.nn.Sequential:
    """Network i of a stack as an ordinary module."""
    widths = [4, *[width] * setting["n_layers"], 2]
    layers: list[torch.nn.Module] = []
    kinds = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU, "sigmoid": torch.nn.Sigmoid}
    for k, (a, b) in enumerate(pairwise(widths)):
        linear = torch.nn.Linear(a, b)
        with torch.no_grad():
            linear.weight.copy_(stack.W[k][i, :a, :b].T)
            linear.bias.copy_(stack.b[k][i, 0, :b])
        layers.append(linear)
        if k < setting["n_layers"]:
            if setting["batch_norm"]:
                layers.append(torch.nn.BatchNorm1d(b, eps=1e-3))
            layers.append(kinds[setting["activation"]]())
    return torch.nn.Sequential(*layers)


def penalty(module: torch.nn.Sequential, setting: dict[str, Any]) -> torch.Tensor:
    linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    W, b = torch.cat([layer.weight.ravel() for layer in linear]), torch.cat([layer.bias.ravel() for layer in linear])
    return (
        setting["weights_reg_l1"] * W.abs().mean()
        + setting["weights_reg_l2"] * (W**2).mean()
        + setting["bias_reg_l1"] * b.abs().mean()
        + setting["bias_reg_l2"] * (b**2).mean()
    )


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize(("task", "losses"), [(REGRESSION, ("l2", "l1")), (CLASSES, ("crossentropy", "l2"))])
def test_gradients_in_a_stack_are_those_of_each_network(
    task: NetworkTask, losses: tuple[str, str], batch_norm: bool
) -> None:
    settings = [
        {**SETTING, "n_units": 9, "activation": "tanh", "loss_function": losses[0], "batch_norm": batch_norm},
        {**SETTING, "n_units": 5, "activation": "sigmoid", "loss_function": losses[1], "batch_norm": batch_norm},
        {**SETTING, "n_units": 7, "activation": "elu", "batch_size": 3, "batch_norm": batch_norm},
    ]
    stack = _Stack(task, settings, torch.Generator().manual_seed(0))
    x, y = torch.tensor(X[:5], dtype=torch.float32), torch.tensor(task.y[0][:5], dtype=torch.float32)
    rows = [5, 5, 3]
    kept = (torch.arange(5) < torch.tensor(rows)[:, None]).float()[:, :, None]
    with torch.no_grad():
        for bias in stack.b:
            bias += 0.1 * (bias == 0) * (torch.ones_like(bias) if bias.shape[2] == 2 else stack.units)
    gradients = torch.autograd.grad(
        stack.loss(stack.forward(x.expand(3, 5, 4), kept), y.expand(3, 5, 2), kept), stack.parameters
    )
    stack.penalise(gradients)
    for i, setting in enumerate(settings):
        module = alone(stack, i, setting["n_units"], setting)
        out, wanted = module(x[: rows[i]]), y[: rows[i]]
        if setting["loss_function"] == "crossentropy":
            loss = torch.nn.functional.cross_entropy(out, wanted.argmax(1))
        else:
            difference = (torch.softmax(out, 1) if task.classes else out) - wanted
            each = difference.abs() if setting["loss_function"] == "l1" else difference**2
            loss = each.sum(1).mean() if task.classes else each.mean()
        (loss + penalty(module, setting)).backward()
        linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
        for k, layer in enumerate(linear):
            a, b = layer.in_features, layer.out_features
            assert layer.weight.grad is not None
            assert layer.bias.grad is not None
            torch.testing.assert_close(gradients[k][i, :a, :b].T, layer.weight.grad, rtol=2e-4, atol=2e-6)
            torch.testing.assert_close(gradients[len(linear) + k][i, 0, :b], layer.bias.grad, rtol=2e-4, atol=2e-6)
            # What pads a narrow network is never moved.
            assert not gradients[k][i, a:].any()
            assert not gradients[k][i, :, b:].any()


@pytest.mark.parametrize(
    ("name", "extra", "peer"),
    [
        ("adam", {"beta_1": 0.85, "beta_2": 0.95}, lambda p: torch.optim.Adam(p, 0.01, (0.85, 0.95), eps=1e-7)),
        ("adam", {"amsgrad": True}, lambda p: torch.optim.Adam(p, 0.01, eps=1e-7, amsgrad=True)),
        ("sgd", {}, lambda p: torch.optim.SGD(p, 0.01)),
        ("sgd", {"momentum": 0.7}, lambda p: torch.optim.SGD(p, 0.01, momentum=0.7)),
        ("sgd", {"momentum": 0.7, "nesterov": True}, lambda p: torch.optim.SGD(p, 0.01, momentum=0.7, nesterov=True)),
        ("rmsprop", {}, lambda p: torch.optim.RMSprop(p, 0.01, alpha=0.9, eps=1e-7)),
        ("rmsprop", {"momentum": 0.6}, lambda p: torch.optim.RMSprop(p, 0.01, alpha=0.9, eps=1e-7, momentum=0.6)),
        ("adagrad", {}, lambda p: torch.optim.Adagrad(p, 0.01, initial_accumulator_value=0.1, eps=1e-7)),
    ],
)
def test_optimisers_step_like_those_of_torch(name: str, extra: dict[str, Any], peer: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    ours = torch.randn(2, 3, 4, generator=generator)
    theirs = torch.nn.Parameter(ours[1].clone())
    optimizer = _Optimizer(name, [ours], [{"learning_rate": 0.5}, {"learning_rate": 0.01, **extra}])
    reference = peer([theirs])
    for k in range(1, 20):
        g = torch.randn(2, 3, 4, generator=generator)
        optimizer.step([g], k)
        theirs.grad = g[1].clone()
        reference.step()
        torch.testing.assert_close(ours[1], theirs.detach(), rtol=1e-4, atol=1e-6)


def test_more_updates_fit_better_and_dropout_does_not_at_test_time() -> None:
    task = network_tasks.task("runge")
    setting = {**SETTING, "n_units": 30, "batch_size": 11, "weights_reg_l1": 0.0, "n_seeds": 2}
    short, long = (train(replace(task, updates=n), [setting])[0].test for n in (5, 300))
    assert long < 0.1 * short
    dropped = {**setting, "dropout": True, "dropout_rate": 0.0}
    assert train(replace(task, updates=300), [dropped])[0].test == pytest.approx(long, rel=1.0)


def test_a_network_that_diverges_has_no_error() -> None:
    (network,) = train(REGRESSION, [{**SETTING, "optimizer": "sgd", "learning_rate": 1e6, "activation": "relu"}])
    assert not np.isfinite(network.validation)


def test_sizes() -> None:
    assert size(REGRESSION, SETTING) == ((4 * 9 + 9) + 2 * (81 + 9) + (18 + 2), 2 * (36 + 162 + 18) + 2 * 29)
    module = alone(_Stack(REGRESSION, [SETTING], torch.Generator().manual_seed(0)), 0, 9, SETTING)
    assert size(REGRESSION, SETTING)[0] == sum(parameter.numel() for parameter in module.parameters())


def test_reactions_conserve_species() -> None:
    """Nothing becomes negative, the start is the start, and what two species share stays."""
    rng = np.random.default_rng(0)
    start = rng.random((20, 11))
    later = network_tasks.concentrations(start, np.full(20, 2000))
    np.testing.assert_array_equal(network_tasks.concentrations(start, np.zeros(20, dtype=np.int64)), start)
    assert (later >= 0.0).all()
    # S7 is made by reaction (1) alone, which uses up S1; S6 by (1) and (4), S10 by (4).
    np.testing.assert_allclose(later[:, 0] + later[:, 6], start[:, 0] + start[:, 6], atol=1e-12)
    np.testing.assert_allclose(
        later[:, 5] - start[:, 5], later[:, 6] - start[:, 6] + later[:, 9] - start[:, 9], atol=1e-12
    )
