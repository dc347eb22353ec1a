"""Searching and explaining by turns in real studies: the order of turns, the receipts, and the benefit."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import assert_rebuilt_exactly, conditional, file_storage, model_receipts

import pellucid
from pellucid.models import GaussianProcess
from pellucid.search.acquisition import EI, LCB, PI, SAWEI, InformationGain
from pellucid.search.acquisition.interleave import half_widths
from pellucid.study.view import StudyView

WAYS: dict[str, dict[str, Any]] = {
    "every": {"interleave": pellucid.Interleave()},
    "one": {"interleave": pellucid.Interleave("lr", every=3)},
    "pair": {"interleave": pellucid.Interleave([("lr", "booster"), "drop"])},
    "until": {"interleave": pellucid.Interleave(until=0.3)},
    "probability": {"interleave": pellucid.Interleave(mode="probability", decay=0.99)},
    "multiply": {"interleave": pellucid.Interleave(mode="multiply")},
    "multiply PI": {"interleave": pellucid.Interleave(mode="multiply", target="path"), "acquisition": PI(0.1)},
    "output": {"interleave": pellucid.Interleave(target="output")},
    "permutation": {"interleave": pellucid.Interleave(target="permutation")},
    "sawei": {"interleave": pellucid.Interleave(), "acquisition": SAWEI()},
    "bax": {"acquisition": InformationGain(["lr", "depth"])},
    "radial": {"interleave": pellucid.Interleave(), "surrogate": GaussianProcess("matern52-radial")},
    "unwarped": {"interleave": pellucid.Interleave(), "surrogate": GaussianProcess("se")},
}


def run(
    way: dict[str, Any], n: int, objective: Callable[[Trial], float] = conditional, storage: BaseStorage | None = None
) -> Study:
    sampler = pellucid.BayesianSampler(seed=3, n_startup_trials=6, **way)
    study = optuna.create_study(storage=storage, study_name="s", load_if_exists=True, sampler=sampler)
    study.optimize(objective, n_trials=n)
    return study


@functools.cache
def twenty_four_trials(way: str) -> Study:
    """Not changed by the tests that share it."""
    return run(WAYS[way], 24)


def names(study: Study) -> dict[int, str]:
    return {r.trial: r.acquisition.name for r in model_receipts(study) if r.acquisition is not None}


@pytest.mark.parametrize("way", WAYS)
def test_every_setting_proposes_and_is_rebuilt_exactly(way: str) -> None:
    study = twenty_four_trials(way)
    assert len(model_receipts(study)) == 18
    assert_rebuilt_exactly(study, 18)


@pytest.mark.parametrize("way", ["every", "until", "probability", "multiply"])
def test_a_resumed_study_takes_the_same_turns(way: str, tmp_path: Path) -> None:
    at_once = twenty_four_trials(way)
    run(WAYS[way], 13, storage=file_storage(tmp_path / "study"))
    resumed = run(WAYS[way], 11, storage=file_storage(tmp_path / "study"))
    assert [t.params for t in resumed.trials] == [t.params for t in at_once.trials]
    assert names(resumed) == names(at_once)


def test_turns_go_by_the_number_of_the_trial() -> None:
    acquisitions = names(run({"interleave": pellucid.Interleave("lr", every=3), "acquisition": EI()}, 18))
    assert {n for n, name in acquisitions.items() if name == "InformationGain"} == {6, 9, 12, 15}
    assert {name for n, name in acquisitions.items() if n % 3} == {"EI"}


def test_models_that_explain_have_no_warp_and_do_not_affect_those_that_search() -> None:
    def skewed(trial: Trial) -> float:
        return float(np.exp(4 * trial.suggest_float("x", 0, 1) + 2 * trial.suggest_float("y", 0, 1)))

    study = run({"interleave": pellucid.Interleave(), "acquisition": EI()}, 40, skewed)
    explaining = [r.hyperparameters for r in model_receipts(study) if r.acquisition.name == "InformationGain"]
    searching = [r.hyperparameters for r in model_receipts(study) if r.acquisition.name == "EI"]
    assert all(h.warp is None for h in explaining)
    assert any(h.warp is not None for h in searching)


def test_effects_that_are_known_are_dropped_and_then_the_search_goes_on_alone() -> None:
    """Two lines and a parabola: narrow bands come early, learning ends, every receipt holds the widths of the bands."""

    def smooth(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 1) + (trial.suggest_float("y", 0, 1) - 0.5) ** 2

    study = run({"interleave": pellucid.Interleave(until=0.05), "acquisition": EI()}, 40, smooth)
    lessons = [r for r in model_receipts(study) if r.acquisition.name == "InformationGain"]
    assert lessons
    assert lessons[-1].trial < 30
    for receipt in lessons:
        widths = {name.removeprefix("half-width "): w for name, w in receipt.policy.numbers.items()}
        wide = {name for name, w in widths.items() if w > 0.05}
        assert wide
        assert {effect[0] for effect in receipt.acquisition.settings["params"]} == wide
    data = StudyView.of(study, "test").data
    gp = GaussianProcess().fit(data.X, data.losses)
    assert max(half_widths(gp, data.space, [("x",), ("y",)]).values()) < 0.06
    for name in ("x", "y"):
        # The answer adds what is not known about the model: twice the jackknife variance, and hyperparameters.
        assert pellucid.partial_dependence(study, name).half_width < 2 * 0.05


def test_interleaving_makes_effects_more_reliable_than_searching_alone() -> None:
    """The mean half-width of the bands and the distance to the truth, over four seeds."""

    def bumpy(trial: Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return 10 * (x - 0.2) ** 2 + math.sin(6 * x) + 5 * (y - 0.7) ** 2

    def error(seed: int, **way: Any) -> float:
        sampler = pellucid.BayesianSampler(seed=seed, n_startup_trials=5, acquisition=EI(), **way)
        study = optuna.create_study(sampler=sampler)
        study.optimize(bumpy, n_trials=30)
        effect = pellucid.partial_dependence(study, "x")
        x, y = np.array(effect.values[0]), np.linspace(0, 1, 2001)
        truth = 10 * (x - 0.2) ** 2 + np.sin(6 * x) + float(np.mean(5 * (y - 0.7) ** 2))
        return float(np.abs(np.array(effect.mean) - truth).mean())

    searching = np.mean([error(seed) for seed in range(4)])
    by_turns = np.mean([error(seed, interleave=pellucid.Interleave("x")) for seed in range(4)])
    assert by_turns < 0.5 * searching


def test_parameters_that_no_trial_has_yet_are_accepted() -> None:
    def late(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("late", 0, 1) if trial.number > 14 else 0.0)

    study = run({"interleave": pellucid.Interleave("late")}, 24, late)
    assert {r.kind for r in pellucid.receipts(study)} == {"startup", "model"}


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match=r"must be a pellucid.Interleave\(...\), but got 'all'"):
        pellucid.BayesianSampler(interleave="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="multiplies EI or PI"):
        pellucid.BayesianSampler(interleave=pellucid.Interleave(mode="multiply"), acquisition=LCB())


def test_misspelt_effects_are_pointed_out_once(caplog: pytest.LogCaptureFixture) -> None:
    run({"interleave": pellucid.Interleave(["lr", ("depht", "lr")])}, 12)
    (message,) = [r.getMessage() for r in caplog.records if "misspelt" in r.getMessage()]
    assert "no finished trial has had: depht." in message


def test_receipts_say_in_words_that_a_trial_was_for_learning() -> None:
    sentences = [str(receipt) for receipt in model_receipts(run({"interleave": pellucid.Interleave()}, 8))]
    assert sentences[0].startswith(
        "Trial 6 was chosen to learn about all effects, not to improve the objective; the model expected "
    )
    assert sentences[1].startswith("Trial 7 maximised LCB; the model expected ")
    pair = model_receipts(run({"acquisition": InformationGain(["lr", ("lr", "depth")])}, 7))
    assert "to learn about the effects of `lr`, `lr` × `depth`, not to improve the objective" in str(pair[-1])
