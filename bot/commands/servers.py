"""What /status and /tools tell of the servers that bring tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bot.commands.command import Call, Desk
from bot.tools.tool import ALL_GROUPS

if TYPE_CHECKING:
    from bot.tools.mcp.health import ServerHealth


def server_lines(call: Call, desk: Desk) -> Iterator[str]:
    """A line for each whose tools are on here."""
    groups = call.settings.values.tool_groups
    for server in desk.servers():
        if server.group not in groups and ALL_GROUPS not in groups:
            continue
        if server.is_connected:
            yield desk.text("status-server", call.locale, server=server.name, count=len(server.tools))
        else:
            yield away_line(server, call, desk)


def away_line(server: ServerHealth, call: Call, desk: Desk) -> str:
    """That a server is away; why is for the operator alone (X13)."""
    if server.problem and desk.policy.is_operator(call.inbound.author):
        return desk.text("status-server-problem", call.locale, server=server.name, problem=server.problem)
    return desk.text("status-server-away", call.locale, server=server.name)
