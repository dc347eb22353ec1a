"""Once a search of one or two parameters has settled, some of its trials look elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import assert_rebuilt_exactly, file_storage, model_receipts

import pellucid
from pellucid.numerics import Array
from pellucid.search.acquisition import LCB, InformationGain
from pellucid.search.looks import RECENT, neglected, rooms, settled


def two_wells(trial: Trial) -> float:
    """A wide well with a depth of 0.8 at 0.7, and a narrow one with a depth of 1 at 0.26."""
    x = trial.suggest_float("x", 0, 1)
    return float(1.0 - max(0.8 * np.exp(-0.5 * ((x - 0.7) / 0.3) ** 2), np.exp(-0.5 * ((x - 0.26) / 0.02) ** 2)))


def study_of(objective: object, n: int, seed: int = 0, **options: object) -> Study:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=seed, **options))  # type: ignore[arg-type]
    study.optimize(objective, n_trials=n)  # type: ignore[arg-type]
    return study


def looks(study: Study) -> list[int]:
    return [receipt.trial for receipt in model_receipts(study) if receipt.look]


@pytest.fixture(scope="module")
def searched() -> Study:
    return study_of(two_wells, 60)


# ---------------------------------------------------------------------- arrays


def walk(*last: float) -> tuple[Array, Array]:
    """Trials of a bowl around 0.5: five of a start, then these."""
    x = np.array([0.05, 0.25, 0.45, 0.65, 0.85, *last])
    return x[:, None], (x - 0.5) ** 2


def test_a_search_has_settled_when_its_last_trials_stay_at_the_best_one() -> None:
    X, m = walk(0.5, *np.linspace(0.49, 0.51, RECENT))
    assert settled(X, m, range(len(X)))
    assert not settled(X[:-1], m[:-1], range(len(X) - 1))  # One of the last is at 0.5, which was an improvement.


def test_a_search_that_still_improves_or_still_explores_has_not_settled() -> None:
    X, m = walk(0.5, *np.linspace(0.49, 0.51, RECENT))
    better = m.copy()
    better[-1] -= 0.1
    assert not settled(X, better, range(len(X)))
    X[-3:] = 0.9
    assert not settled(X, m, range(len(X)))


def test_looks_do_not_count_as_trials_of_the_search() -> None:
    X, m = walk(0.5, 0.5, 0.1, 0.5, 0.9, 0.5, 0.2, 0.5, 0.8, 0.5, 0.3, 0.5, 0.7, 0.5, 0.5)
    assert not settled(X, m, range(len(X)))
    assert settled(X, m, [i for i in range(len(X)) if i < 5 or X[i, 0] == 0.5])


def test_few_trials_settle_nothing() -> None:
    assert not settled(np.full((RECENT, 1), 0.5), np.zeros(RECENT), range(RECENT))


def test_the_room_around_a_candidate_is_that_of_an_empty_box_on_a_torus() -> None:
    rng = np.random.default_rng(0)
    Z, K = rng.random((30, 2)), rng.random((12, 2))
    copies = np.vstack([K + np.array([a, b]) for a in (-1, 0, 1) for b in (-1, 0, 1)])
    brute = np.array([np.abs(copies - z).max(axis=1).min() for z in Z])
    np.testing.assert_allclose(rooms(Z, K), brute, atol=1e-15)
    assert (rooms(Z, K[:0]) == 0.5).all()


def grid_of_two_wells(shallow: float) -> tuple[Array, Array]:
    X = np.stack(np.meshgrid(*[np.linspace(0.05, 0.95, 7)] * 2), axis=-1).reshape(-1, 2)
    m = np.abs(X - 0.8).max(axis=1)
    m[np.abs(X - [0.2, 0.35]).max(axis=1) < 1e-9] = shallow
    return X, m


def test_a_trial_that_is_better_than_its_neighbours_is_neglected_until_it_has_had_its_chance() -> None:
    X, m = grid_of_two_wells(0.1)
    i = neglected(X, m, X)
    assert i is not None
    np.testing.assert_allclose(X[i], [0.2, 0.35])
    tried = np.vstack([X, X[i] + 0.05 * np.random.default_rng(0).uniform(-1, 1, (5, 2))])
    assert neglected(X, m, tried) is None


def test_a_trial_on_a_slope_is_not() -> None:
    X, m = grid_of_two_wells(0.6)
    assert neglected(X, m, X) is None
    assert neglected(X[:1], m[:1], X[:1]) is None


# ---------------------------------------------------------------------- studies


def test_looks_begin_when_the_search_has_settled_and_find_the_deeper_well(searched: Study) -> None:
    found = next(trial.number for trial in searched.trials if trial.value < 0.15)
    first = min(looks(searched))
    before = np.array([trial.params["x"] for trial in searched.trials[first - RECENT : first]])
    assert (np.abs(before - 0.7) <= 0.05).sum() >= 6
    assert any(first <= number <= found for number in looks(searched))
    assert searched.best_value < 1e-4


def test_receipts_of_looks_rebuild_exactly_and_say_so(searched: Study) -> None:
    assert_rebuilt_exactly(searched, 50)
    receipt = pellucid.receipt(searched, min(looks(searched)))
    assert receipt is not None
    assert str(receipt).startswith(f"Trial {receipt.trial} looked elsewhere; the model expected ")
    assert "It looked" in str(receipt)
    assert "the search had settled near trial " in str(receipt)
    assert receipt.turn in str(pellucid.explain_proposal(searched, receipt.trial))


def test_a_resumed_study_looks_at_the_same_places(searched: Study, tmp_path: Path) -> None:
    storage = file_storage(tmp_path / "s")
    for _ in range(2):
        sampler = pellucid.BayesianSampler(seed=0)
        study = optuna.create_study(storage=storage, study_name="s", sampler=sampler, load_if_exists=True)
        study.optimize(two_wells, n_trials=30)
    assert [trial.params for trial in study.trials] == [trial.params for trial in searched.trials]
    assert looks(study) == looks(searched)


@pytest.mark.parametrize(
    "options",
    [
        {"acquisition": LCB(2.0)},
        {"acquisition": InformationGain()},
        {"interleave": pellucid.Interleave(mode="multiply")},
    ],
    ids=["chosen acquisition", "effects", "both"],
)
def test_a_search_that_the_user_has_chosen_has_no_looks(options: dict[str, object]) -> None:
    assert looks(study_of(two_wells, 35, **options)) == []


def test_looks_end_when_a_small_space_has_been_seen() -> None:
    study = study_of(lambda trial: (trial.suggest_int("k", 0, 11) - 7.0) ** 2, 40)
    assert {trial.params["k"] for trial in study.trials} == set(range(12))
    assert max(looks(study), default=0) < 30


def test_workers_at_the_same_time_look_at_different_places(searched: Study) -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
    study.add_trials(searched.trials[: min(looks(searched))])
    asked = [study.ask({"x": optuna.distributions.FloatDistribution(0, 1)}) for _ in range(6)]
    at = [trial.params["x"] for trial in asked if trial.number in looks(study)]
    assert len(at) >= 2
    assert np.diff(np.sort(at)).min() > 0.02
