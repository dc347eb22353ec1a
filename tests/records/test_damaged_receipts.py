"""Receipts that are damaged, or of a newer version, are recognised."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records.receipts import ACQUISITION, EVERY, FULL, HYPERPARAMETERS, RANKED, SEVERAL, STARTUP, WARP, every_kind

from pellucid.numerics import expand_integers
from pellucid.provenance import ModelReceipt, ProposedReceipt, Receipt
from pellucid.provenance.version1 import VERSION
from pellucid.words import RecordError


def changed(receipt: Receipt = FULL, **changes: Any) -> str:
    return json.dumps({**json.loads(receipt.to_json()), **changes})


def without(*names: str) -> str:
    data = json.loads(FULL.to_json())
    return json.dumps({name: value for name, value in data.items() if name not in names})


@pytest.mark.parametrize("version", [VERSION + 1, 99, 10**30])
def test_a_receipt_of_a_newer_version_asks_for_an_upgrade(version: int) -> None:
    with pytest.raises(RecordError, match=rf"version {version}, .* up to version {VERSION}: upgrade"):
        Receipt.from_json(changed(version=version, shape_nobody_knows_yet={"a": [1]}))


def test_a_newer_version_is_recognised_before_anything_else_is_read() -> None:
    with pytest.raises(RecordError, match="upgrade pellucid"):
        Receipt.from_json(json.dumps({"version": VERSION + 1}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "null",
        "true",
        "7",
        '"text"',
        "[]",
        "[1, 2]",
        "{}",
        "not json",
        "\x00\x01",
        "[" * 100_000,
        '{"version": null}',
        '{"version": "new"}',
        '{"version": []}',
        '{"version": {}}',
        '{"version": NaN}',
        '{"version": Infinity}',
        '{"version": 1}',
    ],
    ids=lambda text: text[:20] or "nothing",
)
def test_text_that_is_not_a_receipt_is_a_record_error(text: str) -> None:
    with pytest.raises(RecordError):
        Receipt.from_json(text)


@pytest.mark.parametrize("name", ["trial", "kind", "seed", "params", "hyperparameters", "acquisition", "version"])
def test_a_missing_part_is_a_record_error(name: str) -> None:
    with pytest.raises(RecordError):
        Receipt.from_json(without(name))


@pytest.mark.parametrize("length", range(0, len(FULL.to_json()), 37))
def test_a_receipt_cut_short_is_a_record_error(length: int) -> None:
    with pytest.raises(RecordError, match="damaged"):
        Receipt.from_json(FULL.to_json()[:length])


WRONG: list[dict[str, Any]] = [
    {"constraints": [{"name": "memory"}]},
    {"constraints": "memory"},
    {"constraints": [{**json.loads(FULL.to_json())["constraints"][0], "limit": "0"}]},
    {"constraints": [{**json.loads(FULL.to_json())["constraints"][0], "fitted_on": "0-"}]},
    {"constraints": [{**json.loads(FULL.to_json())["constraints"][0], "unknown": 1}]},
    {"objectives": [3]},
    {"ranking": json.loads(RANKED.to_json())["ranking"]},
    {"reason": "it rained"},
    {"models": []},
    {"step": 1},
    {"front": "3-"},
    {"reference": ["far"]},
    {"reference": [math.inf]},
    {"tolerance": -0.1},
    {"tolerance": "small"},
    {"width": -1.0},
    {"trial": "first"},
    {"trial": -1},
    {"trial": 1.5},
    {"trial": None},
    {"kind": "guess"},
    {"kind": None},
    {"kind": ["model"]},
    {"seed": "lucky"},
    {"params": [1, 2]},
    {"params": None},
    {"params": "x"},
    {"direction": "sideways"},
    {"space": ["lr"]},
    {"space": {"kind": 1.5, "lr": 3, "n": 0}},
    {"conditions": ["lr"]},
    {"conditions": {"lr": "kind"}},
    {"conditions": {"lr": ["kind"]}},
    {"conditions": {"lr": ["kind", "codes"]}},
    {"conditions": {"lr": ["unknown", [0]]}},
    {"ordinal": 5},
    {"ordinal": [1, 2]},
    {"fitted_on": 5},
    {"fitted_on": "a-b"},
    {"fitted_on": "5-1"},
    {"fitted_on": "0-999999999999"},
    {"fitted_on": ",".join(["0-499999"] * 3)},
    {"believed": [1]},
    {"pending": [1]},
    {"pending": {"40": "abc"}},
    {"pending": {"forty": [0.5, 0.5, 0.5]}},
    {"pending": {"40": [0.5]}},
    {"pending": {"40": 0.5}},
    {"mean": "high"},
    {"mean": 10**400},
    {"bounds": [10**400, 0, 0]},
    {"pending": {"40": [0.5, 10**400, 0.5]}},
    {"trial": 10**400},
    {"learned_from": 10**400},
    {"sd": []},
    {"predictive_sd": "wide"},
    {"predictive_sd": -0.1},
    {"predictive_sd": float("inf")},
    {"recalibration": 0.5},
    {"recalibration": float("nan")},
    {"latent_sd": {}},
    {"curvature": 3},
    {"curvature": ["steep"]},
    {"learned_from": -1},
    {"learned_from": "all"},
    {"unknown_field": 1},
    {"hyperparameters": None},
    {"hyperparameters": 3},
    {"hyperparameters": []},
    {"hyperparameters": {}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "noise": -1.0}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "noise": None}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "lengthscales": 3}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "lengthscales": [1.0]}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "lengthscales": "abc"}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "nominal": [0, 3]}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "nominal": [0, -3, 0]}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "warp": "log"}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "warp": {"kind": "log"}}},
    {"hyperparameters": {**HYPERPARAMETERS.to_dict(), "warp": {**asdict(WARP), "centre": "a"}}},
    {"acquisition": None},
    {"acquisition": 3},
    {"acquisition": []},
    {"acquisition": {}},
    {"acquisition": {"name": "EI"}},
    {"acquisition": {**asdict(ACQUISITION), "score": "good"}},
    {"acquisition": {**asdict(ACQUISITION), "best": None}},
    {"acquisition": {**asdict(ACQUISITION), "settings": [1]}},
    {"acquisition": {**asdict(ACQUISITION), "weights": "none"}},
    {"acquisition": {**asdict(ACQUISITION), "name": 5}},
]


def label(wrong: dict[str, Any]) -> str:
    """The field, and what is wrong in it."""
    ((name, value),) = wrong.items()
    usual = json.loads(FULL.to_json()).get(name)
    if isinstance(value, dict) and isinstance(usual, dict):
        value = {k: v for k, v in json.loads(json.dumps(value)).items() if usual.get(k) != v} or "{}"
    return f"{name}={json.dumps(value)}"


@pytest.mark.parametrize("wrong", WRONG, ids=label)
def test_a_part_of_the_wrong_form_is_a_record_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        Receipt.from_json(changed(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"direction": "up"}, {"recalibration": 0.5}, {"recalibration": None}, {"best_value": "good"}, {"name": None},
        {"mean": None}, {"latent_sd": None}, {"ceiling": None}, {"fitted_on": "0-"}, {"unknown": 1},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_a_model_of_several_of_the_wrong_form_is_a_record_error(wrong: dict[str, Any]) -> None:
    first, second = json.loads(SEVERAL.to_json())["objectives"]
    for objectives in ([{**first, **wrong}, second], [first, {**second, **wrong}]):
        with pytest.raises(RecordError):
            Receipt.from_json(changed(SEVERAL, objectives=objectives))
    with pytest.raises(RecordError):
        Receipt.from_json(changed(SEVERAL, objectives=[first]))


@every_kind
@pytest.mark.parametrize("kind", ["model", "ranking", "startup", "fallback"])
def test_a_receipt_has_no_fields_of_another_kind(receipt: Receipt, kind: str) -> None:
    if kind != receipt.kind and {kind, receipt.kind} != {"startup", "fallback"}:
        with pytest.raises(RecordError):
            Receipt.from_json(changed(receipt, kind=kind))


OF_MODELS = json.loads(RANKED.to_json()) | json.loads(SEVERAL.to_json()) | json.loads(FULL.to_json())


@pytest.mark.parametrize("name", sorted(OF_MODELS.keys() - {"trial", "kind", "seed", "params", "phase", "version"}))
def test_a_receipt_of_a_sampled_trial_has_no_field_of_a_model(name: str) -> None:
    with pytest.raises(RecordError, match=name):
        Receipt.from_json(changed(STARTUP, **{name: OF_MODELS[name]}))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


@given(st.sampled_from(list(EVERY.values())), st.sampled_from(sorted(FULL.to_dict())), JSON)
def test_any_value_in_a_field_is_accepted_or_a_record_error(before: Receipt, name: str, value: Any) -> None:
    try:
        receipt = Receipt.from_json(changed(before, **{name: value}))
    except RecordError:
        return
    # A receipt that was accepted can be used.
    assert Receipt.from_json(receipt.to_json()).to_json() == receipt.to_json()
    assert str(receipt)
    if isinstance(receipt, ProposedReceipt):
        assert isinstance(expand_integers(receipt.fitted_on), list)
    assert {**receipt.params} == receipt.params or any(value != value for value in receipt.params.values())


@given(st.text(max_size=30))
def test_any_text_is_a_receipt_or_a_record_error(text: str) -> None:
    with pytest.raises(RecordError):
        Receipt.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengthscales": (0.1, 0.0, 1.0)}, "finite and positive"),
        ({"lengthscales": (0.1, -1.0, 1.0)}, "finite and positive"),
        ({"lengthscales": (0.1, math.nan, 1.0)}, "finite and positive"),
        ({"lengthscales": (0.1, math.inf, 1.0)}, "finite and positive"),
        ({"outputscale": 0.0}, "finite and positive"),
        ({"noise": 0.0}, "finite and positive"),
        ({"noise": math.nan}, "finite and positive"),
        ({"y_scale": 0.0}, "finite and positive"),
        ({"y_scale": math.inf}, "finite and positive"),
        ({"y_mean": math.nan}, "finite and positive"),
        ({"y_mean": math.inf}, "finite and positive"),
    ],
)
def test_meaningless_hyperparameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        replace(HYPERPARAMETERS, **change)


def test_a_receipt_needs_what_chose_the_trial() -> None:
    for missing in (without("hyperparameters"), without("acquisition"), changed(SEVERAL, acquisition=None)):
        with pytest.raises(RecordError, match="needs hyperparameters and an acquisition"):
            Receipt.from_json(missing)
    with pytest.raises(RecordError, match="`models` has the wrong form"):
        ModelReceipt(0, 0, {}, models=(), acquisition=ACQUISITION)
    with pytest.raises(RecordError, match="`ranking` has the wrong form"):
        Receipt.from_json(changed(RANKED, ranking=None))
    with pytest.raises(RecordError, match="'model', 'ranking', 'startup' or 'fallback', but got 'guess'"):
        Receipt.from_json(changed(kind="guess"))


@pytest.mark.parametrize(("field", "word"), [("turn", "mine"), ("acquisition", "pi"), ("reference", "first")])
def test_a_ranking_has_words_that_it_can_be_explained_with(field: str, word: str) -> None:
    ranking = {**json.loads(RANKED.to_json())["ranking"], field: word}
    with pytest.raises(RecordError, match="`ranking` has the wrong form"):
        Receipt.from_json(changed(RANKED, ranking=ranking))


@pytest.mark.parametrize("wrong", [{"hyperparameters": {"kernel": "x" * 100_000}}, {"x" * 100_000: 1}])
def test_an_error_does_not_repeat_all_of_a_long_receipt(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecordError) as error:
        Receipt.from_json(changed(**wrong))
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("running", ["", "1", [], [1.0], {}])
def test_a_running_curve_without_value_and_variance_is_a_record_error(running: Any) -> None:
    curves = {"horizon": 4, "learned_from": "0-2", "stopped": "", "running": {"3": running}}
    with pytest.raises(RecordError, match="damaged"):
        Receipt.from_json(changed(curves=curves))


def test_a_record_error_is_a_value_error() -> None:
    """So that callers can catch it without knowing pellucid's errors."""
    assert issubclass(RecordError, ValueError)
