"""Receipts survive JSON."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import RECEIPT_KEY
from tests.records.receipts import (
    ACQUISITION,
    EVERY,
    FULL,
    HYPERPARAMETERS,
    MODEL,
    RANKED,
    SEVERAL,
    STARTUP,
    WIDE,
    every_kind,
)

import pellucid
from pellucid.answers.recommend import Recommendation
from pellucid.models.states import Hyperparameters, Warp
from pellucid.provenance import AcquisitionState, FallbackReceipt, ModelReceipt, ModelState, Receipt, StartupReceipt

OLD = Path(__file__).parents[1] / "old" / "1.0.0rc1"


@every_kind
def test_the_examples_have_every_field(receipt: Receipt) -> None:
    usual = {each.name: each.default for each in fields(receipt)}
    assert [name for name, value in vars(receipt).items() if value == usual[name]] == ["version"]


@every_kind
def test_a_receipt_survives_json(receipt: Receipt) -> None:
    text = receipt.to_json()
    again = Receipt.from_json(text)
    assert type(again) is type(receipt)
    assert again == receipt
    assert again.to_json() == text
    assert isinstance(again, pellucid.Receipt)


def test_states_survive_json() -> None:
    again = Receipt.from_json(FULL.to_json())
    assert isinstance(again, ModelReceipt)
    (model,) = again.models
    assert str(model.latent_mean) == "-0.0"
    assert isinstance(model.hyperparameters, Hyperparameters)
    assert isinstance(model.hyperparameters.warp, Warp)
    assert isinstance(again.acquisition, AcquisitionState)


@pytest.mark.parametrize("path", sorted(OLD.glob("*.json")), ids=lambda path: path.stem)
def test_receipts_of_the_release_candidate_are_written_as_they_were(path: Path) -> None:
    stored = [stored_text(trial["system_attrs"]) for trial in json.loads(path.read_text(encoding="utf-8"))["trials"]]
    texts = [text for text in stored if text]
    assert texts
    assert [Receipt.from_json(text).to_json() for text in texts] == texts


def stored_text(attributes: dict[str, str]) -> str:
    parts = [attributes.get(f"{RECEIPT_KEY}:{i}", "") for i in range(len(attributes))]
    return "".join(parts)


def test_plain_data_has_the_fields_of_every_kind() -> None:
    flat = [receipt.to_dict() for receipt in EVERY.values()]
    assert {tuple(data) for data in flat} == {tuple(flat[0])}
    assert len(flat[0]) == 37
    one, several, ranking, startup, fallback = flat
    assert (one["kind"], one["mean"], one["direction"], one["objectives"]) == ("model", 12.5, "maximize", ())
    assert (several["mean"], several["direction"]) == (None, "minimize")
    assert [state["mean"] for state in several["objectives"]] == [0.5, 1e9]
    assert (ranking["ranking"]["epochs"], ranking["best_value"], ranking["acquisition"]) == (3, 0.5, None)
    assert (startup["reason"], fallback["reason"]) == ("", "it rained")
    one["params"]["lr"] = 7.0
    assert FULL.params["lr"] == 0.1


def test_a_receipt_of_one_objective_has_the_fields_of_its_model() -> None:
    names = [each.name for each in fields(ModelState) if each.name not in ("name", "ceiling")]
    assert [getattr(FULL, name) for name in names] == [getattr(MODEL, name) for name in names]
    assert (SEVERAL.mean, SEVERAL.sd, SEVERAL.predictive_sd, SEVERAL.hyperparameters) == (None,) * 4
    assert (STARTUP.mean, STARTUP.sd, STARTUP.predictive_sd) == (None,) * 3


def test_a_receipt_has_a_model_of_every_objective() -> None:
    assert SEVERAL.model(1) is SEVERAL.models[1] is SEVERAL.objectives[1]
    assert FULL.model() is MODEL
    assert FULL.model(1) is SEVERAL.model(2) is STARTUP.model() is RANKED.model() is None
    assert FULL.objectives == ()
    said = replace(SEVERAL, look=False, phase="", turn="")
    assert "expected f1 0.50 (sd 0.1) and ms 1000000000 (predictive sd 0.25) there" in str(said)


def test_the_step_of_a_search_is_read_from_its_words() -> None:
    """Version 1 has no field for it."""
    for phase, step in (
        ("Step 2 tunes `n`; `lr` = 3 from trial 5.", 2),
        ("The fallback proposed it: no trial has a value yet. Step 1 tunes `lr`.", 1),
        ("All parameters are tuned, because everything else has been tried.", None),
        ("", None),
    ):
        again = Receipt.from_json(replace(FULL, phase=phase, step=step).to_json())
        assert isinstance(again, ModelReceipt)
        assert again.step == step


@pytest.mark.parametrize(
    "change",
    [
        {"models": (replace(MODEL, mean=0.0, sd=0.0, latent_mean=0.0, latent_sd=0.0),)},
        {"models": (replace(MODEL, mean=None, sd=None),)},
        {"models": (replace(MODEL, hyperparameters=replace(HYPERPARAMETERS, warp=None, nominal=())),)},
        {"models": (replace(MODEL, hyperparameters=replace(HYPERPARAMETERS, warp=WIDE)),)},
        {"params": {"x": math.inf, "y": -math.inf}},
        {"params": {"ümlaut 漢字 \N{GRINNING FACE}": "\u2028\"'\\\n\0"}},
        {"trial": 0, "seed": 0},
        {"seed": -1},
        {"seed": 2**63},
        {"acquisition": replace(ACQUISITION, score=-math.inf)},
        {"params": {}, "believed": "", "pending": {}, "ordinal": ()},
        {"fitted_on": "", "models": (replace(MODEL, fitted_on="", curvature=()),)},
    ],
)
def test_unusual_values_survive_json(change: dict[str, Any]) -> None:
    receipt = replace(FULL, **change)
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_a_nan_parameter_survives_json() -> None:
    again = Receipt.from_json(replace(FULL, params={"x": math.nan}).to_json())
    assert math.isnan(again.params["x"])


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(1e-300, 1e300))
def test_floats_survive_json_to_the_last_bit(mean: float, scale: float) -> None:
    h = replace(HYPERPARAMETERS, y_scale=scale, y_mean=mean)
    receipt = replace(FULL, models=(replace(MODEL, mean=mean, hyperparameters=h),))
    again = Receipt.from_json(receipt.to_json())
    assert again == receipt


def test_json_is_compact_and_leaves_out_empty_fields() -> None:
    data = json.loads(StartupReceipt(3, 1, {"x": 0.5}).to_json())
    assert {"trial", "kind", "seed", "params", "version"} <= data.keys()
    assert not {"hyperparameters", "acquisition", "mean", "fitted_on", "pending", "curvature"} & data.keys()
    assert ", " not in replace(FULL, space={"kind": 0, "lr": 3, "n": 1}).to_json()


def test_hyperparameters_survive_a_dictionary() -> None:
    for h in (HYPERPARAMETERS, replace(HYPERPARAMETERS, warp=None, nominal=())):
        assert Hyperparameters.from_dict(h.to_dict()) == h
        assert Hyperparameters.from_dict(json.loads(json.dumps(h.to_dict()))) == h


def test_records_do_not_change() -> None:
    for record, name in ((FULL, "trial"), (HYPERPARAMETERS, "noise"), (ACQUISITION, "score")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, 1)


def test_a_receipt_prints_as_a_sentence() -> None:
    expected = "Trial 42 maximised WEI; the model expected 12.50 (predictive sd 0.25) there. Step 1 tunes `lr`."
    maximised = replace(FULL, look=False, constraints=())
    assert str(maximised) == f"{expected} It was the turn of `kind` = a."
    feasible = "12.50 (predictive sd 0.25) there, feasible with a chance of 22%. Step"
    assert feasible in str(replace(FULL, look=False))
    assert "Trial 42 maximised WEI" in str(replace(maximised, models=(replace(MODEL, mean=None, sd=None),)))
    looked = "Trial 42 looked elsewhere; the model expected 12.50 (predictive sd 0.25) there, feasible"
    assert str(FULL).startswith(looked)
    assert "cover the space" in str(StartupReceipt(1, 0, {}))
    assert str(FallbackReceipt(1, 0, {}, "of rain")).endswith("because of rain.")


def test_the_sd_in_the_sentence_has_the_name_of_its_field() -> None:
    """Receipts of earlier versions have the sd of the function alone."""
    assert MODEL.predictive_sd != MODEL.sd
    assert f"(predictive sd {MODEL.predictive_sd:.2g}) there" in str(FULL)
    assert f"(sd {MODEL.sd:.2g}) there" in str(replace(FULL, models=(replace(MODEL, predictive_sd=None),)))


def test_a_recommendation_prints_as_a_sentence() -> None:
    text = str(
        Recommendation({"lr": 0.12345, "kind": "a"}, 3, 1.5, 1.0, 2.0, 0.95, 1.25, 10, "minimize", ("Few trials.",))
    )
    for part in ("lr=0.1235", "kind=a", "trial 3", "1.5", "95% interval 1.00 to 2.00", "returned 1.25", "Few trials."):
        assert part in text


def test_equal_lists_of_trials_are_kept_once() -> None:
    state = replace(SEVERAL.models[0], fitted_on=FULL.fitted_on)
    for receipt in (FULL, replace(SEVERAL, models=(state, state))):
        read = Receipt.from_json(receipt.to_json())
        assert isinstance(read, ModelReceipt)
        assert all(each.fitted_on is read.fitted_on for each in read.models)
