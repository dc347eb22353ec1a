"""The program of a peer's process: ``python -I loop.py PEER_FILE``. The package describes the messages.

The file of a peer has ``PACKAGES``, whose versions belong to a result, and a class ``Peer``, made from the first
message, such as a space and a seed. It has ``tell(rows)`` and ``ask()``, or ``answer(message)`` for messages of its
own. This program and those files import nothing of the laboratory.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any, TextIO

from pellucid.words import printable


def private_output() -> TextIO:
    """The stream of the messages; whatever a peer prints goes to stderr instead."""
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return messages


def load(path: str) -> ModuleType:
    spec = spec_from_file_location("peer", path)
    if spec is None or spec.loader is None:
        raise ValueError(printable(f"The file of a peer has to be a Python file; got {path}."))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve(module: ModuleType, lines: TextIO, messages: TextIO) -> None:
    """Answer until the other side closes its end."""

    def answer(content: dict[str, Any]) -> None:
        messages.write(json.dumps(content) + "\n")
        messages.flush()

    first = lines.readline()
    if not first:
        return
    peer = module.Peer(**json.loads(first))
    answer({"versions": {package: version(package) for package in module.PACKAGES}})
    for line in lines:
        message = json.loads(line)
        started = time.process_time()
        content = proposal(peer, message["tell"]) if "tell" in message else peer.answer(message)
        answer({**content, "seconds": time.process_time() - started})


def proposal(peer: Any, rows: list[Any]) -> dict[str, Any]:
    """What the peer proposes next, knowing these trials too."""
    peer.tell(rows)
    return {"params": peer.ask()}


if __name__ == "__main__":
    stream = private_output()
    serve(load(sys.argv[1]), sys.stdin, stream)
