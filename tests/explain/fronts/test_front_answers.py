"""The front, compromises and trade-offs of studies, with ordinary and with bad input."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pandas as pd
import plotly.graph_objects as go
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import bowl

import pellucid
from pellucid.answers.finding import Finding, plain
from pellucid.answers.fronts.answer import front_of
from pellucid.answers.fronts.compromise import compromise_of
from pellucid.answers.fronts.tradeoff import tradeoff_of
from pellucid.answers.fronts.wishes import limits_of, weights_of
from pellucid.beliefs import Beliefs
from pellucid.beliefs.front_members import Tried
from pellucid.study.view import StudyView

HOSTILE = "</script><b>latency</b>"


def model(trial: Trial) -> tuple[float, float]:
    """Accuracy grows and latency falls with `size`; `lr` only wastes; `idle` does nothing. Memory limits the size."""
    size, lr = trial.suggest_float("size", 0, 1), trial.suggest_float("lr", 0, 1)
    trial.suggest_float("idle", 0, 1)
    return 0.9 + 0.1 * math.sqrt(size) - 0.2 * (lr - 0.3) ** 2, 10.0 + 40.0 * size


def limited(trial: Trial) -> tuple[float, float]:
    values = model(trial)
    trial.set_constraint("memory", trial.params["size"] - 0.7)
    return values


def studied(objective: Callable[[Trial], Any], n: int, names: tuple[str, ...] = ("accuracy", "latency")) -> Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    directions = ["maximize", "minimize", "minimize", "minimize", "minimize"][: len(names)]
    study = optuna.create_study(directions=directions, sampler=sampler)
    study.set_metric_names(list(names))
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def study() -> Study:
    return studied(limited, 30)


@pytest.fixture(scope="module")
def beliefs(study: Study) -> Beliefs:
    """The same for many answers, because they keep the models."""
    return Beliefs(StudyView.whole(study))


def asked(study: Study) -> pellucid.Front:
    front = pellucid.recommend(study)
    assert isinstance(front, pellucid.Front)
    return front


# ---------------------------------------------------------------------- the front


def test_members_are_feasible_and_in_the_order_of_the_first_objective(study: Study, beliefs: Beliefs) -> None:
    front = front_of(beliefs)
    assert front.objectives == ("accuracy", "latency")
    first = [member.outcomes[0].expected for member in front.members]
    assert first == sorted(first, reverse=True)
    for member in front.members:
        trial = study.trials[member.trial]
        assert all(value <= 0.0 for value in trial.constraints.values())
        assert member.params == trial.params
        assert [outcome.observed for outcome in member.outcomes] == trial.values
        assert member.probability is not None
        assert member.probability >= front.threshold
        assert member.feasible is not None
        for outcome in member.outcomes:
            assert outcome.low is not None
            assert outcome.high is not None
            assert outcome.low <= outcome.expected <= outcome.high


def test_without_noise_the_model_sees_the_front_that_was_observed(study: Study, beliefs: Beliefs) -> None:
    best = {trial.number for trial in study.best_trials}
    members = {member.trial: member.probability or 0.0 for member in front_of(beliefs).members}
    assert best <= set(members)
    assert np.mean([members[number] for number in best]) > 0.8


def test_a_front_that_nothing_is_likely_to_be_on_names_a_feasible_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        trial.set_constraint("memory", 2.0 - trial.number)
        return model(trial)

    monkeypatch.setattr(Tried, "chances", lambda tried: np.zeros(len(tried.Y)))
    assert asked(studied(objective, 5)).members[0].trial >= 2


def test_no_feasible_trial_inside_the_present_ranges_is_said() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    for i, (high, memory) in enumerate([(1.0, -1.0)] * 12 + [(0.1, 1.0)]):
        space = {"x": optuna.distributions.FloatDistribution(0, high)}
        params, attributes = {"x": 0.05 if high < 1.0 else 0.5 + 0.03 * i}, {"constraints:memory": memory}
        trial = optuna.trial.create_trial(params=params, distributions=space, values=[i, -i], system_attrs=attributes)
        study.add_trial(trial)
    assert "No feasible trial is inside the present ranges" in str(asked(study))
    for ask in (lambda: pellucid.tradeoff(study), lambda: pellucid.recommend(study, limits={"objective 0": "<= 3"})):
        with pytest.raises(ValueError, match="13 trials no feasible trial is inside the present ranges"):
            ask()


def test_the_same_study_has_the_same_front() -> None:
    study = studied(model, 6)
    assert asked(study) == asked(study)


ANSWERS: dict[str, Callable[[Beliefs], Finding]] = {
    "front": front_of,
    "compromise": lambda beliefs: compromise_of(
        beliefs, np.array([0.6, 0.4]), limits_of(beliefs.view, {"latency": "<= 30"}), 0.9
    ),
    "tradeoff": tradeoff_of,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_has_the_shape_of_a_finding(name: str, beliefs: Beliefs) -> None:
    answer = ANSWERS[name](beliefs)
    assert isinstance(answer, Finding)
    assert answer.sentence.endswith(".")
    assert "accuracy" in answer.sentence
    assert "latency" in answer.sentence
    assert json.loads(json.dumps(plain(answer.to_dict())))
    assert isinstance(answer.to_frame(), pd.DataFrame)
    figure = answer.plot()
    assert isinstance(figure, go.Figure)
    assert figure.layout.title.text


def test_three_objectives_with_hostile_names_have_a_front_and_a_figure() -> None:
    def objective(trial: Trial) -> tuple[float, float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x, y, (1.0 - y) ** 2 + x

    study = studied(objective, 12, ("a", HOSTILE, "c"))
    front = asked(study)
    assert len(front.members) > 1
    assert HOSTILE in front.sentence
    page = front.plot().to_html(include_plotlyjs=False)
    assert HOSTILE not in page
    assert "&lt;b&gt;latency" in front._repr_html_()
    with pytest.raises(ValueError, match=r"`between` names two objectives, because this study has 3"):
        pellucid.tradeoff(study)
    with pytest.raises(ValueError, match=r"two different objectives .* but got \('a', 'a'\)"):
        pellucid.tradeoff(study, ("a", "a"))
    assert pellucid.tradeoff(study, ("a", 2)).objectives == ("a", "c")


def test_nothing_feasible_is_one_sentence() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        trial.set_constraint("memory", 1.0 + trial.number)
        return model(trial)

    study = studied(objective, 4)
    for ask in ANSWERS.values():
        with pytest.raises(ValueError, match=r"None of the 4 trials is feasible. The closest is trial 0"):
            ask(Beliefs(StudyView.whole(study)))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_trials_have_a_provisional_front_or_a_sentence(n: int) -> None:
    study = studied(model, n)
    with pytest.raises(ValueError, match=r"trade-off needs at least 10|at least one finished trial"):
        pellucid.tradeoff(study)
    if n == 0:
        with pytest.raises(ValueError, match="at least one finished trial"):
            pellucid.recommend(study)
        return
    front = asked(study)
    assert front.members[0].outcomes[0].low is None
    assert "Provisional" in str(front)
    assert pellucid.recommend(study, prefer={"accuracy": 1, "latency": 1}).outcomes[0].low is None


def test_constant_and_infinite_and_missing_values_and_fixed_parameters_have_a_front() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        return (math.nan, 0.0) if trial.number == 4 else (1.0, math.inf if trial.number == 3 else x)

    study = studied(objective, 14)
    front = asked(study)
    assert "returned the same accuracy" in str(front)
    assert not {3, 4} & {member.trial for member in front.members}
    assert front.plot()
    with pytest.raises(ValueError, match="no trade-off between accuracy and latency"):
        pellucid.tradeoff(study)

    same = asked(studied(lambda trial: (1.0 + 0.0 * trial.suggest_float("x", 0, 1), 2.0), 5))
    assert [member.probability for member in same.members] == [1.0]
    assert same.thinned == (1, 2, 3, 4)
    assert "trial 0 (accuracy 1, latency 2). 4 more are nearly equal and left out." in same.sentence

    fixed = studied(lambda trial: (trial.suggest_float("x", 1, 1), float(trial.number)), 5)
    assert [member.trial for member in asked(fixed).members] == [0]
    assert "No parameter varies" in str(asked(fixed))


def test_five_objectives_are_refused_with_the_rule() -> None:
    def objective(trial: Trial) -> tuple[float, ...]:
        return (trial.suggest_float("x", 0, 1),) * 5

    study = optuna.create_study(directions=["minimize"] * 5, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=3)
    with pytest.raises(ValueError, match="up to 4 objectives, but this study has 5"):
        pellucid.recommend(study)
    for ask in (pellucid.history, pellucid.stopping_verdict, pellucid.regret_history):
        with pytest.raises(ValueError, match="up to 4 objectives, but this study has 5: pass one of them"):
            ask(study)
        assert ask(study, objective=4)
    with pytest.raises(ValueError, match="StopWhen works on up to 4 objectives"):
        pellucid.StopWhen()(study, study.trials[-1])


def test_many_trials_are_drawn_in_part() -> None:
    rng = np.random.default_rng(0)
    space = {"x": optuna.distributions.FloatDistribution(0, 1), "y": optuna.distributions.FloatDistribution(0, 1)}
    study = optuna.create_study(directions=["minimize", "minimize"])
    rows = rng.random((520, 2)).tolist()
    study.add_trials(
        [
            optuna.trial.create_trial(params={"x": x, "y": y}, distributions=space, values=[x, (1.0 - x) ** 2 + y])
            for x, y in rows
        ]
    )
    front = asked(study)
    assert front.n_trials == 520
    assert len(front.others) <= 400
    assert {trial.number for trial in study.best_trials} & {member.trial for member in front.members}


# ---------------------------------------------------------------------- compromises


def chosen(beliefs: Beliefs, prefer: Any = None, limits: Any = None) -> pellucid.Compromise:
    """As `recommend(study, prefer=..., limits=...)` does."""
    weights = None if prefer is None else weights_of(beliefs.view, prefer)
    return compromise_of(beliefs, weights, () if limits is None else limits_of(beliefs.view, limits), 0.9)


def test_weights_move_the_compromise_along_the_front(beliefs: Beliefs) -> None:
    accurate = chosen(beliefs, prefer={"accuracy": 10, "latency": 1})
    fast = chosen(beliefs, prefer={"accuracy": 1, "latency": 10})
    assert accurate.outcomes[0].expected > fast.outcomes[0].expected
    assert accurate.outcomes[1].expected > fast.outcomes[1].expected
    assert accurate.weights == pytest.approx({"accuracy": 10 / 11, "latency": 1 / 11})
    assert chosen(beliefs, prefer={"accuracy": 20, "latency": 2}).trial == accurate.trial
    only = chosen(beliefs, prefer={"accuracy": 1, "latency": 0})
    assert only.outcomes[0].expected >= accurate.outcomes[0].expected


def test_the_unit_of_an_objective_does_not_matter() -> None:
    trials = {}
    for unit in (1.0, 1000.0):

        def scaled(trial: Trial, unit: float = unit) -> tuple[float, float]:
            accuracy, latency = model(trial)
            return accuracy, unit * latency

        study = optuna.create_study(directions=["maximize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=0))
        study.set_metric_names(["accuracy", "latency"])
        study.optimize(scaled, n_trials=12)
        trials[unit] = pellucid.recommend(study, prefer={"accuracy": 1, "latency": 1}).trial
    assert trials[1.0] == trials[1000.0]


def test_limits_are_kept_with_the_chance_that_is_said(study: Study, beliefs: Beliefs) -> None:
    compromise = chosen(beliefs, limits={"latency": "<= 25"})
    assert compromise.outcomes[1].expected <= 25.0
    (limit,) = compromise.limits
    assert limit.probability >= 0.9
    assert compromise.weights == {"accuracy": 1.0, "latency": 0.0}
    kept = [trial for trial in study.trials if trial.values[1] <= 24.5 and trial.params["size"] <= 0.7]
    # The best accuracy among those that keep the limit clearly, up to what the model cannot tell apart.
    assert compromise.outcomes[0].expected > max(trial.values[0] for trial in kept) - 0.01
    assert "keep latency <= 25 with a chance of at least 90%" in compromise.sentence
    both = chosen(beliefs, limits={"latency": "<= 25", "accuracy": ">= 0.9"}, prefer={"accuracy": 1, "latency": 1})
    assert len(both.limits) == 2


def test_a_limit_that_nothing_keeps_names_what_comes_closest(study: Study, beliefs: Beliefs) -> None:
    compromise = chosen(beliefs, limits={"latency": "<= 2"})
    fastest = min((trial for trial in study.trials if trial.params["size"] <= 0.7), key=lambda trial: trial.values[1])
    assert compromise.outcomes[1].expected == pytest.approx(fastest.values[1], abs=1.0)
    assert "No configuration keeps latency <= 2 with a chance of 90%." in str(compromise)
    assert "comes closest" in str(compromise)
    assert compromise.plot()


BAD_WEIGHTS = {
    "negative": ({"accuracy": -1, "latency": 1}, r"a number of at least 0, but got -1 for 'accuracy'"),
    "nan": ({"accuracy": math.nan, "latency": 1}, r"a number of at least 0, but got nan"),
    "infinite": ({"accuracy": math.inf, "latency": 1}, r"a number of at least 0, but got inf"),
    "text": ({"accuracy": "2", "latency": 1}, r"a number of at least 0, but got '2'"),
    "all zero": ({"accuracy": 0, "latency": 0}, r"at least one of them above 0"),
    "missing": ({"accuracy": 1}, r"has none for 'latency'. Pass 0"),
    "unknown": ({"accuracy": 1, "speed": 1}, r"objectives of the study \('accuracy', 'latency'\), but got 'speed'"),
    "constraint": ({"accuracy": 1, "memory": 1}, r"'memory' is a constraint"),
    "no dict": ([2, 1], r"as a dict such as \{'accuracy': 1, 'latency': 1\}, but got \[2, 1\]"),
}
BAD_LIMITS = {
    "strict": ({"latency": "<20"}, r'A limit is a text such as "<= 20": <= and a finite number, but got \'<20\''),
    "bare text": ({"latency": "20"}, r"but got '20' for 'latency'"),
    "number": ({"latency": 20}, r"but got 20 for 'latency'"),
    "nan": ({"latency": "<= nan"}, r"a finite number, but got '<= nan'"),
    "word": ({"latency": "<= fast"}, r"a finite number, but got '<= fast'"),
    "wrong direction": ({"latency": ">= 20"}, r'latency is minimized, .* begins with <=, .* Pass "<= 20"'),
    "wrong direction, maximised": ({"accuracy": "<= 0.9"}, r"accuracy is maximized, .* begins with >="),
    "constraint": ({"memory": "<= 0"}, r"'memory' is a constraint, which has a limit of its own, 0"),
    "unknown": ({"speed": "<= 1"}, r"but got 'speed'"),
    "empty": ({}, r"limits by objective"),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_bad_weights_are_refused_with_the_rule(name: str, study: Study) -> None:
    prefer, message = BAD_WEIGHTS[name]
    with pytest.raises(ValueError, match=message):
        pellucid.recommend(study, prefer=prefer)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BAD_LIMITS)
def test_bad_limits_are_refused_with_the_rule(name: str, study: Study) -> None:
    limits, message = BAD_LIMITS[name]
    with pytest.raises(ValueError, match=message):
        pellucid.recommend(study, limits=limits)  # type: ignore[arg-type]


def test_one_objective_has_no_compromise_and_no_tradeoff() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(bowl, n_trials=3)
    with pytest.raises(ValueError, match="choose between several objectives, but this study has one: 'objective'"):
        pellucid.recommend(study, limits={"objective": "<= 1"})
    with pytest.raises(ValueError, match="between two objectives, but this study has one"):
        pellucid.tradeoff(study)
    several = studied(model, 3)
    with pytest.raises(ValueError, match="`surrogate` is for studies with one objective"):
        pellucid.recommend(several, surrogate=pellucid.surrogates.GaussianProcess())


# ---------------------------------------------------------------------- trade-offs


def test_a_tradeoff_has_rates_in_units_of_the_user_and_roles(beliefs: Beliefs) -> None:
    tradeoff = tradeoff_of(beliefs, (1, 0))
    assert tradeoff.named("trades") == ("size",)
    assert "lr" in tradeoff.named("wastes")
    assert "idle" not in (*tradeoff.named("trades"), *tradeoff.named("wastes"))
    for rate in tradeoff.rates:
        assert 10.0 < rate.start < rate.stop < 40.0
        truth = 0.1 * (math.sqrt((rate.stop - 10.0) / 40.0) - math.sqrt((rate.start - 10.0) / 40.0))
        # Four bands of 90%: twice their width has the truth, whatever the draws.
        width = rate.high - rate.low
        assert rate.low - 0.5 * width - 1e-4 <= truth <= rate.high + 0.5 * width + 1e-4
        assert 0.0 <= rate.low <= rate.gain <= rate.high
        assert rate.rate == pytest.approx(rate.gain / (rate.stop - rate.start))
    # The other way round, the first objective is given up: it falls.
    reverse = tradeoff_of(beliefs, (0, 1))
    assert all(rate.start > rate.stop for rate in reverse.rates)
    assert all(rate.gain >= 0.0 for rate in reverse.rates)


# ---------------------------------------------------------------------- feasibility


@pytest.mark.parametrize("seed", range(3))
def test_no_answer_names_an_infeasible_configuration(seed: int) -> None:
    """Whatever the pattern of feasible, failed and unfinished trials, with two objectives of the same name."""
    rng = np.random.default_rng(seed)

    def objective(trial: Trial) -> tuple[float, float]:
        values = model(trial)
        if trial.number % 4 == 3:
            raise RuntimeError
        trial.set_constraint("memory", float(rng.normal()) if trial.number % 4 else -1.0)
        return values

    study = optuna.create_study(directions=["maximize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=seed))
    study.set_metric_names(["same", "same"])
    study.optimize(objective, n_trials=11, catch=RuntimeError)
    study.ask()
    beliefs = Beliefs(StudyView.whole(study))
    feasible = {trial.number for trial in study.trials if trial.values and trial.constraints["memory"] <= 0.0}
    assert {member.trial for member in front_of(beliefs).members} <= feasible
    for wishes in ({"prefer": {0: 1, 1: 1}}, {"limits": {1: "<= 20"}}, {"limits": {1: "<= -5"}}):
        assert chosen(beliefs, **wishes).trial in feasible
