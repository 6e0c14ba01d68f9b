"""The Telegram adapter over real sockets: what it hears, once, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from adapters.telegram.options import TelegramOptions
from bot.chat import AttachmentKind, InboundKind
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import PNG, Stage, channel


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with TelegramEmulator() as telegram:
        yield Stage(telegram)


async def test_messages_edits_and_presses_are_delivered_in_order(stage: Stage) -> None:
    async with stage.running() as (adapter, ears):
        message = stage.telegram.say(stage.alice, stage.private, "hi")
        stage.telegram.edit(message, "hello")
        first, second = await ears.hear(2)
    assert adapter.platform == "telegram"
    assert (first.kind, first.text) == (InboundKind.MESSAGE, "hi")
    assert (second.kind, second.text, second.message_id) == (InboundKind.EDIT, "hello", first.message_id)


async def test_chats_do_not_wait_for_each_other_and_keep_their_order(stage: Stage) -> None:
    async with stage.running() as (_, ears):
        gate = ears.hold["slow"] = asyncio.Event()
        for text in ("slow", "after slow"):
            stage.telegram.say(stage.alice, stage.private, text)
        stage.telegram.say(stage.bob, stage.group, "elsewhere")
        await ears.hear(1)
        assert ears.texts == ["elsewhere"]
        gate.set()
        await ears.hear(3)
    assert ears.texts == ["elsewhere", "slow", "after slow"]


async def test_an_update_that_fails_does_not_stop_those_behind_it(stage: Stage) -> None:
    async with stage.running() as (_, ears):
        ears.refused.add("boom")
        for text in ("boom", "after"):
            stage.telegram.say(stage.alice, stage.private, text)
        await ears.hear(1)
    assert ears.texts == ["after"]


async def test_T10_updates_of_other_kinds_and_unreadable_ones_are_passed_over_and_confirmed(stage: Stage) -> None:
    news = stage.telegram.group("News", kind="channel")
    post = {"message_id": 1, "date": 1, "chat": news.as_json(), "text": "sentinel-text"}
    with capture_logs() as logs:
        async with stage.running() as (_, ears):
            stage.telegram.updates.inject({"channel_post": post})
            stage.telegram.updates.inject({"message": {"message_id": 1, "text": "sentinel-text"}})
            stage.telegram.updates.inject({"message": "nonsense"})
            stage.telegram.updates.inject({"business_message": {**post, "chat": stage.private.as_json()}})
            stage.telegram.say(stage.alice, stage.private, "hi")
            await ears.hear(1)
            await stage.telegram.wait_for(lambda: not stage.telegram.updates.pending)
    assert ears.texts == ["hi"]
    assert [entry["event"] for entry in logs].count("telegram.update_unreadable") == 2
    assert "sentinel-text" not in str(logs)


async def test_T16_an_album_is_one_inbound_between_its_neighbours(stage: Stage) -> None:
    photos = [PNG + bytes([number]) for number in range(4)]
    async with stage.running() as (_, ears):
        stage.telegram.say(stage.alice, stage.private, "before")
        stage.telegram.album(stage.alice, stage.private, *photos, caption="look")
        stage.telegram.say(stage.alice, stage.private, "after")
        _, album, _ = await ears.hear(3)
    assert ears.texts == ["before", "look", "after"]
    assert [file.data for file in album.attachments] == photos
    assert {file.kind for file in album.attachments} == {AttachmentKind.IMAGE}


async def test_T16_parts_that_come_apart_are_joined_and_a_message_alone_does_not_wait(stage: Stage) -> None:
    patient = TelegramOptions(album_quiet=timedelta(seconds=0.8), poll_timeout=timedelta(seconds=5))
    async with stage.running(options=patient) as (_, ears):
        for number, caption in enumerate(["look", None]):
            fields = {**stage.telegram.photo(PNG), **({"caption": caption} if caption else {})}
            stage.telegram.say(stage.alice, stage.private, media_group_id="9", **fields)
            if number == 0:
                stage.telegram.say(stage.bob, stage.group, "alone")
                await ears.hear(1)
        await ears.hear(2)
    assert ears.texts == ["alone", "look"]
    assert len(ears.inbounds[1].attachments) == 2


async def test_T17_commands_for_other_bots_are_not_heard(stage: Stage) -> None:
    async with stage.running() as (_, ears):
        for text in ("/reset@OtherBot", "/reset@FamiliarBot", "/reset@familiarbot"):
            stage.telegram.say(stage.alice, stage.group, text)
        await ears.hear(2)
    assert [(inbound.kind, inbound.text) for inbound in ears.inbounds] == [(InboundKind.MESSAGE, "/reset")] * 2


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old"), ("old",), ("new",)])
async def test_T09_T23_a_migration_is_told_once_in_any_order(stage: Stage, order: tuple[str, ...]) -> None:
    old = stage.telegram.group("Club", stage.alice, kind="group")
    async with stage.running() as (adapter, ears):
        new = stage.telegram.migrate(old, announce=order)
        await ears.hear(1)
        assert await adapter.may_manage(channel(old), str(stage.alice.id)) is False
        stage.telegram.say(stage.alice, new, "here we are")
        moved, said = await ears.hear(2)
    assert (moved.kind, moved.channel.place) == (InboundKind.MIGRATION, str(old.id))
    assert moved.migrated_to is not None
    assert moved.migrated_to.place == said.channel.place == str(new.id)
    assert len(ears.inbounds) == 2


async def test_T23_a_refused_call_tells_of_a_migration_too(stage: Stage) -> None:
    old = stage.telegram.group("Club", stage.alice, kind="group")
    async with stage.running() as (adapter, ears):
        new = stage.telegram.migrate(old, announce=())
        await adapter.may_manage(channel(old), str(stage.alice.id))
        (moved,) = await ears.hear(1)
        stage.telegram.updates.push(
            "message",
            stage.telegram.post(old, {"id": 5, "is_bot": False, "first_name": "X"}, migrate_to_chat_id=new.id),
        )
        stage.telegram.say(stage.alice, new, "here we are")
        await ears.hear(2)
    assert moved.migrated_to is not None
    assert (moved.channel.place, moved.migrated_to.place) == (str(old.id), str(new.id))
    assert [inbound.kind for inbound in ears.inbounds] == [InboundKind.MIGRATION, InboundKind.MESSAGE]


async def test_a_press_is_answered_and_delivered_with_its_topic(stage: Stage) -> None:
    topic = stage.telegram.topic(stage.group, "Roses")
    keyboard = {"inline_keyboard": [[{"text": "Next", "callback_data": "persona list -p 2"}]]}
    ours = stage.telegram.post(
        stage.group,
        stage.telegram.bot.as_json(),
        text="page 1",
        reply_markup=keyboard,
        message_thread_id=topic,
        is_topic_message=True,
    )
    async with stage.running() as (_, ears):
        query = stage.telegram.press(stage.bob, ours, "Next")
        (press,) = await ears.hear(1)
        assert stage.telegram.queries[query] is not None
        assert (press.kind, press.text, press.message_id) == (InboundKind.BUTTON, "persona list -p 2", query)
        assert (press.channel.thread, press.author.name) == (str(topic), "Bob")


async def test_a_press_that_cannot_be_answered_any_more_still_counts(stage: Stage) -> None:
    keyboard = {"inline_keyboard": [[{"text": "Next", "callback_data": "help"}]]}
    ours = stage.telegram.post(stage.private, stage.telegram.bot.as_json(), text="page 1", reply_markup=keyboard)
    stage.telegram.fail("answerCallbackQuery", 400, "Bad Request: query is too old")
    async with stage.running() as (_, ears):
        stage.telegram.press(stage.alice, ours, "Next")
        (press,) = await ears.hear(1)
    assert press.text == "help"
