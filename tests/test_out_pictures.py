"""Pictures that we show with a text: on every platform, or the text alone where that is not to be had."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.discord.parts import edited, posted
from adapters.telegram.inbound import Pressed
from adapters.telegram.options import Timeouts
from adapters.telegram.outbound import CAPTION_LENGTH
from adapters.telegram.request import TelegramRequest
from bot.chat import Outbound, PartState
from bot.personas.formats.pictures import as_small_jpeg
from bot.portraits import SIDE_PIXELS
from tests.cards import PLAIN_PNG, picture
from tests.emulators.discord.harness import staged, states
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.rig import Rig
from tests.emulators.telegram.stage import Stage, channel
from tests.test_out_files import discord_transport

CARD = Outbound(text="**Luna**", picture=as_small_jpeg(PLAIN_PNG, SIDE_PIXELS))
OTHER = Outbound(text="**Mira**", picture=as_small_jpeg(picture("JPEG", side=9), SIDE_PIXELS))


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with TelegramEmulator() as telegram:
        addresses = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url}
        async with TelegramRequest(telegram.token, **addresses, timeouts=Timeouts()) as request:
            yield Rig(telegram, request)


def test_discord_attaches_a_picture_and_goes_without_where_it_may_not() -> None:
    (part,) = discord_transport().render(CARD, final=True)
    for fields, name in ((posted(part), "files"), (edited(part), "attachments")):
        assert [(file.filename, file.fp.read()) for file in fields[name]] == [("picture.jpg", CARD.picture)]
    assert [(each.text, each.picture) for each in part.instead] == [("**Luna**", b"")]
    assert discord_transport().render(CARD, final=False)[0].picture == b""


async def test_on_telegram_the_text_stands_under_its_picture_and_both_change_in_place(rig: Rig) -> None:
    (part,) = rig.to(rig.group).render(CARD, final=True)
    message_id = await rig.to(rig.group).send(part, 0)
    (shown,) = rig.telegram.bot_messages(rig.group)
    assert (shown["caption"], len(shown["photo"]), shown["caption_entities"][0]["type"]) == ("Luna", 1, "bold")
    press = rig.to(rig.group, pressed=Pressed(message_id=int(message_id)))
    assert await press.send(press.render(OTHER, final=True)[0], 0) == message_id
    (shown,) = rig.telegram.bot_messages(rig.group)
    assert shown["caption"] == "Mira"
    assert [call.method for call in rig.telegram.calls][-1] == "editMessageMedia"


async def test_on_telegram_a_text_becomes_a_picture_in_place_and_a_picture_gives_way_to_a_text(rig: Rig) -> None:
    message_id = await rig.to(rig.group).send(rig.part("The list"), 0)
    press = rig.to(rig.group, pressed=Pressed(message_id=int(message_id)))
    assert await press.send(press.render(CARD, final=True)[0], 0) == message_id
    press = rig.to(rig.group, pressed=Pressed(message_id=int(message_id)))
    new_id = await press.send(press.render(Outbound(text="The list"), final=True)[0], 0)
    assert [(str(shown["message_id"]), shown["text"]) for shown in rig.telegram.bot_messages(rig.group)] == [
        (new_id, "The list")
    ]


async def test_a_text_too_long_for_a_caption_goes_without_the_picture(rig: Rig) -> None:
    (part,) = rig.to(rig.group).render(
        Outbound(text="🙂" * (CAPTION_LENGTH // 2 + 1), picture=CARD.picture), final=True
    )
    assert part.picture == b""


async def test_T15_where_no_pictures_are_allowed_the_text_is_sent_alone() -> None:
    async with TelegramEmulator() as telegram:
        stage = Stage(telegram)
        telegram.fail("sendPhoto", 400, "Bad Request: not enough rights to send photos to the chat")
        async with stage.running() as (adapter, _):
            reply = await adapter.open_reply(channel(stage.group))
            (part,) = await reply.finish(CARD)
        assert part.state is PartState.SENT
        assert telegram.bot_texts(stage.group) == ["Luna"]


async def test_T15_the_same_on_discord() -> None:
    async with staged() as scene:
        inbound = await scene.asked()
        reply = await scene.bot.adapter.open_reply(inbound.channel)
        assert states(await reply.finish(CARD)) == [PartState.SENT]
        assert scene.sends()[-1].files == (("picture.jpg", CARD.picture),)
        scene.emulator.fault("POST", scene.posts, status=403, body={"code": 50013, "message": "no files"})
        reply = await scene.bot.adapter.open_reply(inbound.channel)
        assert states(await reply.finish(CARD)) == [PartState.SENT]
        assert scene.sends()[-1].files == ()
        assert scene.posted()[-1] == "**Luna**"
