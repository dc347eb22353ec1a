"""Random changes of bytes and of JSON, and texts that would leave a trace if anything ran them as code."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

# Stands for a list in a list in a list … in JSON: Python cannot write what it cannot read.
_DEEP, _LEVELS = "@deep@", 20_000


def code(canary: Path) -> tuple[str, ...]:
    """Texts that create the file if they are evaluated, formatted, unpickled, or given to a shell or a database."""
    touch = f"touch {canary}"
    return (
        f"__import__('os').system('{touch}')",
        f"!!python/object/apply:os.system ['{touch}']",
        f"cos\nsystem\n(S'{touch}'\ntR.",
        f"$({touch})",
        f"; {touch} #",
        f"`{touch}`",
        f"'); ATTACH DATABASE '{canary}' AS x; CREATE TABLE x.y (z); --",
        f"{{{{ ''.__class__.__mro__[1].__subclasses__() }}}}{{% import os %}}{{{{ os.system('{touch}') }}}}",
        "{0.__class__.__init__.__globals__}",
        "%s%s%n%x",
    )


def odd_values(canary: Path) -> tuple[Any, ...]:
    return (
        None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 1e308, -1e308, 5e-324, float("nan"), float("inf"),
        float("-inf"), "", "x", "0", "-1", "model", "0-9999999", ",".join(["0-9999999"] * 50), "9" * 5000,
        "x" * 100_000, "\0", "\ud800", "🙂", [], {}, [[]], [None], {"": None}, [0.0] * 10_000, {"__class__": "object"},
        _DEEP, *code(canary),
    )  # fmt: skip


def dumps(value: Any) -> str:
    return json.dumps(value).replace(f'"{_DEEP}"', "[" * _LEVELS + "]" * _LEVELS)


def changed_bytes(rng: random.Random, data: bytes, within: int | None = None) -> bytes:
    """One to four changes: flip a bit, set a byte, delete, repeat, cut off, or put a part elsewhere. `within`: the part
    from the start that most changes are made in."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        end = min(within or len(out), len(out)) if rng.random() < 0.8 else len(out)
        if end == 0:
            return bytes(out)
        at, length = rng.randrange(end), rng.choice((1, 1, 2, 8, 64))
        match rng.randrange(6):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at] = rng.randrange(256)
            case 2:
                del out[at : at + length]
            case 3:
                out[at:at] = out[at : at + length]
            case 4:
                del out[at:]
            case _:
                start = rng.randrange(end)
                out[at:at] = out[start : start + length]
    return bytes(out)


def changed_structure(rng: random.Random, value: Any, odd: Sequence[Any]) -> Any:
    """JSON with one to three changes: an entry replaced, removed, added, wrapped, or put in another's place."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = rng.choice(list(_places(value)) or [([value], 0)])
        match rng.randrange(8):
            case 0:
                del holder[key]
            case 1:
                holder[key] = [holder[key]]
            case 2 if isinstance(holder[key], (list, tuple)):
                holder[key] = [*holder[key], deepcopy(rng.choice(odd))]
            case 2 if isinstance(holder[key], dict):
                holder[key] = {
                    **holder[key],
                    rng.choice(("x", "version", "__class__", "self")): deepcopy(rng.choice(odd)),
                }
            case 3:
                other, name = rng.choice(list(_places(value)))
                holder[key] = json.loads(json.dumps(other[name]))
            case 4 if isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
                factor = rng.choice((-1, 1e-300, 1e300, 1.5))
                huge = abs(holder[key]) > sys.float_info.max
                holder[key] = -holder[key] if huge else holder[key] * factor
            case _:
                holder[key] = deepcopy(rng.choice(odd))  # Or the next change would change it for all.
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every entry of nested lists and dictionaries, as the one that holds it and its key there."""
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        places += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys if isinstance(holder[key], (dict, list))]
    return places
