"""Meta-training: what is learned, what is kept, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from tests.surrogates.ranking.bowls import SPACE, bowl

from pellucid.models.ranking import training
from pellucid.models.ranking.ensemble import Card, Check, RankingEnsemble, check
from pellucid.models.ranking.features import features
from pellucid.models.ranking.network import Architecture
from pellucid.models.ranking.training import PastTask, Recipe, meta_train


def test_meta_training_orders_tasks_that_it_has_not_seen(trained: RankingEnsemble) -> None:
    assert trained.card is not None
    course = trained.card.course
    assert course[-1].training < course[0].training
    for seed in range(200, 206):
        _, X, losses = bowl(seed, 200)
        rank, _ = trained.fit(X[:0], losses[:0]).predict(X)
        assert kendalltau(rank, losses).statistic > 0.6
    assert trained.card.helps is True
    # The average of ten tasks: the regret on two of them depends on the start of the training more than on its success.
    checks = [*trained.card.checks, *(check(trained, *bowl(seed, 60)) for seed in range(300, 308))]
    regret, random = (np.mean([getattr(result, field) for result in checks], axis=0) for field in ("regret", "random"))
    assert (regret[1:] < 0.5 * random[1:]).all()
    for result in checks:
        assert result.regret[0] >= result.regret[1] >= result.regret[2] >= 0.0
        assert result.random[0] > result.random[1] > result.random[2] > 0.0


@pytest.mark.parametrize("loss", ["list_net", "list_mle", "rank_net", "subset_regression"])
def test_training_lowers_every_loss_and_learns_the_order(loss: Any) -> None:
    recipe = Recipe(loss=loss, steps=300, list_size=40, lists=8, learning_rate=5e-3)
    tasks = [bowl(seed, 60) for seed in range(6)]
    model = RankingEnsemble(SPACE, members=2, context="none", recipe=recipe).meta_trained(tasks)
    assert model.card is not None
    assert model.card.helps is None
    assert [np.isnan(moment.validation) for moment in model.card.course] == [True, True]
    assert model.card.course[1].training < model.card.course[0].training
    _, X, losses = bowl(300, 200)
    assert kendalltau(model.fit(X[:0], losses[:0]).predict(X)[0], losses).statistic > 0.6


def test_the_weights_of_the_best_validation_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation tasks that run against the training tasks: the sooner it ends the better."""
    monkeypatch.setattr(training, "_VALIDATE_EVERY", 10)
    recipe = Recipe(steps=400, list_size=40, lists=8, patience=3, learning_rate=1e-2)
    tasks = [PastTask(name, features(SPACE, X), -losses) for name, X, losses in (bowl(seed, 60) for seed in range(4))]
    against = [PastTask(task.name, task.features, -task.y) for task in tasks]
    architecture = Architecture(2, members=2)
    kept, course = meta_train(architecture, recipe, tasks, against, np.random.default_rng(0))
    values = [moment.validation for moment in course]
    best = int(np.argmin(values))
    assert len(course) == best + 1 + 3 < 40
    # The same stream, ended at the best moment, gives the weights that were kept.
    steps = course[best].step
    short = Recipe(steps=steps, list_size=40, lists=8, patience=3, learning_rate=1e-2)
    again, _ = meta_train(architecture, short, tasks, against, np.random.default_rng(0))
    assert all(torch.equal(value, again[name]) for name, value in kept.items())
    without, _ = meta_train(architecture, short, tasks, [], np.random.default_rng(0))
    assert set(without) == set(kept)


def test_every_step_is_reported_and_no_tasks_are_refused() -> None:
    steps: list[int] = []
    model = RankingEnsemble(SPACE, members=2, recipe=Recipe(steps=5, list_size=10))
    model.meta_trained([bowl(0, 30)], progress=steps.append)
    assert steps == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="at least one task, but got none"):
        model.meta_trained([])


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("held_out", [False, True])
def test_a_task_without_an_order_is_refused_in_a_sentence(n: int, held_out: bool) -> None:
    model = RankingEnsemble(SPACE, members=2, recipe=Recipe(steps=5, list_size=10))
    tasks, validation = [bowl(0, 30)], [bowl(1, n)]
    with pytest.raises(ValueError, match=rf"task `bowl 1` has {n}\.$"):
        model.meta_trained(tasks, validation) if held_out else model.meta_trained([*tasks, *validation])


@pytest.mark.parametrize("loss", ["list_net", "list_mle", "rank_net", "subset_regression"])
def test_tiny_and_constant_tasks_do_no_harm(loss: Any) -> None:
    rng = np.random.default_rng(0)
    tasks = [("constant", rng.random((20, 2)), np.full(20, 3.0)), *(bowl(n, n) for n in (2, 3, 4, 5))]
    tasks.append(("far apart", rng.random((400, 2)), np.where(rng.random(400) < 0.5, 1e306, -1e306)))
    model = RankingEnsemble(SPACE, members=2, recipe=Recipe(loss=loss, steps=30, list_size=10)).meta_trained(
        tasks, tasks
    )
    assert model.weights is not None
    assert all(torch.isfinite(value).all() for value in model.weights.values())
    assert model.card is not None
    assert all(np.isfinite([*check.regret, *check.random]).all() for check in model.card.checks)


def test_help_is_judged_over_all_held_out_studies() -> None:
    good, bad = Check("a", 50, (0.1, 0.0, 0.0), (0.5, 0.2, 0.1)), Check("b", 50, (0.6, 0.3, 0.1), (0.5, 0.2, 0.1))
    assert Card(("t",), (good, bad)).helps is True
    assert Card(("t",), (bad,)).helps is False
    assert Card(("t",)).helps is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": "hinge"}, {"weighting": "none"}, {"list_size": 5}, {"lists": 0}, {"steps": 0}, {"sharpness": np.nan},
        {"learning_rate": -1.0}, {"tuning_rate": np.inf}, {"scratch_epochs": -1}, {"weight_decay": "much"},
    ],
    ids=str,
)  # fmt: skip
def test_a_recipe_that_cannot_be_followed_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="but got"):
        Recipe(**wrong)
