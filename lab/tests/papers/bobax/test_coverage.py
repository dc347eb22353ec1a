"""Whether 95% bands contain the true effects, on functions with known effects and with learned hyperparameters."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid_lab.papers.bobax.experiment import EffectTask
from pellucid_lab.papers.bobax.runs import run_effect_task

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["rs", "ei", "bobax-2"])
def test_calibrated_bands_hold_the_true_effect(method: str) -> None:
    """Twelve runs on two functions, from 20 evaluations per dimension on; posterior bands alone hold it less often."""
    covered, raw, ratio = [], [], []
    for problem in ("branin", "hartmann3"):
        for seed in range(200, 206):
            run = run_effect_task(EffectTask("fitted", problem, method, seed))
            for i, n in enumerate(run.sizes):
                if n >= 2 / 3 * max(run.sizes):
                    covered.append(run.coverage[i])
                    raw.append(run.raw_coverage[i])
                    ratio.append(run.half_width[i] / run.raw_half_width[i])
    assert np.mean(covered) > 0.9
    assert np.mean(covered) > np.mean(raw)
    assert np.mean(ratio) < 2.2


def test_a_search_that_learns_knows_effects_better_than_one_that_does_not() -> None:
    """The source's protocol on three functions and four seeds: a sign that is far outside the noise."""
    error = {"ei": [], "bobax-2": [], "rs": []}  # type: dict[str, list[float]]
    for method, values in error.items():
        for problem in ("branin", "camel", "styblinski-tang"):
            values += [run_effect_task(EffectTask("source", problem, method, seed)).d[-1] for seed in range(200, 204)]
    assert np.mean(np.array(error["bobax-2"]) < np.array(error["ei"])) > 0.9
    assert np.mean(np.array(error["bobax-2"]) < np.array(error["rs"])) > 0.8
