"""What the Discord adapter hears on the wire, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import discord
import pytest
from structlog.testing import capture_logs

from bot.chat import Inbound, InboundKind, Visibility
from tests.emulators.discord import DiscordEmulator
from tests.emulators.discord.harness import Scene, hosted, staged


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


async def test_D33_a_dm_is_heard_and_answered_without_a_guild(scene: Scene) -> None:
    await scene.bob.send_dm("hello")
    heard = await scene.bot.hears()
    assert heard.channel.session_key == f"discord:{scene.bob.dm_channel.id}"
    assert heard.channel.visibility is Visibility.DM
    assert (heard.author.name, heard.author.roles) == ("Bob", frozenset())
    await scene.bot.reply(heard, "hi")
    assert (await scene.emulator.bot_message())["channel_id"] == str(scene.bob.dm_channel.id)


async def test_commands_in_text_need_our_mention_in_guilds_alone(scene: Scene) -> None:
    await scene.alice.send(scene.channel, "/status")
    assert (await scene.bot.hears(text="/status")).commands_need_mention
    await scene.bob.send_dm("/help")
    assert not (await scene.bot.hears(text="/help")).commands_need_mention


async def test_D11_without_the_content_intent_we_hear_dms_and_mentions_and_say_so_once() -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    with capture_logs() as logs:
        async with staged(approved=approved) as scene:
            first = await scene.alice.send(scene.channel, "psst")
            await scene.alice.send(scene.channel, "nobody hears this")
            await scene.alice.edit(first, "nor this")
            await scene.alice.send(scene.channel, f"{scene.mention} but this")
            await scene.alice.send_dm("and this")
            await scene.bot.hears(text="and this")
    assert {inbound.text for inbound in scene.bot.heard} == {"but this", "and this"}
    (told,) = [entry for entry in logs if entry["event"] == "discord.message_content_missing"]
    assert "Privileged Gateway Intents" in told["remedy"]


async def test_D31_edits_and_deletes_are_heard_though_no_message_is_kept(scene: Scene) -> None:
    message = await scene.alice.send(scene.channel, "hi")
    await scene.alice.edit(message, "hello")
    edit = await scene.bot.hears(InboundKind.EDIT)
    assert (edit.message_id, edit.text) == (str(message.id), "hello")
    await scene.alice.delete(message)
    delete = await scene.bot.hears(InboundKind.DELETE)
    assert (delete.message_id, delete.channel) == (str(message.id), edit.channel)


async def test_D31_messages_deleted_in_bulk_are_each_heard(scene: Scene) -> None:
    scene.emulator.inject(
        "MESSAGE_DELETE_BULK",
        {"ids": ["11", "12"], "channel_id": str(scene.channel.id), "guild_id": str(scene.guild.id)},
    )
    await scene.bot.hears(InboundKind.DELETE, message_id="12")
    assert [inbound.message_id for inbound in scene.bot.heard] == ["11", "12"]


async def test_D31_a_pin_or_a_preview_is_no_edit(scene: Scene) -> None:
    message = await scene.alice.send(scene.channel, "hi")
    update = next(event for event in scene.emulator.events if event.name == "MESSAGE_CREATE").data | {"pinned": True}
    scene.emulator.inject("MESSAGE_UPDATE", update)
    await scene.alice.edit(message, "really edited")
    assert (await scene.bot.hears(InboundKind.EDIT)).text == "really edited"


async def test_our_own_messages_and_edits_are_not_heard(scene: Scene) -> None:
    await scene.bob.send_dm("one")
    heard = await scene.bot.hears()
    stream = await scene.bot.adapter.open_reply(heard.channel)
    await stream.update("a first part")
    await scene.bot.reply(heard, "an answer")
    await scene.bob.send_dm("two")
    await scene.bot.hears(text="two")
    assert [inbound.text for inbound in scene.bot.heard] == ["one", "two"]
    await stream.discard()


async def test_D17_a_thread_that_was_archived_when_we_connected_keeps_its_parent(scene: Scene) -> None:
    thread = scene.world.start_thread(scene.channel, "old", scene.alice, announced=False)
    await scene.alice.send(thread, "hi")
    heard = await scene.bot.hears(text="hi")
    assert heard.channel.session_key == f"discord:{scene.guild.id}:{scene.channel.id}:{thread.id}"


def in_threads(scene: Scene) -> list[tuple[str, bool]]:
    """What was heard in threads, and whether it was told as what the thread was opened about."""
    return [(inbound.text, inbound.is_starter) for inbound in scene.bot.heard if inbound.channel.thread]


async def test_D16_before_the_first_words_in_a_thread_we_hear_what_it_was_opened_about_once(scene: Scene) -> None:
    bob = scene.guild.add_member(scene.bob)
    starter = await bob.send(scene.channel, f"{scene.mention} Please plan a picnic for 6")
    thread = scene.world.start_thread(scene.channel, "picnic", scene.alice, starter=starter)
    for text in ("just us so far", f"{scene.mention} make this happen", f"{scene.mention} please"):
        await scene.alice.send(thread, text)
    last = await scene.bot.hears(text="please")
    assert in_threads(scene) == [
        ("Please plan a picnic for 6", True),
        ("just us so far", False),
        ("make this happen", False),
        ("please", False),
    ]
    told = await scene.bot.hears(is_starter=True)
    assert (told.message_id, told.author.id, told.channel) == (str(starter.id), str(scene.bob.id), last.channel)
    assert not told.mentions_me


async def test_D16_a_thread_under_our_own_words_begins_with_them(scene: Scene) -> None:
    (part,) = await scene.bot.reply(await scene.asked(), "Here is my plan.")
    mine = scene.world.message(scene.channel.id, int(str(part.message_id)))
    thread = scene.world.start_thread(scene.channel, "plan", scene.alice, starter=mine)
    await scene.alice.send(thread, "I like it")
    await scene.bot.hears(text="I like it")
    assert in_threads(scene) == [("Here is my plan.", True), ("I like it", False)]


async def test_D16_a_thread_without_a_starter_is_heard_all_the_same_and_asked_for_none_again(scene: Scene) -> None:
    thread = scene.world.start_thread(scene.channel, "on its own", scene.alice)
    for text in ("hi", "ho"):
        await scene.alice.send(thread, f"{scene.mention} {text}")
    await scene.bot.hears(text="ho")
    assert in_threads(scene) == [("hi", False), ("ho", False)]
    (asked,) = scene.emulator.requests.matching(lambda r: r.is_for("GET", "/channels/*/messages/*"))
    assert asked.status == 404


async def test_D16_a_starter_that_could_not_be_fetched_is_asked_for_again_by_the_next_words(scene: Scene) -> None:
    starter = await scene.alice.send(scene.channel, "Please plan a picnic for 6")
    thread = scene.world.start_thread(scene.channel, "picnic", scene.alice, starter=starter)
    scene.emulator.fault("GET", f"/channels/{scene.channel.id}/messages/*", status=400)
    for text in ("one", "two", "three"):
        await scene.alice.send(thread, f"{scene.mention} {text}")
    await scene.bot.hears(text="three")
    assert [text for text, _ in in_threads(scene)] == ["one", "Please plan a picnic for 6", "two", "three"]


async def test_D16_a_forum_post_begins_with_its_starter_whether_we_were_there_or_not() -> None:
    async with DiscordEmulator() as emulator:
        guild = emulator.world.create_guild()
        alice = guild.add_member(emulator.world.create_user("alice"))
        forum = guild.create_forum_channel("help")
        before, _ = emulator.world.start_forum_post(forum, "How?", alice, "How does it work?")
        async with hosted(emulator) as bot:
            await alice.send(before, f"{emulator.mention} do you know?")
            await bot.hears(text="do you know?")
            since, _ = emulator.world.start_forum_post(forum, "Why?", alice, f"{emulator.mention} why is that?")
            await alice.send(since, "anybody?")
            await bot.hears(text="anybody?")
    told = [(inbound.text, inbound.is_starter, inbound.mentions_me) for inbound in bot.heard]
    assert told == [
        ("How does it work?", True, False),
        ("do you know?", False, True),
        ("why is that?", False, True),
        ("anybody?", False, False),
    ]


async def test_D16_a_reply_in_a_thread_quotes_what_it_replies_to_and_the_starter_comes_before_it(scene: Scene) -> None:
    starter = await scene.alice.send(scene.channel, "Please plan a picnic for 6")
    thread = scene.world.start_thread(scene.channel, "picnic", scene.alice, starter=starter)
    message = await scene.alice.send(thread, "bring cake")
    await scene.alice.send(thread, f"{scene.mention} which one?", reply_to=message)
    await scene.alice.send(thread, f"{scene.mention} well?")
    heard = await scene.bot.hears(text="which one?")
    assert heard.reply_to
    assert (heard.reply_to.message_id, heard.reply_to.text) == (str(message.id), "bring cake")
    assert (await scene.bot.hears(text="well?")).reply_to is None
    assert in_threads(scene) == [
        ("Please plan a picnic for 6", True),
        ("bring cake", False),
        ("which one?", False),
        ("well?", False),
    ]
    asked = scene.emulator.requests.matching(lambda r: r.is_for("GET", "/channels/*/messages/*"))
    assert [request.path for request in asked] == [f"/channels/{scene.channel.id}/messages/{starter.id}"]


async def test_D16_D31_what_happens_to_a_starter_happens_in_its_thread_too(scene: Scene) -> None:
    starter = await scene.alice.send(scene.channel, "Please plan a picnic for 6")
    thread = scene.world.start_thread(scene.channel, "picnic", scene.alice, starter=starter)
    await scene.alice.send(thread, "well?")
    in_thread = (await scene.bot.hears(text="well?")).channel
    await scene.alice.edit(starter, "Please plan a picnic for 7")
    edit = await scene.bot.hears(InboundKind.EDIT, channel=in_thread)
    assert (edit.message_id, edit.text) == (str(starter.id), "Please plan a picnic for 7")
    await scene.alice.delete(starter)
    assert (await scene.bot.hears(InboundKind.DELETE, channel=in_thread)).message_id == str(starter.id)


async def test_messages_of_one_channel_keep_their_order_and_others_do_not_wait(scene: Scene) -> None:
    hold = asyncio.Event()

    async def hold_the_first(inbound: Inbound) -> None:
        if inbound.text == "first":
            await hold.wait()

    scene.bot.answer = hold_the_first
    for text in ("first", "second", "third"):
        await scene.bob.send_dm(text)
    await scene.alice.send_dm("from elsewhere")
    await scene.bot.hears(text="from elsewhere")
    assert [inbound.text for inbound in scene.bot.heard] == ["first", "from elsewhere"]
    hold.set()
    await scene.bot.hears(text="third")
    assert [inbound.text for inbound in scene.bot.heard][2:] == ["second", "third"]


async def test_one_message_that_breaks_the_pipeline_does_not_silence_its_channel(scene: Scene) -> None:
    async def break_once(inbound: Inbound) -> None:
        if inbound.text == "poison":
            raise RuntimeError("poison")

    scene.bot.answer = break_once
    await scene.bob.send_dm("poison")
    await scene.bob.send_dm("after")
    await scene.bot.hears(text="after")


async def test_S13_a_stop_does_not_wait_for_a_delivery_that_hangs(scene: Scene) -> None:
    hold = asyncio.Event()
    scene.bot.answer = lambda _: hold.wait()
    await scene.bob.send_dm("hi")
    await scene.bot.hears()
    async with asyncio.timeout(5):
        await scene.bot.adapter.stop_listening()
    hold.set()


async def test_after_stop_listening_nothing_is_taken_and_replies_can_end(scene: Scene) -> None:
    await scene.bob.send_dm("before")
    heard = await scene.bot.hears()
    await scene.bot.adapter.stop_listening()
    await scene.bob.send_dm("after")
    (part,) = await scene.bot.reply(heard, "done")
    assert part.message_id
    assert [inbound.text for inbound in scene.bot.heard] == ["before"]
