"""Sessions with a real server process, through the client of the package `mcp`."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Answer:
    """The reply to a call: sentences, the same as data (empty for an error), and characters in all."""

    failed: bool
    text: str
    data: dict[str, Any]
    length: int


@dataclass(frozen=True)
class Record:
    """A whole session. `unreadable`: lines on the server's standard output that are no messages."""

    tools: dict[str, Any]
    instructions: str
    answers: list[Answer]
    log: str
    unreadable: list[str]


class _Unreadable(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def session(folder: Path, arguments: Sequence[str], calls: Sequence[Call], mode: str = "auto") -> Record:
    """Start `pellucid mcp` in a folder, list its tools, and make the calls one after the other."""
    unreadable = _Unreadable()
    logger = logging.getLogger("mcp.client.stdio")
    logger.addHandler(unreadable)
    try:
        with (folder / "server.log").open("w+") as log:
            tools, instructions, answers = asyncio.run(_session(folder, arguments, calls, mode, log))
            log.seek(0)
            return Record(tools, instructions, answers, log.read(), unreadable.lines)
    finally:
        logger.removeHandler(unreadable)


async def _session(folder: Path, arguments: Sequence[str], calls: Sequence[Call], mode: str, log: Any) -> Any:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "pellucid.cli", "mcp", *arguments], env=dict(os.environ), cwd=folder
    )
    async with Client(stdio_client(parameters, errlog=log), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        answers = [_answer(await client.call_tool(name, dict(given))) for name, given in calls]
        return tools, client.instructions, answers


def _answer(result: Any) -> Answer:
    texts = [_unmarked(result.content[0].text), *(block.text for block in result.content[1:])]
    data = json.loads(texts[1], parse_constant=_refused) if len(texts) > 1 else {}
    return Answer(result.is_error, texts[0], data, sum(map(len, texts)))


def _unmarked(text: str) -> str:
    """The text between the marks that say that it comes from a study."""
    mark = re.fullmatch(r"<study-data ([0-9a-f]{8})>\n(.*)\n</study-data \1>", text, re.DOTALL)
    assert mark is not None, text
    return mark[2]


def _refused(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
