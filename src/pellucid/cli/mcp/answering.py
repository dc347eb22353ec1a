"""From a call to a reply of a bounded size. Whatever goes wrong becomes one sentence."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from typing import Any

from pellucid.cli.errors import Mistake, Unavailable
from pellucid.cli.mcp.arguments import checked
from pellucid.cli.mcp.bounds import bounded_json, bounded_text
from pellucid.cli.mcp.session import Reply, Session
from pellucid.cli.mcp.tools import Tool, tools_of
from pellucid.cli.redaction import redacted
from pellucid.words import printable, printable_lines

_logger = logging.getLogger("pellucid")


def reply_to(session: Session, name: str, arguments: Mapping[str, Any]) -> Reply:
    """The reply to a call of a tool by its name."""
    try:
        tool = _tool(session, name)
        answer = tool.run(session, checked(tool.arguments, arguments))
        return Reply((bounded_text(answer.text), bounded_json(answer.data)))
    except (Mistake, Unavailable) as error:
        return _failure(str(error))
    except Exception as error:  # An agent gets a sentence; what happened is for the log.
        return _failure(_unexpected(error))


def _tool(session: Session, name: str) -> Tool:
    tools = {tool.name: tool for tool in tools_of(session)}
    if name not in tools:
        raise Mistake(f"There is no tool `{name[:100]}`; there are {', '.join(tools)}.")
    return tools[name]


def _failure(sentence: str) -> Reply:
    return Reply((bounded_text(redacted(sentence)),), failed=True)


def _unexpected(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{printable(str(error.filename))} cannot be used ({error.strerror})."
    # Errors of drivers may repeat the address with its password.
    _logger.error("%s", printable_lines(redacted(traceback.format_exc())))
    return (
        f"pellucid could not answer because of an error of its own ({type(error).__name__}); the log of the server, on "
        "its standard error, says more."
    )
