"""What a group hears once, at its first contact: who is there, how to address it, and how not to be remembered."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.chat import ChannelRef, InboundKind, PartState, Quote, Visibility
from bot.store import schema
from bot.store.database import Database, Tx
from bot.store.moving import migrate_place
from bot.store.tables import introductions, messages
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, Chat, history, open_chat


def spot(place: str = "9", channel: str = "a", thread: str = "") -> ChannelRef:
    """A channel of a place that has never met the bot."""
    return ChannelRef(platform="fake", place=place, channel=channel, thread=thread, visibility=Visibility.PUBLIC)


def introduced(chat: Chat) -> list[str]:
    return [text for text in chat.adapter.texts if re.search("`/privacy on`[.。]", text)]


async def posted() -> None:
    """Wait until it is settled that it was posted."""
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "introduction"))


async def first_contact(chat: Chat, text: str = "hello", **more: Any) -> str:
    """Say something in a new place, and return what is told there beside the answer."""
    await chat.say(text, channel=more.pop("channel", spot()), **more)
    await chat.adapter.wait_for(1 if text == "/start" else 2)
    (told,) = introduced(chat)
    return told


async def test_a_group_is_greeted_and_told_in_one_message_and_the_answer_knows_the_greeting(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    told = await first_contact(chat)
    persona = chat.app.core.library.get("bryony")
    assert persona is not None
    (greeting,) = persona.card.group_only_greetings
    assert told == "\n".join(
        [
            greeting.strip(),
            "",
            "I'm a bot; here I speak as **Bryony**.",
            "- Mention me, reply to me or call me by name, and I answer. The rest I only listen to.",
            "- `/persona` shows who else can speak here, `/persona use NAME` lets one.",
            "- I remember what I hear, said to me or not. If you would rather not be remembered: `/privacy on`.",
            "- `/help` shows the rest.",
        ]
    )
    assert chat.last_prompt == [("assistant", greeting.strip()), ("user", "Alice: hello")]
    await chat.say("and now?", channel=spot())
    assert chat.last_prompt[:3] == [("assistant", greeting.strip()), ("user", "Alice: hello"), ("assistant", "ok")]
    assert len(introduced(chat)) == 1


@pytest.mark.parametrize(
    ("settings", "locale", "adapter", "said"),
    [
        (
            {"persona": "none"},
            "en",
            {},
            ["I'm a bot to talk to.", "Mention me or reply to me, and I answer", "I remember what I hear"],
        ),
        ({"persona": "none"}, "zh-CN", {}, ["我是一个可以聊天的机器人", "其余的我只是听着", "我会记住听到的话"]),
        ({"persona": "none", "language": "zh"}, "en", {}, ["我是一个可以聊天的机器人"]),
        ({"activation": "always"}, "en", {}, ["Here I answer every message."]),
        (
            {"activation": "keyword", "activation_keywords": ("tea", "*milk*")},
            "en",
            {},
            ["use one of these words: tea, \\*milk\\*."],
        ),
        (
            {"activation": "always"},
            "en",
            {"hears_all": False},
            [
                "Here only commands, replies to me and messages that mention me reach me",
                "I remember what is said to me.",
            ],
        ),
    ],
)
async def test_T18_it_is_told_in_the_language_of_the_place_and_by_what_holds_there(
    make_app: MakeApp, settings: dict[str, Any], locale: str, adapter: dict[str, Any], said: list[str]
) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(**adapter), **settings)
    told = await first_contact(chat, author=make_author("Alice", locale=locale))
    for words in said:
        assert words in told
    assert adapter or "Here only commands" not in told


async def test_T18_help_says_what_does_not_reach_the_bot(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(hears_all=False))
    (told,) = await chat.say("/help", channel=make_channel())
    assert "Here only commands, replies to me and messages that mention me reach me; those I answer." in told
    (told,) = await chat.say("/help")
    assert "Here you simply write to me." in told


@pytest.mark.parametrize("command", ["/persona", "/status", "/help"])
async def test_a_command_is_a_first_contact_too(make_app: MakeApp, command: str) -> None:
    chat = await open_chat(make_app)
    await first_contact(chat, command)
    assert len(chat.adapter.texts) == 2


@pytest.mark.parametrize("by_menu", [False, True])
async def test_start_is_answered_by_the_introduction_itself(make_app: MakeApp, by_menu: bool) -> None:
    chat = await open_chat(make_app)
    if by_menu:
        await chat.choose("start", channel=spot())
        (told,) = await chat.adapter.wait_for(1)
        assert chat.last_reply.handle is not None
    else:
        told = await first_contact(chat, "/start")
    assert "/privacy on" in told
    assert await chat.say("/start", channel=spot()) == [
        "Hello again! Mention me, reply to me or call me by name, and I answer. The rest I only listen to. "
        "/help shows what else I can do."
    ]
    assert len(introduced(chat)) == 1


async def test_other_channels_and_threads_of_the_place_are_spared_it_and_other_places_are_not(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app)
    await first_contact(chat)
    for channel in (spot(channel="b"), spot(thread="t")):
        assert await chat.say("hello", channel=channel) == ["ok"]
    await chat.say("hello", channel=spot("8"))
    await chat.adapter.wait_for(6)
    assert [reply.channel for reply in chat.adapter.replies if "/privacy on" in reply.text] == [spot(), spot("8")]


@pytest.mark.parametrize(
    "inbound",
    [
        make_inbound("just talking", channel=spot()),
        make_inbound("hello", channel=spot(), author=make_author("Robo", is_bot=True), mentions_me=True),
        make_inbound("hello", channel=spot(), author=make_author("Eve"), mentions_me=True),
        make_inbound("gone", channel=spot(), kind=InboundKind.BUTTON),
    ],
    ids=["overheard", "a bot", "somebody who is not admitted", "a button of old"],
)
async def test_only_people_who_turn_to_it_make_it_introduce_itself(make_app: MakeApp, inbound: Any) -> None:
    chat = await open_chat(make_app, bots={"answer": True}, access={"deny_users": ("fake:eve",)})
    await chat.app.pipeline.deliver(inbound)
    await chat.app.dispatcher.idle()
    assert introduced(chat) == []
    await chat.say("hello", channel=spot())
    await posted()
    assert len(introduced(chat)) == 1


async def test_private_chats_are_greeted_and_not_told(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert len(await chat.say("hello")) == 2
    assert introduced(chat) == []


async def test_two_channels_that_begin_at_once_tell_it_once(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    spots = [spot(channel=str(number)) for number in range(5)]
    await asyncio.gather(*(chat.say("hello", channel=channel, author=BOB) for channel in spots))
    await chat.adapter.wait_for(6)
    assert len(introduced(chat)) == 1


async def test_the_answer_does_not_wait_for_it(make_app: MakeApp) -> None:
    told = asyncio.Event()

    class Slow(FakeAdapter):
        async def hears_everything(self, channel: ChannelRef) -> bool:
            await told.wait()
            return True

    chat = await open_chat(make_app, adapter=Slow())
    assert await chat.say("hello", channel=spot()) == ["ok"]
    told.set()
    assert "/privacy on" in (await chat.adapter.wait_for(2))[1]


async def test_what_nobody_could_read_is_told_at_the_next_contact(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    chat.adapter.state = PartState.FAILED
    first = await first_contact(chat)
    await posted()
    chat.adapter.state = PartState.SENT
    await chat.say("hello?", channel=spot())
    await chat.adapter.wait_for(4)
    assert introduced(chat) == [first, first]
    await chat.say("and now?", channel=spot())
    assert sum(role == "assistant" and "Lost property" in text for role, text in chat.last_prompt) <= 1


async def test_after_a_crash_while_it_was_posted_it_is_not_told_again(make_app: MakeApp) -> None:
    class Stuck(FakeAdapter):
        async def hears_everything(self, channel: ChannelRef) -> bool:
            await asyncio.Event().wait()
            return True

    chat = await open_chat(make_app, adapter=Stuck(), persona="bryony")
    assert await chat.say("hello", channel=spot()) == ["ok"]
    await chat.app.close()
    again = await open_chat(make_app, persona="bryony")
    assert await again.say("hello again", channel=spot()) == ["ok"]


async def test_a_transaction_that_breaks_leaves_neither_the_note_nor_the_greeting(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    late = replace(make_inbound("hello", channel=spot(), mentions_me=True), sent_at=NOT_AWARE)
    await chat.app.pipeline.deliver(late)

    def kept(tx: Tx) -> list[Any]:
        told = tx.execute(select(introductions.c.place_key).where(introductions.c.place_key == "fake:9")).all()
        return [*told, *tx.execute(select(messages.c.id)).all()]

    assert await chat.app.core.db.read(kept) == []
    await first_contact(chat)


NOT_AWARE = make_inbound().sent_at.replace(tzinfo=None)
"""A time that the database refuses."""


async def test_a_quote_of_the_message_brings_only_its_greeting_into_a_prompt(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    told = await first_contact(chat)
    message_id = chat.adapter.texts.index(told) + 1
    # The whole message as the platform delivers it: the greeting, then what no prompt may read.
    quote = Quote(message_id=f"m{message_id}", author_name="Me", text=told[-250:], is_mine=True)
    await chat.say("hm?", channel=spot(), reply_to=quote)
    assert "[replying to Bryony: " in chat.last_prompt[-1][1]
    assert "/privacy" not in str(chat.last_prompt)


async def test_without_a_greeting_a_quote_of_it_brings_nothing(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    told = await first_contact(chat)
    message_id = chat.adapter.texts.index(told) + 1
    quote = Quote(message_id=f"m{message_id}", author_name="Me", text=told, is_mine=True)
    await chat.say("hm?", channel=spot(), reply_to=quote)
    assert chat.last_prompt[-1] == ("user", "Alice: hm?")


async def test_T23_a_place_that_moves_knows_what_it_was_told(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await first_contact(chat)
    await chat.app.core.db.run(migrate_place, spot(), spot("10"))
    assert await chat.say("hello", channel=spot("10")) == ["ok"]
    await chat.say("hello", channel=spot())  # the old key is free again: it means another place
    await chat.adapter.wait_for(5)
    assert len(introduced(chat)) == 2


async def test_its_greeting_is_undone_and_reset_like_any_other(make_app: MakeApp) -> None:
    model = ScriptedModel(lambda request: Reply(text=f"{len(history(request))}"))
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(managers=["alice"]), persona="bryony")
    await first_contact(chat, author=ALICE)
    await chat.say("/reset", channel=spot(), author=ALICE)
    await chat.say("hello", channel=spot(), author=ALICE)
    assert [role for role, _ in chat.last_prompt] == ["assistant", "user"]


async def test_places_that_had_answers_before_are_not_told(tmp_path: Path, make_app: MakeApp) -> None:
    """The migration that brings introductions takes them for told."""
    url = f"sqlite:///{tmp_path / 'old.db'}"
    schema.upgrade(url)
    chat = await open_chat(make_app, database_url=url)
    await chat.say("hello", channel=spot())
    await chat.say("hello")
    await chat.app.close()
    downgrade(url, "0001")
    schema.upgrade(url)
    db = Database(url)
    assert await db.read(lambda tx: tx.execute(select(introductions.c.place_key)).scalars().all()) == ["fake:9"]
    await db.close()


def downgrade(url: str, revision: str) -> None:
    """Take the database back to a revision."""
    from alembic import command

    from bot.store.database import open_engine

    engine = open_engine(url)
    with engine.begin() as connection:
        config = schema._config()
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
    engine.dispose()
