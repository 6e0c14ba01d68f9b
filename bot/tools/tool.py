"""What a tool is: a function that the model may call, its JSON schema, and the error that the model should hear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bot.errors import FamiliarError
from bot.llm.model import ToolSpec
from bot.turn import Turn

ALL_GROUPS = "*"
"""The group in TOOL_GROUPS that stands for every one."""


class ToolError(FamiliarError):
    """The tool could not do it; the text goes back to the model, which may try otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One function for the model. `run(turn, arguments)` works with the rights of the person who asked."""

    spec: ToolSpec
    run: Callable[[Turn, Mapping[str, Any]], Awaitable[str]]
    group: str | None = None
    """`None` = on everywhere; else only where TOOL_GROUPS names this group, or has `*`."""

    def is_on(self, groups: Collection[str]) -> bool:
        """Whether it is on where these groups are."""
        return self.group is None or self.group in groups or ALL_GROUPS in groups
