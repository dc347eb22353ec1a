# ruff: noqa: E402
"""What `pellucid bench ranking` times: both sides of a race do the same work, asks are fine-tuned; and the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.tests.helpers import call
from optuna.distributions import FloatDistribution

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from pellucid.models.ranking import training
from pellucid.models.ranking.devices import tensor
from pellucid.models.ranking.network import Architecture, Weights, initial, scores
from pellucid.models.ranking.training import Lists, Recipe, fine_tune, meta_train
from pellucid.space.encoding import Space
from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import Problem, suggest_all
from pellucid_lab.costs import plain_network
from pellucid_lab.costs import ranking as speed
from pellucid_lab.problems.tabular import Collection, TabularTask

PARAMS = {"a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1)}
RECIPE = Recipe(steps=4, list_size=20, support=6, lists=3)


def height(x: Any) -> Any:
    return -((x[..., 0] - 0.3) ** 2) - (x[..., 1] - 0.6) ** 2


def tasks(count: int, seed: int) -> tuple[TabularTask, ...]:
    rng = np.random.default_rng(seed)
    tables = [rng.random((40, 2)) for _ in range(count)]
    return tuple(TabularTask(str(k), X, height(X) + 0.01 * k) for k, X in enumerate(tables))


COLLECTION = Collection("bowls", Space.of(PARAMS), tasks(3, 0), tasks(1, 1), tasks(1, 2), {}, 5)
PROBLEM = Problem(
    name="bowl",
    suite="bowls",
    direction="maximize",
    suggest=lambda trial: suggest_all(trial, PARAMS),
    evaluate=lambda params: float(height(np.array([params["a"], params["b"]]))),
    distributions=PARAMS,
)


def plain_of(weights: Weights, features: int) -> Any:
    """The plain network with the weights of an ensemble of one member."""
    network = plain_network.plain_network(features)
    with torch.no_grad():
        for part in ("place", "each", "scorer"):
            for k, layer in enumerate(network[part][::2]):
                W = weights[f"{part}.{k}.weight"][0, 0]
                if (part, k) == ("scorer", 0):
                    W = torch.cat([W, weights["scorer.context.weight"][0, 0]])
                layer.weight.copy_(W.T)
                layer.bias.copy_(weights[f"{part}.{k}.bias"][0, 0, 0])
    return network


@pytest.fixture
def start() -> Weights:
    return initial(Architecture(2, members=1), [torch.Generator().manual_seed(0)])


@pytest.mark.parametrize("s", [0, 1, 7])
def test_both_networks_are_the_same(start: Weights, s: int) -> None:
    rng = np.random.default_rng(s)
    x, support = tensor(rng.random((4, 9, 2))), tensor(rng.random((4, s, 3)))
    expected = scores(start, x[None], support[None])[0, 0]
    torch.testing.assert_close(
        plain_network.plain_scores(plain_of(start, 2), x, support), expected, atol=1e-10, rtol=1e-10
    )


def test_both_are_tuned_to_the_same_ranks(start: Weights) -> None:
    x, y = tensor(np.random.default_rng(1).random((15, 2))), tensor(np.linspace(-1.0, 1.0, 15))
    rate = RECIPE.tuning_rate
    tuned = fine_tune(start, RECIPE, x[None], y[None], 7, rate, [np.random.default_rng(3)])
    first = plain_of(start, 2)
    # Our stream makes one more draw first, which breaks ties.
    plain = plain_network.plain_fine_tune(first, RECIPE, x, y, 7, _after_ties(3))
    support = training.support_of(x, y)
    expected = scores(tuned, x[None, None], support[None, None])[0, 0, 0]
    scored = plain_network.plain_scores(plain, x, support)
    # Scores are determined only up to a constant.
    torch.testing.assert_close(scored - scored.mean(), expected - expected.mean(), atol=1e-6, rtol=1e-6)
    assert not torch.equal(plain_network.plain_scores(first, x, support), scored)


def _after_ties(seed: int) -> np.random.Generator:
    rng = np.random.default_rng(seed)
    rng.integers(2**62)
    return rng


def test_both_are_meta_trained_to_the_same_ranks() -> None:
    past = speed.past_tasks(COLLECTION)
    architecture = Architecture(2, members=1)
    trained, _ = meta_train(architecture, RECIPE, past, (), np.random.default_rng(0))
    rng = np.random.default_rng(0)
    lists = Lists(past, RECIPE, True, rng)
    begun = plain_of(initial(architecture, [training._generator(rng)]), 2)
    rng.integers(2**62)
    plain = plain_network.plain_meta_train(begun, RECIPE, lists)
    x = tensor(past[0].features[:10])
    support = training.support_of(x[:4], tensor(past[0].y[:4]))
    expected = scores(trained, x[None, None], support[None, None])[0, 0, 0].detach()
    scored = plain_network.plain_scores(plain, x, support).detach()
    # Torch's Adam counts the steps of each map, and ours those of all: they differ after a step without a support.
    torch.testing.assert_close(scored - scored.mean(), expected - expected.mean(), atol=1e-3, rtol=1e-3)


def test_contestants_take_turns_and_the_first_run_does_not_count() -> None:
    order: list[str] = []
    race = speed.race("r", 3, {name: lambda name=name: order.append(name) for name in "abc"}, 2)
    assert "".join(order) == "cab" + "abc" + "bca"
    assert {name: len(seconds) for name, seconds in race.seconds.items()} == {"a": 2, "b": 2, "c": 2}
    assert speed.Race("r", 1, {"batched": (1.0, 2.0, 4.0), "own": (5.0, 14.0, 4.0)}).ratio("own") == 5.0


def test_races_have_all_contestants() -> None:
    past = speed.past_tasks(COLLECTION)
    meta = speed.meta_training_race(past, replace(RECIPE, steps=1), 1)
    assert tuple(meta.seconds) == speed.CONTESTANTS
    assert meta.drawing is not None
    tuned = speed.fine_tuning_race(past[0].features[:10], past[0].y[:10], RECIPE, 1)
    assert (tuned.steps, tuple(tuned.seconds), tuned.drawing) == (2, speed.CONTESTANTS, None)


@pytest.mark.parametrize("trials", [10, 11])
def test_asks_are_fine_tuned(trials: int) -> None:
    times = speed.asks(COLLECTION, PROBLEM, speed.quickly_trained(COLLECTION), trials, 2)
    assert (times.trials, times.epochs, len(times.seconds), times.parameters) == (trials, trials - 8, 2, 2)


def test_too_few_trials_for_fine_tuning_are_an_error() -> None:
    with pytest.raises(Mistake, match=r"only 0 with 5 trials of bowls had one: use more trials"):
        speed.asks(COLLECTION, PROBLEM, speed.quickly_trained(COLLECTION), 5, 1)


def test_the_command_prints_tables_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(speed, "tabular", lambda name, data: replace(COLLECTION, name=name))
    monkeypatch.setattr(speed, "problem_of", lambda collection, data: PROBLEM)
    monkeypatch.setattr(training.Recipe, "__init__", _few_steps(training.Recipe.__init__))
    page = tmp_path / "folder" / "speed.md"
    quick = ("--steps", "1", "--turns", "1", "--observations", "10", "--trials", "9,10", "--asks", "1")
    done = call("bench", "ranking", *quick, "--out", str(page), "--json")
    assert done.exit_code == 0, done.output
    members, asks, trained = json.loads(done.stdout)
    assert [row[:2] for row in members["rows"]] == [["16 lists of 250", "1"], ["tuning, 10 trials", "2"]]
    assert [row[0] for row in asks["rows"]] == ["lcbench"] * 2 + ["rbv2_xgboost"] * 2
    assert trained["rows"][0][:4] == ["lcbench", "3", "120", "2"]
    text = page.read_text(encoding="utf-8")
    assert "Aims: a loop takes at least 5 times as long" in text
    assert "```sh" in text


def _few_steps(constructor: Any) -> Any:
    def init(self: Any, **settings: Any) -> None:
        constructor(self, **{"steps": 2, **settings})

    return init


@pytest.mark.parametrize("option", ["--trials", "--observations"])
def test_fewer_trials_than_fine_tuning_needs_are_refused(option: str) -> None:
    pytest.importorskip("onnxruntime")
    done = call("bench", "ranking", option, "20,8")
    assert done.exit_code == 2
    assert done.stderr == f"Error: {option} lists numbers of at least 9, at which fine-tuning begins; got 8.\n"


def test_a_busy_machine_and_missing_data_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    assert "do not trust these times" in speed.note(1.0)
    assert "busy" not in speed.note(0.0)
    done = call("bench", "ranking", "--data", str(tmp_path))
    assert done.exit_code == 3
    assert "needs meta/splits.json" in done.stderr
