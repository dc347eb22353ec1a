"""Known fronts are those of the formulas, and a study is asked everything about its front."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from lab.tests.helpers import call

from pellucid_lab.problems.several import several_problem
from pellucid_lab.truth import front_runs
from pellucid_lab.truth.front_claims import true_shares
from pellucid_lab.truth.front_runs import FrontRun, FrontTask, run_front_task
from pellucid_lab.truth.front_tables import front_grids
from pellucid_lab.truth.fronts import DESIGN_FRONTS, REPORTED_FRONTS, best_second, spread, trading, true_front


def test_no_problem_is_both_designed_and_reported_on() -> None:
    assert not set(DESIGN_FRONTS) & set(REPORTED_FRONTS)


@pytest.mark.parametrize("name", ["zdt1", "dtlz2-2", "vlmop2-noisy", "tnk"])
def test_fronts_are_those_of_the_closed_forms(name: str) -> None:
    outcomes = true_front(name)
    assert (np.diff(outcomes[:, 0]) > 0.0).all()
    assert (np.diff(outcomes[:, 1]) < 0.0).all()
    first = outcomes[:, 0]
    if name == "zdt1":
        np.testing.assert_allclose(outcomes[:, 1], 1.0 - np.sqrt(first), atol=1e-12)
        assert best_second(name, 0.25) == pytest.approx(0.5, abs=1e-6)
        assert best_second(name, -0.1) == math.inf
    if name == "dtlz2-2":
        np.testing.assert_allclose((outcomes**2).sum(axis=1), 1.0)
    # The dominated volume of the known front is the one that the problem states, which is larger than any grid's.
    problem = several_problem(name)
    widths = np.diff(np.r_[first, problem.reference[0]])
    volume = float(widths @ (problem.reference[1] - outcomes[:, 1]))
    assert volume == pytest.approx(problem.volume, rel=2e-3)


def test_only_parameters_of_the_problem_trade() -> None:
    for name in (*DESIGN_FRONTS, *REPORTED_FRONTS):
        assert set(trading(name)) <= {f"x{j}" for j in range(1, 7)}
        assert (spread(name) > 0.0).all()


def test_what_truly_matters_is_what_the_formulas_say() -> None:
    shares = true_shares("vlmop2-noisy", "the front")
    assert list(shares) == ["x1", "x2", "x3"]
    # The three parameters are alike, and each has to be near the same line.
    assert max(shares.values()) < 1.2 * min(shares.values())
    assert min(shares.values()) > 0.1


def test_a_study_is_asked_everything_and_tabulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(front_runs, "N_TRIALS", 15)
    run = run_front_task(FrontTask("vlmop2-noisy", False, 0))
    assert len(run.chances) == 15
    assert run.intervals
    assert len(run.rates) == 4
    assert len(run.roles) == 3
    assert [asked[0] for asked in run.compromises] == ["weights"] * 3 + ["limits"] * 3
    assert all(behind >= 0.0 for *_, behind in run.compromises[:3] if behind is not None)
    assert len(run.importance) == 6
    assert run.predicted == (0, 0)  # Five proposals of a model are too few to judge.
    grids = front_grids([run])
    assert [grid.title for grid in grids] == list(dict.fromkeys(grid.title for grid in grids))
    assert FrontRun(**vars(run)).key == run.key
    wrong = call("bench", "fronts", "--problems", "spiral", "--out", str(tmp_path / "runs.jsonl"))
    assert wrong.exit_code == 2
    assert "The problems whose fronts are known are" in wrong.stderr
