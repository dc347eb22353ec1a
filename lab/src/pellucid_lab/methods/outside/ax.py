"""Ax through its `Client`, with the fast preset; its own initial trials are switched off, the study has them."""

from __future__ import annotations

from typing import Any

import torch
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

PACKAGES = ("ax-platform", "botorch", "torch")

torch.set_num_threads(1)


class Peer:
    def __init__(self, space: list[dict[str, Any]], seed: int) -> None:
        self._space = space
        self._client = Client(random_seed=seed)
        self._client.configure_experiment([parameter(f"p{j}", entry) for j, entry in enumerate(space)])
        self._client.configure_optimization(objective="-loss")
        self._client.configure_generation_strategy(method="fast", initialization_budget=0, initialize_with_center=False)
        self._asked: dict[tuple[float, ...], int] = {}

    def tell(self, rows: list[tuple[list[float], float]]) -> None:
        for values, loss in rows:
            index = self._asked.pop(tuple(values), None)
            if index is None:
                index = self._client.attach_trial(self._named(values))
            self._client.complete_trial(index, raw_data={"loss": loss})

    def ask(self) -> list[float]:
        ((index, params),) = self._client.get_next_trials(max_trials=1).items()
        values = [_number(params[f"p{j}"]) for j in range(len(self._space))]
        self._asked[tuple(values)] = index
        return values

    def _named(self, values: list[float]) -> dict[str, Any]:
        choices = [entry["kind"] == "choice" for entry in self._space]
        return {
            f"p{j}": str(value) if choice else value
            for j, (value, choice) in enumerate(zip(values, choices, strict=True))
        }


def parameter(name: str, entry: dict[str, Any]) -> Any:
    if entry["kind"] == "choice":
        labels = [str(index) for index in range(entry["count"])]
        return ChoiceParameterConfig(name=name, values=labels, parameter_type="str", is_ordered=False)
    return RangeParameterConfig(
        name=name,
        bounds=(entry["low"], entry["high"]),
        parameter_type=entry["kind"],
        scaling="log" if entry["log"] else "linear",
    )


def _number(value: Any) -> float:
    return int(value) if isinstance(value, str) else value
