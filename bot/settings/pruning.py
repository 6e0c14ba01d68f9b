"""What is cut from old tool results for one request."""

from __future__ import annotations

from pydantic import Field

from bot.settings.kinds import PLACE, Group


class SoftTrim(Group):
    """Shortening of old tool results."""

    max_chars: int = Field(4000, ge=1)
    head_chars: int = Field(1500, ge=0)
    tail_chars: int = Field(1500, ge=0)


class HardClear(Group):
    """Removal of old tool results."""

    enabled: bool = True
    placeholder: str = "[Old tool result content cleared]"


class ContextPruning(Group):
    """Position-based trimming of old tool results."""

    enabled: bool = Field(False, json_schema_extra=PLACE)
    keep_last_assistants: int = Field(3, ge=0)
    soft_trim_ratio: float = Field(0.3, ge=0, le=1)
    hard_clear_ratio: float = Field(0.5, ge=0, le=1)
    min_prunable_tool_chars: int = Field(50_000, ge=0)
    soft_trim: SoftTrim = SoftTrim()
    hard_clear: HardClear = HardClear()
