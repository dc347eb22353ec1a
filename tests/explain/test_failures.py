"""Why trials fail, in sentences, and advice that does not lead into settings that fail."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler
from optuna.trial import Trial, TrialState, create_trial

import pellucid
from pellucid.answers.doubts import doubts
from pellucid.answers.failures import FailingSettings
from pellucid.beliefs.of_study import beliefs_of
from pellucid.beliefs.settings import FailingCondition, FailingSetting
from pellucid.surfaces.cli.answers import answers_to
from pellucid.surfaces.cli.questions import overview
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.note import note
from pellucid.surfaces.page.page import page


def fragile(trial: Trial) -> float:
    """Two kinds: one refuses a pair of choices, the other fails at large rates."""
    if trial.suggest_categorical("kind", ["linear", "gradient"]) == "linear":
        solver = trial.suggest_categorical("solver", ["lbfgs", "liblinear", "newton"])
        penalty = trial.suggest_categorical("penalty", ["l1", "l2"])
        if solver != "liblinear" and penalty == "l1":
            raise ValueError("this solver does not know l1")
        return trial.suggest_float("C", 1e-3, 1e2, log=True) ** 0.1 + (penalty == "l1")
    rate = trial.suggest_float("rate", 1e-3, 10.0, log=True)
    return float("nan") if rate > 2.0 else rate


def study_of(objective: Any, n_trials: int, seed: int = 0) -> optuna.Study:
    study = optuna.create_study(sampler=RandomSampler(seed=seed))
    study.optimize(objective, n_trials=n_trials, catch=(ValueError,))
    return study


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    return study_of(fragile, 90)


def made(params: list[dict[str, Any]], failed: list[bool], choices: list[Any] | None = None) -> optuna.Study:
    study = optuna.create_study()
    distributions = {"c": CategoricalDistribution(choices or ["a", "b"]), "x": FloatDistribution(0.0, 1.0)}
    for p, bad in zip(params, failed, strict=True):
        kept = {name: d for name, d in distributions.items() if name in p}
        state = TrialState.FAIL if bad else TrialState.COMPLETE
        study.add_trial(create_trial(params=p, distributions=kept, state=state, value=None if bad else 1.0))
    return study


def test_settings_of_a_conditional_study(study: optuna.Study) -> None:
    answer = pellucid.failing_settings(study)
    words = [setting.words for setting in answer.settings]
    assert sorted(words[:2]) == ["`solver` = lbfgs with `penalty` = l1", "`solver` = newton with `penalty` = l1"]
    assert words[2].startswith("`rate` of ")
    assert words[2].endswith(" or more")
    first = answer.settings[0]
    assert f"{first.n_new} of {answer.n_failed} failed trials have {first.words}: all {first.n_failed} such" in str(
        answer
    )
    assert answer.n_failed == sum(setting.n_new for setting in answer.settings) + answer.n_other_failed
    assert answer.n_other_failed == 0
    assert " The other " in answer.sentence


def test_sentences_of_one_rule_and_of_none() -> None:
    params = [{"c": "a" if i % 2 else "b", "x": (7 * i % 40) / 40} for i in range(40)]
    every = pellucid.failing_settings(made(params, [p["c"] == "a" for p in params]))
    assert every.sentence == "All 20 failed trials have `c` = a: all 20 such trials failed."
    extra = pellucid.failing_settings(made(params, [p["c"] == "a" or i == 2 for i, p in enumerate(params)]))
    assert extra.sentence.endswith(" What the other one has is not known.")
    some = pellucid.failing_settings(made(params, [i % 8 in (0, 1) for i in range(40)]))
    assert some.sentence == "10 of 40 trials failed, and no setting is known to make them fail."
    assert some.settings == ()


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        ([], "has 0"),
        ([False], "has 0"),
        ([True], "The only trial failed"),
        ([True] * 12, "All 12 trials failed"),
        ([True, True, *[False] * 10], "has 2"),
    ],
)
def test_there_is_no_answer_without_something_to_compare(failed: list[bool], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        pellucid.failing_settings(made([{"c": "a", "x": 0.5}] * len(failed), failed))


def test_trials_without_parameters_are_noted() -> None:
    params: list[dict[str, Any]] = [{"x": i / 30} for i in range(30)]
    answer = pellucid.failing_settings(made([*params, {}], [*(p["x"] > 0.7 for p in params), True]))
    assert answer.settings[0].words == "`x` of 0.73 or more"
    assert answer.notes == ("1 failed trial ended without a parameter, which says nothing.",)


def test_choices_that_look_alike_are_told_apart() -> None:
    choices = [True, 1, "1", None, "None", 1.0]
    study = made([{"c": choices[i % 6]} for i in range(60)], [i % 6 == 2 for i in range(60)], choices)
    assert pellucid.failing_settings(study).sentence.startswith("All 10 failed trials have `c` = '1': all 10 such")


def test_hostile_names_do_not_break_the_report() -> None:
    name, choice = "<script>`x`|*[a](b)", "<b>&`|\n# no"

    def hostile(trial: Trial) -> float:
        value = trial.suggest_float("x", 0.0, 1.0)
        if trial.suggest_categorical(name, [choice, "fine"]) == choice:
            raise ValueError("always")
        return value

    bad = study_of(hostile, 40)
    answers = gather(bad, progress=False)
    assert choice in pellucid.failing_settings(bad).sentence
    assert "<script>`x`" not in page(answers)
    assert "<b>&" not in page(answers)
    assert "\n# no" not in note(answers, "#trial-")


def test_every_place_says_which_settings_fail_first(study: optuna.Study) -> None:
    answer = pellucid.failing_settings(study)
    gathered = gather(study, progress=False)
    failures = page(gathered).partition('id="failures"')[2]
    assert 0 < failures.index("failed trials have") < failures.index("for failing")
    why = note(gathered, "#trial-").partition("Why do trials fail?")[2]
    assert 0 < why.index(answer.settings[0].words) < why.index("For failing")
    (doubt,) = [text for text in doubts(gathered) if "trials failed" in text]
    assert f": avoid {answer.settings[0].words}, and " in doubt
    asked = {question.key: reply for question, reply in answers_to(overview(beliefs_of(study), None))}
    assert asked["failures"] == answer


def test_advice_does_not_lead_into_settings_that_fail() -> None:
    """l1 has three values because it fails with one of two solvers."""
    tried = [("lbfgs", "l1", 14), ("liblinear", "l1", 3), ("lbfgs", "l2", 15), ("liblinear", "l2", 15)]
    distributions = {
        "solver": CategoricalDistribution(["lbfgs", "liblinear"]),
        "penalty": CategoricalDistribution(["l1", "l2"]),
        "x": FloatDistribution(0.0, 1.0),
    }
    refused = optuna.create_study()
    for solver, penalty, n in tried:
        bad = (solver, penalty) == ("lbfgs", "l1")
        for i in range(n):
            params = {"solver": solver, "penalty": penalty, "x": (i + 0.5) / n}
            state, value = (TrialState.FAIL, None) if bad else (TrialState.COMPLETE, params["x"] + (penalty == "l2"))
            trial = create_trial(params=params, distributions=distributions, state=state, value=value)
            refused.add_trial(trial)
    (untried,) = [n for n in pellucid.profile_effect(refused, "x").notes if n.startswith("Too few trials")]
    assert untried == (
        "Too few trials to know what can be reached with `penalty` = l1 (3): run more of them, but not with `solver` = "
        "lbfgs (all 14 such trials failed)."
    )


def test_ranges_say_that_failures_are_why_a_choice_has_few_values(study: optuna.Study) -> None:
    (few,) = [note for note in pellucid.parameter_ranges(study).notes if note.startswith("`solver` = lbfgs has")]
    assert "too few to say whether to drop it; with `penalty` = l1, all " in few
    assert few.endswith(" such trials failed.")


def test_nobody_is_sent_to_a_choice_that_always_fails() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.suggest_categorical("kind", ["good", "bad"]) == "bad":
            raise ValueError("always")
        return x

    broken = study_of(objective, 70)
    notes = pellucid.profile_effect(broken, "x").notes
    (known,) = [n for n in notes if "is not known: all" in n]
    assert known.startswith("What can be reached with `kind` = bad is not known: all ")
    assert not any("run more" in n for n in notes)
    assert any(n.startswith("Drop `kind` = bad, or fix") for n in pellucid.parameter_ranges(broken).notes)


def test_only_settings_that_promise_something_are_named() -> None:
    """Large rates fail, but no rate is near the best: only the profile of the rate itself says that they fail."""

    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("kind", ["good", "bad"]) == "good":
            return trial.suggest_float("x", 0.0, 1.0)
        rate = trial.suggest_float("rate", 0.0, 1.0)
        return float("nan") if rate > 0.6 else 10.0 + rate

    study = study_of(objective, 80)
    notes = [*pellucid.stopping_verdict(study, regret_below=1e-9).notes, *pellucid.profile_effect(study, "x").notes]
    assert not any("where trials fail" in note or "`rate`" in note for note in notes)
    about = pellucid.profile_effect(study, "rate").notes
    assert not any("where trials fail" in note for note in about)
    assert any(
        note.startswith("With `rate` of 0.6") and note.endswith(": what is shown there is a guess.") for note in about
    )


def test_settings_that_promise_something_are_named_by_the_verdict() -> None:
    """Values grow towards the place where trials fail, so the model expects the best there."""

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        return float("nan") if x > 0.7 else -x + 0.01 * trial.suggest_float("y", 0.0, 1.0)

    notes = pellucid.stopping_verdict(study_of(objective, 50), regret_below=1e-9).notes
    assert any("may lie at `x` of 0.7" in note for note in notes)


@pytest.mark.parametrize("name", ["solver", "old with `new", "a `b` c"])
def test_a_condition_has_a_label_whatever_its_name(name: str) -> None:
    """Labels of figures were cut from the words of a setting, which may hold the marks between them."""
    chosen, large = FailingCondition(name, "is", "lbfgs"), FailingCondition(name, "at least", 12)
    assert (chosen.words, chosen.label) == (f"`{name}` = lbfgs", f"{name} = lbfgs")
    assert (large.words, large.label) == (f"`{name}` of 12 or more", f"{name} of 12 or more")
    assert FailingCondition(name, "at most", 0.5).label == f"{name} of 0.5 or less"
    setting = FailingSetting((chosen, large), f"{chosen.words} with {large.words}", 9, 9, 9, 0.001)
    figure = FailingSettings((setting,), 30, 9, 21, 0, "All 9 failed.").plot()
    assert list(figure.layout.yaxis.ticktext)[1].count("<br>with ") == 1
