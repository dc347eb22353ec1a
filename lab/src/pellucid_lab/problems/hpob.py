"""HPO-B-v3 from its files: for each search space, tables of data sets for training, validation and tests.

The published folder (larger y is better, X is in [0, 1]):
    meta-train-dataset.json, meta-validation-dataset.json, meta-test-dataset.json
        {search space: {data set: {"X": [[x0, x1, ...], ...], "y": [[y], ...] or [y, ...]}}}
    bo-initializations.json
        {search space: {data set: {"test0": [indices of a start], "test1": ...}}}

Notation: n, d configurations of a table and their parameters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from optuna.distributions import FloatDistribution

from pellucid.space.encoding import Space
from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.base import stable_seed
from pellucid_lab.problems.data import find_data
from pellucid_lab.problems.tabular import Collection, Indices, TabularTask

Split = Literal["train", "validation", "test"]

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
STARTS = "bo-initializations.json"
# The steps after a start that HPO-B reports.
STEPS = 100
SOURCE = "https://github.com/machinelearningnuremberg/HPO-B"
# Scaled columns may leave [0, 1] by rounding errors.
ROUNDING = 1e-6


def file_of(split: Split) -> str:
    return f"meta-{split}-dataset.json"


def find_folder(data: str | None) -> Path:
    """The folder with the files: the data folder itself, or `hpob-data` in it, as the published archive unpacks."""
    return find_data("HPO-B", data, ("", "hpob-data"), (file_of("test"),), f"hpob-data.zip, which {SOURCE} links to,")


def read_hpob(
    data: str | None, spaces: Sequence[str] | None = None, splits: Sequence[Split] = SPLITS
) -> tuple[Collection, ...]:
    """One collection per search space, in the requested order; splits that are not requested are empty.

    The files are large: they are read one after the other, and only the requested search spaces are kept.
    """
    folder = find_folder(data)
    chosen, tables = spaces, {}
    # The test split determines the search spaces.
    for split in sorted({*splits, "test"}, key=SPLITS.index, reverse=True):
        file = folder / file_of(split)
        content = _load(file)
        chosen = _choose(content, chosen, file)
        tables[split] = {space: _tasks(content[space], space, file) for space in chosen}
        del content
    starts = _load(folder / STARTS)
    return tuple(
        _collection(space, {split: of[space] for split, of in tables.items()}, starts, folder / STARTS)
        for space in chosen or ()
    )


def _load(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise Unavailable(f"HPO-B is skipped: it needs {file}, which does not exist; {SOURCE} links to the files.")
    try:
        with file.open(encoding="utf-8") as stream:
            content = json.load(stream, object_hook=_compact)
    except (ValueError, RecursionError) as error:
        raise _wrong(str(file), f"the file has to be JSON, but is not ({error})") from error
    if not isinstance(content, dict) or not content:
        raise _wrong(str(file), "the file has to map search spaces to data sets, but does not")
    return content


def _compact(entry: dict[str, Any]) -> dict[str, Any]:
    """Numbers as an array as soon as a table is parsed: as lists they need several times the memory."""
    return {key: _numbers(value) if key in ("X", "y") else value for key, value in entry.items()}


def _numbers(value: Any) -> Any:
    """An array of numbers; anything else is unchanged and is reported later, with its place."""
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        return value
    return array.astype(float) if array.dtype.kind in "iuf" else value


def _choose(content: Mapping[str, Any], requested: Sequence[str] | None, file: Path) -> Sequence[str]:
    unknown = [space for space in requested or () if space not in content]
    if unknown:
        raise Mistake(f"{file} has no search space `{unknown[0]}`; it has {', '.join(content)}.")
    return list(content) if requested is None else requested


def _tasks(entries: Any, space: str, file: Path) -> tuple[TabularTask, ...]:
    where = f"{file}, search space {space}"
    if not isinstance(entries, dict) or not entries or not all(isinstance(entry, dict) for entry in entries.values()):
        raise _wrong(where, 'a search space has to map data sets to {"X": ..., "y": ...}, but does not')
    tasks = tuple(_task(name, entry, f"{where}, data set {name}") for name, entry in entries.items())
    d = tasks[0].X.shape[1]
    other = next((task for task in tasks if task.X.shape[1] != d), None)
    if other is not None:
        widths = f"{tasks[0].name} has {d} and {other.name} has {other.X.shape[1]}"
        raise _wrong(where, f"all data sets have to share the columns of X, but {widths}")
    return tasks


def _task(name: str, entry: Mapping[str, Any], where: str) -> TabularTask:
    missing = [key for key in ("X", "y") if key not in entry]
    if missing:
        raise _wrong(where, f"a data set has to have X and y, but {' and '.join(missing)} is missing")
    X, y = entry["X"], entry["y"]
    if not isinstance(X, np.ndarray) or X.ndim != 2 or 0 in X.shape:
        raise _wrong(where, "X has to be rows of numbers, all of one length, but is not")
    if not isinstance(y, np.ndarray) or y.shape not in ((y.size,), (y.size, 1)):
        raise _wrong(where, "y has to be one number per configuration, flat or as a column, but is not")
    if len(X) != y.size:
        raise _wrong(where, f"X and y have to be equally long, but have {len(X)} and {y.size} entries")
    for key, values in (("X", X), ("y", y)):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            raise _wrong(where, f"{key} has to be finite, but row {bad[0, 0]} is not")
    if X.min() < -ROUNDING or X.max() > 1.0 + ROUNDING:
        raise _wrong(where, f"X has to lie in [0, 1], but reaches from {X.min():g} to {X.max():g}")
    return TabularTask(name, np.clip(X, 0.0, 1.0), y.ravel())


def _collection(
    space: str, tables: Mapping[Split, tuple[TabularTask, ...]], starts: Mapping[str, Any], file: Path
) -> Collection:
    parts: dict[Split, tuple[TabularTask, ...]] = {split: tables.get(split, ()) for split in SPLITS}
    _check_splits(space, parts)
    seeds = {task.name: _starts(starts, space, task, file) for task in parts["test"]}
    repetitions, n_init = next(iter(seeds.values())).shape
    for task in parts["validation"]:
        # The files have starts for the test split only; those for validation are drawn here.
        seeds[task.name] = _drawn(space, task, repetitions, n_init)
    d = parts["test"][0].X.shape[1]
    columns = Space.of({f"x{j}": FloatDistribution(0.0, 1.0) for j in range(d)})
    return Collection(space, columns, parts["train"], parts["validation"], parts["test"], seeds, STEPS)


def _check_splits(space: str, parts: Mapping[Split, tuple[TabularTask, ...]]) -> None:
    d = parts["test"][0].X.shape[1]
    split_of: dict[str, Split] = {}
    for split, tasks in parts.items():
        for task in tasks:
            if task.X.shape[1] != d:
                raise _wrong(
                    f"{file_of(split)}, search space {space}, data set {task.name}",
                    f"X has to have the {d} columns of {file_of('test')}, but has {task.X.shape[1]}",
                )
            if task.name in split_of:
                raise _wrong(
                    f"Search space {space}",
                    f"a data set has to be in one split only, but {task.name} is in {split_of[task.name]} and {split}",
                )
            split_of[task.name] = split


def _starts(content: Mapping[str, Any], space: str, task: TabularTask, file: Path) -> Indices:
    """Indices of the starts, (repetitions, n_init)."""
    where = f"{file}, search space {space}, data set {task.name}"
    of_space = content.get(space)
    entry = of_space.get(task.name) if isinstance(of_space, dict) else None
    if not isinstance(entry, dict) or not entry:
        raise _wrong(where, "a data set of the test split has to have starts, but has none")
    for seed, row in entry.items():
        if not isinstance(row, list) or not row or not all(type(index) is int for index in row):
            raise _wrong(where, f"{seed} has to list indices of configurations, but does not")
        outside = [index for index in row if not 0 <= index < len(task.y)]
        if outside:
            raise _wrong(where, f"{seed} has to list indices below {len(task.y)}, but lists {outside[0]}")
        if len(set(row)) < len(row):
            raise _wrong(where, f"{seed} has to list different configurations, but repeats one")
    lengths = {len(row) for row in entry.values()}
    if len(lengths) > 1:
        raise _wrong(where, f"all starts have to be equally long, but have {min(lengths)} to {max(lengths)} indices")
    if lengths == {len(task.y)}:
        raise _wrong(where, "a start has to leave something to search, but lists every configuration")
    return np.array([entry[seed] for seed in sorted(entry, key=lambda name: (len(name), name))], dtype=np.int64)


def _drawn(space: str, task: TabularTask, repetitions: int, n_init: int) -> Indices:
    size = min(n_init, len(task.y))
    rngs = [np.random.default_rng(stable_seed("hpob", space, task.name, k)) for k in range(repetitions)]
    return np.stack([rng.choice(len(task.y), size, replace=False) for rng in rngs])


def _wrong(where: str, what: str) -> Mistake:
    return Mistake(f"{where}: {what}; get the files again from {SOURCE}.")
