"""What the doctor says about servers of tools: whether each can be connected, and what it brings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bot.chat import Finding, Severity
from bot.settings import Settings


async def tool_server_findings(settings: Settings) -> AsyncIterator[Finding]:
    """One for each; all are connected at once, and let go of."""
    if not settings.mcp:
        return
    from bot.tools.mcp.server import McpServer, McpServers

    async def look_at(server: McpServer) -> Finding:
        is_there = await server.connect_once(until=_nothing)
        subject = f"tools of {server.name}"
        if not is_there:
            setting = f"MCP__{server.name.upper()}__{'COMMAND' if settings.mcp[server.name].command else 'URL'}"
            remedy = f"Check {setting} and what belongs to it; the bot goes on without these tools, and tries again"
            return Finding(severity=Severity.FAULT, subject=subject, message=server.health.problem, remedy=remedy)
        names = ", ".join(server.health.tools) or "none"
        told = f"connected; where TOOL_GROUPS has {server.health.group}: {names}"
        return Finding(severity=Severity.OK, subject=subject, message=told)

    for finding in await asyncio.gather(*map(look_at, McpServers(settings.mcp).servers)):
        yield finding


async def _nothing() -> None:
    pass
