"""A model used for a study: which parameters differ, and the same values in another encoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.models.ranking.features import features
from pellucid.models.ranking.translation import Translation, differences
from pellucid.space.encoding import INACTIVE, Condition, Space

Distributions = dict[str, BaseDistribution]
TRAINED: Distributions = {
    "lr": FloatDistribution(1e-4, 1.0, log=True),
    "x": FloatDistribution(-2.0, 3.0),
    "depth": IntDistribution(1, 9),
    "units": IntDistribution(8, 512, log=True),
    "grid": FloatDistribution(0.0, 1.0, step=0.25),
    "kind": CategoricalDistribution(["a", "b", "c"]),
    "size": CategoricalDistribution([16, 32, 64, 128]),
    "drop": FloatDistribution(0.0, 1.0),
}
MODEL = Space.of(TRAINED, {"drop": Condition("kind", (1,))})


def study_space(**changes: BaseDistribution | None) -> Distributions:
    """The parameters of the model, some of them changed, new or (None) missing."""
    return {name: distribution for name, distribution in {**TRAINED, **changes}.items() if distribution is not None}


# ---------------------------------------------------------------------- differences


def single(low: float) -> BaseDistribution:
    return FloatDistribution(low, low)


@pytest.mark.parametrize(
    ("changes", "phrases"),
    [
        ({"beta": FloatDistribution(0, 1)}, ["the study has `beta`, which the model does not know"]),
        ({"x": None}, ["the model has `x`, which the study does not have"]),
        ({"kind": IntDistribution(0, 2)}, ["`kind` has numbers in the study and choices in the model"]),
        ({"depth": CategoricalDistribution([1, 2])}, ["`depth` has choices in the study and numbers in the model"]),
        ({"kind": CategoricalDistribution(["a", "d"])}, ["`kind` has the choice 'd' only in the study"]),
        (
            {"kind": CategoricalDistribution(["e", "a", None])},
            ["`kind` has the choices 'e', None only in the study"],
        ),
        ({"size": CategoricalDistribution([16, True])}, ["`size` has the choice True only in the study"]),
        (
            {"beta": FloatDistribution(0, 1), "x": None, "kind": CategoricalDistribution(["z"])},
            ["the study has `beta`", "`kind` has the choice 'z'", "the model has `x`"],
        ),
    ],
    ids=str,
)
def test_differences_are_named(changes: Any, phrases: list[str]) -> None:
    sentences = differences(MODEL, study_space(**changes))
    assert len(sentences) == len(phrases)
    for phrase in phrases:
        assert any(sentence.startswith(phrase) for sentence in sentences), sentences


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"x": FloatDistribution(-100.0, 0.5)},
        {"lr": FloatDistribution(0.0, 1.0)},
        {"x": FloatDistribution(1.0, 2.0, log=True)},
        {"depth": IntDistribution(2, 40, step=2)},
        {"depth": FloatDistribution(1.0, 9.0)},
        {"grid": FloatDistribution(0.0, 1.0)},
        {"kind": CategoricalDistribution(["c", "b", "a"])},
        {"kind": CategoricalDistribution(["c"])},
        {"size": CategoricalDistribution([128, 16])},
        {"size": CategoricalDistribution([16.0, 64.0])},
        {"drop": None},
        {"fixed": single(3.0), "name": CategoricalDistribution(["only"])},
        {"x": single(0.5)},
    ],
    ids=str,
)
def test_these_changes_are_no_differences(changes: Any) -> None:
    assert differences(MODEL, study_space(**changes)) == []


def test_a_study_without_a_trial_does_not_differ_yet() -> None:
    assert differences(MODEL, {}, partial=True) == []


# ---------------------------------------------------------------------- numbers and choices


STUDIES: dict[str, Distributions] = {
    "the same": {},
    "other ranges": {
        "lr": FloatDistribution(1e-3, 0.1, log=True),
        "x": FloatDistribution(0.0, 0.5),
        "depth": IntDistribution(3, 7),
        "units": IntDistribution(16, 64, log=True),
        "grid": FloatDistribution(0.5, 1.0, step=0.25),
        "drop": FloatDistribution(0.2, 0.3),
    },
    "other scales": {
        "lr": FloatDistribution(1e-3, 0.1),
        "x": FloatDistribution(0.5, 2.0, log=True),
        "depth": IntDistribution(1, 9, log=True),
        "units": IntDistribution(8, 512),
        "grid": FloatDistribution(0.25, 1.0, log=True),
    },
    "other steps": {
        "lr": FloatDistribution(0.1, 0.9, step=0.2),
        "x": FloatDistribution(-2.0, 3.0, step=0.5),
        "depth": IntDistribution(1, 9, step=4),
        "units": IntDistribution(8, 498, step=7),
        "grid": FloatDistribution(0.0, 1.0, step=0.5),
    },
    "other kinds": {"depth": FloatDistribution(1.0, 9.0), "x": IntDistribution(-2, 3), "grid": IntDistribution(0, 1)},
    "other choices": {
        "kind": CategoricalDistribution(["c", "b", "a"]),
        "size": CategoricalDistribution([64, 16, 128]),
    },
}


@pytest.mark.parametrize("changes", STUDIES.values(), ids=STUDIES)
def test_a_value_is_encoded_as_by_the_model(changes: Distributions) -> None:
    translation = Translation.of(MODEL, study_space(**changes))
    assert translation.space.names == MODEL.names
    X = translation.space.canonical(np.random.default_rng(0).random((200, len(MODEL))))
    configurations = translation.space.decode(X)
    assert {"drop" in configuration for configuration in configurations} == {True, False}
    assert all(("drop" in configuration) == (configuration["kind"] == "b") for configuration in configurations)
    expected, fits = MODEL.encode(configurations)
    assert fits.all()
    assert translation(X) == pytest.approx(expected, abs=1e-9)
    assert features(MODEL, translation(X)) == pytest.approx(features(MODEL, expected), abs=1e-8)


def test_equal_spaces_need_no_translation() -> None:
    X = np.random.default_rng(0).random((5, len(MODEL)))
    translation = Translation.of(MODEL, TRAINED)
    assert translation.space == MODEL
    assert translation.in_model_encoding(X) is X
    assert np.array_equal(translation(X), X)
    assert Translation.of(MODEL, {}).space == MODEL


def test_parameters_that_the_study_has_not_shown_are_as_in_the_model() -> None:
    translation = Translation.of(MODEL, {"x": FloatDistribution(0.0, 1.0), "fixed": single(1.0)})
    assert translation.space.names == MODEL.names
    assert translation.space.dimensions[2:] == MODEL.dimensions[2:]


@pytest.mark.parametrize(
    ("name", "wide"),
    [
        ("x", FloatDistribution(-1e6, 1e6)),
        ("x", FloatDistribution(-1.7e308, 1.7e308)),
        ("lr", FloatDistribution(1e-12, 1e6, log=True)),
        ("lr", FloatDistribution(-5.0, 5.0)),
        ("depth", IntDistribution(-50, 50)),
        ("units", IntDistribution(1, 10**6, log=True)),
        ("units", IntDistribution(-10, 10**4)),
        ("grid", FloatDistribution(-10.0, 10.0, step=0.25)),
    ],
    ids=str,
)
def test_values_beyond_the_trained_range_lie_beyond_the_cube_in_order(name: str, wide: Any) -> None:
    translation, j = Translation.of(MODEL, study_space(**{name: wide})), MODEL.index[name]
    X = np.full((2001, len(MODEL)), 0.5)
    X[:, j] = np.linspace(0.0, 1.0, 2001)
    X = translation.space.canonical(X)
    u = translation.in_model_encoding(X)[:, j]
    assert np.isfinite(u).all()
    assert (np.diff(u) >= 0.0).all()
    assert u[0] < 0.0
    assert u[-1] > 1.0
    # The model is queried at the ends of its range, and the distance to them is reported.
    assert translation(X)[:, j] == pytest.approx(np.clip(u, 0.0, 1.0))
    assert translation.distance_outside(X) == pytest.approx(np.maximum(-u, 0.0) + np.maximum(u - 1.0, 0.0))
    values = np.array([configuration[name] for configuration in translation.space.decode(X)], dtype=float)
    trained = MODEL.dimensions[j].distribution
    assert isinstance(trained, (FloatDistribution, IntDistribution))
    inside = (values >= trained.low) & (values <= trained.high)
    assert ((u >= 0.0) & (u <= 1.0))[inside].all()
    assert np.isfinite(features(MODEL, translation(X))).all()


def test_choices_that_lost_their_order_still_mean_the_same() -> None:
    translation = Translation.of(MODEL, study_space(size=CategoricalDistribution([128, 16, 64])))
    j = MODEL.index["size"]
    assert not translation.space.dimensions[j].ordinal
    X = np.full((3, len(MODEL)), 0.5)
    X[:, j] = [1 / 6, 3 / 6, 5 / 6]
    assert translation(X)[:, j].tolist() == [0.875, 0.125, 0.625]


# ---------------------------------------------------------------------- conditions


def active(translation: Translation, parent: str, child: str, values: list[Any]) -> list[bool]:
    """Whether the child exists for these values of the parent, as the study's space has it; the model must agree."""
    rows: list[Mapping[str, Any]] = [{parent: value} for value in values]
    X, fits = translation.space.encode(rows)
    assert fits.all()
    present = translation.space.active(X)[:, translation.space.index[child]].tolist()
    moved = translation(X)
    assert all(on or u == INACTIVE for on, u in zip(present, moved[:, translation.space.index[child]], strict=True))
    return [bool(on) for on in present]


def served(parent: BaseDistribution, rule: Condition, study: BaseDistribution) -> Translation:
    trained = Space.of({"p": parent, "c": FloatDistribution(0, 1)}, {"c": rule})
    return Translation.of(trained, {"p": study, "c": FloatDistribution(0, 2)})


def test_conditions_follow_their_choices() -> None:
    rule = Condition("p", (1, 3))
    trained = CategoricalDistribution(["a", "b", "c", "d"])
    same = served(trained, rule, trained)
    assert active(same, "p", "c", ["a", "b", "c", "d"]) == [False, True, False, True]
    turned = served(trained, rule, CategoricalDistribution(["d", "c", "a"]))
    assert active(turned, "p", "c", ["a", "c", "d"]) == [False, False, True]
    none = served(trained, rule, CategoricalDistribution(["c", "a"]))
    assert active(none, "p", "c", ["a", "c"]) == [False, False]


@pytest.mark.parametrize("above", [True, False])
def test_a_threshold_among_ordered_choices_follows_the_choices(above: bool) -> None:
    trained = CategoricalDistribution([16, 32, 64, 128])
    rule = Condition("p", None, 0.5, 1.0) if above else Condition("p", None, 0.0, 0.5)
    for choices in ([16, 32, 64, 128], [128, 64, 32, 16], [64, 16, 128], [16, 64], [32, 64, 128]):
        translation = served(trained, rule, CategoricalDistribution(choices))
        assert active(translation, "p", "c", choices) == [(choice >= 64) == above for choice in choices]


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(
    "study",
    [
        IntDistribution(1, 9),
        IntDistribution(1, 20),
        IntDistribution(-7, 6),
        IntDistribution(1, 9, step=2),
        IntDistribution(2, 8, step=3),
        IntDistribution(1, 31, log=True),
        FloatDistribution(1.0, 9.0, step=1.0),
        FloatDistribution(0.0, 12.0, step=0.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("log", [True, False])
def test_a_threshold_between_whole_numbers_stays_between_them(above: bool, study: Any, log: bool) -> None:
    trained = IntDistribution(1, 9, log=log)
    dimension = Space.of({"p": trained}).dimensions[0]
    # As conditions are inferred: half-way between 4 and 5.
    middle = float(dimension.midpoint(np.array([3, 4])).mean())
    rule = Condition("p", None, middle, 1.0) if above else Condition("p", None, 0.0, middle)
    values = [v for v in np.arange(study.low, study.high + 1e-9, study.step).tolist() if v <= 4 or v >= 5]
    values = values if isinstance(study, FloatDistribution) else [int(v) for v in values]
    assert active(served(trained, rule, study), "p", "c", values) == [(v >= 5) == above for v in values]


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(
    "study",
    [
        FloatDistribution(0.0, 10.0),
        FloatDistribution(1.0, 100.0, log=True),
        FloatDistribution(-1e3, 1e3),
        FloatDistribution(0.0, 3.0),
        FloatDistribution(6.0, 9.0),
        FloatDistribution(5.0, 6.0),
        IntDistribution(0, 40),
    ],
    ids=str,
)
def test_a_threshold_keeps_its_place_in_the_units_of_the_user(above: bool, study: Any) -> None:
    rule = Condition("p", None, 0.5, 1.0) if above else Condition("p", None, 0.0, 0.5)
    values = [v for v in (study.low, 0, 2, 3, 4, 6, 7, 50, study.high) if study.low <= v <= study.high and v != 5.0]
    translation = served(FloatDistribution(0.0, 10.0), rule, study)
    assert active(translation, "p", "c", values) == [(v > 5) == above for v in values]


def test_listed_numbers_follow_their_values() -> None:
    """Whole numbers that switch a child on without an order: 2 and 5 of 1 to 6."""
    trained, rule = IntDistribution(1, 6), Condition("p", (1, 4))
    wider = served(trained, rule, IntDistribution(0, 9))
    assert active(wider, "p", "c", list(range(10))) == [v in (2, 5) for v in range(10)]
    steps = served(trained, rule, IntDistribution(2, 6, step=2))
    assert active(steps, "p", "c", [2, 4, 6]) == [True, False, False]
    # Between whole numbers the condition is unknown: it covers the range from the first to the last.
    floats = served(trained, rule, FloatDistribution(0.0, 9.0))
    assert active(floats, "p", "c", [0.0, 1.0, 2.0, 5.0, 6.0, 9.0]) == [False, False, True, True, False, False]


def test_a_chain_of_conditions_is_carried_over() -> None:
    trained = Space.of(
        {"a": CategoricalDistribution(["x", "y"]), "b": IntDistribution(1, 4), "c": FloatDistribution(0, 1)},
        {"b": Condition("a", (1,)), "c": Condition("b", None, 0.5, 1.0)},
    )
    translation = Translation.of(
        trained, {"a": CategoricalDistribution(["y", "x"]), "b": IntDistribution(1, 8), "c": FloatDistribution(0, 1)}
    )
    rows: list[Mapping[str, Any]] = [{"a": "y", "b": 4, "c": 0.5}, {"a": "y", "b": 2}, {"a": "x"}]
    X, _ = translation.space.encode(rows)
    assert translation.space.active(X).tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    assert translation.trained.active(translation(X)).tolist() == translation.space.active(X).tolist()
