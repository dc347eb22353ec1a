"""Which parameter switches which: inferred from the parameters of trials, or declared by the user."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from pellucid.space.conditions import declared_conditions, infer_conditions
from pellucid.space.encoding import Condition, Space

Objective = Callable[[Trial], float]


@functools.cache
def random_trials(objective: Objective, n: int, seed: int) -> tuple[list[dict[str, Any]], Space]:
    """Configurations of random trials, and the flat space of all parameters they had."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(objective, n_trials=n)
    distributions: dict[str, BaseDistribution] = {}
    for trial in study.trials:
        distributions |= trial.distributions
    return [trial.params for trial in study.trials], Space.of(dict(sorted(distributions.items())))


def conditions_of(objective: Objective, n: int = 30, seed: int = 0) -> dict[str, Condition]:
    configurations, space = random_trials(objective, n, seed)
    return infer_conditions(space, configurations)


def parents(conditions: Mapping[str, Condition]) -> dict[str, str]:
    return {child: condition.parent for child, condition in conditions.items()}


def fresh(objective: Objective, conditions: Mapping[str, Condition], space: Space, n: int = 200) -> float:
    """Share of new random trials whose parameters the conditions predict exactly."""
    configurations, _ = random_trials(objective, n, seed=12345)
    known = Space(space.dimensions, conditions)
    predicted = known.active(known.encode(configurations)[0])
    actual = np.array([[name in c for name in known.names] for c in configurations])
    return float((predicted == actual).all(axis=1).mean())


# ------------------------------------------------------------------------------------------- objectives


def by_category(trial: Trial) -> float:
    trial.suggest_float("lr", 1e-4, 1.0, log=True)
    trial.suggest_int("depth", 1, 9)
    if trial.suggest_categorical("booster", ["tree", "dart", "linear"]) == "dart":
        trial.suggest_float("drop", 0, 1)
        trial.suggest_int("skip", 0, 5)
    return 0.0


def by_count(trial: Trial) -> float:
    """The usual loop over layers: `width_i` exists when n_layers > i."""
    trial.suggest_float("lr", 1e-4, 1.0, log=True)
    n_layers = trial.suggest_int("n_layers", 1, 4)
    for i in range(n_layers):
        trial.suggest_int(f"width_{i}", 4, 64, log=True)
    return 0.0


def by_threshold(trial: Trial) -> float:
    trial.suggest_float("lr", 1e-4, 1.0, log=True)
    if trial.suggest_float("momentum", 0.0, 1.0) > 0.4:
        trial.suggest_categorical("nesterov", [True, False])
    return 0.0


def below_threshold(trial: Trial) -> float:
    if trial.suggest_float("rate", 1e-5, 1e-1, log=True) < 1e-3:
        trial.suggest_int("warmup", 1, 10)
    trial.suggest_int("depth", 1, 500)
    return 0.0


def two_levels(trial: Trial) -> float:
    trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
        trial.suggest_float("C", 1e-3, 1e3, log=True)
        if trial.suggest_categorical("kernel", ["rbf", "poly"]) == "poly":
            trial.suggest_int("degree", 2, 5)
    else:
        trial.suggest_int("n_trees", 10, 300)
    return 0.0


def two_parents(trial: Trial) -> float:
    trial.suggest_float("lr", 0, 1)
    if trial.suggest_categorical("optimizer", ["sgd", "adam"]) == "sgd":
        trial.suggest_float("momentum", 0, 1)
    if trial.suggest_categorical("schedule", ["none", "cosine", "step"]) == "step":
        trial.suggest_float("gamma", 0, 1)
    return 0.0


def by_a_middle_value(trial: Trial) -> float:
    """An ordered parent whose children exist for a value in the middle only."""
    if trial.suggest_int("n", 1, 3) == 2:
        trial.suggest_float("x", 0, 1)
    trial.suggest_float("y", 0, 1)
    return 0.0


EXPECTED: dict[Objective, dict[str, str]] = {
    by_category: {"drop": "booster", "skip": "booster"},
    by_count: {f"width_{i}": "n_layers" for i in (1, 2, 3)},
    by_threshold: {"nesterov": "momentum"},
    below_threshold: {"warmup": "rate"},
    two_levels: {"C": "model", "kernel": "model", "degree": "kernel", "n_trees": "model"},
    two_parents: {"momentum": "optimizer", "gamma": "schedule"},
    by_a_middle_value: {"x": "n"},
}


@pytest.mark.parametrize("objective", EXPECTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_thirty_random_trials_show_every_parent(objective: Objective, seed: int) -> None:
    assert parents(conditions_of(objective, 30, seed)) == EXPECTED[objective]


@pytest.mark.parametrize("objective", EXPECTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_inferred_conditions_predict_new_trials(objective: Objective, seed: int) -> None:
    configurations, space = random_trials(objective, 30, seed)
    conditions = infer_conditions(space, configurations)
    # A threshold on a continuous parent is known to the gap between the trials around it; everything else exactly.
    thresholds = any(not space.dimensions[space.index[c.parent]].cells for c in conditions.values())
    assert fresh(objective, conditions, space) >= (0.85 if thresholds else 1.0)


def test_a_loop_over_layers_is_understood_for_untried_counts() -> None:
    """Trials with 1 and 4 layers only: a child of the third layer is a matter of how many, not of which."""
    rows = [{"n_layers": n, **{f"width_{i}": 8 for i in range(n)}} for n in (1, 1, 5, 5, 1, 5, 1, 5, 1, 5)]
    space = Space.of({"n_layers": IntDistribution(1, 6), **{f"width_{i}": IntDistribution(4, 64) for i in range(5)}})
    conditions = infer_conditions(space, rows)
    known = Space(space.dimensions, conditions)
    active = known.active(known.encode([{"n_layers": n} for n in (1, 6)])[0])
    assert active.tolist() == [[True, True, False, False, False, False], [True] * 6]


@pytest.mark.parametrize("log", [False, True])
def test_a_value_between_the_tried_ones_is_active_alike_in_every_encoding(log: bool) -> None:
    """Trials had n = 2 and n = 4; whether x exists at n = 3 is a guess, but the same guess for equal configurations."""
    space = Space.of({"n": IntDistribution(1, 5, log=log), "x": FloatDistribution(0, 1)})
    rows = [{"n": 2} if i % 2 else {"n": 4, "x": 0.5} for i in range(12)]
    known = Space(space.dimensions, infer_conditions(space, rows))
    assert parents(known.conditions) == {"x": "n"}
    for n in range(1, 6):
        encoded, _ = known.encode([{"n": n, "x": 0.3}])
        snapped = known.canonical(encoded)
        u = np.linspace(0, 1, 2001)[:, None]
        inside = u[[v == n for v in known.dimensions[0].decode(u[:, 0])]]
        throughout = known.active(np.hstack([inside, np.full_like(inside, 0.3)]))[:, 1]
        assert {bool(known.active(encoded)[0, 1]), bool(known.active(snapped)[0, 1]), *throughout.tolist()} in (
            {True},
            {False},
        ), n


@pytest.mark.parametrize("objective", EXPECTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_no_parameter_depends_on_itself_however_few_trials_there_are(objective: Objective, n: int) -> None:
    for seed in range(5):
        conditions = conditions_of(objective, n, seed)
        for child in conditions:
            chain = [child]
            while chain[-1] in conditions:
                chain.append(conditions[chain[-1]].parent)
                assert chain.count(chain[-1]) == 1, chain


@pytest.mark.parametrize("objective", EXPECTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 30])
def test_a_rule_explains_every_trial_it_was_found_from(objective: Objective, n: int) -> None:
    for seed in range(5):
        configurations, space = random_trials(objective, n, seed)
        known = Space(space.dimensions, infer_conditions(space, configurations))
        active = known.active(known.encode(configurations)[0])
        for row, configuration in zip(active, configurations, strict=True):
            for name in known.conditions:
                assert row[known.index[name]] == (name in configuration), (seed, name)


def test_hardly_any_trials_show_nothing() -> None:
    for n in (1, 2):
        for seed in range(10):
            assert conditions_of(by_category, n, seed) == {}
    assert infer_conditions(SPACE, []) == {}
    assert infer_conditions(Space.of({}), [{}, {}]) == {}


def test_a_parameter_that_comes_and_goes_at_random_has_no_rule() -> None:
    """Presence decided by a coin: at most a rare coincidence may look like a rule, and none with thirty trials."""
    coins = np.random.default_rng(5)

    def coin(trial: Trial) -> float:
        trial.suggest_categorical("kind", ["a", "b", "c"])
        trial.suggest_float("x", 0, 1)
        trial.suggest_int("n", 1, 6)
        if coins.random() < 0.5:
            trial.suggest_float("ghost", 0, 1)
        return 0.0

    for seed in range(20):
        assert conditions_of(coin, 30, seed) == {}


def test_presence_that_depends_on_two_parameters_at_once_has_no_wrong_rule() -> None:
    def two_switches(trial: Trial) -> float:
        a = trial.suggest_categorical("a", ["on", "off"])
        b = trial.suggest_categorical("b", ["on", "off"])
        if a == b == "on":
            trial.suggest_float("x", 0, 1)
        return 0.0

    for seed in range(10):
        assert conditions_of(two_switches, 30, seed) == {}


def test_parameters_that_are_always_there_have_no_rule() -> None:
    def flat(trial: Trial) -> float:
        trial.suggest_categorical("a", ["x", "y"])
        trial.suggest_float("b", 0, 1)
        return 0.0

    assert conditions_of(flat) == {}


def test_the_true_parent_wins_over_one_that_agrees_by_chance() -> None:
    """`twin` follows `booster` in all but one of forty trials: the one that explains every trial is the parent."""
    space = Space.of(
        {
            "booster": CategoricalDistribution(["dart", "tree"]),
            "twin": CategoricalDistribution(["p", "q"]),
            "drop": FloatDistribution(0, 1),
        }
    )
    rows: list[dict[str, Any]] = []
    for i in range(40):
        dart = i % 2 == 0
        row: dict[str, Any] = {"booster": "dart" if dart else "tree", "twin": "p" if dart or i == 7 else "q"}
        rows.append({**row, "drop": 0.5} if dart else row)
    assert infer_conditions(space, rows) == {"drop": Condition("booster", (0,))}


def test_trials_outside_a_range_that_has_changed_do_not_hide_the_rule() -> None:
    """n_layers went up to 6 once; now it goes to 3. Old trials with more layers say nothing about the new range."""
    space = Space.of(
        {"n_layers": IntDistribution(1, 3), "width_1": IntDistribution(4, 64), "width_2": IntDistribution(4, 64)}
    )
    rng = np.random.default_rng(0)
    counts = [*rng.integers(4, 7, size=6).tolist(), *rng.integers(1, 4, size=24).tolist()]
    rows = [{"n_layers": n, **{f"width_{i}": 8 for i in (1, 2) if i < n}} for n in counts]
    conditions = infer_conditions(space, rows)
    assert parents(conditions) == {"width_1": "n_layers", "width_2": "n_layers"}
    known = Space(space.dimensions, conditions)
    active = known.active(known.encode([{"n_layers": n} for n in (1, 2, 3)])[0])
    assert active.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_the_order_of_trials_makes_no_difference() -> None:
    configurations, space = random_trials(two_levels, 30, 3)
    shuffled = [configurations[i] for i in np.random.default_rng(0).permutation(30)]
    assert infer_conditions(space, shuffled) == infer_conditions(space, configurations)


# --------------------------------------------------------------------------------------------- declared

SPACE = Space.of(
    {
        "booster": CategoricalDistribution(["tree", "dart", "linear"]),
        "n": IntDistribution(1, 9, step=2),
        "flag": CategoricalDistribution([True, False, None]),
        "grid": FloatDistribution(0.0, 1.0, step=0.25),
        "x": FloatDistribution(0, 1),
        "y": FloatDistribution(0, 1),
    }
)


@pytest.mark.parametrize(
    ("parent", "values", "codes"),
    [
        ("booster", ["dart"], (1,)),
        ("booster", ["linear", "tree"], (0, 2)),
        ("booster", ("dart", "dart"), (1,)),
        ("n", [3, 9], (1, 4)),
        ("n", range(1, 6, 2), (0, 1, 2)),
        ("flag", [True], (0,)),
        ("flag", [False, None], (1, 2)),
        ("grid", [0.5, 1.0], (2, 4)),
    ],
)
def test_declared_values_become_conditions(parent: str, values: Sequence[Any], codes: tuple[int, ...]) -> None:
    assert declared_conditions(SPACE, {"x": (parent, values)}) == {"x": Condition(parent, codes)}


def test_a_declared_condition_decides_what_is_active() -> None:
    space = Space(SPACE.dimensions, declared_conditions(SPACE, {"x": ("booster", ["dart"]), "y": ("n", [1, 3])}))
    shown = space.decode(np.random.default_rng(0).random((50, 6)))
    assert {("x" in c) == (c["booster"] == "dart") for c in shown} == {True}
    assert {("y" in c) == (c["n"] in (1, 3)) for c in shown} == {True}


def test_declared_names_that_are_not_in_the_space_have_no_condition_yet() -> None:
    """A declaration may be made before the parameters have been seen."""
    assert declared_conditions(SPACE, {"later": ("booster", ["dart"]), "x": ("later", [1])}) == {}


@pytest.mark.parametrize(
    ("parent", "values", "message"),
    [
        ("y", [0.5], r"discrete values, but `y` \(the parent of `x`\) is FloatDistribution"),
        ("booster", ["drat"], r"condition of `x` must list values of .*`booster`, but got .*'drat'"),
        ("n", [2, 11], r"condition of `x` must list values of .*`n`, but got"),
        ("n", [11], r"condition of `x` must list values of .*`n`, but got"),
        ("n", [2], r"condition of `x` must list values of .*`n`, but got"),
        ("grid", [0.3], r"condition of `x` must list values of .*`grid`, but got"),
        ("flag", [1], r"condition of `x` must list values of .*`flag`, but got"),
    ],
)
def test_an_impossible_declaration_is_refused(parent: str, values: Sequence[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        declared_conditions(SPACE, {"x": (parent, values)})
