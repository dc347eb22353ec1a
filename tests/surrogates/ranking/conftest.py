"""A ranking model that several tests use."""

from __future__ import annotations

import pytest
from tests.surrogates.ranking.bowls import QUICK, SPACE, bowl

from pellucid.models.ranking.ensemble import RankingEnsemble


@pytest.fixture(scope="session")
def trained() -> RankingEnsemble:
    tasks = [bowl(seed, 30 + 10 * seed) for seed in range(8)]
    return RankingEnsemble(SPACE, members=4, recipe=QUICK).meta_trained(tasks, [bowl(100, 60), bowl(101, 60)])
