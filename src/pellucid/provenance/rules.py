"""The rules that fields of a stored receipt must satisfy before anything is built on them.

Read from JSON, a field can hold anything, regardless of its annotation.
"""

from __future__ import annotations

import math
import re
from typing import Any

# JSON can hold integers that no array and no storage can.
_LARGEST_INTEGER = 2**63
# Trials that all spans of a text name together: far more than a study has, and few enough for the memory.
_MOST_TRIALS = 1_000_000


def is_number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < _LARGEST_INTEGER
    return isinstance(value, float)


def is_finite_from(value: Any, low: float) -> bool:
    return is_number(value) and low <= value < math.inf


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_INTEGER


def is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def is_spans(text: Any) -> bool:
    """'0-24,26', with no spans so long that expanding them could exhaust the memory."""
    if not isinstance(text, str) or (text and not re.fullmatch(r"\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*", text)):
        return False
    spans = [span.partition("-") for span in text.split(",") if "-" in span]
    lengths = [int(last) - int(first) for first, _, last in spans]
    return all(length >= 0 for length in lengths) and sum(lengths) < _MOST_TRIALS


def is_conditions(conditions: Any, space: dict[str, Any]) -> bool:
    """child -> [parent, [codes]] or [parent, low, high], both of them in the space."""
    if not isinstance(conditions, dict) or not conditions.keys() <= space.keys():
        return False
    for rule in conditions.values():
        if not isinstance(rule, (list, tuple)) or len(rule) not in (2, 3) or rule[0] not in space:
            return False
        if len(rule) == 3 and not all(map(is_number, rule[1:])):
            return False
        if len(rule) == 2 and not (isinstance(rule[1], list) and all(map(is_count, rule[1]))):
            return False
    return True


def is_setting(value: Any) -> bool:
    """A number, a word, true or false, or a list of these and of such lists."""
    if isinstance(value, list):
        return all(entry is not None and is_setting(entry) for entry in value)
    return is_plain(value)


def is_acquisition(state: dict[str, Any]) -> bool:
    return (
        isinstance(state["name"], str)
        and all(isinstance(state[part], dict) for part in ("settings", "weights", "terms"))
        and all(map(is_setting, state["settings"].values()))
        and all(is_number(value) for part in ("weights", "terms") for value in state[part].values())
        and is_number(state["score"])
        and is_number(state["best"])
        and isinstance(state["learns_about"], str)
    )


def is_policy(state: dict[str, Any]) -> bool:
    return (
        isinstance(state["name"], str)
        and isinstance(state["numbers"], dict)
        and all(map(is_number, state["numbers"].values()))
        and all(map(is_number, (value for row in state["points"] for value in row)))
    )


def is_ranking(state: dict[str, Any]) -> bool:
    return (
        all(isinstance(state[name], str) for name in ("model", "turn", "acquisition", "reference"))
        and state["turn"] in ("transferred", "tuned", "alone")
        and state["acquisition"] in ("mean", "ucb", "ei")
        and state["reference"] in ("incumbent", "last")
        and all(map(is_count, (state["epochs"], state["candidates"], state["studies"])))
        and is_number(state["rank"])
        and is_number(state["sd"])
    )


def is_pending(pending: Any, d: int) -> bool:
    return isinstance(pending, dict) and all(
        number.isdigit() and len(row) == d and all(map(is_number, row)) for number, row in pending.items()
    )


def is_curves(state: dict[str, Any]) -> bool:
    return (
        isinstance(state["horizon"], int)
        and not isinstance(state["horizon"], bool)
        and is_spans(state["learned_from"])
        and is_spans(state["stopped"])
        and isinstance(state["running"], dict)
        and all(
            number.isdigit() and len(value) == 2 and is_finite_from(value[0], -math.inf) and is_finite_from(value[1], 0)
            for number, value in state["running"].items()
        )
    )


def is_constraint(state: dict[str, Any], d: int) -> bool:
    numbers = ("limit", "zero", "mean", "sd", "latent_mean", "latent_sd", "probability")
    return (
        isinstance(state["name"], str)
        and len(state["hyperparameters"].lengthscales) == d
        and is_spans(state["fitted_on"])
        and is_count(state["learned_from"])
        and all(is_number(state[name]) for name in numbers)
        and all(map(is_number, state["curvature"]))
    )


def is_model(state: dict[str, Any], d: int, checked: str, *, alone: bool) -> bool:
    """The model of an objective. What the only model of a receipt predicted need not be known. `checked`: trials that
    most models were fitted on, and whose form is checked once."""
    h = state["hyperparameters"]
    return (
        isinstance(state["name"], str)
        and state["direction"] in ("minimize", "maximize")
        and len(h.lengthscales) == d
        and len(h.nominal) in (0, d)
        and (state["fitted_on"] is checked or is_spans(state["fitted_on"]))
        and is_count(state["learned_from"])
        and all(
            is_number(value) or (alone and value is None)
            for value in (state["mean"], state["sd"], state["latent_mean"], state["latent_sd"], state["ceiling"])
        )
        and (state["best_value"] is None or is_number(state["best_value"]))
        and (state["predictive_sd"] is None or is_finite_from(state["predictive_sd"], 0.0))
        and (is_finite_from(state["recalibration"], 1.0) or (alone and state["recalibration"] is None))
        and all(map(is_number, state["curvature"]))
    )
