"""What of the settings does nothing, or not what it seems to, told at the start; it is no reason to refuse it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bot.env import near_misses, repeated_names, without_effect
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.tools import Tool


def settings_in_vain(settings: Settings, brought: Iterable[Tool]) -> list[str]:
    """One sentence for each; `brought` are the tools of extensions."""
    from bot.app.tool_groups import tool_group_problems  # with all tools behind it

    read = (*near_misses(os.environ), *repeated_names())
    return [*read, *without_effect(settings), *tool_group_problems(settings, brought)]
