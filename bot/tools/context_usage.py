"""Tells the model how full its window is and what fills it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.llm.model import ToolSpec
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn


async def tell_usage(turn: Turn, _arguments: Mapping[str, Any]) -> str:
    """The fill of the request that is being answered, part by part.

    Raises:
        ToolError: it is not known.
    """
    usage = turn.usage
    if usage is None:
        raise ToolError("How full the context is is not known now.")
    parts = ", ".join(f"{name.replace('_', ' ')} {tokens:,}" for name, tokens in usage.parts.items() if tokens)
    return (
        f"{usage.used:,} of {usage.window:,} tokens are used ({usage.ratio:.0%}, {usage.bucket.value}): {parts}. "
        f"{usage.messages} messages are shown, {usage.dropped} have no room."
    )


CONTEXT_USAGE = Tool(
    spec=ToolSpec(
        name="context_usage",
        description="Tells how full your context window is, and what fills it.",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
    ),
    run=tell_usage,
)
