"""Shares of many answers with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid_lab.truth.measures import TruthRun
from pellucid_lab.truth.studies import SIZES


@dataclass(frozen=True)
class Cell:
    """One answer to one study at one size."""

    run: TruthRun
    size: int
    answer: Any


def cells(runs: Iterable[TruthRun], question: str, sizes: Sequence[int] = SIZES) -> Iterator[Cell]:
    for run in runs:
        for size in sizes:
            answer = run.answers.get(str(size), {}).get(question)
            if answer is not None:
                yield Cell(run, size, answer)


def rate(values: Sequence[float]) -> str:
    """Mean with its standard error; a dash without values."""
    if not values:
        return "–"
    mean, n = float(np.mean(values)), len(values)
    error = float(np.std(values)) / math.sqrt(n)
    return f"{mean:.3f} ± {error:.3f}"


def counted(values: Sequence[float]) -> str:
    return f"{rate(values)} ({len(values)})"
