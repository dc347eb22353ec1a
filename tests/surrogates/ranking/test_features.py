"""The features of a configuration that a network receives."""

from __future__ import annotations

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution

from pellucid.models.ranking.features import features, n_features
from pellucid.space.encoding import Condition, Space


def test_features_mark_active_parameters() -> None:
    space = Space.of(
        {"x": FloatDistribution(0, 1), "kind": CategoricalDistribution(["p", "q"]), "y": FloatDistribution(0, 1)},
        {"y": Condition("kind", (1,))},
    )
    X = np.array([[0.0, 0.25, 0.5], [1.0, 0.75, 0.75], [0.5, 0.75, 0.5]])
    rows = features(space, X)
    assert n_features(space) == rows.shape[1] == 5
    assert rows.tolist() == [[-1, 1, 0, 0, 0], [1, 0, 1, 0.5, 1], [0, 0, 1, 0, 1]]
    assert features(space, X[:0]).shape == (0, 5)


def test_an_inactive_choice_has_no_indicator() -> None:
    space = Space.of(
        {"x": FloatDistribution(0, 1), "kind": CategoricalDistribution(["p", "q", "r"])},
        {"kind": Condition("x", None, 0.5, 1.0)},
    )
    assert features(space, np.array([[0.2, 0.5], [0.9, 0.5]])).tolist() == [[-0.6, 0, 0, 0, 0], [0.8, 0, 1, 0, 1]]


def test_ordered_choices_are_a_number() -> None:
    space = Space.of({"size": CategoricalDistribution([1, 2, 4, 8])})
    assert features(space, np.array([[0.125], [0.875]])).tolist() == [[-0.75], [0.75]]
