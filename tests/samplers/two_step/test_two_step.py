"""The search in two steps: its decisions, its sentences, and that both depend on the storage alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial
from tests.helpers import file_storage, messages

import pellucid
from pellucid.provenance import ModelReceipt, Receipt
from pellucid.study.view import StudyView

N, FIRST = 120, 6
CHEAP = {"units": "low", "depth": "low"}


def network(trial: Trial) -> float:
    """lr and opt matter; depth from 3 on and units do not; momentum exists for sgd only."""
    lr, opt = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_categorical("opt", ["adam", "sgd", "rms"])
    units, depth = trial.suggest_int("units", 8, 256), trial.suggest_int("depth", 1, 10)
    other = trial.suggest_float("other", 0, 1)
    loss = (math.log10(lr) + 2.5) ** 2 + {"adam": 0.0, "sgd": 0.4, "rms": 2.0}[opt] + 4.0 * (depth < 3)
    if opt == "sgd":
        loss += (trial.suggest_float("momentum", 0, 1) - 0.3) ** 2
    return loss + 0.05 * (other - 0.7) ** 2 + 1e-5 * units


def sampler(**options: Any) -> pellucid.TwoStepSampler:
    return pellucid.TwoStepSampler(
        **{"n_random": N, "n_step1": FIRST, "goal": "accuracy+speed", "cheap": CHEAP, "seed": 0, **options}
    )


def run(objective: Callable[[Trial], float] = network, n: int = N + 2 * FIRST, **options: Any) -> Study:
    study = optuna.create_study(sampler=sampler(**options))
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def study() -> Study:
    return run()


def after(study: Study, first: int, last: int | None = None) -> list[FrozenTrial]:
    return study.trials[first:last]


def test_the_plan_says_what_is_tuned_and_why_the_rest_is_not(study: Study) -> None:
    plan = sampler().plan(study)
    assert set(plan.tuned) == {"lr", "opt"}
    held = {parameter.name: parameter for parameter in plan.held}
    assert set(held) == {"units", "depth", "other", "momentum"}
    assert held["units"].cheap
    assert held["units"].value <= 100
    assert 3 <= held["depth"].value <= 5
    text = str(plan)
    assert text.startswith("Step 1 tunes `lr`, `opt`; ") or text.startswith("Step 1 tunes `opt`, `lr`; ")
    assert f"`units` fixed at {held['units'].value}: no measurable effect (p = " in text
    assert "as in trial" in text
    assert plan.n_trials == N
    assert plan.to_dict()["tuned"] == plan.tuned
    assert list(plan.to_frame()["param"]) == [*plan.tuned, *held]


def test_every_receipt_says_which_step_it_belongs_to(study: Study) -> None:
    receipts = {receipt.trial: receipt for receipt in pellucid.receipts(study)}
    assert all(receipts[i].kind == "startup" for i in range(1, N))
    assert "which say what matters" in str(receipts[N - 1])
    plan = str(sampler().plan(study))
    for i in range(N, N + FIRST):
        assert receipts[i].kind == "model"
        assert str(receipts[i]).endswith(plan)
    for i in range(N + FIRST, N + 2 * FIRST):
        assert receipts[i].kind == "model"
        assert receipts[i].phase.startswith("Step 2 tunes `other`")
        assert "`units` stays at" in receipts[i].phase
    explained = pellucid.explain_proposal(study, N + 1)
    assert plan in str(explained)


@pytest.mark.parametrize(("before", "step"), [(N, 1), (N + FIRST, 2)])
def test_the_step_is_a_field_of_the_receipt_also_after_it_was_stored(study: Study, before: int, step: int) -> None:
    copy = optuna.create_study()
    copy.add_trials(study.trials[:before])
    copy.ask()
    view = StudyView.of(copy, "a test")
    _, receipt = sampler().propose(view, view.trials[-1], view.varying)
    assert isinstance(receipt, ModelReceipt)
    assert receipt.step == step
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_step_one_moves_what_matters_and_nothing_else(study: Study) -> None:
    plan = sampler().plan(study)
    trials = after(study, N, N + FIRST)
    for parameter in plan.held:
        values = {trial.params[parameter.name] for trial in trials if parameter.name in trial.params}
        assert values <= {parameter.value}
    assert len({trial.params["lr"] for trial in trials}) == FIRST


def test_step_two_keeps_what_step_one_found_and_the_cheap_values(study: Study) -> None:
    first, second = after(study, N, N + FIRST), after(study, N + FIRST)
    cheap = {name: first[0].params[name] for name in ("units", "depth")}
    settled = {(t.params["lr"], t.params["opt"]) for t in second}
    assert len(settled) == 1
    assert settled <= {(t.params["lr"], t.params["opt"]) for t in first}
    assert all(t.params[name] == value for t in second for name, value in cheap.items())
    assert len({t.params["other"] for t in second}) > 1


def test_accuracy_alone_frees_the_cheap_values_in_step_two() -> None:
    study = run(goal="accuracy")
    assert len({t.params["units"] for t in after(study, N + FIRST)}) > 1
    assert "`units`" in pellucid.receipts(study)[-1].phase.split(";")[0]


def test_the_best_trial_is_cheap_and_as_good_as_any(study: Study) -> None:
    best = sampler().best_trial(study)
    assert best.number >= N
    assert best.params["units"] <= 100
    assert best.value is not None
    assert best.value <= study.best_value + 0.02


def test_advice_about_ranges_does_not_take_held_values_for_good_ones(study: Study) -> None:
    assert not [
        advice
        for advice in list(pellucid.parameter_ranges(study).advice)
        if advice.param in ("units", "depth") and advice.what == "widen"
    ]


def test_proposals_are_rebuilt_exactly(study: Study) -> None:
    for i in (N, N + FIRST - 1, N + FIRST, N + 2 * FIRST - 1):
        rebuilt = pellucid.rebuild(study, i)
        m, s = rebuilt.surrogate.latent(rebuilt.encode([rebuilt.receipt.params]))
        assert m[0] == pytest.approx(rebuilt.receipt.latent_mean, abs=1e-9)
        assert s[0] == pytest.approx(rebuilt.receipt.latent_sd, abs=1e-9)


def test_a_study_resumed_with_a_new_sampler_goes_on_as_if_it_had_not_stopped(study: Study, tmp_path: Path) -> None:
    for n in (N // 2, N // 2 + 2, FIRST, FIRST - 2):
        part = optuna.create_study(
            study_name="s", storage=file_storage(tmp_path / "study"), sampler=sampler(), load_if_exists=True
        )
        part.optimize(network, n_trials=n)
    assert [t.params for t in part.trials] == [t.params for t in study.trials]


def test_a_random_search_of_optuna_is_continued() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(network, n_trials=N)
    study.sampler = sampler()
    study.optimize(network, n_trials=FIRST)
    assert "opt" in sampler().plan(study).tuned
    assert [receipt.kind for receipt in pellucid.receipts(study)] == ["model"] * FIRST


def test_maximising_is_minimising_the_opposite(study: Study) -> None:
    mirrored = optuna.create_study(direction="maximize", sampler=sampler())
    mirrored.optimize(lambda trial: -network(trial), n_trials=N + 2 * FIRST)
    assert [t.params for t in mirrored.trials] == [t.params for t in study.trials]
    assert sampler().best_trial(mirrored).number == sampler().best_trial(study).number


def test_failures_and_nan_among_the_random_trials_are_left_out() -> None:
    def flaky(trial: Trial) -> float:
        value = network(trial)
        return math.nan if trial.number % 7 == 3 else value

    study = run(flaky)
    assert sum(t.state == TrialState.FAIL for t in study.trials) > 15
    assert set(sampler().plan(study).tuned) >= {"lr"}
    assert "fallback" not in {receipt.kind for receipt in pellucid.receipts(study)}


def test_random_draws_go_on_if_every_trial_failed() -> None:
    study = optuna.create_study(sampler=sampler(n_random=21))
    study.optimize(lambda trial: math.nan * trial.suggest_float("x", 0, 1), n_trials=25)
    assert all(t.state == TrialState.FAIL for t in study.trials)
    with pytest.raises(ValueError, match="at least 10 trials with a value; this study has 0"):
        sampler(n_random=21).plan(study)
    with pytest.raises(ValueError, match="No trial of the two steps has finished"):
        sampler(n_random=21).best_trial(study)


def test_a_constant_objective_has_no_plan_and_says_so() -> None:
    study = run(lambda trial: 0.0 * trial.suggest_float("x", 0, 1), n=25, n_random=21)
    assert all(
        "the random trials do not say what matters" in receipt.phase for receipt in pellucid.receipts(study)[-4:]
    )


def test_all_but_the_cheap_is_tuned_if_nothing_is_known_to_matter() -> None:
    study = run(n=34, n_random=30)
    plan = sampler(n_random=30).plan(study)
    assert "No parameter is known to matter" in str(plan)
    assert "fallback" not in {receipt.kind for receipt in pellucid.receipts(study)}


@pytest.mark.parametrize(
    ("cheap", "words"),
    [({"opt": "low"}, "`opt` is categorical"), ({"unit": "low"}, "Did you mean `units`")],
)
def test_cheap_names_that_make_no_sense_are_reported(study: Study, cheap: dict[str, str], words: str) -> None:
    assert words in str(sampler(cheap=cheap).plan(study))


UNKNOWN = "`cheap`: The study has no parameter `{}`; it has `depth`, `lr`, `opt`, `other`, `units`.{} "
LATER = "If it exists only for some choices, a later trial may have it; otherwise correct it."


@pytest.mark.parametrize(
    ("cheap", "warning"),
    [
        ({"unit": "low"}, UNKNOWN.format("unit", " Did you mean `units`?") + LATER),
        ({"momentum": "low"}, UNKNOWN.format("momentum", "") + LATER),
        ({"opt": "low"}, "`cheap`: `opt` is categorical, and only a number has a cheap end: leave it out."),
        (CHEAP, None),
    ],
)
def test_such_names_are_logged_once_as_soon_as_the_first_trial_has_finished(
    cheap: dict[str, str], warning: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=sampler(cheap=cheap))
    study.enqueue_trial({"opt": "adam"})  # So that nobody knows yet that there is a momentum.
    study.optimize(network, n_trials=1)
    assert not messages(caplog)
    study.optimize(network, n_trials=1)
    assert messages(caplog) == ([] if warning is None else [warning])
    study.optimize(network, n_trials=4)
    assert len(messages(caplog)) == (warning is not None)


def test_cheap_can_be_high(study: Study) -> None:
    held = {parameter.name: parameter.value for parameter in sampler(cheap={"units": "high"}).plan(study).held}
    assert held["units"] > 150


def test_a_range_that_changed_after_the_random_trials() -> None:
    study = run(n=N)

    def narrower(trial: Trial) -> float:
        lr = trial.suggest_float("lr", 1e-4, 0.1, log=True)
        opt = trial.suggest_categorical("opt", ["adam", "sgd", "rms"])
        units, depth = trial.suggest_int("units", 128, 256), trial.suggest_int("depth", 1, 10)
        momentum = trial.suggest_float("momentum", 0, 1) if opt == "sgd" else 0.0
        return (math.log10(lr) + 2.5) ** 2 + (depth < 3) + momentum + trial.suggest_float("other", 0, 1) + 0.0 * units

    study.optimize(narrower, n_trials=8)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert "fallback" not in {receipt.kind for receipt in pellucid.receipts(study)}


def test_a_range_that_shrank_while_trials_were_random() -> None:
    """Held values lie in the present range, although the best trials had other values."""

    def shrinking(trial: Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 10 if trial.number < 60 else 1)
        return (x - 0.1) ** 2 - 0.001 * y

    study = run(shrinking, n=N + FIRST, cheap={})
    held = {parameter.name: parameter.value for parameter in sampler(cheap={}).plan(study).held}
    assert held.get("y", 0.0) <= 1.0
    assert {t.params["y"] for t in after(study, N)} == {held["y"]}


def test_held_values_outside_a_changed_range_are_tuned_and_reported() -> None:
    def wide(trial: Trial) -> float:
        return (trial.suggest_float("x", 0, 1) - 0.1) ** 2 - 0.001 * trial.suggest_float("y", 0, 10)

    study = run(wide, n=N, cheap={})
    study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.1) ** 2 + 0.0 * t.suggest_float("y", 20, 30), n_trials=3)
    assert "Tuned as well, because their ranges have changed: `y`" in pellucid.receipts(study)[-1].phase


def test_a_child_that_matters_is_tuned_with_its_parent() -> None:
    def child(trial: Trial) -> float:
        z = trial.suggest_float("z", 0, 1)
        if trial.suggest_categorical("opt", ["sgd", "adam"]) == "sgd":
            return trial.suggest_float("m", 0, 1) + 0.01 * z
        return 0.05 + 0.01 * z

    for seed in range(3):
        study = run(child, n=N + FIRST, cheap={}, seed=seed)
        plan = sampler(cheap={}, seed=seed).plan(study)
        assert "m" not in plan.tuned or "opt" in plan.tuned
        held = {parameter.name for parameter in plan.held}
        for name in held - {"m"}:
            assert len({t.params[name] for t in after(study, N)}) == 1


def test_a_step_without_new_configurations_ends_early() -> None:
    """One choice matters, and has three values: after them, step 1 ends early; nothing is proposed over and over."""

    def discrete(trial: Trial) -> float:
        c = trial.suggest_categorical("c", ["a", "b", "d"])
        x, k = trial.suggest_float("x", 0, 1), trial.suggest_int("k", 0, 2)
        return {"a": 0.0, "b": 1.0, "d": 2.0}[c] + 0.001 * x + 0.001 * k

    study = run(discrete, n=N + 3 * FIRST, cheap={})
    last = [tuple(sorted(t.params.items())) for t in after(study, N)]
    assert len(set(last)) == len(last)
    countable = run(lambda t: float(t.suggest_int("c", 0, 30) > 9) + 0.01 * t.suggest_int("k", 0, 1), n=N + 9, cheap={})
    assert "fallback" not in {receipt.kind for receipt in pellucid.receipts(countable)}


def test_a_sampler_used_for_another_study_does_not_remember_the_first() -> None:
    def scaled(top: float) -> Callable[[Trial], float]:
        return lambda t: (t.suggest_float("x", 0, top) / top - 0.1) ** 2 + 0.001 * t.suggest_float("y", 0, top) / top

    reused = sampler(cheap={})
    plans = []
    for top in (1.0, 100.0):
        study = optuna.create_study(sampler=reused)
        study.optimize(scaled(top), n_trials=N + 2)
        plans.append(reused.plan(study))
        assert reused.plan(study) == sampler(cheap={}).plan(study)
    assert plans[0] != plans[1]


def test_late_random_draws_are_described_as_such() -> None:
    def mostly_pruned(trial: Trial) -> float:
        trial.suggest_float("x", 0, 1)
        if trial.number > 2:
            raise optuna.TrialPruned
        return 1.0

    study = run(mostly_pruned, n=30, n_random=21)
    receipts = {receipt.trial: receipt for receipt in pellucid.receipts(study)}
    assert "one of the first 21 trials" in receipts[20].phase
    assert receipts[25].phase == "Fewer than 10 trials have a value yet."


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_that_go_together_are_held_together(seed: int) -> None:
    """Neither x nor y matters alone: they are held at the values of one good trial, not each at its own."""

    def together(trial: Trial) -> float:
        lr, x, y = (trial.suggest_float(name, 0, 1) for name in ("lr", "x", "y"))
        return (lr - 0.4) ** 2 + 0.5 * ((x > 0.5) != (y > 0.5)) + 0.01 * trial.suggest_int("size", 1, 50) / 50

    study = run(together, n=N, cheap={"size": "low"}, seed=seed)
    plan = sampler(cheap={"size": "low"}, seed=seed).plan(study)
    held = {parameter.name: parameter.value for parameter in plan.held}
    assert {"x", "y"} <= held.keys()
    assert (held["x"] > 0.5) == (held["y"] > 0.5)
    assert "lr" in plan.tuned


def test_four_threads_share_a_study() -> None:
    study = optuna.create_study(sampler=sampler())
    study.optimize(network, n_trials=N + 2 * FIRST, n_jobs=4)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    params = [tuple(sorted(t.params.items())) for t in study.trials]
    assert len(set(params)) == len(params)


def test_one_step_after_trials_that_were_added_by_hand() -> None:
    study = optuna.create_study(sampler=sampler(n_random=30, cheap={}))
    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    rng = np.random.default_rng(0)
    study.add_trials([create_trial(params={"x": x}, distributions=space, value=(x - 0.3) ** 2) for x in rng.random(30)])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=FIRST + 3)
    # One parameter: step 1 tunes it, and step 2 has nothing else to tune.
    assert study.best_value < 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_random": 20}, "`n_random` must be a whole number of at least 21"),
        ({"n_step1": 0}, "`n_step1` must be a whole number of at least 1"),
        ({"goal": "speed"}, "`goal` is one of 'accuracy', 'accuracy\\+speed'"),
        ({"cheap": {"units": "small"}}, "'low' or 'high' for each parameter, but got 'small' for `units`"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sampler(**options)


def test_a_policy_is_refused() -> None:
    with pytest.raises(TypeError, match=r"but got SAWEI.*Policies choose for the whole space"):
        sampler(acquisition=pellucid.acquisition.SAWEI())


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="one objective"):
        sampler().plan(study)
