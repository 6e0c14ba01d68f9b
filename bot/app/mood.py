"""Gives the tool by which a persona changes how it feels a place to keep that."""

from __future__ import annotations

from collections.abc import Mapping

from bot.app.running import Core
from bot.personas.mood import Value
from bot.store.moods import change_mood
from bot.tools.mood import make_mood_tool
from bot.tools.tool import Tool
from bot.turn import Turn


def mood_tool(core: Core) -> Tool:
    """The tool, which keeps values in the database."""

    async def keep(turn: Turn, values: Mapping[str, Value]) -> Mapping[str, object]:
        return await core.db.run(change_mood, turn.conversation_id, turn.persona_id, turn.position, values, core.now())

    return make_mood_tool(keep)
