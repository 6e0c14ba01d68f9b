"""The tools that the model may call, one per file; add yours to `TOOLS`."""

from bot.tools.clock import CLOCK
from bot.tools.context_usage import CONTEXT_USAGE
from bot.tools.dice import DICE
from bot.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (CLOCK, DICE, CONTEXT_USAGE)

__all__ = ["TOOLS", "Tool"]
