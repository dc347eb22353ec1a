"""The ranking sampler with the model that its tests share, that model's file, and a study with all its phases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from optuna.study import Study
from tests.helpers import MakeRankingSampler, run

import pellucid


@pytest.fixture
def sampler(ranker: Any) -> MakeRankingSampler:
    """By default the ranking makes all proposals that it can; tests of shared turns set `hand_over`."""
    return lambda **options: pellucid.RankingSampler(**{"model": ranker, "seed": 0, "hand_over": None, **options})


@pytest.fixture(scope="session")
def model_file(ranker: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "earlier.ranker"
    pellucid.RankingSampler(model=ranker).save(path)
    return path


@pytest.fixture(scope="session")
def study(ranker: Any) -> Study:
    """All phases in a row: the ranking alone, turns shared, handed over."""
    return run(pellucid.RankingSampler(model=ranker, hand_over=20, seed=0), 24)
