"""Every choice gets its chance: at the start, and by turns of its own afterwards."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.helpers import assert_rebuilt_exactly, file_storage, model_receipts

import pellucid
from pellucid.search import branches
from pellucid.search import models as learning
from pellucid.search.acquisition import InformationGain
from pellucid.space.branches import Branch
from pellucid.space.encoding import Space
from pellucid.study.view import StudyView


def spike(trial: Trial) -> float:
    """`hidden` is the best of three models, but only where it is tuned."""
    model = trial.suggest_categorical("model", ["easy", "hidden", "poor"])
    if model == "easy":
        return 0.3 + 0.1 * (trial.suggest_float("a", 0, 1) - 0.4) ** 2
    if model == "poor":
        return 0.6 + 0.1 * trial.suggest_float("b", 0, 1)
    u, v = trial.suggest_float("u", 0, 1), trial.suggest_float("v", 0, 1)
    return 0.7 - 0.6 * float(np.exp(-((u - 0.7) ** 2 + (v - 0.25) ** 2) / (2 * 0.15**2)))


def flags(trial: Trial) -> float:
    """Choices without parameters of their own, one of them hopeless."""
    cost = {"a": 0.0, "b": 0.05, "c": 5.0}[trial.suggest_categorical("kind", ["a", "b", "c"])]
    return cost + (trial.suggest_float("x", 0, 1) - 0.3) ** 2


def study_of(objective: object, n: int, seed: int = 0, **options: object) -> Study:
    sampler = pellucid.BayesianSampler(seed=seed, warn_independent_sampling=False, **options)  # type: ignore[arg-type]
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n)  # type: ignore[arg-type]
    return study


@pytest.fixture(scope="module")
def searched() -> Study:
    return study_of(spike, 60)


def turns(study: Study) -> dict[int, str]:
    return {receipt.trial: receipt.turn for receipt in model_receipts(study) if receipt.turn}


def test_the_best_model_is_found_although_it_looks_poor_at_first(searched: Study) -> None:
    assert searched.best_trial.params["model"] == "hidden"
    assert searched.best_value < 0.2


def test_the_start_tries_every_choice_equally_often() -> None:
    for seed in range(3):
        counts = Counter(trial.params["model"] for trial in study_of(spike, 9, seed).trials)
        # The first trial is sampled before anything is known of the space.
        assert sorted(counts.values()) == [3, 3, 3]


def test_turns_end_when_every_choice_has_had_its_chance(searched: Study) -> None:
    counts = Counter(trial.params["model"] for trial in searched.trials)
    # 3, and 8 for each parameter.
    assert (counts["easy"] >= 11, counts["poor"], counts["hidden"] >= 19) == (True, 11, True)
    in_turn = turns(searched)
    assert all(number % 3 and number >= 10 for number in in_turn)
    last = max(in_turn)
    assert Counter(trial.params["model"] for trial in searched.trials[: last + 1])["poor"] == 11


def test_a_turn_goes_to_the_unsettled_choice_with_the_fewest_trials(searched: Study) -> None:
    chance = {"easy": 11, "hidden": 19, "poor": 11}
    for number, words in turns(searched).items():
        rebuilt = pellucid.rebuild(searched, number)
        trials = searched.trials[:number]
        space, X = rebuilt.space, rebuilt.encode([trial.params for trial in trials])
        m = rebuilt.surrogate.latent(X)[0]
        models = np.array([trial.params["model"] for trial in trials])
        tried = {model: int((models == model).sum()) for model in chance}
        waiting = [model for model in chance if tried[model] < chance[model] and models[int(np.argmin(m))] != model]
        settled = {model: branches.settled(space, X, m, models == model) for model in waiting}
        model = searched.trials[number].params["model"]
        assert tried[model] <= min((tried[other] for other in waiting if not settled[other]), default=99)
        assert rebuilt.receipt.look <= settled[model]
        assert number % 3 == 1 or rebuilt.receipt.look or not settled[model]
        assert f"`model` = {model}, which had had {tried[model]} of" in words
        assert f"of the {chance[model]} trials that a choice is given." in words
        assert ("looked into the widest gap" in words) == rebuilt.receipt.look


def test_a_choice_that_settled_too_soon_is_looked_over() -> None:
    def plateau(trial: Trial) -> float:
        """`late` is flat for small x, where its search would stay, and best further on."""
        if trial.suggest_categorical("model", ["early", "late", "other"]) == "early":
            return 0.3 + 0.1 * (trial.suggest_float("a", 0, 1) - 0.4) ** 2
        if trial.params["model"] == "other":
            return 0.4 + 0.1 * trial.suggest_float("b", 0, 1)
        x = trial.suggest_float("x", 0, 1)
        return 0.35 - 0.2 * float(np.exp(-((x - 0.55) ** 2) / 0.01)) + float(x > 0.8)

    study = study_of(plateau, 60)
    assert study.best_trial.params["model"] == "late"
    looks = [receipt for receipt in model_receipts(study) if receipt.look]
    assert looks
    for receipt in looks:
        name = next(name for name in receipt.params if name != "model")
        before = [trial.params[name] for trial in study.trials[: receipt.trial] if name in trial.params]
        apart = np.abs(np.array(before) - receipt.params[name])
        assert np.minimum(apart, 1.0 - apart).min() > 0.19  # Opposite sides touch.


def test_a_choice_of_few_values_has_no_gap_once_all_are_tried() -> None:
    def few(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["tree", "line"]) == "tree":
            return 1.0 + trial.suggest_int("depth", 1, 2) + 0.1 * trial.suggest_categorical("rule", [1, 2, 3, 4, 5, 6])
        return (trial.suggest_float("slope", 0, 1) - 0.3) ** 2

    study = study_of(few, 30)
    rebuilt = pellucid.rebuild(study, 29)
    space, trees = rebuilt.space, [trial.params for trial in study.trials if "depth" in trial.params]
    column = space.index["model"]
    K = space.canonical(rebuilt.encode(trees))
    code = int(space.dimensions[column].code(K[:1, column])[0])
    branch = Branch(column, code, n_own=2, n_trials=len(K))
    shallow = np.array([params["depth"] == 1 for params in trees])
    assert shallow.any()
    assert not shallow.all()
    assert branches.gap(space, branch, K[0], K) is None
    place = branches.gap(space, branch, K[0], K[shallow])
    assert place is not None
    assert space.decode(place[None])[0]["depth"] == 2


def test_a_choice_has_settled_once_its_last_trials_stay_close_to_its_best_one() -> None:
    space = Space.of({"kind": CategoricalDistribution(["a", "b"]), "x": FloatDistribution(0, 1)})
    assert space.names == ("kind", "x")
    X = np.array([[0.25, 0.1], [0.25, 0.9], [0.25, 0.5], [0.25, 0.52], [0.25, 0.48], [0.75, 0.5]])
    own, m = X[:, 0] < 0.5, np.array([2.2, 4.0, 2.0, 1.99, 2.01, 0.0])
    assert branches.settled(space, X, m, own)
    assert not branches.settled(space, X, m, own & (np.arange(6) > 1))  # Too few.
    assert not branches.settled(space, X, np.array([2.2, 4.0, 2.0, 1.0, 2.01, 0.0]), own)  # It has just come nearer.
    far = X.copy()
    far[3:5, 1] = 0.9, 0.1
    assert not branches.settled(space, far, m, own)


def test_a_turn_that_missed_its_prediction_is_noticed(searched: Study) -> None:
    last = pellucid.receipt(searched, max(turns(searched)))
    h = replace(last.hyperparameters, noise=0.01, y_mean=10.0, y_scale=2.0, warp=None)
    model = replace(last.models[0], hyperparameters=h, latent_mean=0.5, latent_sd=0.1)
    receipt = replace(last, models=(model,))
    sd = (0.1**2 + 0.01) ** 0.5
    assert learning.missed(receipt, 10.0 + 2.0 * (0.5 + 3.1 * sd))
    assert learning.missed(receipt, 10.0 + 2.0 * (0.5 - 3.1 * sd))
    assert not learning.missed(receipt, 10.0 + 2.0 * (0.5 + 2.9 * sd))
    assert not learning.missed(replace(receipt, turn=""), 100.0)
    assert not learning.missed(replace(receipt, look=True), 100.0)
    assert not learning.missed(replace(receipt, models=(replace(model, latent_mean=None),)), 100.0)


def test_a_turn_improves_on_the_best_of_its_own_choice(searched: Study) -> None:
    assert_rebuilt_exactly(searched, 40)
    for number in turns(searched):
        rebuilt = pellucid.rebuild(searched, number)
        model = searched.trials[number].params["model"]
        own = [trial.params for trial in searched.trials[:number] if trial.params["model"] == model]
        assert rebuilt.receipt.acquisition is not None
        assert rebuilt.receipt.acquisition.name == ("PosteriorVariance" if rebuilt.receipt.look else "EI")
        latent = rebuilt.surrogate.latent(rebuilt.encode(own))[0]
        assert rebuilt.receipt.acquisition.best == pytest.approx(latent.min(), abs=1e-6)


def test_a_surprise_is_news_only_once_although_a_large_study_is_fitted_on_a_choice_of_trials(searched: Study) -> None:
    view = StudyView.of(searched, "a test")
    data = view.arrays(view.distributions)
    values = {trial.number: trial.value for trial in searched.trials}
    surprises = [receipt for receipt in model_receipts(searched) if learning.missed(receipt, values[receipt.trial])]
    assert surprises
    chosen = replace(surprises[-1], fitted_on="0-3")
    assert learning.surprised(chosen, view, view.objective, data)
    assert not learning.surprised(replace(chosen, trial=chosen.trial + 1), view, view.objective, data)
    running = {str(chosen.trial): (0.5,) * len(chosen.space)}
    assert learning.surprised(replace(chosen, trial=chosen.trial + 1, pending=running), view, view.objective, data)


def test_the_explanation_of_a_proposal_says_whose_turn_it_was(searched: Study) -> None:
    number = min(turns(searched))
    assert turns(searched)[number] in str(pellucid.explain_proposal(searched, number))


def test_a_choice_without_parameters_is_tried_twice() -> None:
    study = study_of(flags, 40, n_startup_trials=3)
    assert 2 <= Counter(trial.params["kind"] for trial in study.trials)["c"] <= 3
    assert 1 <= len(turns(study)) <= 3
    assert study.best_value < 1e-3


def test_a_resumed_study_gives_the_same_turns(searched: Study, tmp_path: object) -> None:
    storage = file_storage(tmp_path / "s")  # type: ignore[operator]
    for _ in range(2):
        sampler = pellucid.BayesianSampler(seed=0, warn_independent_sampling=False)
        study = optuna.create_study(storage=storage, study_name="s", sampler=sampler, load_if_exists=True)
        study.optimize(spike, n_trials=30)
    assert [trial.params for trial in study.trials] == [trial.params for trial in searched.trials]
    assert turns(study) == turns(searched)


def test_running_and_failed_trials_are_a_chance_too() -> None:
    study = study_of(spike, 10)
    asked = []
    for _ in range(40):
        trial = study.ask()
        spike(trial)
        asked.append(trial)
    counts = Counter(trial.params["model"] for trial in (*study.trials[:10], *asked))
    assert counts["poor"] >= 11  # Its chance, although none of them has a value yet.
    for trial in asked:
        study.tell(trial, state=TrialState.FAIL)
    before = len(turns(study))
    study.optimize(spike, n_trials=4)
    assert all("`model` = poor" not in words for words in list(turns(study).values())[before:])


def test_proposals_that_learn_about_effects_have_no_turns() -> None:
    assert turns(study_of(flags, 20, acquisition=InformationGain())) == {}


def test_a_space_of_one_choice_and_nothing_else_goes_on() -> None:
    study = study_of(lambda trial: float(trial.suggest_categorical("k", ["a", "b", "c"]) == "b"), 20)
    assert len(study.trials) == 20
    assert turns(study) == {}


def test_a_nested_choice_gets_its_turns() -> None:
    def nested(trial: Trial) -> float:
        if trial.suggest_categorical("family", ["trees", "nets"]) == "trees":
            return 0.5 + trial.suggest_float("rate", 0, 1) ** 2
        if trial.suggest_categorical("layer", ["dense", "conv"]) == "dense":
            return 0.6 + trial.suggest_float("width", 0, 1) ** 2
        return 0.9 - 0.8 * float(np.exp(-((trial.suggest_float("size", 0, 1) - 0.6) ** 2) / 0.02))

    study = study_of(nested, 60)
    assert study.best_trial.params.get("layer") == "conv"
    assert Counter(trial.params.get("layer") for trial in study.trials)["dense"] >= 11
