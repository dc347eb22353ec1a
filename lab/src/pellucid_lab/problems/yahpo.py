"""YAHPO Gym surrogates of real tuning runs: ``lcbench`` (static space), ``rbv2_xgboost`` (conditional space).

The network takes raw values (it scales and takes logarithms itself); an inactive number is 0.0 and an inactive choice
has code 0. Its columns are not in the order of ``config_space.json``: each scenario lists them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import Params, Problem, stable_seed, suggest_value
from pellucid_lab.problems.data import find_data

if TYPE_CHECKING:
    from optuna.trial import Trial

# Configurations of the random search that gives a task's anchor (its median) and a best known value.
REFERENCE_SIZE = 20_000


@dataclass(frozen=True)
class Scenario:
    """Inputs and outputs of a surrogate; ``saturated`` tasks have the best value almost everywhere."""

    name: str
    task: str
    choices: tuple[str, ...]
    numbers: tuple[str, ...]
    outputs: tuple[str, ...]
    target: str
    fidelity: tuple[tuple[str, float], ...]
    default_tasks: tuple[str, ...]
    saturated: tuple[str, ...]


LCBENCH = Scenario(
    name="lcbench",
    task="OpenML_task_id",
    choices=("OpenML_task_id",),
    numbers=(
        *("epoch", "batch_size", "learning_rate", "momentum"),
        *("weight_decay", "num_layers", "max_units", "max_dropout"),
    ),
    outputs=(
        *("time", "val_accuracy", "val_cross_entropy"),
        *("val_balanced_accuracy", "test_cross_entropy", "test_balanced_accuracy"),
    ),
    target="val_balanced_accuracy",
    fidelity=(("epoch", 52.0),),
    default_tasks=("3945", "7593", "167104", "167161", "167184", "189873", "189908"),
    saturated=(),
)

RBV2_XGBOOST = Scenario(
    name="rbv2_xgboost",
    task="task_id",
    choices=("task_id", "booster", "num.impute.selected.cpo"),
    numbers=(
        *("nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth", "min_child_weight"),
        *("colsample_bytree", "colsample_bylevel", "rate_drop", "skip_drop", "trainsize", "repl"),
    ),
    outputs=("acc", "bac", "auc", "brier", "f1", "logloss", "timetrain", "timepredict", "memory"),
    target="acc",
    fidelity=(("trainsize", 1.0), ("repl", 10.0)),
    default_tasks=("44", "46", "307", "334", "1053", "1056", "1068", "1220", "1461", "1487"),
    saturated=(
        *("6", "32", "300", "375", "554", "1457", "1476", "1478", "1493", "4541", "40498", "40499"),
        *("40668", "40685", "40923", "40927", "40996", "41027", "41150", "41161", "41162", "41163"),
        *("41165", "41166", "41168", "41169", "41216", "41278"),
    ),
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (LCBENCH, RBV2_XGBOOST)}


def scenario_folder(scenario: Scenario, data: str | None) -> Path:
    """The folder with the files of a scenario: DIR/yahpo/NAME, or DIR/NAME as in yahpo_data itself."""
    files = ("model.onnx", "config_space.json", "encoding.json")
    source = "https://github.com/slds-lmu/yahpo_data"
    return find_data(scenario.name, data, (f"yahpo/{scenario.name}", scenario.name), files, source)


@dataclass(frozen=True)
class Surrogate:
    """The loaded network, its codes and its space. ``active_when`` maps a child to its parent and the parent's values;
    ``order`` is that of ``config_space.json``, where a child can come before its parent; ``tasks`` are those of that
    file, sorted by number, while ``codes`` can have more."""

    scenario: Scenario
    session: Any
    codes: Mapping[str, Mapping[str, int]]
    space: Mapping[str, BaseDistribution]
    active_when: Mapping[str, tuple[str, frozenset[str]]]
    order: tuple[str, ...]
    tasks: tuple[str, ...]

    def run(self, codes: NDArray[np.int32], numbers: NDArray[np.float32]) -> NDArray[np.float64]:
        """Outputs ``(n, n_outputs)`` from the two input matrices, in the scenario's column order."""
        return np.asarray(self.session.run(None, {"x_cat": codes, "x_cont": numbers})[0], dtype=np.float64)

    def predict(self, params: Mapping[str, Any]) -> dict[str, float]:
        """All outputs for a configuration; parameters that it does not have are inactive."""
        codes = [self.codes[name][params[name]] if name in params else 0 for name in self.scenario.choices]
        numbers = [params.get(name, 0.0) for name in self.scenario.numbers]
        outputs = self.run(np.array([codes], dtype=np.int32), np.array([numbers], dtype=np.float32))
        return dict(zip(self.scenario.outputs, outputs[0].tolist(), strict=True))

    def curve(self, params: Mapping[str, Any], fidelity: str, steps: int) -> NDArray[np.float64]:
        """The target ``(steps,)`` of a configuration with all its parameters active, at the values 1 to ``steps`` of a
        fidelity, in one call."""
        codes = np.array([[self.codes[name][params[name]] for name in self.scenario.choices]] * steps, dtype=np.int32)
        row = [params[name] if name != fidelity else 0.0 for name in self.scenario.numbers]
        numbers = np.array([row] * steps, dtype=np.float32)
        numbers[:, self.scenario.numbers.index(fidelity)] = np.arange(1, steps + 1)
        return self.run(codes, numbers)[:, self.scenario.outputs.index(self.scenario.target)]

    def active(self, name: str, params: Mapping[str, Any]) -> bool:
        if name not in self.active_when:
            return True
        parent, values = self.active_when[name]
        return params.get(parent) in values

    def suggest(self, trial: Trial) -> Params:
        """The active parameters of a trial."""
        params: Params = {}
        for name, distribution in self.space.items():
            if self.active(name, params):
                params[name] = suggest_value(trial, name, distribution)
        return params


def _distribution(entry: Mapping[str, Any]) -> BaseDistribution:
    if entry["type"] == "categorical":
        return CategoricalDistribution(entry["choices"])
    kind = {"uniform_float": FloatDistribution, "uniform_int": IntDistribution}[entry["type"]]
    return kind(entry["lower"], entry["upper"], log=entry["log"])


def _named(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    entry: Mapping[str, Any] = next(entry for entry in config["hyperparameters"] if entry["name"] == name)
    return entry


def _values(rule: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(rule["values"] if rule["type"] == "IN" else [rule["value"]])


@lru_cache(maxsize=4)
def load_surrogate(scenario: Scenario, data: str | None) -> Surrogate:
    folder = scenario_folder(scenario, data)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    config = json.loads((folder / "config_space.json").read_text())
    fixed = {scenario.task, *dict(scenario.fidelity)}
    entries = [entry for entry in config["hyperparameters"] if entry["name"] not in fixed]
    free = {entry["name"]: _distribution(entry) for entry in entries}
    active_when = {rule["child"]: (rule["parent"], _values(rule)) for rule in config["conditions"]}
    parents = {parent for parent, _ in active_when.values()}
    order = sorted(free, key=lambda name: (name not in parents, name in active_when))
    return Surrogate(
        scenario=scenario,
        session=session,
        codes=json.loads((folder / "encoding.json").read_text()),
        space={name: free[name] for name in order},
        active_when=active_when,
        order=tuple(free),
        tasks=tuple(sorted(_named(config, scenario.task)["choices"], key=int)),
    )


def _draw(rng: np.random.Generator, distribution: BaseDistribution, size: int) -> NDArray[Any]:
    if isinstance(distribution, CategoricalDistribution):
        return np.array(distribution.choices)[rng.integers(len(distribution.choices), size=size)]
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise TypeError(f"A surrogate parameter is a float, an int or a categorical; got {distribution!r}.")
    half = 0.5 if isinstance(distribution, IntDistribution) else 0.0
    edges = np.array([distribution.low - half, distribution.high + half])
    low, high = np.log(edges) if distribution.log else edges
    values = rng.uniform(low, high, size)
    if distribution.log:
        values = np.exp(values)
    return np.clip(np.rint(values), distribution.low, distribution.high) if half else values


def random_outputs(surrogate: Surrogate, task: str, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Outputs ``(size, n_outputs)`` of random configurations of a task at full fidelity."""
    scenario = surrogate.scenario
    columns = {scenario.task: np.full(size, task)}
    columns |= {name: np.full(size, value) for name, value in scenario.fidelity}
    columns |= {name: _draw(rng, distribution, size) for name, distribution in surrogate.space.items()}
    codes = np.zeros((size, len(scenario.choices)), dtype=np.int32)
    numbers = np.zeros((size, len(scenario.numbers)), dtype=np.float32)
    for name, column in columns.items():
        active = np.ones(size, dtype=bool)
        if name in surrogate.active_when:
            parent, values = surrogate.active_when[name]
            active = np.isin(columns[parent], list(values))
        if name in scenario.choices:
            kinds, which = np.unique(column, return_inverse=True)
            coded = np.array([surrogate.codes[name][str(kind)] for kind in kinds], dtype=np.int32)
            codes[:, scenario.choices.index(name)] = np.where(active, coded[which], 0)
        else:
            numbers[:, scenario.numbers.index(name)] = np.where(active, column, 0.0)
    return surrogate.run(codes, numbers)


@lru_cache(maxsize=64)
def reference_search(scenario: Scenario, task: str, data: str | None) -> tuple[float, float]:
    """Median and highest value of the target in a fixed random search of the task."""
    surrogate = load_surrogate(scenario, data)
    rng = np.random.default_rng(stable_seed("reference", scenario.name, task))
    outputs = random_outputs(surrogate, task, REFERENCE_SIZE, rng)
    values = outputs[:, scenario.outputs.index(scenario.target)]
    return float(np.median(values)), float(values.max())


def check_task(scenario: Scenario, task: str, data: str | None) -> None:
    known = json.loads((scenario_folder(scenario, data) / "encoding.json").read_text())[scenario.task]
    # For an unknown task (code 0) the network also returns numbers, but they mean nothing.
    if known.get(task, 0) == 0:
        raise Mistake(f"{scenario.name} has no task `{task}`; use one of {', '.join(scenario.default_tasks)}.")
    if task in scenario.saturated:
        raise Mistake(
            f"Task {task} of {scenario.name} is saturated (almost all configurations have the best value); "
            f"use one of {', '.join(scenario.default_tasks)}."
        )


def yahpo(scenario: Scenario, task: str, data: str | None) -> Problem:
    surrogate = load_surrogate(scenario, data)
    fixed = {scenario.task: task, **dict(scenario.fidelity)}
    typical, high = reference_search(scenario, task, data)

    def evaluate(params: Mapping[str, Any]) -> float:
        return surrogate.predict({**params, **fixed})[scenario.target]

    return Problem(
        name=task,
        suite=scenario.name,
        direction="maximize",
        suggest=surrogate.suggest,
        evaluate=evaluate,
        distributions=None if surrogate.active_when else dict(surrogate.space),
        optimum=high,
        optimum_is_exact=False,
        anchor=typical,
    )
