"""Receipts survive JSON, and damage is recognised."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.models.states import Hyperparameters, Warp
from pellucid.numerics import expand_integers
from pellucid.records import (
    RECEIPT_VERSION,
    AcquisitionState,
    ConstraintState,
    CurveState,
    ObjectiveState,
    PolicyState,
    RankingState,
    Receipt,
    Recommendation,
)
from pellucid.words import RecordError

WARP = Warp("log", centre=-1.5, spread=2.0, shape=0.01, low=-1.5, high=1e3)


HYPERPARAMETERS = Hyperparameters(
    kernel="matern32",
    lengthscales=(0.1, 1 / 3, 2e-5),
    outputscale=1.7,
    noise=1e-7,
    y_mean=-3.25,
    y_scale=0.1 + 0.2,
    warp=WARP,
    nominal=(0, 3, 0),
)


ACQUISITION = AcquisitionState(
    name="WEI",
    settings={"alpha": 0.3, "lam": None},
    weights={"exploit": 0.3, "explore": 0.7},
    terms={"exploit": -1e-200, "explore": 0.1},
    score=-1e50,
    best=-0.75,
)


# Every field differs from its default.
FULL = Receipt(
    trial=42,
    kind="model",
    phase="Step 1 tunes `lr`.",
    turn="It was the turn of `kind` = a.",
    look=True,
    seed=7,
    params={"lr": 0.1, "kind": "a", "n": 3, "flag": True, "nothing": None},
    reason="because",
    direction="maximize",
    space={"kind": 0, "lr": 3, "n": '{"name": "IntDistribution"}'},
    conditions={"lr": ["kind", [0, 2]], "n": ["lr", 0.25, 1.0]},
    ordinal=("n",),
    fitted_on="0-24,26",
    curves=CurveState(52, "0-24", "3,7-9", {"41": (-0.5, 1 / 3)}),
    believed="25",
    pending={"40": (0.5, 0.25, 1.0), "41": (0.0, 1 / 3, 0.1)},
    hyperparameters=HYPERPARAMETERS,
    acquisition=ACQUISITION,
    mean=12.5,
    sd=0.001,
    predictive_sd=0.25,
    recalibration=1.5,
    latent_mean=-0.0,
    latent_sd=1e-12,
    curvature=(1.0, -0.25, 3.5e-7),
    learned_from=26,
    best_value=0.875,
    policy=PolicyState("Portfolio", {"alpha": 0.25, "gain 0": -1e-9}, ((0.5, 1 / 3), (0.0, 1.0))),
    bounds=(0.25, 1 / 3, -1e5),
    constraints=(
        ConstraintState("memory", HYPERPARAMETERS, 0.5, "0-24", 25, -1.5, 0.25, -2.0, 1 / 3, 0.9, -0.5, (1.0, 0.5)),
        ConstraintState("time", HYPERPARAMETERS, 0.0, "3,7", 2, 1e9, 1e-9, 0.0, 1.0, 0.25),
    ),
    objectives=(
        ObjectiveState(
            "f1", "maximize", HYPERPARAMETERS, "0-24", 25, 0.5, 0.1, None, 1.0, -0.0, 1 / 3, None, 5.5, (2.0,)
        ),
        ObjectiveState("ms", "minimize", HYPERPARAMETERS, "3,7", 2, 1e9, 1e-9, 0.25, 1.5, 0.0, 1.0, -3.0, 1e308),
    ),
    front="3,7-9",
    reference=(0.5, 1 / 3),
    tolerance=0.002,
    width=0.5,
    ranking=RankingState("0123456789abcdef", "tuned", 3, "ei", "last", 1.5, 0.25, 1024, 7),
)

ONE = replace(FULL, objectives=())


# ------------------------------------------------------------------------------------------ round trip


def test_the_example_has_every_field() -> None:
    plain = Receipt(0, "startup", 0, {})
    same = [name for name, value in asdict(FULL).items() if value == asdict(plain)[name]]
    assert same == ["version"]


def test_a_receipt_survives_json() -> None:
    text = FULL.to_json()
    again = Receipt.from_json(text)
    assert again == FULL
    assert again.to_json() == text
    assert str(again.latent_mean) == "-0.0"
    assert isinstance(again.hyperparameters, Hyperparameters)
    assert isinstance(again.hyperparameters.warp, Warp)
    assert isinstance(again.acquisition, AcquisitionState)


def test_a_receipt_of_several_objectives_speaks_about_each_of_them() -> None:
    several = replace(FULL, kind="model", hyperparameters=None, mean=None, sd=None, look=False, phase="", turn="")
    about = several.about(1)
    assert (about.mean, about.sd, about.predictive_sd, about.recalibration) == (1e9, 1e-9, 0.25, 1.5)
    assert (about.direction, about.fitted_on, about.learned_from, about.best_value) == ("minimize", "3,7", 2, -3.0)
    assert about.hyperparameters == HYPERPARAMETERS
    assert about.objectives == several.objectives
    assert about.params == several.params
    assert "expected f1 0.50 (sd 0.1) and ms 1000000000 (predictive sd 0.25) there" in str(several)
    assert FULL.about(2) is FULL
    with pytest.raises(RecordError, match="needs hyperparameters"):
        replace(several, objectives=several.objectives[:1])


@pytest.mark.parametrize("kind", ["startup", "fallback"])
def test_a_receipt_without_a_model_survives_json(kind: str) -> None:
    receipt = Receipt(0, kind, 0, {}, reason="it rained")
    assert Receipt.from_json(receipt.to_json()) == receipt


@pytest.mark.parametrize(
    "change",
    [
        {"mean": 0.0, "sd": 0.0, "latent_mean": 0.0, "latent_sd": 0.0},
        {"mean": None, "sd": None},
        {"hyperparameters": replace(HYPERPARAMETERS, warp=None, nominal=())},
        {"hyperparameters": replace(HYPERPARAMETERS, warp=Warp("yeo-johnson", 0.0, 1e-300, 0.0, -1e306, 1e306))},
        {"params": {"x": math.inf, "y": -math.inf}},
        {"params": {"ümlaut 漢字 \N{GRINNING FACE}": "\u2028\"'\\\n\0"}},
        {"trial": 0, "seed": 0},
        {"seed": -1},
        {"seed": 2**63},
        {"acquisition": replace(ACQUISITION, score=-math.inf)},
        {"params": {}, "fitted_on": "", "believed": "", "pending": {}, "curvature": (), "ordinal": ()},
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
    receipt = replace(FULL, mean=mean, hyperparameters=replace(HYPERPARAMETERS, y_scale=scale, y_mean=mean))
    again = Receipt.from_json(receipt.to_json())
    assert again == receipt


def test_json_is_compact_and_leaves_out_empty_fields() -> None:
    data = json.loads(Receipt(3, "startup", 1, {"x": 0.5}).to_json())
    assert {"trial", "kind", "seed", "params", "version"} <= data.keys()
    assert not {"hyperparameters", "acquisition", "mean", "fitted_on", "pending", "curvature"} & data.keys()
    assert ", " not in replace(FULL, reason="", space={"kind": 0, "lr": 3, "n": 1}).to_json()


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
    maximised = replace(ONE, look=False, constraints=())
    assert str(maximised) == f"{expected} It was the turn of `kind` = a."
    feasible = "12.50 (predictive sd 0.25) there, feasible with a chance of 22%. Step"
    assert feasible in str(replace(ONE, look=False))
    assert "Trial 42 maximised WEI" in str(replace(maximised, mean=None, sd=None))
    looked = "Trial 42 looked elsewhere; the model expected 12.50 (predictive sd 0.25) there, feasible"
    assert str(ONE).startswith(looked)
    assert "cover the space" in str(Receipt(1, "startup", 0, {}))
    assert str(Receipt(1, "fallback", 0, {}, "of rain")).endswith("because of rain.")


def test_the_sd_in_the_sentence_has_the_name_of_its_field() -> None:
    """Receipts of earlier versions have the sd of the function alone."""
    assert ONE.predictive_sd != ONE.sd
    assert f"(predictive sd {ONE.predictive_sd:.2g}) there" in str(ONE)
    assert f"(sd {ONE.sd:.2g}) there" in str(replace(ONE, predictive_sd=None))


def test_a_recommendation_prints_as_a_sentence() -> None:
    text = str(
        Recommendation({"lr": 0.12345, "kind": "a"}, 3, 1.5, 1.0, 2.0, 0.95, 1.25, 10, "minimize", ("Few trials.",))
    )
    for part in ("lr=0.1235", "kind=a", "trial 3", "1.5", "95% interval 1.00 to 2.00", "returned 1.25", "Few trials."):
        assert part in text


def test_equal_lists_of_trials_are_kept_once() -> None:
    state = replace(FULL.objectives[0], fitted_on=FULL.fitted_on)
    read = Receipt.from_json(replace(FULL, objectives=(state, state)).to_json())
    assert all(each.fitted_on is read.fitted_on for each in read.objectives)


# ---------------------------------------------------------------------------------------------- damage


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(ONE.to_json()), **fields})


def without(*names: str) -> str:
    data = json.loads(ONE.to_json())
    return json.dumps({name: value for name, value in data.items() if name not in names})


@pytest.mark.parametrize("version", [RECEIPT_VERSION + 1, 99, 10**30])
def test_a_receipt_of_a_newer_version_asks_for_an_upgrade(version: int) -> None:
    with pytest.raises(RecordError, match=rf"version {version}, .* up to version {RECEIPT_VERSION}: upgrade"):
        Receipt.from_json(changed(version=version, shape_nobody_knows_yet={"a": [1]}))


def test_a_newer_version_is_recognised_before_anything_else_is_read() -> None:
    with pytest.raises(RecordError, match="upgrade pellucid"):
        Receipt.from_json(json.dumps({"version": RECEIPT_VERSION + 1}))


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
    {"objectives": [{**json.loads(FULL.to_json())["objectives"][0], "direction": "up"}]},
    {"objectives": [{**json.loads(FULL.to_json())["objectives"][0], "recalibration": 0.5}]},
    {"objectives": [{**json.loads(FULL.to_json())["objectives"][0], "best_value": "good"}]},
    {"objectives": [{**json.loads(FULL.to_json())["objectives"][0], "name": None}]},
    {"objectives": [3]},
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


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


@given(st.sampled_from(sorted(asdict(FULL))), JSON)
def test_any_value_in_a_field_is_accepted_or_a_record_error(name: str, value: Any) -> None:
    try:
        receipt = Receipt.from_json(changed(**{name: value}))
    except RecordError:
        return
    # A receipt that was accepted can be used.
    assert Receipt.from_json(receipt.to_json()).to_json() == receipt.to_json()
    assert str(receipt)
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


def test_a_model_receipt_needs_a_model() -> None:
    with pytest.raises(RecordError, match="needs hyperparameters and an acquisition"):
        Receipt(0, "model", 0, {})
    with pytest.raises(RecordError, match="needs a ranking"):
        Receipt(0, "ranking", 0, {})
    with pytest.raises(RecordError, match="'model', 'ranking', 'startup' or 'fallback', but got 'guess'"):
        Receipt(0, "guess", 0, {})


@pytest.mark.parametrize(("field", "word"), [("turn", "mine"), ("acquisition", "pi"), ("reference", "first")])
def test_a_ranking_has_words_that_it_can_be_explained_with(field: str, word: str) -> None:
    ranking = {**json.loads(ONE.to_json())["ranking"], field: word}
    with pytest.raises(RecordError, match="`ranking` has the wrong form"):
        Receipt.from_json(changed(ranking=ranking))


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
