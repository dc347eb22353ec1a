"""HPO-B from files in its layout: reading, and every kind of damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.tests.helpers import COLUMNS, SPLITS, Content, hpob_content, write_hpob

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid_lab.problems import hpob


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_hpob(hpob_content(), tmp_path / "data")


def test_a_collection_per_space_has_every_table_as_it_was_written(folder: Path) -> None:
    files = hpob_content()
    collections = hpob.read_hpob(str(folder))
    assert [collection.name for collection in collections] == ["4796", "5527"]
    for collection in collections:
        assert collection.steps == 100
        assert list(collection.space.names) == [f"x{j}" for j in range(COLUMNS[collection.name])]
        for split, tasks in (
            ("train", collection.train),
            ("validation", collection.validation),
            ("test", collection.test),
        ):
            assert [task.name for task in tasks] == SPLITS[split][collection.name]
            for task in tasks:
                entry = files[f"meta-{split}-dataset.json"][collection.name][task.name]
                np.testing.assert_array_equal(task.X, entry["X"])
                np.testing.assert_array_equal(task.y, np.ravel(entry["y"]))
        for task in collection.test:
            rows = files["bo-initializations.json"][collection.name][task.name]
            np.testing.assert_array_equal(collection.seeds[task.name], [rows[f"test{s}"] for s in range(5)])
        for task in collection.validation:
            starts = collection.seeds[task.name]
            assert starts.shape == (5, 5)
            assert all(len(set(row)) == 5 and max(row) < len(task.y) for row in starts.tolist())


def test_only_the_files_of_requested_splits_are_read(folder: Path) -> None:
    for split in ("train", "validation"):
        (folder / f"meta-{split}-dataset.json").unlink()
    (collection,) = hpob.read_hpob(str(folder), ["5527"], ("test",))
    assert (collection.name, collection.train, collection.validation, len(collection.test)) == ("5527", (), (), 2)
    with pytest.raises(Unavailable, match=r"needs .*meta-validation-dataset.json"):
        hpob.read_hpob(str(folder))


def test_a_folder_as_it_is_unpacked_and_starts_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    files = hpob_content()
    rows = {f"test{s}": [s, s + 1] for s in range(11)}
    files["bo-initializations.json"]["5527"]["23"] = dict(reversed(rows.items()))
    write_hpob(files, tmp_path / "hpob-data")
    (collection,) = hpob.read_hpob(str(tmp_path), ["5527"], ("test",))
    np.testing.assert_array_equal(collection.seeds["23"], list(rows.values()))


def test_rounding_errors_outside_the_unit_cube_are_clipped(tmp_path: Path) -> None:
    files = hpob_content()
    files["meta-test-dataset.json"]["5527"]["23"]["X"][0] = [1.0 + 1e-9, -1e-9]
    (collection,) = hpob.read_hpob(str(write_hpob(files, tmp_path)), ["5527"], ("test",))
    np.testing.assert_array_equal(collection.test[0].X[0], [1.0, 0.0])


def _test(files: Content) -> Content:
    return dict(files["meta-test-dataset.json"]["4796"]["29"])


def _set(key: str, value: Callable[[Any], Any]) -> Callable[[Content], None]:
    def damage(files: Content) -> None:
        entry = files["meta-test-dataset.json"]["4796"]["29"]
        entry[key] = value(entry[key])

    return damage


def _starts(value: Any) -> Callable[[Content], None]:
    return lambda files: files["bo-initializations.json"]["4796"]["29"].update(test2=value)


PLACE = "search space 4796, data set 29"
DAMAGE: dict[str, tuple[Callable[[Content], Any], str]] = {
    "no X": (lambda files: files["meta-test-dataset.json"]["4796"]["29"].pop("X"), f"{PLACE}: .* X is missing"),
    "no y": (lambda files: files["meta-test-dataset.json"]["4796"]["29"].pop("y"), f"{PLACE}: .* y is missing"),
    "ragged X": (_set("X", lambda X: [*X[:-1], X[-1][:-1]]), f"{PLACE}: X has to be rows of numbers"),
    "flat X": (_set("X", lambda X: X[0]), f"{PLACE}: X has to be rows of numbers"),
    "empty X": (_set("X", lambda X: []), f"{PLACE}: X has to be rows of numbers"),
    "words in X": (_set("X", lambda X: [["a", "b", "c"], *X[1:]]), f"{PLACE}: X has to be rows of numbers"),
    "null in X": (_set("X", lambda X: [[None, 0.0, 0.0], *X[1:]]), f"{PLACE}: X has to be rows of numbers"),
    "truth in X": (_set("X", lambda X: [[True] * 3 for _ in X]), f"{PLACE}: X has to be rows of numbers"),
    "NaN in X": (_set("X", lambda X: [X[0], [float("nan")] * 3, *X[2:]]), f"{PLACE}: X .* finite, but row 1 is not"),
    "NaN in y": (_set("y", lambda y: [*y[:-1], float("nan")]), f"{PLACE}: y has to be finite, but row 28 is not"),
    "infinite y": (_set("y", lambda y: [float("inf"), *y[1:]]), f"{PLACE}: y has to be finite, but row 0 is not"),
    "raw X": (_set("X", lambda X: [[100.0, 0.0, 0.0], *X[1:]]), f"{PLACE}: X has to lie in .0, 1., .* to 100"),
    "y in two columns": (_set("y", lambda y: [[v, v] for v in y]), f"{PLACE}: y has to be one number"),
    "y as a number": (_set("y", lambda y: 1.0), f"{PLACE}: y has to be one number"),
    "shorter y": (_set("y", lambda y: y[:-1]), f"{PLACE}: .* equally long, but have 29 and 28"),
    "fewer columns here": (_set("X", lambda X: [row[:2] for row in X]), "columns of X, but 23 has 3 and 29 has 2"),
    "fewer columns there": (
        lambda files: files["meta-train-dataset.json"].update({"4796": {"3": {"X": [[0.1]], "y": [1.0]}}}),
        "meta-train-dataset.json, search space 4796, data set 3: .* the 3 columns",
    ),
    "in two splits": (
        lambda files: files["meta-train-dataset.json"]["4796"].update({"29": _test(files)}),
        "in one split only, but 29 is in train and test",
    ),
    "a list of data sets": (
        lambda files: files["meta-test-dataset.json"].update({"4796": [1, 2]}), "4796: .* map data sets",
    ),
    "a foreign file": (
        lambda files: files.update({"meta-test-dataset.json": {"name": "x", "4796": "y"}}), "4796: .* map data sets",
    ),
    "a list": (lambda files: files.update({"meta-train-dataset.json": [1]}), "train.*json: the file has to map"),
    "an empty file": (lambda files: files.update({"meta-train-dataset.json": {}}), "train.*json: the file has to map"),
    "a space that is missing": (lambda files: files["meta-train-dataset.json"].pop("4796"), "no search space `4796`"),
    "no starts": (lambda files: files["bo-initializations.json"]["4796"].pop("29"), f"{PLACE}: .* has none"),
    "no starts of a space": (lambda files: files["bo-initializations.json"].pop("4796"), "data set 23: .* has none"),
    "an index too large": (_starts([0, 1, 2, 3, 29]), f"{PLACE}: test2 .* below 29, but lists 29"),
    "a negative index": (_starts([0, 1, 2, 3, -1]), f"{PLACE}: test2 .* lists -1"),
    "an index that is none": (_starts([0, 1, 2, 3, 4.5]), f"{PLACE}: test2 has to list indices"),
    "an index twice": (_starts([0, 1, 2, 3, 3]), f"{PLACE}: test2 .* repeats one"),
    "a shorter start": (_starts([0, 1]), f"{PLACE}: all starts have to be equally long, but have 2 to 5"),
    "nothing to search": (
        lambda files: files["bo-initializations.json"]["4796"].update({"29": {"test0": list(range(29))}}),
        f"{PLACE}: a start has to leave something",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_reported_in_one_sentence_with_its_place(kind: str, tmp_path: Path) -> None:
    damage, sentence = DAMAGE[kind]
    files = hpob_content()
    damage(files)
    with pytest.raises(Mistake, match=sentence) as error:
        hpob.read_hpob(str(write_hpob(files, tmp_path)), ["4796"])
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value) or kind in ("in two splits", "fewer columns there")


@pytest.mark.parametrize("name", [*hpob_content()])
@pytest.mark.parametrize(
    "bytes_", [b"", b'{"4796": {"23": {"X": [[0.1, ', b"version https://git-lfs", b"\xff\xfe{", b"[" * 10**5]
)
def test_files_that_are_not_json_are_reported(name: str, bytes_: bytes, folder: Path) -> None:
    (folder / name).write_bytes(bytes_)
    with pytest.raises(Mistake, match=f"{name}: the file has to be JSON, but is not .*; get the files again"):
        hpob.read_hpob(str(folder))


def test_a_missing_folder_says_where_to_get_the_data(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"nothing does not have it; get hpob-data.zip, which https://.*--data DIR"):
        hpob.read_hpob(str(tmp_path / "nothing"))
