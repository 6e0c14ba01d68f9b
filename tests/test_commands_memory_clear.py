"""/memory clear, undo and export: much at once, after asking; taken back; and taken along."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import func, insert, select

from bot.chat import Outbound
from bot.store.database import Tx
from bot.store.lore_tables import lore_states
from bot.store.memory_tables import compactions, memory_items
from bot.store.moods import moods
from bot.store.rounds import keep_round, running_rounds
from bot.store.tables import messages
from bot.testing import NOW, Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.remembering import SMALL, noting, system_text, talk
from tests.talking import BOB, GROUP, Chat, open_chat


def answered(chat: Chat) -> Outbound:
    assert chat.last_reply.outbound
    return chat.last_reply.outbound


async def folded(make_app: MakeApp) -> Chat:
    """Alice's DM after a compaction, with one fact of it and one that she wrote down since."""
    chat = await open_chat(make_app, model=ScriptedModel(summaries=noting("Alice is called Bob")), **SMALL)
    await chat.say("I am Bob")
    await talk(chat, 5)
    await chat.say("/compact")
    await chat.ask("/memory add fact likes tea")
    return chat


async def rows(chat: Chat, *columns: Any) -> list[Any]:
    return await chat.app.core.db.read(lambda tx: [*tx.execute(select(*columns)).scalars()])


async def test_clearing_shows_what_there_is_and_asks_before_it_acts(make_app: MakeApp) -> None:
    chat = await folded(make_app)
    told = await chat.ask("/memory clear")
    assert "- `summary`: the summary\n- `facts`: 2 facts about people\n- `history`: 12 messages" in told
    (button, *_) = [button for row in answered(chat).buttons for button in row if button.label == "facts"]
    (asked,) = await chat.press(button.command)
    assert asked == (
        "Shall I forget this? 2 facts about people.\n`/memory undo` can bring it back. "
        "Press the button, or send `/memory clear facts --yes`."
    )
    assert "likes tea" in await chat.ask("/memory")
    await chat.ask("/memory clear facts")
    assert await chat.press(answered(chat).buttons[0][0].command) == [
        "Forgotten: 2 items. `/memory undo` brings them back."
    ]
    await chat.say("hello")
    assert "likes tea" not in system_text(chat.model.requests[-1])
    assert "They got to know each other." in system_text(chat.model.requests[-1])


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        ("summary", "got to know"), ("facts", "likes tea"), ("events", "Ferry"), ("consensus", "at night"),
        ("follow-ups", "Book it"),
    ],
)  # fmt: skip
async def test_M06_a_cleared_kind_is_in_no_later_request_and_comes_back_by_undo(
    make_app: MakeApp, what: str, gone: str
) -> None:
    chat = await folded(make_app)
    for line in ("event Ferry", "consensus No calls at night", "follow-up Book it"):
        await chat.ask(f"/memory add {line}")
    others = {"got to know", "likes tea", "Ferry", "at night", "Book it"} - {gone}
    assert "Forgotten" in await chat.ask(f"/memory clear {what} --yes")
    await chat.say("hello")
    assert gone not in system_text(chat.model.requests[-1])
    assert all(other in system_text(chat.model.requests[-1]) for other in others)
    assert "is taken back" in await chat.ask("/memory undo")
    await chat.say("hello")
    assert gone in system_text(chat.model.requests[-1])


async def test_M06_a_cleared_history_is_gone_for_good_with_its_words(make_app: MakeApp) -> None:
    chat = await folded(make_app)
    assert "Nothing brings it back." in await chat.ask("/memory clear history")
    assert await chat.ask("/memory clear history -y") == "Gone for good: 12."
    assert "word" not in "".join(await rows(chat, messages.c.text))
    assert "I am Bob" not in "".join(await rows(chat, messages.c.text))
    await chat.say("hello")
    assert chat.last_prompt == [("user", "hello")]
    assert "likes tea" in system_text(chat.model.requests[-1])
    assert "nothing in my memory here to take back" in await chat.ask("/memory undo")
    assert await rows(chat, compactions.c.outcome) == ["sealed"]
    assert "1 message" not in await chat.ask("/history -p 9")


async def test_M06_after_clearing_all_no_word_of_it_is_kept_anywhere(make_app: MakeApp) -> None:
    chat = await folded(make_app)
    await chat.ask("/memory forget 3")
    assert "Gone for good" in await chat.ask("/memory clear all --yes")
    kept = str(await rows(chat, messages.c.text)) + str(await rows(chat, compactions.c.delta))
    assert await rows(chat, memory_items.c.text) == []
    assert "Bob" not in kept
    await chat.app.close()
    again = await open_chat(make_app, **SMALL)
    await again.say("what is my name?")
    assert "Bob" not in str(again.model.requests[-1])
    assert "to take back" in await again.ask("/memory undo")


async def test_M06_after_clearing_all_nothing_is_left_of_moods_stories_and_rounds_of_tools(make_app: MakeApp) -> None:
    chat = await folded(make_app)

    def leave_behind(tx: Tx) -> None:
        message = tx.execute(select(func.max(messages.c.id)).where(messages.c.conversation_id.is_(None))).scalar_one()
        tx.execute(
            insert(moods).values(conversation_id=1, persona_id="bryony", state='{"thinks_of": "Bob"}', changed_at=NOW)
        )
        keep_round(tx, 1, message, {"results": ["Bob"]})
        tx.execute(insert(lore_states).values(conversation_id=1, state='{"Bob": 1}'))

    await chat.app.core.db.run(leave_behind)
    await chat.ask("/memory clear all --yes")
    for column in (moods.c.state, running_rounds.c.exchange, lore_states.c.state):
        assert await rows(chat, column) == []


async def test_what_is_not_there_needs_no_question(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **SMALL)
    assert await chat.ask("/memory clear events") == "There is nothing of that kind here: events."
    assert "no notes" in await chat.ask("/memory clear")


async def test_history_is_not_cleared_under_a_running_answer(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    chat = await open_chat(make_app, model=ScriptedModel(["ok", Reply(text="two", hold=gate)]), **SMALL)
    await chat.say("first")
    await chat.ask("second")
    await chat.model.wait_for(2)
    assert "still answering" in await chat.ask("/memory clear history -y")
    gate.set()
    await chat.settled()
    assert "Gone for good" in await chat.ask("/memory clear history -y")


@pytest.mark.parametrize("line", ["/memory clear facts -y", "/memory undo", "/compact"])
async def test_only_administrators_do_in_groups_what_concerns_everybody(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app, **SMALL)
    await chat.ask("/memory add fact likes tea", channel=GROUP)
    assert "Only people who manage" in await chat.ask(line, channel=GROUP)
    assert "Only people who manage" in "".join(await chat.press(line[1:], author=BOB, channel=GROUP))
    chat.adapter.managers.add("bob")
    assert "Only people" not in await chat.ask(line, author=BOB, channel=GROUP)


async def test_undo_takes_back_a_compaction_and_says_so(make_app: MakeApp) -> None:
    chat = await folded(make_app)
    told = await chat.ask("/memory undo")
    assert "8 messages stand before me word for word again" in told
    await chat.say("hello")
    assert chat.last_prompt[0] == ("user", "I am Bob")
    assert "called Bob" not in system_text(chat.model.requests[-1])
    assert "likes tea" in system_text(chat.model.requests[-1])
    assert "to take back" in await chat.ask("/memory undo")


async def test_undo_takes_back_the_newest_first(make_app: MakeApp) -> None:
    chat = await folded(make_app)
    await chat.ask("/memory forget 1")
    assert "I remember again what was forgotten" in await chat.ask("/memory undo")
    assert "called Bob" in await chat.ask("/memory")
    assert "word for word again" in await chat.ask("/memory undo")


async def test_everything_is_exported_to_be_read(make_app: MakeApp) -> None:
    chat = await folded(make_app)
    assert await chat.ask("/memory export") == "All I remember here: 2 items."
    file = answered(chat).file
    assert file
    assert file.name == "memory-2026-11-01.md"
    assert file.text.startswith(
        "# What is remembered, 2026-11-01\n\n**Summary**\nThey got to know each other.\n\n**About"
    )
    assert "Alice is called Bob" in file.text


async def test_everything_is_exported_to_be_processed(make_app: MakeApp) -> None:
    chat = await folded(make_app)
    await chat.ask("/memory add follow-up Book it -d 2026-12-24")
    await chat.ask("/memory export json")
    file = answered(chat).file
    assert file
    exported = json.loads(file.text)
    assert exported["summary"] == "They got to know each other."
    assert [item["text"] for item in exported["items"]] == ["Alice is called Bob", "Alice: likes tea", "Book it"]
    assert exported["items"][2] | {"number": 0} == {
        "number": 0,
        "kind": "follow_up",
        "text": "Book it",
        "who": {"key": "fake:alice", "name": "Alice"},
        "category": None,
        "day": "2026-12-24",
        "agreed_by": [],
        "state": "open",
        "pinned": False,
        "stale": False,
        "sources": [],
    }
    assert exported["items"][0]["sources"] == [{"sent_at": "2026-11-01T12:00:00+00:00", "link": None}]
