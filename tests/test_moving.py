"""A group that becomes a supergroup: what is kept anywhere under its old key is there under its new one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.app import App
from bot.chat import Author, ChannelRef, InboundKind, Visibility
from bot.store.ledger_tables import model_calls
from bot.store.memory_tables import memory_items
from bot.store.tables import messages
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author, make_inbound
from tests.conftest import MakeApp, know_the_bot
from tests.remembering import SMALL, noting, talk
from tests.talking import ALICE, Chat, history, open_chat

OLD = ChannelRef(platform="fake", place="-4123", visibility=Visibility.PRIVATE)
NEW = ChannelRef(platform="fake", place="-100", visibility=Visibility.PRIVATE)
BOB = make_author("Bob")
CLUB = Author(platform="fake", id=OLD.place, name="Club")
"""The group itself, as its anonymous administrators speak."""


def kept(database_url: str) -> set[str]:
    """Where in the database, by table and column, the old place is named."""
    with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as connection:
        return {*_kept(connection)}


def _kept(connection: sqlite3.Connection) -> Iterator[str]:
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = connection.execute(f'SELECT * FROM "{table}"')
        for row in rows:
            for column, value in zip(rows.description, row, strict=True):
                if OLD.place in str(value):
                    yield f"{table}.{column[0]}"


async def migrate(app: App) -> None:
    move = replace(make_inbound(channel=OLD, kind=InboundKind.MIGRATION), migrated_to=NEW)
    await app.pipeline.deliver(move)


async def full_chat(make_app: MakeApp, **settings: Any) -> Chat:
    """A group that speaks for itself and has left its key wherever one can be."""
    model = ScriptedModel(summaries=noting("The club meets on Mondays", about=CLUB.key, line="number 0"))
    chat = await open_chat(make_app, model=model, access={"open_commands": True}, **{**SMALL, **settings})
    await chat.say("/session set --for place -n Club", channel=OLD, author=CLUB)
    for key, reach in (("timezone Asia/Tokyo", "place"), ("language en", "here")):
        await chat.say(f"/session set --for {reach} {key}", channel=OLD, author=CLUB)
    await talk(chat, 6, author=CLUB, channel=OLD)
    await chat.say("/compact", channel=OLD, author=CLUB)
    for number, command in enumerate(("fact We row --who Club", "event The flood")):
        await chat.say(f"/memory add {command}", channel=OLD, author=CLUB, message_id=f"add {number}")
    await chat.say("/memory forget 3", channel=OLD, author=CLUB)
    await chat.say("hello from the topic", channel=replace(OLD, thread="7"), author=CLUB)
    await chat.say("/privacy on", channel=OLD, author=CLUB)
    return chat


async def test_T09_a_group_that_moves_takes_its_story_along(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, persona="none")
    await app.pipeline.deliver(make_inbound("remember me", channel=OLD, mentions_me=True))
    await app.dispatcher.idle()
    await migrate(app)
    await migrate(app)
    await app.pipeline.deliver(make_inbound("well?", channel=NEW, mentions_me=True))
    await app.dispatcher.idle()
    assert history(model.requests[-1]) == [
        ("user", "Alice: remember me"),
        ("assistant", "ok"),
        ("user", "Alice: well?"),
    ]


async def test_T23_turns_of_the_new_place_are_answered_when_it_is_merged_with_the_old_one(
    make_app: MakeApp, database_url: str
) -> None:
    know_the_bot(Path(database_url.removeprefix("sqlite:///")), NEW.place_key)
    gate = asyncio.Event()
    model, adapter = ScriptedModel([Reply(text="running", hold=gate), "waiting"]), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("long ago", channel=OLD, author=BOB))
    await app.pipeline.deliver(make_inbound("A?", channel=NEW, mentions_me=True))
    await model.wait_for(1)
    await app.pipeline.deliver(make_inbound("B?", channel=NEW, author=BOB, mentions_me=True))
    await migrate(app)
    gate.set()
    await app.dispatcher.idle()
    await app.pipeline.deliver(make_inbound("and?", channel=NEW, mentions_me=True))
    await app.dispatcher.idle()
    assert adapter.texts[:2] == ["running", "waiting"]
    told = str(history(model.requests[-1]))
    assert all(text in told for text in ("long ago", "A?", "running", "B?", "waiting", "and?"))
    rows = await app.core.db.read(lambda tx: tx.execute(select(messages.c.session_id, messages.c.place_key)).all())
    assert {tuple(row) for row in rows} == {(1, NEW.place_key)}


async def test_T09_T23_no_table_names_the_old_place_after_a_migration(make_app: MakeApp, database_url: str) -> None:
    chat = await full_chat(make_app)
    named = kept(database_url)
    everywhere = {"key", "place_key", "parent_key", "place"}
    assert {f"chat_session.{column}" for column in everywhere} <= named
    assert {"memory_item.place_key", "memory_item.subject", "memory_item.made_by", "memory_item.retired_by"} <= named
    assert {"compaction.delta", "override.scope_key", "override.set_by", "person.key", "naming.author_key"} <= named
    assert {"message.author_key", "message.place_key", "model_call.author_key", "introduction.place_key"} <= named
    await migrate(chat.app)
    assert kept(database_url) == set()


async def test_T09_T11_what_is_remembered_of_a_group_is_remembered_of_it_when_it_has_moved(make_app: MakeApp) -> None:
    chat = await full_chat(make_app)
    before = await chat.say("/memory", channel=OLD)
    await migrate(chat.app)
    assert await chat.say("/memory", channel=NEW) == [before[0].replace(OLD.place, NEW.place)]
    assert "The club meets on Mondays" in before[0]


@pytest.mark.parametrize("people", [("fake:-4123",), ("fake:alice", "fake:-4123"), ("fake:-41234", "fake:-4123")])
async def test_T11_T23_those_who_agreed_are_told_apart_by_whole_keys(
    make_app: MakeApp, people: tuple[str, ...]
) -> None:
    chat = await full_chat(make_app)
    which = memory_items.c.kind == "event"
    await chat.app.core.db.run(
        lambda tx: tx.execute(memory_items.update().where(which).values(people="\n".join(people)))
    )
    await migrate(chat.app)
    moved = await chat.app.core.db.read(
        lambda tx: tx.execute(select(memory_items.c.people).where(which)).scalars().all()
    )
    assert moved == ["\n".join("fake:-100" if key == "fake:-4123" else key for key in people)]


async def test_T23_calls_of_a_session_that_is_merged_count_for_the_one_it_becomes(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("old", channel=OLD, author=ALICE)
    await chat.say("new", channel=NEW, author=ALICE)
    await migrate(chat.app)
    found = select(model_calls.c.session_id)
    assert set(await chat.app.core.db.read(lambda tx: tx.execute(found).scalars().all())) == {1}
