"""Receipts that cannot be read: they are reported and left out, and the study goes on."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from optuna.trial import create_trial
from tests.helpers import (
    COMPLETE,
    RECEIPT_KEY,
    RUNNING,
    assert_went_on,
    bowl,
    last_receipt,
    messages,
    new_study,
    states,
    wide,
)
from tests.study.receipts import assert_goes_on, assert_left_out, chunked, edited, healthy, receipt_of, with_receipts

import pellucid

NAN, INF = math.nan, math.inf


# ------------------------------------------------------------- receipts that cannot be read (any more)


def test_the_receipts_of_a_healthy_study_are_read_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({})
    assert_left_out(study, [], caplog)
    assert messages(caplog) == []


@pytest.mark.parametrize("number", [7, 4, 1], ids=["last", "middle", "startup"])
def test_a_receipt_of_a_newer_version_is_reported_and_left_out(number: int, caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({number: edited(number, {"version": 99, "something": "new"})})
    assert_goes_on(study)
    assert_left_out(study, [number], caplog)
    assert any("upgrade pellucid" in message for message in messages(caplog))


def test_rebuilding_from_a_receipt_of_a_newer_version_says_what_to_do() -> None:
    study = with_receipts({6: edited(6, {"version": 99})})
    with pytest.raises(ValueError, match="upgrade pellucid"):
        pellucid.rebuild(study, 6)


def test_every_receipt_may_be_of_a_newer_version(caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({i: {f"{RECEIPT_KEY}:0": '{"version": 2000, "secret": [1, 2]}'} for i in range(8)})
    assert_goes_on(study)
    assert_left_out(study, range(8), caplog)


DAMAGED = {
    "empty": "",
    "truncated": '{"trial":7,"kind":"model","seed":0,"par',
    "no JSON": "\x00\x01 not JSON",
    "list": "[]",
    "number": "3",
    "null": "null",
    "string": '"receipt"',
    "no version": '{"trial": 7, "kind": "model"}',
    "only a version": '{"version": 1}',
    "infinite version": '{"version": Infinity}',
    "version in words": '{"version": "one"}',
    "deeply nested": "[" * 100_000,
}


@pytest.mark.parametrize("number", [7, 4], ids=["last", "middle"])
@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_text_that_is_not_a_receipt_is_reported_and_left_out(
    text: str, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    study = with_receipts({number: {f"{RECEIPT_KEY}:0": text}})
    assert_goes_on(study)
    assert_left_out(study, [number], caplog)


@pytest.mark.parametrize("value", [17, None, ["a"], {"a": 1}, True, 0.5], ids=repr)
def test_a_receipt_that_is_not_text_is_reported_and_left_out(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({7: {f"{RECEIPT_KEY}:0": value}})
    assert_goes_on(study)
    assert_left_out(study, [7], caplog)


WRONG: dict[str, dict[str, Any]] = {
    "trial": {"trial": "seven"},
    "kind": {"kind": "magic"},
    "kind type": {"kind": 5},
    "seed": {"seed": [1]},
    "params": {"params": 3},
    "params list": {"params": ["x", "y"]},
    "params missing": {"params": ...},
    "space list": {"space": [0, 1]},
    "space short": {"space": {"x": 0}},
    "space long": {"space": {"x": 0, "y": 0, "z": 0}},
    "space values": {"space": {"x": "zero", "y": None}},
    "conditions": {"conditions": ["x"]},
    "condition": {"conditions": {"x": 5}},
    "ordinal": {"ordinal": 3},
    "fitted_on": {"fitted_on": 5},
    "fitted_on words": {"fitted_on": "all of them"},
    "believed": {"believed": {"a": 1}},
    "pending": {"pending": "none"},
    "pending row": {"pending": {"3": 0.5}},
    "pending words": {"pending": {"3": ["a", "b"]}},
    "pending length": {"pending": {"3": [0.5]}},
    "hyperparameters": {"hyperparameters": "good ones"},
    "hyperparameters missing": {"hyperparameters": ...},
    "acquisition": {"acquisition": "EI"},
    "acquisition missing": {"acquisition": ...},
    "acquisition empty": {"acquisition": {}},
    "mean": {"mean": "high"},
    "latent_mean": {"latent_mean": [1.0]},
    "curvature": {"curvature": "steep"},
    "curvature words": {"curvature": ["a", "b", "c", "d", "e", "f"]},
    "direction": {"direction": "sideways"},
    "unknown field": {"surprise": 1},
}


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "lengthscale words": {"lengthscales": ["a", "b"]},
    "too few lengthscales": {"lengthscales": [1.0]},
    "lengthscale NaN": {"lengthscales": [NAN, 1.0]},
    "lengthscale negative": {"lengthscales": [-1.0, 1.0]},
    "noise zero": {"noise": 0.0},
    "outputscale null": {"outputscale": None},
    "y_scale infinite": {"y_scale": INF},
    "nominal words": {"nominal": "three"},
    "nominal infinite": {"nominal": [INF, 0]},
    "too few nominal": {"nominal": [3]},
    "warp kind": {"warp": {"kind": "none"}},
    "warp number": {"warp": 3},
}


def wrong_receipts() -> dict[str, dict[str, str]]:
    hyperparameters = json.loads(receipt_of(7))["hyperparameters"]
    wrong = WRONG | {k: {"hyperparameters": {**hyperparameters, **v}} for k, v in IMPOSSIBLE.items()}
    return {name: edited(7, changes) for name, changes in wrong.items()}


@pytest.mark.parametrize("name", [*WRONG, *IMPOSSIBLE])
def test_a_study_goes_on_after_a_receipt_with_a_wrong_field(name: str) -> None:
    assert_goes_on(with_receipts({7: wrong_receipts()[name]}))


@pytest.mark.parametrize("name", [*WRONG, *IMPOSSIBLE])
def test_a_receipt_with_a_wrong_field_is_reported_and_left_out(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert_left_out(with_receipts({7: wrong_receipts()[name]}), [7], caplog)


@pytest.mark.parametrize(
    ("field", "key"), [("hyperparameters", "kernel"), ("acquisition", "name")], ids=["kernel", "acquisition"]
)
def test_rebuilding_with_a_part_that_this_version_does_not_know_names_it(field: str, key: str) -> None:
    changed = {**json.loads(receipt_of(7))[field], key: "from-the-future"}
    study = with_receipts({7: edited(7, {field: changed})})
    with pytest.raises(ValueError, match="from-the-future"):
        pellucid.rebuild(study, 7)
    assert_goes_on(study)


def test_a_receipt_of_a_trial_that_has_another_number_now_is_not_rebuilt_from() -> None:
    """Trials copied into another study: what their receipts call trial 3 may be a different trial there."""
    study = new_study()
    for trial in healthy()[1:]:
        study.add_trial(trial)
    assert last_receipt(study).trial == 7
    with pytest.raises(ValueError, match="receipt"):
        pellucid.rebuild(study, 6)


def test_a_study_of_trials_copied_from_another_goes_on() -> None:
    study = new_study()
    for trial in healthy()[3:]:
        study.add_trial(trial)
    study.optimize(bowl, n_trials=4)
    assert states(study) == [COMPLETE] * 9
    newest = pellucid.receipts(study)[-4:]
    assert [(receipt.trial, receipt.kind) for receipt in newest] == [(i, "model") for i in range(5, 9)]


@pytest.mark.parametrize("lost", [0, -1], ids=["first", "last"])
def test_a_receipt_with_a_part_missing_is_reported_and_left_out(lost: int, caplog: pytest.LogCaptureFixture) -> None:
    whole = chunked(receipt_of(7, wide))
    assert len(whole) >= 2
    del whole[f"{RECEIPT_KEY}:{len(whole) - 1 if lost else 0}"]
    study = with_receipts({7: whole}, wide)
    assert_goes_on(study, wide)
    assert_left_out(study, [7], caplog)


@pytest.mark.parametrize(
    "attributes",
    [
        {f"{RECEIPT_KEY}:0": '{"version": 2000}'},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"ki'},
        {f"{RECEIPT_KEY}:0": 12},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"kind":"startup","seed":0,"params":5,"version":1}'},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"kind":"startup","seed":0,"params":{"x":"a","y":[]},"version":1}'},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"kind":"startup","seed":0,"params":{"x":1e9,"z":0},"version":1}'},
    ],
    ids=["newer", "truncated", "no text", "params type", "param types", "outside"],
)
def test_a_study_goes_on_beside_a_running_trial_with_an_unreadable_receipt(attributes: dict[str, Any]) -> None:
    study = with_receipts({})
    study.add_trial(create_trial(state=RUNNING, system_attrs=attributes))
    study.optimize(bowl, n_trials=4)
    assert_went_on(study, [COMPLETE] * 8 + [RUNNING] + [COMPLETE] * 4, n_model=4)


def test_a_model_that_has_seen_no_trial_is_not_explained() -> None:
    study = with_receipts({5: edited(5, {"fitted_on": ""})})
    with pytest.raises(ValueError, match="receipt of trial 5 is damaged: it names no trial that its model had seen"):
        pellucid.explain_proposal(study, 5)
