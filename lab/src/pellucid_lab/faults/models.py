"""Ranking models in files that somebody has changed: refused in a sentence, or a model whose scores are finite."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Say
from pellucid_lab.faults.examples import model_data
from pellucid_lab.faults.mutations import changed_bytes, changed_structure, code, dumps, odd_values
from pellucid_lab.faults.receipts import tried_in_a_child

_KEY = "pellucid:ranker"
# One file in so many is read from a disk instead of from memory.
_ON_DISK = 20


def run_models(task: FaultTask) -> Tally:
    """`size` files, changed as bytes, in the JSON of their header (structure), or made up to be executed (foreign)."""
    data = model_data()
    return tried_in_a_child(task, lambda folder, say: _changed(task, data, folder, say))


def _changed(task: FaultTask, data: bytes, folder: Path, say: Say) -> dict[str, Any]:
    tally, rng = Tally(), random.Random(f"{task.case} {task.chunk}")
    odd, foreign = odd_values(folder / "canary"), [text.encode() for text in code(folder / "canary")]
    for number in range(task.size):
        match task.case:
            case "bytes":
                changed = changed_bytes(rng, data, within=8 + int.from_bytes(data[:8], "little"))
            case "structure":
                changed = with_changed_header(rng, data, odd)
            case _:
                start = rng.choice((b"", b"\x80\x04", b"PK\x03\x04", data[:8], len(data).to_bytes(8, "little")))
                changed = start + b"".join(rng.choices([*foreign, data[8:], b"\0" * 1000], k=rng.randrange(1, 4)))
        tally.tried += 1
        try_to_load(tally, changed, folder / "model" if number % _ON_DISK == 0 else None)
        say(number)
    return asdict(tally)


def with_changed_header(rng: random.Random, data: bytes, odd: tuple[Any, ...]) -> bytes:
    """Changes in the header of safetensors, or in our own header inside it."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    if rng.random() < 0.3:
        header = changed_structure(rng, header, odd)
    else:
        own = changed_structure(rng, json.loads(header["__metadata__"][_KEY]), odd)
        header["__metadata__"][_KEY] = dumps(own)
    text = dumps(header).encode(errors="surrogatepass")
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def try_to_load(tally: Tally, data: bytes, file: Path | None) -> None:
    from pellucid.models.ranking.files import ModelFileError, from_bytes, load

    try:
        if file is None:
            model = from_bytes(data, "A file")
        else:
            file.write_bytes(data)
            model = load(file)
    except ModelFileError as error:
        tally.count("files that were refused")
        if not str(error).endswith("."):
            tally.crashes += 1
            tally.note(f"not a sentence: {error}")
        return
    except Exception as error:
        tally.crashes += 1
        tally.note(f"loading: {type(error).__name__}: {error}")
        return
    try_to_score(tally, model)


def try_to_score(tally: Tally, model: Any) -> None:
    import numpy as np

    tally.count("files that could still be used")
    try:
        X = model.space.canonical(np.random.default_rng(0).random((6, len(model.space))))
        scores = model.fit(X[:0], np.zeros(0)).scores(X)
        if not np.isfinite(scores).all():
            tally.unusable += 1
            tally.note("scores that are not finite")
    except Exception as error:
        tally.crashes += 1
        tally.note(f"scoring: {type(error).__name__}: {error}")
