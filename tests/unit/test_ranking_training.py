"""How rankers learn: which lists they see, what meta-training and fine-tuning keep, and what no data can break."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from optuna.distributions import CategoricalDistribution, FloatDistribution
from scipy.stats import chisquare, kendalltau, rankdata
from tests.helpers import TORCH_MODES, torch_mode

from pellucid.numerics import Array
from pellucid.study.encoding import Condition, Space
from pellucid.surrogates.ranking import training
from pellucid.surrogates.ranking.ensemble import (
    Card,
    Check,
    RankingEnsemble,
    RankScale,
    average_ranks,
    expected_best,
    rank_posterior,
)
from pellucid.surrogates.ranking.features import features, n_features
from pellucid.surrogates.ranking.files import from_bytes, to_bytes
from pellucid.surrogates.ranking.network import Architecture
from pellucid.surrogates.ranking.training import Lists, PastTask, Recipe, meta_train, shifted, standardised

SPACE = Space.of({name: FloatDistribution(0.0, 1.0) for name in ("a", "b")})
QUICK = Recipe(steps=400, list_size=40, lists=8)


def bowl(seed: int, n: int) -> tuple[str, Array, Array]:
    """A task of a family: minima near (0.7, 0.3), scales and offsets that have nothing in common."""
    rng = np.random.default_rng(seed)
    X, centre = rng.random((n, 2)), np.array([0.7, 0.3]) + 0.05 * rng.standard_normal(2)
    return f"bowl {seed}", X, rng.uniform(-50, 50) + 10.0 ** rng.uniform(-3, 3) * ((X - centre) ** 2).sum(axis=1)


@pytest.fixture(scope="module")
def trained() -> RankingEnsemble:
    tasks = [bowl(seed, 30 + 10 * seed) for seed in range(8)]
    return RankingEnsemble(SPACE, members=4, recipe=QUICK).meta_trained(tasks, [bowl(100, 60), bowl(101, 60)])


# ---------------------------------------------------------------------- features


def test_features_say_who_is_there() -> None:
    space = Space.of(
        {"x": FloatDistribution(0, 1), "kind": CategoricalDistribution(["p", "q"]), "y": FloatDistribution(0, 1)},
        {"y": Condition("kind", (1,))},
    )
    X = np.array([[0.0, 0.25, 0.5], [1.0, 0.75, 0.75], [0.5, 0.75, 0.5]])
    found = features(space, X)
    assert n_features(space) == found.shape[1] == 5
    assert found.tolist() == [[-1, 1, 0, 0, 0], [1, 0, 1, 0.5, 1], [0, 0, 1, 0, 1]]
    assert features(space, X[:0]).shape == (0, 5)


def test_an_inactive_choice_has_no_indicator() -> None:
    space = Space.of(
        {"x": FloatDistribution(0, 1), "kind": CategoricalDistribution(["p", "q", "r"])},
        {"kind": Condition("x", None, 0.5, 1.0)},
    )
    assert features(space, np.array([[0.2, 0.5], [0.9, 0.5]])).tolist() == [[-0.6, 0, 0, 0, 0], [0.8, 0, 1, 0, 1]]


def test_ordered_choices_are_a_number() -> None:
    space = Space.of({"size": CategoricalDistribution([1, 2, 4, 8])})
    assert features(space, np.array([[0.125], [0.875]])).tolist() == [[-0.75], [0.75]]


# ---------------------------------------------------------------------- lists


def labelled(sizes: list[int]) -> list[PastTask]:
    """Tasks whose features are (1 + task, 1 + configuration), and whose y follow from both: all can be recognised."""
    tasks = []
    for t, n in enumerate(sizes):
        ids = np.arange(1.0, n + 1.0)
        tasks.append(PastTask(f"{t}", np.stack([np.full(n, t + 1.0), ids], axis=1), np.sin(ids + t)))
    return tasks


SIZES = [4, 5, 6, 9, 20, 21, 24, 150, 151, 400]


@pytest.mark.parametrize("context", [True, False])
def test_lists_are_drawn_from_one_task_without_replacement_and_support_is_no_query(context: bool) -> None:
    tasks = labelled(SIZES)
    lists = Lists(tasks, Recipe(list_size=60), context, np.random.default_rng(0))
    supports = set()
    for _ in range(150):
        batch = lists.draw(8)
        assert (batch.support is not None) == context
        shown = batch.query[:, :, :0] if batch.support is None else batch.support[..., :2]
        supports.add(shown.shape[2])
        assert batch.query.shape[2] <= 60
        for query, support, y in zip(batch.query[0], shown[0], batch.y[0], strict=True):
            rows = torch.cat([query, support]).numpy()
            assert len(set(rows[:, 0])) == 1
            task = tasks[round(float(rows[0, 0])) - 1]
            chosen = rows[:, 1].round().astype(int) - 1
            assert len(set(chosen.tolist())) == len(chosen)
            # Padding is no configuration: all are of the task, with their own y, in its order.
            assert chosen.min() >= 0
            assert chosen.max() < len(task.y)
            expected = shifted(task.y)[chosen[: len(query)]]
            assert y.numpy() == pytest.approx(expected, abs=1e-6)
    assert (supports == {0}) != context
    # Half of a list at most.
    assert max(supports) <= 30


def test_what_the_deep_set_is_shown_is_standardised_among_what_was_seen() -> None:
    (task,) = labelled([30])
    lists = Lists([task], Recipe(list_size=30), True, np.random.default_rng(0))
    for _ in range(20):
        support = lists.draw(1).support
        assert support is not None
        shown = support[0, 0].numpy()
        if len(shown) > 1:
            y = task.y[shown[:, 1].round().astype(int) - 1]
            assert shown[:, 2] == pytest.approx((y - y.mean()) / y.std(), abs=1e-4)
        else:
            assert (shown[:, 2:] == 0.0).all()


def test_tasks_are_equally_likely_whatever_their_size() -> None:
    lists = Lists(labelled(SIZES), Recipe(list_size=60), False, np.random.default_rng(1))
    counts = np.zeros(len(SIZES))
    for _ in range(3000):
        counts[round(float(lists.draw(1).query[0, 0, 0, 0])) - 1] += 1
    assert chisquare(counts).pvalue > 1e-4


def test_configurations_of_a_task_are_equally_likely() -> None:
    lists = Lists(labelled([24, 30]), Recipe(list_size=24), False, np.random.default_rng(2))
    counts = np.zeros(30)
    for _ in range(300):
        drawn = lists.draw(8).query[0].reshape(-1, 2).numpy()
        counts += np.bincount(drawn[drawn[:, 0] == 2.0, 1].round().astype(int) - 1, minlength=30)
    assert chisquare(counts).pvalue > 1e-4


def test_the_same_stream_draws_the_same_lists() -> None:
    first, again = (Lists(labelled(SIZES), Recipe(), True, np.random.default_rng(3)) for _ in range(2))
    for _ in range(5):
        assert torch.equal(first.draw(4).query, again.draw(4).query)


# ---------------------------------------------------------------------- units


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_standardised(dtype: torch.dtype) -> None:
    y = torch.tensor([[1.0, 2.0, 4.0, 9.0]], dtype=dtype)
    expected = (y - y.mean()) / y.std(unbiased=False)
    assert torch.allclose(standardised(y), expected)
    assert torch.allclose(standardised(1000.0 * y + 5.0), expected, atol=1e-5)
    assert torch.allclose(standardised(y + 1000.0), expected, atol=1e-4)
    for constant in (0.0, 7.1, -1e6, 1e20, 1e-20):
        assert torch.equal(standardised(torch.full((2, 5), constant, dtype=dtype)), torch.zeros(2, 5, dtype=dtype))
    assert torch.equal(standardised(torch.tensor([[3.0]], dtype=dtype)), torch.zeros(1, 1, dtype=dtype))
    assert standardised(torch.empty(2, 0, dtype=dtype)).shape == (2, 0)
    # Where an offset has eaten the digits, noise is not blown up to differences.
    assert torch.isfinite(standardised(y + 1e9)).all()


def test_lists_are_standardised_one_by_one() -> None:
    y = torch.tensor([[1.0, 2.0, 3.0], [10.0, 10.0, 10.0], [1e6, 0.0, -1e6]])
    found = standardised(y)
    for row, one in zip(found, y, strict=True):
        assert torch.allclose(row, standardised(one[None])[0])


@pytest.mark.parametrize(
    "y",
    [
        [1.0, 2.0, 3.0],
        [1e12, 1e12 + 1.0, 1e12 + 3.0],
        [1e306] * 300 + [-1e306],
        [1.7e308, -1.7e308, 0.0],
        [1e300, 1e-300, -1e-300],
        [0.0, 5e-324, 1e-323],
        [4.0, 4.0],
        [0.0, 0.0],
        [1e308],
    ],
    ids=str,
)
def test_shifted_keeps_what_differs(y: list[float]) -> None:
    found = shifted(np.array(y))
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 1.0
    assert found.max() - found.min() == pytest.approx(float(len(set(y)) > 1))
    assert rankdata(found, method="max")[np.argsort(y)[-1]] == len(y)
    assert found.mean() == pytest.approx(0.0, abs=1e-12)


def test_shifted_does_not_round_what_an_offset_hides() -> None:
    assert shifted(np.array([1e12, 1e12 + 1, 1e12 + 4])) == pytest.approx(shifted(np.array([0.0, 1.0, 4.0])), abs=1e-12)


# ---------------------------------------------------------------------- ranks


def test_average_ranks_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for shape in [(1,), (7,), (3, 20), (2, 3, 50)]:
        for found in (rng.standard_normal(shape), rng.integers(0, 4, shape).astype(float), np.zeros(shape)):
            assert average_ranks(found) == pytest.approx(rankdata(-found, method="average", axis=-1))
    assert average_ranks(np.empty((3, 0))).shape == (3, 0)


def test_the_posterior_of_ranks_is_over_members() -> None:
    mean, sd = rank_posterior(np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]]))
    assert mean.tolist() == [1.0, 2.5, 2.5]
    assert sd.tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 10])
def test_the_expected_best_of_a_draw_is_that_of_all_draws(k: int) -> None:
    values = np.sort(np.random.default_rng(k).standard_normal(6).round(1))
    every = [max(draw) for draw in combinations(values.tolist(), min(k, 6))]
    assert expected_best(values, k) == pytest.approx(np.mean(every), abs=1e-12)


def test_the_expected_best_of_large_tables_is_finite() -> None:
    values = np.arange(100_000.0)
    assert expected_best(values, 10) == pytest.approx(10 / 11 * 100_001 - 1, rel=1e-6)


class Rounded:
    """Two members whose scores often tie."""

    def scores(self, X: Array) -> Array:
        return np.stack([X[:, 0].round(1), -X[:, 1].round(1)])


def test_a_scale_counts_who_is_better_and_half_of_equals() -> None:
    rng = np.random.default_rng(0)
    fitted: Any = Rounded()
    reference, X = rng.random((40, 2)), rng.random((15, 2))
    mean, sd = RankScale.of(fitted, reference)(X)
    theirs, mine = fitted.scores(reference), fitted.scores(X)
    better, level = theirs[:, None, :] > mine[:, :, None], theirs[:, None, :] == mine[:, :, None]
    ranks = 1.0 + better.sum(axis=2) + 0.5 * level.sum(axis=2)
    assert level.any()
    assert mean == pytest.approx(ranks.mean(axis=0), abs=1e-12)
    assert sd == pytest.approx(ranks.std(axis=0), abs=1e-12)


def test_a_scale_does_not_depend_on_what_else_is_asked(trained: RankingEnsemble) -> None:
    scale = RankScale.of(trained.fit(*bowl(7, 12)[1:]), np.random.default_rng(1).random((64, 2)))
    X = np.random.default_rng(2).random((10, 2))
    assert scale(X)[0][:3] == pytest.approx(scale(X[:3])[0], abs=0.51)


# ---------------------------------------------------------------------- meta-training


def test_meta_training_orders_tasks_that_it_has_not_seen(trained: RankingEnsemble) -> None:
    assert trained.card is not None
    course = trained.card.course
    assert course[-1].training < course[0].training
    for seed in range(200, 206):
        _, X, losses = bowl(seed, 200)
        rank, _ = trained.fit(X[:0], losses[:0]).predict(X)
        assert kendalltau(rank, losses).statistic > 0.6
    assert trained.card.helps is True
    found, random = (
        np.mean([getattr(one, which) for one in trained.card.checks], axis=0) for which in ("regret", "random")
    )
    assert (found[1:] < 0.5 * random[1:]).all()
    for check in trained.card.checks:
        assert check.regret[0] >= check.regret[1] >= check.regret[2] >= 0.0
        assert check.random[0] > check.random[1] > check.random[2] > 0.0


@pytest.mark.parametrize("loss", ["list_net", "list_mle", "rank_net", "subset_regression"])
def test_every_loss_lowers_itself_and_learns_the_order(loss: Any) -> None:
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


def test_help_is_judged_over_all_that_was_held_out() -> None:
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


# ---------------------------------------------------------------------- fits


def ensembles(trained: RankingEnsemble) -> dict[str, RankingEnsemble]:
    scratch = Recipe(scratch_epochs=40)
    return {
        "trained": trained,
        "scratch": RankingEnsemble(SPACE, members=3, recipe=scratch),
        "scratch with context": RankingEnsemble(SPACE, members=3, context="near", recipe=scratch),
        **{
            f"scratch, {loss}": RankingEnsemble(SPACE, members=3, recipe=Recipe(loss=loss, scratch_epochs=20))
            for loss in ("list_mle", "rank_net", "subset_regression")
        },
    }


LOSSES = {
    "none": [],
    "one": [3.0],
    "two": [1.0, 2.0],
    "constant": [2.0] * 20,
    "zero": [0.0] * 20,
    "far apart": [1e300, 1e-300, -1e300, -1e-300, 0.0] * 4,
    "largest": [1e306] * 300 + [-1e306] * 20,
    "close": [1.0 + 1e-16 * i for i in range(20)],
    "smallest": [i * 5e-324 for i in range(20)],
    "offset": [1e15 + i for i in range(20)],
}


@pytest.mark.parametrize("losses", LOSSES.values(), ids=LOSSES)
def test_any_losses_give_finite_ranks(trained: RankingEnsemble, losses: list[float]) -> None:
    rng = np.random.default_rng(0)
    observed, X = rng.random((len(losses), 2)), rng.random((30, 2))
    observed[len(observed) // 2 :] = 0.25  # Duplicates.
    for name, model in ensembles(trained).items():
        fitted = model.fit(observed, np.array(losses), epochs=10)
        mean, sd = fitted.predict(X)
        assert np.isfinite(fitted.scores(X)).all(), name
        assert mean.sum() == pytest.approx(30 * 31 / 2), name
        assert (sd >= 0.0).all(), name


def test_fits_learn_and_the_empty_batch_has_no_ranks(trained: RankingEnsemble) -> None:
    _, X, losses = bowl(9, 40)
    for name, model in ensembles(trained).items():
        fitted = model.fit(X, losses)
        assert kendalltau(fitted.predict(X)[0], losses).statistic > 0.5, name
        assert fitted.scores(X).shape == (model.members, 40)
        assert [one.shape for one in fitted.predict(X[:0])] == [(0,), (0,)]


def test_the_same_seed_gives_the_same_predictions(trained: RankingEnsemble) -> None:
    _, X, losses = bowl(9, 25)
    for model in ensembles(trained).values():
        first, again, other = (model.fit(X, losses, epochs=5, seed=seed).scores(X) for seed in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other) or not model.architecture.context_outputs
    tasks = [bowl(seed, 30) for seed in range(3)]
    quick = RankingEnsemble(SPACE, members=2, recipe=Recipe(steps=10, list_size=20))
    one, two, three = (quick.meta_trained(tasks, tasks[:1], seed=seed) for seed in (1, 1, 2))
    assert one.card == two.card != three.card
    assert one.weights is not None
    assert two.weights is not None
    assert all(torch.equal(value, two.weights[name]) for name, value in one.weights.items())


def test_units_and_offsets_of_the_losses_do_not_count(trained: RankingEnsemble) -> None:
    _, X, losses = bowl(9, 25)
    for model in ensembles(trained).values():
        first = model.fit(X, losses, epochs=3).scores(X)
        assert model.fit(X, 1e6 * losses + 3.0, epochs=3).scores(X) == pytest.approx(first, abs=1e-3)


def test_every_fit_starts_from_what_was_meta_trained(trained: RankingEnsemble) -> None:
    assert trained.weights is not None
    before = {name: value.clone() for name, value in trained.weights.items()}
    _, X, losses = bowl(9, 30)
    first = trained.fit(X, losses, epochs=20).scores(X)
    trained.fit(X, -losses, epochs=50)
    assert all(torch.equal(value, before[name]) for name, value in trained.weights.items())
    assert np.array_equal(trained.fit(X, losses, epochs=20).scores(X), first)
    assert not np.array_equal(trained.fit(X, losses, epochs=0).scores(X), first)
    # By default few observations leave the weights as they are, and more do not.
    assert all(torch.equal(v, before[k]) for k, v in trained.fit(X[:8], losses[:8]).weights.items())
    assert not torch.equal(trained.fit(X, losses).weights["scorer.0.weight"], before["scorer.0.weight"])


def test_the_process_of_the_user_is_as_it_was(trained: RankingEnsemble) -> None:
    threads = torch.get_num_threads()
    torch.manual_seed(1234)
    state = torch.get_rng_state()
    numpy_state = repr(np.random.get_state())  # noqa: NPY002
    try:
        torch.set_num_threads(3)
        _, X, losses = bowl(9, 12)
        for model in ensembles(trained).values():
            model.fit(X, losses, epochs=2).predict(X)
            assert torch.get_num_threads() == 3
        RankingEnsemble(SPACE, members=2, recipe=Recipe(steps=2, list_size=10)).meta_trained(
            [bowl(0, 20)], [bowl(1, 20)]
        )
        assert torch.get_num_threads() == 3
        with pytest.raises(RuntimeError):
            RankingEnsemble(SPACE, members=2).fit(X, losses[:5])
        assert torch.get_num_threads() == 3
        assert torch.equal(torch.get_rng_state(), state)
        assert repr(np.random.get_state()) == numpy_state  # noqa: NPY002
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("mode", TORCH_MODES)
def test_modes_and_defaults_of_the_user_change_nothing(mode: str, trained: RankingEnsemble) -> None:
    _, X, losses = bowl(9, 20)
    tasks = [bowl(0, 20), bowl(1, 20)]
    recipe = Recipe(loss="list_mle", steps=5, list_size=10, scratch_epochs=5)
    quick = RankingEnsemble(SPACE, members=2, recipe=recipe)

    def learned() -> list[Array]:
        data = to_bytes(quick.meta_trained(tasks, tasks[:1]))
        models = [from_bytes(data), trained, quick]
        fits = [model.fit(X[:n], losses[:n]).scores(X) for model in models for n in (0, 5, 12)]
        return [np.frombuffer(data, dtype=np.uint8), *fits]

    expected = learned()
    with torch_mode(mode):
        found = learned()
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(found, expected, strict=True))
    loaded = from_bytes(expected[0].tobytes())
    with torch_mode(mode):
        again = from_bytes(expected[0].tobytes())
    assert np.array_equal(again.fit(X, losses).scores(X), loaded.fit(X, losses).scores(X))
