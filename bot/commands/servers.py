"""What /status tells of the servers whose tools are on here."""

from __future__ import annotations

from collections.abc import Iterator

from bot.commands.command import Call, Desk
from bot.tools.tool import ALL_GROUPS


def server_lines(call: Call, desk: Desk) -> Iterator[str]:
    """A line for each; why one is away is for the operator alone (X13)."""
    groups = call.settings.values.tool_groups
    for server in desk.servers():
        if server.group not in groups and ALL_GROUPS not in groups:
            continue
        if server.is_connected:
            yield desk.text("status-server", call.locale, server=server.name, count=len(server.tools))
        elif desk.policy.is_operator(call.inbound.author):
            yield desk.text("status-server-problem", call.locale, server=server.name, problem=server.problem)
        else:
            yield desk.text("status-server-away", call.locale, server=server.name)
