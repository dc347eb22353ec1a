"""Stopping: as soon as the bound allows it, never earlier, never on noise alone, and with a readable reason."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.storages import InMemoryStorage
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.samplers.stop_when import STOPPED_ATTRIBUTE

SENTENCE = re.compile(
    r"Stop: after \d+ trials, the model sees room to improve the objective by at most \S+, within "
    r"(your tolerance of \S+|the noise of one trial \(about \S+\))\."
)


def bowl(trial: Trial) -> float:
    x, y, z = (trial.suggest_float(name, -1, 1) for name in "xyz")
    return 2.0 + (x - 0.3) ** 2 + (y + 0.2) ** 2 + 0.5 * z**2


def study_of(sampler: BaseSampler | None = None, direction: str = "minimize") -> Study:
    return optuna.create_study(
        direction=direction, sampler=sampler or pellucid.BayesianSampler(seed=0, n_startup_trials=8)
    )


def test_it_stops_when_little_is_left_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of()
    with caplog.at_level(logging.INFO, logger="pellucid"):
        study.optimize(bowl, n_trials=100, callbacks=[pellucid.StopWhen(regret_below=0.01, min_trials=15)])
    n = len(study.trials)
    assert 15 <= n < 60
    sentence = study.user_attrs[STOPPED_ATTRIBUTE]
    assert SENTENCE.fullmatch(sentence), sentence
    assert f"after {n} trials, the model" in sentence
    assert any(sentence in record.getMessage() for record in caplog.records)
    assert study.best_value - 2.0 <= 0.01, "and it was right"


def test_maximising_stops_at_the_same_trial_with_the_same_sentence() -> None:
    down, up = study_of(), study_of(direction="maximize")
    down.optimize(bowl, n_trials=80, callbacks=[pellucid.StopWhen(0.01)])
    up.optimize(lambda trial: -bowl(trial), n_trials=80, callbacks=[pellucid.StopWhen(0.01)])
    assert len(down.trials) == len(up.trials) < 80
    assert down.user_attrs == up.user_attrs
    assert pellucid.stopping_verdict(up, regret_below=0.01).best_value == up.best_value


@pytest.mark.parametrize("min_trials", [25, 40])
def test_never_before_min_trials(min_trials: int) -> None:
    study = study_of()
    callback = pellucid.StopWhen(regret_below=100.0, min_trials=min_trials, patience=1)
    study.optimize(bowl, n_trials=60, callbacks=[callback])
    assert len(study.trials) == min_trials


def test_patience_counts_verdicts_in_a_row() -> None:
    study = study_of()
    study.optimize(bowl, n_trials=60, callbacks=[pellucid.StopWhen(regret_below=100.0, min_trials=20, patience=7)])
    assert len(study.trials) == 26, "the verdicts after 20, 21, ... and 26 trials"


@pytest.mark.parametrize("sampler", [RandomSampler(seed=1), TPESampler(seed=1)], ids=["random", "tpe"])
def test_a_verdict_on_studies_that_other_samplers_ran(sampler: BaseSampler) -> None:
    study = study_of(sampler)
    study.optimize(bowl, n_trials=60)
    strict = pellucid.stopping_verdict(study, regret_below=1e-9)
    generous = pellucid.stopping_verdict(study, regret_below=1.0)
    assert not strict.stop
    assert generous.stop
    assert strict.bound == generous.bound
    assert strict.bound is not None
    assert strict.bound >= study.best_value - 2.0 - 1e-3, "the bound covers what is really left"
    assert generous.sentence == f"Stop: {generous.reason}."
    assert generous.to_dict()["n_trials"] == 60
    assert not study.user_attrs, "a verdict writes nothing"


@pytest.mark.parametrize("seed", range(3))
def test_noise_alone_does_not_stop_a_study(seed: int) -> None:
    """Only noise: lucky values must not look like an optimum that is known to within a tenth of the noise."""
    rng = np.random.default_rng(seed)

    def noise(trial: Trial) -> float:
        trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return float(rng.normal())

    study = study_of(pellucid.BayesianSampler(seed=seed, n_startup_trials=8))
    study.optimize(noise, n_trials=60, callbacks=[pellucid.StopWhen(regret_below=0.1)])
    assert len(study.trials) == 60


def test_without_a_tolerance_the_noise_is_the_tolerance() -> None:
    rng = np.random.default_rng(0)
    study = study_of()
    study.optimize(lambda trial: bowl(trial) + 0.2 * float(rng.normal()), n_trials=120, callbacks=[pellucid.StopWhen()])
    verdict = pellucid.stopping_verdict(study)
    assert verdict.noise == pytest.approx(0.2, rel=0.5)
    assert verdict.tolerance == verdict.noise
    assert len(study.trials) < 120
    assert "within the noise of one trial (about" in study.user_attrs[STOPPED_ATTRIBUTE]
    best = pellucid.recommend(study)
    assert bowl(optuna.trial.FixedTrial(best.params)) - 2.0 <= 0.2


def test_a_share_is_one_of_what_tuning_gained() -> None:
    study = study_of(RandomSampler(seed=0))
    study.optimize(bowl, n_trials=40)
    gain = float(np.median([trial.value for trial in study.trials[:10] if trial.value is not None])) - study.best_value
    share = pellucid.stopping_verdict(study, regret_below=" 5 % ")
    assert share.tolerance == pytest.approx(0.05 * gain)
    assert f"your tolerance of {share.tolerance:.2g} (5 % of the gain so far)" in str(share)
    same = pellucid.stopping_verdict(study, regret_below=share.tolerance)
    assert (same.stop, same.bound, same.more_trials) == (share.stop, share.bound, share.more_trials)


def test_the_default_stops_a_study_without_noise() -> None:
    study = study_of()
    study.optimize(bowl, n_trials=80, callbacks=[pellucid.StopWhen()])
    assert len(study.trials) < 60
    assert "(3% of the gain so far)" in study.user_attrs[STOPPED_ATTRIBUTE]
    assert study.best_value - 2.0 <= 0.03


def test_one_bound_everywhere_and_an_estimate_of_what_more_trials_bring() -> None:
    study = study_of()
    study.optimize(bowl, n_trials=22)
    verdict = pellucid.stopping_verdict(study, regret_below=3e-3)
    history = pellucid.regret_history(study, regret_below=3e-3)
    assert history.stopping == verdict
    assert history.bounds[-1] == verdict.bound
    assert verdict.bound is not None
    assert verdict.more_trials is not None
    assert f"It will take roughly {verdict.more_trials} more trials to get below that." in str(verdict)
    study.optimize(bowl, n_trials=2 * verdict.more_trials)
    later = pellucid.stopping_verdict(study, regret_below=3e-3).bound
    assert later is not None
    assert later < verdict.bound
    hopeless = pellucid.stopping_verdict(study, regret_below=1e-12)
    assert hopeless.more_trials is None, "too far ahead to say"
    assert f"It will probably take more than {len(study.trials)} more trials" in str(hopeless)


def broken(trial: Trial) -> float:
    trial.suggest_float("x", 0, 1)
    raise ValueError("on purpose")


def odd(trial: Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    if trial.number % 5 == 0:
        return float("nan")
    if trial.number % 5 == 1:
        raise optuna.TrialPruned
    return float("inf") if trial.number % 5 == 2 else x


def constant(trial: Trial) -> float:
    return 0.0 * trial.suggest_float("x", 0, 1)


def fixed(trial: Trial) -> float:
    return float(trial.suggest_int("n", 3, 3))


@pytest.mark.parametrize("objective", [broken, odd, constant, fixed], ids=lambda f: f.__name__)
def test_odd_studies_get_a_verdict_and_go_on(objective: Callable[[Trial], float]) -> None:
    study = study_of()
    study.optimize(objective, n_trials=40, callbacks=[pellucid.StopWhen(regret_below=1e-6)], catch=(ValueError,))
    assert len(study.trials) == 40
    verdict = pellucid.stopping_verdict(study, regret_below=1e-6)
    assert not verdict.stop
    assert str(verdict).startswith("Continue: ")


def test_one_trial_and_none() -> None:
    study = study_of()
    verdict = pellucid.stopping_verdict(study)
    assert str(verdict) == "Continue: a verdict needs 20 complete trials, and this study has 0."
    study.optimize(bowl, n_trials=1)
    assert str(pellucid.stopping_verdict(study, min_trials=1)) == (
        "Continue: a verdict needs 2 complete trials, and this study has 1."
    )


def test_a_storage_that_refuses_the_sentence_does_not_keep_the_study_from_stopping() -> None:
    class Refusing(InMemoryStorage):
        def set_study_user_attr(self, study_id: int, key: str, value: object) -> None:
            raise RuntimeError("read-only")

    study = optuna.create_study(storage=Refusing(), sampler=RandomSampler(seed=0))
    study.optimize(bowl, n_trials=60, callbacks=[pellucid.StopWhen(regret_below=100.0, min_trials=20)])
    assert len(study.trials) == 24


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: pellucid.StopWhen(regret_below=0.0),
        lambda: pellucid.StopWhen(regret_below=float("nan")),
        lambda: pellucid.StopWhen(regret_below="2"),
        lambda: pellucid.StopWhen(regret_below="0%"),
        lambda: pellucid.StopWhen(patience=0),
        lambda: pellucid.StopWhen(min_trials=0),
        lambda: pellucid.stopping_verdict(study_of(), regret_below=-1.0),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_the_rule(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"must be .* but got"):
        wrong()


def test_trials_outside_the_present_ranges_are_the_reason_for_no_verdict() -> None:
    study = study_of(RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", *((7.0, 8.0) if t.number == 25 else (0.0, 1.0))), n_trials=26)
    assert (
        "2 finished trials inside the present ranges, and this study has 1" in pellucid.stopping_verdict(study).reason
    )
