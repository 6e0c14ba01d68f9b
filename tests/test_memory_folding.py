"""Old messages move into memory through the real pipeline and store, and nothing is ever lost on the way."""

from __future__ import annotations

import json
import re
from typing import Any

from sqlalchemy import select

from bot.llm.model import ModelRequest, Role
from bot.store.memory_tables import compactions
from bot.testing import Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.talking import Chat, history, open_chat

SMALL: dict[str, Any] = {
    "context_tokens": 4_000,
    "max_output_tokens": 200,
    "summary": {"keep_recent": 4, "keep_tokens": 100},
}


def number_of(request: ModelRequest, words: str) -> int:
    """The number of the transcript line that holds these words."""
    found = re.search(rf"^(\d+) · .*{re.escape(words)}", request.messages[-1].text, re.M)
    assert found, request.messages[-1].text
    return int(found[1])


def remembers_bob(request: ModelRequest) -> str:
    fact: dict[str, Any] = {"who": "fake:alice", "category": "name", "text": "Her name is Bob"}
    line = number_of(request, "I am Bob")
    return json.dumps({"facts": [{**fact, "lines": [line]}], "gist": "They got to know each other."})


async def talk(chat: Chat, count: int) -> None:
    for number in range(count):
        await chat.say(f"number {number} " + "word " * 60)


def system_text(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages if message.role is Role.SYSTEM)


async def test_what_was_said_long_ago_is_in_the_prompt_as_memory(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=remembers_bob), **SMALL)
    await chat.say("I am Bob")
    await talk(chat, 40)
    await chat.say("what is my name?")
    assert "Her name is Bob" in system_text(chat.model.requests[-1])
    assert "## Summary\nThey got to know each other." in system_text(chat.model.requests[-1])
    assert ("user", "I am Bob") not in history(chat.model.requests[-1])


async def test_M01_a_summary_that_fails_leaves_every_message_where_it_was(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[Reply(text="I would rather not.")]), **SMALL)
    await chat.say("I am Bob")
    await talk(chat, 40)
    kept = await chat.app.core.db.read(lambda tx: tx.execute(select(compactions)).all())
    assert kept
    assert {row.outcome for row in kept} == {"failed"}
    assert "JSON" in kept[0].problem
