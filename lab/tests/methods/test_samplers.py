"""The samplers that are compared, and the peers' wrappers."""

import math

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.base import Method, require_modules
from pellucid_lab.methods.peers import BoTorchSampler, SmacSampler, from_unit, to_unit
from pellucid_lab.methods.samplers import METHODS, find_method, usable_methods

NUMBERS = [
    (FloatDistribution(-5, 5), [-5, 0.3, 5]),
    (FloatDistribution(1e-5, 10, log=True), [1e-5, 0.01, 10]),
    (FloatDistribution(0, 1, step=0.25), [0, 0.25, 1]),
    (IntDistribution(0, 9), range(10)),
    (IntDistribution(2, 20, step=6), [2, 8, 14, 20]),
    (IntDistribution(7, 2981, log=True), [7, 8, 144, 2981]),
]


@pytest.mark.parametrize(("distribution", "values"), NUMBERS)
def test_unit_encoding_round_trip(distribution, values) -> None:
    for value in values:
        unit = to_unit(value, distribution)
        assert 0.0 <= unit <= 1.0
        assert from_unit(unit, distribution) == pytest.approx(value, rel=1e-12)
    for unit in (-0.1, 0.0, 1.0, 1.1):
        assert distribution._contains(from_unit(unit, distribution))


def test_integers_get_equal_shares_of_the_unit_interval() -> None:
    grid = [from_unit((i + 0.5) / 1000, IntDistribution(0, 4)) for i in range(1000)]
    assert [grid.count(value) for value in range(5)] == [200] * 5


@pytest.mark.parametrize(("name", "module"), [("botorch", "botorch"), ("smac", "smac")])
def test_peers_start_at_random_then_propose_inside_the_space(name: str, module: str) -> None:
    pytest.importorskip(module)
    sampler = METHODS[name].make_sampler(1, 5, 3)
    assert isinstance(sampler, (BoTorchSampler, SmacSampler))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    seen = []

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 1e-3, 1, log=True)
        n = trial.suggest_int("n", 1, 4)
        kind = trial.suggest_categorical("kind", ["a", "b", "c"])
        seen.append(trial.relative_params)
        return -((math.log10(x) + 1) ** 2) - (n - 3) ** 2 - (kind != "b")

    study.optimize(objective, n_trials=6)
    assert seen[:5] == [{}] * 5
    assert set(seen[5]) == {"x", "n", "kind"}


def test_botorch_proposes_for_a_mix_of_directions() -> None:
    """Both objectives are best at 0.8, so that proposals go there, and nowhere near if a sign is wrong."""
    pytest.importorskip("botorch")
    study = optuna.create_study(directions=["maximize", "minimize"])
    study.sampler = METHODS["botorch-front"].make_sampler(1, 6, 2)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        return -((x - 0.8) ** 2), abs(x - 0.8)

    for x in (0.0, 0.1, 0.3, 0.5, 0.6, 0.95):
        study.enqueue_trial({"x": x})
    study.optimize(objective, n_trials=8)
    assert [len(trial.params) for trial in study.trials] == [1] * 8
    assert all(0.6 < trial.params["x"] < 0.95 for trial in study.trials[6:])


def test_unknown_methods_and_missing_packages_are_sentences() -> None:
    with pytest.raises(Mistake, match="The methods are pellucid, optuna-gp"):
        find_method("gp")
    with pytest.raises(Unavailable, match=r"the method x is skipped: it needs no_such_module; install with"):
        require_modules(("no_such_module",), "the method x")
    usable, notes = usable_methods(["random", "optuna-tpe"])
    assert [method.name for method in usable] == ["random", "optuna-tpe"]
    assert notes == []
    assert all(isinstance(method, Method) and name == method.name for name, method in METHODS.items())
