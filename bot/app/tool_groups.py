"""Whether the groups of tools that the settings name have any tool, asked at the start and by the doctor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.settings import Settings, place_keys
from bot.spelling import near_names
from bot.tools import TOOLS, Tool
from bot.tools.tool import ALL_GROUPS
from bot.tools.web import GROUP as WEB


def tool_group_problems(settings: Settings, brought: Iterable[Tool]) -> Iterator[str]:
    """One sentence for each group of no tool, by the setting that names it; extensions have `brought` some tools. A
    server of tools has its group also while it is away.
    """
    groups = {tool.group for tool in (*TOOLS, *brought) if tool.group is not None}
    groups |= {server.group or name for name, server in settings.mcp.items()}
    groups |= {WEB} if settings.web.fetch else set()
    for setting, named in _named(settings):
        for group in named:
            if group not in groups and group != ALL_GROUPS:
                yield f"{setting} names {group}, a group that no tool has; {_remedy(group, groups)}"


def _named(settings: Settings) -> Iterator[tuple[str, Iterable[str]]]:
    yield "TOOL_GROUPS", settings.tool_groups
    key = place_keys()["tool_groups"]
    for platform, values in settings.profiles.items():
        yield f"PROFILES__{platform.upper()}__TOOL_GROUPS", key.parse(values.get(key.name, ()))
    yield "ACCESS__TOOL_GROUPS", settings.access.tool_groups


def _remedy(group: str, groups: Iterable[str]) -> str:
    if group == WEB:
        return "WEB__FETCH=on brings it"
    if near := near_names(group, groups):
        return f"did you mean {near[0]}?"
    return "MCP__NAME__COMMAND or MCP__NAME__URL brings a server of tools whose group is its NAME"
