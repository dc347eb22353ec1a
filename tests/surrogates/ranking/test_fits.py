"""Fits of a study: finite for any losses, repeatable, and without side effects in the user's process."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from tests.helpers import TORCH_MODES, torch_mode
from tests.surrogates.ranking.bowls import SPACE, bowl

from pellucid.models.ranking.ensemble import RankingEnsemble
from pellucid.models.ranking.files import from_bytes, to_bytes
from pellucid.models.ranking.training import Recipe
from pellucid.numerics import Array


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
        assert [prediction.shape for prediction in fitted.predict(X[:0])] == [(0,), (0,)]


def test_the_same_seed_gives_the_same_predictions(trained: RankingEnsemble) -> None:
    _, X, losses = bowl(9, 25)
    for model in ensembles(trained).values():
        first, again, other = (model.fit(X, losses, epochs=5, seed=seed).scores(X) for seed in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other) or not model.architecture.context_outputs
    tasks = [bowl(seed, 30) for seed in range(3)]
    quick = RankingEnsemble(SPACE, members=2, recipe=Recipe(steps=10, list_size=20))
    once, repeated, reseeded = (quick.meta_trained(tasks, tasks[:1], seed=seed) for seed in (1, 1, 2))
    assert once.card == repeated.card != reseeded.card
    assert once.weights is not None
    assert repeated.weights is not None
    assert all(torch.equal(value, repeated.weights[name]) for name, value in once.weights.items())


def test_units_and_offsets_of_the_losses_do_not_count(trained: RankingEnsemble) -> None:
    _, X, losses = bowl(9, 25)
    for model in ensembles(trained).values():
        first = model.fit(X, losses, epochs=3).scores(X)
        assert model.fit(X, 1e6 * losses + 3.0, epochs=3).scores(X) == pytest.approx(first, abs=1e-3)


def test_every_fit_starts_from_the_meta_trained_weights(trained: RankingEnsemble) -> None:
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
        actual = learned()
    assert all(np.array_equal(result, reference) for result, reference in zip(actual, expected, strict=True))
    loaded = from_bytes(expected[0].tobytes())
    with torch_mode(mode):
        again = from_bytes(expected[0].tobytes())
    assert np.array_equal(again.fit(X, losses).scores(X), loaded.fit(X, losses).scores(X))
