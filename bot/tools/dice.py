"""Rolls dice for the model, which cannot be random by itself."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

from bot.llm.model import ToolSpec
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn

MAX_DICE = 100
MAX_SIDES = 1_000_000
_NOTATION = re.compile(r"\s*(\d{0,3})\s*[dD]\s*(\d{1,7})\s*(?:([+-])\s*(\d{1,7}))?\s*")


async def roll_dice(_turn: Turn, arguments: Mapping[str, Any]) -> str:
    """Roll something like `2d6+1` and tell each die.

    Raises:
        ToolError: the notation is not understood, or asks for too much.
    """
    notation = str(arguments.get("dice") or "1d6")
    match = _NOTATION.fullmatch(notation)
    if match is None:
        raise ToolError(f"{notation!r} is no dice notation. Write for example 1d20, 2d6+3 or d100.")
    count, sides = int(match[1] or 1), int(match[2])
    if not (1 <= count <= MAX_DICE and 1 <= sides <= MAX_SIDES):
        raise ToolError(f"Between 1 and {MAX_DICE} dice with 1 to {MAX_SIDES} sides, please.")
    rolls = [secrets.randbelow(sides) + 1 for _ in range(count)]
    bonus = int(f"{match[3]}{match[4]}") if match[3] else 0
    shown = " + ".join(map(str, rolls)) + (f" {match[3]} {match[4]}" if match[3] else "")
    return f"{notation.strip()}: {shown} = {sum(rolls) + bonus}"


DICE = Tool(
    spec=ToolSpec(
        name="roll_dice",
        description="Rolls dice and tells the result. Use it whenever chance decides.",
        parameters={
            "type": "object",
            "properties": {"dice": {"type": "string", "description": "dice notation such as 2d6+1"}},
            "required": ["dice"],
            "additionalProperties": False,
        },
    ),
    run=roll_dice,
)
