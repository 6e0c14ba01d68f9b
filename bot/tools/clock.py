"""Tells the model the date and the time, where whoever asks lives, in the chat's time zone, or in another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from bot.llm.model import ToolSpec
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn


async def tell_time(turn: Turn, arguments: Mapping[str, Any]) -> str:
    """The current date, weekday and time.

    Raises:
        ToolError: the zone is unknown.
    """
    name = str(arguments.get("timezone") or turn.zone)
    try:
        zone = ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ToolError(f"Unknown time zone {name!r}. Use an IANA name such as Europe/Berlin.") from error
    return turn.now.astimezone(zone).strftime(f"%A, %Y-%m-%d %H:%M ({name}, UTC%z)")


CLOCK = Tool(
    spec=ToolSpec(
        name="current_time",
        description="Tells the current date, weekday and time.",
        parameters={
            "type": "object",
            "properties": {"timezone": {"type": "string", "description": "IANA name; leave out for their own time"}},
            "additionalProperties": False,
        },
    ),
    run=tell_time,
)
