"""Profiles: the best that can be reached at each value, in the user's units, honest about what was not tried."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial, create_trial

import pellucid
from pellucid.answers.effects.best_draws import BestDraws
from pellucid.answers.effects.profile import _verdict, profiles_of
from pellucid.answers.effects.profile_words import Profile, costs_of, profile_sentence
from pellucid.answers.effects.records import Cost
from pellucid.answers.effects.trials import judged_choices, support_of
from pellucid.beliefs import Beliefs
from pellucid.space.encoding import Dimension, Space
from pellucid.study.view import StudyView


def interacting(trial: Trial) -> float:
    """The best `x` depends on `y`; at every x, the best y is x itself, so the profile is (x - 0.3)^2 alone."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.suggest_float("idle", 0, 1)
    return (x - 0.3) ** 2 + 2 * (x - y) ** 2


def branches(trial: Trial) -> float:
    if trial.suggest_categorical("model", ["svc", "trees"]) == "svc":
        return 1.0 + (math.log10(trial.suggest_float("C", 1e-2, 1e2, log=True)) / 2) ** 2
    return 0.5 + abs(trial.suggest_int("depth", 1, 9) - 5) / 8


@pytest.fixture(scope="module")
def random_study() -> Study:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(interacting, n_trials=80)
    return study


@pytest.fixture(scope="module")
def branched() -> Study:
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(branches, n_trials=60)
    return study


def test_the_profile_is_the_best_over_all_other_parameters(random_study: Study) -> None:
    profile = pellucid.profile_effect(random_study, "x")
    truth = (np.array(profile.values) - 0.3) ** 2
    assert np.mean((np.array(profile.low) <= truth) & (truth <= np.array(profile.high))) > 0.9
    # The average over y is far above what can be reached.
    average = pellucid.partial_dependence(random_study, "x")
    assert np.mean(average.mean) > 2 * np.mean(profile.mean)
    assert profile.verdict == "matters"
    assert profile.best_value == pytest.approx(0.3, abs=0.1)
    assert profile.sentence.startswith("The best value of `x` is about 0.")
    assert "up to be at least" in profile.sentence


def test_the_mean_is_inside_the_band(random_study: Study, branched: Study) -> None:
    for study, name in ((random_study, "x"), (random_study, "idle"), (branched, "model"), (branched, "C")):
        profile = pellucid.profile_effect(study, name)
        assert (np.array(profile.low) <= np.array(profile.mean)).all()
        assert (np.array(profile.mean) <= np.array(profile.high)).all()


def test_a_parameter_without_effect_does_not_matter(random_study: Study) -> None:
    profile = pellucid.profile_effect(random_study, "idle")
    assert profile.verdict != "matters"
    assert max(profile.low) <= min(profile.high)


@pytest.mark.parametrize("seed", range(3))
def test_a_kink_elsewhere_does_not_make_a_parameter_matter(seed: int) -> None:
    def kinked(trial: Trial) -> float:
        x, y, z, _ = (trial.suggest_float(name, 0, 1) for name in ("x", "y", "z", "idle"))
        return 1.5 * abs(x - 0.62) + 0.1 * (y - 0.4) ** 2 + 0.05 * z

    study = optuna.create_study(sampler=RandomSampler(seed=seed))
    study.optimize(kinked, n_trials=150)
    assert pellucid.profile_effect(study, "idle").verdict == "no effect"
    assert pellucid.profile_effect(study, "x").verdict == "matters"


@pytest.mark.parametrize(
    ("share", "gain", "verdict"),
    [
        (0.99, 0.0, "matters"),
        (0.95, 0.0, "cannot tell"),
        (0.95, 10.0, "matters"),
        (0.90, 10.0, "cannot tell"),
        (1.00, -10.0, "cannot tell"),
    ],
)
def test_clear_draws_need_trials_that_do_not_speak_against_the_parameter(
    share: float, gain: float, verdict: str
) -> None:
    worse = np.arange(200) < 200 * share
    best = np.column_stack([np.zeros(200), np.where(worse, 0.5, -0.5)])
    draws = BestDraws(best.mean(axis=0), best, best)
    assert _verdict(draws, np.ones(2, dtype=bool), 1.0, gain) == verdict


@pytest.mark.parametrize("n", [20, 80])
def test_nothing_but_noise_is_not_called_the_same_value_and_nothing_matters(n: int) -> None:
    rng = np.random.default_rng(0)
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: 0.0 * trial.suggest_float("x", 0, 1) + rng.standard_normal(), n_trials=n)
    profile = pellucid.profile_effect(study, "x")
    assert profile.verdict == "cannot tell"
    assert "too few" not in profile.sentence
    assert re.search(r"may reach as much( \(95% band -?[\d.]+ to [\d.]+\))?\.$", profile.sentence)


def unclear(**changes: object) -> Profile:
    """Three values, of which none is clearly best."""
    fields = {
        "name": "x",
        "level": 0.95,
        "values": [0.0, 0.5, 1.0],
        "mean": np.array([1.0, 1.2, 1.4]),
        "ends": np.array([[0.5, 0.7, 0.9], [1.5, 1.7, 1.9]]),
        "support": np.array([3, 3, 3]),
        "judged": np.ones(3, dtype=bool),
        "best": 0,
        "lost": np.zeros(3),
        "margin": 0.1,
        "condition": "",
        "n_trials": 90,
        "tried": 90,
        "enough": True,
        "needless": False,
    }
    return Profile(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "but even the value that looks worst, by 0.4, may reach as much (95% band 0.90 to 1.90)."),
        ({"support": np.array([3, 3, 0])}, "no trial is near 1, which looks worst."),
        ({"needless": True}, "the 90 trials are explained as well without it."),
        ({"enough": False, "tried": 4}, "but the parameter has had only 4 trials."),
        ({"ends": np.array([[0.9, 1.1, 1.3], [1.1, 1.3, 1.5]])}, "other values may reach as much."),
    ],
)
def test_the_sentence_says_why_no_value_is_known_to_be_best(changes: dict[str, object], reason: str) -> None:
    dimension: Dimension = Space.of({"x": optuna.distributions.FloatDistribution(0, 1)}).dimensions[0]
    sentence = profile_sentence(unclear(**changes), dimension, "cannot tell", ())
    assert sentence.startswith("It is not clear which value of `x` is best: 0 reaches ")
    assert sentence.endswith(reason)


def test_what_was_reached_without_noise_can_be_reached(branched: Study) -> None:
    profile = pellucid.profile_effect(branched, "depth")
    low = dict(zip(profile.values, profile.low, strict=True))
    for value, objective in zip(profile.trial_values, profile.trial_objectives, strict=True):
        assert value is None or low[value] <= objective


def test_branches_are_compared_by_their_best(branched: Study) -> None:
    profile = pellucid.profile_effect(branched, "model")
    assert profile.best_value == "trees"
    assert profile.scale == "category"
    assert sum(profile.support) == 60
    assert profile.verdict == "matters"
    assert "trees reaches 0.5" in profile.sentence
    assert profile.mean[0] == pytest.approx(1.0, abs=0.02)
    assert f"; {profile.support[0]})." in profile.sentence


def test_a_child_is_profiled_inside_its_branch(branched: Study) -> None:
    profile = pellucid.profile_effect(branched, "depth")
    assert profile.condition == "model is trees"
    assert "(where model is trees)" in profile.sentence
    assert profile.values == tuple(range(1, 10))
    assert profile.best_value == 5
    truth = 0.5 + np.abs(np.array(profile.values) - 5) / 8
    assert np.mean((np.array(profile.low) <= truth) & (truth <= np.array(profile.high))) > 0.85


def test_a_branch_with_few_trials_may_still_be_the_best() -> None:
    """Three poor trials of `svc` do not show that it is worse than `trees`."""
    study = optuna.create_study(direction="maximize")
    kind = optuna.distributions.CategoricalDistribution(("trees", "svc"))
    depth, C = optuna.distributions.IntDistribution(1, 9), optuna.distributions.FloatDistribution(1e-3, 1e3, log=True)
    rng = np.random.default_rng(0)
    for i in range(40):
        if i % 14 == 13 or i == 39:
            params = {"model": "svc", "C": float(10 ** rng.uniform(1, 3))}
            value, kinds = 0.6, {"model": kind, "C": C}
        else:
            params = {"model": "trees", "depth": int(rng.integers(1, 10))}
            value, kinds = 0.9 - 0.01 * abs(params["depth"] - 5), {"model": kind, "depth": depth}
        study.add_trial(create_trial(params=params, distributions=kinds, value=value))
    profile = pellucid.profile_effect(study, "model")
    assert profile.verdict == "cannot tell"
    assert "; 3, too few to judge)" in profile.sentence
    assert "no choice is clearly better" in profile.sentence
    assert profile.high[1] >= profile.mean[0]
    inside = pellucid.profile_effect(study, "C")
    assert min(inside.high) >= profile.mean[0]
    assert inside.verdict == "cannot tell"


def test_a_choice_that_no_trial_has_had_is_not_judged() -> None:
    study = optuna.create_study()
    kind = optuna.distributions.CategoricalDistribution(("a", "b", "never"))
    rng = np.random.default_rng(0)
    for i in range(30):
        params = {"kind": "ab"[i % 2], "x": float(rng.random())}
        space = {"kind": kind, "x": optuna.distributions.FloatDistribution(0, 1)}
        study.add_trial(create_trial(params=params, distributions=space, value=params["x"] + i % 2))
    profile = pellucid.profile_effect(study, "kind")
    assert "; 0, too few to judge)" in profile.sentence
    assert "No trial had `kind` = never: what is shown there is a guess." in profile.notes
    assert profile.low[2] < profile.mean[0]
    assert profile.verdict == "matters"
    other = pellucid.profile_effect(study, "x")
    assert any("`kind` = never (0)" in note for note in other.notes)


def test_maximising_is_the_mirror_image(random_study: Study) -> None:
    mirrored = optuna.create_study(direction="maximize")
    for t in random_study.trials:
        mirrored.add_trial(create_trial(params=t.params, distributions=t.distributions, value=-t.value))
    a, b = (pellucid.profile_effect(s, "x") for s in (random_study, mirrored))
    np.testing.assert_allclose(a.mean, -np.array(b.mean), rtol=1e-9)
    np.testing.assert_allclose(a.low, -np.array(b.high), rtol=1e-9)
    assert (a.best, a.verdict) == (b.best, b.verdict)


def test_several_profiles_are_those_asked_for_one_by_one(random_study: Study) -> None:
    beliefs = Beliefs(StudyView.of(random_study, "test"))
    together = profiles_of(beliefs, beliefs.view.objective, ["x", "idle"])
    assert together[1] == pellucid.profile_effect(random_study, "idle")


def test_gaps_and_a_best_value_far_from_trials_are_noted() -> None:
    study = optuna.create_study()
    space = {"x": optuna.distributions.FloatDistribution(0.0, 10.0), "y": optuna.distributions.FloatDistribution(0, 1)}
    rng = np.random.default_rng(0)
    for _ in range(40):
        params = {"x": float(4 * rng.random()), "y": float(rng.random())}
        study.add_trial(create_trial(params=params, distributions=space, value=params["y"] - params["x"]))
    profile = pellucid.profile_effect(study, "x")
    assert any("No value is known near `x` =" in note for note in profile.notes)
    assert "No trial is near the best value: try it before you use it." in profile.notes
    width = np.array(profile.high) - np.array(profile.low)
    assert width[-1] > 2 * width[4]


def test_records_convert_to_frames_and_json_and_figures(random_study: Study, branched: Study) -> None:
    profile = pellucid.profile_effect(random_study, "x", level=0.8)
    assert list(profile.to_frame().columns) == ["x", "mean", "low", "high", "support"]
    assert json.loads(json.dumps(profile.to_dict()))["verdict"] == "matters"
    wide = pellucid.profile_effect(random_study, "x", level=0.99)
    assert (np.array(wide.high) >= np.array(profile.high)).all()
    assert (np.array(wide.low) <= np.array(profile.low)).all()
    assert {trace.name for trace in profile.plot().data} >= {"trials", "best value", "trials nearby"}
    figure = pellucid.profile_effect(branched, "model").plot()
    assert any(label.startswith("trees<br>") for label in figure.layout.xaxis.ticktext)


def test_names_that_look_like_markup_stay_text() -> None:
    study = optuna.create_study()
    hostile, choices = "<img src=x onerror=alert(1)>", ("<script>", "b", True, "True")
    space = {
        hostile: optuna.distributions.FloatDistribution(0, 1),
        "mean": optuna.distributions.CategoricalDistribution(choices),
    }
    rng = np.random.default_rng(0)
    for i in range(20):
        params = {hostile: float(rng.random()), "mean": choices[i % 4]}
        study.add_trial(create_trial(params=params, distributions=space, value=float(params[hostile] + i % 4)))
    for name in (hostile, "mean"):
        profile = pellucid.profile_effect(study, name)
        assert not any(raw in profile.plot().to_json() for raw in ("<img", "<script>"))
    assert profile.to_frame().shape == (4, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"param": "xx"}, "no parameter `xx`; it has"),
        ({"param": "x", "level": 0.0}, "between 0 and 1"),
        ({"param": "x", "objective": "other"}, "must be the objective or a constraint of this study"),
    ],
)
def test_wrong_arguments(random_study: Study, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.profile_effect(random_study, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, 2])
def test_fewer_than_three_finished_trials(n: int) -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(interacting, n_trials=n)
    with pytest.raises(
        ValueError, match=f"This answer needs at least 3 finished trials with a value; this study has {n}"
    ):
        pellucid.profile_effect(study, "x")


def test_odd_studies_are_answered() -> None:
    """Constant, infinite, enormous and tiny values, one parameter, changed ranges, thousands of trials."""
    x = optuna.distributions.FloatDistribution(0, 1)

    def study_of(values: list[float]) -> Study:
        study = optuna.create_study()
        rng = np.random.default_rng(0)
        for value in values:
            study.add_trial(create_trial(params={"x": float(rng.random())}, distributions={"x": x}, value=value))
        return study

    for values in ([1.0] * 6, [1e300, -1e300, 0.0, 5.0], [math.inf, 1.0, 2.0, 3.0], [1e-300, 2e-300, 3e-300]):
        profile = pellucid.profile_effect(study_of(values), "x")
        assert np.isfinite([profile.mean, profile.low, profile.high]).all()
        profile.plot()
    constant = pellucid.profile_effect(study_of([1.0] * 6), "x")
    assert constant.verdict == "cannot tell"
    assert constant.sentence.startswith("All 6 trials returned about the same value")
    rng = np.random.default_rng(0)
    many = optuna.create_study()
    many.add_trials(
        [create_trial(params={"x": float(v)}, distributions={"x": x}, value=float(v * v)) for v in rng.random(1200)]
    )
    profile = pellucid.profile_effect(many, "x")
    assert profile.n_trials == 500
    assert any("500 of 1200 trials" in note for note in profile.notes)
    assert np.abs(np.array(profile.mean) - np.array(profile.values) ** 2).max() < 0.05


def test_the_parameters_of_a_nested_choice_count_towards_the_trials_it_needs() -> None:
    """`kernel` exists for one model only, and its choice `rbf` has a parameter of its own: that needs more trials."""

    def nested(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["trees", "knn", "svc"]) != "svc":
            return trial.suggest_float("size", 0, 1)
        if trial.suggest_categorical("kernel", ["linear", "rbf"]) == "linear":
            return 1.0
        return 1.0 + trial.suggest_float("gamma", 0, 1)

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for i in range(40):
        model = ("trees", "knn", "svc", "svc")[i % 4]
        study.enqueue_trial({"model": model, "kernel": "rbf" if i % 8 == 2 and i < 36 else "linear"})
    study.optimize(nested, n_trials=40)
    data = StudyView.of(study, "test").data
    column = data.space.index["kernel"]
    grid = data.space.dimensions[column].midpoint(np.arange(2))
    assert support_of(data, [column], grid[:, None]).tolist() == [15, 5]
    assert judged_choices(data, column, grid).tolist() == [True, False]


def test_a_note_says_how_many_of_very_many_choices_are_compared() -> None:
    space = {"c": optuna.distributions.CategoricalDistribution([f"c{i}" for i in range(200)])}
    study = optuna.create_study()
    for i in range(20):
        study.add_trial(create_trial(params={"c": f"c{i}"}, distributions=space, value=float(i)))
    profile = pellucid.profile_effect(study, "c")
    assert profile.notes[0] == "Only 60 of 200 choices of `c` are compared."
    assert re.fullmatch(r"No trial had `c` = (\w+, ){5}\w+ and \d+ others: .*", profile.notes[1])


def test_a_value_that_no_trial_came_near_is_not_named_as_worse() -> None:
    lost = {"best": 2, "lost": np.array([0.9, 0.9, 0.0]), "mean": np.array([2.0, 2.0, 1.0]), "margin": 0.1}
    dimension: Dimension = Space.of({"x": optuna.distributions.FloatDistribution(0, 1)}).dimensions[0]

    def said(*support: int) -> tuple[str, tuple[Cost, ...]]:
        profile = unclear(**lost, support=np.array(support))
        costs = costs_of(profile, dimension, "matters")
        assert costs_of(profile, dimension, "cannot tell") == ()
        return profile_sentence(profile, dimension, "matters", costs), costs

    sentence, costs = said(3, 3, 3)
    assert sentence.endswith("; expect values up to 0.5 to be at least 0.9 worse.")
    assert costs == (Cost(0.0, 0.5, 0.9),)
    sentence, costs = said(3, 0, 3)
    assert sentence.endswith("; expect `x` = 0 to be at least 0.9 worse.")
    assert costs == (Cost(0.0, 0.0, 0.9),)
    sentence, costs = said(0, 0, 3)
    assert sentence.endswith("; it is not clear which other values are worse.")
    assert costs == ()


@pytest.mark.parametrize(
    ("bound", "text"),
    [(0.1999, "0.19"), (0.2, "0.2"), (12345.0, "1.2e+04"), (3e-7, "3e-07"), (0.29, "0.29"), (1e-322, "9.9e-323")],
)
def test_a_lower_bound_is_not_rounded_up(bound: float, text: str) -> None:
    lost = {"best": 2, "lost": np.array([bound, bound, 0.0]), "mean": np.array([2.0, 2.0, 1.0]), "margin": 0.4 * bound}
    dimension: Dimension = Space.of({"x": optuna.distributions.FloatDistribution(0, 1)}).dimensions[0]
    profile = unclear(**lost, support=np.array([3, 3, 3]))
    sentence = profile_sentence(profile, dimension, "matters", costs_of(profile, dimension, "matters"))
    assert sentence.endswith(f"; expect values up to 0.5 to be at least {text} worse.")


def test_profiles_and_averages_name_the_same_gaps() -> None:
    study = optuna.create_study()
    space = {"x": optuna.distributions.FloatDistribution(0.0, 10.0), "y": optuna.distributions.FloatDistribution(0, 1)}
    rng = np.random.default_rng(0)
    for i in range(40):
        params = {"x": float(4 * rng.random()) + 6.0 * (i % 2), "y": float(rng.random())}
        study.add_trial(create_trial(params=params, distributions=space, value=math.sin(params["x"]) + params["y"]))
    gaps = [
        [note for note in effect.notes if note.startswith("No value is known near")]
        for effect in (pellucid.profile_effect(study, "x"), pellucid.partial_dependence(study, "x"))
    ]
    assert gaps[0] == gaps[1] != []


def test_choices_that_never_meet_the_parameter_are_not_named() -> None:
    """`penalty` exists for one kind and `rate` for the other; few trials have l1."""

    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("kind", ["linear", "boosted"]) == "boosted":
            return trial.suggest_float("rate", 0.0, 1.0)
        depth = trial.suggest_float("depth", 0.0, 1.0)
        return depth + (trial.suggest_categorical("penalty", ["l2", "l1"]) == "l2")

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for i in range(40):
        shared = {"kind": "boosted", "rate": i / 40} if i % 2 else {"kind": "linear", "depth": i / 40}
        study.enqueue_trial(shared if i % 2 else shared | {"penalty": "l2" if i > 6 else "l1"})
    study.optimize(objective, n_trials=40)
    assert any("`penalty` = l1 (4)" in note for note in pellucid.profile_effect(study, "depth").notes)
    assert any("`penalty` = l1 (4)" in note for note in pellucid.profile_effect(study, "kind").notes)
    assert not any("penalty" in note for note in pellucid.profile_effect(study, "rate").notes)


def test_the_best_value_is_not_missed_between_two_points_of_the_grid() -> None:
    """A narrow valley that many trials have found: the profile reaches what the recommended trial does."""
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(lambda t: abs(t.suggest_float("x", 0, 1) - 0.3712) ** 0.5 + t.suggest_float("y", 0, 1), n_trials=80)
    use = pellucid.recommend(study)
    profiles = [pellucid.profile_effect(study, name) for name in ("x", "y")]
    assert all(min(profile.mean) <= use.expected + 1e-9 for profile in profiles)
    assert min(abs(value - use.params["x"]) for value in profiles[0].values) < 1e-9
