"""The ranking sampler: what earlier studies taught proposes, this study corrects it, and the storage remembers why."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial
from tests.helpers import ROOT, STUDY, finish, kinds, messages, start_worker, states, task, task_loss
from tests.integration.worker import storage_at

import pellucid
from pellucid.records import Receipt, RecordError
from pellucid.space import study_io

torch = pytest.importorskip("torch")

TASK = task(0.3)


@pytest.fixture
def sampler(ranker: Any) -> Callable[..., pellucid.RankingSampler]:
    return lambda **options: pellucid.RankingSampler(**{"model": ranker, "seed": 0, **options})


@pytest.fixture(scope="session")
def model_file(ranker: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "earlier.ranker"
    pellucid.RankingSampler(model=ranker).save(path)
    return path


@pytest.fixture(scope="session")
def study(ranker: Any) -> Study:
    """All it does, one after the other: transferred, by turns, handed over."""
    return run(pellucid.RankingSampler(model=ranker, hand_over=20, seed=0), 24)


def run(
    sampler: Any, n: int, objective: Callable[[Trial], float] = TASK, direction: str = "minimize", **options: Any
) -> Study:
    made = optuna.create_study(sampler=sampler, direction=direction)
    made.optimize(objective, n_trials=n, **options)
    return made


def params(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def distinct(trials: Sequence[FrozenTrial]) -> int:
    return len({tuple(sorted(trial.params.items())) for trial in trials})


def phases(study: Study) -> list[str]:
    return [receipt.phase for receipt in pellucid.receipts(study)]


def only_rankings(study: Study) -> bool:
    return set(kinds(study).values()) == {"ranking"} and len(kinds(study)) == len(study.trials)


# ------------------------------------------------------------------------------------------ what it proposes


def test_from_the_first_trial_on_proposals_are_good_where_random_ones_are_not(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    random = run(optuna.samplers.RandomSampler(seed=5), 60)
    middle, tenth = np.quantile([t.value for t in random.trials], [0.5, 0.1])
    for seed in range(3):
        study = run(sampler(seed=seed), 8)
        values = [t.value for t in study.trials]
        assert values[0] < tenth
        assert np.mean(values) < 0.25 * middle
        assert only_rankings(study)


def test_the_first_trial_gets_values_of_the_model_although_the_study_has_no_parameters_yet(study: Study) -> None:
    first = pellucid.receipts(study)[0]
    assert first.params == study.trials[0].params
    assert first.ranking is not None
    assert first.ranking.rank < 0.05 * first.ranking.candidates
    assert first.fitted_on == ""
    assert first.best_value is None


def test_same_seed_same_proposals_and_another_seed_others(
    study: Study, sampler: Callable[..., pellucid.RankingSampler]
) -> None:
    assert params(run(sampler(hand_over=20), 24)) == params(study)
    assert params(run(sampler(seed=1), 5)) != params(study)[:5]


def test_no_seed_means_a_new_one(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    assert params(run(sampler(seed=None), 3)) != params(run(sampler(seed=None), 3))


def test_the_turns_of_the_ranking_as_it_was_learned_and_as_it_was_tuned_are_told(study: Study) -> None:
    rankings = {one.trial: one.ranking for one in pellucid.receipts(study) if one.ranking is not None}
    assert list(rankings) == list(range(20))
    assert [rankings[i].turn for i in range(9)] == ["transferred"] * 9
    assert [rankings[i].turn for i in range(9, 20)] == ["tuned", "transferred"] * 5 + ["tuned"]
    assert [rankings[i].epochs for i in (8, 9, 10, 19)] == [0, 1, 0, 11]
    assert {one.studies for one in rankings.values()} == {7}
    assert {one.model for one in rankings.values()} == {rankings[0].model}
    assert len(rankings[0].model) == 16
    texts = [str(one) for one in pellucid.receipts(study)]
    assert "by what 7 earlier studies taught." in texts[10]
    assert "by what 7 earlier studies taught, tuned to this one." in texts[19]


def test_after_so_many_trials_the_fallback_takes_over_and_says_so(study: Study) -> None:
    assert [kinds(study)[i] for i in range(18, 24)] == ["ranking"] * 2 + ["model"] * 4
    assert set(phases(study)[20:]) == {"The fallback proposed it: the ranking hands over after 20 trials."}
    assert str(pellucid.receipts(study)[-1]).endswith("the ranking hands over after 20 trials.")


def test_never_handing_over_goes_on_ranking(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    done = run(optuna.samplers.RandomSampler(seed=0), 40)
    for hand_over, kind in ((None, "ranking"), (30, "model"), (41, "ranking")):
        study = optuna.create_study(sampler=sampler(hand_over=hand_over))
        study.add_trials(done.trials)
        study.optimize(TASK, n_trials=1)
        assert kinds(study) == {40: kind}


def test_only_trials_with_a_value_count_for_the_hand_over(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    study = run(sampler(hand_over=4), 12, lambda trial: math.nan if TASK(trial) and trial.number % 2 else TASK(trial))
    assert [kinds(study)[i] for i in range(12)] == ["ranking"] * 7 + ["startup"] * 5


def test_the_fallback_that_was_given_is_the_one_that_proposes(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    given = pellucid.BayesianSampler(seed=7, n_startup_trials=2, acquisition=pellucid.acquisition.EI())
    study = run(sampler(hand_over=3, fallback=given), 5)
    last = pellucid.receipts(study)[-1]
    assert last.acquisition is not None
    assert (last.kind, last.acquisition.name, last.seed) == ("model", "EI", 7)


# ------------------------------------------------------------------------------- nothing but the storage decides


def test_resumed_from_a_file_in_two_samplers_is_the_same_as_at_once(
    study: Study, model_file: Path, tmp_path: Path
) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    for _ in range(2):
        half = optuna.create_study(
            study_name="s",
            storage=storage,
            sampler=pellucid.RankingSampler(model=str(model_file), hand_over=20, seed=0),
            load_if_exists=True,
        )
        half.optimize(TASK, n_trials=12)
    assert params(half) == params(study)
    assert [r.to_dict() for r in pellucid.receipts(half)] == [r.to_dict() for r in pellucid.receipts(study)]


def test_another_process_goes_on_as_this_one_would(
    sampler: Callable[..., pellucid.RankingSampler], model_file: Path, tmp_path: Path
) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    stored = optuna.create_study(study_name=STUDY, storage=storage, sampler=sampler())
    stored.optimize(TASK, n_trials=8)
    finish(start_worker(storage, "task", 2, "--model", str(model_file)))
    assert params(stored) == params(run(sampler(), 10))


def test_a_sampler_made_from_studies_is_the_one_that_its_file_makes(
    earlier: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pellucid.surrogates.ranking import past
    from pellucid.surrogates.ranking.training import Recipe

    small = partial(past.RankingEnsemble, members=2, width=8, recipe=Recipe(steps=40, lists=4))
    monkeypatch.setattr(past, "RankingEnsemble", small)
    names = [f"earlier {i}" for i in range(5)]
    made = pellucid.RankingSampler.from_studies(earlier._storage, names, seed=3, progress=False)
    made.save(tmp_path / "a.ranker")
    loaded = pellucid.RankingSampler(model=tmp_path / "a.ranker", seed=3)
    loaded.save(tmp_path / "b.ranker")
    assert (tmp_path / "a.ranker").read_bytes() == (tmp_path / "b.ranker").read_bytes()
    first, second = run(made, 10), run(loaded, 10)
    assert params(first) == params(second)
    assert [r.to_dict() for r in pellucid.receipts(first)] == [r.to_dict() for r in pellucid.receipts(second)]
    again = pellucid.RankingSampler.from_studies(earlier._storage, names, seed=3, progress=False)
    again.save(tmp_path / "c.ranker")
    assert (tmp_path / "a.ranker").read_bytes() == (tmp_path / "c.ranker").read_bytes()


def test_maximising_is_minimising_the_opposite(study: Study, sampler: Callable[..., pellucid.RankingSampler]) -> None:
    mirrored = run(sampler(hand_over=20), 24, task(0.3, -1.0), "maximize")
    assert params(mirrored) == params(study)
    assert {one.direction for one in pellucid.receipts(mirrored) if one.ranking} == {"maximize"}
    assert pellucid.receipts(mirrored)[19].best_value == -pellucid.receipts(study)[19].best_value


def test_another_unit_of_the_objective_changes_nothing(
    study: Study, sampler: Callable[..., pellucid.RankingSampler]
) -> None:
    other = run(sampler(hand_over=20), 20, lambda trial: 1024.0 * TASK(trial))
    assert params(other) == params(study)[:20]


def test_the_users_random_numbers_and_threads_of_torch_stay_as_they_are(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    before = torch.get_num_threads()
    torch.manual_seed(3)
    expected = torch.get_rng_state()
    try:
        torch.set_num_threads(2)
        run(sampler(), 10)
        run(sampler(model=None, fallback=pellucid.BayesianSampler(n_startup_trials=2)), 4)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), expected)
        run(sampler(), 12, n_jobs=4)
        assert torch.get_num_threads() == 2
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert seen == [2]
    finally:
        torch.set_num_threads(before)


# --------------------------------------------------------------------------------- earlier studies that mislead


def test_earlier_studies_that_mislead_are_noticed_and_the_receipt_says_it(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    noticed = 0
    for seed in range(5):
        study = run(sampler(seed=seed), 17, task(0.3, -1.0))
        words = [one for one in phases(study) if "earlier studies mislead here, because" in one]
        noticed += bool(words)
        assert all("came out worse (Kendall's tau -0." in one for one in words)
        assert all(one.kind != "ranking" for one in pellucid.receipts(study) if one.phase)
        assert not phases(study)[9]
    # How soon depends on how sure the model is: with other seeds of its training, 3 to 12 of 12 studies notice it.
    assert noticed >= 2


def test_earlier_studies_that_help_are_not_taken_for_misleading(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    studies = [run(sampler(seed=seed), 12, task(0.1 * (seed % 10) - 0.5)) for seed in range(20)]
    assert sum(not only_rankings(one) for one in studies) <= 1


def test_random_trials_of_a_task_turned_round_are_enough_to_notice(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    study = run(optuna.samplers.RandomSampler(seed=1), 12, task(0.3, -1.0))
    study.sampler = sampler()
    study.optimize(task(0.3, -1.0), n_trials=1)
    assert "earlier studies mislead here" in phases(study)[0]
    helped = run(optuna.samplers.RandomSampler(seed=1), 12)
    helped.sampler = sampler()
    helped.optimize(TASK, n_trials=1)
    assert kinds(helped) == {12: "ranking"}


def test_a_model_that_did_not_help_on_held_out_studies_is_not_used(
    ranker: Any, sampler: Callable[..., pellucid.RankingSampler], caplog: pytest.LogCaptureFixture
) -> None:
    from pellucid.surrogates.ranking.ranker import Ranker

    card = ranker.model.card
    useless = replace(card, checks=tuple(replace(one, regret=(1.0, 1.0, 1.0)) for one in card.checks))
    assert useless.helps is False
    study = run(sampler(model=Ranker.of(replace(ranker.model, card=useless))), 3)
    assert "ranking" not in kinds(study).values()
    assert "its order was no better than a random one" in phases(study)[0]
    assert len([one for one in messages(caplog) if "no better than a random one" in one]) == 1
    untested = Ranker.of(replace(ranker.model, card=replace(card, checks=())))
    assert only_rankings(run(sampler(model=untested), 2))


# ----------------------------------------------------------------------------------- spaces that are not the model's


def other_name(trial: Trial) -> float:
    return TASK(trial) + trial.suggest_float("dropout", 0, 1)


def one_missing(trial: Trial) -> float:
    return trial.suggest_float("lr", 1e-5, 1.0, log=True) + trial.suggest_int("depth", 1, 9)


def numbers_for_choices(trial: Trial) -> float:
    lr, opt = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_int("opt", 0, 2)
    return lr + opt + trial.suggest_int("depth", 1, 9)


def choices_for_numbers(trial: Trial) -> float:
    opt = trial.suggest_categorical("opt", ["adam", "sgd", "rms"])
    momentum = trial.suggest_float("momentum", 0, 1) if opt == "sgd" else None
    lr, depth = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_categorical("depth", ["1", "2"])
    return task_loss(0.3, lr, opt, float(depth), momentum)


def another_choice(trial: Trial) -> float:
    opt = trial.suggest_categorical("opt", ["adam", "lion", "sgd", "adagrad"])
    lr, depth = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_int("depth", 1, 9)
    if opt == "sgd":
        trial.suggest_float("momentum", 0, 1)
    return lr + depth


def nothing_in_common(trial: Trial) -> float:
    return trial.suggest_float("x", 0, 1) + trial.suggest_categorical("y", [0, 1])


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (other_name, "the study has `dropout`, which the model does not know"),
        (one_missing, "the model has `opt`, which the study does not have"),
        (numbers_for_choices, "`opt` has numbers in the study and choices in the model"),
        (choices_for_numbers, "`depth` has choices in the study and numbers in the model"),
        (another_choice, "`opt` has the choices 'lion', 'adagrad' only in the study"),
        (nothing_in_common, "the study has `x`, which the model does not know; the study has `y`"),
    ],
)
def test_a_model_of_other_parameters_is_not_used_and_that_is_said_once(
    sampler: Callable[..., pellucid.RankingSampler],
    caplog: pytest.LogCaptureFixture,
    objective: Callable[[Trial], float],
    words: str,
) -> None:
    study = run(sampler(fallback=pellucid.BayesianSampler(n_startup_trials=3, seed=0)), 7, objective)
    assert states(study) == [TrialState.COMPLETE] * 7
    assert distinct(study.trials) == 7
    found = kinds(study)
    assert [found[i] for i in range(1, 7)] == ["startup"] * 2 + ["model"] * 4
    assert all(words in one for one in phases(study)[1:])
    said = [one for one in messages(caplog) if "The fallback proposes" in one]
    assert len(said) == 1
    assert words in said[0]


def test_that_can_be_silenced(
    sampler: Callable[..., pellucid.RankingSampler], caplog: pytest.LogCaptureFixture
) -> None:
    study = run(sampler(warn_independent_sampling=False), 14, other_name)
    study.optimize(lambda trial: other_name(trial) + trial.suggest_float("late", 0, 1), n_trials=1)
    assert messages(caplog) == []


def test_a_study_without_parameters_is_not_said_to_be_ranked(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    study = run(sampler(), 4, lambda trial: float(trial.number))
    assert states(study) == [TrialState.COMPLETE] * 4
    assert "ranking" not in kinds(study).values()


@pytest.mark.parametrize(
    ("lr", "depth", "momentum"),
    [
        (FloatDistribution(1e-3, 1e-1, log=True), IntDistribution(4, 7), FloatDistribution(0.5, 0.9)),
        (FloatDistribution(1e-8, 100.0, log=True), IntDistribution(-20, 40), FloatDistribution(-3.0, 4.0)),
        (FloatDistribution(0.5, 20.0, log=True), IntDistribution(8, 30), FloatDistribution(0.9, 2.0)),
        (FloatDistribution(1e-4, 1.0), IntDistribution(1, 50, log=True), FloatDistribution(0.0, 1.0, step=0.125)),
        (FloatDistribution(0.0, 1.0), FloatDistribution(1.0, 9.0), IntDistribution(0, 1)),
        (FloatDistribution(-1.0, 1.0), IntDistribution(1, 9, step=4), FloatDistribution(1e-6, 1.0, log=True)),
        (FloatDistribution(1e-5, 1.0, log=True), IntDistribution(6, 6), FloatDistribution(0.8, 0.8)),
        (FloatDistribution(0.03, 0.03), IntDistribution(1, 9), FloatDistribution(0.0, 1.0)),
    ],
    ids=["narrower", "wider", "shifted", "linear", "kinds", "negative", "single", "single lr"],
)
def test_ranges_that_changed_are_kept_and_the_ranking_still_proposes(
    sampler: Callable[..., pellucid.RankingSampler], lr: Any, depth: Any, momentum: Any
) -> None:
    space = {"lr": lr, "depth": depth, "momentum": momentum}
    opt = CategoricalDistribution(["rms", "adam", "sgd"])

    def objective(trial: Trial) -> float:
        loss = abs(suggest(trial, "lr", lr) - 0.03) + abs(suggest(trial, "depth", depth) - 6) / 10
        chosen = suggest(trial, "opt", opt)
        loss += abs(suggest(trial, "momentum", momentum) - 0.8) if chosen == "sgd" else 0.5
        return float(loss)

    study = run(sampler(), 10, objective)
    assert only_rankings(study)
    assert not any(phases(study))
    for trial in study.trials:
        for name, distribution in space.items():
            if name in trial.params:
                assert distribution._contains(distribution.to_internal_repr(trial.params[name]))
    assert distinct(study.trials) == 10
    assert [one.params for one in pellucid.receipts(study)[1:]] == params(study)[1:]


def suggest(trial: Trial, name: str, distribution: Any) -> Any:
    return trial._suggest(name, distribution)


@pytest.mark.parametrize(
    ("lr", "depth", "momentum"),
    [
        ((1e-3, 1.0), (3, 9), (0.2, 1.0)),
        ((1e-6, 10.0), (1, 15), (0.0, 1.0)),
        ((1e-2, 100.0), (4, 20), (0.5, 1.5)),
        ((1e-8, 100.0), (-20, 40), (-3.0, 4.0)),
    ],
    ids=["narrower", "wider", "shifted", "much wider"],
)
def test_favourites_stay_favourites_in_other_ranges_and_orders(
    sampler: Callable[..., pellucid.RankingSampler], lr: Any, depth: Any, momentum: Any
) -> None:
    """What the model knows is about values, not about their places in a range or a list, and ends with its ranges."""

    def objective(trial: Trial) -> float:
        layers = trial.suggest_float("depth", *depth)
        opt = trial.suggest_categorical("opt", ["sgd", "rms", "adam"])
        rate = trial.suggest_float("lr", *lr, log=True)
        return task_loss(0.3, rate, opt, layers, trial.suggest_float("momentum", *momentum) if opt == "sgd" else None)

    random = np.median([t.value for t in run(optuna.samplers.RandomSampler(seed=1), 40, objective).trials])
    study = run(sampler(), 9, objective)
    assert only_rankings(study)
    assert np.median([t.value for t in study.trials]) < 0.5 * random
    assert {t.params["opt"] for t in study.trials[:2]} == {"sgd"}


def test_choices_that_the_study_does_not_have_are_not_proposed(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    def objective(trial: Trial) -> float:
        opt = trial.suggest_categorical("opt", ["rms", "adam"])
        lr, depth = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_int("depth", 1, 9)
        return task_loss(0.3, lr, opt, depth, None)

    study = run(sampler(), 8, objective)
    assert only_rankings(study)
    assert {t.params["opt"] for t in study.trials[1:4]} == {"adam"}


def test_ranges_that_change_in_the_middle(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    def moving(trial: Trial) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1.0 if trial.number < 5 else 1e-2, log=True)
        return task_loss(0.3, lr, "adam", trial.suggest_int("depth", 1, 9), None) + 0.0 * len(
            trial.suggest_categorical("opt", ["adam", "rms"])
        )

    study = run(sampler(), 10, moving)
    assert only_rankings(study)
    assert all(t.params["lr"] <= 1e-2 for t in study.trials[5:])


def test_conditional_parameters_are_proposed_with_what_switches_them(study: Study) -> None:
    for receipt in pellucid.receipts(study)[:20]:
        assert ("momentum" in receipt.params) == (receipt.params["opt"] == "sgd")
        assert receipt.conditions == {"momentum": ["opt", [1]]}
        assert receipt.params == study.trials[receipt.trial].params


def test_a_child_that_no_trial_has_had_gets_the_value_of_the_model(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    study = optuna.create_study(sampler=sampler())
    space = {
        "lr": FloatDistribution(1e-5, 1.0, log=True),
        "opt": CategoricalDistribution(["adam", "sgd", "rms"]),
        "depth": IntDistribution(1, 9),
    }
    study.add_trial(create_trial(params={"lr": 0.01, "opt": "adam", "depth": 5}, distributions=space, value=1.0))
    study.optimize(TASK, n_trials=1)
    [receipt] = pellucid.receipts(study)
    assert receipt.params["opt"] == "sgd"
    assert study.trials[1].params["momentum"] == receipt.params["momentum"]
    assert receipt.params["momentum"] > 0.5


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("choices", [True, False], ids=["ordered choices", "numbers"])
def test_an_ordered_parent_switches_its_child_in_other_ranges_too(
    sampler: Callable[..., pellucid.RankingSampler], choices: bool, below: bool
) -> None:
    """With `layers` up to (or from) 4 comes a `width`, also where the study has other `layers` than earlier ones."""

    def objective(values: list[int]) -> Callable[[Trial], float]:
        def inner(trial: Trial) -> float:
            n = trial.suggest_categorical("layers", values) if choices else trial.suggest_int("layers", 1, max(values))
            loss = abs(n - 4) + trial.suggest_float("x", 0, 1)
            return loss - (trial.suggest_float("width", 0, 1) if (n <= 4 if below else n >= 4) else 0.0)

        return inner

    model = random_model(objective([1, 2, 3, 4, 5, 6]))
    assert model.model.space.conditions["width"].codes is None
    study = run(sampler(model=model), 10, objective([2, 3, 4, 5] if choices else [8]))
    assert only_rankings(study)
    for receipt in pellucid.receipts(study)[1:]:
        n = receipt.params["layers"]
        assert ("width" in receipt.params) == (n <= 4 if below else n >= 4)


def random_model(objective: Callable[[Trial], float]) -> Any:
    """A model of this objective's parameters that has learned next to nothing."""
    from pellucid.surrogates.ranking.ensemble import RankingEnsemble
    from pellucid.surrogates.ranking.past import past_of
    from pellucid.surrogates.ranking.ranker import Ranker
    from pellucid.surrogates.ranking.training import Recipe

    past = past_of([run(optuna.samplers.RandomSampler(seed=i), 20, objective) for i in range(3)])
    ensemble = RankingEnsemble(past.space, members=2, width=8, recipe=Recipe(steps=5, lists=2))
    return Ranker.of(ensemble.meta_trained(past.tasks))


# ----------------------------------------------------------------------------------------- what studies are like


def objective_that(what: str) -> Callable[[Trial], float]:
    def objective(trial: Trial) -> float:
        value = TASK(trial)
        if trial.number % 3 == 1:
            if what == "nan":
                return math.nan
            if what == "raises":
                raise ArithmeticError
            if what in ("inf", "-inf"):
                return float(what)
            if what == "pruned early":
                raise optuna.TrialPruned
            if what == "pruned late":
                trial.report(value, 1)
                raise optuna.TrialPruned
            if what == "huge":
                return 1e308
        if what == "all fail":
            return math.nan
        return {"constant": 3.0, "all inf": math.inf, "all huge": -1e308 * value}.get(what, value)

    return objective


@pytest.mark.parametrize(
    "what",
    ["nan", "raises", "inf", "-inf", "pruned early", "pruned late", "huge", "constant", "all fail", "all inf",
     "all huge"],
)  # fmt: skip
def test_studies_go_on_whatever_the_trials_do(
    sampler: Callable[..., pellucid.RankingSampler], what: str, caplog: pytest.LogCaptureFixture
) -> None:
    study = run(sampler(), 12, objective_that(what), catch=ArithmeticError)
    assert len(study.trials) == 12
    assert distinct(study.trials) == 12
    if what != "all huge":
        assert only_rankings(study)
    assert not [one for one in messages(caplog) if "ranking failed" in one or "model failed" in one]


def test_failing_in_other_ranges_does_not_mean_failing_at_the_same_place_for_ever(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    def failing(trial: Trial) -> float:
        trial.suggest_float("lr", 2.0, 3.0)
        trial.suggest_int("depth", 20, 30)
        trial.suggest_categorical("opt", ["adam", "rms"])
        return math.nan

    assert distinct(run(sampler(), 6, failing).trials) == 6


def test_known_configurations_are_not_proposed_again(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    first = run(sampler(), 1)
    study = optuna.create_study(sampler=sampler())
    study.add_trials(first.trials * 12)
    study.optimize(TASK, n_trials=3)
    assert distinct(study.trials) == 4
    assert set(kinds(study).values()) == {"ranking"}


def grid(trial: Trial) -> float:
    return trial.suggest_int("a", 0, 2) + 0.1 * trial.suggest_categorical("b", ["p", "q"]).count("q")


def test_a_finite_space_is_exhausted_without_repeats_and_then_goes_on_with_the_best(
    sampler: Callable[..., pellucid.RankingSampler], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pellucid.surrogates.ranking import ranker
    from pellucid.surrogates.ranking.training import Recipe

    short = partial(ranker.RankingEnsemble, recipe=Recipe(scratch_epochs=60))
    monkeypatch.setattr(ranker, "RankingEnsemble", short)
    study = run(sampler(model=random_model(grid), hand_over=None), 9, grid)
    assert distinct(study.trials[:6]) == 6
    assert states(study) == [TrialState.COMPLETE] * 9
    alone = run(sampler(model=None, fallback=pellucid.BayesianSampler(n_startup_trials=2, seed=0)), 9, grid)
    assert distinct(alone.trials[:6]) == 6
    # Where nothing new is left, what the ranking puts first is tried again.
    assert all(t.value < 1.0 for t in alone.trials[6:])


def test_one_parameter_alone_is_searched_by_the_ranking_to_the_end(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    def line(trial: Trial) -> float:
        return (trial.suggest_float("x", 0, 1) - 0.4) ** 2

    from pellucid.surrogates.ranking.ensemble import RankingEnsemble
    from pellucid.surrogates.ranking.past import past_of
    from pellucid.surrogates.ranking.ranker import Ranker
    from pellucid.surrogates.ranking.training import Recipe

    past = past_of([run(optuna.samplers.RandomSampler(seed=i), 30, line) for i in range(3)])
    ensemble = RankingEnsemble(past.space, members=3, width=8, recipe=Recipe(steps=150, lists=4))
    study = run(sampler(model=Ranker.of(ensemble.meta_trained(past.tasks))), 24, line)
    assert only_rankings(study)
    assert distinct(study.trials) == 24
    late = [r.ranking.rank / r.ranking.candidates for r in pellucid.receipts(study)[8:] if r.ranking]
    assert np.mean(late) < 0.3


def test_enqueued_trials_are_taken_and_learned_from(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    study = optuna.create_study(sampler=sampler())
    wanted = {"lr": 0.5, "opt": "rms", "depth": 2}
    study.enqueue_trial(wanted)
    study.enqueue_trial({"lr": 0.25})
    study.optimize(TASK, n_trials=4)
    assert study.trials[0].params == wanted
    assert study.trials[1].params["lr"] == 0.25
    assert pellucid.receipts(study)[-1].fitted_on == "0-2"
    assert distinct(study.trials) == 4


def test_ask_and_tell_with_a_space_that_is_given(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    study = optuna.create_study(sampler=sampler())
    space = {
        "lr": FloatDistribution(1e-5, 1.0, log=True),
        "opt": CategoricalDistribution(["adam", "sgd", "rms"]),
        "depth": IntDistribution(1, 9),
        "momentum": FloatDistribution(0.0, 1.0),
    }
    asked = [study.ask(space) for _ in range(5)]
    assert distinct([study.trials[t.number] for t in asked]) == 5
    for trial in asked:
        study.tell(trial, float(trial.number))
    assert only_rankings(study)


def test_pruners_that_show_a_part_of_the_study(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    def reporting(trial: Trial) -> float:
        value = TASK(trial)
        for step in range(4):
            trial.report(value / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
    study = optuna.create_study(sampler=sampler(), pruner=pruner)
    study.optimize(reporting, n_trials=12)
    assert only_rankings(study)


def test_several_objectives_are_refused(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    with pytest.raises(ValueError, match="RankingSampler works on studies with one objective"):
        study.optimize(lambda trial: (TASK(trial), 0.0), n_trials=1)


def test_a_ranking_that_fails_is_logged_and_the_study_goes_on(
    sampler: Callable[..., pellucid.RankingSampler], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pellucid.surrogates.ranking.ranker import Serving

    def fails(*_: Any) -> None:
        raise ArithmeticError("on purpose")

    monkeypatch.setattr(Serving, "fit", fails)
    study = run(sampler(), 3)
    assert states(study) == [TrialState.COMPLETE] * 3
    assert "the ranking failed: ArithmeticError: on purpose" in phases(study)[2]
    assert any("the ranking failed (on purpose)" in one for one in messages(caplog))


# ------------------------------------------------------------------------------------------------ side by side


def test_four_threads_propose_distinct_configurations(
    sampler: Callable[..., pellucid.RankingSampler], tmp_path: Path
) -> None:
    for storage in (None, f"sqlite:///{tmp_path / 'study.db'}"):
        study = optuna.create_study(sampler=sampler(), storage=storage)
        study.optimize(TASK, n_trials=11, n_jobs=4)
        assert states(study) == [TrialState.COMPLETE] * 11
        assert distinct(study.trials) == 11
        assert only_rankings(study)


def test_two_processes_share_a_study(model_file: Path, ranker: Any, tmp_path: Path) -> None:
    """This process and another, which begin a study together."""
    storage = storage_at(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.create_study(
        study_name=STUDY, storage=storage, sampler=pellucid.RankingSampler(model=ranker, seed=0)
    )
    worker = start_worker(
        f"sqlite:///{tmp_path / 'study.db'}", "task", 4, "--model", str(model_file), "--sleep", "0.05"
    )
    deadline = time.monotonic() + 120
    while not study.trials and worker.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    study.optimize(TASK, n_trials=4)
    [log] = finish(worker)
    assert states(study) == [TrialState.COMPLETE] * 8
    assert distinct(study.trials) == 8
    assert only_rankings(study)
    assert study_io.kept_model(study, ranker.name) == ranker.data
    assert "could not be stored" not in log


# ------------------------------------------------------------------------------------------ acquisitions, no model


def test_acquisitions_and_references_propose_differently_and_validly(
    sampler: Callable[..., pellucid.RankingSampler],
) -> None:
    done = run(optuna.samplers.RandomSampler(seed=2), 16)
    chosen = {}
    for acquisition in ("mean", "ucb", "ei"):
        for reference in ("incumbent", "last"):
            study = optuna.create_study(sampler=sampler(acquisition=acquisition, reference=reference))
            study.add_trials(done.trials)
            study.optimize(TASK, n_trials=4)
            assert set(kinds(study).values()) == {"ranking"}
            assert distinct(study.trials) == 20
            said = pellucid.receipts(study)[0].ranking
            assert said is not None
            assert (said.acquisition, said.reference) == (acquisition, reference)
            assert np.median([t.value for t in study.trials[16:]]) < np.median([t.value for t in done.trials])
            chosen[acquisition, reference] = json.dumps(params(study)[16:])
    assert chosen["mean", "incumbent"] == chosen["mean", "last"]
    assert chosen["ucb", "incumbent"] == chosen["ucb", "last"]
    different = {chosen[key] for key in [("mean", "last"), ("ucb", "last"), ("ei", "incumbent"), ("ei", "last")]}
    assert len(different) == 4


@pytest.mark.parametrize("acquisition", ["mean", "ucb", "ei"])
def test_every_acquisition_has_an_opinion_before_anything_was_seen(
    sampler: Callable[..., pellucid.RankingSampler], acquisition: str
) -> None:
    study = run(sampler(acquisition=acquisition), 2)
    assert only_rankings(study)
    assert study.best_value < 1.0


def test_without_a_model_the_study_alone_teaches_the_ranking(
    sampler: Callable[..., pellucid.RankingSampler], caplog: pytest.LogCaptureFixture
) -> None:
    fallback = pellucid.BayesianSampler(n_startup_trials=8, seed=0)
    study = run(sampler(model=None, fallback=fallback), 12)
    assert [kinds(study)[i] for i in range(1, 12)] == ["startup"] * 7 + ["ranking"] * 4
    assert "too few trials have a value yet" in phases(study)[3]
    last = pellucid.receipts(study)[-1]
    assert last.ranking is not None
    assert (last.ranking.turn, last.ranking.model, last.ranking.studies) == ("alone", "", 0)
    assert last.ranking.epochs > 0
    assert "by an ensemble trained on this study" in str(last)
    assert np.median([t.value for t in study.trials[9:]]) < 0.5 * np.median([t.value for t in study.trials[:8]])
    assert params(run(sampler(model=None, fallback=fallback), 9)) == params(study)[:9]
    assert messages(caplog) == []


# ------------------------------------------------------------------------------------------ arguments, installation


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"acquisition": "pi"}, ValueError, "`acquisition` is 'mean', 'ucb' or 'ei', but got 'pi'"),
        ({"reference": "first"}, ValueError, "`reference` is 'incumbent' or 'last', but got 'first'"),
        ({"hand_over": 0}, ValueError, "`hand_over` must be None or at least 1, but got 0"),
        ({"fallback": optuna.samplers.RandomSampler()}, TypeError, "`fallback` must be a pellucid.BayesianSampler"),
        ({"fallback": "gp"}, TypeError, "`fallback` must be a pellucid.BayesianSampler.*but got 'gp'"),
        ({"model": 3}, TypeError, "`model` is the path of a file that `pellucid meta-train` wrote.*but got 3"),
        ({"model": "no such file"}, ValueError, "meta-train` .* wrote, but there is no no such file: make it, or name"),
        ({"model": "."}, ValueError, "meta-train` .* wrote, but . is a folder: name a file in it"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pellucid.RankingSampler(**options)


def test_a_file_that_is_no_model(tmp_path: Path, model_file: Path) -> None:
    (tmp_path / "text").write_text("lr,depth\n0.1,3\n")
    with pytest.raises(ValueError, match="is no ranking model of pellucid"):
        pellucid.RankingSampler(model=tmp_path / "text")
    (tmp_path / "cut").write_bytes(model_file.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged or cut off"):
        pellucid.RankingSampler(model=tmp_path / "cut")


def test_there_is_nothing_to_save_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no meta-trained model"):
        pellucid.RankingSampler().save(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


def test_too_few_or_unlike_studies_are_said(earlier: Study) -> None:
    with pytest.raises(ValueError, match="at least 3"):
        pellucid.RankingSampler.from_studies(earlier._storage, ["earlier 0", "earlier 1"], progress=False)
    with pytest.raises(KeyError):
        pellucid.RankingSampler.from_studies(earlier._storage, ["no such study"], progress=False)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=False)


def test_without_its_packages_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["torch"] = None
import pellucid
for make in (pellucid.RankingSampler, lambda: pellucid.RankingSampler.from_studies("sqlite:///:memory:", [])):
    try:
        make()
    except ImportError as error:
        print(error)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    line = "RankingSampler needs torch and safetensors: `pip install 'pellucid[ranking]'`."
    assert done.stdout.splitlines() == [line, line]


def test_importing_pellucid_imports_no_torch() -> None:
    done = python("import sys, pellucid; pellucid.RankingSampler; print('torch' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


# ------------------------------------------------------------------------------------------------ what is kept


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_the_model_is_kept_with_the_study_once(
    ranker: Any, sampler: Callable[..., pellucid.RankingSampler], tmp_path: Path, kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    storage: Any = {
        "memory": optuna.storages.InMemoryStorage,
        "sqlite": lambda: optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}"),
        "journal": lambda: optuna.storages.JournalStorage(
            optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
        ),
    }[kind]()
    written: list[str] = []
    write = type(storage).set_study_system_attr

    def watched(self: Any, study_id: int, key: str, value: Any) -> None:
        written.append(key)
        write(self, study_id, key, value)

    monkeypatch.setattr(type(storage), "set_study_system_attr", watched)
    for _ in range(2):
        study = optuna.create_study(study_name="s", storage=storage, sampler=sampler(), load_if_exists=True)
        study.optimize(TASK, n_trials=2)
    [name] = {one.ranking.model for one in pellucid.receipts(study) if one.ranking}
    assert name == ranker.name
    assert study_io.kept_model(study, name) == ranker.data
    assert len(written) == len(set(written))
    assert max(len(str(v)) for v in storage.get_study_system_attrs(study._study_id).values()) <= 2045


def test_a_sampler_keeps_its_model_with_every_study_also_of_the_same_name(
    ranker: Any, sampler: Callable[..., pellucid.RankingSampler]
) -> None:
    mine = sampler()
    for _ in range(2):
        study = optuna.create_study(study_name="s", sampler=mine)
        study.optimize(TASK, n_trials=1)
        assert study_io.kept_model(study, ranker.name) == ranker.data


class Refuses(optuna.storages.InMemoryStorage):
    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        raise OSError("the disk is full")


def test_a_storage_that_does_not_take_the_model_costs_nothing_but_a_warning(
    ranker: Any, study: Study, sampler: Callable[..., pellucid.RankingSampler], caplog: pytest.LogCaptureFixture
) -> None:
    refused = optuna.create_study(storage=Refuses(), sampler=sampler())
    refused.optimize(TASK, n_trials=4)
    assert params(refused) == params(study)[:4]
    assert messages(caplog) == [
        "The ranking model could not be stored with the study (the disk is full); the study goes on."
    ]
    with pytest.raises(RecordError, match="does not have the ranking model"):
        study_io.kept_model(refused, ranker.name)


def test_no_model_is_kept_where_it_proposes_nothing(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    study = run(pellucid.RankingSampler(seed=0), 2)
    assert study._storage.get_study_system_attrs(study._study_id) == {}


@pytest.mark.parametrize("damage", ["gone", "number", "text"])
def test_a_kept_model_that_was_damaged_is_refused(
    ranker: Any, sampler: Callable[..., pellucid.RankingSampler], damage: str
) -> None:
    study = run(sampler(), 1)
    key = f"{study_io.MODEL_KEY}:{ranker.name}"
    change = {"gone": (key, None), "number": (f"{key}:0", 3), "text": (f"{key}:0", '"no base 85"')}[damage]
    study._storage.set_study_system_attr(study._study_id, *change)
    with pytest.raises(RecordError):
        study_io.kept_model(study, ranker.name)


def test_receipts_survive_json(study: Study) -> None:
    for receipt in pellucid.receipts(study):
        assert Receipt.from_json(receipt.to_json()) == receipt
        assert len(receipt.to_json()) < 4000


@pytest.mark.parametrize(
    "change",
    [
        {"turn": "guessed"}, {"turn": 3}, {"epochs": -1}, {"epochs": 1.5}, {"rank": "first"}, {"sd": None},
        {"candidates": True}, {"studies": "7"}, {"model": None}, {"acquisition": 1}, {"reference": []},
        {"more": 1}, {"turn": None}, {"rank": {}},
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_ranking_in_a_receipt_is_refused(study: Study, change: dict[str, Any]) -> None:
    data = json.loads(pellucid.receipts(study)[10].to_json())
    data["ranking"].update(change)
    with pytest.raises(RecordError):
        Receipt.from_json(json.dumps(data))


@pytest.mark.parametrize("ranking", [None, 3, "x", [], {}, {"model": "a"}])
def test_a_ranking_of_another_kind_is_refused(study: Study, ranking: Any) -> None:
    data = json.loads(pellucid.receipts(study)[10].to_json())
    with pytest.raises(RecordError):
        Receipt.from_json(json.dumps({**data, "ranking": ranking}))


def test_a_study_with_damaged_receipts_goes_on(sampler: Callable[..., pellucid.RankingSampler]) -> None:
    study = run(sampler(), 3)
    for number, text in ((0, "{"), (1, '{"version": 99}'), (2, "[]")):
        study.get_trials(deepcopy=False)[number].system_attrs["pellucid:receipt:0"] = text
    study.optimize(TASK, n_trials=2)
    assert kinds(study) == {3: "ranking", 4: "ranking"}


# ------------------------------------------------------------------------------------- what explains such a study


def test_everything_that_explains_a_study_explains_this_one(study: Study, tmp_path: Path) -> None:
    assert len(pellucid.receipts(study)) == 24
    history = pellucid.history(study)
    assert len(history.to_frame()) == 24
    assert str(history)
    assert str(pellucid.stopping_verdict(study))
    importance = pellucid.hsic_importance(study)
    assert set(importance.to_frame()["name"]) >= {"lr", "opt", "depth"}
    assert set(pellucid.recommend(study).params) >= {"lr", "opt", "depth"}
    assert str(pellucid.partial_dependence(study, "lr"))
    assert str(pellucid.explain_proposal(study, 22))
    pellucid.report(study, tmp_path / "report.html")
    assert "earlier studies" in (tmp_path / "report.html").read_text()


def test_a_study_of_rankings_alone_is_explained_too(
    sampler: Callable[..., pellucid.RankingSampler], tmp_path: Path
) -> None:
    study = run(sampler(), 13)
    assert len(pellucid.history(study).to_frame()) == 13
    assert str(pellucid.stopping_verdict(study))
    assert str(pellucid.recommend(study))
    assert str(pellucid.partial_dependence(study, "lr"))
    pellucid.report(study, tmp_path / "report.html")
