"""HEBO with its defaults, without random trials of its own: the study has them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

PACKAGES = ("HEBO", "gpytorch", "numpy", "torch")

torch.set_num_threads(1)


class Peer:
    def __init__(self, space: list[dict[str, Any]], seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 - HEBO draws from NumPy's global generator
        torch.manual_seed(seed)
        self._names = [f"p{j}" for j in range(len(space))]
        parameters = [parameter(name, entry) for name, entry in zip(self._names, space, strict=True)]
        # 2 is the smallest number of random trials that HEBO accepts.
        self._optimiser = HEBO(DesignSpace().parse(parameters), rand_sample=2, scramble_seed=seed)

    def tell(self, rows: list[tuple[list[float], float]]) -> None:
        if rows:
            frame = pd.DataFrame([values for values, _ in rows], columns=self._names)
            self._optimiser.observe(frame, np.array([[loss] for _, loss in rows]))

    def ask(self) -> list[float]:
        row = self._optimiser.suggest(n_suggestions=1).iloc[0]
        return [row[name].item() if hasattr(row[name], "item") else row[name] for name in self._names]


def parameter(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    if entry["kind"] == "choice":
        return {"name": name, "type": "cat", "categories": list(range(entry["count"]))}
    kinds = {("float", False): "num", ("float", True): "pow", ("int", False): "int", ("int", True): "pow_int"}
    kind = kinds[entry["kind"], entry["log"]]
    return {"name": name, "type": kind, "lb": entry["low"], "ub": entry["high"]}
