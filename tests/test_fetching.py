"""Which files are fetched is decided by what a place has chosen, before their message is heard."""

from __future__ import annotations

from dataclasses import replace

from bot.app.fetching import make_wants_files
from bot.chat import Attachment, AttachmentKind, ChannelRef, WantsFiles
from bot.testing import make_inbound
from tests.conftest import MakeApp
from tests.talking import GROUP, open_chat

PICTURE = Attachment(kind=AttachmentKind.OTHER, name="cat.png", note="image")
ELSEWHERE, THREAD = replace(GROUP, channel="elsewhere"), replace(GROUP, thread="t")


async def wanted(wants: WantsFiles, text: str, channel: ChannelRef = GROUP) -> bool:
    return await wants(make_inbound(text, channel=channel, mentions_me=False, attachments=(PICTURE,)))


async def test_files_are_fetched_where_a_channel_lets_the_bot_answer_all_that_is_said(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    wants = make_wants_files(chat.app.core)
    assert not await wanted(wants, "nice")
    chat.adapter.managers.add("alice")
    await chat.ask("/session set activation always", channel=GROUP)
    assert [await wanted(wants, "nice", where) for where in (GROUP, THREAD, ELSEWHERE)] == [True, True, False]
    assert not await wanted(wants, "/persona import")


async def test_files_of_what_calls_a_persona_by_name_are_fetched_and_those_of_others_are_not(make_app: MakeApp) -> None:
    wants = make_wants_files((await open_chat(make_app)).app.core)
    assert await wanted(wants, "Bryony, look!")
    assert not await wanted(wants, "Bob, look!")
    assert not await wants(make_inbound("Bryony, look!", channel=GROUP, mentions_me=False))
