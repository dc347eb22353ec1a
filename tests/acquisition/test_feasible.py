"""Avoiding regions in which trials fail: fewer failures, no conclusion from a single one, exact receipts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.helpers import bowl, conditional, file_storage, model_receipts
from tests.problems import central_difference

import pellucid
from pellucid.models import GaussianProcess
from pellucid.search.acquisition import EI, LCB, SAWEI, Acquisition
from pellucid.search.acquisition.base import Situation
from pellucid.search.acquisition.feasible import Feasible
from pellucid.space.encoding import Space


def out_of_memory(trial: Trial) -> float:
    """Larger is better until it fails: the best configurations are next to those that cannot run."""
    units, lr = trial.suggest_float("units", 0, 1), trial.suggest_float("lr", 0, 1)
    other = trial.suggest_float("other", 0, 1)
    if units > 0.6:
        raise MemoryError
    return -units + (lr - 0.4) ** 2 + 0.1 * other


def run(objective: Callable[[Trial], float], n: int, seed: int = 0, **options: object) -> Study:
    sampler = pellucid.BayesianSampler(seed=seed, n_startup_trials=8, **options)  # type: ignore[arg-type]
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n, catch=(MemoryError,))
    return study


def failures(study: Study) -> int:
    return sum(trial.state == TrialState.FAIL for trial in study.trials)


@pytest.mark.parametrize(
    ("acquisition", "ratio"), [(None, 0.4), (EI(), 0.85), (SAWEI(), 0.85)], ids=["LCB", "EI", "SAWEI"]
)
def test_fewer_trials_fail_and_the_best_values_improve(
    acquisition: Acquisition | None, ratio: float, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    plain = [run(out_of_memory, 40, seed, acquisition=acquisition) for seed in (0, 1)]
    wary = [run(out_of_memory, 40, seed, acquisition=acquisition, avoid_failures=True) for seed in (0, 1)]
    assert all(receipt.kind != "fallback" for study in (*plain, *wary) for receipt in pellucid.receipts(study))
    # The optimum is at the edge of the feasible region: EI keeps exploring that edge, while a bound stays inside.
    assert sum(map(failures, wary)) < ratio * sum(map(failures, plain))
    assert np.mean([study.best_value for study in wary]) < np.mean([study.best_value for study in plain])


def test_without_failures_nothing_changes() -> None:
    plain, wary = run(bowl, 15), run(bowl, 15, avoid_failures=True)
    assert [t.params for t in plain.trials] == [t.params for t in wary.trials]


def test_one_failure_does_not_rule_out_a_region(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)

    def once(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number == 9:
            raise MemoryError
        return value

    plain, wary = run(once, 16), run(once, 16, avoid_failures=True)
    assert [t.params for t in plain.trials] == [t.params for t in wary.trials]


def test_transient_failures_are_forgiven_by_success_nearby() -> None:
    """Two failures in a place where twenty trials went well cost next to nothing; without these they cost a lot."""
    space = Space.of({"x": optuna.distributions.FloatDistribution(0, 1)})
    rng = np.random.default_rng(0)
    near = np.clip(0.5 + 0.03 * rng.standard_normal((20, 1)), 0, 1)
    far = np.linspace(0, 0.2, 20)[:, None]
    failed = np.array([[0.5], [0.51]])
    situation = Situation(0.0, 20, 1)

    def penalty(X_ok: np.ndarray) -> float:  # type: ignore[type-arg]
        gp = GaussianProcess().fit(X_ok, np.sin(5 * X_ok[:, 0]))
        model = gp.believe(failed)
        chance = Feasible(LCB(), len(X_ok), 2, (0.1,))
        return float(chance.bind(model, situation, space).terms(np.array([[0.505]]))["feasibility"][0])

    assert penalty(near) > -0.4
    assert penalty(far) < -0.9


def test_gradients() -> None:
    rng = np.random.default_rng(0)
    space = Space.of(
        {
            "a": optuna.distributions.FloatDistribution(0, 1),
            "b": optuna.distributions.FloatDistribution(0, 1),
            "c": optuna.distributions.CategoricalDistribution(["u", "v"]),
        }
    )
    X = space.canonical(rng.random((20, 3)))
    gp = GaussianProcess(nominal=space.nominal).fit(X[:14], np.sin(3 * X[:14, 0]))
    model = gp.believe(X[14:])
    for base in (EI(), LCB(2.0)):
        function = Feasible(base, 14, 6, (0.3, 0.5, 1.0)).bind(model, Situation(-0.5, 14, 3), space)
        points = space.canonical(rng.random((4, 3)))
        score, gradient = function.score_with_gradient(points)
        np.testing.assert_allclose(score, function.score(points), rtol=1e-10)
        for i, x in enumerate(points):
            score_at = lambda v, f=function, c=x[2]: f.score(np.r_[v, c][None])[0]  # noqa: E731
            slope = central_difference(score_at, x[:2], 1e-5)
            np.testing.assert_allclose(gradient[i, :2], slope, rtol=1e-5, atol=1e-6)


def test_receipts_rebuild_and_explain_avoided_failures(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    study = run(out_of_memory, 30, avoid_failures=True)
    wary = [r for r in model_receipts(study) if r.acquisition.name == "Feasible"]
    assert len(wary) > 10
    for receipt in wary:
        rebuilt = pellucid.rebuild(study, receipt.trial)
        x = rebuilt.encode([receipt.params])
        terms = rebuilt.acquisition.terms(x)
        assert receipt.acquisition is not None
        for name, value in receipt.acquisition.terms.items():
            assert float(terms[name][0]) == pytest.approx(value, rel=1e-9, abs=1e-9)
    explanations = [pellucid.explain_proposal(study, receipt.trial) for receipt in wary]
    assert all(explanation.term_names == ("acquisition", "feasibility") for explanation in explanations)
    shares = dict.fromkeys(("units", "other", "lr"), 0.0)
    for explanation in explanations:
        for contribution in explanation.contributions:
            shares[contribution.name] += contribution.terms["feasibility"]
    assert shares["units"] > shares["other"] > shares["lr"]


def test_a_resumed_study_is_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    at_once = run(out_of_memory, 24, avoid_failures=True)
    for total in (14, 24):
        sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=8, avoid_failures=True)
        study = optuna.create_study(
            storage=file_storage(tmp_path / "s"), study_name="s", sampler=sampler, load_if_exists=True
        )
        study.optimize(out_of_memory, n_trials=total - len(study.trials), catch=(MemoryError,))
    assert [t.params for t in study.trials] == [t.params for t in at_once.trials]


@pytest.mark.parametrize("interleave", [None, pellucid.Interleave()], ids=["search", "turns"])
def test_categories_conditions_and_turns(
    interleave: pellucid.Interleave | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A choice whose trials always fail is given up; nothing falls back on the way."""
    caplog.set_level(logging.CRITICAL)

    def brittle(trial: Trial) -> float:
        value = conditional(trial)
        if trial.params["booster"] == "dart":
            raise MemoryError
        return value

    study = run(brittle, 40, avoid_failures=True, interleave=interleave)
    assert all(receipt.kind != "fallback" for receipt in pellucid.receipts(study))
    searched = [t for t in study.trials[20:] if interleave is None or t.number % 2]
    assert sum(t.state == TrialState.FAIL for t in searched) <= 3
