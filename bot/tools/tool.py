"""What a tool is: a function that the model may call, its JSON schema, and the error that the model should hear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.errors import FamiliarError
from bot.llm.model import ToolSpec
from bot.turn import Turn

ALL_GROUPS = "*"
"""The group in TOOL_GROUPS that stands for every one."""

TOOL_SECONDS = 60.0
"""How long a tool may take: as long as an answer waits for a compaction. Ours to choose."""

PROGRESS = "progress-tool"
"""What people read of a tool that has no words of its own: that it is being used."""


class ToolError(FamiliarError):
    """The tool could not do it; the text goes back to the model, which may try otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One function for the model. `run(turn, arguments)` works with the rights of the person who asked. It is cancelled
    when the turn is stopped.
    """

    spec: ToolSpec
    run: Callable[[Turn, Mapping[str, Any]], Awaitable[str]]
    group: str | None = None
    """`None` = on everywhere; else only where TOOL_GROUPS names this group, or has `*`."""
    progress: str | None = None
    """A text of the catalogue that tells people what takes so long, such as `PROGRESS`; its fact `tool` is the name of
    the tool. `None` for those that are always fast.
    """
    recalls: bool = False
    """Whether its results are what was said before: nothing is noted from them a second time."""
    asks: bool = False
    """Whether it does what cannot be taken back, so that whoever asked must allow each call (X04)."""
    shape: Callable[[Turn], ToolSpec | None] | None = None
    """What it looks like in a turn, under the same name, where that depends; `None` then = it is not there."""
    seconds: float | None = TOOL_SECONDS
    """How long a call may take, without the time that people take to allow it; `None` = no limit of ours."""

    def shaped(self, turn: Turn) -> Tool | None:
        """The tool as it is in a turn, if it is there."""
        if self.shape is None:
            return self
        spec = self.shape(turn)
        return replace(self, spec=spec) if spec else None

    def is_on(self, groups: Collection[str]) -> bool:
        """Whether it is on where these groups are."""
        return self.group is None or self.group in groups or ALL_GROUPS in groups
