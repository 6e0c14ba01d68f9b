"""Conversations that have a memory: settings under which little is much, and summaries that note what was said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from bot.chat import Author, ChannelRef
from bot.llm.model import ModelRequest, Role
from tests.talking import ALICE, DM, Chat

SMALL: dict[str, Any] = {
    "persona": "none",
    "context_tokens": 4_000,
    "max_output_tokens": 200,
    "summary": {"keep_recent": 4, "keep_tokens": 0, "trigger": {"type": "off"}},
}
"""Nothing moves into memory by itself, and of ten messages six do by hand."""


def noting(text: str, *, about: str = "fake:alice", line: str = "I am Bob") -> Callable[[ModelRequest], str]:
    """Summaries that note one fact, which goes back to the line with these words."""

    def summary(request: ModelRequest) -> str:
        found = re.search(rf"^(\d+) · .*{re.escape(line)}", request.messages[-1].text, re.M)
        fact = {"who": about, "category": "other", "text": text, "lines": [int(found[1])] if found else [1]}
        return json.dumps({"facts": [fact], "gist": "They got to know each other."})

    return summary


async def talk(chat: Chat, count: int, *, author: Author = ALICE, channel: ChannelRef = DM) -> None:
    """So many messages with their answers, long enough to be worth a note."""
    for number in range(count):
        await chat.say(f"number {number} " + "word " * 60, author=author, channel=channel)


def system_text(request: ModelRequest) -> str:
    """What a request says besides the talk."""
    return "\n".join(message.text for message in request.messages if message.role is Role.SYSTEM)
