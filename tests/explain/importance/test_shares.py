"""What matters for the objective: known indices, verdicts, branches, whoever chose the trials, and ordinary mishaps."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.answers.importance.records import Importance, PairShare, ParameterShare
from pellucid.answers.importance.share_words import ranked, share_sentence
from pellucid.beliefs.evidence import evidence
from pellucid.models import GaussianProcess


def run(objective: Callable[[Trial], float], n: int, sampler: BaseSampler | None = None, **options: str) -> Study:
    study = optuna.create_study(sampler=sampler or RandomSampler(seed=0), **options)
    study.optimize(objective, n_trials=n, catch=(RuntimeError,))
    return study


def ishigami(trial: Trial) -> float:
    """With known indices; `idle` does nothing, and x3 acts only together with x1."""
    x1, x2, x3 = (trial.suggest_float(name, -math.pi, math.pi) for name in ("x1", "x2", "x3"))
    trial.suggest_float("idle", 0, 1)
    return math.sin(x1) + 7 * math.sin(x2) ** 2 + 0.1 * x3**4 * math.sin(x1)


def choice(trial: Trial) -> float:
    """`model` matters most; inside `net`, `rate` alone; `ridge` has one parameter."""
    if trial.suggest_categorical("model", ["net", "ridge"]) == "ridge":
        return 3.0 + 0.5 * trial.suggest_float("alpha", 0, 1)
    trial.suggest_float("momentum", 0, 1)
    return (trial.suggest_float("rate", 1e-4, 1, log=True) - 0.1) ** 2


def by_name(answer: Importance) -> dict[str, ParameterShare]:
    return {share.name: share for share in answer.parameters}


# ---------------------------------------------------------------------- known answers


def test_the_indices_of_a_known_function() -> None:
    answer = pellucid.importance(run(ishigami, 300))
    shares = by_name(answer)
    for name, first, total in (("x1", 0.314, 0.558), ("x2", 0.442, 0.442), ("x3", 0.0, 0.244), ("idle", 0.0, 0.0)):
        assert shares[name].first == pytest.approx(first, abs=0.05)
        assert shares[name].total == pytest.approx(total, abs=0.05)
        assert shares[name].low <= total <= shares[name].high
    assert [share.verdict for share in answer.parameters] == ["matters", "matters", "matters", "no effect"]
    assert answer.pairs[0].params in (("x1", "x3"), ("x3", "x1"))
    assert answer.pairs[0].index == pytest.approx(0.244, abs=0.05)
    assert answer.matters == ("x1", "x2", "x3")
    assert answer.sentence.startswith("`x1` matters most (")
    assert "; `idle` (at most 1%) hardly matters; " in answer.sentence
    assert answer.sentence.endswith("; shares include interactions, so they add up to more than 100%.")
    assert "`x1` and `x3` act together" in answer.sentence


@pytest.mark.parametrize("slope", [0.3, 0.5, 0.7, 0.9])
def test_shares_that_add_up_to_100_are_not_said_to_add_up_to_more(slope: float) -> None:
    def almost_additive(trial: Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return 4 * x + 4 * slope * y + 0.05 * x * y

    answer = pellucid.importance(run(almost_additive, 40))
    assert answer.matters == ("x", "y")
    assert sum(share.total for share in answer.parameters) == pytest.approx(1.0, abs=2e-3)
    assert "more than 100%" not in answer.sentence


@pytest.mark.parametrize("sampler", [pellucid.BayesianSampler(seed=1), TPESampler(seed=1)])
def test_trials_of_an_optimiser_are_enough(sampler: BaseSampler) -> None:
    def valley(trial: Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.suggest_float("idle", 0, 1)
        return 4 * (x - 0.3) ** 2 + (y - 0.6) ** 2

    answer = pellucid.importance(run(valley, 50, sampler))
    assert [share.name for share in answer.parameters] == ["x", "y", "idle"]
    assert by_name(answer)["x"].verdict == "matters"
    assert by_name(answer)["idle"].verdict == "no effect"


def test_conditional_parameters_are_judged_in_their_branch() -> None:
    answer = pellucid.importance(run(choice, 80))
    shares = by_name(answer)
    assert shares["model"].branch == ""
    assert shares["rate"].branch == shares["momentum"].branch == "where model is net"
    assert shares["model"].verdict == shares["rate"].verdict == "matters"
    assert shares["rate"].total > 0.95
    assert shares["momentum"].verdict == "no effect"
    assert shares["model"].n_trials == shares["rate"].n_trials + shares["alpha"].n_trials == 80
    assert answer.matters[0] == "model"
    assert answer.sentence.startswith("`model` matters (")
    assert "; where model is net (43 trials), `rate` matters most (" in answer.sentence
    assert all(pair.branch == "where model is net" for pair in answer.pairs)


def test_a_branch_with_few_trials_is_not_judged() -> None:
    def rarely(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["net", "ridge"]) == "ridge":
            return 1.0 + trial.suggest_float("alpha", 0, 1)
        return trial.suggest_float("rate", 0, 1)

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for i in range(30):
        study.enqueue_trial({"model": "ridge", "alpha": i / 4} if i < 4 else {"model": "net", "rate": i / 30})
    study.optimize(rarely, n_trials=30)
    shares = by_name(pellucid.importance(study))
    assert shares["alpha"].n_trials == 4
    assert shares["alpha"].verdict == "cannot tell"
    assert shares["rate"].verdict == "matters"


# ---------------------------------------------------------------------- what evidence there is


@pytest.mark.parametrize("n_params", [1, 3])
def test_noise_does_not_matter(n_params: int) -> None:
    """Shares of the variance add up to one or more, also if nothing but noise is divided."""
    for seed in range(3):
        noise = np.random.default_rng(seed)

        def nothing(trial: Trial, noise: np.random.Generator = noise) -> float:
            for j in range(n_params):
                trial.suggest_float(f"x{j}", 0, 1)
            return float(noise.standard_normal())

        answer = pellucid.importance(run(nothing, 50, RandomSampler(seed=seed)))
        assert not answer.matters
        assert answer.sentence.startswith("No parameter is known to matter yet (50 trials)")


def test_evidence_is_for_the_parameters_with_an_effect() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    gains = evidence(GaussianProcess().fit(X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(60)))
    assert gains[0] > 10.0
    assert gains[1] > 10.0
    assert gains[2] < 1.0


# ---------------------------------------------------------------------- options


def test_intervals_hold_the_index_and_grow_with_the_level() -> None:
    study = run(ishigami, 60)
    narrow, wide = pellucid.importance(study, level=0.5), pellucid.importance(study, level=0.99)
    for a, b in zip(narrow.parameters, wide.parameters, strict=True):
        assert 0.0 <= b.low <= a.low <= a.total <= a.high <= b.high <= 1.0
        assert 0.0 <= a.first <= a.total == b.total
        assert a.verdict == b.verdict
    assert "50% interval" in narrow.sentence or not narrow.matters


def test_an_interaction_is_named_only_if_both_parameters_are_known_to_matter() -> None:
    pairs = [PairShare(("a", "b"), 0.3, "")]

    def sentence(verdict: str) -> str:
        shares = [ParameterShare(name, 0.2, 0.5, 0.4, 0.6, v, "", 20) for name, v in (("a", "matters"), ("b", verdict))]
        return share_sentence(ranked(shares, ("a", "b")), pairs, ("a", "b"), 20, 0.95)

    assert "`a` and `b` act together (30%)" in sentence("matters")
    assert "act together" not in sentence("cannot tell")


def test_the_sentence_says_why_there_is_no_verdict() -> None:
    """Many trials with a long interval are not too few trials."""
    shares = [
        ParameterShare("a", 0.2, 0.5, 0.4, 0.6, "matters", "", 150),
        ParameterShare("b", 0.0, 0.1, 0.001, 0.23, "cannot tell", "", 150),
        ParameterShare("c", 0.0, 0.1, 0.0, 0.9, "cannot tell", "where a is x", 5),
    ]
    assert share_sentence(ranked(shares, ("a", "b")), (), ("a", "b"), 150, 0.95).endswith(
        "; share still unclear: `b` (<1% to 23%); too few trials to judge `c`."
    )
    assert "too few" not in share_sentence(ranked(shares[:2], ("a", "b")), (), ("a", "b"), 150, 0.95)


def test_the_direction_does_not_count_and_the_answer_is_the_same_every_time() -> None:
    study = run(ishigami, 40)
    mirrored = optuna.create_study(direction="maximize")
    for trial in study.trials:
        mirrored.add_trial(
            optuna.create_trial(params=trial.params, distributions=trial.distributions, value=-float(trial.value or 0))
        )
    assert pellucid.importance(study).parameters == pellucid.importance(mirrored).parameters
    assert pellucid.importance(study) == pellucid.importance(study)


def test_the_objective_may_be_named() -> None:
    study = run(ishigami, 20)
    assert pellucid.importance(study, objective="objective").objective == "objective"
    study.set_metric_names(["loss"])
    assert pellucid.importance(study, objective="loss") == pellucid.importance(study, objective=0)
    with pytest.raises(ValueError, match=r"a constraint of this study \('loss'\), but got 'accuracy'"):
        pellucid.importance(study, objective="accuracy")


def test_the_evaluator_returns_the_total_indices() -> None:
    study = run(choice, 40)
    totals = optuna.importance.get_param_importances(
        study, evaluator=pellucid.ImportanceEvaluator(), normalize=False, params=["model"]
    )
    shares = by_name(pellucid.importance(study))
    assert totals["model"] == pytest.approx(shares["model"].total)
    everything = pellucid.ImportanceEvaluator().evaluate(study)
    assert everything == pytest.approx({name: share.total for name, share in shares.items()})
    constant = pellucid.ImportanceEvaluator().evaluate(study, target=lambda trial: 1.0)
    assert set(constant.values()) == {0.0}


# ---------------------------------------------------------------------- ordinary mishaps


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, math.nan])
def test_a_level_is_between_0_and_1(level: float) -> None:
    with pytest.raises(ValueError, match="`level` must be between 0 and 1"):
        pellucid.importance(optuna.create_study(), level=level)


def test_without_an_answer_a_sentence_says_why() -> None:
    with pytest.raises(ValueError, match="at least 3 finished trials with a value; this study has none"):
        pellucid.importance(optuna.create_study())
    with pytest.raises(ValueError, match="at least 3 finished trials; this study has 2"):
        pellucid.importance(run(ishigami, 2))
    with pytest.raises(ValueError, match="All 5 trials returned the same value"):
        pellucid.importance(run(lambda t: 0.0 * t.suggest_float("x", 0, 1), 5))
    with pytest.raises(ValueError, match="No parameter of this study varies"):
        pellucid.importance(run(lambda t: t.suggest_float("x", 1, 1) + t.number, 5))
    with pytest.raises(ValueError, match="one objective"):
        pellucid.importance(optuna.create_study(directions=["minimize", "minimize"]))


def test_what_matters_in_a_branch_is_not_denied_in_the_same_sentence() -> None:
    """A choice that had one trial of its kind is not clear, but the parameters of the other may be."""
    inside = [
        ParameterShare(name, share, share, 0.5 * share, 1.0, "matters", "where model is svc", 56)
        for name, share in (("gamma", 0.67), ("C", 0.35))
    ]
    unclear = ParameterShare("model", 0.0, 0.0, 0.0, 1.0, "cannot tell", "", 60)
    sentence = share_sentence(
        ranked([*inside, unclear], ("model", "C", "gamma")), [], ("model", "C", "gamma"), 60, 0.95
    )
    assert sentence == (
        "Where model is svc (56 trials), `gamma` probably matters most (67% of the variance there, 95% interval 34% to "
        "100%), then `C` (35%); nothing is known about the share of `model`."
    )
    assert share_sentence(ranked([unclear], ("model",)), [], ("model",), 60, 0.95).startswith(
        "No parameter is known to matter yet (60 tri"
    )


def test_the_sentence_names_every_parameter_that_matters() -> None:
    """As the page does, which lists those of the branches that the best trial does not have, too."""
    shares = [
        ParameterShare("C", 0.5, 0.5, 0.4, 0.6, "matters", "where model is svc", 20),
        ParameterShare("depth", 0.5, 0.5, 0.4, 0.6, "matters", "where model is forest", 20),
    ]
    sentence = share_sentence(ranked(shares, ("model", "C")), [], ("model", "C"), 40, 0.95)
    assert sentence == (
        "Where model is svc (20 trials), `C` matters (50% of the variance there, 95% interval 40% to 60%); in other "
        "branches, `depth` matters."
    )


def test_importance_and_effects_agree_on_whether_the_space_is_explored() -> None:
    def ridge(trial: Trial) -> float:
        return sum((trial.suggest_float(name, 0, 1) - 0.5) ** 2 for name in "abcd")

    studies = [run(ridge, n) for n in (12, 60)]
    notes = [
        [
            [note for note in answer.notes if "unsure" in note]
            for answer in (pellucid.importance(study), pellucid.partial_dependence(study, "a"))
        ]
        for study in studies
    ]
    assert all(of_importance == of_effect for of_importance, of_effect in notes)
    assert notes[0][0] == [
        "The model is unsure about most of the space: add random trials before you rely on averages over it."
    ]
    assert notes[1][0] == []


def test_odd_trials_and_names_are_ordinary() -> None:
    def odd(trial: Trial) -> float:
        x = trial.suggest_float("<b>`x`", 0, 1)
        trial.suggest_categorical("one", ["only"])
        trial.suggest_int("many", 1, 10_000)
        if trial.number % 7 == 1:
            raise RuntimeError
        if trial.number % 7 == 2:
            trial.report(x, 0)
            raise optuna.TrialPruned
        return math.inf if trial.number % 7 == 3 else 1e12 * x

    answer = pellucid.importance(run(odd, 40))
    assert {share.name for share in answer.parameters} == {"<b>`x`", "many"}
    assert all(math.isfinite(share.total) for share in answer.parameters)


def test_trials_outside_changed_ranges_are_left_out() -> None:
    study = run(lambda t: t.suggest_float("x", 0, 1), 15)
    study.add_trial(optuna.create_trial(params={"x": 0.4}, distributions={"x": FloatDistribution(0, 0.5)}, value=0.4))
    answer = pellucid.importance(study)
    assert f"{16 - answer.n_trials} of 16 trials lie outside the present ranges and are left out." in answer.notes


def test_few_trials_of_few_values_are_not_judged() -> None:
    answer = pellucid.importance(run(lambda t: t.suggest_float("x", 0, 1) + t.suggest_int("k", 0, 1), 4))
    assert {share.verdict for share in answer.parameters} == {"cannot tell"}


def test_many_trials_are_thinned() -> None:
    rng, study = np.random.default_rng(0), optuna.create_study()
    distributions = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    study.add_trials(
        [
            optuna.create_trial(params={"x": x, "y": y}, distributions=distributions, value=x + y**2)
            for x, y in rng.random((1000, 2))
        ]
    )
    answer = pellucid.importance(study)
    assert answer.n_trials == 1000
    assert "Importance uses 600 of 1000 trials: the best ones and an even selection." in answer.notes
    assert set(answer.matters) == {"x", "y"}


def test_evidence_among_some_parameters_is_that_of_a_model_without_the_others() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((50, 4))
    X[:, 1] = (np.floor(3 * X[:, 1]) + 0.5) / 3
    gp = GaussianProcess(nominal=(0, 3, 0, 0))
    gp.fit(X, np.sin(5 * X[:, 0]) + 3 * (X[:, 1] > 0.4) + 0.05 * rng.standard_normal(50))
    np.testing.assert_allclose(evidence(gp, np.arange(4)), evidence(gp), rtol=1e-9)
    some = evidence(gp, np.array([1, 3]))
    assert some.shape == (2,)
    assert some[0] > 3.0 > some[1]


def told(values: dict[int, float], n: int = 30) -> Study:
    """A study of two parameters whose trials return next to nothing but for some."""
    study = optuna.create_study()
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    points = np.random.default_rng(0).random((n, 2))
    for i, (x, y) in enumerate(points):
        value = values.get(i, 0.01 * x)
        study.add_trial(optuna.trial.create_trial(params={"x": x, "y": y}, distributions=space, value=value))
    return study


def test_nothing_is_known_about_shares_if_one_trial_makes_the_variance() -> None:
    answer = pellucid.importance(told({7: 1.0}))
    assert re.search(r"nothing is known about the share of `[xy]`, `[xy]`\.$", answer.sentence)
    assert [(share.low, share.high, share.verdict) for share in answer.parameters] == [(0.0, 1.0, "cannot tell")] * 2
    assert answer.notes[0].startswith("A single trial accounts for most of the variance (trial 7, 97%): add random ")


def test_very_few_trials_that_make_the_variance_are_named() -> None:
    answer = pellucid.importance(told({3: 1.0, 8: -1.0, 20: 1.0}))
    assert answer.notes[0].startswith("Very few trials account for most of the variance (trials 3 and 8, 68%): ")
    ordinary = pellucid.importance(told({i: float(i) for i in range(30)}))
    assert not any("most of the variance" in note for note in ordinary.notes)


@pytest.mark.parametrize(
    ("low", "others", "rank", "words"),
    [
        (0.5, [(0.2, 0.1, 0.4)], "most", "matters most"),
        (0.3, [(0.2, 0.1, 0.4)], "probably most", "probably matters most"),
        (0.3, [(0.2, 0.0, 1.0)], "", "matters"),
        (0.3, [(0.7, 0.3, 0.8)], "", "matters"),
        (0.3, [], "", "matters"),
    ],
)
def test_what_matters_most_is_said_as_surely_as_it_is_known(
    low: float, others: list[tuple[float, float, float]], rank: str, words: str
) -> None:
    first = ParameterShare("a", 0.6, 0.6, low, 0.9, "matters", "", 50)
    rest = [ParameterShare(f"b{i}", t, t, a, b, "cannot tell", "", 50) for i, (t, a, b) in enumerate(others)]
    shares = ranked([first, *rest], ("a",))
    assert [share.rank for share in shares] == [rank, *("" for _ in rest)]
    assert share_sentence(shares, [], ("a",), 50, 0.95).startswith(f"`a` {words} (60% of the variance")
