"""Model files: a model is read as it was written, and any other file is refused in a sentence."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from tests.surrogates.ranking.bowls import bowl

import pellucid
from pellucid.models.ranking import files
from pellucid.models.ranking.ensemble import Card, RankingEnsemble
from pellucid.models.ranking.files import ModelFileError, digest, from_bytes, load, save, to_bytes
from pellucid.models.ranking.network import Context
from pellucid.models.ranking.training import Recipe
from pellucid.space.encoding import Condition, Space

KEY = "pellucid:ranker"
HOSTILE = [
    "",
    " ",
    "a\nb",
    'quo"te',
    "back\\slash",
    "nul\0",
    "ünïcödé 🙂",
    "\ud800",
    "__metadata__",
    "../../x",
    "a" * 500,
]


def tasks_in(space: Space) -> list[tuple[str, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    drawn = [space.canonical(rng.random((15, len(space)))) for _ in range(3)]
    return [(f"task {i}", X, rng.standard_normal(15)) for i, X in enumerate(drawn)]


def trained_on(space: Space) -> RankingEnsemble:
    recipe = Recipe(steps=2, list_size=12, lists=2, loss="list_mle", weighting=None)
    tasks = tasks_in(space)
    return RankingEnsemble(space, members=2, width=4, recipe=recipe).meta_trained(tasks[:2], tasks[2:])


SPACE = Space.of(
    {
        "lr": FloatDistribution(1e-4, 1.0, log=True),
        "depth": IntDistribution(1, 9),
        "booster": CategoricalDistribution(["tree", None, True, 1.5]),
        "drop": FloatDistribution(0.0, 1.0, step=0.1),
        "rate": FloatDistribution(0.0, 1.0),
        "size": CategoricalDistribution([16, 32, 64]),
    },
    {"drop": Condition("booster", (1, 2)), "rate": Condition("depth", None, 0.5, 1.0)},
)


@pytest.fixture(scope="module")
def model() -> RankingEnsemble:
    return trained_on(SPACE)


@pytest.fixture(scope="module")
def data(model: RankingEnsemble) -> bytes:
    return to_bytes(model)


def assert_refused(data: bytes, *words: str) -> None:
    with pytest.raises(ModelFileError) as error:
        from_bytes(data, "some.file")
    sentence = str(error.value)
    assert sentence.startswith("some.file ")
    assert sentence.endswith(".")
    assert all(word in sentence for word in words), sentence


# -------------------------------------------------------------------------------------- round trip


def test_a_model_comes_back_to_the_last_bit(model: RankingEnsemble, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save(model, path)
    again = load(path)
    assert again.space == model.space
    assert again.recipe == model.recipe
    assert again.architecture == model.architecture
    assert repr(again.card) == repr(model.card)
    assert again.card is not None
    assert model.card is not None
    assert again.card.course[0].step == model.card.course[0].step
    X, losses = tasks_in(SPACE)[0][1:]
    for n in (0, 1, 15):
        first, second = (ensemble.fit(X[:n], losses[:n], epochs=3).scores(X) for ensemble in (model, again))
        assert np.array_equal(first, second)
    assert to_bytes(again) == to_bytes(model)
    assert digest(to_bytes(again)) == digest(to_bytes(model))
    save(again, str(path))
    assert path.read_bytes() == to_bytes(model)


def test_a_file_of_an_earlier_version_ranks_as_it_did_there() -> None:
    """1.0.0rc1 wrote the file and computed in single precision, hence the tolerance. What is added to all scores of a
    member changes no rank, and tuning adds what rounding makes of a gradient of zero."""
    model = load(Path(__file__).parent / "rc1.ranker")
    _, X, losses = bowl(7, 12)
    candidates = bowl(8, 4)[1]
    as_learned = [[-0.702602, -0.588662, -0.040257, -0.269348], [-0.788860, -0.713332, -0.292285, -0.475698]]
    tuned = [[-5.106853, -3.661488, 0.681588, -0.250905], [-6.473535, -4.757185, -0.723488, -1.507761]]
    for n, expected in ((0, as_learned), (12, tuned)):
        scores = model.fit(X[:n], losses[:n], epochs=5).scores(candidates)
        assert scores - scores[:, :1] == pytest.approx(np.array(expected) - np.array(expected)[:, :1], abs=1e-4)
    assert model.card is not None
    assert model.card.steps == 300


@pytest.mark.parametrize("context", ["near", "mean", "none"])
@pytest.mark.parametrize("layers", [1, 3])
def test_every_architecture_comes_back(context: Context, layers: int) -> None:
    space = Space.of({"x": FloatDistribution(0, 1)})
    bare = RankingEnsemble(
        space, members=1, layers=layers, width=3, context=context, recipe=Recipe(steps=1, list_size=9)
    )
    model = replace(bare.meta_trained(tasks_in(space)), card=None)
    again = from_bytes(to_bytes(model))
    assert again.card is None
    assert again.architecture == model.architecture
    X, losses = tasks_in(space)[0][1:]
    assert np.array_equal(again.fit(X, losses).scores(X), model.fit(X, losses).scores(X))


def test_hostile_names_and_choices_survive(tmp_path: Path) -> None:
    space = Space.of({name: FloatDistribution(0, 1) for name in HOSTILE} | {"c": CategoricalDistribution(HOSTILE)})
    model = trained_on(space)
    assert model.card is not None
    model = replace(model, card=replace(model.card, tasks=tuple(HOSTILE)))
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.space == space
    assert again.card is not None
    assert again.card.tasks == tuple(HOSTILE)


def test_a_model_without_meta_training_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has not been meta-trained"):
        save(RankingEnsemble(SPACE), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def no_space(*_: object) -> None:
    raise OSError("No space left on device")


def space_for_a_hundred_bytes(descriptor: int, data: Any, write: Callable[[int, Any], int] = os.write) -> None:
    write(descriptor, data[:100])
    no_space()


@pytest.mark.parametrize(
    ("name", "fails"),
    [("write", space_for_a_hundred_bytes), ("fchmod", no_space), ("fsync", no_space), ("replace", no_space)],
)
def test_a_failing_write_leaves_the_old_file(
    model: RankingEnsemble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fails: Any
) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"old")
    with monkeypatch.context() as patched:
        patched.setattr(os, name, fails)
        with pytest.raises(OSError, match="No space left"):
            save(model, path)
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    save(model, path)
    assert load(path).space == SPACE


def test_a_folder_that_is_missing_is_not_made(model: RankingEnsemble, tmp_path: Path) -> None:
    with pytest.raises(OSError):
        save(model, tmp_path / "missing" / "m")


# ------------------------------------------------------------- files that are not models


def test_empty_foreign_and_random_files_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    assert_refused(b"", "is not a ranking model of pellucid")
    assert_refused(save_tensors({"w": torch.zeros(3)}), "is not a ranking model of pellucid")
    assert_refused(save_tensors({"w": torch.zeros(3)}, {"format": "pt"}), "is not a ranking model of pellucid")
    assert_refused(pickle.dumps({"format": 1, "weights": [1.0] * 100}), "is not a ranking model of pellucid")
    for n in (1, 7, 8, 9, 100, 10_000):
        assert_refused(rng.bytes(n))
        assert_refused(b"\0" * n)
        assert_refused(b"\xff" * n)
        assert_refused(n.to_bytes(8, "little") + rng.bytes(n))
    for text in (
        b"[]",
        b"{}",
        b"null",
        b'{"__metadata__": 3}',
        b'{"__metadata__": {"pellucid:ranker": 3}}',
        b"[" * 10**5,
    ):
        assert_refused(len(text).to_bytes(8, "little") + text, "is not a ranking model of pellucid")
    for text in ("", "[]", "3", "{}", '{"format": "1"}', '{"format": null}', '{"format": true}', "[" * 10**5):
        assert_refused(save_tensors({"w": torch.zeros(3)}, {KEY: text}), "is not a ranking model of pellucid")
    path = tmp_path / "other.bin"
    path.write_bytes(rng.bytes(500))
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        load(path)


def test_a_path_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = "^A model is a file that `pellucid meta-train` or `RankingSampler.save` wrote, but "
    with pytest.raises(ModelFileError, match=f"{rule}there is no .*/none: create it, or name another file.$"):
        load(tmp_path / "none")
    with pytest.raises(ModelFileError, match=f"{rule}{re.escape(str(tmp_path))} is a folder: name a file in it.$"):
        load(tmp_path)
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.raises(ModelFileError, match=f"{rule}.*/file/model cannot be read .Not a directory.: make it readable"):
        load(file / "model")

    def refused(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(ModelFileError, match=f"{rule}.*/file cannot be read .Permission denied.: make it readable"):
        load(file)


def test_a_device_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (Path("/dev/zero"), pipe):
        with pytest.raises(ModelFileError, match=f"wrote, but {path} is a device or a pipe: name a file on a disk.$"):
            load(path)


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(files._LARGEST_FILE + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("was read"))
    with pytest.raises(ModelFileError, match="more than 64 MB"):
        load(path)


def test_a_model_that_is_cut_off_is_refused_at_any_length(data: bytes) -> None:
    for share in np.linspace(0.0, 1.0, 41)[:-1]:
        assert_refused(data[: int(share * len(data))])
    for missing in (1, 2, 4, 100):
        assert_refused(data[:-missing])
    assert_refused(data + b"\0")


def test_single_damaged_bytes_are_refused_or_harmless(data: bytes) -> None:
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(data[:8], "little")
    # The header is a small part of a large file: half of the places in it, and all of its first bytes.
    places = [*range(40), *rng.integers(header, size=400), *rng.integers(len(data), size=200)]
    loaded = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= int(rng.integers(1, 256))
        try:
            again = from_bytes(bytes(damaged))
        except ModelFileError:
            continue
        loaded += 1
        X = tasks_in(again.space)[0][1]
        assert np.isfinite(again.fit(X[:10], np.arange(10.0), epochs=1).predict(X)).all()
    assert 0 < loaded < len(places)


# ------------------------------------------------------------------------- wrong headers


def changed(data: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The same weights under another header."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][KEY])
    change(header)
    return save_tensors(load_tensors(data), {KEY: json.dumps(header)})


def put(*path: Any, to: Any) -> Callable[[dict[str, Any]], Any]:
    def change(header: dict[str, Any]) -> None:
        place: Any = header
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


def test_an_equal_header_written_differently_is_accepted(data: bytes) -> None:
    assert from_bytes(changed(data, lambda header: None)).space == SPACE


@pytest.mark.parametrize("format_", [2, 10**9])
def test_a_future_format_asks_for_an_upgrade(data: bytes, format_: int) -> None:
    def future(header: dict[str, Any]) -> None:
        header.clear()
        header.update(format=format_, something="else")

    assert_refused(changed(data, future), f"has format {format_}", "upgrade")


@pytest.mark.parametrize("key", ["space", "conditions", "members", "layers", "width", "context", "recipe", "card"])
def test_a_header_without_a_part_is_refused(data: bytes, key: str) -> None:
    assert_refused(changed(data, lambda header: header.pop(key)), "its header does not describe a model", repr(key))


def distribution(text: Any) -> Callable[[dict[str, Any]], Any]:
    return put("space", 0, "distribution", to=text)


def number(name: str, **attributes: Any) -> str:
    return json.dumps({"name": name, "attributes": attributes})


TWO_CYCLE = {"drop": ["rate", 0.0, 0.5], "rate": ["drop", 0.0, 0.5]}
THREE_CYCLE = {"drop": ["rate", 0.0, 0.5], "rate": ["lr", 0.0, 0.5], "lr": ["drop", 0.0, 0.5]}
LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "format 0": put("format", to=0),
    "format -1": put("format", to=-1),
    **{
        f"{key} {value!r}": put(key, to=value)
        for key in ("members", "layers", "width")
        for value in (0, -1, 3, 2.0, "2", None, [], 10**9, 10**30, True, 1e400)
    },
    **{f"context {value!r}": put("context", to=value) for value in (False, None, "yes", 1, {})},
    **{f"space {value!r}": put("space", to=value) for value in ([], {}, None, "space", [1], [[]], [{}])},
    "no dimension": lambda header: header["space"].pop(),
    "one more": lambda header: header["space"].append({**header["space"][0], "name": "extra"}),
    "duplicate names": put("space", 1, "name", to="lr"),
    **{f"name {value!r}": put("space", 0, "name", to=value) for value in (None, 3, ["lr"], {})},
    **{f"ordinal {value!r}": put("space", 5, "ordinal", to=value) for value in (False, None, "no", 2)},
    **{
        f"distribution {i} {value!r:.40}": distribution(value)
        for i, value in enumerate((
                      None, 3, {}, "", "null", "[]", "{}", "3", '{"name": "FloatDistribution"}', "[" * 10**5,
                      number("NoDistribution", low=0, high=1), number("FloatDistribution", low=2.0, high=1.0),
                      number("FloatDistribution", low=0.0, high=1.0, log=True),
                      number("FloatDistribution", low=0.0, high=1.0, step=-1.0),
                      number("FloatDistribution", low=float("nan"), high=1.0),
                      number("FloatDistribution", low=0.0, high=float("inf")),
                      number("FloatDistribution", low="a", high="b"), number("FloatDistribution", low=None, high=1.0),
                      number("IntDistribution", low=0, high=10**400), number("IntDistribution", low=0, high=5, step=0),
                      number("FloatDistribution", low=0.0, high=1.0, step=1e-320),
                      number("CategoricalDistribution", choices=[]), number("CategoricalDistribution", choices=3)))
    },
    "another kind": put("space", 0, "distribution", to=distribution_to_json(CategoricalDistribution(["a", "b"]))),
    **{f"conditions {value!r}": put("conditions", to=value) for value in (None, [], 3, "x", {})},
    **{
        f"condition {value!r}": put("conditions", "drop", to=value)
        for value in (None, 3, "ab", [], ["lr"], [["lr"], [0]], ["booster", 3], ["booster", ["x"]], ["booster", [-1]],
                      ["booster", [-99]], ["booster", [4]], ["booster", []], ["booster", [10**30]], ["booster", [0.5]],
                      ["lr", [0]], ["missing", [0]], ["lr", 0.0], ["lr", "a", "b"], ["lr", float("nan"), 1.0],
                      ["lr", 0.0, 1.0, 2.0], ["drop", 0.0, 1.0], {"parent": "lr"}, {"lr": 0, "b": 1})
    },
    "a child that is missing": lambda header: header["conditions"].update(missing=["lr", 0.0, 0.5]),
    "a cycle of two": put("conditions", to=TWO_CYCLE),
    "a cycle of three": put("conditions", to=THREE_CYCLE),
    **{f"recipe {value!r}": put("recipe", to=value) for value in (None, [], 3, {"unknown": 1}, {"loss": "hinge"})},
    **{
        f"recipe {key} {value!r}": put("recipe", key, to=value)
        for key in asdict(Recipe())
        for value in (-1, "text", [], float("nan"), float("inf"), {}, True)
    },
    **{f"recipe {key} 10**9": put("recipe", key, to=10**9) for key in ("list_size", "lists")},
    **{f"recipe {key} None": put("recipe", key, to=None) for key in asdict(Recipe()) if key != "weighting"},
    **{f"card {value!r}": put("card", to=value) for value in ([], 3, "card", {})},
    **{
        f"card {key} {value!r}": put("card", key, to=value)
        for key in ("tasks", "checks", "steps", "course")
        for value in (None, 3.5, "text", [None], [[]], {"a": 1}, float("inf"))
    },
    **{
        f"check {key} {value!r}": put("card", "checks", 0, key, to=value)
        for key in ("task", "configurations", "regret", "random")
        for value in (None, [None], ["x"], [], [float("nan")], {})
    },
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_header_that_does_not_describe_a_model_is_refused(data: bytes, lie: Callable[[dict[str, Any]], Any]) -> None:
    assert_refused(changed(data, lie))


# ---------------------------------------------------------------------- weights that do not fit


def with_weights(model: RankingEnsemble, change: Callable[[dict[str, torch.Tensor]], Any]) -> bytes:
    assert model.weights is not None
    weights = {name: value.clone() for name, value in model.weights.items()}
    change(weights)
    return to_bytes(replace(model, weights=weights, context="near"))


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: weights.update({"scorer.0.weight": torch.zeros(1, 2, 3, 4)}),
        lambda weights: weights.update({"scorer.0.weight": weights["scorer.0.weight"].transpose(2, 3)}),
        lambda weights: weights.update({"scorer.0.bias": weights["scorer.0.bias"].reshape(-1)}),
        lambda weights: weights.update({"scorer.9.weight": torch.zeros(3)}),
        lambda weights: weights.pop("scorer.0.weight"),
        lambda weights: weights.pop("each.0.weight"),
        lambda weights: weights.clear(),
    ],
)
def test_weights_of_other_shapes_are_refused(model: RankingEnsemble, change: Callable[..., Any]) -> None:
    assert_refused(with_weights(model, change), "shapes")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(model: RankingEnsemble, bad: float) -> None:
    assert_refused(with_weights(model, lambda weights: weights["scorer.1.bias"].view(-1)[2:3].fill_(bad)), "finite")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8])
def test_weights_of_another_precision_are_refused(model: RankingEnsemble, dtype: torch.dtype) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights["scorer.1.bias"] = weights["scorer.1.bias"].to(dtype)

    assert_refused(with_weights(model, change), "single precision")


def test_kinds_of_numbers_that_are_not_known_are_refused(data: bytes) -> None:
    for kind in (b"I32", b"U32", b"F64", b"C64", b"Q32", b"F99"):
        assert_refused(data.replace(b'"F32"', b'"' + kind + b'"'))


def test_no_source_of_the_rankers_can_unpickle() -> None:
    root = Path(pellucid.__file__).parent
    for path in sorted((root / "surrogates").rglob("*.py")) + sorted((root / "samplers").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from)\s+(pickle|dill|cloudpickle|marshal|shelve)\b", text, re.M), path
        assert "torch.load" not in text, path


def test_a_card_may_be_without_checks(model: RankingEnsemble) -> None:
    again = from_bytes(to_bytes(replace(model, card=Card(("a", "b")))))
    assert again.card == Card(("a", "b"))
