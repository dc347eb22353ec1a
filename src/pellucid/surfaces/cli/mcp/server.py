"""The Model Context Protocol over standard input and output: tools, calls and replies as its messages."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import Any

import anyio
import mcp.types as protocol
from mcp.server import Server
from mcp.server.stdio import stdio_server

from pellucid.surfaces.cli.mcp.answering import marked, reply_to, structured
from pellucid.surfaces.cli.mcp.arguments import schema_of
from pellucid.surfaces.cli.mcp.session import Reply, Session
from pellucid.surfaces.cli.mcp.tools import INSTRUCTIONS, Effect, Tool, tools_of


def serve(session: Session) -> None:
    """Answer until the agent closes the connection. Nothing but messages goes to standard output."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    anyio.run(_serve, session)


async def _serve(session: Session) -> None:
    server = server_of(session)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def server_of(session: Session) -> Server[Any]:
    """The server with the tools of the session."""
    from importlib.metadata import version

    tools = [_described(tool) for tool in tools_of(session)]
    # One call at a time: limits on threads hold for the process, and answers use all of one core.
    turn = anyio.CapacityLimiter(1)

    async def list_tools(_context: Any, _request: Any) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, call: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        answer = partial(reply_to, session, call.name, call.arguments or {})
        return _result(await anyio.to_thread.run_sync(answer, limiter=turn))

    return Server(
        "pellucid",
        version=version("pellucid"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: Tool) -> protocol.Tool:
    return protocol.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.arguments),
        annotations=protocol.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.effect is Effect.NOTHING,
            destructive_hint=False,
            idempotent_hint=tool.effect is not Effect.QUEUE,
            open_world_hint=False,
        ),
    )


def _result(reply: Reply) -> protocol.CallToolResult:
    texts = [marked(reply.texts[0]), *reply.texts[1:]]
    content = [protocol.TextContent(type="text", text=text) for text in texts]
    return protocol.CallToolResult(content=content, structured_content=structured(reply), is_error=reply.failed)
