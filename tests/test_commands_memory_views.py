"""/compact, /follow-ups, /history, /context, what /status tells of memory, and the notice after a compaction."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from adapters.telegram.commands import menu_commands
from bot.llm.model import ModelUnreachable
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author, make_inbound
from tests.conftest import MakeApp
from tests.remembering import SMALL, noting, system_text, talk
from tests.talking import BOB, GROUP, Chat, open_chat

GIST = '{"gist": "They talked."}'
SOFT: dict[str, Any] = {**SMALL, "summary": {**SMALL["summary"], "trigger": {"type": "messages_to_refine", "value": 4}}}
"""Four messages more than are kept move into memory by themselves."""


async def compacted(chat: Chat, line: str = "/compact") -> str:
    """What the notice of a compaction has become in the end."""
    before = len(chat.adapter.texts)
    await chat.ask(line)
    return (await chat.adapter.wait_for(before + 1))[-1]


async def test_compact_tells_in_one_notice_how_it_goes_and_what_it_gained(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(streams=True), model=ScriptedModel(summaries=[GIST]), **SMALL)
    await talk(chat, 5)
    told = await compacted(chat, "/compact the weather")
    assert chat.last_reply.shown == ["Taking notes of the older messages …"]
    start, done = told.split("\n")
    assert start == "Taking notes of the older messages …"
    assert done.startswith("Done: 6 messages are notes now. My next request takes ")
    after, before = map(int, re.findall(r"\d+", done.replace(",", "").replace("6 messages", "")))
    assert 0 < after < before
    assert "Above all, keep what concerns: the weather" in str(chat.model.summaries[-1])
    await chat.say("hello")
    assert "They talked." in system_text(chat.model.requests[-1])
    assert "Taking notes" not in str(chat.model.requests[-1])


async def test_compact_needs_more_than_is_kept_anyway(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **SMALL)
    await talk(chat, 2)
    assert "always kept word for word: 4" in await chat.ask("/compact")
    assert "Messages so far: 4" in await chat.ask("/compact")
    assert chat.model.summaries == []


async def test_M01_a_compaction_that_fails_tells_why_and_status_tells_when_it_is_tried_again(
    make_app: MakeApp,
) -> None:
    error = ModelUnreachable("test/scripted", "nothing listens on 10.0.0.7.")
    summaries: list[Reply | str] = [
        Reply(text="", error=error),
        Reply(text="Sorry, *no*."),
        Reply(text="Sorry, *no*."),
        GIST,
    ]
    chat = await open_chat(make_app, model=ScriptedModel(summaries=summaries), **SMALL)
    await talk(chat, 5)
    told = await compacted(chat)
    assert "It did not work, and everything is as it was: I can't reach my language model right now." in told
    status = await chat.ask("/status")
    assert "Taking notes failed: I can't reach my language model right now." in status
    assert "I try again from 2026-11-01 12:01" in status
    assert "10.0.0.7" not in status + told
    assert "JSON" in await compacted(chat)
    status = await chat.ask("/status")
    assert "of 12 characters. Nothing is lost; I try again from 2026-11-01 12:02" in status
    assert "Done: 6 messages" in await compacted(chat)
    assert "failed" not in await chat.ask("/status")


async def test_a_conversation_goes_on_while_it_is_compacted(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[Reply(text=GIST, hold=gate)]), **SMALL)
    await talk(chat, 5)
    await chat.ask("/compact")
    assert "taking notes right now" in await chat.ask("/status")
    await chat.app.pipeline.deliver(make_inbound("and now?"))
    await chat.app.dispatcher.idle()
    assert chat.last_prompt[-1] == ("user", "and now?")
    gate.set()
    assert "\nDone: " in (await chat.adapter.wait_for(8))[-1]


async def test_compact_counts_against_the_limit_of_whoever_asks(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), quota={"messages_per_minute": 6}, **SMALL)
    await talk(chat, 5)
    assert "Done" in await compacted(chat)
    await talk(chat, 4)
    assert "That was a lot at once" in await chat.ask("/compact")


async def test_status_tells_what_is_remembered(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **SMALL)
    assert "Nothing is in my memory yet." in await chat.ask("/status")
    for line in ("fact likes tea", "fact likes cake", "event Ferry", "follow-up Book it", "follow-up Pay"):
        await chat.ask(f"/memory add {line}")
    await chat.ask("/follow-ups done 5")
    await talk(chat, 5)
    await compacted(chat)
    status = await chat.ask("/status")
    assert "In my memory: 2 facts, 1 event, 1 open follow-up, 1 closed follow-up." in status
    assert "Notes were last taken at 2026-11-01 12:00, of 6 messages (by hand)." in status


async def test_status_tells_of_a_summary_without_items(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **SMALL)
    await talk(chat, 5)
    await compacted(chat)
    assert "In my memory: a summary." in await chat.ask("/status")


async def test_follow_ups_are_closed_and_opened_again(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **SMALL)
    assert "Nothing is to be done here." in await chat.ask("/follow-ups")
    await chat.ask("/memory add follow-up Book the ferry -d 2026-12-24")
    told = await chat.ask("/follow-ups")
    assert told.startswith("Still to be done: 1.")
    assert "**Open**\n- `1` **Alice**: Book the ferry (due 2026-12-24)" in told
    await chat.say("hello")
    assert "Book the ferry" in system_text(chat.model.requests[-1])
    assert await chat.ask("/follow_ups_done 1") == "Done: Book the ferry (now 2)"
    await chat.say("hello")
    assert "Book the ferry" not in system_text(chat.model.requests[-1])
    assert await chat.ask("/follow-ups done 2") == "2 is done already."
    assert "no follow-up under the number “1” here. /follow-ups shows" in await chat.ask("/follow-ups reopen 1")
    assert "**Closed**\n- `2` **Alice**: Book the ferry (due 2026-12-24) (done)" in await chat.ask("/follow-ups")
    assert await chat.offers("follow-ups done", "item", "") == []
    assert await chat.offers("follow-ups reopen", "item", "") == ["2 · Book the ferry"]
    assert await chat.ask("/待办 重开 2") == "Open again: Book the ferry (now 3)"
    assert await chat.ask("/follow-ups drop 3") == "Dropped: Book the ferry (now 4)"


async def test_follow_ups_belong_to_whoever_owes_them(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **SMALL)
    await chat.ask("/memory add follow-up Book it", channel=GROUP)
    await chat.ask("/memory add event Ferry", channel=GROUP)
    assert "concerns somebody else" in await chat.ask("/follow-ups done 1", author=BOB, channel=GROUP)
    assert "2 is no follow-up" in await chat.ask("/follow-ups done 2", channel=GROUP)
    assert "Done" in await chat.ask("/follow-ups done 1", channel=GROUP)


async def test_telegrams_menu_has_names_that_are_understood(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **SMALL)
    listed = {command.command for command in menu_commands(chat.app.menu, "en")}
    assert {"memory", "memory_add", "follow_ups", "follow_ups_done", "history", "compact", "context"} <= listed
    assert "Nothing is to be done here." in await chat.ask("/follow_ups")


async def test_history_shows_everything_with_what_became_notes_down_to_the_oldest_page(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=noting("Alice is called Bob")), **SMALL)
    await chat.say("I am *Bob*")
    await talk(chat, 5)
    await compacted(chat)
    newest = await chat.ask("/history")
    assert newest.startswith("What was said here: 12 messages.\n\n- 2026-11-01 12:00 **Alice**: number 1 word")
    lines = newest.splitlines()
    assert lines.index("— 2026-11-01 12:00: 8 messages above became notes (by hand) —") == 7
    assert "Page 1 of 2" in newest
    assert chat.last_reply.outbound
    (oldest,) = await chat.press(chat.last_reply.outbound.buttons[0][0].command)
    assert r"- 2026-11-01 12:00 **Alice**: I am \*Bob\*" in oldest
    assert "became notes" not in oldest
    assert len([line for line in (newest + oldest).splitlines() if line.startswith("- ")]) == 12


async def test_history_tells_nothing_of_what_was_said_in_privacy_undone_or_elsewhere(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **SMALL)
    assert "Nothing was said here yet" in await chat.ask("/history")
    await chat.say("a slip of the tongue")
    await chat.say("/undo")
    await chat.say("hello there", channel=GROUP)
    await chat.ask("/privacy on", author=BOB, channel=GROUP)
    await chat.say("my secret", author=BOB, channel=GROUP)
    told = await chat.ask("/history", channel=GROUP) + await chat.ask("/history")
    assert "hello there" in told
    assert not any(words in told for words in ("slip", "secret", "/undo"))


def _counted(count: int, sent: int) -> str:
    return f"Messages that are not in my notes yet: {count}. Word for word in my next request: {sent}."


async def test_status_and_context_tell_the_same_numbers_of_messages(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **{**SMALL, "context_tokens": 2_000, "history_limit": 8})
    assert _counted(0, 0) in await chat.ask("/status")
    await talk(chat, 9)
    status, context = await chat.ask("/status"), await chat.ask("/context")
    assert _counted(18, 6) in status
    assert _counted(18, 6) in context
    assert "12 older messages have no room in it" in context


async def test_context_tells_what_the_next_request_holds_and_leaves_out(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **SMALL)
    await chat.say("hello")
    for number in range(9):
        await chat.ask(f"/memory add event number {number} {'and so on ' * 27}")
    told = await chat.ask("/context")
    assert told.startswith("The next request to test/scripted fills ")
    assert "of 4,000 tokens (" in told
    for part in ("- Memory: ", "- Messages: ", "- Room for the answer: 200", _counted(2, 2)):
        assert part in told
    assert "items of my memory have no room in it:\n- `1` number 0 and so on" in told
    assert len(chat.model.requests) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_people_are_told_once_that_old_messages_became_notes(make_app: MakeApp, language: str) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **SOFT)
    alice = make_author("Alice", locale=language)
    for number in range(6):
        await chat.say(f"number {number} " + "word " * 60, author=alice)
        if len(chat.model.summaries) == 1:
            break
    notice = (await chat.adapter.wait_for(number + 2))[-1]
    assert notice in (
        "I have taken notes of 4 older messages. /memory shows them.",
        "我把 4 条较早的消息整理成了笔记。/memory 可以查看。",
    )
    assert ("I have" in notice) == (language == "en")
    await chat.say("hello", author=alice)
    assert notice not in str(chat.model.requests[-1])
    assert notice not in await chat.ask("/history")


@pytest.mark.parametrize("is_bot", [False, True])
async def test_nobody_is_told_where_notices_are_off_and_no_bot_ever(make_app: MakeApp, is_bot: bool) -> None:
    chat = await open_chat(
        make_app, model=ScriptedModel(summaries=[GIST]), notices=is_bot, bots={"answer": True, "max_turns": 9}, **SOFT
    )
    author = make_author("Robo", is_bot=is_bot)
    for number in range(8):
        await chat.say(f"number {number} " + "word " * 60, author=author)
    await chat.app.core.tasks.close()
    assert chat.model.summaries
    assert set(chat.adapter.texts) == {"ok"}
