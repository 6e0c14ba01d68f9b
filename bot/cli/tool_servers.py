"""What the doctor says about servers of tools: whether each can be connected, and what it brings."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator

from bot.chat import Finding, Severity
from bot.settings import McpSettings, Settings


async def tool_server_findings(settings: Settings) -> AsyncIterator[Finding]:
    """One for each; all are connected at once, and let go of."""
    if not settings.mcp:
        return
    from bot.tools.mcp.server import McpServer, McpServers

    async def look_at(server: McpServer) -> Finding:
        is_there = await server.connect_once(until=_nothing)
        subject = f"tools of {server.name}"
        if not is_there:
            remedy = f"{_remedy(server.name, settings.mcp[server.name])}. The bot goes on without its tools meanwhile"
            return Finding(severity=Severity.FAULT, subject=subject, message=server.health.problem, remedy=remedy)
        names = ", ".join(server.health.tools) or "none"
        told = f"connected; where TOOL_GROUPS has {server.health.group}: {names}"
        return Finding(severity=Severity.OK, subject=subject, message=told)

    for finding in await asyncio.gather(*map(look_at, McpServers(settings.mcp).servers)):
        yield finding


def _remedy(name: str, server: McpSettings) -> str:
    prefix = f"MCP__{name.upper()}__"
    if server.url:
        return f"See whether the server runs, and check {prefix}URL and {prefix}HEADERS"
    if shutil.which(server.command or "", path=server.environment.get("PATH")) is None:
        return f"Install the program, or write its whole path into {prefix}COMMAND"
    return f"Run {prefix}COMMAND with its ARGS and ENV by hand, which shows all that it says, and check the three"


async def _nothing() -> None:
    pass
