"""What the best trials share, and trials as lines."""

from __future__ import annotations

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import create_trial

import pellucid


def told(n: int = 60) -> optuna.Study:
    """The best trials have kind = b and depth from 8 to 10; `free` says nothing; `extra` exists with kind a alone."""
    study = optuna.create_study(direction="maximize")
    kinds: dict[str, BaseDistribution] = {
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "depth": IntDistribution(1, 10),
        "free": FloatDistribution(0, 1),
    }
    for i in range(n):
        params = {"kind": "abc"[i % 3], "depth": 1 + (7 * i) % 10, "free": (0.137 * i * i) % 1.0}
        value = params["depth"] + 20.0 * (params["kind"] == "b")
        own = dict(kinds)
        if params["kind"] == "a":
            params["extra"] = 0.5
            own["extra"] = FloatDistribution(0, 1)
        study.add_trial(create_trial(params=params, distributions=own, value=value))
    return study


def test_the_sentence_names_what_the_best_share_and_others_lack() -> None:
    found = pellucid.parallel_coordinates(told())
    assert sum(found.best) == 6
    assert found.sentence == "Unlike many others, the best 6 of 60 trials all have `kind` = b, `depth` from 8 to 10."
    assert "`free`" not in found.sentence


def test_axes_are_in_the_study_s_order_with_places_between_0_and_1() -> None:
    found = pellucid.parallel_coordinates(told())
    assert [axis.param for axis in found.axes] == ["kind", "depth", "free", "extra"]
    assert found.axes[0].ticks == ((pytest.approx(1 / 6), "a"), (0.5, "b"), (pytest.approx(5 / 6), "c"))
    assert all(place is None or 0.0 <= place <= 1.0 for places in found.places for place in places)
    assert found.places[0][3] == 0.5
    assert found.places[1][3] is None
    assert list(found.to_frame().columns) == ["trial", "best", "kind", "depth", "free", "extra"]


def test_the_best_are_bold_and_missing_values_are_gaps() -> None:
    figure = pellucid.parallel_coordinates(told()).plot()
    others, best = figure.data
    assert best.line.width > others.line.width
    assert len([x for x in best.x if x is None]) == 6
    assert figure.layout.xaxis.ticktext == ("kind", "depth", "free", "extra")
    many = pellucid.parallel_coordinates(told(3000)).plot()
    assert sum(len(trace.x) for trace in many.data) < 2000
    assert "250 of 2700 other trials are shown." in many.layout.meta["doubts"]


def test_a_front_takes_the_place_of_the_best() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=RandomSampler(seed=0))
    study.optimize(lambda t: (x := t.suggest_float("x", 0, 1), x - t.suggest_float("waste", 0, 1)), n_trials=40)
    found = pellucid.parallel_coordinates(study)
    numbers = {n for n, good in zip(found.numbers, found.best, strict=True) if good}
    assert numbers == {trial.number for trial in study.best_trials}
    assert found.sentence.startswith(f"The {len(numbers)} of 40 trials on the front have")


def test_few_trials_and_constant_parameters_have_no_answer() -> None:
    with pytest.raises(ValueError, match="needs at least 10 finished trials, but there are 4"):
        pellucid.parallel_coordinates(told(4))
    with pytest.raises(ValueError, match="but no trial has finished"):
        pellucid.parallel_coordinates(optuna.create_study())
    study = optuna.create_study()
    study.optimize(lambda t: float(t.number), n_trials=12)
    with pytest.raises(ValueError, match="but no parameter varies"):
        pellucid.parallel_coordinates(study)
