"""Earlier studies as tasks: the space that they share, which of them count, and their directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial

from pellucid.models.ranking.ensemble import RankingEnsemble
from pellucid.models.ranking.training import Recipe
from pellucid.space.encoding import Space
from pellucid.study import earlier_studies
from pellucid.study.earlier_studies import EarlierStudies, learn

Objective = Callable[[Trial], float]


def study_of(name: str, objective: Objective, n: int = 12, direction: str = "minimize", seed: int = 0) -> Study:
    study = optuna.create_study(
        study_name=name, direction=direction, storage=optuna.storages.InMemoryStorage(),
        sampler=optuna.samplers.RandomSampler(seed=seed),
    )  # fmt: skip
    study.optimize(objective, n_trials=n, catch=(ArithmeticError,))
    return study


def bowl(low: float = 0.0, high: float = 1.0, scale: float = 1.0) -> Objective:
    return lambda trial: scale * (trial.suggest_float("x", low, high) - 0.4) ** 2


def bowls(count: int) -> list[Study]:
    return [study_of(f"bowl {i}", bowl(), seed=i) for i in range(count)]


def taking(**distributions: BaseDistribution) -> Objective:
    """An objective of these parameters, with arbitrary values."""

    def objective(trial: Trial) -> float:
        for name, distribution in distributions.items():
            trial._suggest(name, distribution)
        return (7.0 * trial.number) % 12.0

    return objective


def distribution(past: EarlierStudies, name: str) -> BaseDistribution:
    return past.space.dimensions[past.space.index[name]].distribution


def values(past: EarlierStudies, task: int) -> list[dict[str, Any]]:
    return past.space.decode(past.tasks[task][1])


def shared(*per_study: BaseDistribution) -> EarlierStudies:
    """Earlier studies whose parameter `p` has these distributions."""
    return EarlierStudies.of(
        [study_of(f"s{i}", taking(p=distribution), seed=i) for i, distribution in enumerate(per_study)]
    )


# ---------------------------------------------------------------------- the common space


@pytest.mark.parametrize(
    ("per_study", "common"),
    [
        ([FloatDistribution(0, 1)] * 3, FloatDistribution(0, 1)),
        ([FloatDistribution(0, 1), FloatDistribution(-2, 0.5), FloatDistribution(0, 7)], FloatDistribution(-2, 7)),
        (
            [FloatDistribution(0.1, 1, log=True), FloatDistribution(0.01, 0.5), FloatDistribution(0.1, 1)],
            FloatDistribution(0.01, 1, log=True),
        ),
        (
            [FloatDistribution(0.1, 1, log=True), FloatDistribution(0.0, 0.5), FloatDistribution(0.1, 1)],
            FloatDistribution(0.0, 1),
        ),
        ([IntDistribution(1, 9, step=2), IntDistribution(4, 20), IntDistribution(3, 5)], IntDistribution(1, 20)),
        ([IntDistribution(1, 9), FloatDistribution(0.5, 3.5), IntDistribution(3, 5)], FloatDistribution(0.5, 9)),
        ([FloatDistribution(0, 1, step=0.25)] * 3, FloatDistribution(0, 1, step=0.25)),
        ([FloatDistribution(0, 1, step=0.25)] * 2 + [FloatDistribution(0, 1, step=0.2)], FloatDistribution(0, 1)),
        (
            [CategoricalDistribution("ab"), CategoricalDistribution("cb"), CategoricalDistribution("a")],
            CategoricalDistribution("abc"),
        ),
        (
            [CategoricalDistribution([32, 64, 128]), CategoricalDistribution([16, 32, 64])] * 2,
            CategoricalDistribution([16, 32, 64, 128]),
        ),
        (
            [CategoricalDistribution([4, 2, 1]), CategoricalDistribution([8, 4, 2])] * 2,
            CategoricalDistribution([8, 4, 2, 1]),
        ),
        (
            [CategoricalDistribution([None, 0, "x"]), CategoricalDistribution([None, 1.5])] * 2,
            CategoricalDistribution([None, 0, "x", 1.5]),
        ),
    ],
)
def test_the_common_space_holds_the_spaces_of_all_studies(per_study: Any, common: BaseDistribution) -> None:
    past = shared(*per_study)
    assert distribution(past, "p") == common
    studies = [study_of(f"s{i}", taking(p=distribution), seed=i) for i, distribution in enumerate(per_study)]
    for task, study in enumerate(studies):
        name, X, losses = past.tasks[task]
        assert name == study.study_name
        assert ((X >= 0.0) & (X <= 1.0)).all()
        assert losses.tolist() == [trial.value for trial in study.trials]
        for configuration, trial in zip(values(past, task), study.trials, strict=True):
            expected = trial.params["p"]
            is_number = isinstance(expected, (int, float))
            assert configuration["p"] == (pytest.approx(expected) if is_number else expected)


def test_true_is_not_one() -> None:
    past = shared(
        CategoricalDistribution([0, 1]), CategoricalDistribution([False, True]), CategoricalDistribution([0, 1])
    )
    common = distribution(past, "p")
    assert isinstance(common, CategoricalDistribution)
    assert [repr(choice) for choice in common.choices] == ["0", "1", "False", "True"]
    assert {type(configuration["p"]) for configuration in values(past, 1)} == {bool}


def test_one_point_zero_is_one() -> None:
    past = shared(*[CategoricalDistribution([1, 2, 4]), CategoricalDistribution([1.0, 2.0, 4.0])] * 2)
    assert distribution(past, "p") == CategoricalDistribution([1, 2, 4])
    assert past.space.ordinal == ("p",)


def test_parameters_that_never_vary_are_left_out() -> None:
    fixed = [taking(x=FloatDistribution(0, 1), c=CategoricalDistribution(["only"])), bowl(), bowl()]
    assert EarlierStudies.of([study_of(f"s{i}", objective) for i, objective in enumerate(fixed)]).space.names == ("x",)
    # One value per study, and not the same one: that is a difference to learn from.
    ends = [taking(x=FloatDistribution(0, 1), c=FloatDistribution(i, i)) for i in range(3)]
    past = EarlierStudies.of([study_of(f"s{i}", objective) for i, objective in enumerate(ends)])
    assert distribution(past, "c") == FloatDistribution(0, 2)
    with pytest.raises(ValueError, match="No parameter of these studies varies"):
        EarlierStudies.of([study_of(f"s{i}", lambda trial: float(trial.number)) for i in range(3)])


def test_ranges_that_changed_within_a_study_lose_no_trial() -> None:
    first = study_of("moved", bowl(-3.0, -2.0), 10)
    first.optimize(bowl(5.0, 6.0), n_trials=5)
    past = EarlierStudies.of([first, *bowls(2)])
    assert distribution(past, "x") == FloatDistribution(-3.0, 6.0)
    assert [len(losses) for _, _, losses in past.tasks] == [15, 12, 12]


def test_studies_of_one_name_all_count() -> None:
    past = EarlierStudies.of(
        [study_of("study", bowl(), seed=seed) for seed in range(3)] + [study_of("study", bowl(), 3)]
    )
    assert [name for name, _, _ in past.tasks] == ["study", "study (2)", "study (3)"]
    assert list(past.left_out) == ["study (4)"]
    assert len({losses.tobytes() for _, _, losses in past.tasks}) == 3


# ------------------------------------------------------------------------------- directions


def test_studies_that_maximise_and_studies_that_minimise_mix() -> None:
    studies = [
        study_of("down", bowl(), direction="minimize"),
        study_of("up", bowl(scale=-3.0), direction="maximize"),
        study_of("also down", bowl(), direction="minimize"),
    ]
    past = EarlierStudies.of(studies)
    for (_, X, losses), study in zip(past.tasks, studies, strict=True):
        assert losses.argmin() == study.best_trial.number
        assert np.argsort(losses).tolist() == np.argsort(np.abs(X[:, 0] - 0.4)).tolist()


# ---------------------------------------------------------------------- which trials and studies count


def test_failed_pruned_and_running_trials() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 3:
            raise ZeroDivisionError
        if trial.number == 4:
            return float("nan")
        if trial.number == 5:
            raise optuna.TrialPruned
        if trial.number == 6:
            trial.report(-100.0, step=1)
            raise optuna.TrialPruned
        return np.inf if trial.number == 7 else x

    study = study_of("mixed", objective, 16)
    study.ask()
    past = EarlierStudies.of([study, *bowls(2)])
    losses = past.tasks[0][2]
    # Not numbers 3, 4, 5; the pruned one is never better than the median, the infinite one the worst.
    assert len(losses) == 13
    assert np.isfinite(losses).all()
    assert losses[3] == pytest.approx(np.median(np.delete(losses, 3)))
    assert losses[4] == losses.max()


def several_objectives(trial: Trial) -> Sequence[float]:
    return trial.suggest_float("x", 0, 1), 1.0


def test_studies_that_teach_nothing_are_left_out_with_the_reason() -> None:
    multi = optuna.create_study(study_name="two goals", directions=["minimize"] * 2)
    multi.optimize(several_objectives, n_trials=12)
    studies = [
        multi,
        study_of("short", bowl(), 9),
        study_of("empty", bowl(), 0),
        study_of("flat", lambda trial: 0.0 * trial.suggest_float("x", 0, 1) + 2.0),
        study_of("failing", lambda trial: 1.0 / (0.0 * trial.suggest_float("x", 0, 1))),
        study_of("lost", lambda trial: trial.suggest_float("y", 0, 1), 4),
        study_of("nan", lambda trial: trial.suggest_float("x", 0, 1) * np.nan),
        study_of("endless", lambda trial: trial.suggest_float("x", 0, 1) + np.inf),
    ]
    past = EarlierStudies.of([*studies, *bowls(3)])
    assert [name for name, _, _ in past.tasks] == ["bowl 0", "bowl 1", "bowl 2"]
    assert past.space.names == ("x",)
    assert past.left_out == {
        "two goals": "it has 2 objectives",
        "short": "it has 9 trials with a value, but needs at least 10",
        "empty": "it has 0 trials with a value, but needs at least 10",
        "flat": "all its trials have the same value",
        "failing": "it has 0 trials with a value, but needs at least 10",
        "lost": "it has 4 trials with a value, but needs at least 10",
        "nan": "it has 0 trials with a value, but needs at least 10",
        "endless": "all its trials have the same value",
    }
    assert len(EarlierStudies.of([study_of("just enough", bowl(), 10), *bowls(2)]).tasks) == 3


def test_too_few_studies_are_refused_with_the_reasons() -> None:
    with pytest.raises(ValueError, match=r"needs at least 3 of them, but there are 0 to learn from\.$"):
        EarlierStudies.of([])
    with pytest.raises(
        ValueError, match=r"there is 1 to learn from\. `short` is left out: it has 2 trials with a value"
    ):
        EarlierStudies.of([*bowls(1), study_of("short", bowl(), 2)])
    with pytest.raises(ValueError, match="there are 2 to learn from"):
        EarlierStudies.of(bowls(2))
    with pytest.raises(ValueError) as error:
        EarlierStudies.of([study_of(f"short {i}", bowl(), 1) for i in range(50)])
    assert len(str(error.value)) < 1000


def test_parameters_that_differ_are_named_with_their_studies() -> None:
    two = taking(x=FloatDistribution(0, 1), momentum=FloatDistribution(0, 1))
    match = r"do not share a space: `momentum` is in `with` and not in `bowl 0`\."
    with pytest.raises(ValueError, match=match):
        EarlierStudies.of([*bowls(2), study_of("with", two)])
    choices = taking(x=CategoricalDistribution(["a", "b"]))
    with pytest.raises(ValueError, match=r"`x` has choices in `words` and numbers in `bowl 1`\."):
        EarlierStudies.of([*bowls(2), study_of("words", choices)])
    # Studies that are left out need not fit.
    assert len(EarlierStudies.of([*bowls(3), study_of("words", choices, 5)]).tasks) == 3


# ---------------------------------------------------------------------- conditions


def boosted(boosters: Sequence[str]) -> Objective:
    def objective(trial: Trial) -> float:
        loss = trial.suggest_float("lr", 0, 1)
        if trial.suggest_categorical("booster", boosters) == "dart":
            loss += trial.suggest_float("drop", 0, 1)
        return loss

    return objective


def test_conditions_are_inferred_over_all_studies() -> None:
    """No single study shows the condition: one always has drop-out, the others never."""
    past = EarlierStudies.of(
        [study_of("dart", boosted(["dart"])), *(study_of(f"s{i}", boosted(["tree", "gblinear"])) for i in "ab")]
    )
    rule = past.space.conditions["drop"]
    booster = past.space.dimensions[past.space.index["booster"]]
    assert rule.parent == "booster"
    assert rule.codes is not None
    assert booster.decode(booster.midpoint(np.array(rule.codes))) == ["dart"]
    assert all(("drop" in configuration) == (task == 0) for task in range(3) for configuration in values(past, task))


def test_conditions_with_other_orders_of_the_choices() -> None:
    orders = (["dart", "tree"], ["tree", "dart"], ["tree", "dart", "gblinear"])
    past = EarlierStudies.of([study_of(f"s{i}", boosted(order), 20, seed=i) for i, order in enumerate(orders)])
    assert past.space.conditions["drop"].parent == "booster"
    assert all(
        ("drop" in configuration) == (configuration["booster"] == "dart")
        for task in range(3)
        for configuration in values(past, task)
    )


def test_conditions_on_numbers_whose_ranges_differ() -> None:
    def layered(n_max: int) -> Objective:
        def objective(trial: Trial) -> float:
            n = trial.suggest_int("layers", 1, n_max)
            return n + (trial.suggest_float("second", 0, 1) if n >= 2 else 0.0)

        return objective

    past = EarlierStudies.of([study_of(f"s{i}", layered(n_max), 25, seed=i) for i, n_max in enumerate([2, 3, 5])])
    assert distribution(past, "layers") == IntDistribution(1, 5)
    assert past.space.conditions["second"].parent == "layers"
    assert all(
        ("second" in configuration) == (configuration["layers"] >= 2)
        for task in range(3)
        for configuration in values(past, task)
    )


# ---------------------------------------------------------------------- learning


@pytest.mark.parametrize(("count", "held_out"), [(3, 0), (4, 0), (5, 1), (9, 1), (10, 2)])
def test_one_in_five_is_held_out(count: int, held_out: int, monkeypatch: pytest.MonkeyPatch) -> None:
    past, seen = EarlierStudies.of(bowls(count)), []

    class Listening(RankingEnsemble):
        def meta_trained(self, tasks: Any, validation: Any = (), **_: Any) -> Any:
            seen.append(([name for name, *_ in tasks], [name for name, *_ in validation]))

    monkeypatch.setattr(earlier_studies, "RankingEnsemble", Listening)
    for seed in (0, 0, 1, 2, 3):
        learn(past, seed=seed)
    names = sorted(name for name, _, _ in past.tasks)
    for train, validation in seen:
        assert len(validation) == held_out
        assert sorted(train + validation) == names
    assert seen[0] == seen[1]
    assert held_out == 0 or len({tuple(validation) for _, validation in seen}) > 1


def test_a_model_of_earlier_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(space: Space, recipe: Recipe) -> RankingEnsemble:
        quick = replace(recipe, steps=60, list_size=12, lists=4, learning_rate=1e-2)
        return RankingEnsemble(space, members=3, recipe=quick)

    monkeypatch.setattr(earlier_studies, "RankingEnsemble", short)
    steps: list[int] = []
    studies = [study_of(f"s{i}", bowl(scale=(-1.0) ** i), 20, ["minimize", "maximize"][i % 2], i) for i in range(5)]
    model = learn(EarlierStudies.of(studies), progress=steps.append)
    assert steps == list(range(1, 61))
    assert model.card is not None
    assert len(model.card.tasks) == 4
    assert len(model.card.checks) == 1
    X = np.linspace(0.0, 1.0, 21)[:, None]
    rank, _ = model.fit(X[:0], X[:0, 0]).predict(X)
    assert abs(X[rank.argmin(), 0] - 0.4) < 0.2


def test_trials_that_were_added_by_hand_count() -> None:
    study = optuna.create_study(study_name="added")
    for i in range(12):
        x = {"x": FloatDistribution(0, 2)}
        study.add_trial(create_trial(state=TrialState.COMPLETE, params={"x": i / 6}, distributions=x, value=float(i)))
    past = EarlierStudies.of([study, *bowls(2)])
    assert [configuration["x"] for configuration in values(past, 0)] == pytest.approx([i / 6 for i in range(12)])
