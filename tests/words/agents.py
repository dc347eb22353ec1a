"""Every tool of `pellucid mcp`, with right and wrong arguments, about hostile studies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from optuna.study import Study
from tests.words.commands import FILE, stored
from tests.words.recorder import Recorder, name
from tests.words.studies import COST, DEPTH, LIMIT, LOSS, LR, OPT

from pellucid.surfaces.cli.mcp import answering
from pellucid.surfaces.cli.mcp.session import Session
from pellucid.surfaces.cli.mcp.tools import tools_of
from pellucid.surfaces.cli.storage.places import place_of

HOSTILE = name("asked")


def drive_agents(recorder: Recorder, folder: Path, studies: Sequence[Study]) -> None:
    url = stored(folder, "asked", studies)
    reports = folder / f"reports{FILE}"
    reports.mkdir()
    session = Session(place_of(url), reports, may_enqueue=True)
    ours, two = studies[0].study_name, studies[1].study_name
    right: dict[str, list[Any]] = {
        "study": [ours, two, HOSTILE, None, 3],
        "objective": [None, LOSS, COST, LIMIT, HOSTILE],
        "goal": [None, "best", HOSTILE],
        "trial": [11, 99, HOSTILE],
        "params": [[LR], [LR, DEPTH], [HOSTILE], HOSTILE],
        "containing": [None, HOSTILE, "x"],
    }
    values: list[Any] = [
        {LR: 0.1}, {LR: HOSTILE}, {LR: 50}, {HOSTILE: 1}, {OPT: HOSTILE}, {DEPTH: 2.5}, {DEPTH: HOSTILE}, HOSTILE, {},
    ]  # fmt: skip
    for tool in tools_of(session):
        for argument in tool.arguments:
            usual = {"study": ours}
            if tool.name == "enqueue_trial":
                usual["params"] = {LR: 0.1}  # type: ignore[assignment]
            needed = {each.name: right[each.name][0] for each in tool.arguments if each.required and each.name in right}
            for value in values if tool.name == "enqueue_trial" and argument.name == "params" else right[argument.name]:
                hear(recorder, session, tool.name, {**needed, **usual, argument.name: value})
        hear(recorder, session, tool.name, {HOSTILE: HOSTILE})
    hear(recorder, session, HOSTILE, {})
    hear(recorder, session, "ranges", {"study": two})
    link = reports / next(iter(file.name for file in reports.iterdir()))
    link.unlink()
    link.symlink_to(folder / "elsewhere")
    hear(recorder, session, "report", {"study": ours})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answering, "checked", lambda *_: _raise(RuntimeError(HOSTILE)))
        hear(recorder, session, "ranges", {})
        patch.setattr(answering, "checked", lambda *_: _raise(OSError(5, HOSTILE, HOSTILE)))
        hear(recorder, session, "ranges", {})
    from pellucid.surfaces.cli.mcp.queueing import checked_values

    recorder.attempt(lambda: checked_values({HOSTILE: object()}, {HOSTILE: 1}))  # type: ignore[dict-item]


def _raise(error: Exception) -> None:
    raise error


def hear(recorder: Recorder, session: Session, tool: str, arguments: Mapping[str, Any]) -> None:
    reply = answering.reply_to(session, tool, arguments)
    recorder.hear(reply.texts[0], f"tool {tool[:20]!r}")
    recorder.hear(answering.marked(reply.texts[0]), "a marked reply")
    for text in reply.texts[1:]:
        recorder.hear(text, f"JSON of tool {tool[:20]!r}")
        json.loads(text)
        recorder.hear_data(answering.structured(reply), f"data of tool {tool[:20]!r}")
