"""The servers of tools, where some are configured: what they take is imported only then, as it weighs much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.settings import Settings

if TYPE_CHECKING:
    from bot.tools.mcp.server import McpServers


def build_servers(settings: Settings) -> McpServers | None:
    """All of them, not yet connected; `None` where there are none."""
    if not settings.mcp:
        return None
    from bot.tools.mcp.server import McpServers

    return McpServers(settings.mcp)
