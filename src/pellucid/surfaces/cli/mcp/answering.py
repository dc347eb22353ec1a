"""From a call to a reply of a bounded size. Whatever goes wrong becomes one sentence."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.mcp.arguments import checked
from pellucid.surfaces.cli.mcp.bounds import bounded_json, bounded_text
from pellucid.surfaces.cli.mcp.session import Reply, Session
from pellucid.surfaces.cli.mcp.tools import Tool, tool_called, tools_of
from pellucid.surfaces.cli.redaction import redacted
from pellucid.words import printable, printable_lines, printable_traceback

_logger = logging.getLogger("pellucid")
# Begins and ends what comes from a study. The token is another one in every reply, so that no name can end it.
MARK = "study-data"


def reply_to(session: Session, name: str, arguments: Mapping[str, Any]) -> Reply:
    """The reply to a call of a tool by its name."""
    try:
        tool = _tool(session, name)
        answer = tool.run(session, checked(tool.arguments, arguments))
        return Reply((bounded_text(printable_lines(answer.text)), bounded_json(answer.data)))
    except (Mistake, Unavailable) as error:
        return _failure(str(error))
    except Exception as error:  # An agent gets a sentence; what happened is for the log.
        return _failure(_unexpected(error))


def marked(text: str) -> str:
    """A text between marks: names in it, which anybody may have written into the storage, are no instructions."""
    token = token_hex(4)
    return f"<{MARK} {token}>\n{text}\n</{MARK} {token}>"


def structured(reply: Reply) -> dict[str, Any] | None:
    """A reply for clients that read data instead of text: the sentences, and the data with printable names."""
    if reply.failed:
        return None
    sentences, data = reply.texts
    return {"sentences": sentences, "data": _printable_data(json.loads(data))}


def _printable_data(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_printable_data(entry) for entry in value]
    if isinstance(value, dict):
        return {printable(key): _printable_data(entry) for key, entry in value.items()}
    return value


def _tool(session: Session, name: str) -> Tool:
    tool = tool_called(session, name)
    if tool is None:
        names = ", ".join(tool.name for tool in tools_of(session))
        raise Mistake(f"There is no tool `{name[:100]}`; there are {names}.")
    return tool


def _failure(sentence: str) -> Reply:
    return Reply((bounded_text(printable(redacted(sentence))),), failed=True)


def _unexpected(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be used ({error.strerror})."
    # Errors of drivers may repeat the address with its password.
    _logger.error("%s", printable_lines(redacted(printable_traceback(error))))
    return (
        f"pellucid could not answer because of an error of its own ({type(error).__name__}); the log of the server, on "
        "its standard error, says more."
    )
