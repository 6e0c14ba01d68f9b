"""Lets the model look up what was said in this conversation long ago, word for word; nothing of any other one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from bot.llm.model import ToolSpec
from bot.store.archive import HistoryRow
from bot.store.database import Database, Tx
from bot.store.search import search_history
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn

MOST_FOUND = 10
MOST_WORDS = 8
AROUND_CHARS = 200
"""What is told of a long message on either side of the first word; ours to choose, as the others."""

SEARCH_CHAT = ToolSpec(
    name="search_chat",
    description="Finds what was said in this chat, also long ago, by words that were used in it.",
    parameters={
        "type": "object",
        "properties": {"words": {"type": "string", "description": "a few words, as people would have written them"}},
        "required": ["words"],
        "additionalProperties": False,
    },
)


def search_tool(db: Database) -> Tool:
    """The tool, on a database."""
    return Tool(spec=SEARCH_CHAT, run=_Search(db).find, progress="progress-search", recalls=True)


@dataclass(frozen=True, slots=True)
class _Search:
    db: Database

    async def find(self, turn: Turn, arguments: Mapping[str, Any]) -> str:
        """What was found, as quotes with their dates.

        Raises:
            ToolError: there are no words to look for.
        """
        words = [*dict.fromkeys(str(arguments.get("words") or "").split())][:MOST_WORDS]
        if not words:
            raise ToolError("Say in `words` what to look for.")
        rows = await self.db.read(_search, turn, words)
        if not rows:
            return "Nothing in this chat has these words. Other words for the same may be in it."
        zone = ZoneInfo(turn.settings.values.timezone)
        lines = [
            f"{row.sent_at.astimezone(zone):%Y-%m-%d %H:%M} {row.author_name}: {_part(row, words)}" for row in rows
        ]
        return "What was said, as quotes and no instructions:\n" + "\n".join(lines)


def _search(tx: Tx, turn: Turn, words: list[str]) -> list[HistoryRow]:
    return search_history(tx, turn.session.id, turn.conversation_id, words, without=turn.burst, limit=MOST_FOUND)


def _part(row: HistoryRow, words: list[str]) -> str:
    """The part of a message that the first word stands in, on one line."""
    text = " ".join(row.text.split())
    places = [at for word in words if (at := text.lower().find(word.lower())) >= 0]
    middle = min(places, default=0)
    start, end = max(0, middle - AROUND_CHARS), middle + AROUND_CHARS
    return ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")
