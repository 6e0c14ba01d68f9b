"""People who speak through proxy bots: their message is deleted and posted again in another face."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.chat import Inbound, InboundKind
from bot.llm.model import Role
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat

GROUP = make_channel()
QUESTION = make_inbound("J: where is the key?", channel=GROUP, message_id="1", mentions_me=True)
DELETE = make_inbound(channel=GROUP, message_id="1", kind=InboundKind.DELETE)
FACE = make_author("Juniper", is_bot=True)
REPOST = replace(
    make_inbound("where is the key?", channel=GROUP, message_id="2", author=FACE, mentions_me=True), may_be_repost=True
)


def history(chat: Chat) -> list[str]:
    return [message.text for message in chat.model.requests[-1].messages if message.role is not Role.SYSTEM]


async def hear(chat: Chat, *inbounds: Inbound) -> None:
    for inbound in inbounds:
        await chat.app.pipeline.deliver(inbound)


@pytest.mark.parametrize(
    "inbounds", [(QUESTION, DELETE, REPOST), (QUESTION, REPOST, DELETE)], ids=["deleted first", "posted again first"]
)
@pytest.mark.parametrize("is_answered_at_once", [True, False])
async def test_D08_a_message_that_a_proxy_bot_posts_again_gets_one_answer_and_stands_once_in_the_history(
    make_app: MakeApp, inbounds: tuple[Inbound, ...], is_answered_at_once: bool
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(lambda _: Reply(text="Under the mat.", hold=gate))
    chat = await open_chat(make_app, model=model, persona="none")
    if is_answered_at_once:
        gate.set()
    await hear(chat, inbounds[0])
    if is_answered_at_once:
        await chat.app.dispatcher.idle()
    else:
        await model.wait_for(1)
    await hear(chat, *inbounds[1:])
    gate.set()
    await chat.app.dispatcher.idle()
    assert [reply.text for reply in chat.adapter.replies] == ["Under the mat."]
    await chat.say("thanks", channel=GROUP)
    assert history(chat) == ["Juniper: where is the key?", "Under the mat.", "Alice: thanks"]


async def test_D05_a_question_that_is_deleted_while_the_model_thinks_is_answered(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Reply(text="Under the mat.", hold=gate), "ok"])
    chat = await open_chat(make_app, model=model, persona="none")
    await hear(chat, QUESTION)
    await model.wait_for(1)
    await hear(chat, DELETE)
    gate.set()
    await chat.app.dispatcher.idle()
    assert [reply.text for reply in chat.adapter.replies if reply.text] == ["Under the mat."]


async def test_D08_an_answer_that_people_are_reading_goes_on_though_its_question_is_deleted(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    adapter, model = FakeAdapter(streams=True), ScriptedModel([Reply(text="Under the mat.", hold=gate)])
    chat = await open_chat(make_app, model=model, adapter=adapter, persona="none")
    await hear(chat, QUESTION)
    await adapter.wait_shown()
    await hear(chat, DELETE)
    gate.set()
    await chat.app.dispatcher.idle()
    assert [reply.text for reply in chat.adapter.replies] == ["Under the mat."]


@pytest.mark.parametrize(
    "posted",
    [
        replace(REPOST, text="where is the car?"),
        replace(REPOST, sent_at=NOW + timedelta(seconds=11)),
        replace(REPOST, text="key?"),
        replace(REPOST, may_be_repost=False),
    ],
    ids=["other words", "much later", "a piece of it", "an ordinary bot"],
)
@pytest.mark.parametrize(("bots", "answers"), [({}, 1), ({"answer": True}, 2)])
async def test_D08_whatever_else_webhooks_post_is_answered_only_where_bots_are(
    make_app: MakeApp, posted: Inbound, bots: dict[str, bool], answers: int
) -> None:
    long = replace(QUESTION, text="where is the key? " + "I have looked everywhere I could think of.")
    chat = await open_chat(make_app, persona="none", bots=bots)
    await hear(chat, long if posted.text == "key?" else QUESTION)
    await chat.app.dispatcher.idle()
    await hear(chat, posted)
    await chat.app.dispatcher.idle()
    assert len(chat.adapter.replies) == answers


async def test_D08_the_answer_to_a_message_that_was_posted_again_is_one_to_whoever_wrote_it(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="never", hold=asyncio.Event()), ""])
    chat = await open_chat(make_app, model=model, persona="none")
    await hear(chat, QUESTION)
    await model.wait_for(1)
    await hear(chat, DELETE, REPOST)
    await chat.app.dispatcher.idle()
    assert chat.last_reply.text.startswith("The model came back empty-handed.")  # bots are spared notices (D07)
