"""Vizier's GP bandit with its defaults, except that arrays of trials are padded to multiples of ten.

Without that it compiles its model anew for every trial, which takes about nine tenths of its time. Padding is an option
of Vizier's and is masked in its model; still, proposals agree to a few digits only, and so later ones differ.
"""

from __future__ import annotations

import os
from typing import Any

# One thread, as for every other method; XLA reads this when JAX is imported.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
from vizier import algorithms as vza
from vizier import pyvizier as vz
from vizier.algorithms.designers import VizierGPBandit
from vizier.pyvizier.converters import padding

PACKAGES = ("google-vizier", "jax")

jax.config.update("jax_enable_x64", True)  # as Vizier's own service does


class Peer:
    def __init__(self, space: list[dict[str, Any]], seed: int) -> None:
        self._space = space
        problem = vz.ProblemStatement()
        for j, entry in enumerate(space):
            add(problem.search_space.root, f"p{j}", entry)
        problem.metric_information.append(vz.MetricInformation("loss", goal=vz.ObjectiveMetricGoal.MINIMIZE))
        schedule = padding.PaddingSchedule(num_trials=padding.PaddingType.MULTIPLES_OF_10)
        self._designer = VizierGPBandit(problem, rng=jax.random.PRNGKey(seed), padding_schedule=schedule)
        self._told = 0

    def tell(self, rows: list[tuple[list[float], float]]) -> None:
        trials = []
        for values, loss in rows:
            self._told += 1
            trial = vz.Trial(id=self._told, parameters=self._named(values))
            trials.append(trial.complete(vz.Measurement({"loss": loss})))
        self._designer.update(vza.CompletedTrials(trials), vza.ActiveTrials())

    def ask(self) -> list[float]:
        (suggestion,) = self._designer.suggest(1)
        params = suggestion.parameters.as_dict()
        kinds = {"float": float, "int": int, "choice": int}
        return [kinds[entry["kind"]](params[f"p{j}"]) for j, entry in enumerate(self._space)]

    def _named(self, values: list[float]) -> dict[str, Any]:
        choices = [entry["kind"] == "choice" for entry in self._space]
        return {
            f"p{j}": str(value) if choice else value
            for j, (value, choice) in enumerate(zip(values, choices, strict=True))
        }


def add(root: Any, name: str, entry: dict[str, Any]) -> None:
    if entry["kind"] == "choice":
        root.add_categorical_param(name, [str(index) for index in range(entry["count"])])
        return
    scale = vz.ScaleType.LOG if entry["log"] else vz.ScaleType.LINEAR
    method = root.add_float_param if entry["kind"] == "float" else root.add_int_param
    method(name, entry["low"], entry["high"], scale_type=scale)
