"""/privacy: what somebody who wants it says is kept for its answer, and then it is nowhere in the database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.chat import Attachment, AttachmentKind, Author, ChannelRef, InboundKind, Quote, Visibility
from bot.llm.model import ModelUnreachable, ToolCall
from bot.store import sessions, window
from bot.store.database import Tx
from bot.store.moving import migrate_place
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, DM, GROUP, Chat, history, open_chat

SECRET = "sesame"
PLAIN: dict[str, Any] = {"persona": "none"}


def kept(database_url: str) -> list[str]:
    """Every text and byte string in the database that has the secret in it, by table and column."""
    with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as connection:
        return [*_kept(connection)]


def _kept(connection: sqlite3.Connection) -> Iterator[str]:
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = connection.execute(f'SELECT * FROM "{table}"')
        columns = [column[0] for column in rows.description]
        for row in rows:
            for column, value in zip(columns, row, strict=True):
                if SECRET in (value.decode(errors="ignore") if isinstance(value, bytes) else str(value)):
                    yield f"{table}.{column}"


async def private_chat(make_app: MakeApp, model: ScriptedModel | None = None, **settings: Any) -> Chat:
    """A chat in which Alice has asked for privacy."""
    chat = await open_chat(make_app, model=model, **{**PLAIN, **settings})
    await chat.say("/privacy on")
    return chat


async def test_privacy_says_how_it_stands_and_what_the_words_mean(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    (off,) = await chat.say("/privacy")
    assert off.startswith("Privacy is **off** for you")
    (on,) = await chat.say("/privacy on")
    assert on.startswith("Privacy is **on** for you")
    assert on.endswith("what I had kept before stays until you say `/privacy forget-me`.")
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.private
    (show,) = await chat.say("/privacy show")
    assert show.rpartition("\n\n")[0] == on.rpartition("\n\n")[0]
    assert "`/privacy forget-me`" in show
    assert (await chat.say("/privacy off"))[0] == off.rpartition("\n\n")[0]
    assert await chat.say("/privacy") == [off]


@pytest.mark.parametrize(("locale", "on", "off"), [("en", "**on**", "**off**"), ("zh-CN", "**开启**", "**关闭**")])
async def test_it_is_ones_own_everywhere_on_a_platform_needs_no_rights_and_outlives_a_restart(
    make_app: MakeApp, locale: str, on: str, off: str
) -> None:
    alice, bob = make_author("Alice", locale=locale), make_author("Bob", locale=locale)
    chat = await open_chat(make_app, **PLAIN)
    assert on in (await chat.say("/privacy on", author=alice, channel=GROUP))[0]
    assert off in (await chat.say("/privacy", author=bob, channel=GROUP))[0]
    await chat.app.close()
    chat = await open_chat(make_app, **PLAIN)
    assert on in (await chat.say("/privacy", author=alice))[0]


FILE = Attachment(kind=AttachmentKind.TEXT, name=f"{SECRET}.txt", text=SECRET, size=6)
IMAGE = Attachment(kind=AttachmentKind.IMAGE, name=f"{SECRET}.png", media_type="image/png", data=SECRET.encode())


@pytest.mark.parametrize("channel", [DM, GROUP], ids=["dm", "group"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"attachments": (FILE, IMAGE)},
        {"reply_to": Quote(message_id="1", author_name="Bob", text=SECRET, author_key="fake:bob")},
    ],
    ids=["words", "files", "a quote"],
)
async def test_what_is_said_to_the_bot_is_answered_and_then_forgotten(
    make_app: MakeApp, database_url: str, channel: ChannelRef, more: dict[str, Any]
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Reply(text="I see", hold=gate), "later"])
    chat = await private_chat(make_app, model)
    delivery = asyncio.ensure_future(chat.say(f"open {SECRET}", channel=channel, **more))
    await model.wait_for(1)
    assert kept(database_url), "a crash must not lose the question"
    gate.set()
    assert (await delivery)[-1] == "I see"
    assert SECRET in str(model.requests[0])
    assert kept(database_url) == []
    await chat.say("and then?", channel=channel, author=BOB)
    said = "Bob: and then?" if channel is GROUP else "and then?"
    assert chat.last_prompt == [*([("assistant", "I see")] if channel is GROUP else []), ("user", said)]


async def test_an_answer_that_repeats_it_stays_in_a_group_and_goes_in_a_dm(
    make_app: MakeApp, database_url: str
) -> None:
    chat = await private_chat(make_app, ScriptedModel(lambda request: f"You said {request.messages[-1].text}"))
    await chat.say(SECRET)
    assert kept(database_url) == []
    await chat.say(SECRET, channel=GROUP)
    assert kept(database_url) == ["message.text"]
    await chat.say("what did it say?", channel=GROUP, author=BOB)
    assert chat.last_prompt == [("assistant", f"You said Alice: {SECRET}"), ("user", "Bob: what did it say?")]


async def test_what_tools_were_asked_is_forgotten_too(make_app: MakeApp, database_url: str) -> None:
    call = ToolCall(id="c1", name="roll_dice", arguments=f'{{"dice": "d6", "note": "{SECRET}"}}')
    chat = await private_chat(make_app, ScriptedModel([Reply(text="", tool_calls=(call,)), "six"]))
    assert await chat.say("roll for me", channel=GROUP) == ["six"]
    assert SECRET in str(chat.model.requests[1])
    assert kept(database_url) == []


@pytest.mark.parametrize(
    ("activation", "is_answered"),
    [("mention", False), ("random", False), ("always", True), ("keyword", True)],
)
async def test_what_is_said_to_others_is_not_overheard(
    make_app: MakeApp, database_url: str, activation: str, is_answered: bool
) -> None:
    settings: dict[str, Any] = {
        "activation": activation,
        "activation_probability": 1.0,
        "activation_keywords": (SECRET,),
    }
    chat = await private_chat(make_app, **settings)
    assert await chat.say(f"Bob, {SECRET}!", channel=GROUP, mentions_me=False) == ["ok"] * is_answered
    assert kept(database_url) == []
    await chat.say("what did she say?", channel=GROUP, author=BOB)
    assert SECRET not in str(chat.last_prompt)


@pytest.mark.parametrize("mentions_me", [False, True], ids=["overheard", "asked"])
async def test_others_may_quote_it_but_the_quote_is_not_kept(
    make_app: MakeApp, database_url: str, mentions_me: bool
) -> None:
    chat = await private_chat(make_app)
    await chat.say(SECRET, channel=GROUP, mentions_me=mentions_me, message_id="77")
    quote = Quote(message_id="77", author_name="Alice", text=SECRET, author_key=ALICE.key)
    picture = Attachment(kind=AttachmentKind.IMAGE, name="a.png", data=SECRET.encode(), quoted=True)
    notes = Attachment(kind=AttachmentKind.TEXT, name="a.txt", text=SECRET, quoted=True)
    await chat.say("what is that?", channel=GROUP, author=BOB, reply_to=quote, attachments=(picture, notes))
    assert chat.last_prompt[-1] == ("user", "Bob: what is that?")
    assert kept(database_url) == []


@pytest.mark.parametrize("line", [f"/start {SECRET}", f"/unknown {SECRET}", f"/persona {SECRET}", f"/help {SECRET}"])
async def test_of_a_command_only_that_it_was_one_is_kept(make_app: MakeApp, database_url: str, line: str) -> None:
    chat = await private_chat(make_app)
    assert len(await chat.say(line)) == 1
    assert kept(database_url) == []


@pytest.mark.parametrize("kind", [InboundKind.EDIT, InboundKind.DELETE])
@pytest.mark.parametrize("channel", [DM, GROUP], ids=["dm", "group"])
@pytest.mark.parametrize("mentions_me", [False, True], ids=["overheard", "asked"])
async def test_an_edit_brings_nothing_back(
    make_app: MakeApp, database_url: str, kind: InboundKind, channel: ChannelRef, mentions_me: bool
) -> None:
    chat = await private_chat(make_app)
    await chat.say(SECRET, channel=channel, mentions_me=mentions_me, message_id="77")
    await chat.say(f"{SECRET} two", channel=channel, mentions_me=mentions_me, message_id="77", kind=kind)
    assert kept(database_url) == []


async def test_an_edit_of_what_was_said_before_takes_that_away_as_well(make_app: MakeApp, database_url: str) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say(f"old {SECRET}", channel=GROUP, mentions_me=False, message_id="77")
    await chat.say("/privacy on")
    assert kept(database_url) == ["message.text"]
    await chat.say(f"new {SECRET}", channel=GROUP, message_id="77", kind=InboundKind.EDIT)
    assert kept(database_url) == []


async def test_an_edit_before_the_answer_counts_for_it(make_app: MakeApp, database_url: str) -> None:
    gate = asyncio.Event()
    chat = await private_chat(make_app, ScriptedModel([Reply(text="to Bob", hold=gate), "to Alice"]))
    bob = asyncio.ensure_future(chat.say("first", channel=GROUP, author=BOB))
    await chat.model.wait_for(1)
    await chat.ask("half a", channel=GROUP, mentions_me=True, message_id="77")
    await chat.ask(f"a whole {SECRET}", channel=GROUP, message_id="77", kind=InboundKind.EDIT)
    gate.set()
    await bob
    assert chat.last_prompt[-1] == ("user", f"Alice: a whole {SECRET}")
    assert kept(database_url) == []


async def test_no_other_answer_reads_what_waits_for_its_own(make_app: MakeApp) -> None:
    def told(tx: Tx) -> str:
        session = sessions.find_session(tx, GROUP)
        assert session is not None
        assert session.conversation_id is not None
        return str(window.read_window(tx, session.id, session.conversation_id, up_to=10**6, room=10**6))

    gate = asyncio.Event()
    chat = await private_chat(make_app, ScriptedModel([Reply(text="I see", hold=gate)]))
    delivery = asyncio.ensure_future(chat.say(SECRET, channel=GROUP))
    await chat.model.wait_for(1)
    await chat.ask("my word", channel=GROUP, author=BOB)
    now = await chat.app.core.db.read(told)
    assert "my word" in now
    assert SECRET not in now
    gate.set()
    await delivery


@pytest.mark.parametrize(
    ("channel", "command", "told"),
    [
        (DM, "/retry", "That was said in privacy, so I don't have it any more. Please say it again."),
        (DM, "/continue", "That was said in privacy, so I don't have it any more. Please say it again."),
        (GROUP, "/retry", "That was said in privacy, so I don't have it any more. Please say it again."),
        (GROUP, "/continue", "ok"),
        (DM, "/undo", "Taken back: neither the message nor the answer counts any more."),
        (GROUP, "/undo", "Taken back: neither the message nor the answer counts any more."),
    ],
)
async def test_what_is_forgotten_cannot_be_answered_again(
    make_app: MakeApp, channel: ChannelRef, command: str, told: str
) -> None:
    chat = await private_chat(make_app)
    await chat.say(SECRET, channel=channel)
    assert await chat.say(command, channel=channel) == [told]


@pytest.mark.parametrize("end", ["fails", "is stopped", "is reset"])
async def test_a_question_without_an_answer_is_forgotten_too(make_app: MakeApp, database_url: str, end: str) -> None:
    gate = asyncio.Event()
    error = ModelUnreachable("test", "gone") if end == "fails" else None
    chat = await private_chat(make_app, ScriptedModel([Reply(text="", hold=gate, error=error)]))
    delivery = asyncio.ensure_future(chat.say(SECRET))
    await chat.model.wait_for(1)
    if end != "fails":
        await chat.ask("/stop" if end == "is stopped" else "/reset")
    gate.set()
    await delivery
    assert kept(database_url) == []


async def test_privacy_off_is_as_usual_and_only_for_what_is_said_from_then_on(make_app: MakeApp) -> None:
    chat = await private_chat(make_app)
    await chat.say(SECRET)
    await chat.say("/privacy off")
    await chat.say("I am Alice")
    await chat.say("who am I?")
    assert chat.last_prompt == [("user", "I am Alice"), ("assistant", "ok"), ("user", "who am I?")]


async def test_S16_a_crash_while_it_is_answered_keeps_it_until_the_start(make_app: MakeApp, database_url: str) -> None:
    gate = asyncio.Event()
    chat = await open_chat(
        make_app, model=ScriptedModel([Reply(text="one two", hold=gate)]), adapter=FakeAdapter(streams=True), **PLAIN
    )
    await chat.say("/privacy on")
    delivery = asyncio.ensure_future(chat.say(SECRET))
    async with asyncio.timeout(10):
        while not chat.last_reply.shown:
            chat.adapter.changed.clear()
            await chat.adapter.changed.wait()
    await chat.app.close()
    delivery.cancel()
    assert kept(database_url)
    await open_chat(make_app, **PLAIN)
    assert kept(database_url) == []


@pytest.mark.parametrize("is_old", [False, True])
async def test_S13_what_a_stop_left_waiting_is_answered_or_given_up_and_forgotten(
    make_app: MakeApp, database_url: str, is_old: bool
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel([Reply(text="", hold=asyncio.Event())]), **PLAIN)
    await chat.say("/privacy on")
    sent_at = NOW - timedelta(hours=1) if is_old else NOW
    delivery = asyncio.ensure_future(chat.say(SECRET, sent_at=sent_at))
    await chat.model.wait_for(1)
    await chat.app.dispatcher.drain(0)
    await chat.app.close()
    await delivery
    assert kept(database_url)
    after = await open_chat(make_app, **PLAIN)
    await after.app.dispatcher.idle()
    assert after.adapter.texts == ([] if is_old else ["ok"])
    assert kept(database_url) == []


async def test_T11_T23_a_chat_that_speaks_for_itself_keeps_its_choice_and_its_name_when_it_moves(
    make_app: MakeApp, database_url: str
) -> None:
    old = ChannelRef(platform="fake", place="-1", visibility=Visibility.PRIVATE)
    new = ChannelRef(platform="fake", place="-100", visibility=Visibility.PRIVATE)
    chat = await open_chat(make_app, **PLAIN)

    def anonymous(channel: ChannelRef) -> Author:
        return Author(platform="fake", id=channel.place, name="Club")

    await chat.say("we are many", channel=old, author=anonymous(old))
    await chat.say("/privacy on", channel=old, author=anonymous(old))
    await chat.app.core.db.run(migrate_place, old, new)
    await chat.say(SECRET, channel=new, author=anonymous(new))
    assert kept(database_url) == []
    await chat.say("/privacy off", channel=new, author=anonymous(new))
    await chat.say("still us", channel=new, author=anonymous(new))
    assert chat.last_prompt[-1] == ("user", "Club: still us")


async def test_no_log_has_it(make_app: MakeApp, capsys: pytest.CaptureFixture[str]) -> None:
    chat = await private_chat(make_app, debug_logging=True)
    await chat.say(SECRET)
    await chat.say(SECRET, channel=GROUP, mentions_me=False)
    assert SECRET not in "".join(capsys.readouterr())
    assert history(chat.model.requests[0]) == [("user", SECRET)]


async def test_the_bot_answers_in_one_place_what_it_must_not_hear_in_another(
    make_app: MakeApp, database_url: str, tmp_path: Path
) -> None:
    chat = await private_chat(make_app)
    for channel in (DM, GROUP, make_channel("other"), make_channel(thread="t")):
        assert await chat.say(SECRET, channel=channel) == ["ok"]
    await chat.app.pipeline.deliver(make_inbound(SECRET, channel=GROUP))
    assert kept(database_url) == []
