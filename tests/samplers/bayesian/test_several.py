"""Several objectives: the front is found, receipts rebuild every model, and odd objectives are ordinary input."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial
from tests.helpers import assert_rebuilt_exactly, conditional, file_storage, kinds, model_receipts

import pellucid
from pellucid import BayesianSampler
from pellucid.numerics import expand_integers
from pellucid.pareto import front, volume
from pellucid.search import several
from pellucid.search.acquisition import EI

Outcome = Sequence[float]


def two(trial: Trial) -> Outcome:
    """Accuracy from 0 to 1 against time: the front is where y = 0.5, from x = 0 to x = 1."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    waste = (y - 0.5) ** 2
    return 1.0 - (1.0 - x) ** 2 - waste, 100.0 * (x**2 + waste)


def model_choice(trial: Trial) -> Outcome:
    loss = conditional(trial)
    return loss, 10.0 * math.log10(trial.params["lr"]) + trial.params["depth"]


def study_of(
    objective: Callable[[Trial], Outcome] = two,
    n: int = 20,
    directions: Sequence[str] = ("maximize", "minimize"),
    storage: Any = None,
    **options: Any,
) -> Study:
    sampler = BayesianSampler(**{"seed": 0, "n_startup_trials": 5, **options})
    study = optuna.create_study(study_name="two", directions=directions, sampler=sampler, storage=storage)
    study.set_metric_names(["accuracy", "ms", "MB", "watts"][: len(directions)])
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def tuned() -> Study:
    return study_of(n=30)


@pytest.mark.parametrize("seed", [0, 2])
def test_a_second_piece_of_the_front_is_found(seed: int) -> None:
    """From the first piece, it looks worth less than a very little more at the end of that piece."""

    def pieces(trial: optuna.Trial) -> tuple[float, float]:
        a, *rest = (trial.suggest_float(name, 0.0, 1.0) for name in "abcd")
        return a, 4.0 + 6.0 * sum(rest) - a * (1.0 + math.sin(3.0 * math.pi * a))

    study = optuna.create_study(directions=["minimize"] * 2, sampler=BayesianSampler(seed=seed))
    study.optimize(pieces, n_trials=40)
    on_front = [trial.params["a"] for trial in study.best_trials]
    assert sum(a > 0.6 for a in on_front) >= 5
    assert sum(a < 0.3 for a in on_front) >= 5


def outcomes(study: Study) -> np.ndarray:
    signs = [1.0 if direction == optuna.study.StudyDirection.MINIMIZE else -1.0 for direction in study.directions]
    return np.array(signs) * np.array([trial.values for trial in study.trials if trial.state.is_finished()])


def test_the_front_is_found_from_end_to_end(tuned: Study) -> None:
    reference = np.array([0.0, 100.0])
    x = np.linspace(0.0, 1.0, 2001)
    ideal = volume(np.stack([(1.0 - x) ** 2 - 1.0, 100.0 * x**2], axis=1), reference)
    assert volume(outcomes(tuned), reference) > 0.97 * ideal
    best = np.array([trial.params["x"] for trial in tuned.best_trials])
    assert best.min() < 0.1
    assert best.max() > 0.9


def test_every_model_is_rebuilt_exactly(tuned: Study) -> None:
    assert_rebuilt_exactly(tuned, 25)
    receipt = pellucid.receipt(tuned, 29)
    assert [(state.name, state.direction) for state in receipt.objectives] == [
        ("accuracy", "maximize"),
        ("ms", "minimize"),
    ]
    assert "maximised EHVI; the model expected accuracy" in str(receipt)
    by_name = pellucid.rebuild(tuned, 29, objective="ms").predict([receipt.params])[0][0]
    assert by_name == pytest.approx(receipt.objectives[1].mean)
    assert pellucid.rebuild(tuned, 29).predict([receipt.params])[0][0] == pytest.approx(receipt.objectives[0].mean)


def test_the_front_of_the_receipt_is_that_of_the_trials_before(tuned: Study) -> None:
    front = expand_integers(pellucid.receipt(tuned, 29).front)
    before = outcomes(tuned)[:29]
    dominated = [any((other <= row).all() and (other < row).any() for other in before) for row in before]
    assert front == [number for number in range(29) if not dominated[number]]


def test_a_study_that_is_resumed_goes_on_as_if_it_had_never_stopped(tmp_path: Path, tuned: Study) -> None:
    def constrained(trial: Trial) -> Outcome:
        values = model_choice(trial)
        trial.set_constraint("depth", trial.params["depth"] - 6.0)
        return values

    whole = study_of(constrained, 16, ("minimize", "minimize"))
    study_of(constrained, 11, ("minimize", "minimize"), file_storage(tmp_path / "a"))
    resumed = optuna.load_study(
        study_name="two", storage=file_storage(tmp_path / "a"), sampler=BayesianSampler(seed=0, n_startup_trials=5)
    )
    resumed.optimize(constrained, n_trials=5)
    assert [trial.params for trial in resumed.trials] == [trial.params for trial in whole.trials]
    assert_rebuilt_exactly(resumed, 11)


def test_units_and_directions_do_not_matter() -> None:
    def other(trial: Trial) -> Outcome:
        a, b = two(trial)
        return -1000.0 * a + 7.0, 1e-3 * b

    same = study_of(other, 14, ("minimize", "minimize"))
    assert [trial.params for trial in same.trials] == [trial.params for trial in study_of(n=14).trials]


@pytest.mark.parametrize("k", [3, 4])
def test_three_and_four_objectives(k: int) -> None:
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])[:k]

    def objective(trial: Trial) -> Outcome:
        x = np.array([trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)])
        return ((centres - x) ** 2).sum(axis=1).tolist()

    study = study_of(objective, 18, ["minimize"] * k)
    assert_rebuilt_exactly(study, 13)
    random = optuna.create_study(directions=["minimize"] * k, sampler=optuna.samplers.RandomSampler(seed=0))
    random.optimize(objective, n_trials=18)
    reference = np.full(k, 1.2)
    assert volume(outcomes(study), reference) > volume(outcomes(random), reference)


def test_more_than_four_objectives_are_refused_with_the_rule() -> None:
    study = optuna.create_study(directions=["minimize"] * 5, sampler=BayesianSampler(seed=0))
    with pytest.raises(ValueError, match=r"up to 4 objectives, but this study has 5: Optuna's NSGAIIISampler"):
        study.optimize(lambda trial: [trial.suggest_float("x", 0, 1)] * 5, n_trials=1)


@pytest.mark.parametrize("options", [{"acquisition": EI()}, {"interleave": pellucid.Interleave()}])
def test_what_is_meant_for_one_objective_is_refused_for_two(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"`{next(iter(options))}` can be chosen for studies with one objective"):
        study_of(n=1, **options)


def test_the_search_in_two_steps_works_on_one_objective() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=pellucid.TwoStepSampler(seed=0))
    with pytest.raises(ValueError, match=r"TwoStepSampler works on studies with one objective.*has 2: 'objective 0'"):
        study.optimize(two, n_trials=1)


# -------------------------------------------------------------------------------------------- spaces and constraints


def test_choices_get_their_turns_and_their_children() -> None:
    study = study_of(model_choice, 24, ("minimize", "minimize"))
    assert_rebuilt_exactly(study, 19)
    turns = [receipt.turn for receipt in model_receipts(study) if receipt.turn]
    assert any("It was the turn of `booster`" in turn for turn in turns)
    assert not any("chance of being best" in turn for turn in turns)
    assert {trial.params["booster"] for trial in study.trials} == {"tree", "dart", "linear"}


def test_constraints_keep_the_front_feasible() -> None:
    def limited(trial: Trial) -> Outcome:
        values = two(trial)
        trial.set_constraint("memory", trial.params["x"] - 0.6)
        return values

    study = study_of(limited, 32)
    late = study.trials[-12:]
    assert sum(trial.params["x"] <= 0.6 for trial in late) >= 9
    assert max(trial.params["x"] for trial in study.trials if trial.params["x"] <= 0.6) > 0.55
    assert_rebuilt_exactly(study, 27)
    assert "feasible with a chance of" in str(pellucid.receipt(study, 31))


def test_without_a_feasible_trial_the_search_is_for_one() -> None:
    def narrow(trial: Trial) -> Outcome:
        values = two(trial)
        x, y = trial.params["x"], trial.params["y"]
        trial.set_constraint("band", abs(x - 0.71) + abs(y - 0.13) - 0.06)
        return values

    study = study_of(narrow, 30)
    assert any(trial.constraints["band"] <= 0.0 for trial in study.trials)


def test_a_known_constraint_is_kept() -> None:
    study = study_of(n=15, allowed=lambda params: params["x"] + params["y"] <= 0.8)
    assert all(trial.params["x"] + trial.params["y"] <= 0.8 for trial in study.trials[1:])


def test_running_and_failed_trials_are_believed() -> None:
    study = study_of(n=10, avoid_failures=True)
    running = [study.ask() for _ in range(3)]
    for trial in running:
        two(trial)
    assert len({tuple(trial.params.values()) for trial in running}) == 3
    receipt = pellucid.receipt(study, running[-1].number)
    assert set(receipt.pending) == {str(trial.number) for trial in running[:-1]}
    for trial in running[:2]:
        study.tell(trial, state=TrialState.FAIL)
    study.tell(running[2], two(running[2]))
    study.optimize(two, n_trials=2)
    assert pellucid.receipts(study)[-1].believed == "10-11"
    assert pellucid.receipts(study)[-1].acquisition.name == "Feasible"
    assert_rebuilt_exactly(study, 7)


# ---------------------------------------------------------------------------------------------- odd objectives


@pytest.mark.parametrize(
    "values",
    [
        lambda a, b, n: (a, 3.0),
        lambda a, b, n: (a, a),
        lambda a, b, n: (a, -a),
        lambda a, b, n: (a, math.inf if n % 3 else b),
        lambda a, b, n: (a, math.inf),
        lambda a, b, n: (-math.inf if n == 4 else a, b),
        lambda a, b, n: (a, 1e300 if n == 2 else b),
        lambda a, b, n: (1e-300 * a, 1e300 * b),
        lambda a, b, n: (0.0, 0.0),
        lambda a, b, n: (a, float(b > 0.5)),
        lambda a, b, n: (math.nan if n in (3, 8) else a, b),
    ],
    ids=["constant", "same", "opposite", "inf", "only inf", "-inf", "far", "units", "both constant", "0 or 1", "nan"],
)
def test_odd_values_get_a_proposal_of_the_model(values: Callable[[float, float, int], Outcome]) -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=BayesianSampler(seed=0, n_startup_trials=5)
    )
    study.optimize(lambda trial: values(*two(trial), trial.number), n_trials=12)
    assert list(kinds(study).values()).count("fallback") == 0
    assert list(kinds(study).values()).count("model") >= 5
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 12
    assert_rebuilt_exactly(study, 5)


def test_one_bad_trial_does_not_move_the_reference_point() -> None:
    def reference(worst: float) -> tuple[float, ...]:
        study = study_of(n=12)
        bad = create_trial(
            params={"x": 0.3, "y": 0.9},
            distributions=study.trials[0].distributions,
            values=[-worst, 100.0 * worst],
        )
        study.add_trial(bad)
        study.optimize(two, n_trials=1)
        models = pellucid.rebuild(study, 13).surrogates
        latent = pellucid.receipt(study, 13).reference
        return tuple(float(model.losses(np.array([at]))[0]) for model, at in zip(models, latent, strict=True))

    # Accuracies differ by about 1 and times by about 100: the model of such a study is less sure, no more.
    far, farther = reference(50.0), reference(5e5)
    assert np.abs(np.subtract(far, farther) / [1.0, 100.0]).max() < 1.0
    assert np.abs(np.divide(far, [1.0, 100.0])).max() < 2.0


def test_noise_can_be_reported_for_each_objective() -> None:
    def noisy(trial: Trial) -> Outcome:
        pellucid.report_noise(trial, [1e-6, 25.0])
        return two(trial)

    study = study_of(noisy, 10)
    rebuilt = pellucid.rebuild(study, 9)
    X = rebuilt.encode([trial.params for trial in study.trials[:9]])
    exact, smooth = (
        np.abs(model.from_latent(*model.latent(X))[0] - losses).max() / np.ptp(losses)
        for model, losses in zip(rebuilt.surrogates, outcomes(study)[:9].T, strict=True)
    )
    assert exact < 1e-2 < smooth
    assert_rebuilt_exactly(study, 5)
    with pytest.raises(ValueError, match="at least 0"):
        pellucid.report_noise(study.ask(), [1.0, -1.0])


def test_trials_of_another_sampler_are_learned_from() -> None:
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=optuna.samplers.NSGAIISampler(seed=0))
    study.optimize(two, n_trials=12)
    study.sampler = BayesianSampler(seed=0)
    study.optimize(two, n_trials=3)
    assert list(kinds(study).values()) == ["model"] * 3


def test_pruners_that_show_a_part_of_the_study_hide_its_names() -> None:
    study = optuna.create_study(
        sampler=BayesianSampler(seed=0, n_startup_trials=3), pruner=optuna.pruners.HyperbandPruner()
    )
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=8)
    assert list(kinds(study).values()).count("fallback") == 0


def test_of_a_large_front_members_that_are_far_from_each_other_are_to_be_beaten(
    tuned: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(several, "_MOST_TO_BEAT", {2: 4})
    study = study_of(n=0)
    study.add_trials(tuned.trials[:20])
    study.optimize(two, n_trials=2)
    receipt = pellucid.receipt(study, 21)
    beaten = expand_integers(receipt.front)
    assert len(beaten) == 4
    on_front = np.flatnonzero(front(outcomes(study)[:21]))
    assert len(on_front) > 4
    values = outcomes(study)[beaten]
    np.testing.assert_allclose(np.ptp(values, axis=0), np.ptp(outcomes(study)[on_front], axis=0), rtol=0.05)
    assert_rebuilt_exactly(study, 16)
