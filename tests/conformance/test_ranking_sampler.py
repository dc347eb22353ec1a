"""Optuna's own suites for samplers, for the ranking sampler: with a model of other parameters, with one of the suites'
own, and without one. Whatever it does, no ranking and no fallback may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from pellucid import BayesianSampler, RankingSampler, receipts
from pellucid.samplers import ranking
from pellucid.study.encoding import Space

pytest.importorskip("torch")


class Suite(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """All three suites. One finished trial is enough for the fallback's model: the suites' studies are short."""

    @pytest.fixture
    def model(self) -> Any:
        return None

    @pytest.fixture
    def sampler(self, model: Any) -> Callable[[], BaseSampler]:
        fallback = BayesianSampler(n_startup_trials=1, seed=0)
        return lambda: RankingSampler(model=model, fallback=fallback, seed=0)

    @pytest.fixture(autouse=True)
    def few_candidates(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The suites ask whether proposals are valid, not whether they are good."""
        monkeypatch.setattr(ranking, "_FIRST_ROUND", (256, 64))
        monkeypatch.setattr(ranking, "_NEXT_ROUNDS", (0, 64))

    @pytest.fixture(autouse=True)
    def nothing_failed(self, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
        yield
        logged = [record.getMessage() for record in caplog.records if record.name == "pellucid"]
        assert [message for message in logged if "failed" in message] == []


class TestModelOfOtherParameters(Suite):
    """It proposes the first trial, whose parameters say that it does not serve; the fallback does the rest."""

    @pytest.fixture
    def model(self, ranker: Any) -> Any:
        return ranker


class TestModelOfTheseParameters(Suite):
    """It serves wherever the suites' parameters are `x` and `y` and numbers, whatever their ranges. What it has learned
    is of no importance here: its weights are random."""

    @pytest.fixture
    def model(self) -> Any:
        import torch

        from pellucid.surrogates.ranking.ensemble import RankingEnsemble
        from pellucid.surrogates.ranking.network import initial
        from pellucid.surrogates.ranking.ranker import Ranker

        space = Space.of({"x": FloatDistribution(-1.0, 1.0), "y": IntDistribution(1, 50, log=True)})
        empty = RankingEnsemble(space, members=3, width=8, context="near")
        return Ranker.of(replace(empty, weights=initial(empty.architecture, [torch.Generator().manual_seed(0)])))

    @pytest.mark.parametrize("y", [FloatDistribution(1e-7, 1.0, log=True), IntDistribution(3, 9, step=2)])
    def test_it_is_the_ranking_that_answers(self, sampler: Callable[[], BaseSampler], y: BaseDistribution) -> None:
        study = optuna.create_study(sampler=sampler())
        for _ in range(6):
            study.tell(study.ask({"x": FloatDistribution(-10, 10, step=0.5), "y": y}), 1.0)
        assert [receipt.kind for receipt in receipts(study)] == ["ranking"] * 6


class TestNoModel(Suite):
    """The study alone teaches the ranking, from its second trial on; a small one that learns for a moment."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pellucid.surrogates.ranking import ranker
        from pellucid.surrogates.ranking.training import Recipe

        recipe = Recipe(scratch_epochs=10)
        small = partial(ranker.RankingEnsemble, members=3, width=8, recipe=recipe)
        monkeypatch.setattr(ranker, "RankingEnsemble", small)

    def test_it_is_the_ranking_that_answers(self, sampler: Callable[[], BaseSampler]) -> None:
        study = optuna.create_study(sampler=sampler())
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=6)
        assert [receipt.kind for receipt in receipts(study)] == ["startup", "model"] + ["ranking"] * 4
