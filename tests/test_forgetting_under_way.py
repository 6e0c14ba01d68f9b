"""Forgetting somebody while something is under way: answers, rounds of tools, reminders, and a bot that runs."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from bot.app.clock import build_reminding
from bot.chat import PartState, SentPart
from bot.llm.model import ToolCall
from bot.store import schema
from bot.store.answers import last_reply
from bot.store.database import read_once, write_once
from bot.store.erasing import erase_person
from bot.store.lock import held_alone
from bot.store.people import set_privacy
from bot.store.replies import Settled, ToolResult, ToolRound, settle_reply
from bot.store.rounds import keep_round, kept_rounds
from bot.store.sessions import find_session
from bot.store.tables import messages, sent_parts
from bot.store.tombstones import wanted_erasures
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.remembering import noting, talk
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat
from tests.test_cli_privacy import privacy
from tests.test_forget_me import QUIET, WORD, answering, files_with_word, forget


async def _story(chat: Chat) -> int:
    group = await chat.app.core.db.read(find_session, GROUP)
    assert group is not None
    assert group.conversation_id is not None
    return group.conversation_id


async def test_what_an_answer_to_others_has_looked_up_is_not_there_for_the_next_start(
    make_app: MakeApp, tmp_path: Path
) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("hello", channel=GROUP)
    story = await _story(chat)
    calls = [{"id": "c1", "name": "search", "arguments": json.dumps({"query": f"what of\nALICE's {WORD}"})}]
    for message_id, results in ((900, [f"Alice: {WORD}"]), (901, ["nothing"])):
        exchange = {"calls": calls if message_id == 900 else [], "results": results, "text": ""}
        await chat.app.core.db.run(keep_round, story, message_id, exchange)
    await forget(chat, channel=GROUP)
    assert files_with_word(tmp_path) == []
    assert await chat.app.core.db.read(kept_rounds, story, [900]) == []
    assert len(await chat.app.core.db.read(kept_rounds, story, [901])) == 1, "it tells nothing of her"


async def test_what_a_persona_called_a_tool_with_goes_where_it_names_them(make_app: MakeApp, tmp_path: Path) -> None:
    arguments = json.dumps({"text": f"ask 爱丽丝 for {WORD}", "when": "in 20 minutes"})
    call = Reply(text="", tool_calls=(ToolCall(id="c1", name="forget_it", arguments=arguments),))
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(["Hi.", call, "Fine."]))
    alice = replace(ALICE, name="爱丽丝")
    await chat.say("hello", author=alice, channel=GROUP)
    await chat.say("do it", author=BOB, channel=GROUP)
    assert files_with_word(tmp_path)
    await forget(chat, author=alice, channel=GROUP)
    assert files_with_word(tmp_path) == []


async def test_a_reminder_that_was_about_to_be_told_is_told_no_more(make_app: MakeApp, tmp_path: Path) -> None:
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(answering))
    await chat.say("remind me", channel=GROUP)
    telling = await build_reminding(chat.app.core, chat.app.desk, "Familiar").tell_due(NOW + timedelta(minutes=20))
    assert len(telling) == 1
    await chat.app.desk.eraser.erase(ALICE.key)
    await asyncio.gather(*telling)
    assert files_with_word(tmp_path) == []


async def test_an_answer_that_is_out_only_after_its_asker_was_forgotten_leaves_nothing(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("what do I like?", channel=GROUP)
    db = chat.app.core.db
    reply = await db.read(last_reply, (await _story(chat)))
    assert reply is not None
    await db.run(erase_person, ALICE.key, NOW)
    parts = (SentPart(ordinal=0, message_id="9", state=PartState.SENT),)
    found = ToolResult(call_id="c1", tool_name="search", text=WORD, tokens=1)
    rounds = (ToolRound(calls=(), results=(found,)),)
    await db.run(settle_reply, reply.id, Settled(text=WORD, tokens=1, parts=parts, rounds=rounds), NOW)
    for table in (messages, sent_parts):
        assert await db.read(lambda tx, rows: tx.execute(rows).all(), select(table)) == []


async def test_the_operators_command_lets_a_bot_that_runs_end_its_answers_first(
    make_app: MakeApp, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setattr("bot.cli.privacy.LOOK_EVERY_SECONDS", 0.01)
    gates = [asyncio.Event(), asyncio.Event()]
    replies: list[Reply | str]
    replies = ["ok", Reply(text=f"Alice likes {WORD}", hold=gates[0]), Reply(text=f"you like {WORD}", hold=gates[1])]
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(replies), adapter=FakeAdapter(streams=True))
    await chat.say(f"I like {WORD}", channel=GROUP)
    others = asyncio.ensure_future(chat.say("what does she like?", author=BOB, channel=GROUP))
    await chat.model.wait_for(2)
    own = asyncio.ensure_future(chat.say("what do I like?"))
    await chat.model.wait_for(3)
    with held_alone(database_url):
        command = asyncio.ensure_future(asyncio.to_thread(privacy, "erase", "fake", "alice", "--yes"))
        while not command.done():
            await chat.app.desk.eraser.look()
        assert (await command).output.endswith("fake:alice is forgotten.\n")
    gates[0].set()
    await asyncio.gather(own, others)
    await chat.app.desk.eraser.idle()
    assert files_with_word(tmp_path) == []
    assert await chat.app.core.db.read(wanted_erasures) == []


def test_a_bot_that_hangs_keeps_nobody_from_being_forgotten(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setattr("bot.cli.privacy.PATIENCE_SECONDS", 0.0)
    schema.upgrade(database_url)
    write_once(database_url, set_privacy, ALICE.key, NOW)
    with held_alone(database_url):
        assert privacy("erase", "fake", "alice", "--yes").output.endswith("fake:alice is forgotten.\n")
    assert read_once(database_url, wanted_erasures, ["?"]) == []
    assert json.loads(privacy("export", "fake", "alice").stdout) == {}


async def test_what_a_crash_has_left_in_the_file_goes_at_the_next_start(
    make_app: MakeApp, tmp_path: Path, database_url: str
) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("hello", channel=GROUP)
    await chat.app.close()
    with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as older:
        older.execute("PRAGMA secure_delete=OFF")
        older.execute("INSERT INTO remembered VALUES ('x', ?)", [WORD * 1_000])
        older.commit()
        older.execute("DELETE FROM remembered WHERE name = 'x'")
        older.commit()
    write_once(database_url, erase_person, ALICE.key, NOW)
    assert files_with_word(tmp_path)
    await open_chat(make_app, persona="none")
    assert files_with_word(tmp_path) == []


async def test_nothing_that_takes_back_brings_anything_back(make_app: MakeApp, tmp_path: Path) -> None:
    model = ScriptedModel(answering, summaries=noting(f"Alice has a {WORD}", line="my dog"))
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(managers=["bob"]), **QUIET)
    await chat.say(f"my dog is called {WORD}", channel=GROUP)
    await talk(chat, 8, author=BOB, channel=GROUP)
    await chat.say("/compact", author=BOB, channel=GROUP)
    await forget(chat, channel=GROUP)
    model.requests.clear()
    for said in ("/memory undo", "yes", "/retry", "/undo", "/continue", "what do you know of Alice?"):
        assert WORD not in str(await chat.say(said, author=BOB, channel=GROUP))
    assert WORD not in str(model.requests)
    assert files_with_word(tmp_path) == []
